/* gemm_plan.c - which kernel of module gemm makes a product: see gemm_plan.h
 *
 * The table gemm has a row for each kernel, with its tile and the tile's costs:
 * for a step along K of 128 bytes, and for the work before and after all steps.
 * Times are from a card with about 130 compute units; only their proportions
 * matter.
 */
#include "gemm_plan.h"

#include <kpack/host_code.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STEP_NBYTES = 128, MOST_SPLITS = 32, MOST_GRID_YZ = 65535 };

static const struct {
    const char *name;
    uint32_t nbytes, sum_nbytes;
} types[] = {
    [KPK_GEMM_F16] = {"f16", 2, 4},
    [KPK_GEMM_BF16] = {"bf16", 2, 4},
    [KPK_GEMM_F32] = {"f32", 4, 4},
    [KPK_GEMM_F64] = {"f64", 8, 8},
};

/* Columns of the table, in the table's order. */
enum {
    LAYOUT,
    TYPE,
    BLOCK_X,
    GRID_X_EACH,
    GRID_Y_EACH,
    SHARED_NBYTES,
    TILE_M,
    TILE_N,
    LEAST_M,
    MOST_M,
    ROOM,
    STEP_NS,
    ALONE_NS,
    START_NS,
    JOIN_NS,
    RATE,
    LEAST_NS,
    RESIDENT,
    CLUSTER,
    SHARE_NS,
    SHARED_STEP_NS,
    ALIGNED,
    BLOCKS,
    NUM_COLUMNS
};
static const char *const column_names[] = {
    [LAYOUT] = "layout", /* "nt" */
    [TYPE] = "type",     /* "bf16" */
    /* the launch: a kernel may have several rows, which differ in shared
     * memory */
    [BLOCK_X] = "block_x",
    [GRID_X_EACH] = "grid_x_each",
    [GRID_Y_EACH] = "grid_y_each",
    [SHARED_NBYTES] = "shared_nbytes",
    [TILE_M] = "cost_m",   /* rows of C that a tile computes */
    [TILE_N] = "cost_n",   /* columns */
    [LEAST_M] = "least_m", /* the fewest rows of C for the kernel */
    [MOST_M] = "most_m",
    [ROOM] = "room",         /* tiles that a compute unit works on at once */
    [STEP_NS] = "step_ns",   /* a tile's step, in a full unit */
    [ALONE_NS] = "alone_ns", /* a step of a tile alone in its unit */
    [START_NS] = "start_ns", /* a tile's work outside of its steps */
    [JOIN_NS] = "join_ns",   /* the fixed time of joining splits */
    [RATE] = "rate", /* bytes of memory that a compute unit moves in a ns */
    [LEAST_NS] = "least_ns", /* a launch's time besides memory; 0: unknown */
    [RESIDENT] = "resident", /* 1: blocks are persistent */
    [CLUSTER] = "cluster",   /* most blocks that can share a tile */
    [SHARE_NS] = "share_ns", /* sharing a tile, besides steps */
    [SHARED_STEP_NS] = "shared_step_ns", /* a step in a cluster or split */
    [ALIGNED] = "aligned", /* bytes that rows of A and B should align to */
    [BLOCKS] = "blocks",   /* of the cluster that makes a tile; 1: no cluster */
};

struct choice {
    const kpk_module *module;
    size_t table;
    const kpk_gemm_product *product;
    uint64_t workspace_nbytes;
    uint32_t units;
    bool sums; /* C is of the sums' type: a join stores it */
    const char *target;
    size_t columns[NUM_COLUMNS];
};

/* The best that a row's kernel can do. */
struct cost {
    double ns; /* 1e300: not for this product */
    uint32_t splits, cluster;
};

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Bytes for the sums of splits; UINT64_MAX if no workspace can hold them. */
static uint64_t workspace_of(const kpk_gemm_product *p, uint32_t splits)
{
    const double n = (double)splits * p->batch * p->m * p->n;

    if (splits <= 1)
        return 0;
    if (n > 1e18)
        return UINT64_MAX;
    return (uint64_t)splits * p->batch * p->m * p->n *
           types[p->type].sum_nbytes;
}

