#!/usr/bin/env python3
"""steps.py [--old DIR]... OURS CANDLE [moe] [random] [fused] [sort] - modules moe,
random, fused and sort beside candle's kernels and torch's, on one NVIDIA GPU

OURS and CANDLE are folders of cubins, made by nvcc: of the pack's modules, and of
candle-kernels' src/{binary,unary,affine,reduce}.cu and src/moe/*.cu. --old names
folders of other builds of ours. Launch shapes come from the modules' CSV tables,
beside the cubins or in kernels/.

Both sides get the same random inputs. A time is the median of five replays of a
recorded graph of launches, sides in turn; inputs turn over, so that the L2 cache
does not hold them, as far as they are larger. `apart` is the largest difference
from candle's results as a share of the root mean square, and of experts from
torch's product of those weights that torch can read; after it, in brackets,
candle's difference from the same.
"""
import argparse
import csv
import ctypes as C
import fnmatch
import os
import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from recorded import apart, microseconds

TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
F16, BF16, F32 = TYPES
TURNED_NBYTES = 200 << 20  # inputs that turn over


# ---- the driver --------------------------------------------------------------

driver = C.CDLL("libcuda.so.1")


def must(result):
    if result:
        text = C.c_char_p()
        driver.cuGetErrorName(result, C.byref(text))
        sys.exit("steps.py: " + (text.value or b"?").decode())


class Cubins:
    def __init__(self, folder):
        self.functions = {}
        self.tables = []
        self.folder = pathlib.Path(folder)
        for path in sorted(self.folder.glob("*.cubin")):
            module, count = C.c_void_p(), C.c_uint()
            must(driver.cuModuleLoad(C.byref(module), str(path).encode()))
            must(driver.cuModuleGetFunctionCount(C.byref(count), module))
            found = (C.c_void_p * count.value)()
            must(driver.cuModuleEnumerateFunctions(found, count, module))
            for f in found:
                name = C.c_char_p()
                must(driver.cuFuncGetName(C.byref(name), C.c_void_p(f)))
                self.functions[name.value.decode()] = C.c_void_p(f)
            self.read_table(path.stem)

    def read_table(self, stem):
        beside = self.folder / (stem + ".csv")
        path = beside if beside.exists() else pathlib.Path("kernels") / (stem + ".csv")
        if path.exists():
            lines = [l for l in path.read_text().splitlines() if l and l[0] != "#"]
            self.tables += csv.DictReader(lines)

    def find(self, *parts):
        """The kernel of this name, or whose name has all the parts."""
        if parts[0] in self.functions:
            return self.functions[parts[0]]
        found = [f for name, f in self.functions.items() if all(p in name for p in parts)]
        return found[0] if len(found) == 1 else None

    def row(self, kernel, columns=0, n=0):
        for r in self.tables:
            if (fnmatch.fnmatch(kernel, r["kernel"]) and not (r.get("target") or "").startswith("gfx")
                    and int(r.get("min_n") or 0) <= n
                    and int(r.get("min_columns") or 0) <= columns <= int(r.get("max_columns") or 1 << 62)):
                return r
        return None


def argument(v):
    if isinstance(v, torch.Tensor):
        return C.c_void_p(v.data_ptr())
    if v is None:
        return C.c_void_p(0)
    if isinstance(v, int):
        return C.c_int32(v)
    if isinstance(v, float):
        return C.c_float(v)
    return v


def launch(f, grid, block, shared, *args):
    values = [argument(a) for a in args]
    pointers = (C.c_void_p * len(values))(*[C.cast(C.pointer(v), C.c_void_p) for v in values])
    grid, block = (tuple(x) + (1, 1, 1) for x in (grid, block))
    if shared > 48 << 10:
        must(driver.cuFuncSetAttribute(f, 8, shared))  # MAX_DYNAMIC_SHARED_SIZE_BYTES
    must(driver.cuLaunchKernel(f, *grid[:3], *block[:3], shared,
                               C.c_void_p(torch.cuda.current_stream().cuda_stream), pointers, None))


