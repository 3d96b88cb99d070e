/* arch.c - the architectures that there are, and a model's sizes */
#include "arch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct arch archs[] = {
    /* name    bit     pairs  gelu   scaled pattern factors */
    {"llama",  LLAMA,  true,  false, false, 0, true},
    {"qwen2",  QWEN2,  false, false, false, 0, false},
    {"qwen3",  QWEN3,  false, false, false, 0, false},
    {"gemma3", GEMMA3, false, true,  true,  6, false},
};
/* clang-format on */

enum { NARCHS = sizeof(archs) / sizeof(archs[0]) };

/* A key below the architecture's name. */
struct key {
    char text[96];
};

static const char *key_of(struct key *key, const struct arch *arch,
                          const char *name)
{
    (void)snprintf(key->text, sizeof(key->text), "%s.%s", arch->name, name);
    return key->text;
}

static bool find_arch(const struct gguf *gguf, const struct arch **out,
                      struct fault *fault)
{
    struct text name = {"", 0};
    char known[96] = "";

    if (!gguf_text(gguf, "general.architecture", true, &name, fault))
        return false;
    for (size_t i = 0; i < NARCHS; i++) {
        const size_t n = strlen(known);

        if (text_is(name, archs[i].name)) {
            *out = &archs[i];
            return true;
        }
        (void)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
                       archs[i].name);
    }
    return fail(fault,
                "%s has architecture '" TEXT_FORMAT "'; this program runs %s",
                gguf->path, TEXT_ARGS(name), known);
}

/* Reads which layers have a window: all but every pattern-th, or by a flag for
 * each layer. */
static bool read_pattern(const struct gguf *g, struct sizes *s,
                         struct fault *fault)
{
    struct key key;
    const struct gguf_value *value;

    s->pattern = s->arch->pattern;
    (void)key_of(&key, s->arch, "attention.sliding_window_pattern");
    value = gguf_find(g, key.text);
    if (!value || !value->is_array)
        return gguf_u32(g, key.text, false, &s->pattern, fault);
    if (value->type == GGUF_STRING || value->count != s->layers)
        return fail(fault,
                    "%s: %s has %" PRIu64 " elements, a flag for each of "
                    "%" PRIu32 " layers is wanted",
                    g->path, key.text, value->count, s->layers);
    s->windows = value;
    return true;
}

/* Reads a model's counts, within limits. */
static bool read_counts(const struct gguf *g, struct sizes *s,
                        struct fault *fault)
{
    struct {
        const char *name;
        bool needed;
        uint32_t *to;
        uint32_t least, most;
    } const rows[] = {
        {"context_length", true, &s->context, 1, 1U << 30},
        {"embedding_length", true, &s->width, 1, 1U << 17},
        {"block_count", true, &s->layers, 1, 4096},
        {"feed_forward_length", true, &s->inner, 1, 1U << 20},
        {"attention.head_count", true, &s->heads, 1, 4096},
        {"attention.head_count_kv", false, &s->kv_heads, 1, 4096},
        {"attention.key_length", false, &s->head, 8, 256},
        {"attention.sliding_window", false, &s->window, 0, 1U << 30},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct key key;

        /* defaults follow from other keys */
        if (rows[i].to == &s->kv_heads)
            s->kv_heads = s->heads;
        if (rows[i].to == &s->head && s->heads)
            s->head = s->width / s->heads;
        if (!gguf_same_u32(g, key_of(&key, s->arch, rows[i].name),
                           rows[i].needed, rows[i].to, fault))
            return false;
        if (*rows[i].to < rows[i].least || *rows[i].to > rows[i].most)
            return fail(
                fault,
                "%s: %s is %" PRIu32 ", %" PRIu32 " to %" PRIu32 " can be used",
                g->path, key.text, *rows[i].to, rows[i].least, rows[i].most);
    }
    if (s->head % 8 != 0)
        return fail(fault,
                    "%s has heads of %" PRIu32
                    " elements (attention.key_length, or embedding_length by "
                    "attention.head_count); multiples of 8 can be used",
                    g->path, s->head);
    if (s->heads % s->kv_heads != 0)
        return fail(fault,
                    "%s: %" PRIu32 " heads of %" PRIu32
                    " elements cannot share %" PRIu32
                    " of K and V: attention.head_count is no multiple of "
                    "attention.head_count_kv",
                    g->path, s->heads, s->head, s->kv_heads);
    return read_pattern(g, s, fault);
}

