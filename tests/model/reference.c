/* reference.c - a model's forward pass in double precision, for tests */
#include "reference.h"

#include "gguf_ref.h"
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pass {
    const struct gguf *gguf;
    struct sizes s;
    size_t n;
    uint32_t layer;
    struct rounding rounding;
    double yarn, trained; /* YaRN's stretch, or 0, and the trained length */
};

static double *numbers(size_t n)
{
    double *out = calloc(n + 1, sizeof(*out));

    if (!out) {
        perror("reference");
        exit(1);
    }
    return out;
}

/* ---- weights ---- */

static const struct gguf_tensor *tensor_of(const struct pass *p,
                                           const char *name)
{
    char full[96];

    (void)snprintf(full, sizeof(full), "blk.%" PRIu32 ".%s", p->layer, name);
    return gguf_find_tensor(p->gguf, strchr(name, '/') ? name + 1 : full);
}

/* The type of numbers that are no blocks. */
static enum kt_type type_of(uint32_t id)
{
    return id == 0 ? KT_F32 : id == 1 ? KT_F16 : KT_BF16;
}

/* Rounds an activation as a tiled product with weights of this type does. */
static double round_as(double x, uint32_t id)
{
    uint8_t bytes[4];

    kt_put(type_of(id), bytes, 0, (kt_real)x);
    return id == 0 ? x : (double)kt_get(type_of(id), bytes, 0);
}

/* Row `row` of a tensor as numbers. */
static void read_row(const struct gguf_tensor *t, uint64_t row, double *out)
{
    const struct tensor_format *f = t->format;
    const size_t n = (size_t)t->dim[0];
    const uint8_t *from = t->data + row * (n / f->elems * f->nbytes);

    for (size_t i = 0; i < n; i++) {
        struct gguf_element e;

        if (f->elems == 1) {
            out[i] = (double)kt_get(type_of(f->id), from, i);
            continue;
        }
        e = gguf_element((enum gguf_id)f->id, from + i / f->elems * f->nbytes,
                         i % f->elems);
        out[i] = e.scale * e.quant + e.bias;
    }
}

/* Rows of x as Q8_1 blocks, for the caller to free. */
static uint8_t *round_rows(const double *x, size_t n, size_t columns)
{
    const size_t nbytes = columns / Q8_1_ELEMS * Q8_1_NBYTES;
    uint8_t *out = malloc(n * nbytes + 1);
    float *row = malloc(columns * sizeof(*row) + 1);

    if (!out || !row) {
        perror("reference");
        exit(1);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < columns; c++)
            row[c] = (float)x[i * columns + c];
        q8_1_quantize_quants(row, columns, columns, out + i * nbytes);
    }
    free(row);
    return out;
}

/* The same product as multiply()'s, of rounded numbers. */
static double *multiply_rounded(const struct pass *p,
                                const struct gguf_tensor *t, const double *x,
                                size_t tiled)
{
    const size_t columns = (size_t)t->dim[0], rows = (size_t)t->dim[1];
    const size_t row_nbytes = columns / t->format->elems * t->format->nbytes;
    const size_t x_nbytes = columns / Q8_1_ELEMS * Q8_1_NBYTES;
    uint8_t *y = round_rows(x, p->n, columns);
    double *out = numbers(p->n * rows);

    for (size_t r = 0; r < rows; r++)
        for (int tile = 0; tile < 2; tile++) {
            const size_t first = tile ? 0 : tiled, last = tile ? tiled : p->n;
            struct gguf_row row;

            if (first >= last)
                continue;
            row = gguf_row((enum gguf_id)t->format->id,
                           t->data + r * row_nbytes, columns, tile);
            for (size_t i = first; i < last; i++)
                out[i * rows + r] = gguf_product(&row, y + i * x_nbytes).value;
            gguf_row_free(&row);
        }
    free(y);
    return out;
}

