#!/usr/bin/env python3
"""patch.py - adds a backend on kpack to candle's crates

usage: patch.py FOLDER KPACK

FOLDER has candle's crates as the registry has them; candle-transformers and
candle-examples may be missing. KPACK is the folder of Rust's crate kpack. Our files
are copied in. candle's own are changed by rules, so that no line of candle is kept
here:

- What candle writes for a variant, a method or a call named after Cuda, it gets
  a second time for Kpack: an arm of a match, a variant of an enum, an item.
- ADDED has what is not a copy, and the text that it goes before.
- What the flash attentions have of CUDA goes behind their feature `cuda`, which is
  on unless it is turned off; so does what an example has of NCCL.

All of it is behind the feature `kpack`. A rule that finds nothing is an error. A
match without a `_` arm that the rules miss is one for the compiler: it wants an
arm for Kpack. A match with one fails when it runs.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GATE = '#[cfg(feature = "kpack")]'

FLASH, FLASH_V3 = "candle-flash-attn", "candle-flash-attn-v3"
TRANSFORMERS, EXAMPLES = "candle-transformers", "candle-examples"

# The files with matches and variants.
COPIED = (
    "candle-core/src/device.rs",
    "candle-core/src/display.rs",
    "candle-core/src/error.rs",
    "candle-core/src/quantized/ggml_file.rs",
    "candle-core/src/quantized/mod.rs",
    "candle-core/src/storage.rs",
    "candle-core/src/tensor.rs",
)

# Items that are copied whole, by their first lines.
ITEMS = [
    ("candle-core/src/custom_op.rs", r"fn cuda_fwd\w*|forward_op\d!\(cuda_fwd"),
    ("candle-core/src/quantized/mod.rs", r"fn cuda_fwd"),
]

# Functions that give something of CUDA's own.
OF_CUDA = ("as_cuda_device", "device_ptr_with_guard")

# File, the text that ours goes before, ours. `@` is the gate.
ADDED = [
    ("candle-core/src/lib.rs", "mod custom_op;", """@
pub mod kpack_backend;
@
pub use kpack_backend::{KpackDevice, KpackStorage};
"""),
    ("candle-core/src/quantized/mod.rs", "mod dummy_metal;", """@
pub mod kpack;
"""),
    ("candle-core/src/device.rs", "    pub fn is_metal(", """\
    /// A GPU of either vendor, by kpack.
    pub fn is_kpack(&self) -> bool {
        !self.is_cpu() && !self.is_cuda() && !self.is_metal()
    }

"""),
    ("candle-core/src/utils.rs", "pub fn metal_is_available(", """\
pub fn kpack_is_available() -> bool {
    cfg!(feature = "kpack")
}

"""),
    ("candle-core/src/sort.rs", '    #[cfg(feature = "metal")]\n    fn metal_fwd', """\
    @
    fn kpack_fwd(
        &self,
        storage: &crate::KpackStorage,
        layout: &crate::Layout,
    ) -> Result<(crate::KpackStorage, crate::Shape)> {
        storage.arg_sort(layout, self.asc)
    }

"""),
    ("candle-core/src/test_utils.rs", '        #[cfg(feature = "metal")]', """\
        #[cfg(all(feature = "kpack", not(feature = "cuda")))]
        #[test]
        fn $test_cuda() -> Result<()> {
            $fn_name(&Device::new_kpack(0)?)
        }

"""),
    ("candle-nn/src/lib.rs", "pub mod kv_cache;", """@
mod kpack;
"""),
    (f"{EXAMPLES}/src/lib.rs", "    if cpu {\n        Ok(Device::Cpu)", """\
    @
    if !cpu && !cuda_is_available() {
        return Device::new_kpack(0);
    }
