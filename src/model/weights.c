/* weights.c - a file's tensors as a model's weights, on its devices */
#include "weights.h"
#include "layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file and model of a load, and its progress. */
struct loader {
    const struct gguf *gguf;
    struct model *model;
    bool *used;      /* tensors of the file */
    uint8_t *packed; /* room for PACKED_NBYTES */
    uint64_t done, total;
    struct fault *fault;
};

enum { PACKED_NBYTES = 16 << 20 };

/* A device's part of a tensor of the file: rows of it, and some columns of
 * these. */
struct part {
    const struct gguf_tensor *t; /* NULL: nothing */
    const uint8_t *data;
    uint32_t rows, columns;
    uint64_t row_nbytes, pitch; /* of the part's rows; from row to row */
};

/* Columns are whole blocks. */
static struct part part_of(const struct gguf_tensor *t, uint32_t row,
                           uint32_t rows, uint32_t column, uint32_t columns)
{
    const struct tensor_format *f = t->format;
    const uint64_t pitch = t->dim[0] / f->elems * f->nbytes;

    return (struct part){t,
                         t->data + row * pitch +
                             (uint64_t)column / f->elems * f->nbytes,
                         rows,
                         columns,
                         (uint64_t)columns / f->elems * f->nbytes,
                         pitch};
}

static void count_done(struct loader *l, uint64_t nbytes)
{
    const struct model_options *options = &l->model->options;

    /* devices of a team have some tensors each */
    l->done = l->total - l->done < nbytes ? l->total : l->done + nbytes;
    if (options->progress)
        options->progress(options->progress_context, l->done, l->total);
}

/* Copies rows. Rows that are not adjacent are packed first, because each copy
 * takes as long as many bytes. */
static bool copy_rows(struct loader *l, struct gpu *gpu, uint8_t *to,
                      const struct part *p)
{
    const bool apart = p->pitch != p->row_nbytes;
    const uint64_t all = p->rows * p->row_nbytes;
    const uint64_t most =
        apart ? PACKED_NBYTES / p->row_nbytes * p->row_nbytes : PACKED_NBYTES;

    for (uint64_t at = 0, n; at < all; at += n) {
        const uint8_t *from = apart ? l->packed : p->data + at;

        n = all - at < most ? all - at : most;
        for (uint64_t i = 0; apart && i < n; i += p->row_nbytes)
            memcpy(l->packed + i, p->data + (at + i) / p->row_nbytes * p->pitch,
                   p->row_nbytes);
        if (!gpu_write(gpu, to + at, from, n, l->fault))
            return false;
        count_done(l, n);
    }
    return true;
}

/* Biases and norms of F16 or BF16, which become F32. */
static bool is_widened(const struct gguf_tensor *t)
{
    return t->dim[1] == 1 && t->format->elems == 1 && t->format->id != 0;
}

/* The size of a part in device memory. */
static uint64_t device_nbytes(const struct part *p)
{
    return p->rows * p->row_nbytes * (is_widened(p->t) ? 2 : 1);
}

/* Copies a part to device memory of device_nbytes(). */
static bool copy_part(struct loader *l, struct gpu *gpu, const struct part *p,
                      void *to, struct matrix *m)
{
    const struct gguf_tensor *t = p->t;
    const size_t n = (size_t)p->rows * p->columns;
    void *data = to;
    bool good;

    m->format = is_widened(t) ? tensor_format_of(0) : t->format;
    m->data = to;
    m->rows = p->rows;
    m->columns = p->columns;
    m->row_nbytes = device_nbytes(p) / p->rows;
    if (!is_widened(t))
        return copy_rows(l, gpu, to, p);
    good =
        gpu_alloc(gpu, p->rows * p->row_nbytes, "weights", &data, l->fault) &&
        copy_rows(l, gpu, data, p) &&
        op_widen(gpu, t->format->id == 30, data, n, to, l->fault) &&
        gpu_wait(gpu, l->fault);
    return good && gpu_free(gpu, data, l->fault);
}

/* A tensor that the model has, [rows, columns], rows 1: one of numbers; *out
 * is NULL if it is optional and not there. */