/* The bytes of all matrices in the batch. */
static double bytes_of(const kpk_gemm_product *p)
{
    return (double)p->batch * types[p->type].nbytes *
           ((double)p->m * p->k + (double)p->k * p->n + (double)p->m * p->n);
}

static uint32_t steps_of(const kpk_gemm_product *p)
{
    return (uint32_t)div_up((uint64_t)p->k * types[p->type].nbytes,
                            STEP_NBYTES);
}

/* Whether no part stays empty if `steps` steps along K are cut into `splits`
 * parts, all but the last of one size. */
static bool are_full(uint32_t steps, uint32_t splits)
{
    const uint32_t each = (steps - 1) / splits + 1;

    return (steps - 1) / each + 1 == splits;
}

static double tiles_of(const struct choice *c, const kpk_number *cells)
{
    const kpk_gemm_product *p = c->product;

    return (double)div_up(p->m, (uint64_t)cells[c->columns[TILE_M]].i) *
           (double)div_up(p->n, (uint64_t)cells[c->columns[TILE_N]].i) *
           (double)p->batch;
}

/* Groups of units that work on a tile of the table: a unit, or the units of a
 * cluster. */
static uint64_t units_of(const struct choice *c, const kpk_number *cells)
{
    return c->units / (uint64_t)cells[c->columns[BLOCKS]].i;
}

/* Whether a cluster can make the row's tiles: it has the units, and the kernel
 * copies steps and stores results by 16 bytes. */
static bool can_pair(const struct choice *c, const kpk_number *cells)
{
    const kpk_gemm_product *p = c->product;
    const uint64_t aligned = (uint64_t)cells[c->columns[ALIGNED]].i;

    return units_of(c, cells) > 0 && p->k > 0 &&
           (uint64_t)p->n * types[p->type].nbytes % aligned == 0;
}

static uint64_t at_once(const struct choice *c, const kpk_number *cells)
{
    return (uint64_t)cells[c->columns[ROOM]].i * units_of(c, cells);
}

/* n / each, rounded down. Doubles of 1e18 and more have no fraction. */
static double whole(double n, double each)
{
    const double times = n / each;

    return times < 1e18 ? (double)(uint64_t)times : times;
}

/* n modulo `each`, as exact as a double. */
static double rest(double n, double each)
{
    const double left = n - whole(n, each) * each;

    return left > 0 && left < each ? left : 0;
}

/* The larger of ns and the time that memory takes, plus a sixteenth of the
 * smaller one. */
static double with_memory(const struct choice *c, const kpk_number *cells,
                          double ns)
{
    const double rate = (double)cells[c->columns[RATE]].i * c->units;
    const double least =
        (double)cells[c->columns[LEAST_NS]].i + bytes_of(c->product) / rate;

    if (!cells[c->columns[LEAST_NS]].i)
        return ns;
    /* if memory bounds several kernels, the one with the least work wins */
    return ns < least ? least + ns / 16 : ns + least / 16;
}

/* The time to write nbytes of sums of splits and to read them once. */
static double time_of_join(const struct choice *c, const kpk_number *cells,
                           uint64_t nbytes)
{
    return (double)cells[c->columns[JOIN_NS]].i +
           (double)nbytes * 2 / ((double)cells[c->columns[RATE]].i * c->units);
}

/* A tile's time outside of its steps, in ns. If a kernel stores 16 bytes at a
 * time, but rows of C are not multiples of 16 bytes, threads store one or two
 * results at a time, which costs RESULT_NS more. */
static double start_of(const struct choice *c, const kpk_number *cells)
{
    enum { RESULT_NS = 65 };
    const uint64_t aligned = (uint64_t)cells[c->columns[ALIGNED]].i;
    const uint64_t row =
        (uint64_t)c->product->n * types[c->product->type].nbytes;
    const double start = (double)cells[c->columns[START_NS]].i;

    if (!aligned || row % aligned == 0)
        return start;
    return start + RESULT_NS * (double)cells[c->columns[TILE_M]].i *
                       (double)cells[c->columns[TILE_N]].i /
                       (double)(cells[c->columns[BLOCK_X]].i *
                                cells[c->columns[BLOCKS]].i);
}