"""),
]

ATTENTION = """candle::kpack_backend::Attention {{
            scale: self.softmax_scale,
            window_left: self.window_size_left,
            window_right: self.window_size_right,
            alibi_slopes: self.alibi_slopes.as_ref(),
            %s
        }}.forward({args})"""
SEQUENCES = """sequences: Some(candle::kpack_backend::Sequences {{
                q: &self.seqlens_q,
                k: &self.seqlens_k,
                longest_q: self.max_seqlen_q,
                longest_k: self.max_seqlen_k,
                pages: %s,
                prefix_ranges: %s,
            }}),
            softcap: %s,"""

# Operations: file, the type that has them, how many tensors they take, what is called.
OPERATIONS = [
    ("candle-nn/src/ops.rs", "Sigmoid", 1, "crate::kpack::sigmoid({args})"),
    ("candle-nn/src/ops.rs", "SoftmaxLastDim", 1, "crate::kpack::softmax_last_dim({args})"),
    ("candle-nn/src/ops.rs", "RmsNorm", 2, "crate::kpack::rms_norm({args}, self.eps)"),
    ("candle-nn/src/ops.rs", "LayerNorm", 3, "crate::kpack::layer_norm({args}, self.eps)"),
    ("candle-nn/src/rotary_emb.rs", "RotaryEmbI", 3, "crate::kpack::rope_i({args})"),
    ("candle-nn/src/rotary_emb.rs", "RotaryEmb", 3, "crate::kpack::rope({args})"),
    ("candle-nn/src/rotary_emb.rs", "RotaryEmbThd", 3, "crate::kpack::rope_thd({args})"),
    (f"{FLASH}/src/lib.rs", "FlashAttn", 3,
     ATTENTION % "softcap: self.softcap, sequences: None,"),
    (f"{FLASH}/src/lib.rs", "FlashAttnVarLen", 3, ATTENTION % (SEQUENCES % (
        "self.block_table.as_ref().zip(self.page_block_size)", "self.mm_prefix_ranges.as_ref()", "self.softcap"))),
    (f"{FLASH_V3}/src/lib.rs", "FlashAttn", 3, ATTENTION % "softcap: None, sequences: None,"),
    (f"{FLASH_V3}/src/lib.rs", "FlashAttnVarLen", 3,
     "let _ = self.use_gqa_packing; // kpack decides\n" + ATTENTION % (SEQUENCES % ("None", "None", "None"))),
]

# What lets a flash attention be built without CUDA: file, what is there, what comes in its place.
WITHOUT_CUDA = [
    ("Cargo.toml", r'^features = \["cuda"\]\n', ""),
    ("build.rs", r"^fn main\(\).*\{\n", r"""\g<0>
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(());
    }
"""),
    ("src/lib.rs", r"^( *)(mod ffi;|use candle::backend|use candle::cuda_backend|use half::|"
     r"fn round_multiple|impl Flash|fn cuda_fwd\()", r'\1#[cfg(feature = "cuda")]\n\1\2'),
    ("src/lib.rs", r"^use candle::\{CpuStorage", r"#[allow(unused_imports)]\n\g<0>"),
    ("tests/flash_attn_tests.rs", r"Device::new_cuda\(0\)", "gpu()"),
    ("tests/flash_attn_tests.rs", r"\Z", """
#[cfg(feature = "cuda")]
fn gpu() -> candle::Result<Device> {
    Device::new_cuda(0)
}

#[cfg(not(feature = "cuda"))]
fn gpu() -> candle::Result<Device> {
    Device::new_kpack(0)
}
"""),
]

# Two tests have numbers for each backend. Ours multiplies as the CPU's does, which they have at hand.
QUANTIZED_TESTS = "candle-core/tests/quantized_tests.rs"
OF_CUDAS_NUMBERS = "        Device::Cuda(_) => assert_eq!("
AS_CPU = """\
        @
        Device::Kpack(_) => {
            for (ours, cpu) in res.flatten_all()?.to_vec1::<f32>()?.iter().zip(&dst) {
                assert!((ours - cpu).abs() < 1e-3 * cpu.abs(), "{ours}, not {cpu}");
            }
        }
"""

RAW = "candle-core/src/safetensors.rs"
RAW_ARM = """\
{indent}@
{indent}Device::Kpack(device) => Storage::Kpack(device.storage_from_bytes(data, dtype)?),
"""

# candle-nn's functions, and their arguments.
EXPERTS = {
    "moe_gemm": "input, weights, topk_weights, sorted_token_ids, experts_ids, topk, is_prefill",
    "moe_gemm_gguf": "input, weights, topk_weights, sorted_token_ids, experts_ids, topk, is_prefill, dtype",
}

# The example over several GPUs: what there is in place of NCCL. A line of these goes behind `cuda`.
MULTIPROCESS = f"{EXAMPLES}/examples/llama_multiprocess"
OF_NCCL = {
    "main.rs": (r"use cudarc::driver::safe::CudaDevice;", r"use cudarc::nccl::safe::\{Comm, Id\};",
                r"let id = if rank == 0 \{", r"let device = CudaDevice::new\(rank\)\?;",
                r"let comm = match Comm::from_rank\(", r"if rank == 0 \{\n +std::fs::remove_file",
                r"let device = Device::new_cuda\(rank\)\?;"),
    "model.rs": (r"use cudarc::nccl::safe::\{Comm, ReduceOp\};",),
}
NOT_CUDA = '#[cfg(not(feature = "cuda"))]'
OF_COMM = [
    ("main.rs", "mod model;", f"""{NOT_CUDA}
