/* attention_plan.c - which kernel of module attention: see attention_plan.h
 *
 * A decoding kernel's block takes 16 rows, of all heads that share one of K,
 * and a part of the keys; one for many queries takes 128 rows and all keys. The
 * first is for as few rows as one block has, for one query of any number of
 * heads, and for some more where the others would leave most of the device
 * idle: on NVIDIA's GPUs for as many rows as one round of blocks takes. For a
 * wide head a block for many queries takes 32 rows; if the queries fill at most
 * a quarter of it, they are decoded, however many heads share one of K. For
 * many queries a launch makes plain numbers of K and V in blocks first, if the
 * workspace holds them; else they are decoded. Keys are split until the device
 * is full, but not into parts that take less time than a launch. On targets
 * with clusters few splits form a cluster.
 */
#include "attention_plan.h"

#include <kpack/host_code.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DECODE_ROWS = 16, MANY_ROWS = 128, MOST_DECODE_ROWS = 64 };
enum { WIDE_MANY_ROWS = 32, WIDE_DECODE_QUERIES = 8 };
/* columns that a warp of a cluster rounds to blocks at once */
enum { QUANTIZED_D = 64 };
/* The share of a device's room for workgroups that clusters of three and more
 * can use, because a cluster runs within one group of multiprocessors. */
enum { CLUSTERED_PERCENT = 85 };
enum { MOST_CLUSTER = 8, MOST_SPLITS = 128, MOST_GRID_Z = 65535 };
/* greatest d in the first form; greatest d and d_v in any kernel */
enum { FIRST_D = 256, MOST_D = 576, MOST_D_V = 512 };

static const char *const type_names[] = {
    [KPK_ATTENTION_F16] = "f16",
    [KPK_ATTENTION_BF16] = "bf16",
};
static const char *const cache_names[] = {
    [KPK_ATTENTION_SAME] = "",
    [KPK_ATTENTION_Q8_0] = "_q8_0",
    [KPK_ATTENTION_Q4_0] = "_q4_0",
};

static uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t width_of_v(const kpk_attention2_args *a)
{
    return a->d_v ? a->d_v : a->base.d;
}

/* the columns for which a kernel must have room */
static uint32_t width_of(const kpk_attention2_args *a)
{
    return (uint32_t)most(a->base.d, width_of_v(a));
}

static bool is_wide(const kpk_attention2_args *a)
{
    return width_of(a) > FIRST_D;
}

/* Whether kernels of the first form, which know no more, do. */
static bool is_first_form(const kpk_attention2_args *a)
{
    return !a->sinks && !a->mask && width_of_v(a) == a->base.d && !is_wide(a);
}

static uint64_t all_rows(const kpk_attention_args *a)
{
    return a->total_q ? a->total_q : (uint64_t)a->b * a->seqlen_q;
}

/* Bytes for the results of splits; UINT64_MAX if no workspace can hold them. */
static uint64_t workspace_of(const kpk_attention2_args *args, uint64_t splits)
{
    const kpk_attention_args *a = &args->base;
    const uint32_t each = width_of_v(args) + 1;
    const double n = (double)splits * (double)all_rows(a) * a->h * each;

    if (splits <= 1)
        return 0;
    return n > 1e18 ? UINT64_MAX : splits * all_rows(a) * a->h * each * 4;
}

/* Rows of all heads of K, and bytes of K and V as plain numbers; UINT64_MAX if
 * no workspace can hold them. */
static uint64_t key_rows(const kpk_attention_args *a)
{
    return (uint64_t)a->b * a->seqlen_k * a->h_k;
}
static uint64_t unpacked_of(const kpk_attention2_args *args)
{
    const kpk_attention_args *a = &args->base;
    const uint32_t each = (a->d + width_of_v(args)) * 2;
    const double n = (double)a->b * a->seqlen_k * a->h_k * each;

    return n > 1e18 ? UINT64_MAX : key_rows(a) * each;
}

/* Keys that the queries of a sequence see at most. */
static uint64_t seen_keys(const kpk_attention_args *a)
{
    if (a->window_left < 0 || a->window_right < 0 || a->prefix_ranges)
        return a->seqlen_k;
    return least(a->seqlen_k, (uint64_t)a->window_left +
                                  (uint64_t)a->window_right + a->seqlen_q);
}

