/* tiny.c - makes models with random weights */
#include "tiny.h"

#include "gguf_ref.h"
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

/* In memory; or in a file, or only counted, for those that are large. */
struct bytes {
    uint8_t *at;
    size_t n, room;
    uint64_t count; /* keys or tensors added */
    FILE *file;
    bool counted;
};

static void put(struct bytes *b, const void *from, size_t n)
{
    if (b->file || b->counted) {
        if (b->file && fwrite(from, 1, n, b->file) != n)
            b->counted = true; /* ferror() tells */
        b->n += n;
        return;
    }
    if (b->n + n > b->room) {
        b->room = 2 * (b->n + n);
        b->at = realloc(b->at, b->room);
        if (!b->at) {
            perror("tiny");
            exit(1);
        }
    }
    if (n)
        memcpy(b->at + b->n, from, n);
    b->n += n;
}

static void put_u32(struct bytes *b, uint32_t value)
{
    put(b, &value, sizeof(value));
}

static void put_u64(struct bytes *b, uint64_t value)
{
    put(b, &value, sizeof(value));
}

static void put_text(struct bytes *b, const char *text, size_t n)
{
    put_u64(b, n);
    put(b, text, n);
}

static void put_key(struct bytes *b, const char *prefix, const char *key,
                    uint32_t type)
{
    char name[128];

    (void)snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "",
                   key);
    put_text(b, name, strlen(name));
    put_u32(b, type);
    b->count++;
}

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 };

static void key_u32(struct bytes *b, const char *prefix, const char *key,
                    uint32_t value)
{
    put_key(b, prefix, key, U32);
    put_u32(b, value);
}

static void key_f32(struct bytes *b, const char *prefix, const char *key,
                    float value)
{
    put_key(b, prefix, key, F32);
    put(b, &value, sizeof(value));
}

static void key_bool(struct bytes *b, const char *key, bool value)
{
    const uint8_t byte = value;

    put_key(b, "", key, BOOL);
    put(b, &byte, 1);
}

static void key_text(struct bytes *b, const char *key, const char *value)
{
    put_key(b, "", key, STRING);
    put_text(b, value, strlen(value));
}

static void key_array(struct bytes *b, const char *key, uint32_t type,
                      uint64_t n)
{
    put_key(b, "", key, ARRAY);
    put_u32(b, type);
    put_u64(b, n);
}

/* ---- random numbers ---- */

static double uniform(uint64_t *state) /* [-1, 1) */
{
    return (double)(kt_random(state) >> 11) * 0x1p-52 - 1;
}

static uint16_t half_of(double x)
{
    uint16_t bits;

    kt_put(KT_F16, &bits, 0, (kt_real)x);
    return bits;
}

/* ---- weights ---- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Blocks of any quants, whose scales make numbers of about `size`. */
static void put_blocks(struct bytes *b, enum gguf_id id, size_t n, double size,
                       uint64_t seed)
{
    const struct gguf_format *f = gguf_format_of(id);
    /* large matrices repeat themselves; a part of one tells its size */
    const size_t all = n / f->elems, most = 1U << 17, few = 4096;
    const size_t nblocks = smaller(all, most);
    const size_t nlooked = smaller(nblocks, few);
    uint8_t *blocks;
    float *numbers;
    double sum = 0, scale = 1;

    if (b->counted) {
        b->n += all * f->nbytes;
        return;
    }
    blocks = malloc(nblocks * f->nbytes);
    numbers = malloc(nlooked * f->elems * sizeof(*numbers));
    if (!blocks || !numbers) {
        perror("tiny");
        exit(1);
    }
    gguf_fill(id, blocks, nblocks, GGUF_RANDOM, seed);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < nblocks; i++) {
            const uint16_t d = half_of(scale), m = half_of(scale * f->least);

            if (f->d >= 0)
                memcpy(blocks + i * f->nbytes + f->d, &d, 2);
            if (f->m >= 0)
                memcpy(blocks + i * f->nbytes + f->m, &m, 2);
            if (f->exponent)
                blocks[i * f->nbytes] += (uint8_t)lround(log2(scale));
        }
        if (pass == 1)
            break;
        gguf_dequantize(id, blocks, nlooked * f->elems, numbers);
        for (size_t i = 0; i < nlooked * f->elems; i++)
            sum += (double)numbers[i] * (double)numbers[i];
        scale = size / sqrt(sum / (double)(nlooked * f->elems));
    }
    for (size_t at = 0; at < all; at += nblocks)
        put(b, blocks, (all - at < nblocks ? all - at : nblocks) * f->nbytes);
    free(blocks);
    free(numbers);
}

