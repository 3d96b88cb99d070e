/*
 * gemm.csv.c - prints gemm.csv: the launch shapes of gemm.hip, and the numbers
 * by which host/gemm_plan.c chooses
 *
 * grid.x counts rows of C, grid.y columns; grid.z is batch times splits. A
 * block of gemm_join_* takes 1024 results of a matrix, a block of gemm_align_*
 * 8192 elements.
 *
 * On NVIDIA's GPUs the stages along K lie in dynamic shared memory: two for f32
 * and f64, for f16 and bf16 the number of nvidia/gemm/mma_tile.h. The larger
 * tiles of f16 and bf16 have 256 rows; tiles for few rows with B along K have
 * 16 columns. Blocks with tiles of mma_tile.h are persistent, so a grid has at
 * most the blocks that run at once. On sm_90 there are also:
 *
 *   f16 and bf16             tiles of nvidia/gemm/wgmma_shapes.h, selected by
 *                            the amount of shared memory; clusters of up to
 *                            `cluster` blocks may share a tile, or the `blocks`
 *                            of one make neighbouring tiles
 *   f32                      shared memory for limbs, nvidia/gemm/bf16x3_tile.h
 *   f32 and f64 of few rows  shared memory for nvidia/gemm/skinny_f32_f64.h
 *
 * The times were fitted on one H200; on other cards only their proportions
 * matter. Times of targets without a matrix unit are bounds on gfx1030, see
 * tests/bench/results/bounds.csv.
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
    struct times amd[NUM_TILES];
    struct times plain[NUM_TILES]; /* of targets without a matrix unit */
    struct times nvidia[NUM_TILES];
    struct times nvidia_nn_m8; /* of layout nn */
};
/* clang-format off */
static const struct type types[] = {
    {"f16",
     {{2, 615, 615, 3000}, {4, 200, 450, 2000}, {2, 120, 100, 1500}},
     {{2, 1950, 1950, 3000}, {4, 515, 600, 2000}, {2, 70, 300, 1500}},
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 69, 75, 3900}},
     {2, 275, 250, 5290}},
    {"bf16",
     {{2, 615, 615, 3000}, {4, 200, 450, 2000}, {2, 120, 100, 1500}},
     {{2, 4690, 4690, 3000}, {4, 1325, 1450, 2000}, {2, 155, 300, 1500}},
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 69, 75, 3900}},
     {2, 275, 250, 5290}},
    {"f32",
     {{2, 2760, 2760, 3000}, {4, 750, 1200, 2000}, {2, 160, 130, 1500}},
     {{2, 1940, 1940, 3000}, {4, 510, 600, 2000}, {2, 70, 300, 1500}},
     {{1, 3200, 3200, 3000}, {4, 1000, 1180, 2500}, {1, 330, 330, 2500}},
     {2, 300, 400, 2500}},
    {"f64",
     {{1, 1500, 1500, 3000}, {4, 500, 800, 2000}, {2, 160, 130, 1500}},
     {{2, 14680, 14680, 3000}, {4, 3700, 3700, 2000}, {2, 480, 480, 1500}},
     {{1, 1340, 1340, 3000}, {3, 305, 620, 2500}, {1, 330, 330, 2500}},
     {2, 320, 430, 2500}},
};
/* clang-format on */
enum { NUM_TYPES = sizeof(types) / sizeof(types[0]), JOIN_NS = 2500 };

/* f32 by limbs, nvidia/gemm/bf16x3_tile.h, on sm_90: tiles of 128 and of 64. */
static const struct times limb_times[] = {{1, 1410, 1410, 4500},
                                          {2, 500, 700, 3000}};

/* Kernels for few rows of f16 and bf16 with any alignment, of layouts nn and
 * nt, on sm_90: nvidia/gemm/skinny_f16.h. The blocks of a cluster share a tile.
 */
static const struct {
    struct times times;
    int shares, share;
} any_rows[] = {{{2, 190, 215, 4600}, 6, 1100}, {{2, 64, 64, 3700}, 4, 900}};

/* Tiles for unaligned operands on sm_90: nvidia/gemm/ragged_tile.h. */
static const struct ragged {
    int t, m, more; /* the kernel, rows of its tile, LDS for results */
    struct times times;
} ragged[] = {{1, 64, 0, {2, 600, 950, 4200}},
              {2, 128, 0, {2, 830, 1100, 4200}},
              {2, 64, KPK_RAGGED_MORE, {2, 600, 950, 4000}}};
enum { NUM_RAGGED = sizeof(ragged) / sizeof(ragged[0]) };

