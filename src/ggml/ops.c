/*
 * ops.c - operations of ggml as launches of the pack's kernels
 *
 * TABLE has a row for each operation. Its function looks at types, shapes and
 * strides and ends in launches. They are made if run->launching; else the
 * function only says whether it would make them.
 */
#include "ops.h"

#include "attention.h"
#include "fuse.h"
#include "images.h"
#include "products.h"

#include <kpack/candle/sort_rows.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const kpk_module *const ops_modules[] = {
    &kpk_module_attention, &kpk_module_fused,   &kpk_module_gemm,
    &kpk_module_ggml,      &kpk_module_low_bit, &kpk_module_moe,
    &kpk_module_quantized, &kpk_module_sort,
};
const size_t ops_nmodules = sizeof(ops_modules) / sizeof(ops_modules[0]);

/* One operation, a row of TABLE. */
struct op;
typedef bool serve(struct run *run, const struct ggml_tensor *t,
                   const struct op *op);
struct op {
    serve *serve;
    int params; /* index of the first float parameter, or NONE */
};
enum { NONE = -1 };

/* ---- elementwise ---- */

/* The parameters of a function of one element; absent ones are 0. */
struct params {
    float v[4];
};
static struct params params_of(const struct ggml_tensor *t, const struct op *op)
{
    struct params p = {{0}};

    for (size_t i = 0; op->params != NONE && i < 4; i++)
        p.v[i] = param_f32(t, (size_t)op->params + i);
    return p;
}

static bool map(struct run *run, const struct ggml_tensor *t,
                const struct op *op)
{
    const struct params p = params_of(t, op);
    kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);

    join_dims(2, (kpk_ggml_tensor *[]){&out, &x});
    return same_type(t, t->src[0]) &&
           launch(run, named(named_as(t).text, t->type).text, count(&out), 0,
                  KPK_ARGS(x, out, p.v[0], p.v[1], p.v[2], p.v[3]));
}

/* The second operand is repeated to fill the first. */
static bool combine(struct run *run, const struct ggml_tensor *t,
                    const struct op *op)
{
    kpk_ggml_tensor a = view_of(t->src[0]), b = view_of(t->src[1]);
    kpk_ggml_tensor out = view_of(t);
    const struct kernel_name first = named(named_as(t).text, t->type);

    (void)op;
    join_dims(3, (kpk_ggml_tensor *[]){&out, &a, &b});
    return same_type(t, t->src[0]) &&
           launch(run, named(first.text, t->src[1]->type).text, count(&out), 0,
                  KPK_ARGS(a, b, out));
}

/* Gate and factor are two tensors, or the halves of one. */
static bool glu(struct run *run, const struct ggml_tensor *t,
                const struct op *op)
{
    const struct ggml_tensor *a = t->src[0], *b = t->src[1];
    const bool swapped = t->op_params[1] != 0;
    const struct params p = params_of(t, op);
    kpk_ggml_tensor gate = view_of(a), up = view_of(b ? b : a);
    kpk_ggml_tensor out = view_of(t);

    if (!b) {
        char *second = (char *)a->data + (size_t)t->ne[0] * a->nb[0];

        gate.ne[0] = up.ne[0] = out.ne[0];
        *(swapped ? &gate.data : &up.data) = a->data ? second : NULL;
    }
    join_dims(3, (kpk_ggml_tensor *[]){&out, &gate, &up});
    return same_type(t, a) && (!b || same_type(a, b)) &&
           launch(run, named(named_as(t).text, t->type).text, count(&out), 0,
                  KPK_ARGS(gate, up, out, p.v[0], p.v[1]));
}

/* ---- copies ---- */

/* Whether all rows begin at multiples of a word from the tensor's memory. */
static bool rows_align(const struct ggml_tensor *t, size_t word)
{
    return (t->nb[1] | t->nb[2] | t->nb[3] | t->view_offs) % word == 0;
}

/*
 * Two tensors of one type as numbers that have a kernel: blocks and wide
 * numbers are rows of words. Each is joined for itself, unless they are of one
 * shape.
 */