/* x [n, columns] times a matrix [rows, columns]: [n, rows] */
static double *multiply(const struct pass *p, const char *name, const double *x)
{
    const struct gguf_tensor *t = tensor_of(p, name);
    const size_t columns = (size_t)t->dim[0], rows = (size_t)t->dim[1];
    const size_t tiled = *name == '/' ? 0 : p->rounding.tiled; /* few logits */
    double *out, *row, *in;

    if (p->rounding.rounds && t->format->elems > 1)
        return multiply_rounded(p, t, x, tiled);
    out = numbers(p->n * rows);
    row = numbers(columns);
    in = numbers(p->n * columns);
    for (size_t i = 0; i < p->n * columns; i++)
        in[i] = p->rounding.rounds && i < tiled * columns
                    ? round_as(x[i], t->format->id)
                    : x[i];
    for (size_t r = 0; r < rows; r++) {
        read_row(t, r, row);
        for (size_t i = 0; i < p->n; i++)
            for (size_t c = 0; c < columns; c++)
                out[i * rows + r] += row[c] * in[i * columns + c];
    }
    free(row);
    free(in);
    return out;
}

static void add_bias(const struct pass *p, const char *name, double *x)
{
    const struct gguf_tensor *t = tensor_of(p, name);
    double *row;

    if (!t)
        return;
    row = numbers((size_t)t->dim[0]);
    read_row(t, 0, row);
    for (size_t i = 0; i < p->n * t->dim[0]; i++)
        x[i] += row[i % t->dim[0]];
    free(row);
}

/* ---- steps ---- */

/* RMS norm of each row of x, a row having as many numbers as the weights; a
 * copy of x if the model lacks the weights. */
static double *normed(const struct pass *p, const char *name, const double *x,
                      size_t total)
{
    const struct gguf_tensor *t = tensor_of(p, name);
    double *out = numbers(total), *weight;
    size_t n;

    memcpy(out, x, total * sizeof(*out));
    if (!t)
        return out;
    n = (size_t)t->dim[0];
    weight = numbers(n);
    read_row(t, 0, weight);
    for (size_t r = 0; r < total / n; r++) {
        double squares = 0;

        for (size_t i = 0; i < n; i++)
            squares += out[r * n + i] * out[r * n + i];
        for (size_t i = 0; i < n; i++)
            out[r * n + i] *=
                weight[i] / sqrt(squares / (double)n + (double)p->s.eps);
    }
    free(weight);
    return out;
}

static void replace(double **x, double *with)
{
    free(*x);
    *x = with;
}

static bool sees_window(const struct pass *p)
{
    return strcmp(p->s.arch->name, "gemma3") == 0 && p->s.window > 0 &&
           (p->layer + 1) % 6 != 0;
}

/* The share of pair i's angle that YaRN does not scale, for a model trained on
 * `length` tokens: 1 for a pair that turns 32 times in `length` tokens or more
 * often, 0 for once or less, linear in between. */
static double kept_by_yarn(const struct pass *p, size_t i, double length)
{
    const double pi = 3.14159265358979323846, d = p->s.head;
    const double scale = d / (2 * log((double)p->s.base));
    const double first = fmax(floor(scale * log(length / (64 * pi))), 0);
    const double last = fmin(ceil(scale * log(length / (2 * pi))), d - 1);

    return 1 - fmin(fmax(((double)i - first) / fmax(last - first, 1e-3), 0), 1);
}

/* Llama turns elements 2 i and 2 i + 1, the others i and i + half. */
static void turn(const struct pass *p, double *x, size_t heads)
{
    const size_t d = p->s.head, half = d / 2;
    const double longer = p->yarn > 0 ? 1 + 0.1 * log(p->yarn) : 1;
    const bool neighbours = strcmp(p->s.arch->name, "llama") == 0;
    const double base = (double)(sees_window(p) ? p->s.window_base : p->s.base);
    const double stretch = sees_window(p) ? 1 : (double)p->s.stretch;

    for (size_t at = 0; at < p->n * heads; at++)
        for (size_t i = 0; i < half; i++) {
            const double factor = p->s.factors ? (double)p->s.factors[i] : 1.0;
            const size_t token = at / heads;
            const double kept =
                p->yarn > 0 ? kept_by_yarn(p, i, p->trained) : 0;
            const double angle = (double)token * (kept + (1 - kept) / stretch) /
                                 factor *
                                 pow(base, -2.0 * (double)i / (double)d);
            double *a = x + at * d + (neighbours ? 2 * i : i);
            double *b = x + at * d + (neighbours ? 2 * i + 1 : i + half);
            const double u = *a, v = *b;

            *a = longer * (u * cos(angle) - v * sin(angle));
            *b = longer * (u * sin(angle) + v * cos(angle));
        }
}