/* The time of a row's kernel with `splits` splits along K, in ns. */
static double time_of(const struct choice *c, const kpk_number *cells,
                      uint32_t splits)
{
    const uint64_t room = (uint64_t)cells[c->columns[ROOM]].i;
    /* steps in splits are as slow as in clusters */
    const uint64_t least =
        splits > 1 ? (uint64_t)cells[c->columns[SHARED_STEP_NS]].i : 0;
    const double full =
        (double)most((uint64_t)cells[c->columns[STEP_NS]].i, least);
    const double alone =
        (double)most((uint64_t)cells[c->columns[ALONE_NS]].i, least);
    const double start = start_of(c, cells);
    const double each = (double)div_up(steps_of(c->product), splits);
    const double tiles = tiles_of(c, cells) * splits;
    const double most_tiles = (double)at_once(c, cells);
    const double rounds = whole(tiles, most_tiles);
    const double left = rest(tiles, most_tiles);
    /* tiles of one unit in the last round */
    const double last =
        left > 0
            ? (double)(uint64_t)((left - 1) / (double)units_of(c, cells)) + 1
            : 0;
    double ns = rounds * (start + each * full * (double)room);

    if (last > 0)
        ns += start + each * (last * full > alone ? last * full : alone);
    ns = with_memory(c, cells, ns);
    if (splits > 1)
        ns += time_of_join(c, cells, workspace_of(c->product, splits));
    return ns;
}

/* The number of clusters that run at once. A cluster of two runs on
 * neighbouring units, a larger one in a group of 16 to 18 units. Some groups
 * have fewer units: as if every eleventh group were missing. Counted on an
 * H200. */
static uint64_t clusters_at_once(const struct choice *c,
                                 const kpk_number *cells, uint32_t cluster)
{
    enum { GROUP = 16 };
    const uint64_t room = (uint64_t)cells[c->columns[ROOM]].i;
    const uint64_t whole = c->units - c->units / 11;

    return cluster == 2 ? c->units / 2 * room
                        : whole * (GROUP / cluster) / GROUP * room;
}

/* The time if clusters of `cluster` blocks share the tiles of the last partial
 * round. */
static double clustered_time(const struct choice *c, const kpk_number *cells,
                             uint32_t cluster)
{
    const uint64_t clusters = clusters_at_once(c, cells, cluster);
    const double blocks = (double)clusters * cluster;
    const double full = (double)cells[c->columns[SHARED_STEP_NS]].i;
    const double all_full = full * (double)cells[c->columns[ROOM]].i;
    const double alone =
        (double)most((uint64_t)cells[c->columns[ALONE_NS]].i, (uint64_t)full);
    const double start = start_of(c, cells);
    const double tiles = tiles_of(c, cells);
    const double rounds = whole(tiles, blocks);
    const double left = rest(tiles, blocks);
    const double turns = (double)div_up((uint64_t)left, clusters);
    const double steps = (double)steps_of(c->product);
    double ns = rounds * (start + steps * all_full);

    if (rounds > 0 && cluster > 2) /* leaves units idle in whole rounds */
        return 1e300;
    if (turns > 1 && turns < cluster) /* whole tiles are faster (measured) */
        return 1e300;
    if (turns >= cluster) {
        ns += start + steps * all_full;
    } else if (left > 0) {
        /* blocks that one unit runs at once */
        const double busy = left < (double)clusters ? left : (double)clusters;
        const double each =
            full * (double)div_up((uint64_t)busy * cluster, c->units);

        ns += turns * (start + (double)cells[c->columns[SHARE_NS]].i +
                       (double)div_up((uint64_t)steps, cluster) *
                           (each > alone ? each : alone));
    }
    return with_memory(c, cells, ns);
}

/* Bytes for a batch of matrices with rows padded to a multiple of `aligned`; 0
 * if rows of `cols` are such a multiple. */
static uint64_t aligned_nbytes(uint32_t rows, uint32_t cols, uint32_t batch,
                               uint32_t size, uint32_t aligned)
{
    const uint64_t row = (uint64_t)cols * size;
    const uint64_t to = (row / aligned + 1) * aligned;

    if (row % aligned == 0)
        return 0;
    return (double)to * rows * batch > 1e18 ? UINT64_MAX : to * rows * batch;
}

