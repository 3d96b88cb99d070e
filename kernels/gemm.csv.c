/*
 * gemm.csv.c - prints gemm.csv: the launch shapes of gemm.hip, and the numbers
 * by which host/gemm_plan.c chooses
 *
 * x counts rows of C, y columns; grid.z is batch times splits. A block of
 * gemm_join_* takes 1024 results of a matrix, one of gemm_align_* 8192
 * elements. On NVIDIA's the steps lie in dynamic shared memory: two of f32 and
 * f64, of f16 and bf16 as many as nvidia/gemm/mma_tile.h has. There the larger
 * tiles of f16 and bf16 have 256 rows, those of few rows along K 16 columns,
 * and the tiles of mma_tile.h come one after another in a block, so that no
 * more blocks are wanted than run at once. On sm_90 kernels of f16 and bf16
 * have the tiles of nvidia/gemm/wgmma_shapes.h, a row for each, and clusters of
 * up to `cluster` blocks may share a tile; f32 has room for limbs there, see
 * nvidia/gemm/bf16x3_tile.h, and few rows of f32 and f64 for copies, see
 * nvidia/gemm/rows8_copied.h.
 *
 * The times were fitted on one H200; for other cards only the proportions
 * count.
 */
#include "../src/base/sm_table.h"
#include "../src/base/target_table.h"
#include "include/nvidia/gemm/wgmma_shapes.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tile {
    const char *name;
    int block, m, n, most_m;
};
static const struct tile tiles[] = {
    {"m128", 256, 128, 128, INT_MAX},
    {"m64", 128, 64, 64, INT_MAX},
    {"m8", 256, 8, 64, 16},
};
enum { NUM_TILES = sizeof(tiles) / sizeof(tiles[0]) };

struct times {
    int room, step, alone, start;
};
struct type {
    const char *name;
    struct times amd[NUM_TILES], nvidia[NUM_TILES];
    struct times nvidia_nn_m8; /* of layout nn */
};
/* clang-format off */
static const struct type types[] = {
    {"f16",
     {{2, 615, 615, 3000}, {4, 200, 450, 2000}, {2, 120, 100, 1500}},
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 69, 75, 3900}},
     {2, 275, 250, 5290}},
    {"bf16",
     {{2, 615, 615, 3000}, {4, 200, 450, 2000}, {2, 120, 100, 1500}},
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 69, 75, 3900}},
     {2, 275, 250, 5290}},
    {"f32",
     {{2, 2760, 2760, 3000}, {4, 750, 1200, 2000}, {2, 160, 130, 1500}},
     {{1, 3200, 3200, 3000}, {4, 1000, 1180, 2500}, {1, 330, 330, 2500}},
     {2, 300, 400, 2500}},
    {"f64",
     {{1, 1500, 1500, 3000}, {4, 500, 800, 2000}, {2, 160, 130, 1500}},
     {{1, 1340, 1340, 3000}, {3, 305, 620, 2500}, {1, 330, 330, 2500}},
     {2, 320, 430, 2500}},
};
/* clang-format on */
enum { NUM_TYPES = sizeof(types) / sizeof(types[0]), JOIN_NS = 2500 };

/* f32 by limbs, nvidia/gemm/bf16x3_tile.h, on sm_90: tiles of 128 and of 64. */
static const struct times limb_times[] = {{1, 1410, 1410, 4500},
                                          {2, 500, 700, 3000}};

/* Few rows by copies, nvidia/gemm/rows8_copied.h, on sm_90. A block takes its
 * share of all columns, so no more blocks are wanted than run at once. */
