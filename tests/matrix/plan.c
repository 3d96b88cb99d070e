/* plan.c - gemm_plan.h's choices, and their launches on every device */
#include "kpack/candle/gemm_plan.h"

#include "../../kernels/include/nvidia/gemm/wgmma_shapes.h"
#include "../../src/base/target_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kpk_module kpk_module_gemm;

static unsigned passed, failed;

static void check(bool holds, const char *what, const kpk_gemm_product *p,
                  const char *target)
{
    if (holds) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL %s: %s, product of %u x %u x %u, batch %u, type %d\n", target,
           what, p->m, p->n, p->k, p->batch, (int)p->type);
}

static const struct {
    const char *target;
    uint32_t units;
} cards[] = {{"gfx942:sramecc+:xnack-", 304},
             {"gfx950", 256},
             {"gfx90a", 110},
             {"gfx1100", 48},
             {"gfx1201", 32},
             {"sm_90", 132}};

static const char *const type_names[] = {"f16", "bf16", "f32", "f64"};

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static kpk_gemm_plan choose(const kpk_gemm_product *p, size_t card,
                            uint64_t workspace)
{
    kpk_gemm_plan plan = {.splits = 0};

    memset(&plan, 0, sizeof(plan));
    check(kpk_gemm_choose_for(&kpk_module_gemm, cards[card].target,
                              cards[card].units, p, workspace, &plan) == KPK_OK,
          "a plan", p, cards[card].target);
    return plan;
}

