/* heap.c - a binary heap */
#include "heap.h"

#include <stdlib.h>

static bool is_better(const struct choice *a, const struct choice *b)
{
    return a->priority != b->priority ? a->priority > b->priority
                                      : a->left < b->left;
}

static void swap_choices(struct choice *a, struct choice *b)
{
    const struct choice c = *a;

    *a = *b;
    *b = c;
}

bool heap_open(struct heap *heap, size_t most)
{
    heap->n = 0;
    heap->choices = calloc(most + 1, sizeof(*heap->choices));
    return heap->choices != NULL;
}

void heap_close(struct heap *heap)
{
    free(heap->choices);
}

void heap_push(struct heap *heap, struct choice choice)
{
    struct choice *c = heap->choices;
    size_t at = heap->n++;

    c[at] = choice;
    for (; at > 0 && is_better(&c[at], &c[(at - 1) / 2]); at = (at - 1) / 2)
        swap_choices(&c[at], &c[(at - 1) / 2]);
}

struct choice heap_pop(struct heap *heap)
{
    struct choice *c = heap->choices;
    const struct choice top = c[0];
    size_t at = 0, child;

    c[0] = c[--heap->n];
    for (; (child = 2 * at + 1) < heap->n; at = child) {
        if (child + 1 < heap->n && is_better(&c[child + 1], &c[child]))
            child++;
        if (!is_better(&c[child], &c[at]))
            break;
        swap_choices(&c[child], &c[at]);
    }
    return top;
}
