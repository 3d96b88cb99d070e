/* launch.c - tensors and launches, for all operations */
#include "launch.h"

#include "base/gguf_formats.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool launch(const struct run *run, const char *name, uint64_t n,
            uint64_t columns, const kpk_arg *args, size_t nargs)
{
    return launch_planes(run, name, n, columns, 1, args, nargs);
}

/*
 * Workgroups of a plane in a compact grid, which loop over its rows. Up to
 * WHOLE_PLANES planes' workgroups run at once, so all planes advance side by
 * side, and a matrix that several planes read comes from memory once.
 */
enum { WHOLE_PLANES = 16 };

static uint32_t shared_by_planes(uint32_t groups, uint64_t planes)
{
    return planes <= WHOLE_PLANES
               ? groups
               : (uint32_t)((groups * (uint64_t)WHOLE_PLANES - 1) / planes + 1);
}

bool launch_planes(const struct run *run, const char *name, uint64_t n,
                   uint64_t columns, uint32_t planes, const kpk_arg *args,
                   size_t nargs)
{
    const bool early = !run->large && !run->waits && !run->no_early;
    kpk_launch_options options = {.stream = run->stream,
                                  .flags = early ? KPK_LAUNCH_EARLY : 0};
    const kpk_kernel *kernel;

    if (kpk_kernel_get(run->inst, name, &kernel) != KPK_OK ||
        kpk_kernel_shape(kernel, n, columns, &options.shape) != KPK_OK)
        return false;
    options.shape.grid[2] = planes;
    if (planes > 1 && options.shape.grid[0] < n)
        options.shape.grid[0] =
            shared_by_planes(options.shape.grid[0], planes * columns);
    return !run->launching ||
           gpu_check(kpk_launch_ex(kernel, &options, args, nargs), name);
}