static const char *as_words(const struct ggml_tensor *t,
                            const struct ggml_tensor *x, kpk_ggml_tensor *to,
                            kpk_ggml_tensor *from)
{
    const size_t size = ggml_type_size(t->type);
    const size_t row = ggml_row_size(t->type, t->ne[0]);
    const size_t other = ggml_row_size(t->type, x->ne[0]);
    const size_t word = (size | row | other) % 4 == 0 ? 4 : 2;

    *to = view_of(t);
    *from = view_of(x);
    if (size != word || ggml_is_quantized(t->type)) {
        if (!has_rows(t) || !has_rows(x) || (row | other) % word != 0 ||
            !rows_align(t, word) || !rows_align(x, word))
            return NULL;
        to->ne[0] = (uint32_t)(row / word);
        from->ne[0] = (uint32_t)(other / word);
        to->nb[0] = from->nb[0] = (int64_t)word;
    }
    return word == 4 ? "f32" : "f16";
}

/* Source and result of one shape are joined together. */
static void join_copy(kpk_ggml_tensor *to, kpk_ggml_tensor *from)
{
    if (memcmp(to->ne, from->ne, sizeof(to->ne)) == 0) {
        join_dims(2, (kpk_ggml_tensor *[]){to, from});
    } else {
        join_dims(1, &to);
        join_dims(1, &from);
    }
}

static bool copy_words(struct run *run, const struct ggml_tensor *t,
                       const struct ggml_tensor *x)
{
    kpk_ggml_tensor to, from;
    const char *word = as_words(t, x, &to, &from);
    char name[64];

    if (!word)
        return false;
    join_copy(&to, &from);
    (void)snprintf(name, sizeof(name), "ggml_copy_%s_%s", word, word);
    return launch(run, name, count(&to), 0, KPK_ARGS(from, to));
}

/* One tensor of blocks: as rows that are not chosen. A result that has no gaps
 * may have any shape. */
static bool copy_blocks(struct run *run, const struct ggml_tensor *t,
                        const struct ggml_tensor *x)
{
    const bool encode = ggml_is_quantized(t->type);
    const uint32_t wide = 0;
    struct ggml_tensor shaped = *t, numbers = *x;
    kpk_ggml_tensor from, to;
    const kpk_ggml_tensor ids = {.ne = {1, 1, 1, 1}};

    if (!ggml_are_same_shape(t, x)) {
        if (!ggml_is_contiguous(t) || x->ne[0] % ggml_blck_size(t->type) != 0)
            return false;
        shaped.nb[0] = ggml_type_size(t->type);
        shaped.nb[1] = ggml_row_size(t->type, x->ne[0]);
        for (size_t d = 0; d < 4; d++) {
            shaped.ne[d] = x->ne[d];
            if (d > 1)
                shaped.nb[d] = shaped.nb[d - 1] * (size_t)x->ne[d - 1];
        }
    }
    /* bf16 often lies halfway between two quants of Q8_0, which ggml's code for
     * AVX rounds to even, its reference and the kernel away from zero */
    if (x->type == GGML_TYPE_BF16 &&
        (t->type == GGML_TYPE_Q8_0 ||
         !converted(run, x, GGML_TYPE_F32, &numbers)))
        return false;
    from = view_of(&numbers);
    to = view_of(&shaped);
    if (encode)
        return has_rows(t) && x->ne[0] % 32 == 0 &&
               launch(run,
                      named(named("ggml_set_rows", t->type).text, numbers.type)
                          .text,
                      count(&from), 0, KPK_ARGS(from, ids, to, wide));
    return is_f32(t) && has_rows(x) &&
           launch(run, named("ggml_get_rows", x->type).text, count(&to) / 4, 0,
                  KPK_ARGS(from, ids, to));
}

static bool copy_from(struct run *run, const struct ggml_tensor *t,
                      const struct ggml_tensor *x)
{
    kpk_ggml_tensor to = view_of(t), from = view_of(x);

    if (same_type(t, x) && ggml_is_contiguous(t) && ggml_is_contiguous(x))
        return launch_copy(run, t->data, x->data, ggml_nbytes(t));
    if (same_type(t, x))
        return copy_words(run, t, x);
    if (ggml_is_quantized(t->type) || ggml_is_quantized(x->type))
        return copy_blocks(run, t, x);
    join_copy(&to, &from);
    return launch(run, named(named("ggml_copy", x->type).text, t->type).text,
                  count(&to), 0, KPK_ARGS(from, to));
}

/* CPY's target is src[1]; its output is a view of src[1]. */
static bool copy(struct run *run, const struct ggml_tensor *t,
                 const struct op *op)
{
    (void)op;
    return copy_from(run, t, t->src[0]);
}