/* Aligned copies of A and B, behind the splits' sums in the workspace. */
struct copies {
    uint64_t a, b; /* bytes; 0: rows are aligned, or no kernel copies */
    uint64_t begin;
    bool fit; /* the workspace has room */
};
static struct copies copies_of(const struct choice *c, const kpk_number *cells,
                               uint32_t splits)
{
    const kpk_gemm_product *p = c->product;
    const uint32_t aligned = (uint32_t)cells[c->columns[ALIGNED]].i;
    const uint32_t size = types[p->type].nbytes;
    struct copies copies = {0, 0, 0, true};

    if (!aligned || p->m == 0 || p->n == 0 || p->k == 0 || p->batch == 0)
        return copies;
    copies.a = p->trans_a ? aligned_nbytes(p->k, p->m, p->batch, size, aligned)
                          : aligned_nbytes(p->m, p->k, p->batch, size, aligned);
    copies.b = p->trans_b ? aligned_nbytes(p->n, p->k, p->batch, size, aligned)
                          : aligned_nbytes(p->k, p->n, p->batch, size, aligned);
    /* never 0, because 0 means no copy */
    copies.begin = (workspace_of(p, splits) / aligned + 1) * aligned;
    copies.fit = (copies.a == 0 && copies.b == 0) ||
                 (copies.begin <= c->workspace_nbytes &&
                  copies.a <= c->workspace_nbytes - copies.begin &&
                  copies.b <= c->workspace_nbytes - copies.begin - copies.a);
    return copies;
}

/* The time of a kernel with its copies of A and B. */
static double time_with_copies(const struct choice *c, const kpk_number *cells,
                               const struct cost *cost)
{
    enum { LAUNCH_NS = 4500, SLOWER = 4 }; /* if rows are not aligned */
    const struct copies copies = copies_of(c, cells, cost->splits);
    const double rate = (double)cells[c->columns[RATE]].i * c->units;

    if (!copies.fit)
        return cost->ns * SLOWER;
    return cost->ns + LAUNCH_NS * ((copies.a > 0) + (copies.b > 0)) +
           2 * ((double)copies.a + (double)copies.b) / rate;
}

static struct cost cost(const struct choice *c, const kpk_number *cells)
{
    const kpk_gemm_product *p = c->product;
    const uint32_t steps = steps_of(p);
    const uint32_t most_cluster = (uint32_t)cells[c->columns[CLUSTER]].i;
    const uint32_t blocks = (uint32_t)cells[c->columns[BLOCKS]].i;
    struct cost best = {1e200, 1, blocks};

    if (blocks > 1 && !can_pair(c, cells))
        return (struct cost){1e300, 1, 1};
    if (!c->sums)
        best.ns = time_of(c, cells, 1);
    if (p->m < (uint64_t)cells[c->columns[LEAST_M]].i ||
        p->m > (uint64_t)cells[c->columns[MOST_M]].i)
        return (struct cost){1e300, 1, 1};
    for (uint32_t s = 2; s <= MOST_SPLITS && s <= steps && blocks == 1; s++) {
        const uint64_t nbytes = workspace_of(p, s);
        double ns;

        if (nbytes == UINT64_MAX || nbytes > c->workspace_nbytes ||
            time_of_join(c, cells, nbytes) >= best.ns)
            break; /* more splits take more of both */
        if (!are_full(steps, s))
            continue;
        ns = time_of(c, cells, s);
        if (ns < best.ns)
            best = (struct cost){ns, s, 1};
    }
    for (uint32_t s = 2; s <= most_cluster && s <= steps && !c->sums; s++) {
        const double ns = clusters_at_once(c, cells, s) > 0
                              ? clustered_time(c, cells, s)
                              : best.ns;

        if (ns < best.ns)
            best = (struct cost){ns, 1, s};
    }
    best.ns = time_with_copies(c, cells, &best);
    return best;
}

/* For kpk_table_select(). A row for any target counts only if no row names this
 * target. */
static double cost_of_row(size_t row, const kpk_number *cells, void *context)
{
    const struct choice *c = context;
    const double ns = cost(c, cells).ns;
    kpk_row decl;

    return ns < 1e300 && c->target &&
                   kpk_table_row(c->module, c->table, row, &decl) == KPK_OK &&
                   decl.target[0] == '\0'
               ? (ns + 1) * 1e100
               : ns;
}