static bool has_reserved(const kpk_attention2_args *a)
{
    uint64_t all = (uint64_t)a->q_type | a->o_type | a->mask_type;

    for (size_t i = 0; i < sizeof(a->reserved) / sizeof(a->reserved[0]); i++)
        all |= a->reserved[i];
    return all != 0;
}

static kpk_status check_args(const kpk_module *module, int type, int cache,
                             const kpk_attention2_args *args,
                             const kpk_attention_plan *out)
{
    const kpk_attention_args *a;

    if (!module || !args || !out)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_attention_choose: %s is NULL",
                          !module ? "module"
                          : !args ? "args"
                                  : "out");
    a = &args->base;
    if (type < 0 || type > KPK_ATTENTION_BF16)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: there is no type %d; they are "
                          "KPK_ATTENTION_F16 and KPK_ATTENTION_BF16",
                          type);
    if (cache < 0 || cache > KPK_ATTENTION_Q4_0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: there is no cache %d; they "
                          "are 0 to 2, KPK_ATTENTION_SAME to "
                          "KPK_ATTENTION_Q4_0",
                          cache);
    if (a->d == 0 || a->d % 8 != 0 || a->d > MOST_D)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: d is %lu; kernels take "
                          "multiples of 8 up to %d",
                          (unsigned long)a->d, MOST_D);
    if (width_of_v(args) % 8 != 0 || width_of_v(args) > MOST_D_V)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: V has %lu columns (d_v, or d "
                          "where d_v is 0); kernels take multiples of 8 up to "
                          "%d of V, and up to %d of K",
                          (unsigned long)width_of_v(args), MOST_D_V, MOST_D);
    if (has_reserved(args))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: a reserved member of "
                          "kpk_attention2_args is not zero; set the struct to "
                          "zero and fill it in by name");
    if (a->h_k == 0 || a->h % a->h_k != 0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_choose: %lu heads cannot share %lu "
                          "heads of K; h_k must divide h",
                          (unsigned long)a->h, (unsigned long)a->h_k);
    return KPK_OK;
}

struct choice {
    const kpk_module *module;
    const char *target;
    const kpk_attention2_args *all;
    const kpk_attention_args *a; /* the part of the first form */
    int64_t room, split_keys, cluster_keys, shared_keys, group_rows, rounds;
    uint64_t tiles; /* workgroups for the rows of a head of K */
};

/* Columns of the table's row for a kernel on the target. */
static kpk_status read_row(struct choice *c, const char *name)
{
    const kpk_query query = {.kernel = name, .target = c->target};
    const struct {
        const char *column;
        int64_t *to;
    } wanted[] = {{"room", &c->room},
                  {"split_keys", &c->split_keys},
                  {"cluster_keys", &c->cluster_keys},
                  {"shared_keys", &c->shared_keys},
                  {"group_rows", &c->group_rows},
                  {"rounds", &c->rounds}};
    size_t table, row, column;
    const kpk_number *cells;
    kpk_status st = kpk_module_find_table(c->module, "attention", &table);

    if (st == KPK_OK)
        st = kpk_table_select(c->module, table, &query, &row);
    if (st == KPK_OK)
        st = kpk_table_numbers(c->module, table, row, &cells);
    for (size_t i = 0; st == KPK_OK && i < sizeof(wanted) / sizeof(wanted[0]);
         i++) {
        st = kpk_table_find_column(c->module, table, wanted[i].column, &column);
        if (st == KPK_OK)
            *wanted[i].to = cells[column].i;
    }
    c->tiles = c->group_rows
                   ? div_up((uint64_t)c->a->seqlen_q * c->a->h / c->a->h_k,
                            (uint64_t)c->group_rows)
                   : 1;
    c->tiles = most(c->tiles, 1);
    return st;
}

/* Names a kernel, of sizeof(plan.kernel), and reads its row. */
static kpk_status read_kernel(struct choice *c, bool decode,
                              kpk_attention_type type,
                              kpk_attention_cache cache, char *name)
{
    const uint32_t width = width_of(c->all);

    snprintf(name, sizeof(((kpk_attention_plan *)0)->kernel),
             "attention%s_%s%s_%d%s", is_first_form(c->all) ? "" : "2",
             decode ? "decode_" : "", type_names[type],
             width <= 64        ? 64
             : width <= 128     ? 128
             : width <= FIRST_D ? FIRST_D
                                : MOST_D,
             cache_names[cache]);
    return read_row(c, name);
}

