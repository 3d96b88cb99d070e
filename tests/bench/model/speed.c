/* speed.c - how fast a model reads a prompt and makes tokens
 *
 *     speed MODEL.gguf READ MAKE SEQUENCES [DEVICES [unrecorded]]
 *
 * Reads READ tokens into each sequence, then makes MAKE tokens for all of them
 * at once, the likeliest each time. Prints one line: file, sequences, tokens a
 * second read and made, seconds from the start of the process to the first
 * token, all but the last after one run that is not counted. DEVICES, such as
 * 0,1,2,3, share the tensors.
 */
#include "model/clock.h"
#include "model/generate.h"
#include "model/open.h"
#include "model/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct model *model;
    uint32_t read, make, sequences, batch;
    struct model_token *run;
    uint32_t *next;
    double start, first_s; /* start of the process; time to the first answer */
};

static uint32_t some_token(const struct bench *b, uint32_t i)
{
    return (i * 7919 + 17) % model_sizes(b->model)->vocabulary;
}

static bool read_all(struct bench *b, struct fault *fault)
{
    for (uint32_t s = 0; s < b->sequences; s++)
        for (uint32_t at = 0, n; at < b->read; at += n) {
            n = b->read - at < b->batch ? b->read - at : b->batch;
            for (uint32_t i = 0; i < n; i++)
                b->run[i] = (struct model_token){some_token(b, at + i), s,
                                                 at + i, at + i + 1 == b->read};
            if (!model_run(b->model, b->run, n, fault) ||
                (at + n == b->read &&
                 !model_likeliest(b->model, b->next + s, fault)))
                return false;
            if (at + n == b->read && b->first_s == 0)
                b->first_s = seconds_now() - b->start;
        }
    return true;
}

static bool make_all(struct bench *b, struct fault *fault)
{
    for (uint32_t i = 0; i < b->make; i++) {
        for (uint32_t s = 0; s < b->sequences; s++)
            b->run[s] = (struct model_token){b->next[s], s, b->read + i, true};
        if (!model_run(b->model, b->run, b->sequences, fault) ||
            !model_likeliest(b->model, b->next, fault))
            return false;
    }
    return true;
}

static bool measure(struct bench *b, const char *path, struct fault *fault)
{
    double read_s = 0, made_s = 0;

    for (int pass = 0; pass < 2; pass++) { /* the first loads the kernels */
        double from = seconds_now();

        if (!read_all(b, fault))
            return false;
        read_s = seconds_now() - from;
        from = seconds_now();
        if (!make_all(b, fault))
            return false;
        made_s = seconds_now() - from;
    }
    printf("%s,%" PRIu32 ",%.1f,%.1f,%.2f\n", path, b->sequences,
           b->read * b->sequences / read_s, b->make * b->sequences / made_s,
           b->first_s);
    return true;
}

int main(int argc, char **argv)
{
    struct bench b = {.batch = 512, .start = seconds_now()};
    struct model_options options = {
        .ndevices = 1, .batch = b.batch, .ahead = true};
    struct fault fault = {""};
    struct gguf gguf = {0};
    bool good;

    options.unrecorded = argc == 7 && strcmp(argv[6], "unrecorded") == 0;
    if (argc != 5 && argc != 6 + options.unrecorded) {
        (void)fputs("usage: speed MODEL.gguf READ MAKE SEQUENCES "
                    "[DEVICES [unrecorded]]\n",
                    stderr);
        return 2;
    }
    b.read = (uint32_t)strtoul(argv[2], NULL, 10);
    b.make = (uint32_t)strtoul(argv[3], NULL, 10);
    b.sequences = (uint32_t)strtoul(argv[4], NULL, 10);
    options.context = b.read + b.make;
    options.sequences = b.sequences;
    b.run = calloc(b.batch + b.sequences, sizeof(*b.run));
    b.next = calloc(b.sequences + 1, sizeof(*b.next));
    if (argc > 5)
        options.split = SPLIT_TENSORS;
    good = b.run && b.next && b.read && b.make && b.sequences &&
           (argc == 5 || options_read_devices(argv[5], &options, &fault)) &&
           gguf_open(argv[1], &gguf, &fault) &&
           model_open(&gguf, &options, &b.model, &fault) &&
           measure(&b, argv[1], &fault);
    if (!good)
        (void)fprintf(stderr, "speed: %s\n",
                      fault.text[0] ? fault.text : "counts are 1 at least");
    model_close(b.model);
    gguf_close(&gguf);
    free(b.run);
    free(b.next);
    return good ? 0 : 1;
}