static const struct copied_row {
    const char *type;
    int layout, cols, shared, least_m, most_m;
    struct times times;
} copied_rows[] = {
    {"f32", 0, 32, KPK_ACROSS_LDS(4), 0, 16, {1, 70, 70, 2500}},
    {"f64", 0, 32, KPK_ACROSS_LDS(8), 0, 16, {1, 70, 70, 2500}},
    {"f32", 1, KPK_ALONG_COLS, KPK_ALONG_LDS, 0, 8, {2, 35, 50, 2500}},
    {"f64", 1, KPK_ALONG_COLS, KPK_ALONG_LDS, 0, 2, {2, 35, 50, 2500}},
    {"f64", 1, KPK_ALONG_MMA_COLS, KPK_ALONG_MMA_LDS, 3, 16, {1, 70, 70, 2500}},
};
enum { NUM_COPIED_ROWS = sizeof(copied_rows) / sizeof(copied_rows[0]) };

/* Times and rate of memory: see gemm_plan.c. */
struct memory {
    int join_ns, rate, least_ns;
};
static const struct memory any_memory = {JOIN_NS, 16, 0};
static const struct memory h200_memory = {3000, 32, 4000};
static const struct memory warpgroup_memory = {9000, 32, 4075};

/* NVIDIA's processors, from 80 on, with the steps that fit their shared memory:
 * 48 KiB for the largest tile. PTX for any GPU from sm_90 on has no warpgroups:
 * its tiles differ from the cubin's. */