static void put_numbers(struct bytes *b, uint32_t type, size_t n, double centre,
                        double size, uint64_t seed)
{
    static const enum kt_type types[] = {[0] = KT_F32, [1] = KT_F16};
    const enum kt_type kind = type < 2 ? types[type] : KT_BF16;

    for (size_t i = 0; i < n; i++) {
        uint8_t number[4];

        kt_put(kind, number, 0,
               (kt_real)(centre + size * sqrt(3) * uniform(&seed)));
        put(b, number, kt_size(kind));
    }
}

/* ---- the file ---- */

struct file {
    struct tiny tiny;
    struct bytes keys, infos, data;
};

/* `planes` matrices; 0: one, which is no stack of them */
static void add_stack(struct file *f, const char *name, uint32_t type,
                      uint32_t planes, uint32_t rows, uint32_t columns,
                      double centre, double size)
{
    static const uint8_t zeros[32];
    const uint64_t seed = f->tiny.seed * 1000 + f->infos.count;
    const size_t n = (size_t)rows * columns * (planes ? planes : 1);

    put(&f->data, zeros, (32 - f->data.n % 32) % 32);
    put_text(&f->infos, name, strlen(name));
    put_u32(&f->infos, planes ? 3 : rows > 1 ? 2 : 1);
    put_u64(&f->infos, columns);
    if (planes || rows > 1)
        put_u64(&f->infos, rows);
    if (planes)
        put_u64(&f->infos, planes);
    put_u32(&f->infos, type);
    put_u64(&f->infos, f->data.n);
    f->infos.count++;
    if (gguf_format_of(type))
        put_blocks(&f->data, (enum gguf_id)type, n, size, seed);
    else
        put_numbers(&f->data, type, n, centre, size, seed);
}

static void add_tensor(struct file *f, const char *name, uint32_t type,
                       uint32_t rows, uint32_t columns, double centre,
                       double size)
{
    add_stack(f, name, type, 0, rows, columns, centre, size);
}

/* A matrix's format. Mixtures give some matrices more bits, as llama.cpp's do:
 * the output matrix; and V and the way down in the first and last eighth of the
 * layers and in every third layer between. A matrix without whole blocks of 256
 * columns takes the next larger format. */
static uint32_t format_of(const struct tiny *t, const char *name,
                          uint32_t layer, uint32_t columns)
{
    const uint32_t eighth = t->layers / 8;
    const bool more = layer < eighth || layer >= 7 * t->layers / 8 ||
                      (layer - eighth) % 3 == 2;
    uint32_t format = t->format;

    if (t->output &&
        strcmp(name, t->tied ? "token_embd.weight" : "output.weight") == 0)
        format = t->output;
    if (t->more && more &&
        (strcmp(name, "attn_v.weight") == 0 ||
         strncmp(name, "ffn_down", strlen("ffn_down")) == 0))
        format = t->more;
    if (columns % 256 == 0)
        return format;
    return format == GGUF_Q4_K   ? GGUF_Q5_0
           : format == GGUF_Q6_K ? GGUF_Q8_0
                                 : format;
}