static kpk_status shape_of(const struct choice *c, const char *kernel,
                           uint64_t x, uint64_t y, uint64_t z, kpk_shape *out)
{
    size_t index;
    kpk_status st = kpk_module_find_kernel(c->module, kernel, &index);

    if (st == KPK_OK)
        st = kpk_module_shape(c->module, index, c->target, most(x, 1),
                              most(y, 1), out);
    if (st == KPK_OK)
        out->grid[2] = (unsigned)least(most(z, 1), MOST_GRID_Z);
    return st;
}

/* c: with the row of the decoding kernel */
static bool decodes(const struct choice *c, uint32_t units)
{
    const kpk_attention2_args *const args = c->all;
    const kpk_attention_args *const a = c->a;
    const uint64_t rows = (uint64_t)a->seqlen_q * (a->h / a->h_k);
    const uint64_t blocks =
        (uint64_t)a->b * a->h *
        div_up(a->seqlen_q, is_wide(args) ? WIDE_MANY_ROWS : MANY_ROWS);

    return rows <= DECODE_ROWS ||
           (is_wide(args) && a->seqlen_q <= WIDE_DECODE_QUERIES) ||
           a->seqlen_q == 1 ||
           (c->group_rows ? (uint64_t)a->b * a->h_k * c->tiles <= units
                          : rows <= MOST_DECODE_ROWS && blocks < units);
}

/* Into how many parts of at least `keys` keys the keys can be split. */
static uint64_t parts_of(const struct choice *c, int64_t keys)
{
    return seen_keys(c->a) / (uint64_t)most((uint64_t)keys, 1);
}

/* As many splits as the workspace has room for. */
static uint64_t splits_in(const struct choice *c, uint64_t splits,
                          uint64_t workspace_nbytes)
{
    splits = most(least(splits, MOST_SPLITS), 1);
    for (; splits > 1; splits--) {
        const uint64_t nbytes = workspace_of(c->all, splits);

        if (nbytes != UINT64_MAX && nbytes <= workspace_nbytes)
            break;
    }
    return splits;
}

/*
 * Into how many parts keys are split, and how many of them are a cluster. A
 * device without clusters is filled once. One with clusters has `room` blocks
 * on a compute unit if their parts are long (shared_keys), and one block of
 * shorter parts. Clusters, which take no launch to join, have the shortest.
 */
static void split_keys(const struct choice *c, uint32_t units,
                       uint64_t workspace_nbytes, kpk_attention_plan *plan)
{
    const uint64_t blocks = most((uint64_t)c->a->b * c->a->h_k * c->tiles, 1);
    const uint64_t all = (uint64_t)c->room * units / blocks;
    const uint64_t alone = units / blocks;
    const uint64_t most_of_all =
        (uint64_t)c->room * units * CLUSTERED_PERCENT / 100 / blocks;
    const bool clusters = c->cluster_keys > 0;
    const uint64_t splits =
        splits_in(c, least(clusters ? alone : all, parts_of(c, c->split_keys)),
                  workspace_nbytes);
    uint64_t cluster = 1;

    if (clusters) {
        cluster =
            least(alone, div_up(seen_keys(c->a), (uint64_t)c->cluster_keys));
        cluster = most(cluster, least(all < 3 ? all : most(most_of_all, 2),
                                      parts_of(c, c->shared_keys)));
        cluster = most(least(cluster, MOST_CLUSTER), 1);
    }
    plan->cluster = splits <= cluster ? (uint32_t)cluster : 1;
    plan->splits = (uint32_t)most(splits, plan->cluster);
}

/* A grid of no more workgroups than the device has compute units: each makes
 * some tiles, and brings its next tile's K while it stores the last. */
static void go_round(kpk_shape *shape, uint32_t units)
{
    const uint64_t all =
        (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];

    if (all > units) {
        shape->grid[0] = units;
        shape->grid[1] = shape->grid[2] = 1;
    }
}