bool is_constant(const struct ggml_tensor *t)
{
    const struct ggml_tensor *all = t->view_src ? t->view_src : t;

    return all->op == GGML_OP_NONE && all->buffer &&
           all->buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

bool launch_copy(const struct run *run, void *to, const void *from,
                 size_t nbytes)
{
    return !run->launching || to == from ||
           gpu_check(kpk_copy_async(run->inst, to, from, nbytes, run->stream),
                     "a copy");
}

size_t whole(size_t nbytes)
{
    return (nbytes + 255) / 256 * 256;
}

void *scratch(struct run *run, size_t nbytes)
{
    const size_t first = run->scratch_used;

    run->scratch_used += whole(nbytes);
    if (run->scratch_used > run->scratch_nbytes)
        run->scratch_nbytes = run->scratch_used;
    return run->scratch ? run->scratch + first : NULL;
}

bool shared_make(struct run *run, const struct ggml_tensor *of, size_t nbytes,
                 int32_t uses)
{
    if (run->shared_uses > 0)
        return false;
    nbytes = whole(nbytes);
    if (nbytes > run->shared_nbytes)
        run->shared_nbytes = nbytes;
    run->shared_of = of;
    run->shared_uses = uses;
    return true;
}

void *shared(struct run *run, const struct ggml_tensor *of, size_t nbytes,
             bool *made)
{
    *made = run->shared_of == of;
    if (*made && run->shared_uses > 0)
        run->shared_uses--;
    if (!*made && (!run->fusing || !shared_make(run, of, nbytes, 0)))
        return scratch(run, nbytes);
    return run->shared;
}

void *sorted_rows(struct run *run, const struct ggml_tensor *ids, size_t nbytes,
                  bool *made)
{
    *made = run->fusing && run->sorted_of == ids && run->sorted_for == nbytes;
    run->sorted_for = nbytes; /* gives the number of experts */
    nbytes = whole(nbytes);
    if (nbytes > run->sorted_nbytes)
        run->sorted_nbytes = nbytes;
    run->sorted_of = ids;
    return run->sorted;
}

void forget_made_of(struct run *run, const struct ggml_tensor *writes)
{
    if (run->sorted_of && overlap(run->sorted_of, writes))
        run->sorted_of = NULL;
    if (run->shared_of && run->shared_uses == 0 &&
        overlap(run->shared_of, writes))
        run->shared_of = NULL;
    for (uint32_t i = 0; i < TABLES && i < run->ntables; i++) {
        struct angles *a = &run->angles[i];

        if (a->tokens > 0 &&
            (overlap(a->rope->src[1], writes) ||
             (a->rope->src[2] && overlap(a->rope->src[2], writes))))
            a->tokens = 0; /* no node has none */
    }
}

/* ---- names ---- */

/* Cases are the table's numbers, which are ggml's: ggml's headers may be older
 * than a row. */
bool is_low_bit(enum ggml_type type)
{
    switch ((int)type) {
#define X(name, type, number, ...) case number:
        GGUF_LOW_BIT(X)
#undef X
        return true;
    default:
        return false;
    }
}

const char *type_name(enum ggml_type type)
{
    switch ((int)type) {
    case GGML_TYPE_F32:
        return "f32";
    case GGML_TYPE_I32:
        return "i32";
#define X(name, type, number, ...)                                             \
    case number:                                                               \
        return #name;
        GGUF_FLOAT_WEIGHTS(X)
        GGUF_LOW_BIT(X)
#undef X
#define X(name, lower, short, type, number, ...)                               \
    case number:                                                               \
        return #name;
        GGUF_WEIGHTS(X)
#undef X
    default:
        return NULL;
    }
}

struct kernel_name named(const char *before, enum ggml_type type)
{
    struct kernel_name name = {""};
    const char *suffix = type_name(type);

    if (suffix)
        (void)snprintf(name.text, sizeof(name.text), "%s_%s", before, suffix);
    return name;
}

struct kernel_name named_as(const struct ggml_tensor *t)
{
    struct kernel_name name;

    (void)snprintf(name.text, sizeof(name.text), "ggml_%s", ggml_op_desc(t));
    for (char *c = name.text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

/* ---- tensors ---- */

bool is_nothing(const struct ggml_tensor *node)
{
    return node->op == GGML_OP_NONE || node->op == GGML_OP_RESHAPE ||
           node->op == GGML_OP_VIEW || node->op == GGML_OP_PERMUTE ||
           node->op == GGML_OP_TRANSPOSE || ggml_is_empty(node);
}

bool is_f32(const struct ggml_tensor *t)
{
    return t->type == GGML_TYPE_F32;
}

bool same_type(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    return a->type == b->type;
}

bool has_rows(const struct ggml_tensor *t)
{
    return t->nb[0] == ggml_type_size(t->type);
}

bool is_matrix(const struct ggml_tensor *t)
{
    return has_rows(t) && t->nb[1] == ggml_row_size(t->type, t->ne[0]);
}

const char *at(const struct ggml_tensor *t, int64_t i2, int64_t i3)
{
    return t->data ? (const char *)t->data + (size_t)i2 * t->nb[2] +
                         (size_t)i3 * t->nb[3]
                   : NULL;
}

float param_f32(const struct ggml_tensor *t, size_t i)
{
    float value;

    memcpy(&value, &t->op_params[i], sizeof(value));
    return value;
}

bool overlap(const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    const char *x = a->data, *y = b->data;

    return x < y + ggml_nbytes(b) && y < x + ggml_nbytes(a);
}

bool fits(const struct ggml_tensor *t)
{
    return ggml_nelements(t) <= INT32_MAX;
}

kpk_ggml_tensor view_of(const struct ggml_tensor *t)
{
    kpk_ggml_tensor v = {.data = t->data};

    for (size_t d = 0; d < 4; d++) {
        v.ne[d] = (uint32_t)t->ne[d];
        v.nb[d] = (int64_t)t->nb[d];
    }
    return v;
}

uint64_t count_rows(const kpk_ggml_tensor *v)
{
    return (uint64_t)v->ne[1] * v->ne[2] * v->ne[3];
}

uint64_t count(const kpk_ggml_tensor *v)
{
    return v->ne[0] * count_rows(v);
}

static void set_dim(kpk_ggml_tensor *v, size_t d, uint32_t ne, int64_t nb)
{
    v->ne[d] = ne;
    v->nb[d] = nb;
}

/* Whether dimension d is the continuation of dimension `before`. */
static bool continues(const kpk_ggml_tensor *v, const kpk_ggml_tensor *to,
                      size_t before, size_t d)
{
    return v->ne[before] == to->ne[before] && v->ne[d] == to->ne[d] &&
           v->nb[d] == v->nb[before] * v->ne[before];
}

void join_dims(size_t n, kpk_ggml_tensor *const *views)
{
    kpk_ggml_tensor *to = views[0];
    size_t last = 0;

    for (size_t i = 1; i < n; i++)
        for (size_t d = 0; d < 4; d++)
            if (views[i]->ne[d] == 1)
                set_dim(views[i], d, to->ne[d], 0);
    for (size_t d = 1; d < 4; d++) {
        bool joins = true;

        if (to->ne[d] == 1)
            continue;
        for (size_t i = 0; i < n; i++)
            joins = joins && continues(views[i], to, last, d);
        if (!joins && to->ne[last] != 1)
            last++;
        for (size_t i = n; i-- > 0;) /* the first one is asked to the end */
            if (joins)
                views[i]->ne[last] *= views[i]->ne[d];
            else
                set_dim(views[i], last, views[i]->ne[d], views[i]->nb[d]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t d = last + 1; d < 4; d++)
            set_dim(views[i], d, 1, 0);
}

bool converted(struct run *run, const struct ggml_tensor *x,
               enum ggml_type type, struct ggml_tensor *out)
{
    kpk_ggml_tensor from = view_of(x), to;

    if (!fits(x))
        return false;
    *out = *x;
    out->type = type;
    out->nb[0] = ggml_type_size(type);
    for (size_t d = 1; d < 4; d++)
        out->nb[d] = out->nb[d - 1] * (size_t)x->ne[d - 1];
    out->data = scratch(run, out->nb[3] * (size_t)x->ne[3]);
    to = view_of(out);
    if (ggml_is_quantized(x->type)) {
        const kpk_ggml_tensor ids = {.ne = {1, 1, 1, 1}};

        return type == GGML_TYPE_F32 && has_rows(x) &&
               launch(run, named("ggml_get_rows", x->type).text, count(&to) / 4,
                      0, KPK_ARGS(from, ids, to));
    }
    join_dims(2, (kpk_ggml_tensor *[]){&to, &from});
    return launch(run, named(named("ggml_copy", x->type).text, type).text,
                  count(&to), 0, KPK_ARGS(from, to));
}