static uint64_t up_to_16(uint64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Where the copies of f16 or bf16 end. */
static uint64_t copies_end(const kpk_gemm_product *p, const kpk_gemm_plan *plan)
{
    const uint64_t rows_a = p->trans_a ? p->k : p->m;
    const uint64_t rows_b = p->trans_b ? p->n : p->k;
    const uint64_t row_a = up_to_16(2 * (uint64_t)(p->trans_a ? p->m : p->k));
    const uint64_t row_b = up_to_16(2 * (uint64_t)(p->trans_b ? p->k : p->n));

    return plan->aligned_b ? plan->aligned_b + row_b * rows_b * p->batch
                           : plan->aligned_a + row_a * rows_a * p->batch;
}

/* Whether copies are small, or beside the operands: few rows read the operands
 * too few times for more. */
static bool copies_little(const kpk_gemm_product *p, const kpk_gemm_plan *plan)
{
    const double copied =
        (double)(copies_end(p, plan) -
                 (plan->aligned_a ? plan->aligned_a : plan->aligned_b));
    const double operands = 2.0 * p->batch * p->k * ((double)p->m + p->n);

    return copied <= 1 << 20 || copied * 4 <= operands;
}

/* Tiles of f16 and bf16 kernels on sm_90, told by the launch's shared memory.
 */
static const struct tile {
    uint32_t kernel, shared_nbytes, m, n, room;
    bool pairs; /* two blocks of a cluster make a tile each */
} warpgroup_tiles[] = {
#define TILE(kernel, m, n, tile, rows, cols, deep, stages, more, along)        \
    {kernel,                                                                   \
     KPK_TILE_LDS(tile, rows, cols, deep, stages, more),                       \
     m,                                                                        \
     n,                                                                        \
     KPK_ROOM along,                                                           \
     false},
#define TILE_128(tile, rows, cols, deep, stages, more, shares, b, along, ...)  \
    TILE(128, rows, cols, tile, rows, cols, deep, stages, more, along)
#define TILE_64(tile, rows, cols, deep, stages, more, shares, b, along, ...)   \
    TILE(64, rows, cols, tile, rows, cols, deep, stages, more, along)
#define TILE_8(tile, rows, cols, deep, stages, more, shares, b, along, ...)    \
    TILE(8, cols, rows, tile, rows, cols, deep, stages, more, along)
#define PAIRS(tile, rows, cols, deep, stages, more, ...)                       \
    {128, KPK_PAIRS_LDS(tile, rows, cols, deep, stages, more), rows, cols, 1,  \
     true},
    KPK_GEMM_TILES_128(TILE_128) KPK_GEMM_TILES_128(PAIRS)
        KPK_GEMM_TILES_64(TILE_64) KPK_GEMM_TILES_8(TILE_8)
    /* operands that are not aligned, and few rows of any */
    {64, KPK_RAGGED_LDS(64, 0), 64, 64, 2, false},
    {8, KPK_RAGGED_LDS(128, 0), 128, 64, 2, false},
    {8, KPK_RAGGED_LDS(64, KPK_RAGGED_MORE), 64, 64, 2, false},
    {8, 0, 8, 64, 2, false}};

static const struct tile *tile_of(uint32_t kernel, uint32_t shared_nbytes)
{
    for (size_t i = 0; i < sizeof(warpgroup_tiles) / sizeof(*warpgroup_tiles);
         i++)
        if (warpgroup_tiles[i].kernel == kernel &&
            warpgroup_tiles[i].shared_nbytes == shared_nbytes)
            return &warpgroup_tiles[i];
    return NULL;
}

/* The tiles for few rows of f32 and f64 there, which come by copies. */
static const struct tile *copied_tile(const kpk_gemm_product *p,
                                      uint32_t shared_nbytes)
{
    static const struct tile tile = {8, KPK_COPIED_LDS, 8, 16, 1, false};

    return p->type >= KPK_GEMM_F32 && shared_nbytes == tile.shared_nbytes
               ? &tile
               : NULL;
}

/* Checks a plan whose blocks share tiles: each cluster has one tile or a pair,
 * and all clusters run at once. */
static void check_clusters(const kpk_gemm_product *p, const kpk_gemm_plan *plan,
                           const struct tile *tile, uint32_t units)
{
    const uint32_t *grid = plan->shape.grid;
    const uint64_t sums_end = plan->align[0] ? copies_end(p, plan) : 0;

    check(tile && plan->cluster >= 2 && plan->cluster <= 8 &&
              (!tile->pairs || plan->cluster == 2),
          "clusters of tiles that can be shared", p, "sm_90");
    check(grid[0] && grid[0] % plan->cluster == 0 && grid[1] == 1 &&
              grid[2] == 1,
          "whole clusters along x", p, "sm_90");
    check(tile && grid[0] <= tile->room * units, "clusters that run at once", p,
          "sm_90");
    check(plan->splits == 1 && plan->join[0] == '\0' &&
              plan->workspace_nbytes == sums_end,
          "clusters need no join", p, "sm_90");
}

/* Checks for every plan. */
static void check_plan(const kpk_gemm_product *p, size_t card,
                       uint64_t workspace)
{
    const kpk_gemm_plan plan = choose(p, card, workspace);
    const char *target = cards[card].target;
    const uint32_t tile = ends_with(plan.kernel, "_m128")  ? 128
                          : ends_with(plan.kernel, "_m64") ? 64
                                                           : 8;
    const bool nvidia = strcmp(target, "sm_90") == 0;
    const bool small = p->type == KPK_GEMM_F16 || p->type == KPK_GEMM_BF16;
    const struct tile *const known =
        !nvidia     ? NULL
        : small     ? tile_of(tile, plan.shape.shared_nbytes)
        : tile == 8 ? copied_tile(p, plan.shape.shared_nbytes)
                    : NULL;
    const bool resident = known;
    const uint32_t tile_m = known ? known->m : tile;
    const bool narrow = known && tile == 8 && !plan.shape.shared_nbytes;
    const uint32_t tile_n = narrow && p->trans_b ? 16
                            : known              ? known->n
                            : tile != 8          ? tile
                                                 : 64;
    const uint64_t z = (uint64_t)p->batch * plan.splits;
    const uint64_t grid[3] = {p->m ? (p->m - 1) / tile_m + 1 : 1,
                              p->n && tile_n ? (p->n - 1) / tile_n + 1 : 1,
                              z > 65535 ? 65535
                              : z       ? z
                                        : 1};
    /* as many as run at once, or fewer */
    const uint64_t most =
        (uint64_t)(known ? known->room : 1) * cards[card].units;
    const bool limited = resident && grid[0] * grid[1] * grid[2] > most;
    const uint64_t sum = p->type == KPK_GEMM_F64 ? 8 : 4;
    const uint64_t sums =
        plan.splits > 1 ? (uint64_t)plan.splits * p->batch * p->m * p->n * sum
                        : 0;
    char prefix[24];

    snprintf(prefix, sizeof(prefix), "gemm_%c%c_%s_", p->trans_a ? 't' : 'n',
             p->trans_b ? 't' : 'n', type_names[p->type]);
    check(strncmp(plan.kernel, prefix, strlen(prefix)) == 0,
          "the kernel of layout and type", p, target);
    check(plan.shape.block[0] == (tile == 64 ? 128 : 256), "block", p, target);
    check(!known || !known->pairs || (plan.cluster == 2 && !p->trans_a),
          "pairs in clusters of two", p, target);
    if (plan.cluster) {
        check_clusters(p, &plan, known, cards[card].units);
        return;
    }
    check(plan.shape.grid[0] == (limited ? most : grid[0]), "grid x", p,
          target);
    check(plan.shape.grid[1] == (limited ? 1 : grid[1]), "grid y", p, target);
    check(plan.shape.grid[2] == (limited ? 1 : grid[2]), "grid z", p, target);
    check(plan.splits >= 1 && (plan.splits == 1) == (plan.join[0] == '\0'),
          "join where there are splits", p, target);
    check(plan.align[0] ? resident && (p->m > 16 || copies_little(p, &plan)) &&
                              plan.workspace_nbytes == copies_end(p, &plan)
                        : plan.workspace_nbytes == sums,
          "workspace of the splits and copies", p, target);
    check(!plan.align[0] || plan.aligned_a > sums || plan.aligned_b > sums,
          "copies behind the sums", p, target);
    check((plan.align[0] == '\0') == (!plan.aligned_a && !plan.aligned_b),
          "copies where there is a kernel for them", p, target);
    check(plan.workspace_nbytes <= workspace, "no more workspace than there is",
          p, target);
    check((plan.shape.shared_nbytes != 0) ==
              (nvidia && (known ? known->shared_nbytes != 0 : tile != 8)),
          "dynamic shared memory on sm_90 alone", p, target);
    check(known || !nvidia || (small ? tile == 8 : tile != 8),
          "a tile that the kernel has", p, target);
}

/* A plan is a launch that HIP takes: below 2^32 threads in each dimension, and
 * at most 65535 blocks in y and z. Its workspace is a number of bytes, not the
 * UINT64_MAX that asks for the best plan. */
static void check_huge(void)
{
    static const uint32_t sizes[] = {9, 0x7fffffff, 0xffffffff};
    static const uint32_t depths[] = {64, 0xffffffff};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };

    for (size_t i = 0; i < 8 * N * N * N; i++) {
        const size_t card = i % (sizeof(cards) / sizeof(cards[0]));
        const kpk_gemm_product p = {(kpk_gemm_type)(i % 4),
                                    0,
                                    1,
                                    sizes[i / 8 % N],
                                    sizes[i / 8 / N % N],
                                    depths[i / 4 % 2],
                                    sizes[i / 8 / N / N]};
        const kpk_gemm_plan best = choose(&p, card, UINT64_MAX);
        const kpk_shape s = choose(&p, card, 0).shape;

        check(best.workspace_nbytes < UINT64_MAX, "a workspace to count", &p,
              cards[card].target);

        check((uint64_t)s.grid[0] * s.block[0] <= UINT32_MAX,
              "less than 2^32 threads", &p, cards[card].target);
        check(s.grid[0] && s.grid[1] && s.grid[2] && s.grid[1] <= 65535 &&
                  s.grid[2] <= 65535,
              "a grid within the limits", &p, cards[card].target);
    }
}