static void add_layer(struct file *f, uint32_t layer)
{
    const struct tiny *t = &f->tiny;
    const uint32_t q = t->heads * t->head, kv = t->kv_heads * t->head;
    const double wide = 1 / sqrt(t->width), deep = 1 / sqrt(t->inner);
    const bool plain = t->experts == 0, mixed = !plain;
    const struct {
        const char *name;
        bool there;
        uint32_t rows, columns;
        double centre, size;
        uint32_t planes; /* 0: a matrix */
    } rows[] = {
        {"attn_norm.weight", true, 1, t->width, 1, 0.2, 0},
        {"attn_q.weight", true, q, t->width, 0, wide, 0},
        {"attn_k.weight", true, kv, t->width, 0, wide, 0},
        {"attn_v.weight", true, kv, t->width, 0, wide, 0},
        {"attn_q.bias", t->biased, 1, q, 0, 0.3, 0},
        {"attn_k.bias", t->biased, 1, kv, 0, 0.3, 0},
        {"attn_v.bias", t->biased, 1, kv, 0, 0.3, 0},
        {"attn_q_norm.weight", t->normed, 1, t->head, 1, 0.2, 0},
        {"attn_k_norm.weight", t->normed, 1, t->head, 1, 0.2, 0},
        {"attn_output.weight", true, t->width, q, 0, 1 / sqrt(q), 0},
        {"attn_output.bias", t->biased && strcmp(t->arch, "llama") == 0, 1,
         t->width, 0, 0.3, 0},
        {"post_attention_norm.weight", t->twice, 1, t->width, 1, 0.2, 0},
        {"ffn_norm.weight", true, 1, t->width, 1, 0.2, 0},
        {"ffn_gate.weight", plain, t->inner, t->width, 0, wide, 0},
        {"ffn_up.weight", plain, t->inner, t->width, 0, wide, 0},
        {"ffn_down.weight", plain, t->width, t->inner, 0, deep, 0},
        {"ffn_gate_inp.weight", mixed, t->experts, t->width, 0, wide, 0},
        {"ffn_gate_exps.weight", mixed, t->inner, t->width, 0, wide,
         t->experts},
        {"ffn_up_exps.weight", mixed, t->inner, t->width, 0, wide, t->experts},
        {"ffn_down_exps.weight", mixed, t->width, t->inner, 0, deep,
         t->experts},
        {"post_ffw_norm.weight", t->twice, 1, t->width, 1, 0.2, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        /* the matrix that chooses experts is f32, as in llama.cpp */
        const bool matrix = rows[i].rows > 1 &&
                            strcmp(rows[i].name, "ffn_gate_inp.weight") != 0;
        char name[96];

        (void)snprintf(name, sizeof(name), "blk.%u.%s", (unsigned)layer,
                       rows[i].name);
        if (rows[i].there)
            add_stack(
                f, name,
                matrix ? format_of(t, rows[i].name, layer, rows[i].columns) : 0,
                rows[i].planes, rows[i].rows, rows[i].columns, rows[i].centre,
                rows[i].size);
    }
}

static void add_sizes(struct file *f)
{
    const struct tiny *t = &f->tiny;
    struct bytes *b = &f->keys;

    key_text(b, "general.architecture", t->arch);
    key_u32(b, t->arch, "context_length", t->context ? t->context : 256);
    key_u32(b, t->arch, "embedding_length", t->width);
    key_u32(b, t->arch, "block_count", t->layers);
    key_u32(b, t->arch, "feed_forward_length", t->inner);
    key_u32(b, t->arch, "attention.head_count", t->heads);
    key_u32(b, t->arch, "attention.head_count_kv", t->kv_heads);
    key_u32(b, t->arch, "attention.key_length", t->head);
    key_u32(b, t->arch, "attention.value_length", t->head);
    key_f32(b, t->arch, "attention.layer_norm_rms_epsilon", 1e-5f);
    key_f32(b, t->arch, "rope.freq_base", 5000);
    if (t->window)
        key_u32(b, t->arch, "attention.sliding_window", t->window);
    if (t->experts) {
        key_u32(b, t->arch, "expert_count", t->experts);
        key_u32(b, t->arch, "expert_used_count", t->used);
        key_u32(b, t->arch, "expert_feed_forward_length", t->inner);
    }
    if (t->yarn > 0) {
        char key[64];

        (void)snprintf(key, sizeof(key), "%s.rope.scaling.type", t->arch);
        key_text(b, key, "yarn");
        key_f32(b, t->arch, "rope.scaling.factor", t->yarn);
        key_u32(b, t->arch, "rope.scaling.original_context_length", 64);
    }
}

/* GPT-2's letter for a byte, as UTF-8. */
static size_t letter(unsigned byte, char out[4])
{
    unsigned code = byte, moved = 0;

    for (unsigned b = 0; b <= byte; b++) {
        const bool kept = (b > ' ' && b < 127) || (b > 160 && b != 173);

        if (b == byte && !kept)
            code = 256 + moved;
        moved += !kept;
    }
    out[0] = (char)(code < 128 ? code : 0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 63));
    return code < 128 ? 1 : 2;
}

/* Words of both vocabularies, each a pair of letters or of earlier words. */
static const char *const words[][2] = {
    {"t", "h"},  {"th", "e"}, {"i", "n"},   {"a", "n"},
    {"an", "d"}, {"e", "r"},  {"o", "n"},   {"in", "g"},
    {"l", "l"},  {"e", "ll"}, {"h", "ell"}, {"hell", "o"},
    {"w", "o"},  {"r", "l"},  {"rl", "d"},  {"wo", "rld"},
};

enum { NWORDS = sizeof(words) / sizeof(words[0]) };

/* Tokens: unknown, begin, end, bytes, words, words with a blank before them,
 * a special one, and fillers. */