use candle::kpack_backend::{{Comm, Gather}};

"""),
    ("model.rs", "use std::rc::Rc;", f"""{NOT_CUDA}
use candle::kpack_backend::Comm;
"""),
    ("model.rs", '    #[cfg(feature = "cuda")]\n    fn cuda_fwd(', f"""\
    {NOT_CUDA}
    fn kpack_fwd(&self, s: &candle::KpackStorage, l: &Layout) -> Result<(candle::KpackStorage, Shape)> {{
        self.comm.kpack_fwd(s, l)
    }}

"""),
    ("main.rs", '    println!("Rank {rank:?} spawned");', f"""\
    {NOT_CUDA}
    let device = Device::new_kpack(rank)?;
    {NOT_CUDA}
    let comm = {{
        let gather = gather(rank, num_shards, &comm_file)?;
        Rc::new(Comm::open(device.as_kpack_device()?, rank, num_shards, gather)?)
    }};
"""),
    ("main.rs", "fn main() -> Result<()> {", f"""\
/// Carries what the ranks tell each other, by rank 0, whose port is in the file.
{NOT_CUDA}
fn gather(rank: usize, ranks: usize, file: &std::path::Path) -> Result<Box<Gather>> {{
    use std::io::Read;
    use std::net::{{TcpListener, TcpStream}};

    let mut peers = vec![];
    if rank == 0 {{
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let whole = file.with_extension("whole");
        std::fs::write(&whole, listener.local_addr()?.port().to_string())?;
        std::fs::rename(&whole, file)?;
        for _ in 1..ranks {{
            let (mut peer, mut number) = (listener.accept()?.0, [0u8]);
            peer.read_exact(&mut number)?;
            peers.push((number[0], peer));
        }}
        peers.sort_by_key(|(number, _)| *number);
        std::fs::remove_file(file)?;
    }} else {{
        while !file.exists() {{
            std::thread::sleep(std::time::Duration::from_millis(100));
        }}
        let port: u16 = std::fs::read_to_string(file)?.parse()?;
        let mut peer = TcpStream::connect(("127.0.0.1", port))?;
        peer.write_all(&[rank as u8])?;
        peers.push((0, peer));
    }}
    Ok(Box::new(move |mine, all| {{
        let (own, others) = all.split_at_mut(mine.len());
        if rank == 0 {{
            own.copy_from_slice(mine);
            for ((_, peer), place) in peers.iter_mut().zip(others.chunks_mut(mine.len())) {{
                peer.read_exact(place)?;
            }}
            peers.iter_mut().try_for_each(|(_, peer)| peer.write_all(all))
        }} else {{
            peers[0].1.write_all(mine)?;
            peers[0].1.read_exact(all)
        }}
    }}))
}}

"""),
]

OF_FLASH = 'default = ["cuda"]\ncuda = ["candle/cuda"]\nkpack = ["candle/kpack"]\n'
MANIFESTS = {
    "candle-core": ('kpack = ["dep:kpack"]\n', """
[dependencies.kpack]
path = "{kpack}"
features = ["candle"]
optional = true
"""),
    "candle-nn": ('kpack = ["candle/kpack"]\n', ""),
    FLASH: (OF_FLASH, ""),
    FLASH_V3: (OF_FLASH, ""),
    TRANSFORMERS: ('kpack = ["candle/kpack", "candle-nn/kpack"]\n', ""),
    EXAMPLES: ("""kpack = ["candle/kpack", "candle-nn/kpack", "candle-transformers/kpack", "candle-flash-attn?/kpack"]