static void check_choices(void)
{
    static const uint32_t sizes[] = {0,  1,   7,   8,    9,    64,
                                     65, 200, 513, 4096, 14336};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };

    for (size_t card = 0; card < sizeof(cards) / sizeof(cards[0]); card++) {
        const kpk_gemm_product large = {KPK_GEMM_BF16, 0,    1, 8192,
                                        8192,          8192, 1};
        const kpk_gemm_product row = {KPK_GEMM_F16, 0, 0, 1, 4096, 14336, 1};
        const kpk_gemm_product deep = {KPK_GEMM_F32, 1, 1, 64, 64, 65536, 1};
        const kpk_gemm_product many = {KPK_GEMM_F64, 0, 0, 3, 3, 3, 100000};

        for (int type = 0; type < 4; type++)
            for (unsigned layout = 0; layout < 4; layout++)
                for (size_t m = 0; m < N; m++)
                    for (size_t n = 0; n < N; n++) {
                        const kpk_gemm_product p = {(kpk_gemm_type)type,
                                                    layout & 1,
                                                    layout >> 1,
                                                    sizes[m],
                                                    sizes[n],
                                                    sizes[(m + n) % N],
                                                    1 + (uint32_t)(n % 3)};

                        check_plan(&p, card, UINT64_MAX);
                        check_plan(&p, card, 100000);
                        check_plan(&p, card, 0);
                    }
        check_plan(&many, card, UINT64_MAX);
        check(ends_with(choose(&large, card, UINT64_MAX).kernel, "_m128"),
              "large tiles for a large product", &large, cards[card].target);
        check(choose(&large, card, UINT64_MAX).splits == 1,
              "no splits for a large product", &large, cards[card].target);
        /* tiles of 64 shared in clusters may be faster */
        check(ends_with(choose(&row, card, UINT64_MAX).kernel, "_m8") ||
                  choose(&row, card, UINT64_MAX).cluster > 1,
              "few rows for one", &row, cards[card].target);
        check(choose(&deep, card, UINT64_MAX).splits > 4,
              "splits for few tiles", &deep, cards[card].target);
    }
}

