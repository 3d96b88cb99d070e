#!/usr/bin/env python3
"""llama_tokens.py - what llama.cpp makes of prompts, token by token

    llama_tokens.py [WAY...] MODEL.gguf PROMPTS TOKENS >data/NAME.tokens

PROMPTS has a prompt in each line, as `model --prompts` takes it. A line of the
output is about one prompt:

    prompt's tokens | likeliest next tokens, one after the other | margins

A margin is the difference between the logits of the likeliest token and of the
second: where it is small, rounding decides. Needs PyPI's llama-cpp-python.

Without a WAY this is llama.cpp's CPU code as it is by default, on one thread.
Ways of llama.cpp to compute the same:

    flash, no-flash    attention in one step, or by matrix products
    one-by-one         a prompt's tokens one after the other, not at once
    plain              weights as they lie in the file, not rearranged
    cache-f32          K and V in F32
    f32                the weights as F32, which llama.cpp makes a file of first
    gpu                on the GPU
"""
import sys
import tempfile

import llama_cpp as ll
import numpy

WAYS = ("flash", "no-flash", "one-by-one", "plain", "cache-f32", "f32", "gpu")


ERROR = 4  # GGML_LOG_LEVEL_ERROR


@ll.llama_log_callback
def say_errors(level, text, _):
    if level == ERROR:
        sys.stderr.write(text.decode(errors="replace"))


def logits_of(context, vocabulary):
    return numpy.ctypeslib.as_array(ll.llama_get_logits_ith(context, -1), (vocabulary,))


def evaluate(context, tokens):
    array = (ll.llama_token * len(tokens))(*tokens)
    if ll.llama_decode(context, ll.llama_batch_get_one(array, len(tokens))) != 0:
        sys.exit("llama_decode failed")


def options_of(ways):
    options = ll.llama_context_default_params()
    options.n_ctx = 512
    options.n_threads = options.n_threads_batch = 1
    if "flash" in ways or "no-flash" in ways:
        options.flash_attn_type = int("flash" in ways)
    if "cache-f32" in ways:
        options.type_k = options.type_v = ll.GGML_TYPE_F32
    if "gpu" not in ways:
        options.offload_kqv = options.op_offload = False
    return options


def as_f32(path, out):
    parameters = ll.llama_model_quantize_default_params()
    parameters.ftype = ll.LLAMA_FTYPE_ALL_F32
    parameters.allow_requantize = True
    if ll.llama_model_quantize(path.encode(), out.encode(), parameters) != 0:
        sys.exit("llama_model_quantize failed")
    return out


def main():
    ways = [a for a in sys.argv[1:-3] if a in WAYS]
    if len(ways) != len(sys.argv) - 4 or len(sys.argv) < 4:
        sys.exit(__doc__)
    path, prompts, count = sys.argv[-3], sys.argv[-2], int(sys.argv[-1])
    ll.llama_log_set(say_errors, None)
    ll.llama_backend_init()
    parameters = ll.llama_model_default_params()
    parameters.n_gpu_layers = 999 if "gpu" in ways else 0
    parameters.use_extra_bufts = "plain" not in ways
    with tempfile.TemporaryDirectory() as folder:
        if "f32" in ways:
            path = as_f32(path, folder + "/f32.gguf")
        model = ll.llama_model_load_from_file(path.encode(), parameters)
    vocab = ll.llama_model_get_vocab(model)
    size = ll.llama_vocab_n_tokens(vocab)
    print("# llama-cpp-python %s: llama_tokens.py %s" % (
        ll.__version__, " ".join(a.split("/")[-1] for a in sys.argv[1:])))
    for line in open(prompts, encoding="utf-8"):
        text = line.rstrip("\n").replace("\\n", "\n").replace("\\t", "\t").encode()
        room = (ll.llama_token * 4096)()
        n = ll.llama_tokenize(vocab, text, len(text), room, 4096, True, True)
        context = ll.llama_init_from_model(model, options_of(ways))
        step = 1 if "one-by-one" in ways else n
        for at in range(0, n, step):
            evaluate(context, list(room[at:min(at + step, n)]))
        made, margins = [], []
        while len(made) < count:
            logits = logits_of(context, size)
            best = int(numpy.argmax(logits))
            margins.append(logits[best] - numpy.delete(logits, best).max())
            made.append(best)
            if ll.llama_vocab_is_eog(vocab, best):
                break
            evaluate(context, [best])
        ll.llama_free(context)
        print("%s | %s | %s" % (" ".join(map(str, room[:n])), " ".join(map(str, made)),
                                " ".join("%.3f" % m for m in margins)), flush=True)


main()