/* The part of t that begins at `first` and has the shape of x. */
static struct ggml_tensor part_of(const struct ggml_tensor *t,
                                  const struct ggml_tensor *x,
                                  const int64_t first[4])
{
    struct ggml_tensor part = *t;

    for (size_t d = 0; d < 4; d++) {
        part.ne[d] = x->ne[d];
        if (part.data)
            part.data = (char *)part.data +
                        (size_t)(first[d] / (d ? 1 : ggml_blck_size(t->type))) *
                            t->nb[d];
    }
    return part;
}

static bool concat(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    int64_t first[4] = {0};

    (void)op;
    for (size_t i = 0; i < 2; i++) {
        const struct ggml_tensor part = part_of(t, t->src[i], first);

        if (!copy_from(run, &part, t->src[i]))
            return false;
        first[t->op_params[0]] = t->src[0]->ne[t->op_params[0]];
    }
    return true;
}

static bool repeat(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    const size_t size = ggml_type_size(t->type);
    const char *name = size == 4   ? "ggml_repeat_f32"
                       : size == 2 ? "ggml_repeat_f16"
                                   : NULL;
    kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);

    (void)op;
    join_dims(2, (kpk_ggml_tensor *[]){&out, &x});
    return name && !ggml_is_quantized(t->type) && same_type(t, t->src[0]) &&
           launch(run, name, count(&out), 0, KPK_ARGS(x, out));
}

/* Zeros, then the tensor in their midst. */
static bool pad(struct run *run, const struct ggml_tensor *t,
                const struct op *op)
{
    const int32_t *p = t->op_params;
    const int64_t first[4] = {p[0], p[2], p[4], p[6]};
    const struct ggml_tensor part = part_of(t, t->src[0], first);
    const float none = 0;
    kpk_ggml_tensor out = view_of(t);

    (void)op;
    join_dims(1, (kpk_ggml_tensor *[]){&out});
    return p[8] == 0 && same_type(t, t->src[0]) &&
           launch(run, named("ggml_fill", t->type).text, count(&out), 0,
                  KPK_ARGS(out, out, none, none, none, none)) &&
           copy_from(run, &part, t->src[0]);
}

/* The second tensor is written to, or added to, a part of the first one. */
static bool write_part(struct run *run, const struct ggml_tensor *t,
                       const struct op *op)
{
    const struct ggml_tensor *x = t->src[1];
    const int32_t *p = t->op_params;
    struct ggml_tensor part = *x;
    kpk_ggml_tensor to, from = view_of(x);

    (void)op;
    for (size_t d = 1; d < 4; d++)
        part.nb[d] = (size_t)p[d - 1];
    part.nb[0] = t->nb[0];
    part.view_offs = t->view_offs + (size_t)p[3];
    part.data = t->data ? (char *)t->data + p[3] : NULL;
    to = view_of(&part);
    if (!same_type(t, x) || !copy_from(run, t, t->src[0]))
        return false;
    if (t->op == GGML_OP_SET)
        return copy_from(run, &part, x);
    join_dims(2, (kpk_ggml_tensor *[]){&to, &from});
    return launch(run, named(named("ggml_add", t->type).text, x->type).text,
                  count(&to), 0, KPK_ARGS(to, from, to));
}

/* ---- rows ---- */

static bool norm(struct run *run, const struct ggml_tensor *t,
                 const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);
    const float eps = param_f32(t, (size_t)op->params);

    if (t->op == GGML_OP_RMS_NORM && is_f32(t) && is_f32(t->src[0]) &&
        ggml_is_contiguous(t) && ggml_is_contiguous(t->src[0]))
        return fuse_norm(run, t->src[0], NULL, NULL, NULL, t, eps);
    return is_f32(t) && is_f32(t->src[0]) &&
           launch(run, named(named_as(t).text, t->type).text, count_rows(&out),
                  x.ne[0], KPK_ARGS(x, out, eps));
}

/* Each group of channels becomes a row; the last one may have fewer. */
static bool group_norm(struct run *run, const struct ggml_tensor *t,
                       const struct op *op)
{
    const int64_t groups = t->op_params[0];
    const int64_t channels = groups > 0 ? t->ne[2] / groups : 0;
    const float eps = param_f32(t, (size_t)op->params);
    kpk_ggml_tensor x = view_of(t->src[0]);

    if (!is_f32(t) || !is_f32(t->src[0]) || !ggml_is_contiguous(t) ||
        !ggml_is_contiguous(t->src[0]) || channels * groups != t->ne[2])
        return false;
    x.ne[0] = (uint32_t)(t->ne[0] * t->ne[1] * channels);
    x.ne[1] = (uint32_t)(groups * t->ne[3]);
    x.ne[2] = x.ne[3] = 1;
    x.nb[1] = (int64_t)x.ne[0] * 4;

    kpk_ggml_tensor out = x;

    out.data = t->data;
    return launch(run, "ggml_norm_f32", count_rows(&x), x.ne[0],
                  KPK_ARGS(x, out, eps));
}