/* The target to report instead of the pack's own; or NULL. */
static const char *held;

kpk_status __real_kpk_select(const kpk_module *module, const char *target,
                             kpk_selection *out);
kpk_status __wrap_kpk_select(const kpk_module *module, const char *target,
                             kpk_selection *out);
kpk_status __wrap_kpk_select(const kpk_module *module, const char *target,
                             kpk_selection *out)
{
    if (!held)
        return __real_kpk_select(module, target, out);
    *out = (kpk_selection){.target = held};
    return KPK_OK;
}

/* On NVIDIA's, PTX and older cubins have the tiles of what they were compiled
 * for, if the device has the shared memory. */
static void check_code(void)
{
    static const struct {
        const char *device, *held;
        uint32_t m128, m64; /* shared memory of a tile's steps */
    } cases[] = {
        {"sm_90", "sm_90", 217088, 0},
        {"sm_90", "sm_90a", 217088, 0},
        {"sm_90", "compute_90a", 217088, 0},
        {"sm_90", "compute_90", 4 * 49152, 4 * 16384},
        {"sm_90", "compute_80", 3 * 49152, 3 * 16384},
        {"sm_90", "compute_86", 2 * 49152, 2 * 16384},
        {"sm_100", "compute_90", 4 * 49152, 4 * 16384},
        {"sm_100", "sm_100f", 4 * 49152, 4 * 16384},
        {"sm_87", "sm_80", 3 * 49152, 3 * 16384},
        {"sm_86", "sm_80", 2 * 49152, 2 * 16384}, /* three do not fit */
        {"sm_120", "compute_80", 2 * 49152, 2 * 16384},
        {"sm_130", "compute_120", 2 * 49152, 2 * 16384}, /* without rows */
        {"sm_90", "compute_75", 0, 0}, /* as AMD's: no tiles of steps */
        {"gfx942", "gfx9-4-generic", 0, 0},
    };
    const kpk_gemm_product large = {KPK_GEMM_BF16, 0, 1, 4096, 4096, 4096, 1};
    const kpk_gemm_product small = {KPK_GEMM_BF16, 0, 1, 100, 200, 4096, 1};
    kpk_gemm_plan plan = {.splits = 0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char what[64];

        held = cases[i].held;
        snprintf(what, sizeof(what), "tiles of %s", held);
        check(kpk_gemm_choose_for(&kpk_module_gemm, cases[i].device, 132,
                                  &large, 0, &plan) == KPK_OK &&
                  plan.shape.shared_nbytes == cases[i].m128,
              what, &large, cases[i].device);
        if (cases[i].m64)
            check(kpk_gemm_choose_for(&kpk_module_gemm, cases[i].device, 132,
                                      &small, 0, &plan) == KPK_OK &&
                      plan.shape.shared_nbytes == cases[i].m64,
                  what, &small, cases[i].device);
    }
    held = NULL;
}

