"""kpack - GPU kernels that travel inside a program, from Python

A pack of kernels for AMD's and NVIDIA's GPUs is inside this package. It runs on
the memory and the streams of any library that uses the same driver, such as
PyTorch:

    import kpack, torch

    a = torch.arange(1000, dtype=torch.float32, device="cuda")
    b, c = a / 2, torch.empty_like(a)
    gpu = kpack.open("candle", a.device)
    vector_add = gpu.kernel("vector_add")
    vector_add.launch(kpack.shape_1d(1000, 256), a, b, c, 1000,
                      stream=torch.cuda.current_stream())

kpack.h is the manual of the calls below these classes. The whole of it is there
as ``kpack.library``, a ctypes.CDLL.
"""
from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import struct
import sys
from builtins import open as _open_file
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

__all__ = ["ANY_DEVICE", "Argument", "Device", "Error", "Instance", "Kernel",
           "Shape", "devices", "library", "open", "pack", "shape_1d", "version"]

_HERE = os.path.dirname(os.path.abspath(__file__))

#: The first device that the pack has code for.
ANY_DEVICE = -1

#: The C library, every call of kpack.h.
library = ctypes.CDLL(os.path.join(_HERE, "libkpack.so"))


class Error(Exception):
    """A call that failed; its text says what was asked, found, and to be done.

    ``status`` is the name of the kpk_status, such as "KPK_ERR_NO_TARGET".
    """

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


class Shape(NamedTuple):
    """The extent of a launch: blocks, threads of a block, and the bytes of
    dynamic shared memory of a block."""
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    shared_nbytes: int = 0