static uint32_t grid_of(uint64_t blocks, uint64_t limit)
{
    return (uint32_t)(blocks < limit ? most(blocks, 1) : limit);
}

/* Searches for each column behind the previous one, to compare few names. */
static kpk_status find_columns(const kpk_module *module, size_t table,
                               struct choice *c)
{
    kpk_column_decl decl;
    size_t at = 0;

    for (size_t i = 0; i < NUM_COLUMNS; i++) {
        kpk_status st;

        do
            st = kpk_table_column(module, table, at++, &decl);
        while (st == KPK_OK && strcmp(decl.name, column_names[i]) != 0);
        if (st != KPK_OK)
            return kpk_table_find_column(module, table, column_names[i],
                                         &c->columns[i]);
        c->columns[i] = at - 1;
    }
    return KPK_OK;
}

static kpk_status shape_of(const kpk_module *module, const char *kernel,
                           const char *target, uint64_t x, uint64_t y,
                           uint64_t z, kpk_shape *out)
{
    size_t index;
    kpk_status st = kpk_module_find_kernel(module, kernel, &index);

    if (st == KPK_OK)
        st = kpk_module_shape(module, index, target, most(x, 1), y, out);
    if (st == KPK_OK)
        out->grid[2] = grid_of(z, MOST_GRID_YZ);
    return st;
}

static char *append(char *to, const char *text)
{
    const size_t n = strlen(text);

    memcpy(to, text, n + 1);
    return to + n;
}

static void plan_copies(const struct choice *c, const kpk_number *cells,
                        kpk_gemm_plan *plan)
{
    const struct copies copies = copies_of(c, cells, plan->splits);

    if (!copies.fit || (copies.a == 0 && copies.b == 0))
        return;
    append(append(plan->align, "gemm_align_"), types[c->product->type].name);
    plan->aligned_a = copies.a ? copies.begin : 0;
    plan->aligned_b = copies.b ? copies.begin + copies.a : 0;
    plan->workspace_nbytes = copies.begin + copies.a + copies.b;
}

/* Limits the grid to most_blocks, whose blocks work on several tiles each. */
static void keep_resident(kpk_shape *shape, uint64_t most_blocks)
{
    const double blocks =
        (double)shape->grid[0] * shape->grid[1] * shape->grid[2];

    if (blocks <= (double)most_blocks)
        return;
    shape->grid[0] = (uint32_t)most_blocks;
    shape->grid[1] = shape->grid[2] = 1;
}

/* The launch shape by the row of the table. */
static void shape_as_row(const struct choice *c, const kpk_number *cells,
                         uint32_t splits, kpk_shape *shape)
{
    const kpk_gemm_product *p = c->product;
    const uint64_t each_m = (uint64_t)cells[c->columns[GRID_X_EACH]].i;
    const uint64_t each_n = (uint64_t)cells[c->columns[GRID_Y_EACH]].i;

    *shape = (kpk_shape){{1, 1, 1}, {1, 1, 1}, 0};
    shape->block[0] = (uint32_t)cells[c->columns[BLOCK_X]].i;
    /* HIP takes less than 2^32 threads in x */
    shape->grid[0] =
        grid_of(div_up(p->m, each_m), UINT32_MAX / shape->block[0]);
    shape->grid[1] = grid_of(div_up(p->n, each_n), MOST_GRID_YZ);
    shape->grid[2] = grid_of((uint64_t)p->batch * splits, MOST_GRID_YZ);
    shape->shared_nbytes = (uint32_t)cells[c->columns[SHARED_NBYTES]].i;
    if (cells[c->columns[RESIDENT]].i)
        keep_resident(shape, at_once(c, cells));
}

/* The launch shape in clusters along x, at most one cluster for each tile. */
static void shape_in_clusters(const struct choice *c, const kpk_number *cells,
                              uint32_t cluster, kpk_gemm_plan *plan)
{
    const uint64_t clusters = clusters_at_once(c, cells, cluster);
    const double tiles = tiles_of(c, cells);

    plan->cluster = cluster;
    plan->shape.grid[0] =
        cluster *
        (uint32_t)(tiles < (double)clusters ? tiles : (double)clusters);
    plan->shape.grid[1] = plan->shape.grid[2] = 1;
}

