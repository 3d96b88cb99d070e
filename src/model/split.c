/* split.c - which slice of every tensor a device has */
#include "split.h"

#include <kpack/candle/comm_group.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_INNER = 32, SUM_COLUMNS = 4 /* a sum moves so many at once */ };

struct slice slice_whole(const struct sizes *s)
{
    struct slice slice = {*s, *s};

    slice.before.width = slice.before.inner = slice.before.vocabulary = 0;
    slice.before.heads = slice.before.kv_heads = 0;
    return slice;
}

/* Elements of the largest block in any layer's matrix `name`. */
static uint32_t largest_block(const struct gguf *gguf, const struct sizes *s,
                              const char *name)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < s->layers; i++) {
        const struct gguf_tensor *t;
        char full[64];

        (void)snprintf(full, sizeof(full), "blk.%" PRIu32 ".%s", i, name);
        t = gguf_find_tensor(gguf, full);
        if (t && t->format->elems > most)
            most = t->format->elems;
    }
    return most;
}

static uint32_t common(uint32_t a, uint32_t b) /* greatest divisor */
{
    while (b) {
        const uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Sizes that are not cut. */
struct units {
    uint32_t block, down;     /* columns of blocks: attn_output's, ffn_down's */
    uint32_t kv_heads, heads; /* the fewest heads that are whole blocks */
    uint32_t inner;
};

static struct units units_of(const struct gguf *gguf, const struct sizes *s)
{
    const uint32_t shared = s->heads / s->kv_heads;
    struct units u = {.block = largest_block(gguf, s, "attn_output.weight"),
                      .down = largest_block(gguf, s, "ffn_down.weight")};

    u.kv_heads = u.block / common(u.block, shared * s->head);
    u.heads = u.block / common(u.block, s->head);
    u.inner = u.down > LEAST_INNER ? u.down : LEAST_INNER;
    return u;
}

/* Whether several ranks have the same head of K and V. */
static bool shares_heads(const struct sizes *s, const struct units *u,
                         uint32_t ranks)
{
    return ranks > s->kv_heads / u->kv_heads;
}

static bool fits(const struct sizes *s, const struct units *u, uint32_t ranks)
{
    const uint32_t shared = s->heads / s->kv_heads;
    const uint32_t each = ranks / s->kv_heads; /* ranks of a head of K and V */

    return ranks <= KPK_COMM_MOST_RANKS && s->width % SUM_COLUMNS == 0 &&
           s->inner / u->inner >= ranks &&
           (!shares_heads(s, u, ranks) ||
            (ranks % s->kv_heads == 0 && shared % u->heads == 0 &&
             shared / u->heads >= each));
}

static bool refuse(const struct gguf *gguf, const struct sizes *s,
                   const struct units *u, uint32_t ranks, struct fault *fault)
{
    char counts[64] = "";

    for (uint32_t n = 2; n <= KPK_COMM_MOST_RANKS; n++) {
        const size_t at = strlen(counts);

        if (fits(s, u, n))
            (void)snprintf(counts + at, sizeof(counts) - at, "%s%" PRIu32,
                           at ? ", " : "", n);
    }
    return fail(fault,
                "%s: %" PRIu32 " devices cannot have a slice of each tensor: "
                "there are %" PRIu32 " heads, %" PRIu32 " of K and V, of "
                "%" PRIu32 " elements, %" PRIu32 " of an inner layer, and "
                "%" PRIu32 " of a token, which are to be a multiple of 4; "
                "blocks have %" PRIu32 " elements in attn_output and %" PRIu32
                " in ffn_down, and are not cut. %s%s%s --split layer",
                gguf->path, ranks, s->heads, s->kv_heads, s->head, s->inner,
                s->width, u->block, u->down, *counts ? "Give " : "Use", counts,
                *counts ? " devices, or" : "");
}

/* The first of n units that rank has; ranks get n / ranks each, or one more. */
static uint32_t first_of(uint32_t n, uint32_t ranks, uint32_t rank)
{
    return (uint32_t)((uint64_t)n * rank / ranks);
}

/* Cuts *n to a rank's share, in units, and sets *before to the shares of lower
 * ranks. The last rank also has the remainder. */
static void cut(uint32_t *n, uint32_t *before, uint32_t unit, uint32_t ranks,
                uint32_t rank)
{
    const uint32_t units = *n / unit;
    const uint32_t end = first_of(units, ranks, rank + 1) * unit;

    *before = first_of(units, ranks, rank) * unit;
    *n = (rank + 1 == ranks ? *n : end) - *before;
}

static void cut_heads(struct slice *out, const struct units *u, uint32_t ranks,
                      uint32_t rank)
{
    struct sizes *s = &out->sizes, *before = &out->before;
    const uint32_t shared = s->heads / s->kv_heads;
    const uint32_t each = ranks / s->kv_heads;

    if (!shares_heads(s, u, ranks)) {
        cut(&s->kv_heads, &before->kv_heads, u->kv_heads, ranks, rank);
        before->heads = before->kv_heads * shared;
        s->heads = s->kv_heads * shared;
        return;
    }
    s->heads = shared;
    s->kv_heads = 1;
    cut(&s->heads, &before->heads, u->heads, each, rank % each);
    before->kv_heads = rank / each;
    before->heads += before->kv_heads * shared;
}

bool slice_of(const struct gguf *gguf, const struct sizes *s, uint32_t ranks,
              uint32_t rank, struct slice *out, struct fault *fault)
{
    const struct units u = units_of(gguf, s);

    *out = slice_whole(s);
    if (!fits(s, &u, ranks))
        return refuse(gguf, s, &u, ranks, fault);
    cut_heads(out, &u, ranks, rank);
    cut(&out->sizes.inner, &out->before.inner, u.inner, ranks, rank);
    /* Logits are gathered, so all shares must have the same size. */
    if (s->vocabulary % ranks == 0)
        cut(&out->sizes.vocabulary, &out->before.vocabulary, 1, ranks, rank);
    return true;
}