kpack-flash-attn = ["kpack", "dep:candle-flash-attn"]
""", """
[[example]]
name = "llama_multiprocess_kpack"
path = "examples/llama_multiprocess/main.rs"
required-features = ["kpack-flash-attn"]
"""),
}


class Missing(Exception):
    """what a rule wants is not there"""


def renamed(text):
    """the same for Kpack"""
    text = text.replace("Cuda", "Kpack").replace("cuda", "kpack")
    return re.sub(r"(?<![\w:])KpackStorage", "crate::KpackStorage", text)


def code(text, start):
    """the places and characters from start on that are no string or comment"""
    skipped = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|\'(?:[^\'\\]|\\.)\'', re.S)
    at = start
    while at < len(text):
        other = skipped.match(text, at)
        if other:
            at = other.end()
            continue
        yield at, text[at]
        at += 1


def end_of(text, start):
    """where the item or arm that begins at start ends: behind `,`, `;` or `}`"""
    depth = 0
    for at, letter in code(text, start):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0 and letter == "}" and text[at + 1] in "\n,":
                return at + 1 + (text[at + 1] == ",")
        elif letter in ",;" and depth == 0:
            return at + 1
    raise Missing("an end")


def begin_of(text, at):
    """where the attributes and comments of the line that begins at `at` begin"""
    while at > 0:
        before = text.rindex("\n", 0, at - 1) + 1
        if not re.match(r" *(#\[|//)", text[before:at]):
            break
        at = before
    return at


def gate(text, begin):
    """the gate, as far to the right as the line that begins there"""
    return re.match(" *", text[begin:]).group() + GATE + "\n"


def arms(text):
    """text with a copy of each arm and variant of Cuda's"""
    out, done = [], 0
    for line in re.finditer(r"^ .*$", text, re.M):
        pattern, arrow, _ = line.group().partition(" =>")
        variant = re.match(r" +Cuda(\(| \{).*,$", line.group())
        if line.start() < done or not (variant or arrow and re.search(r"\bCuda\b", pattern)):
            continue
        begin, end = begin_of(text, line.start()), end_of(text, line.start())
        whole = text[begin:end]
        where = function_at(text, begin)
        if 'feature = "cuda"' in whole or where.startswith("cuda_fwd"):
            continue
        copy = only(renamed(whole))
        if where in OF_CUDA:
            copy = re.sub(r"\(\w+\) =>.*", '(_) => crate::bail!("expected cuda, got kpack"),', copy)
        out += [text[done:end], "\n", gate(text, begin), copy]
        done = end
    return joined(out, text[done:])


def joined(out, rest):
    if not out:
        raise Missing("nothing of Cuda's")
    return "".join(out) + rest


def only(arm):
    """an arm without the alternatives that other arms have"""
    pattern, arrow, body = arm.partition(" =>")
    if " | " in pattern and arrow:
        indent = re.match(" *", pattern).group()
        pattern = indent + next(p for p in pattern.strip().split(" | ") if "Kpack" in p)
    return pattern + arrow + body


def function_at(text, at):
    """the name of the function around a place"""
    return (re.findall(r"\bfn (\w+)", text[:at]) or [""])[-1]


def items(text, pattern):
    """text with a copy of each item of Cuda's"""
    out, done = [], 0
    for found in re.finditer(rf"^ +(?:{pattern})\b[^\n]*", text, re.M):
        begin, end = begin_of(text, found.start()), end_of(text, found.start())
        whole = text[begin:end]
        if "$" in whole:
            continue
        gap = "\n\n" if "{" in whole else "\n"
        out += [text[done:end], gap, gate(text, begin), renamed(whole)]
        done = end
    return joined(out, text[done:])


def edit(folder, name, change):
    path = os.path.join(folder, name)
    crate = name.split("/")[0]
    if crate in (TRANSFORMERS, EXAMPLES) and not os.path.isdir(os.path.join(folder, crate)):
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        text = change(text)
    except Missing as error:
        raise SystemExit(f"patch.py: {name}: {error}: is this another candle?")
    if path.endswith(".rs") and shutil.which("rustfmt"):
        text = subprocess.run(["rustfmt", "--edition", "2021"], input=text, text=True,
                              check=True, stdout=subprocess.PIPE).stdout
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def added(anchor, ours, times=1):
    def change(text):
        if text.count(anchor) != times:
            raise Missing(f"{anchor!r} is there {text.count(anchor)} times")
        return text.replace(anchor, ours.replace("@", GATE) + anchor)
    return change


def operation(name, n, call):
    """a method of candle-nn's operation"""
    tensors = range(1, n + 1)
    ours = ("    @\n    fn kpack_fwd(\n        &self,\n"
            + "".join(f"        s{i}: &candle::KpackStorage,\n        l{i}: &Layout,\n"
                      for i in tensors)
            + "    ) -> Result<(candle::KpackStorage, Shape)> {\n        "
            + call.format(args=", ".join(f"(s{i}, l{i})" for i in tensors))
            + "\n    }\n\n")

    def change(text):
        found = re.search(rf"impl (?:candle::)?CustomOp{n} for {name} \{{\n", text)
        if not found:
            raise Missing(f"no CustomOp{n} of {name}")
        return text[:found.end()] + ours.replace("@", GATE) + text[found.end():]
    return change