static kpk_status check_arguments(const kpk_module *module,
                                  const kpk_gemm_product *product,
                                  const kpk_gemm_plan *out)
{
    if (!module || !product || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_gemm_choose: %s is NULL",
                          !module    ? "module"
                          : !product ? "product"
                                     : "out");
    if ((unsigned)product->type > KPK_GEMM_F64)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_gemm_choose: there is no type %d; they are 0 to "
                          "3, KPK_GEMM_F16 to KPK_GEMM_F64",
                          (int)product->type);
    return KPK_OK;
}

/* Finds the row of least cost for c->target, and its numbers. */
static kpk_status find_row(struct choice *c, kpk_row *row,
                           const kpk_number **cells)
{
    const kpk_gemm_product *p = c->product;
    const char layout[] = {p->trans_a ? 't' : 'n', p->trans_b ? 't' : 'n',
                           '\0'};
    const kpk_condition conditions[] = {
        {.column = c->columns[LAYOUT], .op = KPK_EQUAL, .s = layout},
        {.column = c->columns[TYPE],
         .op = KPK_EQUAL,
         .s = types[p->type].name}};
    const kpk_query query = {.target = c->target,
                             .conditions = conditions,
                             .nconditions = 2,
                             .cost = cost_of_row,
                             .context = c};
    size_t best = 0;
    kpk_status st = kpk_table_select(c->module, c->table, &query, &best);

    if (st == KPK_OK)
        st = kpk_table_numbers(c->module, c->table, best, cells);
    if (st == KPK_OK)
        st = kpk_table_row(c->module, c->table, best, row);
    return st;
}

/* The kernel that adds up the splits' sums, and its launch. */
static kpk_status plan_join(const struct choice *c, kpk_gemm_plan *plan)
{
    const kpk_gemm_product *p = c->product;
    const kpk_gemm_type type =
        c->sums && p->type < KPK_GEMM_F64 ? KPK_GEMM_F32 : p->type;

    append(append(plan->join, "gemm_join_"), types[type].name);
    return shape_of(c->module, plan->join, c->target, (uint64_t)p->m * p->n, 0,
                    p->batch, &plan->join_shape);
}

/* The launches of the kernel in a row of the table. */
static kpk_status plan_row(const struct choice *c, const char *kernel,
                           const kpk_number *cells, kpk_gemm_plan *plan)
{
    const struct cost found = cost(c, cells);
    kpk_status st = KPK_OK;

    if (c->sums && found.splits < 2)
        return kpk_i_fail(KPK_ERR_NO_ROW,
                          "kpk_gemm_choose_sums: K of %lu cannot be split in "
                          "%llu bytes of workspace",
                          (unsigned long)c->product->k,
                          (unsigned long long)c->workspace_nbytes);
    memset(plan, 0, sizeof(*plan));
    append(plan->kernel, kernel);
    plan->splits = found.splits;
    plan->workspace_nbytes = workspace_of(c->product, found.splits);
    shape_as_row(c, cells, found.splits, &plan->shape);
    if (found.cluster > 1)
        shape_in_clusters(c, cells, found.cluster, plan);
    if (plan->splits > 1)
        st = plan_join(c, plan);
    if (st == KPK_OK)
        plan_copies(c, cells, plan);
    return st;
}

static kpk_status choose(const kpk_module *module, const char *target,
                         uint32_t compute_units,
                         const kpk_gemm_product *product,
                         uint64_t workspace_nbytes, bool sums,
                         kpk_gemm_plan *out)
{
    struct choice c = {.module = module,
                       .product = product,
                       .workspace_nbytes = workspace_nbytes,
                       .units = compute_units ? compute_units : 1,
                       .sums = sums};
    kpk_gemm_plan plan;
    kpk_row row;
    char name[KPK_I_SM_NBYTES];
    const kpk_number *cells = NULL;
    kpk_status st = check_arguments(module, product, out);

    if (st == KPK_OK)
        st = kpk_module_find_table(module, "gemm", &c.table);
    if (st == KPK_OK)
        st = find_columns(module, c.table, &c);
    if (st == KPK_OK) {
        c.target = kpk_i_target_of_rows(module, target, name);
        st = find_row(&c, &row, &cells);
    }
    if (st == KPK_OK)
        st = plan_row(&c, row.kernel, cells, &plan);
    if (st == KPK_OK)
        *out = plan;
    return st;
}