static double half_of(double x)
{
    return round_as(x, 1);
}

/* Numbers as attention's kernels see them. */
static void halve(const struct pass *p, double *x, size_t n)
{
    for (size_t i = 0; p->rounding.rounds && i < n; i++)
        x[i] = half_of(x[i]);
}

/* n numbers of a head, 32 at most, as a block of Q8_0 or Q4_0 has them. The
 * quant of a number in the middle between two depends on f32. */
static void round_block(double *x, size_t n, bool four_bits)
{
    float largest = 0, scale, inverse;

    for (size_t i = 0; i < n; i++)
        if (fabsf((float)x[i]) > fabsf(largest))
            largest = (float)x[i];
    scale = four_bits ? largest / -8 : fabsf(largest) / 127;
    inverse = scale != 0 ? 1 / scale : 0;
    for (size_t i = 0; i < n; i++) {
        const float q = (float)x[i] * inverse;

        x[i] = half_of((double)scale) *
               (four_bits ? fmin(floor((double)(q + 8.5f)), 15) - 8
                          : (double)roundf(q));
    }
}

/* Rounds K or V of the tokens to the cache's format. */
static void keep(const struct pass *p, double *x)
{
    const size_t d = p->s.head, heads = p->n * p->s.kv_heads;

    for (size_t h = 0; p->rounding.rounds && h < heads; h++)
        for (size_t i = 0; p->rounding.cache != CACHE_F16 && i < d; i += 32)
            round_block(x + h * d + i, d - i < 32 ? d - i : 32,
                        p->rounding.cache == CACHE_Q4_0);
    halve(p, x, heads * d);
}

/*
 * A token's weight as the kernels multiply it, in f16: 256 times as large,
 * which is taken back later. On AMD it is also larger by what cutting it off
 * takes away on average.
 */
static double weight_of(const struct pass *p, double weight)
{
    const double large = weight * 256 * (1 + 0x1.6ap-12);
    const double ulp = exp2(fmax(floor(log2(large)), -14) - 10);

    if (!p->rounding.rounds || weight == 0)
        return weight;
    return (p->rounding.cuts ? floor(large / ulp) * ulp
                             : half_of(weight * 256)) /
           256;
}

static double *attend(const struct pass *p, const double *q, const double *k,
                      const double *v)
{
    const size_t d = p->s.head, heads = p->s.heads, kv = p->s.kv_heads;
    double *out = numbers(p->n * heads * d), *weight = numbers(p->n);

    for (size_t i = 0; i < p->n; i++)
        for (size_t h = 0; h < heads; h++) {
            const size_t shared = h / (heads / kv);
            const size_t first =
                sees_window(p) && i + 1 > p->s.window ? i + 1 - p->s.window : 0;
            double most = -INFINITY, sum = 0;

            for (size_t j = first; j <= i; j++) {
                weight[j] = 0;
                for (size_t e = 0; e < d; e++)
                    weight[j] += q[(i * heads + h) * d + e] *
                                 k[(j * kv + shared) * d + e];
                weight[j] *= (double)p->s.scale;
                most = fmax(most, weight[j]);
            }
            for (size_t j = first; j <= i; j++)
                sum += weight[j] = exp(weight[j] - most);
            for (size_t j = first; j <= i; j++)
                for (size_t e = 0; e < d; e++)
                    out[(i * heads + h) * d + e] +=
                        weight_of(p, weight[j]) / sum *
                        v[(j * kv + shared) * d + e];
        }
    free(weight);
    return out;
}

