/*
 * attention.csv.c - prints attention.csv: the launch shapes of attention.hip,
 * and what host/attention_plan.c chooses by
 *
 * Many queries by kpk_kernel_shape(kernel, seqlen_q, h, &s), decoding by splits
 * and h_k, then s.grid[2] = b; joining by total_q and h. room: how many blocks
 * a compute unit works on at once; split_keys: of how many keys a split has at
 * least. NVIDIA's larger processors have K and V in dynamic shared memory.
 */
#include <stdio.h>

#include "nvidia/attend_shapes.h"

static const char *const types[] = {"f16", "bf16"};
static const struct {
    int d, shared_nbytes;
} many[] = {
#define SHAPE(d, units, groups, keys, at_once, stages, q_in_lds)               \
    {d, ATTEND_LDS(d, units, groups, keys, stages, q_in_lds)},
    ATTEND_SHAPES(SHAPE)
#undef SHAPE
};

/* NVIDIA's processors whose workgroups may have 227 KiB of shared memory, and
 * all others from sm_80 on. */
static const int large[] = {90, 100, 103, 110},
                 small[] = {80, 86, 87, 88, 89, 120, 121};

#define EACH(i, array)                                                         \
    size_t i = 0;                                                              \
    i < sizeof(array) / sizeof((array)[0]);                                    \
    i++

static void print_decode(int sm)
{
    printf("attention_decode_*,sm_%d,128,splits,1,1,heads of K,1,1,0,3,256\n",
           sm);
}

int main(void)
{
    puts("kernel,target,block_x,grid_x_counts,grid_x_each,grid_x_loops,"
         "grid_y_counts,grid_y_each,grid_y_loops,shared_nbytes,room,"
         "split_keys");
    for (EACH(i, large))
        print_decode(large[i]);
    for (EACH(i, small))
        print_decode(small[i]);
    puts("attention_decode_*,,128,splits,1,1,heads of K,1,1,0,2,256");
    puts("attention_join_*,,256,rows,1,1,heads,1,1,0,0,0");
    for (EACH(i, large))
        for (EACH(t, types))
            for (EACH(m, many))
                printf("attention_%s_%d,sm_%d,256,rows,128,1,heads,1,1,%d,1,"
                       "0\n",
                       types[t], many[m].d, large[i], many[m].shared_nbytes);
    puts("attention_*,,256,rows,128,1,heads,1,1,0,2,0");
    puts("set_rows_*,,256,elements,256,1,none,0,0,0,0,0");
    return 0;
}
