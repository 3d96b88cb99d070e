#!/usr/bin/env python3
"""llama_speed.py - the same measurement as speed.c, of llama.cpp

    llama_speed.py MODEL.gguf READ MAKE SEQUENCES

Needs a llama-cpp-python that was built for the machine's GPU. Only llama.cpp's
own time counts: not Python's start, nor what Python does between two runs. So
the choice of the likeliest token, which speed.c does and counts, is not in it.
"""
import sys
import time

import llama_cpp as ll
import numpy

START = time.monotonic()
ERROR = 4  # GGML_LOG_LEVEL_ERROR


@ll.llama_log_callback
def say_errors(level, text, _):
    if level == ERROR:
        sys.stderr.write(text.decode(errors="replace"))


def main():
    path, read, make, sequences = sys.argv[1], *map(int, sys.argv[2:5])
    ll.llama_log_set(say_errors, None)
    ll.llama_backend_init()
    parameters = ll.llama_model_default_params()
    parameters.n_gpu_layers = 999
    model = ll.llama_model_load_from_file(path.encode(), parameters)
    vocabulary = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(model))
    options = ll.llama_context_default_params()
    options.n_ctx = (read + make) * sequences
    options.n_batch = options.n_ubatch = 512
    options.n_seq_max = sequences
    context = ll.llama_init_from_model(model, options)
    batch = ll.llama_batch_init(512, 0, 1)

    def run(tokens):  # of (id, sequence, position, wanted); the seconds it took
        batch.n_tokens = len(tokens)
        for i, (token, sequence, position, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, wanted
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        begin = time.monotonic()
        if ll.llama_decode(context, batch) != 0:
            sys.exit("llama_decode failed")
        ll.llama_synchronize(context)
        return time.monotonic() - begin

    def likeliest(i):
        logits = ll.llama_get_logits_ith(context, i)
        return int(numpy.argmax(numpy.ctypeslib.as_array(logits, (vocabulary,))))

    first = None
    for _ in range(2):
        ll.llama_memory_clear(ll.llama_get_memory(context), True)
        following, read_s, made_s = [], 0, 0
        for sequence in range(sequences):
            for at in range(0, read, 512):
                count = min(512, read - at)
                read_s += run([(((at + i) * 7919 + 17) % vocabulary, sequence, at + i,
                                at + i + 1 == read) for i in range(count)])
                if at + count == read:
                    first = first or time.monotonic() - START
            following.append(likeliest(-1))
        for i in range(make):
            made_s += run([(following[s], s, read + i, True) for s in range(sequences)])
            following = [likeliest(s) for s in range(sequences)]
    print("%s,%d,%.1f,%.1f,%.2f" % (path, sequences, read * sequences / read_s,
                                    make * sequences / made_s, first))


main()
