/* test_model.c - small models of every architecture and format, on every way
 * through the program, against double precision
 *
 * A case is a model and a way to run it. Devices that share the tensors are all
 * of one kind: on simulated GPUs each processor of KPK_SIM_DEVICES runs some of
 * these cases, with FULL=1 all, in a process of its own with four such devices.
 *
 * The kernels round what they multiply with a quantized matrix to Q8_1: 8 bits,
 * in blocks of 32; with more than eight rows at once and one of F16 or BF16, to
 * that. Attention rounds its operands to f16. So logits are held against two
 * references: one that rounds in the same places, closely; and one that rounds
 * nowhere, by how far the rounding moves models as small as these.
 */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "base/gguf_formats.h"
#include "model/open.h"
#include "reference.h"
#include "scratch.h"
#include "tiny.h"

#include <kpack.h>
#include <kpack/candle.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOKENS = 17, PROMPT = 13 };

struct test_case {
    const char *name;
    struct tiny tiny;
    bool quantized;
};

/*
 * How far the largest error of a token's logits may be, in parts of their rms.
 *
 *   free  from the unrounded reference
 *   near  from the rounding reference, for every token. A number between two of
 *         f16's or Q8_1's becomes one of them in f32 and the other in double,
 *         and what follows differs
 *   same  from the rounding reference, for one token at least. If such a number
 *         meets every token of a run, other weights must show `same`. Models of
 *         numbers have such numbers in every run: products of blocks are sums
 *         of integers, theirs are not
 *
 * A step of Q4_0 is 16 times one of Q8_1, and K and V in Q4_0 move logits by as
 * much as they are: there `same` is what tells.
 */
struct bounds {
    double free, near, same;
};

static struct bounds bounds_of(const struct test_case *c, enum cache_type cache)
{
    const bool quantized = c->quantized;
    const bool rough = quantized || cache != CACHE_F16;
    const bool bf16 = c->tiny.format == 30; /* tiles round to 8 bits */

    return (struct bounds){
        .free = cache == CACHE_Q4_0 ? 2
                : rough             ? 0.2
                : bf16              ? 2e-2
                                    : 4e-3,
        .near = cache == CACHE_Q4_0 ? 0.5
                : rough             ? 0.1
                : bf16              ? 8e-3
                                    : 4e-3,
        .same = quantized ? 5e-6 : 2e-3,
    };
}

#define SIZES                                                                  \
    .layers = 2, .width = 256, .inner = 512, .heads = 4, .kv_heads = 2,        \
    .head = 64

enum { TWO = 1 << 2, THREE = 1 << 3, FOUR = 1 << 4 };