/* Blocks of sm_90 make pairs of tiles, where there are units for two. */
static void check_pairs(void)
{
    const kpk_gemm_product p = {KPK_GEMM_BF16, 0, 1, 200, 8192, 8192, 1};
    kpk_gemm_plan plan = {.splits = 0};
    const struct tile *tile;

    held = "sm_90";
    check(kpk_gemm_choose_for(&kpk_module_gemm, "sm_90", 132, &p, 0, &plan) ==
              KPK_OK,
          "a plan", &p, held);
    tile = tile_of(128, plan.shape.shared_nbytes);
    check(tile && tile->pairs && plan.cluster == 2, "pairs", &p, held);
    for (uint32_t units = 0; units < 4; units++)
        check(kpk_gemm_choose_for(&kpk_module_gemm, "sm_90", units, &p, 0,
                                  &plan) == KPK_OK &&
                  plan.shape.grid[0] > 0,
              "blocks for few units", &p, held);
    held = NULL;
}

/* f16 of a whole number of 11 bits, and back. */
static uint16_t half_of(int v)
{
    unsigned mantissa = (unsigned)abs(v), exponent = 25;

    if (v == 0)
        return 0;
    for (; mantissa < 1024; exponent--)
        mantissa *= 2;
    for (; mantissa >= 2048; exponent++)
        mantissa /= 2;
    return (uint16_t)((v < 0 ? 0x8000u : 0) | exponent << 10 |
                      (mantissa & 1023));
}

static float of_half(uint16_t half)
{
    const float v =
        ldexpf((float)((half & 1023) | 1024), (int)(half >> 10 & 31) - 25);

    return (half & 0x7fff) == 0 ? 0 : half & 0x8000 ? -v : v;
}

/* Numbers as the type has them, in place: f16 or f32. */
static void *to_type(kpk_gemm_type type, float *v, size_t n)
{
    for (size_t i = 0; i < n && type == KPK_GEMM_F16; i++) {
        const uint16_t half = half_of((int)v[i]);

        memcpy((char *)v + 2 * i, &half, 2);
    }
    return v;
}

static float get(kpk_gemm_type type, const float *v, size_t i)
{
    uint16_t half;

    if (type != KPK_GEMM_F16)
        return v[i];
    memcpy(&half, (const char *)v + 2 * i, 2);
    return of_half(half);
}

/* f16 with few tiles and a large K: on sm_90 blocks share tiles. */
static bool is_shared(const kpk_gemm_product *p)
{
    return p->type == KPK_GEMM_F16 && p->k > 1000;
}

/* A product of whole numbers, which every type sums exactly. sums: C is of f32,
 * with results that f16 has not. */
