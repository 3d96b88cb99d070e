/* options.c - the program's command line */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { COUNT, REAL, SEED, TEXT, LIST, CACHE, SPLIT, RANK, FLAG };

struct row {
    const char *letter, *name, *value, *help; /* letter: "-p", or "" */
    enum kind kind;
    size_t at; /* in struct options */
    double least, most;
};

#define AT(member) offsetof(struct options, member)

/* clang-format off */
static const struct row rows[] = {
    {"-m", "--model", "FILE", "the GGUF file; a word without an option is the same", TEXT, AT(file), 0, 0},
    {"-p", "--prompt", "TEXT", "what the model goes on from", TEXT, AT(prompt), 0, 0},
    {"-f", "--file", "FILE", "the whole of a file as the prompt; -, or no prompt: standard input", TEXT, AT(text), 0, 0},
    {"", "--prompts", "FILE", "a prompt in each line; \\n in it is a line end", TEXT, AT(prompts), 0, 0},
    {"-n", "--tokens", "N", "most tokens to make for each prompt (128)", COUNT, AT(tokens), 1, 1e9},
    {"-c", "--context", "N", "tokens of prompt and answer together (2048, or the model's)", COUNT, AT(model.context), 1, 1e9},
    {"", "--batch", "N", "most tokens of a prompt at once (128)", COUNT, AT(model.batch), 1, 65535},
    {"", "--sequences", "N", "prompts at once (1)", COUNT, AT(model.sequences), 1, 65535},
    {"", "--devices", "LIST", "split the model over these: 0,1 (0)", LIST, AT(model), 0, 0},
    {"", "--split", "HOW", "layer: each has some layers; tensor: each a slice of every tensor (layer)", SPLIT, AT(model.split), 0, 0},
    {"", "--rank", "R/N", "this is process R of N that share the tensors, with a device each; 0 prints", RANK, AT(model.rank), 0, 0},
    {"", "--meet", "PATH", "where they meet: the same for all, a socket that rank 0 makes", TEXT, AT(model.meet), 0, 0},
    {"", "--limit-ms", "N", "how long a device waits for another one that shares the tensors (10000)", COUNT, AT(model.limit_ms), 1, 1e9},
    {"", "--cache", "TYPE", "K and V of earlier tokens as f16, q8_0 or q4_0 (f16)", CACHE, AT(model.cache), 0, 0},
    {"", "--temperature", "T", "0: the likeliest token always (0)", REAL, AT(sampler.temperature), 0, 1e6},
    {"", "--top-k", "K", "choose among the K likeliest; 0: among all (40)", COUNT, AT(sampler.top_k), 0, 1e9},
    {"", "--top-p", "P", "among the likeliest that have this share (0.95)", REAL, AT(sampler.top_p), 0, 1},
    {"", "--seed", "N", "of the choices (1)", SEED, AT(sampler.seed), 0, 0},
    {"", "--unrecorded", NULL, "launch each kernel by itself; else a token's launches are replayed", FLAG, AT(model.unrecorded), 0, 0},
    {"", "--plain", NULL, "<|names|> of special tokens in a prompt are plain text", FLAG, AT(plain), 0, 0},
    {"", "--ids", NULL, "print token numbers instead of text", FLAG, AT(ids), 0, 0},
    {"", "--json", NULL, "print one JSON document at the end", FLAG, AT(json), 0, 0},
    {"", "--quiet", NULL, "no progress, no speeds", FLAG, AT(quiet), 0, 0},
    {"-h", "--help", NULL, "print this", FLAG, AT(help), 0, 0},
};
/* clang-format on */

enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

void options_help(void)
{
    puts("usage: model -m FILE.gguf -p TEXT [OPTIONS]");
    for (size_t i = 0; i < NROWS; i++)
        printf("  %2s%s %-14s%-6s%s\n", rows[i].letter,
               *rows[i].letter ? "," : " ", rows[i].name,
               rows[i].value ? rows[i].value : "", rows[i].help);
}

bool options_read_devices(const char *text, struct model_options *out,
                          struct fault *fault)
{
    const char *at = text;

    for (out->ndevices = 0;; at++) {
        char *end;
        const long device = strtol(at, &end, 10);

        if (end == at || (*end && *end != ',') || device < 0 || device > 4095)
            return fail(fault,
                        "--devices %s: a list of numbers is wanted, as in 0,1",
                        text);
        if (out->ndevices == MODEL_MOST_DEVICES)
            return fail(fault, "--devices %s: %d are possible at most", text,
                        MODEL_MOST_DEVICES);
        out->devices[out->ndevices++] = (int)device;
        at = end;
        if (!*at)
            return true;
    }
}

