"""beside.py - kpack and PyTorch in one process, on one GPU

  beside.py PLUGIN torch|kpack

PLUGIN is beside.c as a shared object; the second word says who touches the GPU
first. Pointers and streams go both ways, PyTorch's allocator keeps its account,
a graph of PyTorch's records kpack's launches, and after every call of kpack's
the thread's current context is what it was. The last line counts.
"""
import ctypes
import sys
import threading

import torch

cuda = ctypes.CDLL("libcuda.so.1")
plugin = ctypes.CDLL(sys.argv[1])
plugin.beside_error.restype = ctypes.c_char_p
OK = 0
N = 100003
counts = {True: 0, False: 0}


def check(what, good):
    counts[bool(good)] += 1
    if not good:
        print(f"FAILED: {what}: {plugin.beside_error().decode()}")


def current():
    context = ctypes.c_void_p()
    error = cuda.cuCtxGetCurrent(ctypes.byref(context))
    return None if error else context.value


def call(name, *args):
    """A call of kpack's, after which the current context is that of before."""
    before = current()
    status = getattr(plugin, "beside_" + name)(*args)
    check(f"{name} leaves the current context alone", current() == before)
    return status


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def affine(x, out, by, add, stream=None, nargs=7):
    return call("affine", ctypes.c_size_t(x.numel()), pointer(x), pointer(out),
                ctypes.c_float(by), ctypes.c_float(add),
                ctypes.c_void_p(stream), ctypes.c_size_t(nargs))


def begin():
    check("opens", call("open", 0) == OK)
    check("loads", call("load") == OK)


def pointers():
    x = torch.randn(N, device="cuda")
    out = torch.full_like(x, float("nan"))
    check("PyTorch's pointers are taken", affine(x, out, 2, 1) == OK)
    check("and the result is PyTorch's", torch.equal(out, x * 2 + 1))
    check("in place", affine(out, out, 0.5, 0) == OK)
    check("is right, too", torch.equal(out, (x * 2 + 1) * 0.5))
    part = torch.randn(2 * N + 1, device="cuda")[1:N + 1]
    check("a part of a tensor is taken", affine(part, out, 4, 0) == OK)
    check("and is right", torch.equal(out, part * 4))


class Memory:
    """Memory of kpack's, as PyTorch asks others for theirs."""

    def __init__(self, at, n):
        self.__cuda_array_interface__ = {
            "shape": (n,), "typestr": "<f4", "data": (at, False), "version": 3,
            "strides": None, "stream": None}


def memory():
    at = ctypes.c_void_p()
    check("kpack allocates", call("malloc", ctypes.c_size_t(4 * N),
                                  ctypes.byref(at)) == OK)
    check("kpack fills", call("fill", at, ctypes.c_uint8(0),
                              ctypes.c_size_t(4 * N)) == OK)
    tensor = torch.as_tensor(Memory(at.value, N), device="cuda")
    check("PyTorch reads kpack's memory", tensor.abs().sum().item() == 0)
    tensor.copy_(torch.arange(N, dtype=torch.float32))
    host = (ctypes.c_float * N)()
    torch.cuda.synchronize()
    check("kpack copies", call("read", host, at, ctypes.c_size_t(4 * N)) == OK)
    check("what PyTorch wrote", list(host[:1000]) == list(range(1000)) and
          host[N - 1] == N - 1)
    host[5] = -1
    check("kpack writes", call("write", at, host, ctypes.c_size_t(4 * N)) == OK)
    check("and PyTorch reads it", tensor[5].item() == -1)
    del tensor
    check("kpack frees", call("free", at) == OK)


