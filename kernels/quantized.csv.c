/*
 * quantized.csv.c - prints quantized.csv: the launch shapes of quantized.hip
 *
 * Launch shapes are the callers', and the kernels count on them; on sm_90
 * products of many rows with one Q8_1 column have compact grids, except q8_0's,
 * and so have products of experts. A kernel's first row that fits is taken
 * (kpk_kernel_shape() in kpack.h). grid_y_each 0: one row of blocks;
 * grid_y_loops: the kernel loops over the rest. Experts take batch as columns,
 * and grid.z = topk besides. On AMD's GPUs and on sm_90 few columns of
 * mul_mat_F have grids with more workgroups (mul_mat.h).
 */
#include "gguf/formats.h"
#include "quantized/few_columns.h"

#include <stdio.h>

/* clang-format off */
#define DEQUANTIZE(name, threads, elems)                                       \
    "dequantize_block_" #name "_*,," #threads ",1,elements," #elems ",0,0,none,0,0,0\n"
#define FORMAT(name, lower, short, type, number, elements, bytes, d, m, tiled, \
               column, counts, threads, elems, join, row_threads,              \
               row_columns, rows, cols, passes)                                \
    DEQUANTIZE(name, threads, elems)                                           \
    "get_rows_" #name ",," #row_threads ",1,ids,1,0,0,columns," #row_columns ",1,0\n"
#define FLOATS(name, type, number, bytes, threads, elems, join, row_threads,   \
               row_columns, rows, cols)                                        \
    DEQUANTIZE(name, threads, elems)                                           \
    "mul_mat_vec_" #name "_f32_cuda1,,32,4,rows,1,0,0,none,0,0,0\n"             \
    "mul_mat_" #name ",,128,1,rows," #rows ",0,0,columns," #cols ",0,0\n"
#define NUMBERS(name, type, number, elements, bytes, d, m, counts, threads,    \
                elems, join)                                                   \
    DEQUANTIZE(name, threads, elems)

static const char text[] =
    "kernel,target,block_x,block_y,grid_x_counts,grid_x_each,grid_x_loops,min_n,"
    "grid_y_counts,grid_y_each,grid_y_loops,min_columns\n"
    GGUF_WEIGHTS(FORMAT)
    GGUF_FLOAT_WEIGHTS(FLOATS)
    GGUF_NUMBERS(NUMBERS)
    "get_rows_*,,256,1,ids,1,0,0,columns,256,1,0\n"
    "quantize_q8_1,,256,1,padded columns,256,0,0,rows,1,0,0\n"
    "quantize_q8_1_quants,,256,1,padded columns,256,0,0,rows,1,0,0\n"
    "dequantize_mul_mat_vec_*,,32,1,rows,1,0,0,none,0,0,0\n"
    "mul_mat_vec_q8_0_q8_1_cuda1,,32,4,rows,1,0,0,none,0,0,0\n"
    /* a compact grid from 4096 rows on */
    "mul_mat_vec_*_cuda1,sm_90,32,4,rows,8,1,4096,none,0,0,0\n"
    "mul_mat_vec_*_cuda1,,32,4,rows,1,0,0,none,0,0,0\n"
    "mul_mat_vec_*_cuda2,,32,4,rows,2,0,0,none,0,0,0\n"
    "mul_mat_vec_*_cuda3,,32,4,rows,2,0,0,none,0,0,0\n"
    "mul_mat_vec_*_cuda4,,32,4,rows,2,0,0,none,0,0,0\n"
    "mul_mat_vec_*,,32,2,rows,2,0,0,none,0,0,0\n"
    /* a workgroup for each row of each expert takes longer to start than to
     * read them */
    "indexed_moe_forward_*,sm_90,32,4,rows,8,1,0,batch,1,0,0\n"
    "indexed_moe_forward_*,,32,4,rows,1,0,0,batch,1,0,0\n";

static const struct tile {
    const char *name;
    int rows, cols, passes, bytes;
} tiles[] = {
#define TILE(name, lower, short, type, number, elements, bytes, d, m, tiled,   \
             column, counts, threads, elems, join, row_threads,                \
             row_columns, rows, cols, passes)                                  \
    {#name, rows, cols, passes, bytes},
    GGUF_WEIGHTS(TILE)
};
/* clang-format on */

static void print_tile(const struct tile *t, const char *target, int rows,
                       int cols, int min_rows, int min_columns)
{
    printf("mul_mat_%s,%s,32,4,rows,%d,0,%d,columns,%d,0,%d\n", t->name, target,
           rows, min_rows, cols, min_columns);
}

int main(void)
{
    fputs(text, stdout);
    for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
        const struct tile *t = &tiles[i];

        print_tile(t, "gfx*", t->rows, t->cols, 0, GGUF_FINE_COLUMNS + 1);
        print_tile(t, "gfx*", t->rows / GGUF_FEW_PARTS, t->cols, 0, 0);
        if (t->bytes % 2 == 0) {
            print_tile(t, "sm_90", t->rows, t->cols, 0,
                       2 * GGUF_FINE_COLUMNS + 1);
            /* enough tiles */
            print_tile(t, "sm_90", t->rows, t->cols, 10000,
                       t->cols / t->passes * 3 / 4 + 1);
            /* If the rows occupy each of 132 multiprocessors at most once, two
             * workgroups share up to 32 columns. */
            print_tile(t, "sm_90", GGUF_FINE_ROWS, GGUF_FINE_COLUMNS,
                       132 * GGUF_FINE_ROWS + 1, 0);
            print_tile(t, "sm_90", GGUF_FINE_ROWS, GGUF_FINE_COLUMNS, 0,
                       2 * GGUF_FEW_COLUMNS + 1);
            print_tile(t, "sm_90", GGUF_FINE_ROWS, GGUF_FEW_COLUMNS, 0, 0);
        }
        print_tile(t, "", t->rows, t->cols, 0, 0);
    }
    return ferror(stdout);
}