/* Few rows of f32 and f64 on sm_90, nvidia/gemm/skinny_f32_f64.h. Blocks are
 * persistent, so a grid has at most the blocks that run at once. */
static const struct times copied_times = {1, 70, 70, 2500};
enum { COPIED_COLS = 16 };
/* Columns join_ns, rate and least_ns of the table, see gemm_plan.c. */
struct memory {
    int join_ns, rate, least_ns;
};
static const struct memory any_memory = {JOIN_NS, 16, 0};
static const struct memory plain_memory = {JOIN_NS, 13, 2000};
static const struct memory h200_memory = {3000, 32, 4000};
static const struct memory warpgroup_memory = {9000, 32, 4075};

/* NVIDIA's processors, from sm_80 on, and how many stages of 48 KiB, those of
 * the largest tile, fit their shared memory. PTX for any GPU from sm_90 on has
 * no warpgroups, so its tiles differ from the cubin's. */
enum { STEP_KIB = 48 };
#define PROCESSOR(number, tegra, shared)                                       \
    {"sm_" #number, number, (shared) / STEP_KIB},
static const struct processor {
    const char *name;
    int number, steps;
} processors[] = {KPK_SM_TABLE(PROCESSOR){"compute_90", 90, 4}};
enum { NUM_PROCESSORS = sizeof(processors) / sizeof(processors[0]) };

/* Tiles of warpgroups, by kernel. If A lies along K, stages are copied by
 * tensor maps: nvidia/gemm/tensor_map_tile.h. */
struct cost {
    int least_m, most_m;
    struct times times;
    int share;       /* ns, for a shared tile */
    int shared_step; /* ns per step of a shared tile; 0: as of other tiles */
};
static const struct warpgroup_tile {
    int t, m, n, shared, shares, b;
    struct cost costs[2]; /* for an A contiguous along K, and for others */
    struct cost pairs;    /* for an A contiguous along K */
    int pairs_shared;
} warpgroup_tiles[] = {
#define COST(least, most, room, step, alone, start, share, shared_step)        \
    {                                                                          \
        least, most, {room, step, alone, start}, share, shared_step            \
    }
#define TILE(t, tile, m, n, rows, cols, deep, stages, more, shares, b, along,  \
             across, pairs)                                                    \
    {t,                                                                        \
     m,                                                                        \
     n,                                                                        \
     KPK_TILE_LDS(tile, rows, cols, deep, stages, more),                       \
     shares,                                                                   \
     b,                                                                        \
     {COST along, COST across},                                                \
     COST pairs,                                                               \
     KPK_PAIRS_LDS(tile, rows, cols, deep, stages, more)},
#define TILE_128(tile, rows, cols, deep, stages, more, shares, ...)            \
    TILE(0, tile, rows, cols, rows, cols, deep, stages, more, shares,          \
         __VA_ARGS__)
#define TILE_64(tile, rows, cols, deep, stages, more, shares, ...)             \
    TILE(1, tile, rows, cols, rows, cols, deep, stages, more, shares,          \
         __VA_ARGS__, KPK_NOT_MADE)
#define TILE_8(tile, rows, cols, deep, stages, more, shares, ...)              \
    TILE(2, tile, cols, rows, rows, cols, deep, stages, more, shares,          \
         __VA_ARGS__, KPK_NOT_MADE)
    KPK_GEMM_TILES_128(TILE_128) KPK_GEMM_TILES_64(TILE_64)
        KPK_GEMM_TILES_8(TILE_8)};
enum {
    NUM_WARPGROUP_TILES = sizeof(warpgroup_tiles) / sizeof(warpgroup_tiles[0])
};
/* The LDS sizes of a kernel's tiles encode their numbers and fit sm_90. */
#define CHECK(tile, rows, cols, deep, stages, more, ...)                       \
    _Static_assert(                                                            \
        KPK_TILE_OF_LDS(KPK_TILE_LDS(tile, rows, cols, deep, stages, more)) == \
                KPK_TILE_##tile &&                                             \
            KPK_PAIRS_LDS(tile, rows, cols, deep, stages, more) <=             \
                226 * 1024 &&                                                  \
            KPK_TILE_##tile < KPK_PAIRS - 1,                                   \
        #tile);
KPK_GEMM_TILES_128(CHECK)
KPK_GEMM_TILES_64(CHECK)
KPK_GEMM_TILES_8(CHECK)
#undef CHECK
/* Costs of 128x256x4 for an A that is not contiguous along K and has many rows:
 * this tile is faster there, alone or shared by two blocks. */
static const struct cost many_rows = {
    1025, INT_MAX, {1, 600, 600, 2440}, 2930, 0};

/* AMD's processors with a matrix unit that matrix_unit.h has a row for. Larger
 * tiles of f16 and bf16 are made of several on some: GemmShape in
 * include/matrix/gemm.h. The last row stands for all targets without a unit,
 * whose tiles take the longer the more rows they compute in vain. */
#define AMD(name, mach, major, minor, step, generic, sramecc, xnack, wave,     \
            dot4, mfma, wmma, ...)                                             \
    {#name, mfma >= 3 ? 2 : 1, mfma >= 4 ? 2 : 1, mfma >= 4 ? 1 : 2,           \
     !(mfma || wmma)},
