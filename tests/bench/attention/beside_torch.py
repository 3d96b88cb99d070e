"""Module attention beside PyTorch's FlashAttention-2 and cuDNN, on one GPU.

    beside_torch.py ATTENTION.so [check | time]

The library is plan.c over libkpack.a; kernels, shapes and splits are what
kpk_attention_choose() says. `check` compares results with PyTorch's in float64
and exits with 1 if one is further off than its rounding; `time` prints the
speed of each. Inputs are random; those of decoding take turns, so that the L2
cache does not hold them. Each number is the median of several rounds, of which
the three implementations have one after the other, recorded in graphs.
"""

import ctypes as C
import math
import os
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from recorded import microseconds

POINTERS = ("q k v o lse partial alibi_slopes cu_seqlens_q cu_seqlens_k "
            "block_table prefix_ranges")
STRIDES = ("q_batch k_batch v_batch o_batch q_row k_row v_row o_row "
           "q_head k_head v_head o_head")
COUNTS = ("alibi_batch block_table_batch prefix_batch page_size "
          "max_prefix_ranges b h h_k d seqlen_q seqlen_k total_q splits "
          "unpadded_lse")
TYPES = {torch.float16: 0, torch.bfloat16: 1}
CACHES = {"": 0, "q8_0": 1, "q4_0": 2}
BLOCK_NBYTES = {"q8_0": 34, "q4_0": 18}  # of 32 elements; first a scale
PEERS = (("flash", SDPBackend.FLASH_ATTENTION),
         ("cudnn", SDPBackend.CUDNN_ATTENTION))


class Args(C.Structure):
    _fields_ = ([(n, C.c_void_p) for n in POINTERS.split()] +
                [(n, C.c_int64) for n in STRIDES.split()] +
                [(n, C.c_uint32) for n in COUNTS.split()] +
                [("scale", C.c_float), ("softcap", C.c_float),
                 ("window_left", C.c_int32), ("window_right", C.c_int32),
                 ("o_q8_1", C.c_void_p)])


class Args2(C.Structure):
    _fields_ = ([("base", Args), ("sinks", C.c_void_p), ("mask", C.c_void_p)] +
                [("mask_" + n, C.c_int64) for n in ("batch", "head", "row")] +
                [(n, C.c_uint32) for n in ("d_v", "q_type", "o_type",
                                           "mask_type")] +
                [("reserved", C.c_uint64 * 4)])


class Kpack:
    def __init__(self, path):
        self.lib = C.CDLL(path)
        for name in ("bench_open", "bench_choose", "bench_kernel",
                     "bench_launch"):
            getattr(self.lib, name).restype = C.c_char_p
        self.lib.bench_workspace.restype = C.c_uint64
        assert self.lib.bench_sizeof_args() == C.sizeof(Args2)
        must(self.lib.bench_open(0))

    def prepare(self, q, k, v, o, left=-1, right=-1, softcap=0.0, cache="",
                mask=None, sinks=None, **more):
        """A function that launches; tensors are [b, rows, heads, d], those of
        a cache in blocks [b, rows, heads, blocks, bytes]. mask: f16, [b, heads,
        rows, keys]; sinks: f32, [heads]."""
        b, rows, h, d = q.shape
        args = Args(b=b, h=h, h_k=k.shape[2], d=d, seqlen_q=rows,
                    seqlen_k=k.shape[1], scale=1 / math.sqrt(d),
                    softcap=softcap, window_left=left, window_right=right)
        for name, tensor in zip("qkvo", (q, k, v, o)):
            setattr(args, name, tensor.data_ptr())
            for i, stride in enumerate(("batch", "row", "head")):
                apart = tensor.stride(i)
                if tensor.dim() == 5:
                    apart = apart // tensor.shape[4] * 32
                setattr(args, name + "_" + stride, apart)
        for name, value in more.items():
            setattr(args, name, value)
        all_args = Args2(base=args)
        if sinks is not None:
            all_args.sinks = sinks.data_ptr()
        if mask is not None:
            all_args.mask = mask.data_ptr()
            for i, stride in enumerate(("batch", "head", "row")):
                setattr(all_args, "mask_" + stride, mask.stride(i))
        plan = C.create_string_buffer(256)
        must(self.lib.bench_choose(C.byref(all_args), TYPES[q.dtype],
                                   CACHES[cache], plan))
        nbytes = self.lib.bench_workspace(plan)
        workspace = torch.empty(nbytes, dtype=torch.uint8, device="cuda")

        def launch():
            stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)
            must(self.lib.bench_launch(C.byref(all_args), plan,
                                       C.c_void_p(workspace.data_ptr()),
                                       stream))

        launch.kernel = self.lib.bench_kernel(plan).decode()
        launch.splits = self.lib.bench_splits(plan)
        launch.keep = (q, k, v, o, mask, sinks)
        return launch


def must(message):
    if message:
        sys.exit("kpack: " + message.decode())


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


# ---- results -----------------------------------------------------------------


