"""experts.py - a small mixture of experts with random weights, as a GGUF file

Architecture qwen3moe: each token goes to USED of EXPERTS experts in each layer.
Its tokenizer is llama.cpp's for tests, five letters a token.
"""
import array
import random
import struct

TOKENS, COLUMNS, LAYERS = 128, 256, 2
HEADS, KV_HEADS, HEAD = 4, 2, 64
EXPERTS, USED, WIDTH = 8, 2, 256 # columns of an expert

ARCH = "qwen3moe"
NUMBERS = { # of ARCH
    "context_length": 256, "embedding_length": COLUMNS, "block_count": LAYERS,
    "feed_forward_length": WIDTH, "expert_feed_forward_length": WIDTH,
    "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD, "attention.value_length": HEAD,
    "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 10000.0,
    "expert_count": EXPERTS, "expert_used_count": USED}
U32, F32, STRING, ARRAY = 4, 6, 8, 9 # types of GGUF's values
ALIGNMENT = 32


def tensors():
    """names and shapes, the columns first"""
    yield "token_embd.weight", (COLUMNS, TOKENS)
    yield "output.weight", (COLUMNS, TOKENS)
    yield "output_norm.weight", (COLUMNS,)
    for layer in range(LAYERS):
        for name, shape in {
                "attn_norm": (COLUMNS,),
                "attn_q": (COLUMNS, HEADS * HEAD),
                "attn_k": (COLUMNS, KV_HEADS * HEAD),
                "attn_v": (COLUMNS, KV_HEADS * HEAD),
                "attn_output": (HEADS * HEAD, COLUMNS),
                "attn_q_norm": (HEAD,),
                "attn_k_norm": (HEAD,),
                "ffn_norm": (COLUMNS,),
                "ffn_gate_inp": (COLUMNS, EXPERTS),
                "ffn_gate_exps": (COLUMNS, WIDTH, EXPERTS),
                "ffn_up_exps": (COLUMNS, WIDTH, EXPERTS),
                "ffn_down_exps": (WIDTH, COLUMNS, EXPERTS)}.items():
            yield f"blk.{layer}.{name}.weight", shape


def count(shape):
    n = 1
    for ne in shape:
        n *= ne
    return n


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def value(key, kind, packed):
    return string(key) + struct.pack("<I", kind) + packed


def values():
    yield value("general.architecture", STRING, string(ARCH))
    for key, number in NUMBERS.items():
        whole = isinstance(number, int)
        yield value(f"{ARCH}.{key}", U32 if whole else F32,
                    struct.pack("<I" if whole else "<f", number))
    yield value("tokenizer.ggml.model", STRING, string("test"))
    yield value("tokenizer.ggml.tokens", ARRAY,
                struct.pack("<IQ", STRING, TOKENS)
                + b"".join(string(f"tok_{i}") for i in range(TOKENS)))
    yield value("tokenizer.ggml.scores", ARRAY,
                struct.pack(f"<IQ{TOKENS}f", F32, TOKENS, *[0.0] * TOKENS))


def weights(name, shape, numbers):
    """around 1 for norms; else so that products stay as large as the input, or
    become larger where a choice depends on them"""
    if len(shape) == 1:
        return array.array("f", (numbers.uniform(0.5, 1.5)
                                 for _ in range(shape[0])))
    most = (3 / shape[0]) ** 0.5
    if name.startswith(("output", "blk")) and "exps" not in name:
        most *= 2
    return array.array("f", (numbers.uniform(-most, most)
                             for _ in range(count(shape))))


def write(path):
    names, head, at = list(tensors()), list(values()), 0
    out = [b"GGUF", struct.pack("<IQQ", 3, len(names), len(head)), *head]
    for name, shape in names:
        out.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape),
                                              *shape, 0, at))
        at += -(-4 * count(shape) // ALIGNMENT) * ALIGNMENT
    numbers = random.Random(41)
    with open(path, "wb") as file:
        file.write(b"".join(out))
        for name, shape in names:
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            file.write(weights(name, shape, numbers).tobytes())