static void add_vocabulary(struct file *f)
{
    struct bytes *b = &f->keys;
    const bool spm = f->tiny.spm;
    const char *blank = spm ? "\xe2\x96\x81" : "\xc4\xa0";
    const uint32_t fixed = 3 + 256, n = f->tiny.vocabulary;

    key_text(b, "tokenizer.ggml.model", spm ? "llama" : "gpt2");
    key_text(b, "tokenizer.ggml.pre", spm ? "default" : "smollm");
    key_array(b, "tokenizer.ggml.tokens", STRING, n);
    put_text(b, "<unk>", 5);
    put_text(b, "<s>", 3);
    put_text(b, "</s>", 4);
    for (unsigned i = 0; i < 256; i++) {
        char name[8];

        if (spm)
            (void)snprintf(name, sizeof(name), "<0x%02X>", i);
        put_text(b, name, spm ? 6 : letter(i, name));
    }
    for (uint32_t i = fixed; i < n; i++) {
        const uint32_t at = i - fixed;
        char name[2048];
        int length;

        if (at < NWORDS)
            (void)snprintf(name, sizeof(name), "%s%s", words[at][0],
                           words[at][1]);
        else if (at < 2 * NWORDS)
            (void)snprintf(name, sizeof(name), "%s%s%s", blank,
                           words[at - NWORDS][0], words[at - NWORDS][1]);
        else if (at == 2 * NWORDS)
            (void)snprintf(name, sizeof(name), "<|go|>");
        else if (at == 2 * NWORDS + 1 && spm)
            (void)snprintf(name, sizeof(name), "%s", blank);
        else {
            length = snprintf(name, sizeof(name), "<unused%u", (unsigned)at);
            while ((uint32_t)length + 1 < f->tiny.filler)
                name[length++] = '.';
            (void)snprintf(name + length, 2, ">");
        }
        put_text(b, name, strlen(name));
    }
    key_array(b, "tokenizer.ggml.token_type", I32, n);
    for (uint32_t i = 0; i < n; i++)
        put_u32(b, i == 0                    ? 2u
                   : i < 3                   ? 3u
                   : i < fixed               ? (spm ? 6u : 1u)
                   : i == fixed + 2 * NWORDS ? 3u
                                             : 1u);
    if (spm) {
        key_array(b, "tokenizer.ggml.scores", F32, n);
        for (uint32_t i = 0; i < n; i++) {
            const float score = i < fixed ? 0 : -(float)(i - fixed);

            put(b, &score, sizeof(score));
        }
    } else {
        key_array(b, "tokenizer.ggml.merges", STRING, 2 * NWORDS);
        for (int blanks = 0; blanks < 2; blanks++)
            for (size_t i = 0; i < NWORDS; i++) {
                char name[32];
                const int length =
                    snprintf(name, sizeof(name), "%s%s %s", blanks ? blank : "",
                             words[i][0], words[i][1]);

                put_text(b, name, (size_t)length);
            }
    }
    key_u32(b, "tokenizer.ggml", "bos_token_id", 1);
    key_u32(b, "tokenizer.ggml", "eos_token_id", 2);
    key_bool(b, "tokenizer.ggml.add_bos_token", true);
}

/* Writes the head to `out` and the tensors to `data`. */
static void make(const struct tiny *tiny, struct bytes *out, struct bytes *data)
{
    static const uint8_t zeros[32];
    struct file f = {.tiny = *tiny, .data = *data};
    const struct tiny *t = &f.tiny;

    if (f.tiny.vocabulary == 0)
        f.tiny.vocabulary = TINY_VOCABULARY;
    add_sizes(&f);
    add_vocabulary(&f);
    add_tensor(&f, "token_embd.weight",
               format_of(t, "token_embd.weight", 0, t->width), t->vocabulary,
               t->width, 0, t->tied ? 1 / sqrt(t->width) : 1);
    add_tensor(&f, "output_norm.weight", 0, 1, t->width, 1, 0.2);
    if (!t->tied)
        add_tensor(&f, "output.weight",
                   format_of(t, "output.weight", 0, t->width), t->vocabulary,
                   t->width, 0, 1 / sqrt(t->width));
    if (t->factors)
        add_tensor(&f, "rope_freqs.weight", 0, 1, t->head / 2, 2, 0.5);
    for (uint32_t i = 0; i < t->layers; i++)
        add_layer(&f, i);
    put(out, "GGUF", 4);
    put_u32(out, 3);
    put_u64(out, f.infos.count);
    put_u64(out, f.keys.count);
    put(out, f.keys.at, f.keys.n);
    put(out, f.infos.at, f.infos.n);
    put(out, zeros, (32 - out->n % 32) % 32);
    *data = f.data;
    free(f.keys.at);
    free(f.infos.at);
}

const struct tiny tiny_llama = {.arch = "llama",
                                .format = 2,
                                .layers = 2,
                                .width = 128,
                                .inner = 64,
                                .heads = 2,
                                .kv_heads = 2,
                                .head = 64,
                                .seed = 5};

uint8_t *tiny_make(const struct tiny *tiny, size_t *nbytes)
{
    struct bytes out = {0}, data = {0};

    make(tiny, &out, &data);
    put(&out, data.at, data.n);
    free(data.at);
    *nbytes = out.n;
    return out.at;
}

bool tiny_write(const struct tiny *tiny, FILE *file)
{
    struct bytes out = {.file = file}, data = {.counted = true};

    make(tiny, &out, &data); /* writes the head; counts the tensors' bytes */
    out = (struct bytes){.counted = true};
    data = (struct bytes){.file = file};
    make(tiny, &out, &data);
    return !ferror(file) && fflush(file) == 0;
}
