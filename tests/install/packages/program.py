"""program.py - the installed Python package on two simulated GPUs, without PyTorch

The stand-ins for PyTorch's tensors, devices and streams have the members that
kpack reads.
"""
import array
import ctypes
import math
import struct
import sys
import types

import kpack


class Tensor:
    def __init__(self, gpu, values=None, nbytes=0):
        self.at = gpu.malloc(nbytes or len(values) * values.itemsize)
        if values:
            gpu.copy_to(self.at, values)

    def data_ptr(self):
        return self.at


class TorchDevice:
    type = "cuda"

    def __init__(self, index):
        self.index = index


class Stream:
    def __init__(self, handle):
        self.cuda_stream = handle


def refused(kind, words, call, *args, **named):
    try:
        call(*args, **named)
    except kind as error:
        assert words in str(error), f"wanted {words!r} in {error}"
        return error
    raise AssertionError(f"accepted: {args}")


def adds(gpu):
    a = array.array("f", range(1000))
    b = array.array("f", (x / 2 for x in range(1000)))
    c = array.array("f", bytes(4000))
    da, db, dc = Tensor(gpu, a), Tensor(gpu, b), Tensor(gpu, nbytes=4000)
    stream = ctypes.c_void_p()
    assert kpack.library.kpk_stream_create(gpu._inst, 0, ctypes.byref(stream)) == 0
    kernel = gpu.kernel("vector_add")
    for shape in (kernel.shape(1000), kpack.shape_1d(1000), ((4, 1, 1), (256, 1, 1))):
        for on in (None, stream.value, Stream(stream.value)):
            gpu.copy_to(dc, bytes(4000))
            kernel.launch(shape, da, db, dc.at, 1000, stream=on)
            gpu.sync(on)
            gpu.copy_from(c, dc)
            assert all(c[i] == 1.5 * i for i in range(1000)), c
    assert [a[:2] for a in kernel.arguments] == [
        ("a", "const float *"), ("b", "const float *"), ("c", "float *"), ("n", "uint32_t")]
    refused(TypeError, "takes 4 arguments, not 3", kernel.launch, shape, da, db, dc)
    refused(TypeError, "argument 3, 'c': array is no memory of a GPU", kernel.launch, shape, da, db, c, 1000)
    refused(TypeError, "argument 4, 'n': -1 is no uint32_t", kernel.launch, shape, da, db, dc, -1)
    refused(TypeError, "argument 4, 'n': 1.5 is no uint32_t", kernel.launch, shape, da, db, dc, 1.5)
    error = refused(kpack.Error, "block", kernel.launch, ((1, 1, 1), (4096, 1, 1)), da, db, dc, 1000)
    assert error.status == "KPK_ERR_SHAPE"
    error = refused(kpack.Error, '"nothing"', gpu.kernel, "nothing")
    assert error.status == "KPK_ERR_NO_KERNEL"
    for tensor in (da, db, dc):
        gpu.free(tensor)


def converts(gpu):
    """numbers become the kernel's types"""
    out, dout = array.array("d", bytes(72)), Tensor(gpu, nbytes=72)
    kernel = gpu.kernel("numbers", "numbers")
    pair = struct.pack("<if", -5, 0.25)

    def launch(*values):
        kernel.launch(((1, 1, 1), (1, 1, 1)), dout, *values)
        gpu.copy_from(out, dout)
        return list(out)

    assert launch(2, 3, 4, 5, -6, 200, -2**40, pair) == [2, 3, 4, 5, -6, 200, -2**40, -5, .25]
    # bf16 has 8 bits: ties go to even, the next f32 above a tie goes up
    for value, wanted in ((1.00390625, 1.0), (1.01171875, 1.015625), (1.0039064, 1.0078125),
                          (-math.inf, -math.inf), (3.4e38, math.inf)):
        assert launch(.5, .1, .5, value, 0, 0, 0, pair)[:4] == [.5, .1, .5, wanted], (value, out)
    assert math.isnan(launch(.5, .1, .5, math.nan, 0, 0, 0, pair)[3])
    assert launch(ctypes.c_float(7), .1, .5, b"\x80\x3f", 0, 0, 0, pair)[:4] == [7, .1, .5, 1]
    for number, value, words in ((4, 2**31, "'i': 2147483648 is no int"), (5, 256, "'c': 256 is no"),
                                 (2, 1e6, "'h'"), (7, 1, "'pair'"), (7, pair[:4], "4 bytes, not 8"),
                                 (0, ctypes.c_double(1), "8 bytes, not 4"), (0, "x", "'f': 'x' is no float"), (3, "x", "'b': 'x' is no kpk_bf16"),
                                 (3, 1e39, "'b': 1e+39 is no")):
        values = [2, 3, 4, 5, 6, 7, 8, pair]
        values[number] = value
        refused(TypeError, words, launch, *values)
    # where the build knew no types, a number's own kind counts
    kernel.arguments = tuple(a._replace(type="") for a in kernel.arguments)
    assert launch(2.0, 3.0, 4.0, b"\x80\x3f", -6, 200, -2**40, pair) == [2, 3, 4, 1, -6, 200, -2**40, -5, .25]
    gpu.free(dout)


def main():
    assert kpack.pack == "candle" and len(kpack.version()) == 3
    devices = kpack.devices()
    assert [(d.number, d.index, d.platform, d.target, d.wave_size) for d in devices] == [
        (0, 0, "hip", "gfx1100", 32), (1, 1, "hip", "gfx1100", 32)], devices
    with kpack.open() as gpu:
        assert gpu.device == devices[0]
        adds(gpu)
        converts(gpu)
        gpu.unload()
        gpu.load("vector_add")
        adds(gpu)
    with kpack.open("candle", 1) as gpu:
        assert gpu.device.number == 1
        adds(gpu)
    refused(kpack.Error, "device 2", kpack.open, "candle", 2)
    refused(ValueError, "has pack 'candle'", kpack.open, "other")

    sys.modules["torch"] = types.SimpleNamespace(version=types.SimpleNamespace(hip="7.2"))
    for index, number in ((1, 1), (0, 0), (None, 0)):
        with kpack.open("candle", TorchDevice(index)) as gpu:
            assert gpu.device.number == number
    refused(ValueError, "no such GPU", kpack.open, "candle", TorchDevice(2))
    host = TorchDevice(0)
    host.type = "cpu"
    refused(ValueError, "is no GPU", kpack.open, "candle", host)


main()