static bool sum_rows(struct run *run, const struct ggml_tensor *t,
                     const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);
    const float factor = t->op == GGML_OP_MEAN ? 1 / (float)x.ne[0] : 1;

    (void)op;
    return is_f32(t) && is_f32(t->src[0]) &&
           launch(run, "ggml_sum_rows_f32", count_rows(&out), x.ne[0],
                  KPK_ARGS(x, out, factor));
}

/* The sum of all elements is the sum of the rows' sums. */
static bool sum_all(struct run *run, const struct ggml_tensor *t,
                    const struct op *op)
{
    const float factor = 1;
    kpk_ggml_tensor x = view_of(t->src[0]);
    const kpk_ggml_tensor out = view_of(t);
    kpk_ggml_tensor sums = {.ne = {1, x.ne[1], x.ne[2], x.ne[3]}};

    (void)op;
    sums.data = scratch(run, sizeof(float) * (size_t)count(&sums));
    for (size_t d = 0; d < 4; d++)
        sums.nb[d] = d ? sums.nb[d - 1] * sums.ne[d - 1] : 4;
    /* ggml's CPU code takes other elements where rows have gaps */
    if (!is_f32(t) || !is_f32(t->src[0]) || !has_rows(t->src[0]) ||
        !launch(run, "ggml_sum_rows_f32", count_rows(&sums), x.ne[0],
                KPK_ARGS(x, sums, factor)))
        return false;
    x = sums;
    x.ne[0] = (uint32_t)count(&sums);
    x.ne[1] = x.ne[2] = x.ne[3] = 1;
    return launch(run, "ggml_sum_rows_f32", 1, x.ne[0],
                  KPK_ARGS(x, out, factor));
}

static bool cumsum(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);

    (void)op;
    return is_f32(t) && is_f32(t->src[0]) && has_rows(t) &&
           has_rows(t->src[0]) &&
           launch(run, "ggml_cumsum_f32", count_rows(&x), x.ne[0],
                  KPK_ARGS(x, out));
}

/* Results are numbers of a row, in a row: a row each for the kernel. */
static bool argmax(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]);
    kpk_ggml_tensor out = view_of(t);

    (void)op;
    out.ne[1] = out.ne[0];
    out.nb[1] = out.nb[0];
    out.ne[0] = 1;
    return is_f32(t->src[0]) && t->type == GGML_TYPE_I32 &&
           x.ne[2] * x.ne[3] == 1 && x.ne[0] <= 1 << 24 &&
           launch(run, "ggml_argmax_f32", count_rows(&x), x.ne[0],
                  KPK_ARGS(x, out));
}

/*
 * A row of more than LONG_ROW columns is many blocks' if there are few rows, or
 * if a block cannot hold it: each has PART_COLUMNS.
 */
enum { LONG_ROW = 8192, HELD_ROW = 16384, FEW_ROWS = 64, PART_COLUMNS = 4096 };

static bool soft_max(struct run *run, const struct ggml_tensor *t,
                     const struct op *op)
{
    const struct ggml_tensor *x = t->src[0], *m = t->src[1], *s = t->src[2];
    const kpk_ggml_tensor in = view_of(x), out = view_of(t);
    const kpk_ggml_tensor mask = m ? view_of(m) : (kpk_ggml_tensor){0};
    const void *sinks = s ? s->data : NULL;
    const float scale = param_f32(t, (size_t)op->params);
    const float max_bias = param_f32(t, (size_t)op->params + 1);
    const enum ggml_type type = m ? m->type : GGML_TYPE_F32;
    const uint64_t rows = count_rows(&out);
    const uint32_t parts = (in.ne[0] - 1) / PART_COLUMNS + 1;
    void *sums;

    if (!is_f32(t) || !is_f32(x) ||
        (s && (!is_f32(s) || !ggml_is_contiguous(s))))
        return false;
    if (in.ne[0] <= LONG_ROW || (in.ne[0] <= HELD_ROW && rows > FEW_ROWS))
        return launch(run, named("ggml_soft_max", type).text, rows, in.ne[0],
                      KPK_ARGS(in, mask, sinks, out, scale, max_bias));
    sums = scratch(run, rows * parts * 2 * sizeof(float));
    return launch(run, named("ggml_soft_max_part", type).text, rows * parts, 0,
                  KPK_ARGS(in, mask, sums, parts, scale, max_bias)) &&
           launch(run, named("ggml_soft_max_join", type).text, rows * parts, 0,
                  KPK_ARGS(in, mask, sinks, out, sums, parts, scale, max_bias));
}