kpk_status kpk_attention2_choose_for(const kpk_module *module,
                                     const char *target, uint32_t compute_units,
                                     kpk_attention_type type,
                                     kpk_attention_cache cache,
                                     const kpk_attention2_args *all,
                                     uint64_t workspace_nbytes,
                                     kpk_attention_plan *out)
{
    const uint32_t units = compute_units ? compute_units : 1;
    const kpk_attention_args *args;
    char name[KPK_I_SM_NBYTES];
    struct choice c = {.module = module, .all = all};
    kpk_attention_plan plan;
    kpk_status st = check_args(module, (int)type, (int)cache, all, out);
    const char *form;
    bool decode = true;

    if (st != KPK_OK)
        return st;
    c.a = args = &all->base;
    c.target = kpk_i_target_of_rows(module, target, name);
    memset(&plan, 0, sizeof(plan));
    form = is_first_form(all) ? "" : "2";
    plan.splits = plan.cluster = 1;
    st = read_kernel(&c, decode, type, cache, plan.kernel);
    if (st == KPK_OK && !decodes(&c, units) &&
        (cache == KPK_ATTENTION_SAME ||
         (unpacked_of(all) != UINT64_MAX &&
          unpacked_of(all) <= workspace_nbytes))) {
        decode = false;
        st = read_kernel(&c, decode, type, KPK_ATTENTION_SAME, plan.kernel);
    }
    if (st == KPK_OK && decode) {
        split_keys(&c, units, workspace_nbytes, &plan);
        plan.quantizes = plan.cluster > 1 && width_of_v(all) % QUANTIZED_D == 0;
    }
    if (st == KPK_OK)
        st = shape_of(&c, plan.kernel, decode ? plan.splits : args->seqlen_q,
                      decode ? args->h_k * c.tiles : args->h, args->b,
                      &plan.shape);
    if (st == KPK_OK && c.rounds &&
        all_rows(args) == (uint64_t)args->b * args->seqlen_q)
        go_round(&plan.shape, units);
    if (st == KPK_OK && plan.splits > plan.cluster) {
        plan.workspace_nbytes = workspace_of(all, plan.splits);
        snprintf(plan.join, sizeof(plan.join), "attention%s_join_%s", form,
                 type_names[type]);
        st = shape_of(&c, plan.join, all_rows(args), args->h, 1,
                      &plan.join_shape);
    } else if (st == KPK_OK && !decode && cache != KPK_ATTENTION_SAME) {
        plan.workspace_nbytes = unpacked_of(all);
        snprintf(plan.join, sizeof(plan.join), "attention2%s_to_%s",
                 cache_names[cache], type_names[type]);
        st = shape_of(&c, plan.join, plan.workspace_nbytes / 16, 1, 1,
                      &plan.join_shape);
    }
    if (st == KPK_OK)
        *out = plan;
    return st;
}

/* Converts arguments of the first form to the second form. */
static kpk_attention2_args second_form(const kpk_attention_args *args)
{
    kpk_attention2_args all;

    memset(&all, 0, sizeof(all));
    if (args)
        all.base = *args;
    return all;
}

kpk_status kpk_attention_choose_for(const kpk_module *module,
                                    const char *target, uint32_t compute_units,
                                    kpk_attention_type type,
                                    kpk_attention_cache cache,
                                    const kpk_attention_args *args,
                                    uint64_t workspace_nbytes,
                                    kpk_attention_plan *out)
{
    const kpk_attention2_args all = second_form(args);

    return kpk_attention2_choose_for(module, target, compute_units, type, cache,
                                     args ? &all : NULL, workspace_nbytes, out);
}

kpk_status
kpk_attention2_choose(const kpk_instance *inst, const kpk_module *module,
                      kpk_attention_type type, kpk_attention_cache cache,
                      const kpk_attention2_args *args,
                      uint64_t workspace_nbytes, kpk_attention_plan *out)
{
    const kpk_device *device = inst ? kpk_instance_device(inst) : NULL;

    if (!device)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_attention_choose: inst is NULL");
    return kpk_attention2_choose_for(module, device->target,
                                     device->compute_units, type, cache, args,
                                     workspace_nbytes, out);
}

kpk_status
kpk_attention_choose(const kpk_instance *inst, const kpk_module *module,
                     kpk_attention_type type, kpk_attention_cache cache,
                     const kpk_attention_args *args, uint64_t workspace_nbytes,
                     kpk_attention_plan *out)
{
    const kpk_attention2_args all = second_form(args);

    return kpk_attention2_choose(inst, module, type, cache, args ? &all : NULL,
                                 workspace_nbytes, out);
}

/* Whether each compute unit has at most one of the grid's workgroups. */
static bool is_small(const kpk_instance *inst, const kpk_shape *shape)
{
    const kpk_device *device = kpk_instance_device(inst);

    return (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2] <=
           device->compute_units;
}

