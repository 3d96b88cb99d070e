#!/usr/bin/env python3
"""peer.py LIBRARY [gemm|conv]... - the pack's products and convolutions beside
torch's, which are cuBLAS's and cuDNN's, on one NVIDIA GPU

Both sides get the same random inputs, in turn so many of them that the L2 cache
does not hold them, and each makes the same number of calls in a recorded graph.
A time is the median of five replays, sides in turn. Results are compared, too:
`apart` is the largest difference as a share of the root mean square.
"""
import ctypes
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from recorded import apart, microseconds

F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
TYPES = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}
NUMBERS = {F16: 0, BF16: 1, F32: 2, F64: 3}
WORKSPACE = 1 << 28
L2_NBYTES = 160 << 20  # what turns over between two uses of an operand


def load(path):
    peer = ctypes.CDLL(path)
    peer.peer_error.restype = ctypes.c_char_p
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    check(peer, peer.peer_open())
    return peer


def check(peer, failed):
    if failed:
        sys.exit("peer.py: " + peer.peer_error().decode())


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def pointer(t):
    return ctypes.c_void_p(t.data_ptr())


def random(shape, dtype):
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def product(peer, dtype, layout, m, n, k, batch=1):
    ta, tb = layout[0] == "t", layout[1] == "t"
    words = ctypes.create_string_buffer(80)
    plan = peer.peer_plan(NUMBERS[dtype], int(ta), int(tb), m, n, k, batch,
                          ctypes.c_uint64(WORKSPACE), words, ctypes.c_size_t(80))
    check(peer, plan < 0)
    each = batch * (m * k + k * n + m * n) * dtype.itemsize
    sets = max(2, min(64, -(-L2_NBYTES // each)))
    a = [random((batch,) + ((k, m) if ta else (m, k)), dtype) for _ in range(sets)]
    b = [random((batch,) + ((n, k) if tb else (k, n)), dtype) for _ in range(sets)]
    ours = [torch.full((batch, m, n), float("nan"), device="cuda", dtype=dtype) for _ in range(sets)]
    theirs = [torch.empty_like(t) for t in ours]
    workspace = torch.empty(WORKSPACE, device="cuda", dtype=torch.uint8)
    shaped_a = [t.transpose(1, 2) if ta else t for t in a]
    shaped_b = [t.transpose(1, 2) if tb else t for t in b]
    if batch == 1:
        shaped_a, shaped_b, into = [t[0] for t in shaped_a], [t[0] for t in shaped_b], [t[0] for t in theirs]
        multiply = torch.mm
    else:
        into, multiply = theirs, torch.bmm

    def call_ours(i):
        i %= sets
        check(peer, peer.peer_gemm(plan, pointer(a[i]), pointer(b[i]), pointer(ours[i]),
                                   pointer(workspace), stream()))

    def call_theirs(i):
        multiply(shaped_a[i % sets], shaped_b[i % sets], out=into[i % sets])

    flops = 2.0 * batch * m * n * k
    count = max(sets, min(128, int(4e-3 / (flops / 3e14 + 4e-6))))
    t = [us / 1e6 for us in microseconds([call_ours, call_theirs], count)]
    shape = f"{batch} x " if batch > 1 else ""
    print(f"{TYPES[dtype]:5}{layout} {shape + f'{m} x {n} x {k}':24} {words.value.decode():30}"
          f"{t[0] * 1e6:10.2f} {t[1] * 1e6:10.2f} us {flops / t[0] / 1e12:8.1f} {flops / t[1] / 1e12:8.1f} TFLOP/s"
          f"{each / t[0] / 1e9:8.0f} GB/s {t[1] / t[0]:6.2f}  {apart(ours[0], theirs[0]):8.1e}", flush=True)


def convolution(peer, dtype, b, c, side, outputs, k, stride, padding):
    out = (side + 2 * padding - k) // stride + 1
    shape = (b, outputs, out, out)
    each = (b * c * side * side + b * outputs * out * out) * dtype.itemsize
    sets = max(2, min(16, -(-L2_NBYTES // each)))
    x = [random((b, c, side, side), dtype) for _ in range(sets)]
    w = random((outputs, c, k, k), dtype)
    ours = [torch.full(shape, float("nan"), device="cuda", dtype=dtype) for _ in range(sets)]
    info = torch.tensor(list(x[0].shape) + list(x[0].stride()) + list(w.shape) + list(w.stride()),
                        device="cuda", dtype=torch.int64)
    theirs = [None]

    def call_ours(i):
        i %= sets
        check(peer, peer.peer_conv2d(
            f"conv2d_{TYPES[dtype]}".encode(), *map(ctypes.c_size_t, (
                x[i].numel(), ours[i].numel(), out, out, stride, padding)),
            pointer(info), pointer(x[i]), pointer(w), pointer(ours[i]), stream()))

    def call_theirs(i):
        y = torch.nn.functional.conv2d(x[i % sets], w, stride=stride, padding=padding)
        if i == 0:
            theirs[0] = y

    flops = 2.0 * b * outputs * out * out * c * k * k
    count = max(sets, min(64, int(4e-3 / (flops / 1e14 + 1e-5))))
    t = [us / 1e6 for us in microseconds([call_ours, call_theirs], count)]
    what = f"{b} x {c} x {side} x {side}, {outputs} of {k} x {k}, stride {stride}"
    print(f"conv2d_{TYPES[dtype]:5} {what:44} {t[0] * 1e6:10.2f} {t[1] * 1e6:10.2f} us"
          f" {flops / t[0] / 1e12:8.1f} {flops / t[1] / 1e12:8.1f} TFLOP/s {t[1] / t[0]:6.2f}"
          f"  {apart(ours[0], theirs[0]):8.1e}", flush=True)


def products(peer):
    print("\nproducts: m x n x k, what the host chose, kpack's and cuBLAS's time and speed, bytes of all "
          "operands, how many times as fast, apart")
    for dtype in (BF16, F16):
        for layout in ("nt", "nn", "tn", "tt") if dtype == BF16 else ("nt", "nn"):
            product(peer, dtype, layout, 4096, 4096, 4096)
        for size in (1024, 2048, 8192):
            product(peer, dtype, "nt", size, size, size)
        for layout in ("nt", "nn"):
            product(peer, dtype, layout, 4097, 4095, 4099)
        product(peer, dtype, "nt", 512, 512, 128, 128)
        product(peer, dtype, "nn", 512, 512, 128, 128)
    for dtype in (F32, F64):
        for layout in ("nt", "nn"):
            product(peer, dtype, layout, 4096, 4096, 4096)
        product(peer, dtype, "nt", 1024, 1024, 1024)
    for dtype in (BF16, F16):
        for m in (1, 2, 4, 8):
            for layout, n in (("nt", 4096), ("nn", 4096), ("nt", 14336), ("nn", 14336)):
                product(peer, dtype, layout, m, n, 4096)
    product(peer, F32, "nt", 1, 4096, 4096)
    product(peer, F32, "nt", 8, 4096, 4096)
    for dtype in (BF16, F16):
        for m in (8, 32, 128, 512):
            for n, k in ((4096, 4096), (1024, 4096), (6144, 4096), (14336, 4096), (28672, 4096), (4096, 14336),
                         (128256, 4096)):
                product(peer, dtype, "nt", m, n, k)


def convolutions(peer):
    print("\nconvolutions: kpack's and cuDNN's time and speed, how many times as fast, apart")
    for dtype in (F16, BF16, F32):
        for shape in ((32, 64, 56, 64, 3, 1, 1), (32, 128, 28, 128, 3, 1, 1), (32, 256, 14, 256, 3, 1, 1),
                      (32, 64, 56, 256, 1, 1, 0), (32, 3, 224, 64, 7, 2, 3), (8, 64, 128, 64, 3, 1, 1),
                      (1, 512, 64, 512, 3, 1, 1)):
            convolution(peer, dtype, *shape)


def main():
    peer = load(sys.argv[1])
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}")
    wanted = sys.argv[2:] or ["gemm", "conv"]
    if "gemm" in wanted:
        products(peer)
    if "conv" in wanted:
        convolutions(peer)


if __name__ == "__main__":
    main()
