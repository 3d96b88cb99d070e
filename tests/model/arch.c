/* arch.c - the architectures that there are, and a model's sizes */
#include "arch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct arch archs[] = {
    /* name    pairs  gelu   scaled pattern */
    {"llama",  true,  false, false, 0},
    {"qwen2",  false, false, false, 0},
    {"qwen3",  false, false, false, 0},
    {"gemma3", false, true,  true,  6},
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

/* Counts of a model, and the most that is believed. */
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
        {"attention.sliding_window_pattern", false, &s->pattern, 0, 4096},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct key key;

        /* what is left out follows from others */
        if (rows[i].to == &s->kv_heads)
            s->kv_heads = s->heads;
        if (rows[i].to == &s->head && s->heads)
            s->head = s->width / s->heads;
        if (rows[i].to == &s->pattern)
            s->pattern = s->arch->pattern;
        if (!gguf_u32(g, key_of(&key, s->arch, rows[i].name), rows[i].needed,
                      rows[i].to, fault))
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
                    " elements; multiples of 8 can be used",
                    g->path, s->head);
    if (s->heads % s->kv_heads != 0)
        return fail(fault,
                    "%s: %" PRIu32 " heads of %" PRIu32
                    " elements cannot share %" PRIu32 " of K and V",
                    g->path, s->heads, s->head, s->kv_heads);
    return true;
}

/* What a model may ask for and this program does not do. */
static bool refuse_others(const struct gguf *g, const struct sizes *s,
                          struct fault *fault)
{
    struct {
        const char *name;
        uint32_t wanted;
    } const rows[] = {
        {"attention.value_length", s->head},
        {"rope.dimension_count", s->head},
        {"expert_count", 0},
    };
    struct text scaling = {"none", 4};
    float softcap = 0;
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
    if (!gguf_f32(g, key_of(&key, s->arch, "final_logit_softcapping"), false,
                  &softcap, fault) ||
        !gguf_text(g, key_of(&key, s->arch, "rope.scaling.type"), false,
                   &scaling, fault))
        return false;
    if (softcap != 0)
        return fail(fault, "%s caps its logits, which this program cannot",
                    g->path);
    if (!text_is(scaling, "none") && !text_is(scaling, "linear"))
        return fail(fault,
                    "%s stretches positions by '" TEXT_FORMAT
                    "' (%s); none and linear can be used",
                    g->path, TEXT_ARGS(scaling), key.text);
    return true;
}

static bool read_rotations(const struct gguf *g, struct sizes *s,
                           struct fault *fault)
{
    const struct gguf_tensor *factors =
        gguf_find_tensor(g, "rope_freqs.weight");
    struct key key;

    s->base = 10000;
    s->window_base = 10000;
    s->stretch = 0;
    if (!gguf_f32(g, key_of(&key, s->arch, "rope.freq_base"), false, &s->base,
                  fault) ||
        !gguf_f32(g, key_of(&key, s->arch, "rope.freq_base_swa"), false,
                  &s->window_base, fault) ||
        !gguf_f32(g, key_of(&key, s->arch, "rope.scaling.factor"), false,
                  &s->stretch, fault) ||
        !gguf_f32(g, key_of(&key, s->arch, "attention.layer_norm_rms_epsilon"),
                  true, &s->eps, fault))
        return false;
    if (s->stretch == 0)
        s->stretch = 1;
    if (!(s->base > 0 && s->window_base > 0 && s->stretch > 0 && s->eps >= 0))
        return fail(fault, "%s has impossible rotations or norms", g->path);
    if (factors && (factors->format->id != 0 || factors->ndims != 1 ||
                    factors->dim[0] != s->head / 2))
        return fail(fault,
                    "%s: tensor rope_freqs.weight is not %" PRIu32
                    " elements of F32",
                    g->path, s->head / 2);
    /* tensors are aligned to 8 bytes at least */
    s->factors = factors ? (const float *)(const void *)factors->data : NULL;
    return true;
}

bool sizes_read(const struct gguf *gguf, struct sizes *out, struct fault *fault)
{
    const struct gguf_tensor *embeds;

    memset(out, 0, sizeof(*out));
    if (!find_arch(gguf, &out->arch, fault) || !read_counts(gguf, out, fault) ||
        !refuse_others(gguf, out, fault) || !read_rotations(gguf, out, fault))
        return false;
    /* every other architecture's window is one that it does not use */
    if (out->arch->pattern == 0)
        out->window = 0;
    embeds = gguf_find_tensor(gguf, "token_embd.weight");
    if (!embeds || embeds->dim[1] == 0 || embeds->dim[1] > 1U << 24)
        return fail(fault, "%s has no embeddings: no tensor token_embd.weight",
                    gguf->path);
    out->vocabulary = (uint32_t)embeds->dim[1];
    out->scale = 1.0f / sqrtf((float)out->head);
    /* Gemma 3 27B divides its width, not its heads' size */
    if (out->arch->scaled_embeds && out->layers == 62) {
        const uint32_t share = out->width / out->heads;

        out->scale = 1.0f / sqrtf((float)share);
    }
    return true;
}

bool has_window(const struct sizes *sizes, uint32_t layer)
{
    return sizes->window > 0 &&
           (sizes->pattern == 0 || layer % sizes->pattern < sizes->pattern - 1);
}