static void launch_to(kpk_instance *inst, const char *target,
                      const kpk_gemm_product *p, uint64_t most, bool sums)
{
    const kpk_gemm_type type_c = sums ? KPK_GEMM_F32 : p->type;
    const int scale = sums ? 10 : 1;
    const size_t na = (size_t)p->m * p->k, nb = (size_t)p->k * p->n;
    const size_t nc = (size_t)p->m * p->n;
    float *a = calloc(na, 4), *b = calloc(nb, 4), *c = calloc(nc, 4);
    kpk_gemm_operands o = {.lda = p->trans_a ? p->m : p->k,
                           .ldb = p->trans_b ? p->k : p->n,
                           .ldc = p->n,
                           .alpha = 2,
                           .beta = 0};
    void *da = NULL, *db = NULL, *dc = NULL, *workspace = NULL;
    kpk_gemm_plan plan = {.splits = 0};
    bool right = true;

    for (size_t i = 0; i < na; i++)
        a[i] = (float)(((int)(i * 7 % 11) - 5) * scale);
    for (size_t i = 0; i < nb; i++)
        b[i] = (float)(((int)(i * 5 % 13) - 6) * scale);
    check((sums ? kpk_gemm_choose_sums : kpk_gemm_choose)(
              inst, &kpk_module_gemm, p, most, &plan) == KPK_OK &&
              kpk_malloc(inst, na * 4, &da) == KPK_OK &&
              kpk_malloc(inst, nb * 4, &db) == KPK_OK &&
              kpk_malloc(inst, nc * 4, &dc) == KPK_OK &&
              kpk_malloc(inst, plan.workspace_nbytes, &workspace) == KPK_OK &&
              kpk_copy_to(inst, da, to_type(p->type, a, na), na * 4) ==
                  KPK_OK &&
              kpk_copy_to(inst, db, to_type(p->type, b, nb), nb * 4) == KPK_OK,
          "memory", p, target);
    o.a = da, o.b = db, o.c = dc;
    check(kpk_gemm_launch(inst, p, &plan, &o, workspace, NULL) == KPK_OK &&
              kpk_copy_from(inst, c, dc, nc * 4) == KPK_OK,
          kpk_error_message(), p, target);
    for (uint32_t r = 0; r < p->m; r++)
        for (uint32_t s = 0; s < p->n; s++) {
            float sum = 0;

            for (uint32_t k = 0; k < p->k; k++)
                sum += get(p->type, a,
                           p->trans_a ? (size_t)k * p->m + r
                                      : (size_t)r * p->k + k) *
                       get(p->type, b,
                           p->trans_b ? (size_t)s * p->k + k
                                      : (size_t)k * p->n + s);
            right = right && get(type_c, c, (size_t)r * p->n + s) == 2 * sum;
        }
    check(right, "the product", p, target);
    if (p->type == KPK_GEMM_F32) {
        /* a block of sm_90 for few rows shares K among its warps instead */
        const bool alone = p->m <= 8 && strcmp(target, "sm_90") == 0;

        check(most > 0 && !alone ? plan.splits > 1 : plan.splits == 1, "splits",
              p, target);
    }
    if (sums)
        check(plan.splits > 1 && strcmp(plan.join, "gemm_join_f32") == 0,
              "a join of sums", p, target);
    else if (is_shared(p))
        check(strcmp(target, "sm_90") != 0 || plan.cluster > 1, "clusters", p,
              target);
    if (plan.workspace_nbytes)
        check(kpk_gemm_launch(inst, p, &plan, &o, NULL, NULL) == KPK_ERR_ARG,
              "no workspace is refused", p, target);
    o.ldb--;
    check(kpk_gemm_launch(inst, p, &plan, &o, workspace, NULL) == KPK_ERR_ARG,
          "a short leading dimension is refused", p, target);
    kpk_free(inst, da);
    kpk_free(inst, db);
    kpk_free(inst, dc);
    kpk_free(inst, workspace);
    free(a);
    free(b);
    free(c);
}

static void launch(kpk_instance *inst, const char *target,
                   const kpk_gemm_product *p, uint64_t most)
{
    launch_to(inst, target, p, most, false);
}

/* Processors with a matrix unit choose alike, and so do those without one. 20
 * rows are cheaper in tiles of 8 where no unit computes 64 rows at once. */