/* clang-format off */
#define WEIGHTS(name, lower, short, type, number, ...)                         \
    {"llama " #type, {"llama", number, SIZES, .seed = 100 + (number)}, true},

static const struct test_case cases[] = {
    {"llama F32",   {"llama", 0,  SIZES, .seed = 1}, false},
    {"llama F16",   {"llama", 1,  SIZES, .seed = 2}, false},
    {"llama BF16",  {"llama", 30, SIZES, .seed = 3}, false},
    GGUF_WEIGHTS(WEIGHTS)
    {"llama, heads of its own, factors", {"llama", 0, .layers = 2, .width = 96, .inner = 160, .heads = 3, .kv_heads = 3, .head = 48,
                    .factors = true, .spm = true, .seed = 14}, false},
    {"qwen2 F32",   {"qwen2", 0,  SIZES, .biased = true, .seed = 15}, false},
    {"qwen2 Q8_0",  {"qwen2", 8,  SIZES, .biased = true, .seed = 16}, true},
    {"qwen3 F32",   {"qwen3", 0,  SIZES, .normed = true, .seed = 17}, false},
    {"qwen3 Q4_K",  {"qwen3", 12, SIZES, .normed = true, .tied = true, .seed = 18}, true},
    {"qwen3 F32, YaRN", {"qwen3", 0, SIZES, .normed = true, .yarn = 4, .seed = 25}, false},
    {"gemma3 F32",  {"gemma3", 0, .layers = 6, .width = 128, .inner = 192, .heads = 4, .kv_heads = 1, .head = 64, .window = 5,
                    .normed = true, .twice = true, .tied = true, .spm = true, .seed = 19}, false},
    {"gemma3 Q5_0", {"gemma3", 6, .layers = 7, .width = 128, .inner = 192, .heads = 4, .kv_heads = 1, .head = 64, .window = 4,
                    .normed = true, .twice = true, .tied = true, .spm = true, .seed = 41}, true},
};

/* Heads and inner layers that formats of 256 in a block can cut in two. */
#define WIDE_SIZES                                                             \
    .layers = 2, .width = 256, .inner = 512, .heads = 4, .kv_heads = 2,        \
    .head = 128

/* Models whose tensors several devices share; and a bit for each number of
 * devices that can. */
static const struct team_case {
    struct test_case model;
    unsigned fits;
} team_cases[] = {
    {{"llama F32",  {"llama", 0,  SIZES, .seed = 51}, false}, TWO | FOUR},
    {{"llama Q4_0, biased", {"llama", 2,  SIZES, .biased = true, .seed = 52}, true}, TWO | FOUR},
    {{"llama Q6_K", {"llama", 14, WIDE_SIZES, .seed = 53}, true}, TWO},
    {{"llama BF16, uneven", {"llama", 30, .layers = 2, .width = 96, .inner = 160, .heads = 3, .kv_heads = 3, .head = 48,
                  .factors = true, .spm = true, .seed = 54}, false}, TWO | THREE},
    {{"qwen2 Q8_0", {"qwen2", 8,  SIZES, .biased = true, .seed = 55}, true}, TWO | FOUR},
    {{"qwen3 Q4_K", {"qwen3", 12, WIDE_SIZES, .normed = true, .tied = true, .seed = 56}, true}, TWO},
    {{"qwen3 Q5_0, uneven", {"qwen3", 6, .layers = 2, .width = 128, .inner = 224, .heads = 6, .kv_heads = 3, .head = 64,
                  .normed = true, .tied = true, .seed = 57}, true}, TWO | THREE},
    {{"gemma3 F32", {"gemma3", 0, .layers = 6, .width = 128, .inner = 192, .heads = 4, .kv_heads = 1, .head = 64, .window = 5,
                  .normed = true, .twice = true, .tied = true, .spm = true, .seed = 158}, false}, THREE},
    {{"gemma3 Q5_0", {"gemma3", 6, .layers = 7, .width = 128, .inner = 192, .heads = 4, .kv_heads = 1, .head = 64, .window = 4,
                  .normed = true, .twice = true, .tied = true, .spm = true, .seed = 259}, true}, TWO | FOUR},
};

/* Ways to run a model: tokens at once, number of devices, kind of split. */
static const struct way {
    const char *name;
    uint32_t batch;
    size_t ndevices;
    bool sampled; /* one case in a few */
    enum cache_type cache;
    enum split_type split;
    uint32_t small_nbytes; /* of sums; some go either way */
} ways[] = {
    {"whole prompt",        PROMPT, 1, false, CACHE_F16,  SPLIT_LAYERS, 0},
    {"5 tokens at once",    5,      1, true,  CACHE_F16,  SPLIT_LAYERS, 0},
    {"one token at once",   1,      1, true,  CACHE_F16,  SPLIT_LAYERS, 0},
    {"two devices",         PROMPT, 2, true,  CACHE_F16,  SPLIT_LAYERS, 0},
    {"the other device",    8,      1, true,  CACHE_F16,  SPLIT_LAYERS, 0},
    {"K and V in Q8_0",     PROMPT, 1, true,  CACHE_Q8_0, SPLIT_LAYERS, 0},
    {"K and V in Q4_0",     5,      1, true,  CACHE_Q4_0, SPLIT_LAYERS, 0},
}, team_ways[] = {
    {"a slice on 2 each",   PROMPT, 2, false, CACHE_F16,  SPLIT_TENSORS, 0},
    {"a slice on 3 each",   5,      3, false, CACHE_Q8_0, SPLIT_TENSORS, 1024},
    {"a slice on 4 each",   PROMPT, 4, false, CACHE_F16,  SPLIT_TENSORS, 256},
};
/* clang-format on */
enum {
    NWAYS = sizeof(ways) / sizeof(ways[0]),
    NTEAM_WAYS = sizeof(team_ways) / sizeof(team_ways[0]),
    NTEAM_CASES = sizeof(team_cases) / sizeof(team_cases[0])
};

static int main_device, other_device;
static bool cuts; /* see struct rounding */
static unsigned passed, failed;

static void report(bool good, const char *name, const char *way,
                   const char *what)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s, %s: %s\n", name, way, what);
}