def shape_1d(n: int, block: int = 256) -> Shape:
    """Enough blocks in x to give each of n elements a thread."""
    return Shape((max(1, min(-(-n // block), 0xffffffff // block, 0x7fffffff)), 1, 1),
                 (block, 1, 1))


class Argument(NamedTuple):
    """One argument of a kernel."""
    name: str     #: as in the source; "" if the build did not record it
    type: str     #: of C, such as "float" or "const float *"; "" if not known
    offset: int   #: bytes from the start of the argument segment
    nbytes: int
    pointer: bool


@dataclasses.dataclass(frozen=True)
class Device:
    """A GPU as its driver describes it; sizes are in bytes."""
    number: int    #: as open() takes it: HIP's GPUs come first, then CUDA's
    name: str
    target: str    #: "gfx90a:sramecc+:xnack-", "sm_90"
    platform: str  #: "hip" or "cuda"
    index: int     #: its number in that driver, which is PyTorch's
    memory_nbytes: int
    shared_nbytes: int  #: most shared memory of a block
    wave_size: int
    compute_units: int


# ---- C -------------------------------------------------------------------------


class _Shape(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3),
                ("shared_nbytes", ctypes.c_uint32)]


class _Arg(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("nbytes", ctypes.c_size_t)]


class _KernelDecl(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("nargs", ctypes.c_size_t),
                ("nargs_given", ctypes.c_size_t),
                ("packed_nbytes", ctypes.c_size_t)]


class _ArgDecl(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_size_t),
                ("nbytes", ctypes.c_size_t), ("kind", ctypes.c_int),
                ("is_padding", ctypes.c_int)]


class _Device(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("target", ctypes.c_char * 256),
                ("memory_nbytes", ctypes.c_uint64), ("lds_nbytes", ctypes.c_uint64),
                ("wave_size", ctypes.c_uint32), ("max_block", ctypes.c_uint32),
                ("max_block_dim", ctypes.c_uint32 * 3),
                ("max_grid", ctypes.c_uint32 * 3),
                ("compute_units", ctypes.c_uint32), ("cooperative", ctypes.c_uint32),
                ("cooperative_multi", ctypes.c_uint32), ("platform", ctypes.c_int),
                ("index", ctypes.c_int)]


_PLATFORMS = ("hip", "cuda")  # KPK_HIP, KPK_CUDA
_VALUE, _BUFFER, _UNKNOWN = 0, 1, 4  # KPK_KIND_*

_POINTER, _OUT, _TEXT = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p
_SIZE, _INT = ctypes.c_size_t, ctypes.c_int
# Calls whose result is a status, and their arguments.
for _name, _types in {
        "open": (_POINTER, _INT, _OUT), "close": (_POINTER,),
        "load": (_POINTER, _TEXT), "unload": (_POINTER, _TEXT),
        "kernel_get": (_POINTER, _TEXT, _OUT),
        "kernel_get_in": (_POINTER, _TEXT, _TEXT, _OUT),
        "kernel_shape": (_POINTER, ctypes.c_uint64, ctypes.c_uint64, _OUT),
        "module_kernel": (_POINTER, _SIZE, _OUT),
        "module_arg": (_POINTER, _SIZE, _SIZE, _OUT),
        "launch": (_POINTER, _OUT, _POINTER, _OUT, _SIZE),
        "malloc": (_POINTER, _SIZE, _OUT), "free": (_POINTER, _POINTER),
        "copy_to": (_POINTER, _POINTER, _POINTER, _SIZE),
        "copy_from": (_POINTER, _POINTER, _POINTER, _SIZE),
        "sync": (_POINTER, _POINTER),
        "device_count": (_OUT,), "device_get": (_INT, _OUT),
        "current_device": (_INT, _OUT)}.items():
    getattr(library, "kpk_" + _name).argtypes = _types
# Calls that cannot fail.
for _name, _result, _types in (
        ("version", _INT, ()), ("error_message", _TEXT, ()),
        ("status_name", _TEXT, (_INT,)), ("pack_name", _TEXT, (_POINTER,)),
        ("kernel_name", _TEXT, (_POINTER,)), ("kernel_module", _POINTER, (_POINTER,)),
        ("kernel_index", _SIZE, (_POINTER,)), ("module_name", _TEXT, (_POINTER,)),
        ("instance_ordinal", _INT, (_POINTER,))):
    getattr(library, "kpk_" + _name).restype = _result
    getattr(library, "kpk_" + _name).argtypes = _types


def _call(name: str, *args: Any) -> None:
    status = getattr(library, "kpk_" + name)(*args)
    if status:
        raise Error(library.kpk_status_name(status).decode(),
                    library.kpk_error_message().decode())


# ---- the pack, the machine's GPUs ------------------------------------------------

_PACK = ctypes.c_void_p.in_dll(library, "cmd_pack")

#: The name of the pack that is in this package.
pack: str = library.kpk_pack_name(_PACK).decode()

_types_of_module = None


def _types(module: str, kernel: int) -> Sequence[str]:
    """C's types of a kernel's arguments, as the build found them; or nothing."""
    global _types_of_module
    if _types_of_module is None:
        with _open_file(os.path.join(_HERE, "arguments.json"), encoding="utf-8") as file:
            _types_of_module = json.load(file)
    return _types_of_module.get(module, {}).get(str(kernel), ())


def version() -> Tuple[int, int, int]:
    """The version of the C library."""
    number = library.kpk_version()
    return number // 10000, number // 100 % 100, number % 100


def devices() -> Tuple[Device, ...]:
    """All GPUs of the machine; none is no error, but no driver is."""
    count = ctypes.c_int()
    _call("device_count", ctypes.byref(count))
    return tuple(_device(number) for number in range(count.value))


def _device(number: int) -> Device:
    c = _Device()
    _call("device_get", number, ctypes.byref(c))
    return Device(number, c.name.decode(), c.target.decode(), _PLATFORMS[c.platform],
                  c.index, c.memory_nbytes, c.lds_nbytes, c.wave_size, c.compute_units)


def _device_number(device: Any) -> int:
    """The number of a device that may be PyTorch's, which counts one driver's."""
    if not hasattr(device, "type"):
        return int(device)
    if device.type != "cuda":
        raise ValueError(f"{device} is no GPU")
    torch = sys.modules.get("torch")
    hip = getattr(getattr(torch, "version", None), "hip", None)
    platform = "hip" if hip else "cuda"
    if device.index is None:
        current = ctypes.c_int()
        _call("current_device", _PLATFORMS.index(platform), ctypes.byref(current))
        return current.value
    for found in devices():
        if (found.platform, found.index) == (platform, device.index):
            return found.number
    raise ValueError(f"{device}: there is no such GPU")


def open(pack: str = pack, device: Any = ANY_DEVICE) -> Instance:
    """Opens the pack on a GPU.

    pack    its name
    device  a number as in Device.number, a torch.device, or ANY_DEVICE
    """
    if pack != globals()["pack"]:
        raise ValueError(f"this package has pack {globals()['pack']!r}, not {pack!r}")
    return Instance(_device_number(device))


class Instance:
    """The pack, opened on one GPU. Threads may share it, but for close().

    Works as a context manager, which closes it.
    """

    def __init__(self, device: int):
        self._inst = ctypes.c_void_p()
        _call("open", _PACK, device, ctypes.byref(self._inst))

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Waits for the GPU and unloads the kernels, which end with it."""
        inst, self._inst = self._inst, ctypes.c_void_p()
        _call("close", inst)

    @property
    def device(self) -> Device:
        """The GPU that it is open on."""
        return _device(library.kpk_instance_ordinal(self._inst))

    def kernel(self, name: str, module: Optional[str] = None) -> Kernel:
        """Finds a kernel, loading its module the first time.

        module  is needed only if several modules have a kernel of that name
        """
        found = ctypes.c_void_p()
        if module is None:
            _call("kernel_get", self._inst, name.encode(), ctypes.byref(found))
        else:
            _call("kernel_get_in", self._inst, module.encode(), name.encode(),
                  ctypes.byref(found))
        return Kernel(self, found)

    def load(self, module: Optional[str] = None) -> None:
        """Loads a module now, or all that fit the GPU."""
        _call("load", self._inst, module and module.encode())

    def unload(self, module: Optional[str] = None) -> None:
        """Unloads a module, or all."""
        _call("unload", self._inst, module and module.encode())

    def malloc(self, nbytes: int) -> int:
        """The address of new memory of the GPU, for programs without a library
        that allocates; give it to free()."""
        address = ctypes.c_void_p()
        _call("malloc", self._inst, nbytes, ctypes.byref(address))
        return address.value or 0

    def free(self, address: Any) -> None:
        """Gives memory of malloc() back; waits for the GPU."""
        _call("free", self._inst, _address(address))

    def copy_to(self, to: Any, host: Any) -> None:
        """Copies all bytes of a host's buffer (bytes, array, numpy.ndarray) to
        the GPU."""
        view = memoryview(host).cast("B")
        bytes_of = view if not view.readonly else bytearray(view)
        at = (ctypes.c_char * len(view)).from_buffer(bytes_of) if len(view) else None
        _call("copy_to", self._inst, _address(to), at, len(view))

    def copy_from(self, host: Any, device: Any) -> None:
        """Fills a host's buffer, which is writable, from the GPU."""
        view = memoryview(host).cast("B")
        at = (ctypes.c_char * len(view)).from_buffer(view) if len(view) else None
        _call("copy_from", self._inst, at, _address(device), len(view))

    def sync(self, stream: Any = None) -> None:
        """Waits for a stream; tells what went wrong in its kernels."""
        _call("sync", self._inst, _stream(stream))


class Kernel:
    """A kernel of an open instance, ready to be launched."""

    def __init__(self, instance: Instance, kernel: ctypes.c_void_p):
        self._kernel = kernel
        self._instance = instance  # which must not go before
        module = library.kpk_kernel_module(kernel)
        number = library.kpk_kernel_index(kernel)
        decl = _KernelDecl()
        _call("module_kernel", module, number, ctypes.byref(decl))
        #: The kernel's exported name and its module's.
        self.name: str = library.kpk_kernel_name(kernel).decode()
        self.module: str = library.kpk_module_name(module).decode()
        types = _types(self.module, number)
        found = []
        for i in range(decl.nargs):
            arg = _ArgDecl()
            _call("module_arg", module, number, i, ctypes.byref(arg))
            if not arg.is_padding:
                c = types[len(found)] if len(found) < len(types) else ""
                pointer = c.endswith("*") or arg.kind == _BUFFER
                found.append(Argument(arg.name.decode(), c, arg.offset, arg.nbytes,
                                      pointer))
        #: What launch() takes.
        self.arguments: Tuple[Argument, ...] = tuple(found)

    def __repr__(self) -> str:
        words = (f"{a.type or f'{a.nbytes} bytes'} {a.name}".strip()
                 for a in self.arguments)
        return f"<kpack kernel {self.module}/{self.name}({', '.join(words)})>"

    def shape(self, n: int, columns: int = 0) -> Shape:
        """The recommended shape of a launch, see kpk_kernel_shape()."""
        c = _Shape()
        _call("kernel_shape", self._kernel, n, columns, ctypes.byref(c))
        return Shape(tuple(c.grid), tuple(c.block), c.shared_nbytes)

    def launch(self, shape: Shape, *args: Any, stream: Any = None) -> None:
        """Starts the kernel and returns without waiting for it.

        shape   a Shape, or (grid, block) of three numbers each
        args    one for each of ``arguments``. A pointer is an object with
                data_ptr(), such as a torch.Tensor, an address, or None. A number is
                converted to the argument's type, and refused if it does not fit.
                Bytes and ctypes' objects are taken as they are
        stream  a torch.cuda.Stream, a driver's handle as a number, or None for
                the default stream
        """
        if len(args) != len(self.arguments):
            raise TypeError(f"{self!r} takes {len(self.arguments)} arguments, "
                            f"not {len(args)}")
        values = [_value(self, number, value) for number, value in enumerate(args)]
        c_args = (_Arg * max(1, len(values)))()
        for c, value in zip(c_args, values):
            c.value = ctypes.addressof(value)
            c.nbytes = len(value)
        shape = Shape(*shape)
        c_shape = _Shape(tuple(shape.grid), tuple(shape.block), shape.shared_nbytes)
        _call("launch", self._kernel, ctypes.byref(c_shape), _stream(stream),
              c_args if values else None, len(values))


# ---- values ----------------------------------------------------------------------


def _address(value: Any) -> int:
    """The address of memory of the GPU."""
    if value is None:
        return 0
    if hasattr(value, "data_ptr"):
        value = value.data_ptr()
    if isinstance(value, ctypes.c_void_p):
        value = value.value or 0
    if isinstance(value, int):
        return value
    raise TypeError(f"{type(value).__name__} is no memory of a GPU: give an object "
                    "with data_ptr(), or an address")


def _stream(value: Any) -> Union[int, None]:
    return getattr(value, "cuda_stream", value)


def _bf16(value: float) -> bytes:
    """The nearest bfloat16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if value == value:
        bits += 0x7fff + (bits >> 16 & 1)
    return struct.pack("<H", bits >> 16 | (0x40 if value != value else 0))


# C's types by struct's letters.
_LETTERS = {"float": "f", "double": "d", "kpk_f16": "e", "size_t": "Q", "bool": "?",
            "int": "i", "unsigned": "I", "unsigned int": "I", "long": "q",
            "unsigned long": "Q", "long long": "q", "unsigned long long": "Q",
            "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H",
            "int32_t": "i", "uint32_t": "I", "int64_t": "q", "uint64_t": "Q"}
_FLOATS, _INTS = {2: "e", 4: "f", 8: "d"}, {1: "bB", 2: "hH", 4: "iI", 8: "qQ"}


def _value(kernel: Kernel, number: int, value: Any) -> ctypes.Array:
    """One argument in an array of ctypes."""
    argument = kernel.arguments[number]

    def refuse(why: str) -> TypeError:
        return TypeError(f"{kernel!r}: argument {number + 1}, {argument.name!r}: {why}")

    if argument.pointer or hasattr(value, "data_ptr") or value is None:
        try:
            data = struct.pack("<Q", _address(value))
        except (TypeError, struct.error) as error:
            raise refuse(str(error)) from None
    elif isinstance(value, (bytes, bytearray, ctypes._SimpleCData, ctypes.Structure)):
        data = bytes(value)
    else:
        data = _number(argument, value, refuse)
    if len(data) != argument.nbytes:
        raise refuse(f"{len(data)} bytes, not {argument.nbytes}")
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


def _number(argument: Argument, value: Any, refuse: Any) -> bytes:
    """A number as the argument's type, or as what it is where that is unknown."""
    letter = _LETTERS.get(argument.type)
    try:
        if argument.type == "kpk_bf16":
            return _bf16(float(value))
        if not argument.type and isinstance(value, float):
            letter = _FLOATS.get(argument.nbytes)
        elif not argument.type and argument.nbytes in _INTS:
            letter = _INTS[argument.nbytes][value >= 0]
        if letter:
            return struct.pack("<" + letter, float(value) if letter in "efd" else value)
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        kind = argument.type or f"number of {argument.nbytes} bytes"
        raise refuse(f"{value!r} is no {kind}: {error}") from None
    raise refuse(f"{argument.type or f'{argument.nbytes} bytes'} takes bytes or an "
                 "object of ctypes")


# ---- the command -----------------------------------------------------------------


def _command() -> None:
    """The command kpack, which looks into this pack and into files."""
    import signal

    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    words = [b"kpack"] + [os.fsencode(word) for word in sys.argv[1:]]
    status = library.kpk_command(len(words), (ctypes.c_char_p * (len(words) + 1))(*words))
    sys.stdout.flush()
    sys.exit(status)