# ---- times -------------------------------------------------------------------


def compare(what, sides, count, nbytes=0, flops=0, difference=None):
    """Times sides, [(name, call)], and prints a line."""
    us = microseconds([c for _, c in sides], count)
    text = f"{what:56}"
    for (name, _), t in zip(sides, us):
        text += f" {name} {t:9.2f}" + ("" if t == us[0] else f" x{t / us[0]:5.2f}")
    text += f" us {nbytes / us[0] / 1e3:6.0f} GB/s" if nbytes else " us"
    text += f" {flops / us[0] / 1e6:6.1f} TF" if flops else ""
    if difference:
        d = difference()
        text += "  apart " + (d if isinstance(d, str) else f"{d:.1e}")
    print(text, flush=True)


def turns(nbytes, most=32):
    return max(2, min(most, -(-TURNED_NBYTES // max(1, nbytes))))


def div_up(a, b):
    return -(-a // b)


def random(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


# ---- experts -----------------------------------------------------------------

# format: elements, bytes of a block, where f16 numbers are, candle's number
FORMATS = {"q8_0": (32, 34, (0,), 0), "q4_k": (256, 144, (0, 2), 1), "q2_k": (256, 84, (80, 82), 2),
           "q3_k": (256, 110, (108,), 3), "q5_k": (256, 176, (0, 2), 4), "q6_k": (256, 210, (208,), 5)}
# model: experts, of which for a token; columns and k of up and of down
MODELS = {"Qwen3-30B-A3B": (128, 8, (768, 2048), (2048, 768)),
          "Mixtral 8x7B": (8, 2, (14336, 4096), (4096, 14336)),
          "gpt-oss-20b": (32, 4, (5760, 2880), (2880, 2880))}


def block_weights(name, count):
    elements, nbytes, scales, _ = FORMATS[name]
    w = torch.randint(0, 256, (count // elements, nbytes), device="cuda", dtype=torch.uint8)
    for at in scales:
        d = (torch.rand(w.shape[0], 1, device="cuda") * 0.01 + 0.001).half()
        w[:, at:at + 2] = d.view(torch.uint8)
    return w


def q8_1_rows(rows, k):
    padded = div_up(k, 512) * 512
    y = torch.empty(rows, padded // 32, 36, device="cuda", dtype=torch.uint8)
    q = torch.randint(-127, 128, (rows, padded // 32, 32), device="cuda", dtype=torch.int8)
    d = (torch.rand(rows, padded // 32, 1, device="cuda") * 0.01).half()
    y[..., 0:2] = d.view(torch.uint8)
    y[..., 2:4] = (d.float() * q.float().sum(-1, keepdim=True)).half().view(torch.uint8)
    y[..., 4:] = q.view(torch.uint8)
    return y, padded


def product_difference(out, x, w, r, scale, topk, fmt, size):
    """How far `out` is off torch's product, over four of the experts."""
    n, k = size
    want, got = [], []
    for e in r.ids.unique()[:4].tolist():
        rows = r.rows[r.ids == e].long()
        if fmt:
            blocks = w.view(-1, n * k // 32, 34)[e]
            of_e = (blocks[:, :2].contiguous().view(torch.float16).float()
                    * blocks[:, 2:].contiguous().view(torch.int8).float()).to(x.dtype)
        else:
            of_e = w.view(-1, n, k)[e]
        y = x[rows if scale is not None else rows // topk].double() @ of_e.view(n, k).double().T
        want.append(y if scale is None else y * scale[rows, None])
        got.append(out[rows])
    return apart(torch.cat(got), torch.cat(want))


class Routing:
    def __init__(self, tokens, experts, topk):
        chosen = torch.rand(tokens, experts, device="cuda").topk(topk).indices.flatten()
        order = chosen.sort(stable=True)
        self.ids = order.values.int()
        self.rows = order.indices.int()
        self.offsets = torch.searchsorted(self.ids, torch.arange(experts + 1, device="cuda").int()).int()
        self.experts = chosen.unique().numel()


def expert_case(ours, candle, model, down, tokens, dtype, fmt=None, few=False):
    experts, topk, up, last = MODELS[model]
    n, k = last if down else up
    elements, block_nbytes, _, number = FORMATS[fmt] if fmt else (1, 2, None, None)
    if k % elements:
        return
    m = tokens * topk
    weight_nbytes = n * (k // elements) * block_nbytes
    probe = Routing(tokens, experts, topk).experts
    sets = turns(probe * weight_nbytes)
    routes = [Routing(tokens, experts, topk) for _ in range(sets)]
    w = block_weights(fmt, experts * n * k) if fmt else random(experts * n, k, dtype=dtype) * 0.05
    in_rows = m if down else tokens
    if few:
        x, padded = q8_1_rows(in_rows, k)
    else:
        x = random(in_rows, k, dtype=dtype)
    scale = torch.rand(m, device="cuda") if down else None
    result = F32 if fmt else dtype
    size = 4 if fmt else 2
    outs = [torch.full((m, n), float("nan"), device="cuda", dtype=result) for _ in range(len(ours) + 1)]
    sizes = (experts, topk, m, n, k)
    name = "moe_gemm_" + (f"gguf_{fmt}" if few else f"gguf_prefill_{TYPES[dtype]}_{fmt}" if fmt else TYPES[dtype])
    sides = []

    def our_call(f, out, row):
        def call(i):
            r = routes[i % sets]
            block = (int(row["block_x"]), int(row.get("block_y") or 1))
            if few:
                launch(f, (div_up(n, int(row["grid_x_each"])), m), block, 0, w, x, r.rows, r.ids, scale, out, *sizes, padded)
            else:
                launch(f, (experts, div_up(n, int(row["grid_y_each"]))), block, int(row.get("shared_nbytes") or 0),
                       x, w, r.rows, r.offsets, scale, out, *sizes)
        return call

    def their_call(i):
        r, out = routes[i % sets], outs[-1]
        if few:
            launch(theirs, (div_up(n, 4), m), (32, 4), shared, w, x, r.rows, r.ids, scale, out, *sizes, padded)
        elif fmt:
            launch(theirs, (experts, div_up(n, 32)), (64 if number in (2, 3, 4, 5) else 32, 4), shared,
                   x, w, r.rows, r.offsets, scale, out, *sizes, number)
        else:
            launch(theirs, (experts, div_up(n, 32)), (128,), 6144, x, w, r.rows, r.offsets, scale, out, *sizes)

    for (label, cubins), out in zip(ours, outs):
        if cubins.find(name):
            sides.append((label, our_call(cubins.find(name), out, cubins.row(name))))
    block_name = "block_" + fmt.replace("_k", "_K") if fmt else None
    mangled = {F16: "I6__half", BF16: "I13__nv_bfloat16"}
    if few:
        shared = k // elements * block_nbytes * 4 + 1024
        theirs = candle.find("moe_gemm_gguf_kernel", block_name) if shared <= 48 << 10 else None
    elif fmt:
        shared = 64 * elements * 2 + 32 * block_nbytes + 4096
        theirs = candle.find("moe_gemm_gguf_prefill_kernel", mangled[dtype], block_name)
    else:
        theirs = candle.find("moe_gemm_grouped_kernel", mangled[dtype], "Li8ELi32E" if tokens < 32 else "Li16ELi16E")
    if theirs:
        sides.append(("candle", their_call))
    def differences():
        parts = [product_difference(out, x, w, routes[(count - 1) % sets], scale, topk, fmt, (n, k))
                 for out in (outs[0], outs[-1])]
        return f"{parts[0]:.1e}" + (f" ({parts[1]:.1e})" if theirs else "")

    flops = 2.0 * m * n * k
    nbytes = probe * weight_nbytes + x.nbytes + m * n * size
    count = max(1, min(max(sets, 20), int(3e-3 / (nbytes / 2e12 + flops / 1.5e13 + 4e-6))))
    compare(f"{name:30} {model:14}{'down' if down else 'up  '} {tokens:4}", sides, count, nbytes, flops,
            differences if fmt in (None, "q8_0") and not few else
            (lambda: apart(outs[0], outs[-1])) if theirs else None)


def time_moe(ours, candle):
    print("\nexperts: kernel, model, matrix, tokens; us; bytes of the experts chosen, inputs and results")
    for tokens in (1, 8, 32, 512):
        for model in MODELS:
            for down in (False, True):
                expert_case(ours, candle, model, down, tokens, BF16)
        expert_case(ours, candle, "Qwen3-30B-A3B", False, tokens, F16)
    for fmt in FORMATS:
        for model in MODELS:
            for down in (False, True):
                for tokens in (1, 8, 32):
                    expert_case(ours, candle, model, down, tokens, BF16, fmt, True)
    for fmt in FORMATS:
        for model in MODELS:
            for tokens in (8, 32, 512):
                expert_case(ours, candle, model, False, tokens, BF16, fmt)
        expert_case(ours, candle, "Qwen3-30B-A3B", True, 512, BF16, fmt)
        expert_case(ours, candle, "Qwen3-30B-A3B", False, 512, F16, fmt)
    time_routing(ours, candle)


def time_routing(ours, candle):
    for tokens, experts, topk in ((1, 128, 8), (8, 128, 8), (512, 128, 8), (1, 8, 2), (512, 32, 4), (4096, 128, 8)):
        x = [random(tokens, experts, dtype=F32) for _ in range(8)]
        ids = torch.empty(tokens, topk, device="cuda", dtype=torch.int32)
        w = torch.empty(tokens, topk, device="cuda")

        def ours_call(f):
            return lambda i: launch(f, (div_up(tokens, 4),), (128,), 0, x[i % 8], None, ids, w, tokens, experts, topk, 2)

        def torch_call(i):
            p, chosen = torch.softmax(x[i % 8], -1).topk(topk)
            return p / p.sum(-1, keepdim=True), chosen

        compare(f"moe_topk_f32 {tokens} x {experts}, {topk}",
                [(label, ours_call(c.find("moe_topk_f32"))) for label, c in ours if c.find("moe_topk_f32")] + [("torch", torch_call)], 40)
    for tokens, experts, topk in ((1, 128, 8), (512, 128, 8), (4096, 128, 8)):
        r, m = Routing(tokens, experts, topk), tokens * topk
        offsets, counts = (torch.empty(experts + 1, device="cuda", dtype=torch.int32) for _ in range(2))
        add, scan = (next((f for name, f in candle.functions.items() if part in name), None)
                     for part in ("count_tokens_per_expert_kernel", "expert_prefix_sum_kernel"))

        def their_call(_):
            counts.zero_()
            launch(add, (div_up(m, 256),), (256,), 0, r.ids, counts, m)
            launch(scan, (1,), (128,), 512, counts, offsets, experts)

        def our_call(f):
            return lambda _: launch(f, (1,), (256,), 0, r.ids, offsets, m, experts)

        compare(f"moe_expert_offsets {m} rows, {experts}",
                [(label, our_call(c.find("moe_expert_offsets"))) for label, c in ours if c.find("moe_expert_offsets")]
                + ([("candle", their_call)] if add and scan else []), 40)


# ---- random numbers ----------------------------------------------------------


def bits(v, dtype):
    if dtype == F32:
        return C.c_float(v)
    return C.c_uint16(torch.tensor(v, dtype=dtype).view(torch.int16).item() & 0xffff)


def time_random(ours, _):
    print("\nrandom numbers: 2^29 of them; torch's uniform_ and normal_")
    n = 1 << 29
    for dtype in (F32, F16, BF16):
        out = torch.empty(n, device="cuda", dtype=dtype)
        for what, a, b in (("uniform", 0.0, 1.0), ("uniform", -1.0, 3.0), ("normal", 0.0, 1.0)):
            name = f"rand_{what}_{TYPES[dtype]}"
            sides = []
            for label, cubins in ours:
                row, f = cubins.row(name), cubins.find(name)
                if not f:
                    continue
                grid = (div_up(n, int(row["grid_x_each"])),)
                sides.append((label, lambda i, f=f, grid=grid, row=row: launch(
                    f, grid, (int(row["block_x"]),), 0, out, C.c_uint64(n), C.c_uint64(7), C.c_uint64(n * i),
                    bits(a, dtype), bits(b, dtype))))
            sides.append(("torch", (lambda _: out.uniform_(a, b)) if what == "uniform" else (lambda _: out.normal_())))
            compare(f"{name} {a:g} {b:g}", sides, 3, n * out.element_size())
        del out


# ---- long rows ---------------------------------------------------------------


def sort_steps(cubins, name, x, dst, items):
    """The launches of kpk_sort_launch() (sort_rows.h)."""
    rows, columns = x.shape
    at, other = items

    def start(kernel, *args):
        row = cubins.row(kernel)
        grid = (div_up(columns, int(row["grid_x_each"])), rows)
        launch(cubins.find(kernel), grid, (int(row["block_x"]),), 0, *args)

    start(name.replace("asort", "asort_tiles"), x, at, columns)
    run = int(cubins.row("asort_tiles_" + name[6:])["grid_x_each"])
    while run < columns:
        start("asort_merge_wide", at, other, dst if columns - run <= run else None, columns, run)
        at, other, run = other, at, 2 * run


def time_sort(ours, _):
    print("\nlong rows, descending; torch's sort, values too")
    for dtype in (F32, BF16):
        name = "asort_desc_" + TYPES[dtype]
        for rows, columns in ((1, 8192), (1, 32000), (1, 49152), (1, 128256), (1, 256000), (16, 32000), (16, 128256), (64, 128256)):
            x = random(rows, columns, dtype=dtype)
            items = [torch.empty(rows, columns, device="cuda", dtype=torch.int64) for _ in range(2)]
            dst = torch.empty(rows, columns, device="cuda", dtype=torch.int32)
            sides = [(label, lambda i, c=c: sort_steps(c, name, x, dst, items)) for label, c in ours
                     if c.find("asort_merge_wide")]
            sides.append(("torch", lambda _: torch.sort(x, stable=True, descending=True)))
            compare(f"{name} {rows} x {columns}", sides, 10, difference=lambda: str(
                (dst != torch.sort(x, stable=True, descending=True).indices).sum().item()))


# ---- steps of language models ------------------------------------------------


def elementwise(f, n, *args):
    launch(f, (div_up(n, 1024),), (1024,), 0, C.c_uint64(n), C.c_uint64(1), None, *args)


def step_sides(ours, name, columns, count_of, args):
    """Ours, in the recommended shape; count_of(what a block's share counts)."""
    sides = []
    for label, cubins in ours:
        f, row = cubins.find(name), cubins.row(name, columns, count_of)
        if not f:
            continue
        each = int(row["grid_x_each"])
        grid = (div_up(count_of, each) if each else 1,)
        sides.append((label, lambda i, f=f, grid=grid, row=row: launch(f, grid, (int(row["block_x"]),), 0, *args(i))))
    return sides


def time_fused(ours, candle):
    print("\nsteps: kernel, shape; torch's and candle's compositions")
    for dtype in (BF16, F32):
        t = TYPES[dtype]
        for tokens in (1, 8, 512):
            n = 4096
            sets = turns(3 * tokens * n * 4)
            x, r, s = ([random(tokens, n, dtype=dtype) for _ in range(sets)] for _ in range(3))
            w, y, y2 = random(n, dtype=dtype), torch.empty_like(x[0]), torch.empty_like(x[0])

            def torch_norm(i):
                return F.rms_norm(torch.add(x[i % sets], r[i % sets], out=s[i % sets]), (n,), w, 1e-5)

            def candle_norm(i):
                elementwise(candle.find(f"badd_{t}"), x[0].numel(), x[i % sets], r[i % sets], s[i % sets])
                launch(candle.find(f"rmsnorm_{t}"), (tokens,), (1024,), 0, s[i % sets], y2, w, n, 1024, 1e-5)

            compare(f"rmsnorm_add_{t} {tokens} x {n}", step_sides(
                ours, f"rmsnorm_add_{t}", n, tokens, lambda i: (
                    x[i % sets], r[i % sets], y, s[i % sets], w, n, 0, 1e-5)) + [
                        ("torch", torch_norm), ("candle", candle_norm)], max(sets, 20), 4 * x[0].nbytes,
                    difference=lambda: apart(y, y2))
            n = 14336
            sets = turns(3 * tokens * n * 4)
            x, r = ([random(tokens, n, dtype=dtype) for _ in range(sets)] for _ in range(2))
            y, y2 = torch.empty_like(x[0]), torch.empty_like(x[0])
            for gate, how in (("silu", F.silu), ("gelu", lambda v: F.gelu(v, approximate="tanh"))):
                def candle_gate(i, gate=gate):
                    elementwise(candle.find(f"u{gate}_{t}"), x[0].numel(), x[i % sets], y2)
                    elementwise(candle.find(f"bmul_{t}"), x[0].numel(), y2, r[i % sets], y2)

                compare(f"{gate}_mul_{t} {tokens} x {n}", step_sides(
                    ours, f"{gate}_mul_{t}", n, tokens * n, lambda i: (
                        C.c_uint64(tokens * n), x[i % sets], r[i % sets], y)) + [
                            ("torch", lambda i, how=how: how(x[i % sets]) * r[i % sets]),
                            ("candle", candle_gate)], max(sets, 20), 3 * x[0].nbytes,
                        difference=lambda: apart(y, y2))
            heads, keys = 32, 512 if tokens == 512 else 4096
            sets = turns(2 * heads * tokens * keys * 4)
            x = [random(heads * tokens, keys, dtype=dtype) for _ in range(sets)]
            mask = torch.zeros(tokens, keys, device="cuda", dtype=dtype)
            mask.masked_fill_(torch.rand(tokens, keys, device="cuda") < 0.3, float("-inf"))
            y, y2 = torch.empty_like(x[0]), torch.empty_like(x[0])

            def torch_softmax(i):
                scores = torch.add(mask, x[i % sets].view(heads, tokens, keys), alpha=0.088)
                return torch.softmax(scores, -1)

            info = torch.tensor([heads, tokens, keys, tokens * keys, keys, 1, 0, keys, 1], device="cuda")

            def candle_softmax(i):
                count = x[0].numel()
                launch(candle.find(f"affine_{t}"), (div_up(count, 1024),), (1024,), 0, C.c_uint64(count), C.c_uint64(1),
                       None, x[i % sets], y2, bits(0.088, dtype), bits(0.0, dtype))
                launch(candle.find(f"badd_{t}"), (div_up(count, 1024),), (1024,), 0, C.c_uint64(count), C.c_uint64(3),
                       info, y2, mask, y2)
                launch(candle.find(f"softmax_{t}"), (heads * tokens,), (1, 32), 0, y2, y2, keys)

            compare(f"softmax_masked_{t} {heads * tokens} x {keys}", step_sides(
                ours, f"softmax_masked_{t}", keys, heads * tokens, lambda i: (
                    x[i % sets], mask, y, keys, tokens, 0.088)) + [
                        ("torch", torch_softmax), ("candle", candle_softmax)], min(20, max(sets, 4)), 2 * x[0].nbytes,
                    difference=lambda: apart(y, y2))
            d = 128
            sets = turns(2 * heads * tokens * d * 4)
            x = [random(tokens, heads, d, dtype=dtype) for _ in range(sets)]
            y, y2 = torch.empty_like(x[0]), torch.empty_like(x[0])
            places = torch.arange(tokens, device="cuda", dtype=torch.int32) + 1000
            angle = places.double()[:, None] * 500000.0 ** (-torch.arange(0, d, 2, device="cuda").double() / d)
            cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)

            def torch_rope(i):
                a, b = x[i % sets].chunk(2, -1)
                c, s = cos[:, None], sin[:, None]
                return torch.cat((a * c - b * s, a * s + b * c), -1)

            def candle_rope(i):
                launch(candle.find(f"rope_thd_{t}"), (div_up(heads * tokens * d // 2, 1024),), (1024,), 0,
                       x[i % sets], cos, sin, y2, 1, tokens, heads, d, 0)

            compare(f"rope_pos_{t} {tokens} x {heads} x {d}", step_sides(
                ours, f"rope_pos_{t}", d, heads * tokens * d // 2, lambda i: (
                    x[i % sets], places, None, y, tokens, heads, d, d, 500000.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1)) + [
                        ("torch", torch_rope), ("candle", candle_rope)], max(sets, 20), 2 * x[0].nbytes,
                    difference=lambda: apart(y, y2))
        for n in (32000, 128256, 151936):
            sets = turns(n * 4, 64)
            x = [random(n, dtype=dtype) * 4 for _ in range(sets)]
            index, index2 = (torch.zeros(1, device="cuda", dtype=torch.int32) for _ in range(2))
            work = torch.zeros(2, device="cuda", dtype=torch.int64)
            info = torch.tensor([n, 1], device="cuda")
            compare(f"argmax_last_{t} {n}", step_sides(
                ours, f"argmax_last_{t}", n, n, lambda i: (x[i % sets], index, work, 1, n)) + [
                    ("torch", lambda i: x[i % sets].argmax()),
                    ("candle", lambda i: launch(candle.find(f"fast_argmax_{t}"), (1,), (1024,), 0, C.c_uint64(n),
                                                C.c_uint64(n), C.c_uint64(1), info, x[i % sets], index2))],
                    sets, x[0].nbytes)
            if n == 32000:
                continue
            for k, p, temperature in ((40, 0.95, 0.8), (0, 0.95, 0.8), (0, 1.0, 1.0), (1, 1.0, 0.0)):
                def torch_sample(i, k=k, p=p, temperature=temperature):
                    v = x[i % sets].float()
                    if temperature == 0:
                        return v.argmax()
                    if k:
                        v, place = v.topk(k)
                    elif p < 1:
                        v, place = v.sort(descending=True)
                    else:
                        place = None
                    q = torch.softmax(v / temperature, -1)
                    if p < 1:
                        q = torch.where(q.cumsum(-1) - q < p, q, 0)
                    drawn = (q / torch.empty_like(q).exponential_(1.0)).argmax(-1, keepdim=True)
                    return drawn if place is None else place.gather(0, drawn)

                compare(f"sample_{t} {n}, k {k}, p {p}, t {temperature}", step_sides(
                    ours, f"sample_{t}", n, n, lambda i: (
                        x[i % sets], index, n, k, p, temperature, C.c_uint64(7), C.c_uint64(i))) + [
                            ("torch", torch_sample)], 20, x[0].nbytes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", action="append", default=[])
    parser.add_argument("ours")
    parser.add_argument("candle")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    ours = [("ours", Cubins(options.ours))] + [(pathlib.Path(o).name, Cubins(o)) for o in options.old]
    candle = Cubins(options.candle)
    known = {"moe": time_moe, "random": time_random, "fused": time_fused, "sort": time_sort}
    for module in options.modules or known:
        known[module](ours, candle)


if __name__ == "__main__":
    main()