/* The largest error, in parts of the reference's rms. */
static double error_of(const float *got, const double *want, size_t n)
{
    double squares = 0, worst = 0;

    for (size_t i = 0; i < n; i++) {
        squares += want[i] * want[i];
        worst = fmax(worst, fabs((double)got[i] - want[i]));
        if (!isfinite(got[i]))
            return INFINITY;
    }
    return worst / sqrt(squares / (double)n);
}

/* Errors of tokens, from either reference. */
struct errors {
    double free, near, same; /* the largest of two, the least of the last */
};

/* Adds token number `at` of a sequence. */
static void compare(const float *logits, double *want[2][2], uint32_t sequence,
                    size_t at, struct errors *errors)
{
    const size_t n = TINY_VOCABULARY;
    const double rounded = error_of(logits, want[1][sequence] + at * n, n);

    errors->free =
        fmax(errors->free, error_of(logits, want[0][sequence] + at * n, n));
    errors->near = fmax(errors->near, rounded);
    errors->same = fmin(errors->same, rounded);
}

/* Random tokens; sequence 1 has others than sequence 0. */
static uint32_t token(const struct test_case *c, uint32_t sequence, size_t i)
{
    return (uint32_t)((c->tiny.seed * 31 + i * 97 + sequence * 53 + i * i * 7) %
                      TINY_VOCABULARY);
}

/* Tokens drawn for a run's n answers are among the likeliest; the same seed
 * gives the same ones, and of one alone it is the likeliest. */
static bool check_drawn(struct model *model, const uint32_t *best, uint32_t n,
                        uint64_t seed, struct fault *fault)
{
    struct sampler one = {.temperature = 1, .top_k = 1, .top_p = 1},
                   few = {.temperature = 2, .top_k = 7, .top_p = 1},
                   share = {.temperature = 0.5f, .top_p = 1e-6f};
    struct sampler again;
    uint32_t ids[4][2];

    few.seed = seed;
    again = few;
    if (!model_choose(model, &one, ids[0], fault) ||
        !model_choose(model, &share, ids[1], fault) ||
        !model_choose(model, &few, ids[2], fault) ||
        !model_choose(model, &again, ids[3], fault))
        return false;
    for (uint32_t s = 0; s < n; s++) {
        float logits[TINY_VOCABULARY];
        uint32_t before = 0;

        if (!model_logits(model, s, logits, fault))
            return false;
        for (uint32_t i = 0; i < TINY_VOCABULARY; i++)
            before += logits[i] > logits[ids[2][s]];
        if (ids[0][s] != best[s] || ids[1][s] != best[s] || before >= 7 ||
            ids[2][s] != ids[3][s])
            return fail(fault, "drawn: %u, %u, %u, %u; the likeliest is %u",
                        (unsigned)ids[0][s], (unsigned)ids[1][s],
                        (unsigned)ids[2][s], (unsigned)ids[3][s],
                        (unsigned)best[s]);
    }
    return true;
}

/* All devices that share the tensors have the same bits of all logits. */
static bool check_alike(struct model *model, const struct way *way, uint32_t n,
                        struct fault *fault)
{
    uint32_t bits[2][TINY_VOCABULARY];

    for (uint32_t s = 0; s < n; s++)
        for (size_t d = 0; way->split == SPLIT_TENSORS && d < way->ndevices;
             d++) {
            if (!model_logits_of(model, d, s, (float *)(void *)bits[d > 0],
                                 fault))
                return false;
            if (d > 0 && memcmp(bits[0], bits[1], sizeof(bits[0])) != 0)
                return fail(fault, "device %zu has other logits", d);
        }
    return true;
}

/* Both sequences' prompts, one after the other. */
static bool read_prompts(struct model *model, const struct test_case *c,
                         const struct way *way, double *want[2][2],
                         struct errors *worst, struct fault *fault)
{
    float logits[TINY_VOCABULARY];
    struct model_token run[PROMPT];