kpk_status kpk_gemm_choose_for(const kpk_module *module, const char *target,
                               uint32_t compute_units,
                               const kpk_gemm_product *product,
                               uint64_t workspace_nbytes, kpk_gemm_plan *out)
{
    return choose(module, target, compute_units, product, workspace_nbytes,
                  false, out);
}

static kpk_status choose_on(const kpk_instance *inst, const kpk_module *module,
                            const kpk_gemm_product *product,
                            uint64_t workspace_nbytes, bool sums,
                            kpk_gemm_plan *out)
{
    const kpk_device *device = inst ? kpk_instance_device(inst) : NULL;

    if (!device)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_gemm_choose: inst is NULL");
    return choose(module, device->target, device->compute_units, product,
                  workspace_nbytes, sums, out);
}

kpk_status kpk_gemm_choose(const kpk_instance *inst, const kpk_module *module,
                           const kpk_gemm_product *product,
                           uint64_t workspace_nbytes, kpk_gemm_plan *out)
{
    return choose_on(inst, module, product, workspace_nbytes, false, out);
}

kpk_status kpk_gemm_choose_sums(const kpk_instance *inst,
                                const kpk_module *module,
                                const kpk_gemm_product *product,
                                uint64_t workspace_nbytes, kpk_gemm_plan *out)
{
    return choose_on(inst, module, product, workspace_nbytes, true, out);
}

/* A scalar in the type of sums. */
struct scalar {
    float f;
    double d;
};

static kpk_arg scalar_arg(const struct scalar *s, kpk_gemm_type type)
{
    kpk_arg arg = {&s->f, sizeof(s->f)};

    if (type == KPK_GEMM_F64) {
        arg.value = &s->d;
        arg.nbytes = sizeof(s->d);
    }
    return arg;
}

#define ARG(v)                                                                 \
    {                                                                          \
        &(v), sizeof(v)                                                        \
    }

static kpk_status launch_join(kpk_instance *inst, const kpk_gemm_product *p,
                              const kpk_gemm_plan *plan,
                              const kpk_gemm_operands *o, void *workspace,
                              const kpk_arg *alpha, const kpk_arg *beta,
                              void *stream)
{
    const kpk_arg args[] = {ARG(workspace),   ARG(o->c),     ARG(o->bias),
                            ARG(p->m),        ARG(p->n),     ARG(o->ldc),
                            ARG(o->stride_c), ARG(p->batch), ARG(plan->splits),
                            *alpha,           *beta};
    const kpk_kernel *kernel;
    kpk_status st = kpk_kernel_get(inst, plan->join, &kernel);

    if (st == KPK_OK)
        st = kpk_launch(kernel, &plan->join_shape, stream, args,
                        sizeof(args) / sizeof(args[0]));
    return st;
}

/* An operand in memory: `rows` rows of `cols` elements. */
struct operand {
    const void *matrix;
    uint32_t rows, cols, leading;
    int64_t stride;
};

/* Copies the operand to aligned rows in the workspace, if its rows are not
 * aligned. */
static kpk_status align(kpk_instance *inst, const kpk_gemm_product *p,
                        const kpk_gemm_plan *plan, struct operand *o, char *to,
                        void *stream)
{
    enum { PIECE = 16 };
    const uint32_t size = types[p->type].nbytes, n = PIECE / size;
    const uint32_t leading = (o->cols + n - 1) / n * n;
    /* a stride of 0: one matrix for the whole batch */
    const uint32_t batch = o->stride == 0 ? 1 : p->batch;
    const int64_t stride = batch == 1 ? 0 : (int64_t)leading * o->rows;
    const kpk_kernel *kernel;
    kpk_shape shape;
    kpk_status st;

    if ((uintptr_t)o->matrix % PIECE == 0 && o->leading % n == 0 &&
        (batch == 1 || o->stride % n == 0))
        return KPK_OK;
    st = kpk_kernel_get(inst, plan->align, &kernel);
    if (st == KPK_OK)
        st = kpk_kernel_shape(kernel, (uint64_t)leading * o->rows * batch, 0,
                              &shape);
    if (st == KPK_OK) {
        const kpk_arg args[] = {ARG(o->matrix), ARG(to),         ARG(o->rows),
                                ARG(o->cols),   ARG(o->leading), ARG(leading),
                                ARG(o->stride), ARG(stride),     ARG(batch)};

        st = kpk_launch(kernel, &shape, stream, args,
                        sizeof(args) / sizeof(args[0]));
    }
    if (st == KPK_OK) {
        o->matrix = to;
        o->leading = leading;
        o->stride = stride;
    }
    return st;
}

