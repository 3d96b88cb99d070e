/* weights.c - a file's tensors as a model's weights, on its devices */
#include "weights.h"
#include "layers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The file and model of a load, and its progress. */
struct loader {
    const struct gguf *gguf;
    struct model *model;
    bool *used; /* tensors of the file */
    uint64_t done, total;
    struct fault *fault;
};

static bool copy_bytes(struct loader *l, struct gpu *gpu, uint8_t *to,
                       const uint8_t *from, uint64_t nbytes)
{
    const struct model_options *options = &l->model->options;

    for (uint64_t at = 0, n; at < nbytes; at += n) {
        n = nbytes - at < 16U << 20 ? nbytes - at : 16U << 20;
        if (!gpu_write(gpu, to + at, from + at, n, l->fault))
            return false;
        l->done += n;
        if (options->progress)
            options->progress(options->progress_context, l->done, l->total);
    }
    return true;
}

/* Biases and norms of F16 or BF16, which become F32. */
static bool is_widened(const struct gguf_tensor *t)
{
    return t->dim[1] == 1 && t->format->elems == 1 && t->format->id != 0;
}

/* A tensor's bytes on a device. */
static uint64_t device_nbytes(const struct gguf_tensor *t)
{
    return is_widened(t) ? 2 * t->nbytes : t->nbytes;
}

/* To device memory of device_nbytes(). */
static bool copy_tensor(struct loader *l, struct gpu *gpu,
                        const struct gguf_tensor *t, void *to, struct matrix *m)
{
    const size_t n = (size_t)m->rows * m->columns;
    void *data = to;
    bool good;

    m->format = is_widened(t) ? tensor_format_of(0) : t->format;
    m->data = to;
    m->row_nbytes = device_nbytes(t) / m->rows;
    if (!is_widened(t))
        return copy_bytes(l, gpu, to, t->data, t->nbytes);
    good = gpu_alloc(gpu, t->nbytes, "weights", &data, l->fault) &&
           copy_bytes(l, gpu, data, t->data, t->nbytes) &&
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

/* Loads a matrix with an allocation of its own. */
static bool load(struct loader *l, size_t shard, const char *name,
                 uint32_t rows, uint32_t columns, struct matrix *out)
{
    struct gpu *gpu = l->model->shards[shard].gpu;
    const struct gguf_tensor *t;
    void *to;

    out->rows = rows;
    out->columns = columns;
    return find_tensor(l, name, rows, columns, false, &t) &&
           gpu_alloc(gpu, device_nbytes(t), "weights", &to, l->fault) &&
           copy_tensor(l, gpu, t, to, out);
}

/* A step's weights, and their sizes. */
static bool find_weights(struct loader *l, uint32_t layer, size_t step,
                         struct matrix *m, const struct gguf_tensor **out)
{
    const struct step *p = &layer_steps[step];
    const struct sizes *s = &l->model->sizes;
    char name[96];

    *out = NULL;
    if (!p->tensor || !((p->needed | p->may) & s->arch->bit))
        return true;
    m->rows = p->op == PRODUCT ? width_of(s, p->out) : 1;
    m->columns = p->op == PRODUCT     ? width_of(s, p->in)
                 : p->op == HEAD_NORM ? s->head
                                      : width_of(s, p->out);
    (void)snprintf(name, sizeof(name), "blk.%" PRIu32 ".%s", layer, p->tensor);
    return find_tensor(l, name, m->rows, m->columns,
                       !(p->needed & s->arch->bit), out);
}

/* Whether two steps' weights lie one behind the other, for a launch that does
 * both: see joined(). Biases become F32, whatever they are. */
static bool are_neighbours(const struct gguf_tensor *const t[], size_t i)
{
    const struct step *a = &layer_steps[i], *b = a + 1;

    if (i + 1 == NSTEPS || !t[i] || !t[i + 1] || a->op != b->op)
        return false;
    return a->op == HEAD_BIAS ||
           (a->op == PRODUCT && a->in == b->in &&
            t[i]->format == t[i + 1]->format && device_nbytes(t[i]) % 16 == 0);
}

/* Q, K and V have biases together, or none. */
static bool check_biases(const struct loader *l, uint32_t layer,
                         const struct gguf_tensor *const t[])
{
    for (size_t i = Q_BIAS; i < Q_NORM; i++)
        if (!t[i] != !t[Q_BIAS])
            return fail(l->fault,
                        "%s: layer %" PRIu32 " has some of attn_q.bias, "
                        "attn_k.bias and attn_v.bias, and not all",
                        l->gguf->path, layer);
    return true;
}

static bool load_layer(struct loader *l, uint32_t number)
{
    struct layer *layer = &l->model->layers[number];
    struct gpu *gpu = l->model->shards[layer->shard].gpu;
    const struct gguf_tensor *t[NSTEPS];

    for (size_t i = 0; i < NSTEPS; i++)
        if (!find_weights(l, number, i, &layer->weights[i], &t[i]))
            return false;
    if (!check_biases(l, number, t))
        return false;
    for (size_t i = 0, end; i < NSTEPS; i = end) {
        uint64_t nbytes = 0;
        void *to = NULL;

        for (end = i; end == i || are_neighbours(t, end - 1); end++)
            nbytes += t[end] ? device_nbytes(t[end]) : 0;
        if (nbytes && !gpu_alloc(gpu, nbytes, "weights", &to, l->fault))
            return false;
        for (uint8_t *at = to; i < end && t[i]; at += device_nbytes(t[i++]))
            if (!copy_tensor(l, gpu, t[i], at, &layer->weights[i]))
                return false;
    }
    return true;
}

/* Tensors that no step uses would change what the model says. */
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

static bool load_all(struct loader *l)
{
    struct model *model = l->model;
    const struct sizes *s = &model->sizes;
    const size_t last = model->nshards - 1;
    const char *output = gguf_find_tensor(l->gguf, "output.weight")
                             ? "output.weight"
                             : "token_embd.weight";

    if (!load(l, 0, "token_embd.weight", s->vocabulary, s->width,
              &model->embeds) ||
        !load(l, last, "output_norm.weight", 1, s->width, &model->output_norm))
        return false;
    for (uint32_t i = 0; i < s->layers; i++)
        if (!load_layer(l, i))
            return false;
    /* tied weights on one device share one matrix */
    if (*output == 't' && last == 0) {
        model->output = model->embeds;
        return check_unused(l);
    }
    return load(l, last, output, s->vocabulary, s->width, &model->output) &&
           check_unused(l);
}

bool load_weights(const struct gguf *gguf, struct model *model,
                  struct fault *fault)
{
    struct loader l = {.gguf = gguf, .model = model, .fault = fault};
    bool good;

    l.used = calloc(gguf->ntensors + 1, sizeof(*l.used));
    if (!l.used)
        return fail(fault, "no memory for the tensors of %s", gguf->path);
    for (uint64_t i = 0; i < gguf->ntensors; i++)
        l.total += gguf->tensors[i].nbytes;
    good = load_all(&l);
    free(l.used);
    return good;
}
