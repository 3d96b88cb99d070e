#!/usr/bin/env python3
"""llama_tokens.py - what llama.cpp's CPU code makes of prompts, token by token

    llama_tokens.py MODEL.gguf PROMPTS TOKENS >data/NAME.tokens

PROMPTS has a prompt in each line, as `model --prompts` takes it. A line of the
output is about one prompt:

    prompt's tokens | likeliest next tokens, one after the other | margins

A margin is the difference between the logits of the likeliest token and of the
second: where it is small, rounding decides. Needs PyPI's llama-cpp-python.
"""
import ctypes
import sys

import llama_cpp as ll
import numpy


def logits_of(context, vocabulary):
    return numpy.ctypeslib.as_array(ll.llama_get_logits_ith(context, -1), (vocabulary,))


def evaluate(context, tokens):
    array = (ll.llama_token * len(tokens))(*tokens)
    if ll.llama_decode(context, ll.llama_batch_get_one(array, len(tokens))) != 0:
        sys.exit("llama_decode failed")


def main():
    path, prompts, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ll.llama_log_set(ctypes.cast(None, ll.llama_log_callback), None)
    ll.llama_backend_init()
    parameters = ll.llama_model_default_params()
    parameters.n_gpu_layers = 0
    model = ll.llama_model_load_from_file(path.encode(), parameters)
    vocab = ll.llama_model_get_vocab(model)
    size = ll.llama_vocab_n_tokens(vocab)
    print("# llama-cpp-python %s: llama_tokens.py %s %s %d" % (
        ll.__version__, path.split("/")[-1], prompts.split("/")[-1], count))
    for line in open(prompts, encoding="utf-8"):
        text = line.rstrip("\n").replace("\\n", "\n").replace("\\t", "\t").encode()
        room = (ll.llama_token * 4096)()
        n = ll.llama_tokenize(vocab, text, len(text), room, 4096, True, True)
        context_parameters = ll.llama_context_default_params()
        context_parameters.n_ctx = 512
        context_parameters.n_threads = context_parameters.n_threads_batch = 1
        context = ll.llama_init_from_model(model, context_parameters)
        evaluate(context, list(room[:n]))
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