def raw(text):
    """types without numbers: bytes"""
    found = list(re.finditer(r'( +)#\[cfg\(feature = "cuda"\)\]\n +Device::Cuda', text))
    if len(found) != 2:
        raise Missing("the arms of types without numbers")
    for arm in reversed(found):
        ours = RAW_ARM.format(indent=arm.group(1)).replace("@", GATE)
        text = text[:arm.start()] + ours + text[arm.start():]
    return text


def experts(text):
    """experts instead of what says that there are none"""
    none, ours = '#[cfg(not(feature = "cuda"))]', '#[cfg(all(feature = "kpack", not(feature = "cuda")))]'
    if none not in text:
        raise Missing(none)
    text = text.replace("use candle::{Result", "#[allow(unused_imports)]\nuse candle::{Result")
    for name, args in EXPERTS.items():
        found = re.search(rf'cfg\(feature = "cuda"\)\]\n(?:#.*\n)*pub fn {name}\([^{{]*\{{\n', text)
        if not found:
            raise Missing(f"no {name}")
        text = text[:found.end()] + f"""\
    {GATE}
    if input.device().is_kpack() {{
        return crate::kpack::moe::{name}({args});
    }}
""" + text[found.end():]
    return text.replace(none, '#[cfg(not(any(feature = "cuda", feature = "kpack")))]') + (
        f"\n{ours}\npub use crate::kpack::moe::{{moe_gemm, moe_gemm_gguf}};\n")


def manifest(feature, dependency):
    def change(text):
        if "[features]\n" not in text:
            text = text.replace("[lib]\n", "[features]\n\n[lib]\n")
        text = text.replace("default = []\n", "") if "default" in feature else text
        return text.replace("[features]\n", "[features]\n" + feature) + dependency
    return change


def replaced(pattern, ours):
    def change(text):
        text, times = re.subn(pattern, ours, text, flags=re.M)
        if not times:
            raise Missing(f"no {pattern}")
        return text
    return change


def patch(folder, kpack):
    for name, (feature, dependency) in MANIFESTS.items():
        edit(folder, f"{name}/Cargo.toml", manifest(feature, dependency.format(kpack=kpack)))
    for name, pattern in ITEMS:
        edit(folder, name, lambda text, p=pattern: items(text, p))
    for name in COPIED:
        edit(folder, name, arms)
    for name, anchor, ours in ADDED:
        edit(folder, name, added(anchor, ours))
    edit(folder, f"{EXAMPLES}/Cargo.toml", replaced(
        r"^\[dependencies\.candle-flash-attn\]\n", r"\g<0>default-features = false\n"))
    edit(folder, f"{EXAMPLES}/Cargo.toml", replaced(
        r"^cuda = \[\n", r'\g<0>    "candle-flash-attn?/cuda",\n'))
    for name, lines in OF_NCCL.items():
        for line in lines:
            edit(folder, f"{MULTIPROCESS}/{name}", replaced(
                rf"^( *)({line})", r'\1#[cfg(feature = "cuda")]\n\1\2'))
    for name, anchor, ours in OF_COMM:
        edit(folder, f"{MULTIPROCESS}/{name}", added(anchor, ours))
    for name, kind, n, call in OPERATIONS:
        edit(folder, name, operation(kind, n, call))
    for name in (FLASH, FLASH_V3):
        for file, pattern, ours in WITHOUT_CUDA:
            edit(folder, f"{name}/{file}", replaced(pattern, ours))
    edit(folder, RAW, raw)
    edit(folder, "candle-nn/src/moe.rs", experts)
    edit(folder, f"{TRANSFORMERS}/src/models/qwen3_moe.rs", replaced(
        r'cfg!\(feature = "cuda"\)', 'cfg!(any(feature = "cuda", feature = "kpack"))'))
    edit(folder, QUANTIZED_TESTS, added(OF_CUDAS_NUMBERS, AS_CPU, 2))
    # What these tests ask of a device with CUDA, they ask of kpack's.
    edit(folder, QUANTIZED_TESTS, replaced(
        r"(\w+)\.is_cuda\(\)", r"\1.is_cuda() || \1.is_kpack()"))
    for crate in ("candle-core", "candle-nn"):
        shutil.copytree(os.path.join(HERE, crate), os.path.join(folder, crate, "src"),
                        dirs_exist_ok=True)
    for name in ("attention_plan.rs", "gemm_plan.rs"):
        shutil.copy(os.path.join(HERE, "..", name),
                    os.path.join(folder, "candle-core/src/kpack_backend"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    patch(sys.argv[1], os.path.abspath(sys.argv[2]))