enum { STEP_KIB = 48 };
#define PROCESSOR(number, tegra, shared)                                       \
    {"sm_" #number, number, (shared) / STEP_KIB},
static const struct processor {
    const char *name;
    int number, steps;
} processors[] = {KPK_SM_TABLE(PROCESSOR){"compute_90", 90, 4}};
enum { NUM_PROCESSORS = sizeof(processors) / sizeof(processors[0]) };

enum { MANY_ROWS = 1025 };

/* Tiles of warpgroups; as a kernel's row of the launch shape counts the first
 * one, which is for any grid. Where A lies along K, steps come by maps:
 * nvidia/gemm/tensor_map_tile.h. */
static const struct warpgroup_row {
    int tile, m, n, shared, shares, least_m, most_m;
    struct times times;
    int share;       /* ns, for a shared tile */
    int shared_step; /* ns, for each step then; 0: as for other tiles */
    enum {
        ANY,    /* where A lies along K, and B as it likes */
        ALONG,  /* where both lie along K */
        ACROSS, /* where A does, and B not */
        PLAIN,  /* where A does not */
        PLAIN_ALONG
    } lies;
} warpgroup_rows[] = {
#define TILE(size, rows, cols, deep, stages, more, shares, apart)              \
    size == 128 ? 0 : 1, rows, cols,                                           \
        KPK_WARPGROUP_LDS(rows, cols, deep, stages, more), shares
#define FEW_ROWS(size, rows, cols, deep, stages, more, shares, apart)          \
    2, cols, rows, KPK_WARPGROUP_LDS(rows, cols, deep, stages, more), shares
    /* clang-format off */
    {KPK_WARPGROUP_WIDE(TILE),                    33, INT_MAX, {1, 580, 580, 3170}, 4120, 720, ANY},
    {KPK_WARPGROUP_MIDDLE(TILE),                  33, INT_MAX, {1, 447, 447, 2520}, 4385, 530, ALONG},
    {KPK_WARPGROUP_BROAD(TILE),                   33, INT_MAX, {1, 411, 411, 3000}, 3190, 445, ALONG},
    {KPK_WARPGROUP_THIN(TILE),                    33, INT_MAX, {1, 335, 335, 2655}, 1985,   0, ALONG},
    {KPK_WARPGROUP_SLIM(TILE),                    33, INT_MAX, {1, 265, 265, 2800}, 1655,   0, ALONG},
    {KPK_WARPGROUP_LONG(TILE),                    33, INT_MAX, {1, 305, 305, 1795}, 1415,   0, ANY},
    {KPK_WARPGROUP_EVEN(TILE),                    33, INT_MAX, {1, 400, 400, 1250}, 2615, 405, ANY},
    {KPK_WARPGROUP_LONE(TILE),                     0, INT_MAX, {1, 160, 160, 1435},  755,   0, ANY},
    {KPK_WARPGROUP_LEAN(TILE),                     0, INT_MAX, {1, 200, 200, 1220}, 1230,   0, ALONG},
    {KPK_WARPGROUP_FLAT(TILE),                     0, INT_MAX, {1, 275, 275, 1295}, 1535,   0, ANY},
    {KPK_WARPGROUP_FINE(TILE),                     0, INT_MAX, {1, 245, 245, 1415}, 1495,   0, ALONG},
    {KPK_WARPGROUP_LOW(TILE),                      0, INT_MAX, {1, 275, 275, 1900}, 2900, 365, ALONG},
    {KPK_WARPGROUP_HALF(TILE),                    33, INT_MAX, {2, 281, 400, 1825},    0,   0, ANY},
    {KPK_WARPGROUP_TWICE(TILE),                   33, INT_MAX, {2, 370, 475, 3000},    0,   0, ANY},
    {KPK_WARPGROUP_SMALL(TILE),                   33, INT_MAX, {2, 180, 240, 2785}, 2630,   0, ANY},
    {KPK_WARPGROUP_FEW_16(FEW_ROWS),               0,      16, {1, 100, 100, 4320},    0,   0, ANY},
    {KPK_WARPGROUP_FEW_16_TWICE(FEW_ROWS),         0,      16, {2,  85, 165, 2665},    0,   0, ANY},
    {KPK_WARPGROUP_FEW_32(FEW_ROWS),               9,      64, {1, 155, 155, 3950},  130,   0, ALONG},
    {KPK_WARPGROUP_FEW_64(FEW_ROWS),               9,    1024, {1, 165, 165, 5825}, 1085,   0, ALONG},
    {KPK_WARPGROUP_ACROSS_32(FEW_ROWS),            9,      64, {1, 155, 155, 3950},  130,   0, ACROSS},
    {KPK_WARPGROUP_ACROSS_64(FEW_ROWS),            9,    1024, {1, 165, 165, 5825}, 1085,   0, ACROSS},
    {KPK_WARPGROUP_WIDE(TILE),                     0, INT_MAX, {1, 720, 720, 2440}, 6500,   0, PLAIN},
    /* where there are many rows it is faster, alone and shared by two */
    {KPK_WARPGROUP_WIDE(TILE),             MANY_ROWS, INT_MAX, {1, 600, 600, 2440}, 2930,   0, PLAIN},
    {KPK_WARPGROUP_MIDDLE(TILE),                   0, INT_MAX, {1, 530, 530, 2325}, 3260,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_BROAD(TILE),                    0, INT_MAX, {1, 445, 445, 2545}, 2630,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_THIN(TILE),                     0, INT_MAX, {1, 380, 380, 1760}, 1355,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_SLIM(TILE),                     0, INT_MAX, {1, 295, 295, 1925}, 1550,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_LONG(TILE),                     0, INT_MAX, {1, 265, 265, 1450}, 1365,   0, PLAIN},
    {KPK_WARPGROUP_EVEN(TILE),                     0, INT_MAX, {1, 365, 365, 2225}, 2420,   0, PLAIN},
    {KPK_WARPGROUP_LONE(TILE),                     0, INT_MAX, {1, 185, 185, 1495},  765,   0, PLAIN},
    {KPK_WARPGROUP_LEAN(TILE),                     0, INT_MAX, {1, 220, 220, 1360}, 1465,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_FLAT(TILE),                     0, INT_MAX, {1, 275, 275, 1035}, 1535,   0, PLAIN},
    {KPK_WARPGROUP_FINE(TILE),                     0, INT_MAX, {1, 245, 245, 1500}, 1080,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_LOW(TILE),                      0, INT_MAX, {1, 300, 300, 1720}, 2360,   0, PLAIN_ALONG},
    {KPK_WARPGROUP_HALF(TILE),                     0, INT_MAX, {2, 241, 400, 1900},    0,   0, PLAIN},
    {KPK_WARPGROUP_TWICE(TILE),                    0, INT_MAX, {2, 475, 475, 2200},    0,   0, PLAIN},
    {KPK_WARPGROUP_SMALL(TILE),                    0, INT_MAX, {2, 145, 240, 2900}, 2900,   0, PLAIN},
    /* clang-format on */
};
enum {
    NUM_WARPGROUP_ROWS = sizeof(warpgroup_rows) / sizeof(warpgroup_rows[0])
};

/* AMD's whose larger tiles of f16 and bf16 are made of several, by their matrix
 * instructions: GemmShape in include/matrix/gemm.h. The last row stands for all
 * other targets. */
#define AMD(name, mach, major, minor, step, generic, sramecc, xnack, wave,     \
            dot4, mfma, ...)                                                   \
    {#name, mfma >= 3 ? 2 : 1, mfma >= 4 ? 2 : 1, mfma >= 4 ? 1 : 2},
static const struct {
    const char *target;
    int down, across, room;
} amd[] = {KPK_PROCESSOR_TABLE(AMD){"", 1, 1, 2}};
enum { NUM_AMD = sizeof(amd) / sizeof(amd[0]) };

static const char *const layouts[] = {"nn", "nt", "tn", "tt"};

/* each_m, each_n: C for one place in the grid; m, n: C for one tile */
struct extent {
    int each_m, each_n, m, n;
};

static void print_row(int layout, const struct type *type, int t,
                      const char *target, const struct times *times,
                      const struct extent *extent, int least_m, int most_m,
                      const struct memory *memory, int resident, int cluster,
                      int share, int shared_step, int shared)
{
    const struct tile *tile = &tiles[t];

    printf("gemm_%s_%s_%s,%s,%s,%s,", layouts[layout], type->name, tile->name,
           target, layouts[layout], type->name);
    printf("%d,rows,%d,1,columns,%d,1,%d,", tile->block, extent->each_m,
           extent->each_n, shared);
    printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n", tile->m,
           tile->n, extent->m, extent->n, least_m, most_m, times->room,
           times->step, times->alone, times->start, memory->join_ns,
           memory->rate, memory->least_ns, resident, cluster, share,
           shared_step, resident ? 16 : 0);
}