    for (uint32_t s = 0; s < 2; s++) {
        for (size_t at = 0, count; at < PROMPT; at += count) {
            count = PROMPT - at < way->batch ? PROMPT - at : way->batch;
            for (size_t i = 0; i < count; i++)
                run[i] = (struct model_token){token(c, s, at + i), s,
                                              (uint32_t)(at + i),
                                              at + i + 1 == PROMPT};
            if (!model_run(model, run, count, fault))
                return false;
        }
        if (!model_logits(model, 0, logits, fault) ||
            !check_alike(model, way, 1, fault))
            return false;
        compare(logits, want, s, PROMPT - 1, worst);
    }
    return true;
}

/* A token more for n sequences from `first` on. */
static bool make_one(struct model *model, const struct test_case *c,
                     const struct way *way, uint32_t first, uint32_t n,
                     size_t at, double *want[2][2], struct errors *worst,
                     struct fault *fault)
{
    float logits[TINY_VOCABULARY];
    struct model_token run[2];
    uint32_t best[2];

    for (uint32_t s = 0; s < n; s++)
        run[s] = (struct model_token){token(c, first + s, at), first + s,
                                      (uint32_t)at, true};
    if (!model_run(model, run, n, fault) ||
        !model_likeliest(model, best, fault) ||
        !check_drawn(model, best, n, at, fault) ||
        !check_alike(model, way, n, fault))
        return false;
    for (uint32_t s = 0; s < n; s++) {
        if (!model_logits(model, s, logits, fault))
            return false;
        compare(logits, want, first + s, at, worst);
        for (uint32_t i = 0; i < TINY_VOCABULARY; i++)
            if (logits[i] > logits[best[s]])
                return fail(fault, "token %u is not the likeliest",
                            (unsigned)best[s]);
    }
    return true;
}

/* Both sequences' other tokens, together where the batch has room for two. */
static bool run_way(struct model *model, const struct test_case *c,
                    const struct way *way, double *want[2][2],
                    struct errors *worst, struct fault *fault)
{
    const uint32_t together = way->batch > 1 ? 2 : 1;

    if (!read_prompts(model, c, way, want, worst, fault))
        return false;
    for (uint32_t first = 0; first < 2; first += together)
        for (size_t at = PROMPT; at < TOKENS; at++) {
            if (!make_one(model, c, way, first, together, at, want, worst,
                          fault))
                return false;
            /* the second run of a kind is recorded */
            if (model_replays(model) !=
                (at > PROMPT &&
                 (way->ndevices == 1 || way->split == SPLIT_TENSORS)))
                return fail(fault, "token %zu: launches are %sreplayed", at,
                            model_replays(model) ? "" : "not ");
        }
    return true;
}

/* Logits of both references for both sequences, [rounds][sequence]. */
static bool reference(const struct gguf *gguf, const struct test_case *c,
                      const struct way *way, double *want[2][2],
                      struct fault *fault)
{
    uint32_t tokens[TOKENS];
    bool good = true;

    for (int rounds = 0; rounds < 2; rounds++)
        for (uint32_t s = 0; s < 2; s++) {
            const struct rounding rounding = {
                rounds, way->batch > 8 ? (size_t)PROMPT : 0, cuts, way->cache};

            want[rounds][s] =
                calloc((size_t)TOKENS * TINY_VOCABULARY, sizeof(double));
            for (size_t i = 0; i < TOKENS; i++)
                tokens[i] = token(c, s, i);
            good = good && want[rounds][s] &&
                   reference_run(gguf, tokens, TOKENS, &rounding,
                                 want[rounds][s], fault);
        }
    return good;
}

