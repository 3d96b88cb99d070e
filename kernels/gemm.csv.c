/*
 * gemm.csv.c - prints gemm.csv: the launch shapes of gemm.hip, and what
 * host/gemm_plan.c chooses by
 *
 * x counts rows of C, y columns; grid.z is batch times splits. A block of
 * gemm_join_* takes 1024 results of a matrix, one of gemm_align_* 8192
 * elements. On NVIDIA's the steps lie in dynamic shared memory: two of f32 and
 * f64, of f16 and bf16 as many as nvidia/async_tile.h has. There the larger
 * tiles of f16 and bf16 have 256 rows, those of few rows along K 16 columns,
 * and the tiles of async_tile.h come one after another in a block, so that no
 * more blocks are wanted than run at once.
 *
 * The times were fitted on one H200; of other cards only their proportions are
 * meant.
 */
#include <stdio.h>

struct tile {
    const char *name;
    int block, m, n, most_m;
};
static const struct tile tiles[] = {
    {"m128", 256, 128, 128, 2147483647},
    {"m64", 128, 64, 64, 2147483647},
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
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 64, 75, 2500}},
     {2, 260, 250, 2500}},
    {"bf16",
     {{2, 615, 615, 3000}, {4, 200, 450, 2000}, {2, 120, 100, 1500}},
     {{1, 1100, 1100, 2500}, {2, 250, 330, 2500}, {3, 64, 75, 2500}},
     {2, 260, 250, 2500}},
    {"f32",
     {{2, 2760, 2760, 3000}, {4, 750, 1200, 2000}, {2, 160, 130, 1500}},
     {{1, 3650, 3650, 3000}, {3, 1220, 1500, 2500}, {1, 330, 330, 2500}},
     {2, 300, 400, 2500}},
    {"f64",
     {{1, 1500, 1500, 3000}, {4, 500, 800, 2000}, {2, 160, 130, 1500}},
     {{1, 1790, 1790, 3000}, {3, 515, 700, 2500}, {1, 330, 330, 2500}},
     {2, 320, 430, 2500}},
};
/* clang-format on */
enum { NUM_TYPES = sizeof(types) / sizeof(types[0]), JOIN_NS = 2500 };

/* NVIDIA's processors with the steps that fit their shared memory. */
static const struct {
    int sm, steps;
} processors[] = {
    {80, 3},  {86, 2},  {87, 3},  {88, 2},  {89, 2},  {90, 4},
    {100, 4}, {103, 4}, {110, 4}, {120, 2}, {121, 2},
};
enum { NUM_PROCESSORS = sizeof(processors) / sizeof(processors[0]) };

/* AMD's whose larger tiles of f16 and bf16 are made of several: GemmShape in
 * include/matrix/gemm.h. The last one stands for all others. */
static const struct {
    const char *target;
    int down, across, room;
} amd[] = {{"gfx942", 2, 1, 2}, {"gfx950", 2, 2, 1}, {"", 1, 1, 2}};
enum { NUM_AMD = sizeof(amd) / sizeof(amd[0]) };

static const char *const layouts[] = {"nn", "nt", "tn", "tt"};

/* each_m, each_n: of a block's place in the grid; m, n: of what it computes */
struct extent {
    int each_m, each_n, m, n;
};

static void print_row(int layout, const struct type *type, int t,
                      const char *target, const struct times *times,
                      const struct extent *extent, int resident, int shared)
{
    const struct tile *tile = &tiles[t];

    printf("gemm_%s_%s_%s,%s,%s,%s,", layouts[layout], type->name, tile->name,
           target, layouts[layout], type->name);
    printf("%d,rows,%d,1,columns,%d,1,%d,", tile->block, extent->each_m,
           extent->each_n, shared);
    /* where there is a kernel for few rows, it is for them */
    printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n", tile->m, tile->n,
           extent->m, extent->n, tile->m > 8 && layout < 2 ? 9 : 0,
           tile->most_m, times->room, times->step, times->alone, times->start,
           JOIN_NS, resident, resident ? 16 : 0);
}

int main(void)
{
    puts("kernel,target,layout,type,block_x,grid_x_counts,grid_x_each,"
         "grid_x_loops,grid_y_counts,grid_y_each,grid_y_loops,shared_nbytes,"
         "tile_m,tile_n,cost_m,cost_n,least_m,most_m,room,step_ns,alone_ns,"
         "start_ns,join_ns,resident,aligned");
    for (int layout = 0; layout < 4; layout++)
        for (int type = 0; type < NUM_TYPES; type++)
            for (int t = 0; t < NUM_TILES; t++) {
                const struct type *p = &types[type];
                const int async = type < 2 && t < 2;

                if (tiles[t].m == 8 && layout >= 2)
                    continue;
                for (int i = 0; i < NUM_PROCESSORS; i++) {
                    const int few = tiles[t].m == 8;
                    const int m = async && t == 0 ? 256 : tiles[t].m;
                    const int n =
                        few && type < 2 && layout == 1 ? 16 : tiles[t].n;
                    const struct extent extent = {m, n, m, n};
                    const struct times *times =
                        layout == 0 && few ? &p->nvidia_nn_m8 : &p->nvidia[t];
                    char target[16];

                    snprintf(target, sizeof(target), "sm_%d", processors[i].sm);
                    print_row(layout, p, t, target, times, &extent, async,
                              few ? 0
                                  : (async ? processors[i].steps : 2) * 128 *
                                        (m + n));
                }
                for (int i = 0; i < NUM_AMD; i++) {
                    const int down = async && t == 0 ? amd[i].down : 1;
                    const int across = async && t == 0 ? amd[i].across : 1;
                    const int m = tiles[t].m, n = tiles[t].n;
                    const struct extent extent = {m, n, m * down, n * across};
                    struct times times = p->amd[t];

                    if (down > 1)
                        times.room = amd[i].room;
                    times.step *= down * across;
                    times.alone *= down * across;
                    print_row(layout, p, t, amd[i].target, &times, &extent, 0,
                              0);
                }
            }
    puts("gemm_join_*,,-,-,256,results,1024,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0");
    puts("gemm_align_*,,-,-,256,elements,8192,1,none,0,0,0,0,0,0,0,0,0,0,0,0,0,"
         "0,0,0");
    return 0;
}