static double activation(const struct pass *p, double x)
{
    if (strcmp(p->s.arch->name, "gemma3") == 0)
        return 0.5 * x *
               (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x / (1 + exp(-x));
}

static void run_layer(const struct pass *p, double *x)
{
    const size_t total = p->n * p->s.width;
    double *in = normed(p, "attn_norm.weight", x, total);
    double *q = multiply(p, "attn_q.weight", in);
    double *k = multiply(p, "attn_k.weight", in);
    double *v = multiply(p, "attn_v.weight", in);
    double *out, *gate, *up;

    add_bias(p, "attn_q.bias", q);
    add_bias(p, "attn_k.bias", k);
    add_bias(p, "attn_v.bias", v);
    replace(&q,
            normed(p, "attn_q_norm.weight", q, p->n * p->s.heads * p->s.head));
    replace(&k, normed(p, "attn_k_norm.weight", k,
                       p->n * p->s.kv_heads * p->s.head));
    turn(p, q, p->s.heads);
    turn(p, k, p->s.kv_heads);
    halve(p, q, p->n * p->s.heads * p->s.head);
    keep(p, k);
    keep(p, v);
    out = attend(p, q, k, v);
    halve(p, out, p->n * p->s.heads * p->s.head);
    replace(&out, multiply(p, "attn_output.weight", out));
    add_bias(p, "attn_output.bias", out);
    replace(&out, normed(p, "post_attention_norm.weight", out, total));
    for (size_t i = 0; i < total; i++)
        x[i] += out[i];
    replace(&in, normed(p, "ffn_norm.weight", x, total));
    gate = multiply(p, "ffn_gate.weight", in);
    up = multiply(p, "ffn_up.weight", in);
    for (size_t i = 0; i < p->n * p->s.inner; i++)
        gate[i] = activation(p, gate[i]) * up[i];
    replace(&out, multiply(p, "ffn_down.weight", gate));
    replace(&out, normed(p, "post_ffw_norm.weight", out, total));
    for (size_t i = 0; i < total; i++)
        x[i] += out[i];
    free(in);
    free(q);
    free(k);
    free(v);
    free(out);
    free(gate);
    free(up);
}

/* YaRN, if the file asks for it. */
static bool read_yarn(struct pass *p, struct fault *fault)
{
    char key[96];
    struct text type = {"", 0};
    uint32_t trained = 0;

    (void)snprintf(key, sizeof(key), "%s.rope.scaling.type", p->s.arch->name);
    if (!gguf_text(p->gguf, key, false, &type, fault))
        return false;
    (void)snprintf(key, sizeof(key), "%s.rope.scaling.original_context_length",
                   p->s.arch->name);
    if (!gguf_u32(p->gguf, key, false, &trained, fault))
        return false;
    p->yarn = text_is(type, "yarn") ? (double)p->s.stretch : 0;
    p->trained = trained;
    return true;
}

bool reference_run(const struct gguf *gguf, const uint32_t *tokens, size_t n,
                   const struct rounding *rounding, double *logits,
                   struct fault *fault)
{
    struct pass p = {.gguf = gguf, .n = n, .rounding = *rounding};
    const struct gguf_tensor *embeds;
    double *x, *out;

    if (!sizes_read(gguf, &p.s, fault) || !read_yarn(&p, fault))
        return false;
    x = numbers(n * p.s.width);
    embeds = gguf_find_tensor(gguf, "token_embd.weight");
    for (size_t i = 0; i < n; i++) {
        read_row(embeds, tokens[i], x + i * p.s.width);
        for (size_t c = 0;
             strcmp(p.s.arch->name, "gemma3") == 0 && c < p.s.width; c++)
            x[i * p.s.width + c] *= sqrt((double)p.s.width);
    }
    for (p.layer = 0; p.layer < p.s.layers; p.layer++)
        run_layer(&p, x);
    replace(&x, normed(&p, "/output_norm.weight", x, n * p.s.width));
    out =
        multiply(&p,
                 gguf_find_tensor(gguf, "output.weight") ? "/output.weight"
                                                         : "/token_embd.weight",
                 x);
    memcpy(logits, out, n * p.s.vocabulary * sizeof(*logits));
    free(x);
    free(out);
    return true;
}