/* Writes the indices that sort each row of x to `out`, contiguously. Many
 * blocks sort a long row; SORT_NBYTES of memory limit the rows at a time. */
static bool sort_rows(struct run *run, const struct ggml_tensor *x,
                      bool ascending, void *out)
{
    enum { SORT_NBYTES = 64 << 20 };
    const char *name = ascending ? "asort_asc_f32" : "asort_desc_f32";
    const int64_t rows = ggml_nrows(x);
    const kpk_kernel *kernel;
    uint64_t row_nbytes, nbytes;
    void *workspace;

    if (!is_f32(x) || !ggml_is_contiguous(x) || x->ne[0] > INT32_MAX / 2 ||
        rows > UINT32_MAX ||
        kpk_kernel_get(run->inst, name, &kernel) != KPK_OK ||
        kpk_sort_workspace(name, 1, (uint32_t)x->ne[0], &row_nbytes) != KPK_OK)
        return false;
    nbytes = row_nbytes * (uint64_t)rows;
    if (nbytes > SORT_NBYTES)
        nbytes = row_nbytes > SORT_NBYTES ? row_nbytes : SORT_NBYTES;
    workspace = scratch(run, nbytes);
    return !run->launching ||
           gpu_check(kpk_sort_launch(run->inst, name, x->data, out,
                                     (uint32_t)rows, (uint32_t)x->ne[0],
                                     workspace, nbytes, run->stream),
                     name);
}

static bool argsort(struct run *run, const struct ggml_tensor *t,
                    const struct op *op)
{
    (void)op;
    return sort_rows(run, t->src[0], t->op_params[0] == GGML_SORT_ORDER_ASC,
                     t->data);
}

/* The first indices of rows that are sorted as a whole. */
static bool top_k(struct run *run, const struct ggml_tensor *t,
                  const struct op *op)
{
    const struct ggml_tensor *x = t->src[0];
    struct ggml_tensor sorted = *x;
    kpk_ggml_tensor from, to = view_of(t);

    (void)op;
    sorted.data = scratch(run, ggml_nbytes(x));
    from = view_of(&sorted);
    from.ne[0] = to.ne[0];
    join_dims(2, (kpk_ggml_tensor *[]){&to, &from});
    return sort_rows(run, x, false, sorted.data) &&
           launch(run, "ggml_copy_i32_i32", count(&to), 0, KPK_ARGS(from, to));
}

static bool get_rows(struct run *run, const struct ggml_tensor *t,
                     const struct op *op)
{
    const struct ggml_tensor *m = t->src[0];
    const bool blocks = ggml_is_quantized(m->type);
    const kpk_ggml_tensor from = view_of(m), ids = view_of(t->src[1]);
    const kpk_ggml_tensor out = view_of(t);

    (void)op;
    return t->src[1]->type == GGML_TYPE_I32 && (!blocks || has_rows(m)) &&
           t->type == (m->type == GGML_TYPE_I32 ? m->type : GGML_TYPE_F32) &&
           launch(run, named("ggml_get_rows", m->type).text,
                  count(&out) / (blocks ? 4 : 1), 0, KPK_ARGS(from, ids, out));
}

/* The rows that ids choose are added: all tokens choose from one matrix. */
static bool add_id(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    const struct ggml_tensor *a = t->src[0], *ids = t->src[2];
    kpk_ggml_tensor x = view_of(a), b = view_of(t->src[1]);
    kpk_ggml_tensor chosen = view_of(ids), out = view_of(t), rows = out;

    (void)op;
    b.ne[2] = out.ne[2];
    b.nb[2] = 0;
    rows.data = scratch(run, ggml_nbytes(t));
    if (!is_f32(t) || !is_f32(a) || !is_f32(t->src[1]) ||
        ids->type != GGML_TYPE_I32 || !ggml_is_contiguous(t) || t->ne[3] != 1 ||
        !launch(run, "ggml_get_rows_f32", count(&rows), 0,
                KPK_ARGS(b, chosen, rows)))
        return false;
    join_dims(3, (kpk_ggml_tensor *[]){&out, &x, &rows});
    return launch(run, "ggml_add_f32_f32", count(&out), 0,
                  KPK_ARGS(x, rows, out));
}

