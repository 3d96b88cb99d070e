/*
 * attention.csv.c - prints attention.csv: the launch shapes of attention.hip,
 * and the numbers by which host/attention_plan.c chooses
 *
 * The shape of a launch is kpk_kernel_shape(kernel, x, y, &s) with s.grid[2] =
 * b: x and y are seqlen_q and h for many queries, the number of splits and h_k
 * for decoding, total_q and h for joining. Columns:
 *
 *   room          blocks that run at once on a compute unit
 *   split_keys    the fewest keys of a split
 *   cluster_keys  the same for splits in a cluster; 0: no clusters
 *   shared_keys   the same if blocks of clusters share a compute unit
 *   group_rows    rows of a block along y, among the heads that share a head of
 *                 K; 0: each block loops over all
 *   rounds        1: a grid of one block per compute unit is faster than one
 *                 block per tile
 *
 * From sm_80 on K and V are in dynamic shared memory, except for wide heads. A
 * block for many queries takes 32 queries of a wide head. Both forms of a
 * kernel have the same rows.
 */
#include "../src/base/sm_table.h"

#include <stdio.h>
#include <string.h>

#include "nvidia/attention/attend_shapes.h"

static const char *const forms[] = {"attention", "attention2"};
static const char *const types[] = {"f16", "bf16"};
struct many {
    int d, threads, queries, shared_nbytes, mask_nbytes; /* by form 2 */
};
static const struct many by_warps[] = {
#define SHAPE(d, keys, at_once, stages, q_in_lds, blocks)                      \
    {d, 256, 128, ATTEND_LDS(d, keys, stages, q_in_lds), 0},
    ATTEND_SHAPES(SHAPE)
#undef SHAPE
};
static const struct many by_groups[] = {
#define SHAPE(d, groups, keys, slots)                                          \
    {d, ATTEND_GROUPS_THREADS(groups), (groups)*64,                            \
     ATTEND_GROUPS_LDS(d, groups, keys, slots),                                \
     ATTEND_MASK_LDS(groups, keys)},
    ATTEND_GROUPS_SHAPES(SHAPE)
#undef SHAPE
};

/* NVIDIA's code objects; rows are printed from sm_80 on. Only sm_90's code
 * object has wgmma. */
static const struct {
    const char *name;
    int number;
} targets[] = {
#define CUBIN(number, ...) {"sm_" #number, number},
#define PTX(number, ...) {"compute_" #number, number},
    KPK_SM_TABLE(CUBIN) KPK_SM_TABLE(PTX)};

#define EACH(i, array)                                                         \
    size_t i = 0;                                                              \
    i < sizeof(array) / sizeof((array)[0]);                                    \
    i++

/* a row for each of NVIDIA's targets */
static void print_nvidia(const char *kernels, const char *row)
{
    for (EACH(i, targets))
        if (targets[i].number >= 80)
            printf("%s,%s,%s\n", kernels, targets[i].name, row);
}

int main(void)
{
    puts("kernel,target,block_x,grid_x_counts,grid_x_each,grid_x_loops,"
         "grid_y_counts,grid_y_each,grid_y_loops,shared_nbytes,room,"
         "split_keys,cluster_keys,shared_keys,group_rows,rounds");
    print_nvidia("attention2_decode_*_576*",
                 "128,splits,1,1,heads of K,1,1,0,2,64,0,0,0,0");
    puts("attention2_decode_*_576*,,128,splits,1,1,heads of K,1,1,0,1,64,0,0,"
         "0,0");
    /* cluster_keys is the number of keys that a block's warps hold at once;
     * clusters are tuned on sm_90. The pattern leaves out kernels for quantized
     * caches, whose names do not end in the head's size: they use no clusters.
     */
    for (int d = 64; d <= 256; d *= 2)
        printf("attention*_decode_*_%d,sm_90,128,splits,1,1,heads of K,1,1,0,2,"
               "%d,%d,%d,16,0\n",
               d, d == 256 ? 128 : 512, 8192 / d, d == 256 ? 160 : 320);
    /* a head of 256 is work enough for a split of fewer keys */
    print_nvidia("attention*_decode_*_256",
                 "128,splits,1,1,heads of K,1,1,0,2,64,0,0,16,0");
    print_nvidia("attention*_decode_*",
                 "128,splits,1,1,heads of K,1,1,0,2,256,0,0,16,0");
    puts("attention*_decode_*,,128,splits,1,1,heads of K,1,1,0,2,256,0,0,0,0");
    puts("attention*_join_*,,256,rows,1,1,heads,1,1,0,0,0,0,0,0,0");
    puts("attention2_*_576,,256,rows,32,1,heads,1,1,0,1,0,0,0,0,0");
    for (EACH(i, targets)) {
        const int has_groups = strcmp(targets[i].name, "sm_90") == 0;

        for (size_t j = 0; j < 4 && targets[i].number >= 80; j++)
            for (EACH(m, by_warps)) {
                const struct many *at = &(has_groups ? by_groups : by_warps)[m];

                printf("%s_%s_%d,%s,%d,rows,%d,1,heads,1,1,%d,1,0,0,0,0,%d\n",
                       forms[j / 2], types[j % 2], at->d, targets[i].name,
                       at->threads, at->queries,
                       at->shared_nbytes + (j / 2 ? at->mask_nbytes : 0),
                       has_groups && at->d < 256);
            }
    }
    puts("attention2_*_to_*,,256,pieces,256,1,none,0,0,0,0,0,0,0,0,0");
    puts("attention*,,256,rows,128,1,heads,1,1,0,2,0,0,0,0,0");
    puts("set_rows_*,,256,elements,256,1,none,0,0,0,0,0,0,0,0,0");
    return 0;
}
