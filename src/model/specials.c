/* specials.c - finds the special tokens that a text names
 *
 * An automaton (Aho and Corasick: Efficient string matching. CACM 18, 1975) of
 * the tokens' bytes from their ends reads the text from its end: at each byte
 * it knows the longest token that begins there, and by one link more each
 * shorter one. From these choices a heap takes the best: the longest token, of
 * equally long ones that of the lower number, of one token the leftmost. Where
 * a choice runs into a token that was taken, a shorter one that begins at the
 * same byte takes its place in the heap.
 */
#define _GNU_SOURCE /* qsort_r */
#include "specials.h"

#include "heap.h"

#include <stdlib.h>

/* A node is what was read: the end of some token. Node 0 read nothing. */
struct node {
    uint32_t child, sibling; /* first one byte more, another; 0: none */
    uint32_t shorter;        /* without the byte that was read first, and on
                              * until it is the end of a token: a node; or 0 */
    uint32_t longest; /* first whole token among the node and its chain of
                         `shorter` nodes; 0: none */
    uint32_t rank;    /* rank of the node's token; NO_SPECIAL */
    uint8_t byte;
};

struct specials {
    const struct text *tokens;
    uint32_t *ids; /* by rank: the longest first, then by number */
    struct node *nodes;
    uint32_t nnodes;
    uint32_t first[256]; /* children of node 0, one per byte value */
};

static int longer_first(const void *a, const void *b, void *context)
{
    const struct text *t = ((const struct specials *)context)->tokens;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

    return t[i].n != t[j].n ? (t[i].n < t[j].n) - (t[i].n > t[j].n)
                            : (i > j) - (i < j);
}

/* ---- the automaton ---- */

static uint32_t child_of(const struct specials *s, uint32_t node, uint8_t byte)
{
    uint32_t child = node ? s->nodes[node].child : s->first[byte];

    while (child && s->nodes[child].byte != byte)
        child = s->nodes[child].sibling;
    return child;
}

static uint32_t step(const struct specials *s, uint32_t node, uint8_t byte)
{
    uint32_t child;

    while ((child = child_of(s, node, byte)) == 0 && node)
        node = s->nodes[node].shorter;
    return child;
}

static void add_token(struct specials *s, uint32_t rank)
{
    const struct text token = s->tokens[s->ids[rank]];
    uint32_t node = 0;

    for (size_t i = token.n; i-- > 0;) {
        const uint8_t byte = (uint8_t)token.at[i];
        uint32_t child = child_of(s, node, byte);

        if (!child) {
            child = s->nnodes++;
            s->nodes[child] = (struct node){.sibling = s->nodes[node].child,
                                            .rank = NO_SPECIAL,
                                            .byte = byte};
            s->nodes[node].child = child;
            if (node == 0)
                s->first[byte] = child;
        }
        node = child;
    }
    s->nodes[node].rank = rank;
}

/* Nodes in the order of their length: links lead to shorter ones. */
static bool link_nodes(struct specials *s)
{
    uint32_t *queue = calloc(s->nnodes, sizeof(*queue)), n = 1;

    for (uint32_t at = 0; queue && at < n; at++)
        for (uint32_t child = s->nodes[queue[at]].child; child;
             child = s->nodes[child].sibling) {
            struct node *node = &s->nodes[child];

            if (queue[at])
                node->shorter =
                    step(s, s->nodes[queue[at]].shorter, node->byte);
            node->longest = node->rank != NO_SPECIAL
                                ? child
                                : s->nodes[node->shorter].longest;
            queue[n++] = child;
        }
    free(queue);
    return queue != NULL;
}

struct specials *specials_open(const struct text *tokens, const uint32_t *ids,
                               size_t n)
{
    struct specials *s = calloc(1, sizeof(*s));
    size_t nbytes = 0;

    for (size_t i = 0; i < n; i++)
        nbytes += tokens[ids[i]].n;
    if (!s || nbytes >= UINT32_MAX)
        goto failed;
    s->tokens = tokens;
    s->nnodes = 1;
    s->nodes = calloc(nbytes + 1, sizeof(*s->nodes));
    s->ids = calloc(n + 1, sizeof(*s->ids));
    if (!s->nodes || !s->ids)
        goto failed;
    for (size_t i = 0; i < n; i++)
        s->ids[i] = ids[i];
    qsort_r(s->ids, n, sizeof(*s->ids), longer_first, s);
    for (size_t i = 0; i < n; i++)
        add_token(s, (uint32_t)i);
    if (link_nodes(s))
        return s;
failed:
    specials_close(s);
    return NULL;
}

void specials_close(struct specials *s)
{
    if (!s)
        return;
    free(s->ids);
    free(s->nodes);
    free(s);
}

/* ---- a text ---- */

static size_t length(const struct specials *s, uint32_t node)
{
    return s->tokens[s->ids[s->nodes[node].rank]].n;
}

static void choose(const struct specials *s, struct heap *heap, size_t left,
                   uint32_t node)
{
    heap_push(heap, (struct choice){-(double)s->nodes[node].rank, left, node});
}

/* Takes the best choices. owner[i]: where the token that has byte i begins,
 * plus 1; 0: none has it. */
static void take(const struct specials *s, struct heap *heap, size_t *owner,
                 uint32_t *found)
{
    while (heap->n > 0) {
        const struct choice best = heap_pop(heap);
        const size_t left = best.left;
        uint32_t node = (uint32_t)best.what;
        const size_t n = length(s, node);

        if (owner[left])
            continue;
        /* Taken tokens are at least as long. So if one overlaps these bytes,
         * it has the last of them. */
        if (owner[left + n - 1]) {
            const size_t room = owner[left + n - 1] - 1 - left;

            while (node && length(s, node) > room)
                node = s->nodes[s->nodes[node].shorter].longest;
            if (node)
                choose(s, heap, left, node);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            owner[left + i] = left + 1;
        found[left] = s->ids[s->nodes[node].rank];
    }
}

uint32_t *specials_find(const struct specials *s, struct text text)
{
    uint32_t *found = calloc(text.n + 1, sizeof(*found));
    size_t *owner = NULL;
    struct heap heap = {0};
    uint32_t node = 0;
    size_t n = 0;

    if (!found)
        return NULL;
    for (size_t i = text.n; i-- > 0;) {
        node = step(s, node, (uint8_t)text.at[i]);
        found[i] = s->nodes[node].longest; /* for now */
        n += found[i] != 0;
    }
    if (n > 0) {
        owner = calloc(text.n, sizeof(*owner));
        if (!owner || !heap_open(&heap, n)) {
            free(owner);
            free(found);
            return NULL;
        }
    }
    for (size_t i = 0; i < text.n; i++) {
        if (found[i])
            choose(s, &heap, i, found[i]);
        found[i] = NO_SPECIAL;
    }
    take(s, &heap, owner, found);
    heap_close(&heap);
    free(owner);
    return found;
}