/* Whether that settles it: not if other weights are to show `same`. */
static bool check_way(const struct gguf *gguf, const struct test_case *c,
                      const struct way *way, bool last)
{
    struct model_options options = {
        .devices = {strncmp(way->name, "the other", 9) ? main_device
                                                       : other_device,
                    other_device},
        .ndevices = way->ndevices,
        .split = way->split,
        .small_nbytes = way->small_nbytes,
        .context = TOKENS,
        .sequences = 2,
        .batch = way->batch,
        .cache = way->cache};
    struct fault fault = {""};
    struct model *model = NULL;
    struct errors e = {0, 0, INFINITY};
    const struct bounds most = bounds_of(c, way->cache);
    double *want[2][2];
    bool settled = true;
    char text[sizeof(fault.text) + 64];

    for (int d = 0; way->split == SPLIT_TENSORS && d < (int)way->ndevices; d++)
        options.devices[d] = d;
    if (!reference(gguf, c, way, want, &fault) ||
        !model_open(gguf, &options, &model, &fault) ||
        !run_way(model, c, way, want, &e, &fault)) {
        report(false, c->name, way->name, fault.text);
    } else {
        (void)snprintf(text, sizeof(text), "logits are %.2g, %.2g and %.2g off",
                       e.free, e.near, e.same);
        printf("%-34s %-18s %.1e %.1e %.1e\n", c->name, way->name, e.free,
               e.near, e.same);
        const bool near = e.free <= most.free && e.near <= most.near;

        settled = last || !near || e.same <= most.same;
        if (settled)
            report(near && e.same <= most.same, c->name, way->name, text);
    }
    model_close(model);
    for (int i = 0; i < 4; i++)
        free(want[i / 2][i % 2]);
    return settled;
}

/* Checks the ways whose bits are in *left; the bits of unsettled ways stay. */
static void check_ways(const struct test_case *c, const struct way *list,
                       size_t n, unsigned *left, bool last)
{
    struct fault fault = {""};
    struct gguf gguf = {0};
    size_t nbytes;
    uint8_t *file = tiny_make(&c->tiny, &nbytes);
    const bool good = gguf_parse("tiny", file, nbytes, &gguf, &fault);

    if (!good)
        report(false, c->name, "reading it", fault.text);
    for (size_t w = 0; good && w < n; w++)
        if ((*left >> w & 1) && check_way(&gguf, c, &list[w], last))
            *left &= ~(1u << w);
    gguf_close(&gguf);
    free(file);
}

/* Tries other weights until every way is settled. */
static void check_until_settled(const struct test_case *c,
                                const struct way *list, size_t n, unsigned left)
{
    struct test_case other = *c;

    for (unsigned tries = 8; left && tries > 0; tries--) {
        check_ways(&other, list, n, &left, tries == 1);
        other.tiny.seed += 100;
    }
}

static void check_case(size_t number)
{
    unsigned left = 0;

    for (size_t w = 0; w < NWAYS; w++)
        if ((!ways[w].sampled || (number + w) % 4 == 0) &&
            (ways[w].ndevices == 1 || main_device != other_device))
            left |= 1u << w;
    check_until_settled(&cases[number], ways, NWAYS, left);
}

/* Checks that a file gives no token but an error, then frees the file. */
static void check_hopeless(const char *name, const char *why, uint8_t *file,
                           size_t nbytes, const char *says)
{
    const struct model_options options = {.devices = {main_device},
                                          .ndevices = 1,
                                          .context = TOKENS,
                                          .sequences = 1,
                                          .batch = 1};
    const struct model_token one = {5, 0, 0, true};
    struct fault fault = {""};
    struct gguf gguf = {0};
    struct model *model = NULL;
    uint32_t id;
    const bool good = gguf_parse("tiny", file, nbytes, &gguf, &fault) &&
                      model_open(&gguf, &options, &model, &fault) &&
                      model_run(model, &one, 1, &fault) &&
                      model_likeliest(model, &id, &fault);

    report(!good && strstr(fault.text, says), name, why, fault.text);
    model_close(model);
    gguf_close(&gguf);
    free(file);
}

/* Q, K and V have biases together: a file with two of the three is refused. */
static void check_some_biases(void)
{
    static const char bias[] = "blk.1.attn_k.bias";
    const struct tiny tiny = {"qwen2", 8, SIZES, .biased = true, .seed = 24};
    size_t nbytes, at = 0;
    uint8_t *file = tiny_make(&tiny, &nbytes);

    while (at + sizeof(bias) < nbytes &&
           memcmp(file + at, bias, sizeof(bias) - 1) != 0)
        at++;
    file[at] = 'x'; /* another tensor's name now */
    check_hopeless("qwen2 Q8_0", "two biases of three", file, nbytes,
                   "layer 1 has some of attn_q.bias");
}