def reference(q, k, v, left, right, softcap):
    rows, keys, d = q.shape[1], k.shape[1], q.shape[3]
    at = torch.arange(rows, device="cuda")[:, None] + keys - rows
    key = torch.arange(keys, device="cuda")[None]
    sees = torch.ones(rows, keys, dtype=torch.bool, device="cuda")
    if left >= 0:
        sees &= key >= at - left
    if right >= 0:
        sees &= key <= at + right
    group = q.shape[2] // k.shape[2]
    out = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    size = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            values = v[b, :, h // group].double()
            x = q[b, :, h].double() @ k[b, :, h // group].double().T
            x = x / math.sqrt(d)
            if softcap:
                x = softcap * torch.tanh(x / softcap)
            p = torch.softmax(x.masked_fill(~sees, -math.inf), -1)
            p = p.nan_to_num(0)
            out[b, :, h] = p @ values
            size[b, :, h] = p @ values.abs()
    return out, size


def check(kpack):
    failed = 0
    # type, b, queries, keys, heads, heads of K, d, left, right, softcap, gap
    cases = [
        (b, rows, keys, h, h_k, d - less, left, right, softcap, gap)
        for d in (64, 128, 256)
        for b, rows, keys, h, h_k, less, left, right, softcap, gap in (
            (2, 300, 300, 4, 2, 0, -1, -1, 0, 0),
            (2, 300, 333, 4, 4, 0, -1, 0, 0, 0),
            (1, 70, 500, 2, 1, 8, -1, 0, 0, 8),
            (1, 300, 500, 2, 1, 0, 40, 7, 3, 0),
            (1, 129, 200, 2, 1, 8, -1, 0, 0, 1),
            (8, 1100, 1100, 16, 8, 0, -1, 0, 0, 0),
            (8, 1000, 1000, 16, 8, 0, -1, -1, 0, 0),
            (2, 1, 500, 8, 2, 0, -1, -1, 0, 0),
            (3, 1, 5000, 8, 2, 8, -1, -1, 0, 0),
            (2, 7, 2500, 8, 2, 0, 700, 0, 0, 1),
            (40, 1, 700, 16, 4, 0, -1, 0, 5, 0),
        )
    ]
    for dtype in TYPES:
        eps = torch.finfo(dtype).eps
        for b, rows, keys, h, h_k, d, left, right, softcap, gap in cases:
            q = random(b, rows, h, d + gap, dtype=dtype)[..., :d]
            k, v = (random(b, keys, h_k, d + gap, dtype=dtype)[..., gap:]
                    for _ in range(2))
            o = torch.full(q.shape, math.nan, dtype=dtype, device="cuda")
            launch = kpack.prepare(q, k, v, o, left, right, softcap)
            launch()
            want, size = reference(q, k, v, left, right, softcap)
            # P is rounded, and so is the result; the rest is of f32
            off = (o.double() - want).abs() / (eps * size + 1e-6)
            good = bool((off <= 1.0).all())
            failed += not good
            print("ok  " if good else "FAIL", launch.kernel, launch.splits,
                  (b, rows, keys, h, h_k, d), (left, right, softcap, gap),
                  "off by %.2f of what may be" % off.max().item(), flush=True)
    print(len(TYPES) * len(cases) - failed, "passed,", failed, "failed")
    return failed != 0


# ---- times -------------------------------------------------------------------


def torch_run(backend, q, ks, vs, causal, mask=None):
    def run(i):
        k, v = ks[i % len(ks)], vs[i % len(vs)]
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                attn_mask=mask, is_causal=causal,
                enable_gqa=q.shape[2] != k.shape[2])

    return run


def causal_mask(b, h, rows, keys):
    mask = torch.full((rows, keys), -math.inf, device="cuda").half()
    return mask.triu(keys - rows + 1).expand(b, h, rows, keys)


def time_all(kpack, b, rows, keys, h, h_k, d, causal, unit, masked=False):
    """masked: f16, with a mask in memory instead of a window"""
    nbytes = 2 * 2 * b * keys * h_k * d
    flop = 4.0 * b * h * rows * keys * d * (0.5 if causal else 1)
    copies = 1 if rows > 1 else max(1, int(4e8 // nbytes))
    dtype = torch.float16 if masked else torch.bfloat16
    q = random(b, rows, h, d, dtype=dtype)
    ks, vs = ([random(b, keys, h_k, d, dtype=dtype) for _ in range(copies)]
              for _ in range(2))
    mask = causal_mask(b, h, rows, keys) if masked else None
    causal = causal and not masked
    peers = PEERS[1:] if masked else PEERS
    o = torch.full(q.shape, math.nan, dtype=q.dtype, device="cuda")
    ours = [kpack.prepare(q, k, v, o, right=0 if causal else -1, mask=mask)
            for k, v in zip(ks, vs)]
    us = microseconds([lambda i: ours[i % copies]()] +
                      [torch_run(backend, q, ks, vs, causal, mask)
                       for _, backend in peers], 10 if rows > 1 else 40)
    line = "b%-2d q%-4d k%-4d h%-2d/%-2d d%-3d %-6s" % (
        b, rows, keys, h, h_k, d, "mask" if masked else "causal" if causal else "full")
    for name, t in zip(["kpack"] + [name for name, _ in peers], us):
        speed = flop / t / 1e6 if unit == "TFLOP/s" else nbytes / t / 1e6
        line += "  %s %8.1f us %6.*f %s" % (
            name, t, 0 if unit == "TFLOP/s" else 2, speed, unit)
    print(line, " ", ours[0].kernel, ours[0].splits, flush=True)


def random_blocks(nbytes, *shape):
    blocks = torch.randint(0, 256, (*shape, nbytes), device="cuda",
                           dtype=torch.uint8)
    scales = torch.rand(*shape, 1, device="cuda").half() / 64
    blocks[..., :2] = scales.view(torch.uint8)
    return blocks


def time_blocks(kpack, b, keys, h, h_k, d, cache, rows=1):
    nbytes = 2 * b * keys * h_k * (d // 32) * BLOCK_NBYTES[cache]
    copies = max(1, int(4e8 // nbytes))
    q = random(b, rows, h, d)
    o = torch.full(q.shape, math.nan, dtype=q.dtype, device="cuda")
    ours = [kpack.prepare(q, *(random_blocks(BLOCK_NBYTES[cache], b, keys, h_k,
                                             d // 32) for _ in range(2)),
                          o, right=0 if rows > 1 else -1,
                          cache=cache) for _ in range(copies)]
    us, = microseconds([lambda i: ours[i % copies]()], 40)
    print("b%-2d q%-4d k%-4d h%-2d/%-2d d%-3d %-6s  kpack %8.1f us %6.2f TB/s" %
          (b, rows, keys, h, h_k, d, cache, us, nbytes / us / 1e6), " ",
          ours[0].kernel, ours[0].splits, flush=True)


def time_them(kpack):
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuDNN",
          torch.backends.cudnn.version())
    for d in (64, 128, 256):
        for causal in (False, True):
            time_all(kpack, 4, 4096, 4096, 2048 // d, 2048 // d, d, causal,
                     "TFLOP/s")
    for b, rows, h, h_k, d in (
            (1, 512, 32, 8, 128), (4, 512, 32, 8, 128), (1, 700, 28, 4, 128),
            (1, 1024, 32, 8, 128), (2, 1000, 40, 8, 128),
            (1, 2048, 32, 8, 128), (4, 2048, 32, 32, 64),
            (1, 4096, 32, 8, 128)):
        time_all(kpack, b, rows, rows, h, h_k, d, True, "TFLOP/s")
    for b, rows, keys, h, h_k, d in (
            (1, 33, 33, 32, 8, 128), (1, 48, 1000, 16, 16, 64),
            (1, 64, 2048, 32, 8, 128), (1, 100, 100, 28, 4, 128),
            (1, 100, 4096, 40, 8, 128), (2, 80, 700, 32, 32, 128),
            (4, 48, 512, 32, 8, 128), (4, 64, 64, 32, 32, 128),
            (8, 64, 64, 32, 8, 128), (8, 100, 1024, 16, 16, 64)):
        time_all(kpack, b, rows, keys, h, h_k, d, rows == keys, "TFLOP/s")
    for b, keys in ((32, 4096), (8, 2048), (1, 8192), (1, 1024)):
        time_all(kpack, b, 1, keys, 32, 8, 128, False, "TB/s")
    time_all(kpack, 32, 1, 4096, 32, 8, 64, False, "TB/s")
    for cache in BLOCK_NBYTES:
        for b, keys, h, h_k, d in (
                (32, 4096, 32, 8, 128), (1, 8192, 32, 8, 128),
                (8, 4000, 40, 8, 128), (8, 4000, 28, 4, 128),
                (32, 4096, 32, 8, 64)):
            time_blocks(kpack, b, keys, h, h_k, d, cache)
        for d in (64, 128, 256):
            time_blocks(kpack, 1, 2048, 32, 8, d, cache, 512)
    for d in (64, 128, 256):
        for b, rows, keys in ((1, 512, 512), (1, 2048, 2048), (1, 512, 4096)):
            time_all(kpack, b, rows, keys, 32, 8, d, True, "TFLOP/s", True)
        for b in (1, 8):
            time_all(kpack, b, 1, 4096, 32, 8, d, False, "TB/s", True)
    for b, keys, h, h_k, d in (
            (1, 4000, 32, 8, 128), (1, 4000, 40, 8, 128), (8, 4000, 40, 8, 128),
            (8, 4000, 28, 4, 128), (8, 4000, 17, 1, 128), (8, 4000, 71, 1, 64),
            (8, 4000, 32, 8, 64), (9, 4000, 32, 8, 128), (16, 2048, 32, 8, 128),
            (17, 2048, 32, 8, 128), (20, 4000, 16, 2, 128),
            (33, 4000, 28, 4, 128)):
        time_all(kpack, b, 1, keys, h, h_k, d, False, "TB/s")


def main():
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    kpack = Kpack(sys.argv[1])
    what = sys.argv[2] if len(sys.argv) > 2 else "time"
    if what == "check":
        sys.exit(check(kpack))
    time_them(kpack)


if __name__ == "__main__":
    main()