static const struct amd {
    const char *target;
    int down, across, room;
    bool plain;
} amd[] = {KPK_PROCESSOR_TABLE(AMD){"", 1, 1, 2, true}};
enum { NUM_AMD = sizeof(amd) / sizeof(amd[0]) };

static bool are_alike(const struct amd *a, const struct amd *b)
{
    return a->down == b->down && a->across == b->across && a->room == b->room &&
           a->plain == b->plain;
}

/* The name of a row for processor i and all that are alike, or NULL if the row
 * of one before serves it, too: the longest "gfx11*" of processors alike. */
static const char *row_of_amd(int i, char name[16])
{
    for (size_t n = 4; n <= strlen(amd[i].target); n++) {
        bool alike = true;
        int first = i;

        for (int k = NUM_AMD - 1; k-- > 0;)
            if (strncmp(amd[k].target, amd[i].target, n) == 0) {
                alike &= are_alike(&amd[k], &amd[i]);
                first = k;
            }
        if (alike) {
            snprintf(name, 16, "%.*s*", (int)n, amd[i].target);
            return first == i ? name : NULL;
        }
    }
    return amd[i].target;
}

static const char *const layouts[] = {"nn", "nt", "tn", "tt"};

/* each_m, each_n: part of C per block of the grid; m, n: part of C per tile;
 * blocks: of the cluster that makes a tile, or 0 */
struct extent {
    int each_m, each_n, m, n, blocks;
};

static void print_row(int layout, const struct type *type, int t,
                      const char *target, const struct times *times,
                      const struct extent *extent, int least_m, int most_m,
                      const struct memory *memory, int resident, int cluster,
                      int share, int shared_step, int shared, int aligned)
{
    const struct tile *tile = &tiles[t];

    printf("gemm_%s_%s_%s,%s,%s,%s,", layouts[layout], type->name, tile->name,
           target, layouts[layout], type->name);
    printf("%d,rows,%d,1,columns,%d,1,%d,", tile->block, extent->each_m,
           extent->each_n, shared);
    printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n",
           tile->m, tile->n, extent->m, extent->n, least_m, most_m, times->room,
           times->step, times->alone, times->start, memory->join_ns,
           memory->rate, memory->least_ns, resident, cluster, share,
           shared_step, aligned, extent->blocks > 1 ? extent->blocks : 1);
}

/* If the layout has a kernel for up to 8 rows, larger tiles begin at 9 rows. */
static int least_m_of(int layout, int t)
{
    return tiles[t].m > 8 && layout < 2 ? 9 : 0;
}

static void print_warpgroup_row(int layout, const struct type *type,
                                const struct warpgroup_tile *tile,
                                const struct cost *cost)
{
    const struct extent extent = {tile->m, tile->n, tile->m, tile->n};

    print_row(layout, type, tile->t, "sm_90", &cost->times, &extent,
              cost->least_m, cost->most_m, &warpgroup_memory, 1, tile->shares,
              cost->share,
              cost->shared_step ? cost->shared_step : cost->times.step,
              tile->shared, 16);
}

static void print_pairs_row(int layout, const struct type *type,
                            const struct warpgroup_tile *tile)
{
    const struct cost *cost = &tile->pairs;
    const struct extent extent = {tile->m, tile->n, 2 * tile->m, tile->n, 2};

    print_row(layout, type, tile->t, "sm_90", &cost->times, &extent,
              cost->least_m, cost->most_m, &warpgroup_memory, 1, 0, 0, 0,
              tile->pairs_shared, 16);
}