static bool find_tensor(struct loader *l, const char *name, uint32_t rows,
                        uint32_t columns, bool optional,
                        const struct gguf_tensor **out)
{
    const struct gguf *g = l->gguf;
    const struct gguf_tensor *t = gguf_find_tensor(g, name);

    *out = t;
    if (!t)
        return optional ||
               fail(l->fault,
                    "%s has no tensor %s, which architecture %s needs: it is "
                    "damaged, or one of several files",
                    g->path, name, l->model->sizes.arch->name);
    if (t->dim[0] != columns || t->dim[1] != rows || t->dim[2] != 1 ||
        t->dim[3] != 1)
        return fail(l->fault,
                    "%s: tensor %s is %" PRIu64 " x %" PRIu64
                    ", by the model's sizes it should be %" PRIu32
                    " x %" PRIu32,
                    g->path, name, t->dim[1], t->dim[0], rows, columns);
    if (!op_takes(t->format) || (rows == 1 && t->format->elems > 1))
        return fail(l->fault,
                    "%s: tensor %s has type %s, for which there are no "
                    "kernels%s",
                    g->path, name, t->format->name,
                    rows == 1 ? " here: F32, F16 and BF16 can be used"
                              : ": requantize the model, to Q4_K or Q8_0 for "
                                "instance");
    l->used[t - g->tensors] = true;
    return true;
}

/* A step's weights: a device's part. */
static bool find_weights(struct loader *l, const struct layer *layer,
                         size_t step, struct part *out)
{
    const struct step *p = &layer_steps[step];
    const struct sizes *all = &l->model->sizes;
    const struct shard *shard = &l->model->shards[layer->shard];
    const struct sizes *own = &shard->slice.sizes;
    const struct sizes *before = &shard->slice.before;
    const bool product = p->op == PRODUCT, whole = p->op == HEAD_NORM;
    const enum value in = product ? p->in : p->out;
    const struct gguf_tensor *t;
    char name[96];

    out->t = NULL;
    if (!p->tensor || !((p->needed | p->may) & all->arch->bit))
        return true;
    (void)snprintf(name, sizeof(name), "blk.%" PRIu32 ".%s", layer->number,
                   p->tensor);
    if (!find_tensor(l, name, product ? width_of(all, p->out) : 1,
                     whole ? all->head : width_of(all, in),
                     !(p->needed & all->arch->bit), &t))
        return false;
    /* one device's part of a sum has the sum's bias */
    if (!t || (p->op == BIAS && shard->rank > 0))
        return true;
    *out = part_of(t, product ? width_of(before, p->out) : 0,
                   product ? width_of(own, p->out) : 1,
                   whole ? 0 : width_of(before, in),
                   whole ? all->head : width_of(own, in));
    return true;
}

/* Whether two steps' weights lie one behind the other, for a launch that does
 * both: see joined(). Biases become F32, whatever they are. */
static bool are_neighbours(const struct part p[], size_t i)
{
    const struct step *a = &layer_steps[i], *b = a + 1;

    if (i + 1 == NSTEPS || !p[i].t || !p[i + 1].t || a->op != b->op)
        return false;
    return a->op == HEAD_BIAS || (a->op == PRODUCT && a->in == b->in &&
                                  p[i].t->format == p[i + 1].t->format &&
                                  device_nbytes(&p[i]) % 16 == 0);
}

/* Q, K and V have biases together, or none. */
static bool check_biases(const struct loader *l, const struct layer *layer,
                         const struct part p[])
{
    for (size_t i = Q_BIAS; i < Q_NORM; i++)
        if (!p[i].t != !p[Q_BIAS].t)
            return fail(l->fault,
                        "%s: layer %" PRIu32 " has some of attn_q.bias, "
                        "attn_k.bias and attn_v.bias, and not all",
                        l->gguf->path, layer->number);
    return true;
}

/* A device's part of a layer. */
static bool load_layer(struct loader *l, struct layer *layer)
{
    struct gpu *gpu = l->model->shards[layer->shard].gpu;
    struct part p[NSTEPS];

    for (size_t i = 0; i < NSTEPS; i++)
        if (!find_weights(l, layer, i, &p[i]))
            return false;
    if (!check_biases(l, layer, p))
        return false;
    for (size_t i = 0, end; i < NSTEPS; i = end) {
        uint64_t nbytes = 0;
        void *to = NULL;

        for (end = i; end == i || are_neighbours(p, end - 1); end++)
            nbytes += p[end].t ? device_nbytes(&p[end]) : 0;
        if (nbytes && !gpu_alloc(gpu, nbytes, "weights", &to, l->fault))
            return false;
        for (uint8_t *at = to; i < end && p[i].t; at += device_nbytes(&p[i++]))
            if (!copy_part(l, gpu, &p[i], at, &layer->weights[i]))
                return false;
    }
    return true;
}