/* The node is a view of the cache that it writes to. */
static bool set_rows(struct run *run, const struct ggml_tensor *t,
                     const struct op *op)
{
    const struct ggml_tensor *x = t->src[0], *ids = t->src[1];
    const uint32_t wide = ids->type == GGML_TYPE_I64;
    const kpk_ggml_tensor from = view_of(x), chosen = view_of(ids);
    const kpk_ggml_tensor to = view_of(t);

    (void)op;
    return (wide || ids->type == GGML_TYPE_I32) && has_rows(t) &&
           launch(run,
                  named(named("ggml_set_rows", t->type).text, x->type).text,
                  count(&from), 0, KPK_ARGS(from, chosen, to, wide));
}

/* YaRN's ramp is between the dimensions that turn beta_fast and beta_slow times
 * in n_ctx_orig positions. */
static void rope_ramp(const struct ggml_tensor *t, kpk_ggml_rope *r)
{
    const float n_ctx_orig = (float)t->op_params[4];
    float corr[2];

    for (size_t i = 0; i < 2; i++)
        corr[i] =
            (float)r->n_dims *
            logf(n_ctx_orig / (param_f32(t, 9 + i) * 2 * 3.14159265358979f)) /
            (2 * logf(r->base));
    r->corr_low = fmaxf(0, floorf(corr[0]));
    r->corr_high = fminf((float)r->n_dims - 1, ceilf(corr[1]));
}

/* Reads a node's rotation; false if no kernel supports it. */
static bool rope_of(const struct ggml_tensor *t, kpk_ggml_rope *r)
{
    const struct ggml_tensor *positions = t->src[1];
    const int32_t mode = t->op_params[2];
    const bool vision = mode == GGML_ROPE_TYPE_VISION;

    memset(r, 0, sizeof(*r)); /* compared as bytes */
    *r = (kpk_ggml_rope){.base = param_f32(t, 5),
                         .scale = param_f32(t, 6),
                         .ext = param_f32(t, 7),
                         .attn = param_f32(t, 8),
                         .n_dims = (uint32_t)t->op_params[1],
                         .first = (uint32_t)t->op_params[15],
                         .halves = mode != GGML_ROPE_TYPE_NORMAL,
                         .back = t->op == GGML_OP_ROPE_BACK,
                         .in_turn = mode == GGML_ROPE_TYPE_IMROPE,
                         .restart = vision};
    r->turned = vision ? (uint32_t)t->ne[0] : r->n_dims;
    if (mode & GGML_ROPE_TYPE_MROPE)
        memcpy(r->pairs, &t->op_params[11], sizeof(r->pairs));
    if (!ggml_is_contiguous(positions) || r->n_dims == 0 ||
        (uint64_t)r->first + r->turned > (uint64_t)t->ne[0] ||
        (t->src[2] && !ggml_is_contiguous(t->src[2])) ||
        (mode != GGML_ROPE_TYPE_NORMAL && mode != GGML_ROPE_TYPE_NEOX &&
         mode != GGML_ROPE_TYPE_MROPE && mode != GGML_ROPE_TYPE_IMROPE &&
         !vision))
        return false;
    rope_ramp(t, r);
    return true;
}

static bool rope(struct run *run, const struct ggml_tensor *t,
                 const struct op *op)
{
    const struct ggml_tensor *x = t->src[0];
    const void *positions = t->src[1]->data;
    const void *factors = t->src[2] ? t->src[2]->data : NULL;
    const kpk_ggml_tensor from = view_of(x), out = view_of(t);
    kpk_ggml_rope r;

    (void)op;
    return same_type(t, x) && rope_of(t, &r) &&
           launch(run, named("ggml_rope", t->type).text, count(&out) / 2, 0,
                  KPK_ARGS(from, positions, factors, out, r));
}

/* The table of a node's angles, made if none is there; NULL without launching.
 */