static kpk_status check_leading(const char *name, uint32_t leading,
                                uint32_t length)
{
    if (leading >= length)
        return KPK_OK;
    return kpk_i_fail(
        KPK_ERR_ARG,
        "kpk_gemm_launch: ld%s is %lu, but a row of %s as it lies "
        "has %lu elements",
        name, (unsigned long)leading, name, (unsigned long)length);
}

kpk_status kpk_gemm_launch(kpk_instance *inst, const kpk_gemm_product *p,
                           const kpk_gemm_plan *plan,
                           const kpk_gemm_operands *o, void *workspace,
                           void *stream)
{
    struct operand a, b;
    struct scalar alpha, beta;
    const kpk_kernel *kernel;
    kpk_status st;

    if (!inst || !p || !plan || !o)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_gemm_launch: %s is NULL",
                          !inst   ? "inst"
                          : !p    ? "product"
                          : !plan ? "plan"
                                  : "operands");
    if (plan->workspace_nbytes && !workspace)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_gemm_launch: the plan needs a workspace of "
                          "%llu bytes; to do without, give 0 to "
                          "kpk_gemm_choose()",
                          (unsigned long long)plan->workspace_nbytes);
    st = check_leading("a", o->lda, p->trans_a ? p->m : p->k);
    if (st == KPK_OK)
        st = check_leading("b", o->ldb, p->trans_b ? p->k : p->n);
    if (st == KPK_OK)
        st = check_leading("c", o->ldc, p->n);
    if (st != KPK_OK)
        return st;
    a = (struct operand){o->a, p->trans_a ? p->k : p->m,
                         p->trans_a ? p->m : p->k, o->lda, o->stride_a};
    b = (struct operand){o->b, p->trans_b ? p->n : p->k,
                         p->trans_b ? p->k : p->n, o->ldb, o->stride_b};
    alpha.d = o->alpha, alpha.f = (float)o->alpha;
    beta.d = o->beta, beta.f = (float)o->beta;
    if (plan->aligned_a)
        st = align(inst, p, plan, &a, (char *)workspace + plan->aligned_a,
                   stream);
    if (st == KPK_OK && plan->aligned_b)
        st = align(inst, p, plan, &b, (char *)workspace + plan->aligned_b,
                   stream);
    if (st == KPK_OK)
        st = kpk_kernel_get(inst, plan->kernel, &kernel);
    if (st == KPK_OK) {
        const kpk_arg alpha_arg = scalar_arg(&alpha, p->type);
        const kpk_arg beta_arg = scalar_arg(&beta, p->type);
        const kpk_arg args[] = {
            ARG(a.matrix),  ARG(b.matrix),    ARG(o->c),     ARG(o->bias),
            ARG(workspace), ARG(p->m),        ARG(p->n),     ARG(p->k),
            ARG(a.leading), ARG(b.leading),   ARG(o->ldc),   ARG(a.stride),
            ARG(b.stride),  ARG(o->stride_c), ARG(p->batch), ARG(plan->splits),
            alpha_arg,      beta_arg};

        /* Early: kernels of f16 and bf16 wait before they read anything. */
        const kpk_launch_options options = {.shape = plan->shape,
                                            .stream = stream,
                                            .cluster = {plan->cluster},
                                            .flags = KPK_LAUNCH_EARLY};

        st = kpk_launch_ex(kernel, &options, args,
                           sizeof(args) / sizeof(args[0]));
        if (st == KPK_OK && plan->splits > 1)
            st = launch_join(inst, p, plan, o, workspace, &alpha_arg, &beta_arg,
                             stream);
    }
    return st;
}