static bool read_cache(const char *text, struct model_options *out,
                       struct fault *fault)
{
    for (int type = 0; type < NCACHE_TYPES; type++)
        if (strcmp(text, cache_names[type]) == 0) {
            out->cache = (enum cache_type)type;
            return true;
        }
    return fail(fault, "--cache %s: f16, q8_0 or q4_0 is wanted", text);
}

static bool read_split(const char *text, struct model_options *out,
                       struct fault *fault)
{
    for (int type = 0; type < NSPLIT_TYPES; type++)
        if (strcmp(text, split_names[type]) == 0) {
            out->split = (enum split_type)type;
            return true;
        }
    return fail(fault, "--split %s: layer or tensor is wanted", text);
}

static bool read_rank(const char *text, struct model_options *out,
                      struct fault *fault)
{
    char *slash, *end;
    const unsigned long rank = strtoul(text, &slash, 10);
    const unsigned long ranks =
        *slash == '/' ? strtoul(slash + 1, &end, 10) : 0;

    if (slash == text || ranks < 2 || ranks > 4095 || *end || rank >= ranks)
        return fail(fault, "--rank %s: R/N is wanted, as in 0/2 and 1/2", text);
    out->rank = (uint32_t)rank;
    out->ranks = (uint32_t)ranks;
    return true;
}

static bool read_value(const struct row *row, const char *text,
                       struct options *out, struct fault *fault)
{
    char *to = (char *)out + row->at, *end;
    const double number = strtod(text, &end);
    const bool good =
        *text && !*end && number >= row->least && number <= row->most;

    switch (row->kind) {
    case TEXT:
        memcpy(to, &text, sizeof(text));
        return true;
    case LIST:
        return options_read_devices(text, &out->model, fault);
    case CACHE:
        return read_cache(text, &out->model, fault);
    case SPLIT:
        return read_split(text, &out->model, fault);
    case RANK:
        return read_rank(text, &out->model, fault);
    case SEED:
        errno = 0;
        out->sampler.seed = strtoull(text, &end, 0);
        return (*text && !*end && errno == 0) ||
               fail(fault, "%s %s: a whole number is wanted", row->name, text);
    case REAL: {
        const float real = (float)number;

        memcpy(to, &real, sizeof(real));
        break;
    }
    default: {
        const uint32_t count = good ? (uint32_t)number : 0;

        if (good && (double)count != number)
            return fail(fault, "%s %s: a whole number is wanted", row->name,
                        text);
        memcpy(to, &count, sizeof(count));
    }
    }
    return good || fail(fault, "%s %s: a number from %.0f to %.0f is wanted",
                        row->name, text, row->least, row->most);
}

static bool two_models(const char *one, const char *other, struct fault *fault)
{
    return fail(fault, "%s and %s: one model is wanted", one, other);
}

static bool read_one(int argc, char **argv, int *at, struct options *out,
                     struct fault *fault)
{
    const char *name = argv[*at];

    for (size_t i = 0; i < NROWS; i++) {
        const struct row *row = &rows[i];

        if (strcmp(name, row->name) != 0 &&
            (!*row->letter || strcmp(name, row->letter) != 0))
            continue;
        if (row->kind == FLAG) {
            *((bool *)((char *)out + row->at)) = true;
            return true;
        }
        if (*at + 1 >= argc)
            return fail(fault, "%s wants a value: %s", name, row->help);
        if (row->at == AT(file) && out->file)
            return two_models(out->file, argv[*at + 1], fault);
        return read_value(row, argv[++*at], out, fault);
    }
    if (*name == '-')
        return fail(fault, "%s: no such option; --help lists them", name);
    if (out->file)
        return two_models(out->file, name, fault);
    out->file = name;
    return true;
}

bool options_read(int argc, char **argv, struct options *out,
                  struct fault *fault)
{
    *out = (struct options){
        .tokens = 128,
        .model = {.ndevices = 1, .batch = 128, .sequences = 1, .ahead = true},
        .sampler = {.top_k = 40, .top_p = 0.95f, .seed = 1},
    };
    for (int i = 1; i < argc; i++)
        if (!read_one(argc, argv, &i, out, fault))
            return false;
    if (out->model.rank > 0)
        out->quiet = true; /* rank 0 tells */
    if (out->help)
        return true;
    if (!out->file)
        return fail(fault, "no model: give a GGUF file; --help lists options");
    if (!!out->prompt + !!out->text + !!out->prompts > 1)
        return fail(fault, "two kinds of prompts: give --prompt TEXT, --file "
                           "FILE or --prompts FILE");
    return true;
}