static bool angles_of(struct run *run, const struct ggml_tensor *t,
                      const kpk_ggml_rope *r, const void **table)
{
    const struct angles wanted = {.positions = t->src[1]->data,
                                  .factors = t->src[2] ? t->src[2]->data : NULL,
                                  .tokens = (uint32_t)t->ne[2],
                                  .unused = 0,
                                  .how = *r,
                                  .rope = t};
    /* without the bytes behind the last member */
    const size_t nwanted = offsetof(struct angles, how) + sizeof(*r);
    const uint64_t pairs = (uint64_t)wanted.tokens * (r->turned / 2);
    const size_t nbytes = whole((size_t)pairs * 2 * sizeof(float));
    uint32_t at = 0;

    if (nbytes > run->table_nbytes)
        run->table_nbytes = nbytes;
    while (at < TABLES && at < run->ntables &&
           memcmp(&run->angles[at], &wanted, nwanted) != 0)
        at++;
    if (at < TABLES && at < run->ntables) {
        *table = run->tables ? run->tables + at * run->table_room : NULL;
        return true;
    }
    at = run->ntables++ % TABLES;
    run->angles[at] = wanted;
    *table = run->tables ? run->tables + at * run->table_room : NULL;
    return launch(
        run, "ggml_rope_table_f32", pairs, 0,
        KPK_ARGS(wanted.positions, wanted.factors, *table, wanted.tokens, *r));
}

bool ops_heads_to_cache(struct run *run, const struct group *g,
                        uint64_t threads)
{
    const void *table;
    kpk_ggml_rope r;

    if (!rope_of(g->rope, &r) || !angles_of(run, g->rope, &r, &table))
        return false;
    return g->norms[0] ? launch(run, "ggml_norm_heads_to_cache_f32", threads, 0,
                                KPK_ARGS(g->args, g->norms[0], g->norms[1],
                                         g->eps, table, r))
                       : launch(run, "ggml_heads_to_cache_f32", threads, 0,
                                KPK_ARGS(g->args, table, r));
}

/* ---- places ---- */

/* Keeps the elements of a matrix in a band of diagonals; the others become 0 or
 * -INFINITY. */
static bool band(struct run *run, const struct ggml_tensor *t,
                 const struct op *op)
{
    const int32_t kind = t->op_params[0];
    kpk_ggml_tensor x = view_of(t->src[0]);
    const kpk_ggml_tensor out = view_of(t);
    float other = 0;
    int32_t low = 0, high = 0;

    (void)op;
    if (t->op == GGML_OP_DIAG) { /* a row, which is repeated */
        x.nb[1] = 0;
    } else if (t->op == GGML_OP_DIAG_MASK_INF) {
        low = INT32_MIN;
        high = kind;
        other = -INFINITY;
    } else if (kind == GGML_TRI_TYPE_UPPER_DIAG ||
               kind == GGML_TRI_TYPE_UPPER) {
        low = kind == GGML_TRI_TYPE_UPPER;
        high = INT32_MAX;
    } else {
        low = INT32_MIN;
        high = kind == GGML_TRI_TYPE_LOWER ? -1 : 0;
    }
    return is_f32(t) && is_f32(t->src[0]) &&
           launch(run, "ggml_keep_band_f32", count(&out), 0,
                  KPK_ARGS(x, out, low, high, other));
}

static bool arange(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    const kpk_ggml_tensor out = view_of(t);
    const float start = param_f32(t, 0), step = param_f32(t, 2);

    (void)op;
    return is_f32(t) && launch(run, "ggml_arange_f32", count(&out), 0,
                               KPK_ARGS(out, start, step));
}

static bool roll(struct run *run, const struct ggml_tensor *t,
                 const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);
    kpk_ggml_place from;

    (void)op;
    for (size_t d = 0; d < 4; d++) {
        const int64_t n = t->ne[d], shift = t->op_params[d] % n;

        from.i[d] = (uint32_t)((n - shift) % n);
    }
    return is_f32(t) && is_f32(t->src[0]) &&
           launch(run, "ggml_roll_f32", count(&out), 0, KPK_ARGS(x, out, from));
}

static bool timestep_embedding(struct run *run, const struct ggml_tensor *t,
                               const struct op *op)
{
    const kpk_ggml_tensor x = view_of(t->src[0]), out = view_of(t);
    const uint32_t dim = (uint32_t)t->op_params[0];
    const float period = (float)t->op_params[1];

    (void)op;
    return is_f32(t) && is_f32(t->src[0]) && dim > 1 &&
           launch(run, "ggml_timestep_embedding_f32", count(&out), 0,
                  KPK_ARGS(x, out, dim, period));
}

static bool windows(struct run *run, const struct ggml_tensor *t,
                    const struct op *op)
{
    (void)op;
    return image(run, t);
}

/* ---- products ---- */

static bool product(struct run *run, const struct ggml_tensor *t,
                    const struct op *op)
{
    (void)op;
    return mul_mat(run, t);
}
static bool product_id(struct run *run, const struct ggml_tensor *t,
                       const struct op *op)
{
    (void)op;
    return mul_mat_id(run, t);
}
static bool attend(struct run *run, const struct ggml_tensor *t,
                   const struct op *op)
{
    (void)op;
    return attention(run, t);
}

