/* references.c - picks the code objects that others of their module are
 * compressed against
 *
 * Some objects, the roots, are compressed by themselves. Each other object is
 * compressed against the root that makes it smallest. There are no chains: to
 * load a code object, decode its root and then the code object itself.
 *
 * Roots are chosen greedily: the root that saves most is added, until none
 * saves anything. With a module's few targets the result is as good as trying
 * every set of roots.
 *
 * Decoding costs time for each byte that comes out and some ten times as much
 * for each that goes in. Two objects that compress badly are therefore not
 * tied together: it would save less and cost more than elsewhere. DENSITY
 * bounds what is read for a code object, as a share of its size; with it the
 * first use of a code object stays below 2 ms a MB, on a machine where zstd
 * decodes 1 GB/s.
 */
#include "compress/references.h"

#include <stdint.h>
#include <stdlib.h>

#define DENSITY 0.25

/* size[i][j]: of object i against object j; size[i][i]: by itself. */
static bool measure(const struct bytes *contents, size_t n, size_t *size)
{
    for (size_t i = 0; i < n; i++) {
        if (!compressed_size(contents[i], NULL, QUICK_LEVEL, &size[i * n + i]))
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            size_t *out = &size[i * n + j];

            if (i == j)
                continue;
            if (!compressed_size(contents[i], &contents[j], QUICK_LEVEL, out))
                return false;
            if ((double)(*out + size[j * n + j]) >
                DENSITY * (double)contents[i].nbytes)
                *out = SIZE_MAX;
        }
    }
    return true;
}

/* The best of the roots for each, and the sum of the sizes. */
static size_t assign(const size_t *size, size_t n, const bool *is_root,
                     size_t *references)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        size_t best = i;

        for (size_t j = 0; !is_root[i] && j < n; j++) {
            if (is_root[j] && size[i * n + j] < size[i * n + best])
                best = j;
        }
        references[i] = best;
        sum += size[i * n + best];
    }
    return sum;
}

bool plan_references(const struct bytes *contents, size_t n, size_t *references)
{
    size_t *size = calloc(n * n, sizeof(*size));
    bool *is_root = calloc(n, sizeof(*is_root));
    bool ok = size && is_root;
    bool better;
    size_t best;

    if (!ok)
        (void)no_memory();
    ok = ok && measure(contents, n, size);
    best = ok ? assign(size, n, is_root, references) : 0;
    better = ok && n > 1;
    while (better) {
        size_t root = 0;

        better = false;
        for (size_t i = 0; i < n; i++) {
            size_t sum;

            if (is_root[i])
                continue;
            is_root[i] = true;
            sum = assign(size, n, is_root, references);
            is_root[i] = false;
            if (sum < best) {
                best = sum;
                root = i;
                better = true;
            }
        }
        if (better)
            is_root[root] = true;
    }
    if (ok)
        (void)assign(size, n, is_root, references);
    free(size);
    free(is_root);
    return ok;
}
