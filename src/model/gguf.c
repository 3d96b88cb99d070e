/* gguf.c - reads GGUF files: keys, values, and places of tensors */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "gguf.h"

#include "base/gguf_formats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits for the file's counts, checked before any allocation: the largest
 * models have some 2,000 tensors. */
enum { MOST_VALUES = 65536, MOST_TENSORS = 65536, MOST_NAME = 256 };

/* clang-format off */
#define WEIGHTS(name, lower, short, type, number, elems, nbytes, ...)          \
    {number, #type, elems, nbytes, #name},
#define FLOATS(name, type, number, nbytes, ...) {number, #type, 1, nbytes, #name},
#define NUMBERS(name, type, number, elems, nbytes, ...)                        \
    {number, #type, elems, nbytes, NULL},
#define OTHERS(type, number, elems, nbytes) {number, #type, elems, nbytes, NULL},

static const struct tensor_format formats[] = {
    {0, "F32", 1, 4, "f32"},
    GGUF_WEIGHTS(WEIGHTS)
    GGUF_FLOAT_WEIGHTS(FLOATS)
    GGUF_NUMBERS(NUMBERS)
    GGUF_LOW_BIT(NUMBERS)
    GGUF_OTHER_TYPES(OTHERS)
};

static const struct {
    const char *name;
    uint8_t nbytes;
} types[GGUF_NTYPES] = {
    [GGUF_U8] = {"u8", 1},         [GGUF_I8] = {"i8", 1},
    [GGUF_U16] = {"u16", 2},       [GGUF_I16] = {"i16", 2},
    [GGUF_U32] = {"u32", 4},       [GGUF_I32] = {"i32", 4},
    [GGUF_F32] = {"f32", 4},       [GGUF_BOOL] = {"bool", 1},
    [GGUF_STRING] = {"string", 0}, [GGUF_ARRAY] = {"array", 0},
    [GGUF_U64] = {"u64", 8},       [GGUF_I64] = {"i64", 8},
    [GGUF_F64] = {"f64", 8},
};
/* clang-format on */

bool text_is(struct text text, const char *what)
{
    const size_t n = strlen(what);

    return text.n == n && memcmp(text.at, what, n) == 0;
}

static int compare_texts(struct text a, struct text b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int order = n ? memcmp(a.at, b.at, n) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

const struct tensor_format *tensor_format_of(uint32_t id)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}

/* ---- a cursor over the file ---- */

struct reader {
    const uint8_t *at, *end;
    struct gguf *gguf;
    struct fault *fault;
};

/* Fails because the file's content is impossible. */
#define damaged(reader, format, ...)                                           \
    fail((reader)->fault, "%s is damaged: " format ". Fetch it again",         \
         (reader)->gguf->path, __VA_ARGS__)

/* Takes the next n bytes, the content of `what`; NULL if the file ends before.
 */
static const uint8_t *take(struct reader *r, uint64_t n, const char *what)
{
    const uint8_t *at = r->at;

    if (n > (uint64_t)(r->end - at)) {
        fail(r->fault,
             "%s ends early: %s needs %" PRIu64 " bytes at byte %zu, and the "
             "file has %zu. It is cut off or damaged: fetch it again",
             r->gguf->path, what, n, (size_t)(at - r->gguf->map),
             r->gguf->nbytes);
        return NULL;
    }
    r->at += n;
    return at;
}

static uint64_t load(const uint8_t *at, size_t nbytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < nbytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static bool take_number(struct reader *r, size_t nbytes, const char *what,
                        uint64_t *out)
{
    const uint8_t *at = take(r, nbytes, what);

    if (at)
        *out = load(at, nbytes);
    return at;
}

static bool take_u32(struct reader *r, const char *what, uint32_t *out)
{
    uint64_t value = 0;
    const bool good = take_number(r, 4, what, &value);

    *out = (uint32_t)value;
    return good;
}

static bool take_text(struct reader *r, const char *what, struct text *out)
{
    uint64_t n = 0;

    if (!take_number(r, 8, what, &n))
        return false;
    out->n = (size_t)n;
    out->at = (const char *)take(r, n, what);
    return out->at;
}

/* A key or a tensor's name: not empty, no control characters. */
static bool take_name(struct reader *r, const char *what, struct text *out)
{
    if (!take_text(r, what, out))
        return false;
    for (size_t i = 0; i < out->n; i++)
        if ((unsigned char)out->at[i] < ' ')
            return damaged(r, "%s at byte %zu has control characters", what,
                           (size_t)((const uint8_t *)out->at - r->gguf->map));
    if (out->n == 0 || out->n > MOST_NAME)
        return damaged(r,
                       "%s at byte %zu has %zu characters, 1 to %d "
                       "are usual",
                       what, (size_t)((const uint8_t *)out->at - r->gguf->map),
                       out->n, MOST_NAME);
    return true;
}

/* ---- keys and values ---- */

static bool take_elements(struct reader *r, struct gguf_value *value)
{
    char what[160];

    (void)snprintf(what, sizeof(what), "key " TEXT_FORMAT,
                   TEXT_ARGS(value->key));
    if (value->type == GGUF_STRING) {
        value->data = r->at;
        for (uint64_t i = 0; i < value->count; i++) {
            struct text text;

            if (!take_text(r, what, &text))
                return false;
        }
        return true;
    }
    if (value->count > UINT64_MAX / 8)
        return damaged(r, "%s is an array of %" PRIu64 " elements", what,
                       value->count);
    value->data = take(r, value->count * types[value->type].nbytes, what);
    if (value->data && value->type == GGUF_BOOL)
        for (uint64_t i = 0; i < value->count; i++)
            if (value->data[i] > 1)
                return damaged(r, "key " TEXT_FORMAT " is a bool of value %u",
                               TEXT_ARGS(value->key), value->data[i]);
    return value->data;
}

static bool take_value(struct reader *r, struct gguf_value *value)
{
    if (!take_name(r, "a key", &value->key) ||
        !take_u32(r, "a value's type", &value->type))
        return false;
    value->count = 1;
    value->is_array = value->type == GGUF_ARRAY;
    if (value->is_array &&
        (!take_u32(r, "an array's type", &value->type) ||
         !take_number(r, 8, "an array's length", &value->count)))
        return false;
    if (value->type >= GGUF_NTYPES || value->type == GGUF_ARRAY)
        return fail(r->fault,
                    "%s: key " TEXT_FORMAT " has type %" PRIu32
                    "%s, which GGUF version %" PRIu32
                    " does not have: the file is damaged or newer than this "
                    "program",
                    r->gguf->path, TEXT_ARGS(value->key), value->type,
                    value->is_array ? " in an array" : "", r->gguf->version);
    return take_elements(r, value);
}

static int compare_values(const void *a, const void *b)
{
    return compare_texts(((const struct gguf_value *)a)->key,
                         ((const struct gguf_value *)b)->key);
}

static bool read_values(struct reader *r)
{
    struct gguf *g = r->gguf;

    g->values = calloc(g->nvalues + 1, sizeof(*g->values));
    if (!g->values)
        return fail(r->fault, "no memory for the keys of %s", g->path);
    for (uint64_t i = 0; i < g->nvalues; i++)
        if (!take_value(r, &g->values[i]))
            return false;
    qsort(g->values, g->nvalues, sizeof(*g->values), compare_values);
    for (uint64_t i = 1; i < g->nvalues; i++)
        if (compare_values(&g->values[i - 1], &g->values[i]) == 0)
            return damaged(r, "key " TEXT_FORMAT " is there twice",
                           TEXT_ARGS(g->values[i].key));
    return true;
}

/* ---- tensors ---- */

/* Offsets are taken into `nbytes` of g's tensors until the data's start is
 * known. */
static bool take_tensor(struct reader *r, struct gguf_tensor *t)
{
    const struct gguf *g = r->gguf;
    uint64_t rows = 1;
    uint32_t id = 0;

    if (!take_name(r, "a tensor's name", &t->name) ||
        !take_u32(r, "a tensor's rank", &t->ndims))
        return false;
    if (t->ndims == 0 || t->ndims > GGUF_MAX_DIMS)
        return damaged(r,
                       "tensor " TEXT_FORMAT " has %" PRIu32
                       " dimensions, 1 to %d are possible",
                       TEXT_ARGS(t->name), t->ndims, GGUF_MAX_DIMS);
    for (uint32_t d = 0; d < GGUF_MAX_DIMS; d++) {
        t->dim[d] = 1;
        if (d < t->ndims && !take_number(r, 8, "a dimension", &t->dim[d]))
            return false;
        if (t->dim[d] == 0 || t->dim[d] > INT64_MAX ||
            (d > 0 && __builtin_mul_overflow(rows, t->dim[d], &rows)))
            return damaged(r,
                           "tensor " TEXT_FORMAT " has an impossible dimension",
                           TEXT_ARGS(t->name));
    }
    if (!take_u32(r, "a tensor's type", &id) ||
        !take_number(r, 8, "a tensor's offset", &t->nbytes))
        return false;
    t->format = tensor_format_of(id);
    if (!t->format)
        return fail(r->fault,
                    "%s: tensor " TEXT_FORMAT " has type %" PRIu32
                    ", which this program does not know: the file is damaged "
                    "or newer than it",
                    g->path, TEXT_ARGS(t->name), id);
    if (t->dim[0] % t->format->elems != 0)
        return damaged(r,
                       "a row of tensor " TEXT_FORMAT " has %" PRIu64
                       " elements, and %s has blocks of %" PRIu32,
                       TEXT_ARGS(t->name), t->dim[0], t->format->name,
                       t->format->elems);
    return true;
}

static int compare_tensors(const void *a, const void *b)
{
    return compare_texts(((const struct gguf_tensor *)a)->name,
                         ((const struct gguf_tensor *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    const uint8_t *x = ((const struct gguf_tensor *)a)->data;
    const uint8_t *y = ((const struct gguf_tensor *)b)->data;

    return (x > y) - (x < y);
}

/* The tensor's bytes, which begin `offset` bytes behind `start`. */
static bool place_tensor(struct reader *r, struct gguf_tensor *t,
                         uint64_t start, uint64_t align)
{
    const struct gguf *g = r->gguf;
    const uint64_t offset = t->nbytes;
    uint64_t nbytes = t->dim[0] / t->format->elems;
    bool fits = !__builtin_mul_overflow(nbytes, t->format->nbytes, &nbytes);

    for (uint32_t d = 1; d < GGUF_MAX_DIMS; d++)
        fits = fits && !__builtin_mul_overflow(nbytes, t->dim[d], &nbytes);
    if (offset % align != 0)
        return damaged(r,
                       "tensor " TEXT_FORMAT " begins at offset %" PRIu64
                       ", which is no multiple of %" PRIu64,
                       TEXT_ARGS(t->name), offset, align);
    if (!fits || start > g->nbytes || offset > g->nbytes - start ||
        nbytes > g->nbytes - start - offset)
        return fail(r->fault,
                    "%s ends early: tensor " TEXT_FORMAT
                    " goes on beyond the file's %zu bytes. It is cut off or "
                    "damaged: fetch it again",
                    g->path, TEXT_ARGS(t->name), g->nbytes);
    t->data = g->map + start + offset;
    t->nbytes = nbytes;
    return true;
}

/* Tensors, sorted by place, must lie side by side: bytes between two tensors
 * mean that a tensor is missing or became smaller. */
static bool check_places(const struct reader *r, uint64_t start, uint64_t align)
{
    const struct gguf *g = r->gguf;
    uint64_t next = start;

    for (uint64_t i = 0; i < g->ntensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        const uint64_t at = (uint64_t)(t->data - g->map);

        if (i > 0 && t->data < t[-1].data + t[-1].nbytes)
            return damaged(
                r, "tensors " TEXT_FORMAT " and " TEXT_FORMAT " overlap",
                TEXT_ARGS(t[-1].name), TEXT_ARGS(t->name));
        if (at != next)
            return damaged(r,
                           "%" PRIu64 " bytes before tensor " TEXT_FORMAT
                           " belong to no tensor",
                           at - next, TEXT_ARGS(t->name));
        next = (at + t->nbytes + align - 1) / align * align;
    }
    return true;
}

static bool read_tensors(struct reader *r)
{
    struct gguf *g = r->gguf;
    uint32_t align = 32;
    uint64_t start;

    g->tensors = calloc(g->ntensors + 1, sizeof(*g->tensors));
    if (!g->tensors)
        return fail(r->fault, "no memory for the tensors of %s", g->path);
    if (!gguf_u32(g, "general.alignment", false, &align, r->fault))
        return false;
    if (align == 0 || align % 8 != 0 || align > 1U << 20)
        return damaged(r,
                       "general.alignment is %" PRIu32
                       ", which is no multiple of 8 up to 2^20",
                       align);
    for (uint64_t i = 0; i < g->ntensors; i++)
        if (!take_tensor(r, &g->tensors[i]))
            return false;
    start = (uint64_t)(r->at - g->map);
    start = (start + align - 1) / align * align;
    for (uint64_t i = 0; i < g->ntensors; i++)
        if (!place_tensor(r, &g->tensors[i], start, align))
            return false;
    qsort(g->tensors, g->ntensors, sizeof(*g->tensors), compare_places);
    if (!check_places(r, start, align))
        return false;
    qsort(g->tensors, g->ntensors, sizeof(*g->tensors), compare_tensors);
    for (uint64_t i = 1; i < g->ntensors; i++)
        if (compare_tensors(&g->tensors[i - 1], &g->tensors[i]) == 0)
            return damaged(r, "tensor " TEXT_FORMAT " is there twice",
                           TEXT_ARGS(g->tensors[i].name));
    return true;
}

/* ---- the file ---- */

static bool read_head(struct reader *r)
{
    struct gguf *g = r->gguf;
    uint32_t version = 0;

    if (g->nbytes < 4 || memcmp(g->map, "GGUF", 4) != 0)
        return fail(r->fault,
                    "%s is not a GGUF file: it does not begin with 'GGUF'. "
                    "Give a model in GGUF format",
                    g->path);
    r->at += 4;
    if (!take_u32(r, "the version", &version))
        return false;
    g->version = version;
    if (version != 0 && (version & 0xffff) == 0)
        return fail(r->fault,
                    "%s is a GGUF file for big-endian machines; convert it to "
                    "little-endian",
                    g->path);
    if (version != 2 && version != 3)
        return fail(r->fault,
                    "%s is a GGUF file of version %" PRIu32
                    "; versions 2 and 3 can be read",
                    g->path, version);
    if (!take_number(r, 8, "the number of tensors", &g->ntensors) ||
        !take_number(r, 8, "the number of keys", &g->nvalues))
        return false;
    if (g->ntensors > MOST_TENSORS || g->nvalues > MOST_VALUES) {
        const uint64_t tensors = g->ntensors, values = g->nvalues;

        g->ntensors = g->nvalues = 0;
        return damaged(r,
                       "it claims %" PRIu64 " tensors and %" PRIu64
                       " keys, at most %d of each are read",
                       tensors, values, MOST_TENSORS);
    }
    return true;
}

bool gguf_parse(const char *path, const void *bytes, size_t nbytes,
                struct gguf *out, struct fault *fault)
{
    struct reader r = {bytes, (const uint8_t *)bytes + nbytes, out, fault};

    memset(out, 0, sizeof(*out));
    out->path = path;
    out->map = bytes;
    out->nbytes = nbytes;
    if (read_head(&r) && read_values(&r) && read_tensors(&r))
        return true;
    gguf_close(out);
    return false;
}

bool gguf_open(const char *path, struct gguf *out, struct fault *fault)
{
    /* O_NONBLOCK: opening a pipe must not wait for its other end */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    void *map;

    memset(out, 0, sizeof(*out));
    if (fd < 0)
        return fail(fault, "cannot open %s: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return fail(fault, "%s is not a file; give a model in GGUF format",
                    path);
    }
    if (info.st_size == 0) {
        close(fd);
        return fail(fault, "%s is empty; give a model in GGUF format", path);
    }
    map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return fail(fault, "cannot map %s: %s", path, strerror(errno));
    if (!gguf_parse(path, map, (size_t)info.st_size, out, fault)) {
        munmap(map, (size_t)info.st_size);
        return false;
    }
    out->mapped = true;
    return true;
}

void gguf_close(struct gguf *gguf)
{
    free(gguf->values);
    free(gguf->tensors);
    if (gguf->mapped) /* the cast drops const: munmap() does not write */
        munmap((void *)(uintptr_t)gguf->map, gguf->nbytes);
    memset(gguf, 0, sizeof(*gguf));
}

/* ---- look-up ---- */

const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key)
{
    const struct gguf_value wanted = {.key = {key, strlen(key)}};

    return bsearch(&wanted, gguf->values, gguf->nvalues, sizeof(wanted),
                   compare_values);
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf,
                                           const char *name)
{
    const struct gguf_tensor wanted = {.name = {name, strlen(name)}};

    return bsearch(&wanted, gguf->tensors, gguf->ntensors, sizeof(wanted),
                   compare_tensors);
}

double gguf_number(const struct gguf_value *value, uint64_t i)
{
    const size_t nbytes = types[value->type].nbytes;
    const uint64_t bits = load(value->data + i * nbytes, nbytes);
    const uint32_t low = (uint32_t)bits;
    double d;
    float f;

    switch (value->type) {
    case GGUF_I8:
        return (int8_t)bits;
    case GGUF_I16:
        return (int16_t)bits;
    case GGUF_I32:
        return (int32_t)bits;
    case GGUF_I64:
        return (double)(int64_t)bits;
    case GGUF_F32:
        memcpy(&f, &low, sizeof(f));
        return (double)f;
    case GGUF_F64:
        memcpy(&d, &bits, sizeof(d));
        return d;
    default:
        return (double)bits;
    }
}

struct text gguf_next_text(const uint8_t **at)
{
    const struct text text = {(const char *)*at + 8, (size_t)load(*at, 8)};

    *at += 8 + text.n;
    return text;
}

/* Advice for an unusable key. */
#define ADVICE ". Fetch the file again, or convert it again"

/* The single value of a key; NULL with no fault if it may be missing. */
static bool find_one(const struct gguf *g, const char *key, bool needed,
                     const struct gguf_value **out, struct fault *fault)
{
    *out = gguf_find(g, key);
    if (!*out)
        return !needed ||
               fail(fault, "%s has no key %s, which this program needs" ADVICE,
                    g->path, key);
    if ((*out)->is_array)
        return fail(fault, "%s: key %s is an array, one value is wanted" ADVICE,
                    g->path, key);
    return true;
}

static bool wrong_type(const struct gguf *g, const struct gguf_value *value,
                       const char *wanted, struct fault *fault)
{
    return fail(
        fault, "%s: key " TEXT_FORMAT " has type %s, %s is wanted" ADVICE,
        g->path, TEXT_ARGS(value->key), types[value->type].name, wanted);
}

/* A key's integer; an array's elements must be equal and give one integer. */
static bool read_u32(const struct gguf *gguf, const char *key,
                     const struct gguf_value *value, uint32_t *out,
                     struct fault *fault)
{
    double number;

    if (value->type == GGUF_STRING || value->type == GGUF_BOOL ||
        value->type == GGUF_F32 || value->type == GGUF_F64)
        return wrong_type(gguf, value, "an integer", fault);
    number = gguf_number(value, 0);
    for (uint64_t i = 1; i < value->count; i++)
        if (gguf_number(value, i) != number)
            return fail(fault,
                        "%s: key %s is %.0f and %.0f: models whose layers "
                        "differ cannot be run here",
                        gguf->path, key, number, gguf_number(value, i));
    if (number < 0 || number > (double)UINT32_MAX)
        return fail(
            fault,
            "%s: key %s is %.0f, which is out of range for a count" ADVICE,
            gguf->path, key, number);
    *out = (uint32_t)number;
    return true;
}

bool gguf_u32(const struct gguf *gguf, const char *key, bool needed,
              uint32_t *out, struct fault *fault)
{
    const struct gguf_value *value;

    return find_one(gguf, key, needed, &value, fault) &&
           (!value || read_u32(gguf, key, value, out, fault));
}

bool gguf_same_u32(const struct gguf *gguf, const char *key, bool needed,
                   uint32_t *out, struct fault *fault)
{
    const struct gguf_value *value = gguf_find(gguf, key);

    if (!value || !value->is_array || value->count == 0)
        return gguf_u32(gguf, key, needed, out, fault);
    return read_u32(gguf, key, value, out, fault);
}

bool gguf_f32(const struct gguf *gguf, const char *key, bool needed, float *out,
              struct fault *fault)
{
    const struct gguf_value *value;

    if (!find_one(gguf, key, needed, &value, fault))
        return false;
    if (!value)
        return true;
    if (value->type != GGUF_F32 && value->type != GGUF_F64)
        return wrong_type(gguf, value, "f32", fault);
    if (!isfinite((float)gguf_number(value, 0)))
        return fail(fault, "%s: key %s is not a finite number of f32" ADVICE,
                    gguf->path, key);
    *out = (float)gguf_number(value, 0);
    return true;
}

bool gguf_bool(const struct gguf *gguf, const char *key, bool *out,
               struct fault *fault)
{
    const struct gguf_value *value;

    if (!find_one(gguf, key, false, &value, fault))
        return false;
    if (!value)
        return true;
    if (value->type != GGUF_BOOL)
        return wrong_type(gguf, value, "bool", fault);
    *out = value->data[0] != 0;
    return true;
}

bool gguf_text(const struct gguf *gguf, const char *key, bool needed,
               struct text *out, struct fault *fault)
{
    const struct gguf_value *value;
    const uint8_t *at;

    if (!find_one(gguf, key, needed, &value, fault))
        return false;
    if (!value)
        return true;
    if (value->type != GGUF_STRING)
        return wrong_type(gguf, value, "a string", fault);
    at = value->data;
    *out = gguf_next_text(&at);
    return true;
}

bool gguf_array(const struct gguf *gguf, const char *key, enum gguf_type type,
                const struct gguf_value **out, struct fault *fault)
{
    const struct gguf_value *value = gguf_find(gguf, key);

    *out = NULL;
    if (!value)
        return true;
    if (!value->is_array || value->type != type)
        return fail(fault,
                    "%s: key %s is %s%s, an array of %s is wanted" ADVICE,
                    gguf->path, key, value->is_array ? "an array of " : "",
                    types[value->type].name, types[type].name);
    *out = value;
    return true;
}