/* Weights that are no numbers give no answer. */
static void check_no_numbers(void)
{
    const struct tiny tiny = {"llama", 0, SIZES, .seed = 26};
    struct fault fault = {""};
    struct gguf gguf = {0};
    const struct gguf_tensor *norm;
    size_t nbytes;
    uint8_t *file = tiny_make(&tiny, &nbytes);

    if (gguf_parse("tiny", file, nbytes, &gguf, &fault)) {
        norm = gguf_find_tensor(&gguf, "output_norm.weight");
        memset(file + (norm->data - file), 0xff, norm->nbytes);
    }
    gguf_close(&gguf);
    check_hopeless(
        "llama F32", "norms that are no numbers", file, nbytes,
        "logits are no numbers: the file is damaged, or an activation "
        "is larger");
}

/* Devices of two kinds do not share tensors. */
static void check_kinds(void)
{
    const struct model_options options = {
        .devices = {main_device, other_device},
        .ndevices = 2,
        .split = SPLIT_TENSORS,
        .context = TOKENS,
        .sequences = 1,
        .batch = 1};
    struct fault fault = {""};
    struct gguf gguf = {0};
    struct model *model = NULL;
    kpk_device devices[2];
    size_t nbytes;
    uint8_t *file = tiny_make(&tiny_llama, &nbytes);

    if (kpk_device_get(main_device, &devices[0]) == KPK_OK &&
        kpk_device_get(other_device, &devices[1]) == KPK_OK &&
        strcmp(devices[0].target, devices[1].target) != 0)
        report(gguf_parse("tiny", file, nbytes, &gguf, &fault) &&
                   !model_open(&gguf, &options, &model, &fault) &&
                   strstr(fault.text, "one kind is wanted"),
               "llama Q4_0", "devices of two kinds", fault.text);
    model_close(model);
    gguf_close(&gguf);
    free(file);
}