/* Early: no kernel reads anything of this before it waits. */
static kpk_status launch_one(kpk_instance *inst, const char *name,
                             const kpk_shape *shape, uint32_t cluster,
                             bool early, const kpk_attention2_args *args,
                             void *stream)
{
    const bool second = strncmp(name, "attention2_", 11) == 0;
    const kpk_launch_options options = {.shape = *shape,
                                        .stream = stream,
                                        .flags = early ? KPK_LAUNCH_EARLY : 0,
                                        .cluster = {cluster}};
    /* the second form begins with the first */
    const kpk_arg arg = {args, second ? sizeof(*args) : sizeof(args->base)};
    const kpk_kernel *kernel;
    kpk_status st = kpk_kernel_get(inst, name, &kernel);

    return st == KPK_OK ? kpk_launch_ex(kernel, &options, &arg, 1) : st;
}

/* Lets K and V point to the output of attention2_*_to_*: rows of all sequences,
 * of h_k heads each, V behind K. */
static void read_unpacked(kpk_attention2_args *a, const void *workspace)
{
    kpk_attention_args *const base = &a->base;

    base->k = workspace;
    base->v = (const uint16_t *)workspace + key_rows(base) * base->d;
    base->k_head = base->d;
    base->v_head = width_of_v(a);
    base->k_row = base->k_head * base->h_k;
    base->v_row = base->v_head * base->h_k;
    base->k_batch = base->k_row * base->seqlen_k;
    base->v_batch = base->v_row * base->seqlen_k;
    base->block_table = NULL;
}

kpk_status kpk_attention2_launch(kpk_instance *inst,
                                 const kpk_attention2_args *args,
                                 const kpk_attention_plan *plan,
                                 void *workspace, void *stream)
{
    kpk_attention2_args a;
    kpk_status st;
    bool unpacks;

    if (!inst || !args || !plan)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_attention_launch: %s is NULL",
                          !inst   ? "inst"
                          : !args ? "args"
                                  : "plan");
    if (plan->workspace_nbytes && !workspace)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_launch: the plan splits the keys and "
                          "needs a workspace of %llu bytes; to do without, "
                          "give 0 to kpk_attention_choose()",
                          (unsigned long long)plan->workspace_nbytes);
    if (args->base.block_table && args->base.page_size == 0)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_attention_launch: there is a block table, but "
                          "page_size is 0; it is the rows of a page");
    if (args->base.o_q8_1 && !plan->quantizes)
        return kpk_i_fail(
            KPK_ERR_ARG,
            "kpk_attention_launch: o_q8_1 is given, but %s of "
            "this plan writes o; see kpk_attention_plan.quantizes",
            plan->kernel);
    if (!is_first_form(args) && strncmp(plan->kernel, "attention_", 10) == 0)
        return kpk_i_fail(
            KPK_ERR_ARG,
            "kpk_attention_launch: %s of this plan knows no sinks, no mask, no "
            "d_v and no width beyond %d; give the same args to "
            "kpk_attention2_choose()",
            plan->kernel, FIRST_D);
    a = *args;
    a.base.splits = plan->splits;
    a.base.partial = plan->workspace_nbytes ? workspace : NULL;
    unpacks = strstr(plan->join, "_to_") != NULL;
    if (unpacks) {
        st = launch_one(inst, plan->join, &plan->join_shape, 1, true, &a,
                        stream);
        if (st != KPK_OK)
            return st;
        read_unpacked(&a, workspace);
    }
    /* Only small grids begin early. In a large grid the first workgroups would
     * fill the room beside the previous launch, and the others would be spread
     * unevenly over multiprocessors. */
    st = launch_one(inst, plan->kernel, &plan->shape, plan->cluster,
                    is_small(inst, &plan->shape), &a, stream);
    if (st == KPK_OK && plan->join[0] && !unpacks)
        st = launch_one(inst, plan->join, &plan->join_shape, 1, true, &a,
                        stream);
    return st;
}

kpk_status kpk_attention_launch(kpk_instance *inst,
                                const kpk_attention_args *args,
                                const kpk_attention_plan *plan, void *workspace,
                                void *stream)
{
    const kpk_attention2_args all = second_form(args);

    return kpk_attention2_launch(inst, args ? &all : NULL, plan, workspace,
                                 stream);
}
