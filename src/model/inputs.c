/* inputs.c - the inputs of a run in a device's memory */
#include "inputs.h"

size_t inputs_nbytes(size_t n)
{
    return VIEW * sizeof(size_t) + n * sizeof(int64_t) +
           (6 * n + 2) * sizeof(int32_t);
}

struct inputs inputs_place(void *base, size_t n, size_t groups)
{
    struct inputs in;

    in.view = base;
    in.rows = (int64_t *)(void *)(in.view + VIEW);
    in.ids = (uint32_t *)(void *)(in.rows + n);
    in.places = (int32_t *)(void *)(in.ids + n);
    in.tokens = in.places + n;
    in.keys = in.tokens + groups + 1;
    in.pages = in.keys + groups + 1;
    in.wanted = (uint32_t *)(void *)(in.pages + groups);
    return in;
}

size_t inputs_words_up(size_t n)
{
    return 2 * n + n + n + 2 * (n + 1); /* rows, ids, places, tokens, keys */
}

void inputs_count_up(size_t n, uint32_t *up)
{
    for (size_t i = 0; i < n; i++)
        up[2 * i] = 1;
    for (size_t i = 0; i < n; i++)
        up[3 * n + i] = 1;
    for (size_t i = 0; i <= n; i++)
        up[5 * n + 1 + i] = (uint32_t)i;
}