def streams():
    stream = torch.cuda.Stream()
    x = torch.randn(N, device="cuda")
    y, out = torch.zeros_like(x), torch.zeros_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # 25 ms in which nothing may overtake
        y.copy_(x)
        check("PyTorch's stream is taken",
              affine(y, out, 2, 0, stream.cuda_stream) == OK)
        late = out + 1
    check("kpack waits for it", call("sync",
                                     ctypes.c_void_p(stream.cuda_stream)) == OK)
    check("work of both was in its order", torch.equal(late, x * 2 + 1))
    both = [torch.cuda.Stream() for _ in range(8)]
    outs = [torch.zeros_like(x) for _ in both]
    torch.cuda.synchronize()
    for k, (s, o) in enumerate(zip(both, outs)):
        check("one of eight", affine(x, o, k, 0, s.cuda_stream) == OK)
    torch.cuda.synchronize()
    check("eight streams at once",
          all(torch.equal(o, x * k) for k, o in enumerate(outs)))


def graphs():
    x = torch.randn(N, device="cuda")
    out = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        stream = torch.cuda.current_stream().cuda_stream
        check("a launch is recorded", affine(x, out, 2, 0, stream) == OK)
        x.mul_(0.5)
    want = x.clone()
    for _ in range(3):
        want = want + 1
        twice = want * 2
        want = want * 0.5
        graph.replay()
    torch.cuda.synchronize()
    check("and replayed", torch.equal(out, twice) and torch.equal(x, want))


def account():
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    x = torch.randn(1 << 20, device="cuda")
    out = torch.empty_like(x)
    check("a launch", affine(x, out, 2, 0) == OK)
    check("uses no memory of PyTorch's",
          torch.cuda.memory_allocated() - before[0] == 2 * 4 << 20)
    del x, out
    torch.cuda.empty_cache()
    check("and holds none of it",
          (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == before)
    x = torch.randn(N, device="cuda")  # where freed memory was
    out = torch.empty_like(x)
    check("memory that was used before", affine(x, out, 2, 0) == OK)
    check("is as good", torch.equal(out, x * 2))


def threads():
    """A thread in which nothing is current, and one with a context of its own."""
    x = torch.randn(N, device="cuda")
    torch.cuda.synchronize()

    def fresh():
        check("nothing is current in a new thread", current() in (None, 0))
        out = torch.empty_like(x)
        cuda.cuCtxSetCurrent(None)
        check("kpack launches there", affine(x, out, 2, 0) == OK)
        check("and waits", call("sync", None) == OK)
        check("and nothing is current again", current() in (None, 0))
        check("it was right", torch.equal(out, x * 2))

    def own():
        context, device = ctypes.c_void_p(), ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), 0)
        error = cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
        check("a context of the thread's own is made", error == 0)
        mine = current()
        out = torch.empty(N, device="cuda")
        cuda.cuCtxSetCurrent(context)
        check("kpack launches beside it", affine(x, out, 2, 0) == OK)
        check("and waits", call("sync", None) == OK)
        check("it is current still", current() == mine == context.value)
        cuda.cuCtxDestroy_v2(context)
        check("PyTorch sees the result", torch.equal(out, x * 2))

    for work in (fresh, own):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def mistakes():
    x = torch.randn(N, device="cuda")
    out = torch.empty_like(x)
    check("six arguments are refused", affine(x, out, 2, 0, None, 6) != OK)
    check("with a sentence", b"affine_f32 takes 7 arguments, 6" in
          plugin.beside_error())
    check("PyTorch goes on", torch.equal(x * 2, x + x))


def end():
    x = torch.randn(N, device="cuda")
    out = torch.empty_like(x)
    check("unloads", call("unload") == OK)
    check("loads again", call("load") == OK)
    check("launches again", affine(x, out, 2, 0) == OK)
    check("right again", torch.equal(out, x * 2))
    check("closes", call("close") == OK)
    check("PyTorch's memory outlives it", torch.equal(out, x * 2))
    product = torch.eye(64, device="cuda") @ torch.ones(64, 64, device="cuda")
    check("and so does its work", product.sum().item() == 64 * 64)
    check("opens once more", call("open", 0) == OK)
    check("closes once more", call("close") == OK)


def main():
    if sys.argv[2] == "torch":
        torch.zeros(1, device="cuda")
    begin()
    for test in (pointers, memory, streams, graphs, account, threads, mistakes,
                 end):
        test()
    print(f"{counts[True]} passed, {counts[False]} failed")
    return counts[False] != 0


sys.exit(main())