/* ---- the table ---- */

/* clang-format off */
#define TABLE(X)                                    \
    /* operation             function    params */  \
    X(GGML_OP_ADD,            combine,    NONE)     \
    X(GGML_OP_SUB,            combine,    NONE)     \
    X(GGML_OP_MUL,            combine,    NONE)     \
    X(GGML_OP_DIV,            combine,    NONE)     \
    X(GGML_OP_SQR,            map,        NONE)     \
    X(GGML_OP_SQRT,           map,        NONE)     \
    X(GGML_OP_LOG,            map,        NONE)     \
    X(GGML_OP_SIN,            map,        NONE)     \
    X(GGML_OP_COS,            map,        NONE)     \
    X(GGML_OP_CLAMP,          map,        0)        \
    X(GGML_OP_LEAKY_RELU,     map,        0)        \
    X(GGML_OP_SCALE,          map,        0)        \
    X(GGML_OP_FILL,           map,        0)        \
    X(GGML_OP_UNARY,          map,        1)        \
    X(GGML_OP_GLU,            glu,        2)        \
    X(GGML_OP_CPY,            copy,       NONE)     \
    X(GGML_OP_DUP,            copy,       NONE)     \
    X(GGML_OP_CONT,           copy,       NONE)     \
    X(GGML_OP_CONCAT,         concat,     NONE)     \
    X(GGML_OP_REPEAT,         repeat,     NONE)     \
    X(GGML_OP_PAD,            pad,        NONE)     \
    X(GGML_OP_SET,            write_part, NONE)     \
    X(GGML_OP_ACC,            write_part, NONE)     \
    X(GGML_OP_ADD_ID,         add_id,     NONE)     \
    X(GGML_OP_NORM,           norm,       0)        \
    X(GGML_OP_RMS_NORM,       norm,       0)        \
    X(GGML_OP_L2_NORM,        norm,       0)        \
    X(GGML_OP_GROUP_NORM,     group_norm, 1)        \
    X(GGML_OP_SUM_ROWS,       sum_rows,   NONE)     \
    X(GGML_OP_MEAN,           sum_rows,   NONE)     \
    X(GGML_OP_SUM,            sum_all,    NONE)     \
    X(GGML_OP_CUMSUM,         cumsum,     NONE)     \
    X(GGML_OP_ARGMAX,         argmax,     NONE)     \
    X(GGML_OP_SOFT_MAX,       soft_max,   0)        \
    X(GGML_OP_ROPE,           rope,       NONE)     \
    X(GGML_OP_ROPE_BACK,      rope,       NONE)     \
    X(GGML_OP_TOP_K,          top_k,      NONE)     \
    X(GGML_OP_ARGSORT,        argsort,    NONE)     \
    X(GGML_OP_GET_ROWS,       get_rows,   NONE)     \
    X(GGML_OP_SET_ROWS,       set_rows,   NONE)     \
    X(GGML_OP_TRI,            band,       NONE)     \
    X(GGML_OP_DIAG,           band,       NONE)     \
    X(GGML_OP_DIAG_MASK_INF,  band,       NONE)     \
    X(GGML_OP_ARANGE,         arange,     NONE)     \
    X(GGML_OP_ROLL,           roll,       NONE)     \
    X(GGML_OP_IM2COL,         windows,    NONE)     \
    X(GGML_OP_POOL_1D,        windows,    NONE)     \
    X(GGML_OP_POOL_2D,        windows,    NONE)     \
    X(GGML_OP_UPSCALE,        windows,    NONE)     \
    X(GGML_OP_CONV_TRANSPOSE_1D, windows, NONE)     \
    X(GGML_OP_TIMESTEP_EMBEDDING, timestep_embedding, NONE) \
    X(GGML_OP_MUL_MAT,        product,    NONE)     \
    X(GGML_OP_MUL_MAT_ID,     product_id, NONE)     \
    X(GGML_OP_FLASH_ATTN_EXT, attend,     NONE)
/* clang-format on */

static const struct op table[GGML_OP_COUNT] = {
#define X(op, function, params) [op] = {function, params},
    TABLE(X)
#undef X
};

bool ops_node(struct run *run, const struct ggml_tensor *node)
{
    const struct op *op = node->op < GGML_OP_COUNT ? &table[node->op] : NULL;

    run->scratch_used = 0;
    run->waits = false;
    return op && op->serve && fits(node) && op->serve(run, node, op);
}