/* Models with tensors that do not fit the architecture. */
static void check_tensors(void)
{
    static const struct {
        struct tiny tiny;
        const char *says;
    } rows[] = {
        {{"qwen3", 8, SIZES, .seed = 27},
         "no tensor blk.0.attn_q_norm.weight, which"},
        {{"gemma3", 8, SIZES, .normed = true, .seed = 28},
         "no tensor blk.0.post_attention_norm.weight, which"},
        {{"llama", 8, SIZES, .normed = true, .seed = 29},
         "norm.weight, which this program has no use for"},
        {{"qwen2", 8, SIZES, .factors = true, .seed = 30},
         "rope_freqs.weight, which this program has no use for"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t nbytes;
        uint8_t *file = tiny_make(&rows[i].tiny, &nbytes);

        check_hopeless(rows[i].tiny.arch, rows[i].says, file, nbytes,
                       rows[i].says);
    }
}

/* Two sequences, the likeliest tokens; at times another token, or one sequence
 * alone. Two models do the same, one of them ahead. */
struct pace {
    struct model *model[2];
    struct model_token run[2];
    uint32_t position[2], next[2], ids[2][2];
    size_t n;
    float *logits[2];
    unsigned ahead; /* runs begun before the call */
};

enum { PACE = 40, OTHER_AT = 9, ALONE_AT = 20, ALONE_TO = 24 };

static void choose_tokens(struct pace *p, uint32_t step)
{
    const bool alone = step >= ALONE_AT && step < ALONE_TO;

    p->n = 0;
    for (uint32_t s = alone; s < 2; s++) {
        if (p->position[s] == PACE)
            continue;
        if (step == OTHER_AT)
            p->next[s] = (p->next[s] + 1) % TINY_VOCABULARY;
        p->run[p->n++] =
            (struct model_token){p->next[s], s, p->position[s]++, true};
    }
}

static bool same_logits(const struct pace *p)
{
    for (size_t i = 0; i < TINY_VOCABULARY; i++)
        if (p->logits[0][i] != p->logits[1][i])
            return false;
    return true;
}

static bool step_both(struct pace *p, struct fault *fault)
{
    /* logits of the model that runs ahead, before its call */
    if (!model_logits(p->model[1], 0, p->logits[1], fault))
        return false;
    for (int m = 0; m < 2; m++)
        if (!model_run(p->model[m], p->run, p->n, fault) ||
            (m == 0 && !model_logits(p->model[0], 0, p->logits[0], fault)) ||
            !model_likeliest(p->model[m], p->ids[m], fault))
            return false;
    p->ahead += same_logits(p);
    if (memcmp(p->ids[0], p->ids[1], p->n * sizeof(uint32_t)) != 0)
        return fail(fault, "other tokens at position %u",
                    (unsigned)p->run[0].position);
    for (size_t i = 0; i < p->n; i++)
        p->next[p->run[i].sequence] = p->ids[0][i];
    return true;
}

static void check_ahead(void)
{
    static const struct tiny tiny = {"llama", 8, SIZES, .seed = 31};
    struct model_options options = {.devices = {main_device},
                                    .ndevices = 1,
                                    .context = PACE,
                                    .sequences = 2,
                                    .batch = 2};
    struct pace p = {.next = {5, 6}};
    struct fault fault = {""};
    struct gguf gguf = {0};
    size_t nbytes;
    uint8_t *file = tiny_make(&tiny, &nbytes);
    bool good = gguf_parse("tiny", file, nbytes, &gguf, &fault);
    char text[sizeof(fault.text) + 64];

    for (int m = 0; m < 2; m++) {
        options.ahead = m == 1;
        p.logits[m] = calloc(TINY_VOCABULARY, sizeof(float));
        good = good && p.logits[m] &&
               model_open(&gguf, &options, &p.model[m], &fault);
    }
    choose_tokens(&p, 0);
    for (uint32_t step = 0; good && p.n > 0; choose_tokens(&p, ++step))
        good = step_both(&p, &fault);
    (void)snprintf(text, sizeof(text), "%s, %u runs were ahead", fault.text,
                   p.ahead);
    report(good && (p.ahead >= PACE / 2 || !model_replays(p.model[0])),
           "llama Q8_0", "ahead", text);
    for (int m = 0; m < 2; m++) {
        model_close(p.model[m]);
        free(p.logits[m]);
    }
    gguf_close(&gguf);
    free(file);
}

/* Picks an MI300X, else device 0, and the device after it. */
static bool find_devices(void)
{
    int n;
    kpk_device device;

    if (kpk_device_count(&n) != KPK_OK || n == 0)
        return false;
    for (int i = n - 1; i >= 0; i--)
        if (kpk_device_get(i, &device) == KPK_OK &&
            strncmp(device.target, "gfx942", 6) == 0)
            main_device = i;
    if (kpk_device_get(main_device, &device) != KPK_OK)
        return false;
    cuts = device.platform == KPK_HIP;
    other_device = (main_device + 1) % n;
    return true;
}

/* ---- devices that share the tensors ---- */

/* On so many devices of one kind: every so many cases from `first` on. */
static void check_teams(size_t ndevices, size_t first, size_t every,
                        const char *named)
{
    for (size_t i = first; i < NTEAM_CASES; i += every) {
        const struct team_case *c = &team_cases[i];
        unsigned left = 0;

        for (size_t w = 0; w < NTEAM_WAYS; w++)
            if (team_ways[w].ndevices <= ndevices &&
                (c->fits >> team_ways[w].ndevices & 1))
                left |= 1u << w;
        if (!named || strstr(c->model.name, named))
            check_until_settled(&c->model, team_ways, NTEAM_WAYS, left);
    }
}

/* In a process of its own, because the runtime reads KPK_SIM_DEVICES once, and
 * a parent that has called it must not fork. */
static void check_target(const char *target, size_t first, size_t every,
                         const char *named)
{
    char devices[512];
    unsigned counts[2] = {0, 0};
    int ends[2], status = 0;
    bool all;
    pid_t child;

    (void)snprintf(devices, sizeof(devices), "%s,%s,%s,%s", target, target,
                   target, target);
    (void)fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror(target);
        exit(1);
    }
    if (child == 0) {
        (void)setenv("KPK_SIM_DEVICES", devices, 1);
        passed = failed = 0;
        if (find_devices())
            check_teams(4, first, every, named);
        else
            report(false, target, "a slice each", kpk_error_message());
        counts[0] = passed;
        counts[1] = failed;
        (void)fflush(stdout);
        _exit(write(ends[1], counts, sizeof(counts)) != sizeof(counts));
    }
    (void)close(ends[1]);
    all = read(ends[0], counts, sizeof(counts)) == sizeof(counts);
    if (waitpid(child, &status, 0) != child || status != 0 || !all ||
        (!named && counts[0] + counts[1] == 0))
        report(false, target, "a slice each", "the process has failed");
    (void)close(ends[0]);
    passed += counts[0];
    failed += counts[1];
}

