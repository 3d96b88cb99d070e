/* compare.c - holds a model's likeliest tokens against those of another program
 *
 *     compare MODEL.gguf FILE.tokens [PROMPTS [TOKENS [DEVICE]]]
 *
 * A line of the file has a prompt's tokens, the likeliest next ones, each after
 * all before it, and by how much each was ahead of the second
 * (llama_tokens.py). Here all of them are run at once, and the likeliest token
 * at each place is held against the next in the line. So a different token does
 * not change later ones. The program's greedy answer is the same text if none
 * does.
 *
 * Programs that round elsewhere may differ where two tokens are nearly equal. A
 * difference passes if the two programs' views of it are less than `close_call`
 * apart: by how much the one token is ahead here, plus by how much it is behind
 * there. llama.cpp's CPU code has been half of that away from double precision
 * on the weights (prompt 1 of SmolLM2, token 6).
 */
#include "model/clock.h"
#include "model/generate.h"
#include "model/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double close_call = 1;

enum { MOST_TOKENS = 1024, BATCH = 8 };

/* A line of the file. */
struct line {
    uint32_t id[MOST_TOKENS]; /* the prompt's, then the answer's */
    double margin[MOST_TOKENS];
    size_t prompt, n;
};

/* Numbers up to the next bar or the line's end: how many. */
static size_t read_numbers(char **at, double *out, size_t room)
{
    size_t n = 0;

    for (char *end; n < room; *at = end, n++) {
        out[n] = strtod(*at, &end);
        if (end == *at)
            break;
    }
    *at += strspn(*at, " |");
    return n;
}

static bool read_line(char *text, struct line *out)
{
    double numbers[MOST_TOKENS];
    char *at = text;
    size_t made;

    out->prompt = read_numbers(&at, numbers, MOST_TOKENS / 2);
    for (size_t i = 0; i < out->prompt; i++)
        out->id[i] = (uint32_t)numbers[i];
    made = read_numbers(&at, numbers, MOST_TOKENS / 2);
    out->n = out->prompt + made;
    for (size_t i = 0; i < made; i++)
        out->id[out->prompt + i] = (uint32_t)numbers[i];
    return read_numbers(&at, out->margin, MOST_TOKENS / 2) == made && made > 0;
}

struct comparison {
    struct model *model;
    float *logits;
    size_t lines, tokens;             /* compared */
    size_t same_lines, same, near_by; /* of them */
};

/* The answers of a run, which are for places from `place` on. */
static bool compare_run(struct comparison *c, const struct line *line,
                        size_t place, size_t n, size_t *differ,
                        struct fault *fault)
{
    uint32_t best[BATCH];

    if (!model_likeliest(c->model, best, fault))
        return false;
    for (size_t i = 0; i < n; i++, place++) {
        const uint32_t wanted = line->id[place];
        const double margin = line->margin[place - line->prompt];
        double behind;

        c->tokens++;
        c->same += best[i] == wanted;
        if (best[i] == wanted)
            continue;
        if (!model_logits(c->model, i, c->logits, fault))
            return false;
        behind = (double)c->logits[best[i]] - (double)c->logits[wanted];
        printf("  prompt %zu, token %zu: %" PRIu32 " for %" PRIu32
               ", ahead by %.3f here, behind by %.3f there\n",
               c->lines + 1, place - line->prompt + 1, best[i], wanted, behind,
               margin);
        c->near_by += behind + margin < close_call;
        ++*differ;
    }
    return true;
}

static bool compare_line(struct comparison *c, const struct line *line,
                         size_t tokens, struct fault *fault)
{
    /* the last one is not run: it is only compared with */
    const size_t made = line->n - line->prompt;
    const size_t n = line->prompt + (made < tokens ? made : tokens) - 1;
    size_t differ = 0;

    for (size_t at = 0, count; at < n; at += count) {
        struct model_token run[BATCH];
        size_t wanted = 0;

        count = n - at < BATCH ? n - at : BATCH;
        for (size_t i = 0; i < count; i++) {
            run[i] =
                (struct model_token){line->id[at + i], 0, (uint32_t)(at + i),
                                     at + i + 1 >= line->prompt};
            wanted += run[i].wanted;
        }
        if (!model_run(c->model, run, count, fault) ||
            !compare_run(c, line, at + count + 1 - wanted, wanted, &differ,
                         fault))
            return false;
    }
    c->lines++;
    c->same_lines += differ == 0;
    return true;
}

static bool compare_file(struct comparison *c, const char *path, size_t lines,
                         size_t tokens, struct fault *fault)
{
    FILE *file = fopen(path, "r");
    struct line line;
    char *text = NULL;
    size_t room = 0;
    bool good =
        file || fail(fault, "cannot open %s: %s", path, strerror(errno));

    while (good && c->lines < lines && getline(&text, &room, file) > 0)
        if (*text != '#')
            good = read_line(text, &line)
                       ? compare_line(c, &line, tokens, fault)
                       : fail(fault, "%s: line of prompt %zu is damaged", path,
                              c->lines + 1);
    free(text);
    if (file)
        (void)fclose(file);
    return good && (c->lines > 0 || fail(fault, "%s has no prompts", path));
}

static size_t number(char **argv, int argc, int at, size_t otherwise)
{
    return at < argc ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const double start = seconds_now();
    const struct model_options options = {
        .devices = {(int)number(argv, argc, 5, 0)},
        .ndevices = 1,
        .context = MOST_TOKENS,
        .sequences = 1,
        .answers = BATCH,
        .batch = BATCH,
    };
    struct comparison c = {0};
    struct fault fault = {""};
    struct gguf gguf = {0};
    bool good;

    if (argc < 3) {
        (void)fputs("usage: compare MODEL.gguf FILE.tokens [PROMPTS [TOKENS "
                    "[DEVICE]]]\n",
                    stderr);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    good = gguf_open(argv[1], &gguf, &fault) &&
           model_open(&gguf, &options, &c.model, &fault);
    if (good)
        c.logits = malloc(model_sizes(c.model)->vocabulary * sizeof(float));
    good = good && (c.logits || fail(&fault, "no memory for logits")) &&
           compare_file(&c, argv[2], number(argv, argc, 3, SIZE_MAX),
                        number(argv, argc, 4, SIZE_MAX), &fault);
    model_close(c.model);
    gguf_close(&gguf);
    free(c.logits);
    if (!good) {
        printf("compare: %s\n0 passed, 1 failed\n", fault.text);
        return 1;
    }
    printf("%zu of %zu prompts have the same tokens, %zu of %zu tokens are the "
           "same; %.1f s\n",
           c.same_lines, c.lines, c.same, c.tokens, seconds_now() - start);
    printf("%zu passed, %zu failed\n", c.same + c.near_by,
           c.tokens - c.same - c.near_by);
    return c.same + c.near_by < c.tokens;
}