/* If the layout has a kernel for up to 8 rows, larger tiles begin at 9 rows. */
static int least_m_of(int layout, int t)
{
    return tiles[t].m > 8 && layout < 2 ? 9 : 0;
}

/* Whether a row of tiles is for a layout. */
static bool is_for(const struct warpgroup_row *row, int layout)
{
    const bool a_along = layout < 2, b_along = layout % 2 == 1;

    switch (row->lies) {
    case ANY:
        return a_along;
    case ALONG:
        return a_along && b_along;
    case ACROSS:
        return a_along && !b_along;
    case PLAIN:
        return !a_along;
    case PLAIN_ALONG:
        return !a_along && b_along;
    }
    return false;
}

static void print_warpgroup_rows(int layout, const struct type *type, int t)
{
    for (int i = 0; i < NUM_WARPGROUP_ROWS; i++) {
        const struct warpgroup_row *row = &warpgroup_rows[i];
        const struct extent extent = {row->m, row->n, row->m, row->n};

        if (row->tile == t && is_for(row, layout))
            print_row(layout, type, t, "sm_90", &row->times, &extent,
                      row->least_m, row->most_m, &warpgroup_memory, 1,
                      row->shares, row->share,
                      row->shared_step ? row->shared_step : row->times.step,
                      row->shared);
    }
}