/* Rank 1 ends as soon as it has a model; rank 0 reads a prompt in runs without
 * answers. Only the first of these waits for the other. */
static bool run_rank(uint32_t rank, const char *path)
{
    const struct model_options options = {.ndevices = 1,
                                          .split = SPLIT_TENSORS,
                                          .rank = rank,
                                          .ranks = 2,
                                          .meet = path,
                                          .limit_ms = 500,
                                          .context = TOKENS,
                                          .sequences = 1,
                                          .batch = 1};
    struct fault fault = {""};
    struct gguf gguf = {0};
    struct model *model = NULL;
    size_t nbytes;
    uint8_t *file = tiny_make(&tiny_llama, &nbytes);
    bool good = gguf_parse("tiny", file, nbytes, &gguf, &fault) &&
                model_open(&gguf, &options, &model, &fault);

    if (rank == 1)
        return good;
    for (uint32_t i = 0; good && i < TOKENS; i++) {
        const struct model_token one = {5, 0, i, i + 1 == TOKENS};
        uint32_t id;

        good = model_run(model, &one, 1, &fault) &&
               (!one.wanted || model_likeliest(model, &id, &fault));
    }
    good = !good && strstr(fault.text, "rank 0 waited for rank 1 for") &&
           strstr(fault.text, "ended. Start all processes again");
    if (!good)
        printf("got: %s\n", fault.text);
    (void)fflush(stdout);
    return good;
}

/* A process that ends while the other one reads a prompt is missed. */
static void check_missed(const char *target)
{
    char folder[SCRATCH_PATH_MAX], path[SCRATCH_PATH_MAX + 8];
    bool good = scratch_folder(folder) != NULL;

    (void)snprintf(path, sizeof(path), "%s/meet", folder);
    (void)fflush(stdout);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const pid_t child = fork();

        if (child == 0) {
            (void)setenv("KPK_SIM_DEVICES", target, 1);
            _exit(!run_rank(rank, path));
        }
        good = good && child > 0;
    }
    for (int status = 0; wait(&status) > 0;)
        good = good && status == 0;
    (void)rmdir(folder);
    report(good, target, "a process ends in a prompt", "it is not missed");
}

/* The number of leading devices of one kind. */
static size_t count_alike(void)
{
    kpk_device first, next;
    int n = 1;

    if (kpk_device_get(0, &first) != KPK_OK)
        return 0;
    while (kpk_device_get(n, &next) == KPK_OK &&
           strcmp(first.target, next.target) == 0)
        n++;
    return (size_t)n;
}

static void check_targets(const char *listed, const char *named)
{
    const bool all = getenv("FULL");
    char *list = strdup(listed);
    size_t n = 1, nth = 0;

    for (const char *at = listed; (at = strchr(at, ',')); at++)
        n++;
    if (n < 3) /* few processors need not run them all */
        n = 3;
    for (char *t = strtok(list, ","); t; t = strtok(NULL, ","), nth++) {
        if (nth == 0 && !named)
            check_missed(t);
        check_target(t, all ? 0 : nth, all ? 1 : n, named);
    }
    free(list);
}

int main(int argc, char **argv)
{
    const char *listed = getenv("KPK_SIM_DEVICES");
    const char *named = argc > 1 ? argv[1] : NULL;

    if (listed)
        check_targets(listed, named);
    if (!find_devices()) {
        printf("SKIPPED: %s\n", kpk_error_message());
        puts("0 passed, 0 failed, 1 skipped");
        return 0;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!named || strstr(cases[i].name, named))
            check_case(i);
    if (!listed)
        check_teams(count_alike(), 0, 1, named);
    if (!named) {
        check_some_biases();
        check_no_numbers();
        check_kinds();
        check_tensors();
        check_ahead();
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