/* Refuses models that need features this program lacks. */
static bool refuse_others(const struct gguf *g, const struct sizes *s,
                          struct fault *fault)
{
    struct {
        const char *name;
        uint32_t wanted;
    } const rows[] = {
        {"attention.value_length", s->head},
        {"attention.key_length_swa", s->head},
        {"attention.value_length_swa", s->head},
        {"rope.dimension_count", s->head},
        {"rope.dimension_count_swa", s->head},
        {"expert_count", 0},
        {"nextn_predict_layers", 0},
    };
    float softcap = 0;
    bool causal = true;
    uint32_t parts = 1;
    struct key key;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t value = rows[i].wanted;

        if (!gguf_u32(g, key_of(&key, s->arch, rows[i].name), false, &value,
                      fault))
            return false;
        if (value != rows[i].wanted)
            return fail(fault,
                        "%s: %s is %" PRIu32 ", only %" PRIu32
                        " can be used here",
                        g->path, key.text, value, rows[i].wanted);
    }
    if (!gguf_u32(g, "split.count", false, &parts, fault) ||
        !gguf_f32(g, key_of(&key, s->arch, "final_logit_softcapping"), false,
                  &softcap, fault))
        return false;
    if (parts > 1)
        return fail(fault,
                    "%s is one of %" PRIu32 " files (split.count): merge them "
                    "with llama.cpp's gguf-split --merge",
                    g->path, parts);
    if (softcap != 0)
        return fail(fault, "%s caps its logits (%s), which this program cannot",
                    g->path, key.text);
    if (!gguf_bool(g, key_of(&key, s->arch, "attention.causal"), &causal,
                   fault))
        return false;
    return causal || fail(fault,
                          "%s: by %s a token sees those after it, which this "
                          "program cannot: it is no model that makes text",
                          g->path, key.text);
}

/* ---- rotations ---- */

/* A pair of a head, counted with a fraction, that turns `turns` times in the
 * length that the model was trained for. */
static double pair_of(const struct sizes *s, double length, double turns)
{
    const double angle = 2 * 3.14159265358979323846 * turns;

    return s->head * log(length / angle) / (2 * log((double)s->base));
}

/*
 * YaRN (arXiv:2309.00071): pairs that turn often, 32 times or more in the
 * length that the model was trained for first, keep their angles; those that do
 * not turn once are stretched; between them both count in part. Q and K become
 * longer by 0.1 ln(stretch), which the kernel does; llama.cpp takes that back
 * where the stretch is below 1.
 */
static bool read_yarn(const struct gguf *g, struct sizes *s,
                      struct fault *fault)
{
    uint32_t length = s->context;
    struct key key;

    if (!gguf_u32(g,
                  key_of(&key, s->arch, "rope.scaling.original_context_length"),
                  false, &length, fault))
        return false;
    if (length == 0 || s->base <= 1)
        return fail(fault,
                    "%s: %s is %" PRIu32 " and rope.freq_base %g, of which "
                    "YaRN can make no rotations",
                    g->path, key.text, length, (double)s->base);
    s->yarn = true;
    s->ramp[0] = (float)fmax(floor(pair_of(s, length, 32)), 0);
    s->ramp[1] = (float)fmin(ceil(pair_of(s, length, 1)), s->head - 1.0);
    if (s->stretch < 1)
        s->longer /= 1 + 0.1f * logf(s->stretch);
    return true;
}

static bool read_scaling(const struct gguf *g, struct sizes *s,
                         struct fault *fault)
{
    struct text scaling = {"linear", 6};
    struct key key;