/* Refuses a model with tensors that no step uses: its answers would be wrong.
 */
static bool check_unused(const struct loader *l)
{
    const struct gguf *g = l->gguf;

    for (uint64_t i = 0; i < g->ntensors; i++)
        if (!l->used[i] &&
            (const void *)g->tensors[i].data != l->model->sizes.factors)
            return fail(l->fault,
                        "%s has tensor " TEXT_FORMAT
                        ", which this program has no use for in architecture "
                        "%s",
                        g->path, TEXT_ARGS(g->tensors[i].name),
                        l->model->sizes.arch->name);
    return true;
}

/* Allocates a matrix and loads rows into it. */
static bool load(struct loader *l, struct gpu *gpu, const struct gguf_tensor *t,
                 uint32_t row, uint32_t rows, struct matrix *out)
{
    const uint32_t columns = (uint32_t)t->dim[0];
    const struct part p = part_of(t, row, rows, 0, columns);
    void *to;

    return gpu_alloc(gpu, device_nbytes(&p), "weights", &to, l->fault) &&
           copy_part(l, gpu, &p, to, out);
}

/* A device's tensors besides layers; embeds and output may be one tensor. */
static bool load_ends(struct loader *l, size_t number,
                      const struct gguf_tensor *embeds,
                      const struct gguf_tensor *norm,
                      const struct gguf_tensor *output)
{
    const struct model *model = l->model;
    const uint32_t tokens = model->sizes.vocabulary;
    struct shard *shard = &l->model->shards[number];
    const uint32_t first = shard->slice.before.vocabulary;
    const uint32_t own = shard->slice.sizes.vocabulary;
    const bool begins = begins_run(model, number);

    if (begins && !load(l, shard->gpu, embeds, 0, tokens, &shard->embeds))
        return false;
    if (!ends_run(model, number))
        return true;
    if (!load(l, shard->gpu, norm, 0, 1, &shard->output_norm))
        return false;
    if (!begins || embeds != output)
        return load(l, shard->gpu, output, first, own, &shard->output);
    /* tied weights on one device share one matrix */
    shard->output = shard->embeds;
    shard->output.rows = own;
    shard->output.data =
        (const uint8_t *)shard->embeds.data + first * shard->embeds.row_nbytes;
    return true;
}

static bool load_all(struct loader *l)
{
    struct model *model = l->model;
    const struct sizes *s = &model->sizes;
    const struct gguf_tensor *embeds, *norm, *output;
    const char *name = gguf_find_tensor(l->gguf, "output.weight")
                           ? "output.weight"
                           : "token_embd.weight";

    if (!find_tensor(l, "token_embd.weight", s->vocabulary, s->width, false,
                     &embeds) ||
        !find_tensor(l, "output_norm.weight", 1, s->width, false, &norm) ||
        !find_tensor(l, name, s->vocabulary, s->width, false, &output))
        return false;
    for (size_t i = 0; i < model->nshards; i++)
        if (!load_ends(l, i, embeds, norm, output))
            return false;
    for (size_t i = 0; i < s->layers * model->parts; i++)
        if (!load_layer(l, &model->layers[i]))
            return false;
    return check_unused(l);
}

bool load_weights(const struct gguf *gguf, struct model *model,
                  struct fault *fault)
{
    struct loader l = {.gguf = gguf, .model = model, .fault = fault};
    bool good;

    l.used = calloc(gguf->ntensors + 1, sizeof(*l.used));
    l.packed = malloc(PACKED_NBYTES);
    good = (l.used && l.packed) ||
           fail(fault, "no memory for the tensors of %s", gguf->path);
    for (uint64_t i = 0; i < gguf->ntensors; i++)
        l.total += gguf->tensors[i].nbytes;
    if (model->options.ranks) /* other processes have the rest */
        l.total /= model->options.ranks;
    good = good && load_all(&l);
    if (good)
        count_done(&l, l.total);
    free(l.used);
    free(l.packed);
    return good;
}
