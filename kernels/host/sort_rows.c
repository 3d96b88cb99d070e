/* sort_rows.c - sorting long rows with many blocks each: see sort_rows.h
 *
 * Blocks sort tiles of a row, then runs are merged in pairs until one is left,
 * back and forth between the two halves of the workspace. The last merge writes
 * the columns.
 */
#include "sort_rows.h"

#include <kpack/host_code.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 2048 };         /* SORT_TILE of sort/merge.h */
enum { ONE_BLOCK = 4096 };    /* columns up to which one block is as fast */
enum { MOST_GRID_Y = 65535 }; /* rows of a launch */

struct sort {
    const char *kernel, *ordered; /* "asort_asc_f32", its "asc_f32" */
    uint32_t ncols;
    uint32_t nbytes;      /* of a value */
    uint32_t item_nbytes; /* of a value with its column */
    uint64_t row_nbytes;  /* of the workspace; 0 for one block */
};

static kpk_status describe(const char *kernel, uint32_t ncols,
                           struct sort *sort)
{
    const char *nbits;

    if (!kernel)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_sort: kernel is NULL");
    if (strncmp(kernel, "asort_asc_", 10) != 0 &&
        strncmp(kernel, "asort_desc_", 11) != 0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_sort: %s is not asort_asc_T or asort_desc_T",
                          kernel);
    if (ncols > INT32_MAX)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_sort: %u columns are too many",
                          (unsigned)ncols);
    sort->kernel = kernel;
    sort->ordered = kernel + strlen("asort_");
    sort->ncols = ncols;
    nbits = strpbrk(kernel, "123456789");
    sort->nbytes = nbits ? (uint32_t)strtoul(nbits, NULL, 10) / 8 : 0;
    sort->item_nbytes = sort->nbytes == 8 ? 12 : 8;
    sort->row_nbytes =
        ncols > ONE_BLOCK ? 2 * (uint64_t)sort->item_nbytes * ncols : 0;
    return KPK_OK;
}

kpk_status kpk_sort_workspace(const char *kernel, uint32_t nrows,
                              uint32_t ncols, uint64_t *nbytes)
{
    struct sort sort = {.kernel = kernel};
    kpk_status st;

    if (!nbytes)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_sort_workspace: nbytes is NULL");
    st = describe(kernel, ncols, &sort);
    if (st == KPK_OK)
        *nbytes = sort.row_nbytes * nrows;
    return st;
}

/* A block a row. */
static kpk_status sort_by_block(kpk_instance *inst, const struct sort *sort,
                                const void *x, uint32_t *dst, uint32_t nrows,
                                void *stream)
{
    const int32_t ncols = (int32_t)sort->ncols;
    int32_t padded = 1;
    const kpk_kernel *kernel;
    kpk_shape shape;
    kpk_status st = kpk_kernel_get(inst, sort->kernel, &kernel);

    while (padded < ncols && padded <= INT32_MAX / 2)
        padded *= 2;
    if (st == KPK_OK)
        st = kpk_kernel_shape(kernel, nrows, sort->ncols, &shape);
    if (st == KPK_OK)
        st =
            kpk_launch(kernel, &shape, stream, KPK_ARGS(x, dst, ncols, padded));
    return st;
}

/* Starts a kernel over all columns of nrows rows. */
static kpk_status launch(kpk_instance *inst, const char *name, uint32_t ncols,
                         uint32_t nrows, void *stream, const kpk_arg *args,
                         size_t nargs)
{
    const kpk_kernel *kernel;
    kpk_shape shape;
    kpk_status st = kpk_kernel_get(inst, name, &kernel);

    if (st == KPK_OK)
        st = kpk_kernel_shape(kernel, ncols, nrows, &shape);
    if (st == KPK_OK)
        st = kpk_launch(kernel, &shape, stream, args, nargs);
    return st;
}

static kpk_status sort_by_merging(kpk_instance *inst, const struct sort *sort,
                                  const void *x, uint32_t *dst, uint32_t nrows,
                                  void *workspace, void *stream)
{
    const char *merge =
        sort->item_nbytes == 12 ? "asort_merge_widest" : "asort_merge_wide";
    const uint32_t ncols = sort->ncols;
    char *in = workspace;
    char *out = in + (uint64_t)nrows * ncols * sort->item_nbytes;
    char tiles[32];
    kpk_status st;

    snprintf(tiles, sizeof(tiles), "asort_tiles_%s", sort->ordered);
    st = launch(inst, tiles, ncols, nrows, stream, KPK_ARGS(x, in, ncols));
    for (uint32_t run = TILE; st == KPK_OK && run < ncols; run *= 2) {
        uint32_t *columns = ncols - run <= run ? dst : NULL;
        char *sorted = out;

        st = launch(inst, merge, ncols, nrows, stream,
                    KPK_ARGS(in, out, columns, ncols, run));
        out = in;
        in = sorted;
    }
    return st;
}

kpk_status kpk_sort_launch(kpk_instance *inst, const char *kernel,
                           const void *x, uint32_t *dst, uint32_t nrows,
                           uint32_t ncols, void *workspace,
                           uint64_t workspace_nbytes, void *stream)
{
    struct sort sort = {.kernel = kernel};
    uint64_t at_once;
    kpk_status st = describe(kernel, ncols, &sort);

    if (st != KPK_OK)
        return st;
    if (!inst || !x || !dst)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_sort_launch: %s is NULL",
                          !inst ? "inst"
                          : !x  ? "x"
                                : "dst");
    if (nrows == 0 || ncols == 0)
        return KPK_OK;
    if (!workspace || !sort.row_nbytes || workspace_nbytes < sort.row_nbytes)
        return sort_by_block(inst, &sort, x, dst, nrows, stream);
    at_once = workspace_nbytes / sort.row_nbytes;
    if (at_once > MOST_GRID_Y)
        at_once = MOST_GRID_Y;
    for (uint64_t row = 0; st == KPK_OK && row < nrows; row += at_once) {
        const uint64_t n = nrows - row < at_once ? nrows - row : at_once;
        const uint64_t first = row * ncols;

        st = sort_by_merging(inst, &sort, (const char *)x + first * sort.nbytes,
                             dst + first, (uint32_t)n, workspace, stream);
    }
    return st;
}