/* Whether the kernel for few rows has such tiles. */
static bool print_copied_rows(int layout, const struct type *type, int t)
{
    bool any = false;

    for (int i = 0; i < NUM_COPIED_ROWS; i++) {
        const struct copied_row *row = &copied_rows[i];
        const struct extent extent = {tiles[t].m, row->cols, tiles[t].m,
                                      row->cols};

        if (row->layout != layout || strcmp(row->type, type->name) != 0)
            continue;
        print_row(layout, type, t, "sm_90", &row->times, &extent, row->least_m,
                  row->most_m, &h200_memory, 1, 0, 0, 0, row->shared);
        any = true;
    }
    return any;
}

static void print_nvidia(int layout, int type, int t,
                         const struct processor *processor)
{
    const bool is_h200 = strcmp(processor->name, "sm_90") == 0;
    const struct type *p = &types[type];
    const bool half = type < 2, few = tiles[t].m == 8, async = half && !few;
    const int n = few && half && layout == 1 ? 16 : tiles[t].n;
    const int m = async && t == 0 ? 256 : tiles[t].m;
    const bool limbs = is_h200 && strcmp(p->name, "f32") == 0 && !few;
    const struct times *times = limbs                ? &limb_times[t]
                                : layout == 0 && few ? &p->nvidia_nn_m8
                                                     : &p->nvidia[t];
    const int shared = few     ? 0
                       : limbs ? KPK_LIMB_LDS(m)
                               : (async ? processor->steps : 2) * 128 * (m + n);
    const struct extent extent = {m, n, m, n};

    if (is_h200 && async) {
        print_warpgroup_rows(layout, p, t);
        return;
    }
    if (is_h200 && few && print_copied_rows(layout, p, t))
        return;
    print_row(layout, p, t, processor->name, times, &extent,
              least_m_of(layout, t), tiles[t].most_m,
              is_h200 && (half || !few) ? &h200_memory : &any_memory, async, 0,
              0, 0, shared);
    if (is_h200 && half)
        print_warpgroup_rows(layout, p, t);
}

static void print_amd(int layout, int type, int t, int i)
{
    const struct type *p = &types[type];
    const bool joins = type < 2 && t == 0;
    const int down = joins ? amd[i].down : 1,
              across = joins ? amd[i].across : 1;
    const int m = tiles[t].m, n = tiles[t].n;
    const struct extent extent = {m, n, m * down, n * across};
    struct times times = p->amd[t];

    if (down > 1)
        times.room = amd[i].room;
    times.step *= down * across;
    times.alone *= down * across;
    print_row(layout, p, t, amd[i].target, &times, &extent,
              least_m_of(layout, t), tiles[t].most_m, &any_memory, 0, 0, 0, 0,
              0);
}

int main(void)
{
    puts("kernel,target,layout,type,block_x,grid_x_counts,grid_x_each,"
         "grid_x_loops,grid_y_counts,grid_y_each,grid_y_loops,shared_nbytes,"
         "tile_m,tile_n,cost_m,cost_n,least_m,most_m,room,step_ns,alone_ns,"
         "start_ns,join_ns,rate,least_ns,resident,cluster,share_ns,shared_step_"
         "ns,"
         "aligned");
    for (int layout = 0; layout < 4; layout++)
        for (int type = 0; type < NUM_TYPES; type++)
            for (int t = 0; t < NUM_TILES; t++) {
                if (tiles[t].m == 8 && layout >= 2)
                    continue;
                for (int i = 0; i < NUM_PROCESSORS; i++)
                    if (processors[i].number >= 80)
                        print_nvidia(layout, type, t, &processors[i]);
                for (int i = 0; i < NUM_AMD; i++)
                    if (amd[i].down > 1 || !*amd[i].target)
                        print_amd(layout, type, t, i);
            }
    puts("gemm_join_*,,-,-,256,results,1024,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0,0,0,0,0,0");
    puts("gemm_align_*,,-,-,256,elements,8192,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0,0,0,0,0,0");
    return 0;
}