static void print_warpgroup_rows(int layout, const struct type *type, int t)
{
    const bool a_along = layout < 2, b_along = layout % 2 == 1;

    for (int i = 0; i < NUM_WARPGROUP_TILES; i++) {
        const struct warpgroup_tile *tile = &warpgroup_tiles[i];
        const struct cost *cost = &tile->costs[!a_along];

        if (tile->t != t || cost->times.room == 0 ||
            (tile->b == KPK_B_ALONG && !b_along))
            continue;
        print_warpgroup_row(layout, type, tile, cost);
        if (!a_along && tile->m == 128 && tile->n == 256)
            print_warpgroup_row(layout, type, tile, &many_rows);
        if (a_along && tile->pairs.times.room)
            print_pairs_row(layout, type, tile);
    }
}

static void print_copied_row(int layout, const struct type *type, int t)
{
    const struct extent extent = {tiles[t].m, COPIED_COLS, tiles[t].m,
                                  COPIED_COLS};

    print_row(layout, type, t, "sm_90", &copied_times, &extent, 0,
              tiles[t].most_m, &h200_memory, 1, 0, 0, 0, KPK_COPIED_LDS, 0);
}

static void print_ragged_rows(int layout, const struct type *type, int t)
{
    for (int i = 0; i < NUM_RAGGED; i++) {
        const struct ragged *row = &ragged[i];
        const struct extent extent = {row->m, 64, row->m, 64};

        if (row->t == t)
            print_row(layout, type, t, "sm_90", &row->times, &extent, 0,
                      INT_MAX, &h200_memory, 1, 0, 0, 0,
                      KPK_RAGGED_LDS(row->m, row->more), 0);
    }
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
        print_ragged_rows(layout, p, t);
        return;
    }
    if (is_h200 && few && !half) {
        print_copied_row(layout, p, t);
        return;
    }
    if (is_h200 && half) {
        const struct extent all = {tiles[t].m, n, tiles[t].m, n};

        times = &any_rows[layout].times;
        print_row(layout, p, t, "sm_90", times, &all, 0, tiles[t].most_m,
                  &h200_memory, 1, any_rows[layout].shares,
                  any_rows[layout].share, times->step, 0, 0);
        print_warpgroup_rows(layout, p, t);
        print_ragged_rows(layout, p, t);
        return;
    }
    print_row(layout, p, t, processor->name, times, &extent,
              least_m_of(layout, t), tiles[t].most_m,
              is_h200 && !few ? &h200_memory : &any_memory, async, 0, 0, 0,
              shared, async ? 16 : 0);
}

static void print_amd(int layout, int type, int t, int i)
{
    char name[16];
    const char *target = row_of_amd(i, name);
    const struct type *p = &types[type];
    const bool joins = type < 2 && t == 0;
    const int down = joins ? amd[i].down : 1,
              across = joins ? amd[i].across : 1;
    const int m = tiles[t].m, n = tiles[t].n;
    const struct extent extent = {m, n, m * down, n * across};
    const bool plain = amd[i].plain;
    struct times times = plain ? p->plain[t] : p->amd[t];

    if (down > 1)
        times.room = amd[i].room;
    times.step *= down * across;
    times.alone *= down * across;
    if (target)
        print_row(layout, p, t, target, &times, &extent, least_m_of(layout, t),
                  plain && tiles[t].m == 8 ? 2 * tiles[t].most_m
                                           : tiles[t].most_m,
                  plain ? &plain_memory : &any_memory, 0, 0, 0, 0, 0, 0);
}

int main(void)
{
    puts("kernel,target,layout,type,block_x,grid_x_counts,grid_x_each,"
         "grid_x_loops,grid_y_counts,grid_y_each,grid_y_loops,shared_nbytes,"
         "tile_m,tile_n,cost_m,cost_n,least_m,most_m,room,step_ns,alone_ns,"
         "start_ns,join_ns,rate,least_ns,resident,cluster,share_ns,shared_step_"
         "ns,"
         "aligned,blocks");
    for (int layout = 0; layout < 4; layout++)
        for (int type = 0; type < NUM_TYPES; type++)
            for (int t = 0; t < NUM_TILES; t++) {
                if (tiles[t].m == 8 && layout >= 2)
                    continue;
                for (int i = 0; i < NUM_PROCESSORS; i++)
                    if (processors[i].number >= 80)
                        print_nvidia(layout, type, t, &processors[i]);
                for (int i = 0; i < NUM_AMD; i++)
                    if (!amd[i].plain || !*amd[i].target)
                        print_amd(layout, type, t, i);
            }
    puts("gemm_join_*,,-,-,256,results,1024,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0,0,0,0,0,0,0");
    puts("gemm_align_*,,-,-,256,elements,8192,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0,0,0,0,0,0,0");
    return 0;
}