static void check_units(void)
{
#define UNIT(name, mach, major, minor, step, generic, sramecc, xnack, wave,    \
             dot4, mfma, wmma, ...)                                            \
    {#name, mfma || wmma},
    static const struct {
        const char *name;
        bool has_unit;
    } processors[] = {KPK_PROCESSOR_TABLE(UNIT)};
    const kpk_gemm_product p = {KPK_GEMM_F32, 0, 0, 20, 1280, 4096, 1};

    for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
        kpk_gemm_plan plan;

        memset(&plan, 0, sizeof(plan));
        check(kpk_gemm_choose_for(&kpk_module_gemm, processors[i].name, 40, &p,
                                  0, &plan) == KPK_OK,
              "a plan", &p, processors[i].name);
        check(strcmp(plan.kernel, processors[i].has_unit
                                      ? "gemm_nn_f32_m64"
                                      : "gemm_nn_f32_m8") == 0,
              "a tile for its unit", &p, processors[i].name);
    }
#undef UNIT
}

int main(void)
{
    const kpk_module *module = &kpk_module_gemm;
    const kpk_gemm_product few = {KPK_GEMM_F32, 0, 0, 5, 70, 2000, 1};
    const kpk_gemm_product tiles = {KPK_GEMM_F32, 1, 1, 40, 70, 2000, 1};
    /* rows that are not aligned to 16 bytes, and none of either operand */
    const kpk_gemm_product odd[] = {{KPK_GEMM_F16, 0, 1, 70, 45, 37, 1},
                                    {KPK_GEMM_F16, 1, 0, 70, 48, 37, 1},
                                    {KPK_GEMM_F16, 0, 0, 72, 43, 40, 1}};
    /* with results below 1024, of which f16 has all */
    const kpk_gemm_product shared[] = {{KPK_GEMM_F16, 0, 1, 70, 45, 1040, 1},
                                       {KPK_GEMM_F16, 0, 0, 20, 72, 1040, 1},
                                       {KPK_GEMM_F16, 1, 1, 40, 64, 1040, 1},
                                       {KPK_GEMM_F16, 0, 0, 5, 70, 1041, 1},
                                       {KPK_GEMM_F16, 0, 0, 12, 45, 1041, 1}};
    kpk_gemm_product wrong = few;
    kpk_gemm_plan plan = {.splits = 0};
    int ndevices = 0;

    check_choices();
    check_huge();
    check_units();
    check_code();
    check_pairs();
    wrong.type = (kpk_gemm_type)4;
    check(kpk_gemm_choose_for(module, NULL, 1, &wrong, 0, &plan) == KPK_ERR_ARG,
          "no fifth type", &wrong, "any");
    check(kpk_gemm_choose_for(NULL, NULL, 1, &few, 0, &plan) == KPK_ERR_ARG,
          "no module", &few, "any");
    kpk_device_count(&ndevices);
    for (int i = 0; i < ndevices; i++) {
        kpk_instance *inst = NULL;

        if (kpk_open_modules(&module, 1, i, &inst) != KPK_OK) {
            check(false, kpk_error_message(), &few, "device");
            continue;
        }
        launch(inst, kpk_instance_device(inst)->target, &few, UINT64_MAX);
        launch(inst, kpk_instance_device(inst)->target, &few, 0);
        launch(inst, kpk_instance_device(inst)->target, &tiles, UINT64_MAX);
        for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
            launch(inst, kpk_instance_device(inst)->target, &odd[k],
                   UINT64_MAX);
            launch(inst, kpk_instance_device(inst)->target, &odd[k], 0);
        }
        for (size_t k = 0; k < sizeof(shared) / sizeof(shared[0]); k++)
            launch(inst, kpk_instance_device(inst)->target, &shared[k], 0);
        launch_to(inst, kpk_instance_device(inst)->target, &shared[0],
                  UINT64_MAX, true);
        launch_to(inst, kpk_instance_device(inst)->target, &shared[3],
                  UINT64_MAX, true);
        kpk_close(inst);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !ndevices;
}