    s->stretch = 0;
    s->longer = 1;
    /* the second is an older name of the first */
    if (!gguf_f32(g, key_of(&key, s->arch, "rope.scale_linear"), false,
                  &s->stretch, fault) ||
        !gguf_f32(g, key_of(&key, s->arch, "rope.scaling.factor"), false,
                  &s->stretch, fault))
        return false;
    if (s->stretch == 0)
        s->stretch = 1;
    if (!(s->stretch > 0))
        return fail(fault, "%s: %s is %g, a positive number is wanted", g->path,
                    key.text, (double)s->stretch);
    if (!gguf_f32(g, key_of(&key, s->arch, "rope.scaling.attn_factor"), false,
                  &s->longer, fault) ||
        !gguf_text(g, key_of(&key, s->arch, "rope.scaling.type"), false,
                   &scaling, fault))
        return false;
    if (text_is(scaling, "yarn"))
        return read_yarn(g, s, fault);
    if (text_is(scaling, "none"))
        s->stretch = 1;
    else if (!text_is(scaling, "linear"))
        return fail(fault,
                    "%s stretches positions by '" TEXT_FORMAT
                    "' (%s); none, linear and yarn can be used",
                    g->path, TEXT_ARGS(scaling), key.text);
    return true;
}

static bool read_rotations(const struct gguf *g, struct sizes *s,
                           struct fault *fault)
{
    const struct gguf_tensor *factors =
        s->arch->factors ? gguf_find_tensor(g, "rope_freqs.weight") : NULL;
    const struct {
        const char *name;
        bool needed, zero;
        float *to;
    } rows[] = {
        {"rope.freq_base", false, false, &s->base},
        {"rope.freq_base_swa", false, false, &s->window_base},
        {"attention.layer_norm_rms_epsilon", true, true, &s->eps},
    };

    s->base = 10000;
    s->window_base = 10000;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const float *value = rows[i].to;
        struct key key;

        if (!gguf_f32(g, key_of(&key, s->arch, rows[i].name), rows[i].needed,
                      rows[i].to, fault))
            return false;
        if (*value < 0 || (*value == 0 && !rows[i].zero))
            return fail(fault, "%s: %s is %g, a positive number is wanted",
                        g->path, key.text, (double)*value);
    }
    if (factors && (factors->format->id != 0 || factors->ndims != 1 ||
                    factors->dim[0] != s->head / 2))
        return fail(fault,
                    "%s: tensor rope_freqs.weight is not %" PRIu32
                    " elements of F32",
                    g->path, s->head / 2);
    /* tensors are aligned to 8 bytes at least */
    s->factors = factors ? (const float *)(const void *)factors->data : NULL;
    return read_scaling(g, s, fault);
}

bool sizes_read(const struct gguf *gguf, struct sizes *out, struct fault *fault)
{
    const struct gguf_tensor *embeds;

    memset(out, 0, sizeof(*out));
    if (!find_arch(gguf, &out->arch, fault) || !read_counts(gguf, out, fault) ||
        !refuse_others(gguf, out, fault) || !read_rotations(gguf, out, fault))
        return false;
    /* architectures without a pattern ignore their window */
    if (out->arch->pattern == 0)
        out->window = 0;
    embeds = gguf_find_tensor(gguf, "token_embd.weight");
    if (!embeds || embeds->dim[1] == 0 || embeds->dim[1] > 1U << 24)
        return fail(fault, "%s has no embeddings: no tensor token_embd.weight",
                    gguf->path);
    out->vocabulary = (uint32_t)embeds->dim[1];
    out->scale = 1.0f / sqrtf((float)out->head);
    /* Gemma 3 27B scales by its width per head, not by the heads' size */
    if (out->arch->scaled_embeds && out->layers == 62) {
        const uint32_t share = out->width / out->heads;

        out->scale = 1.0f / sqrtf((float)share);
    }
    return true;
}

bool has_window(const struct sizes *sizes, uint32_t layer)
{
    if (sizes->window > 0 && sizes->windows)
        return gguf_number(sizes->windows, layer) != 0;
    return sizes->window > 0 &&
           (sizes->pattern == 0 || layer % sizes->pattern < sizes->pattern - 1);
}
