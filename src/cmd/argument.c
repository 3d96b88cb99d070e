/* argument.c - reads arguments of a kernel from the command line */
#include "argument.h"
#include "xmalloc.h"

#include "base/file.h"
#include "kpack/types.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum kind { UINT, INT, FLOAT };

struct argument_type {
    const char *name;
    size_t nbytes;
    enum kind kind;
    void (*put)(double value, void *to); /* of floats */
    double (*get)(const void *from);
};

/* clang-format off */
#define FLOAT_TABLE(X) /* type, in C, parsed, encode, decode */             \
    X(f64,     double,      double, (double),       (double))               \
    X(f32,     float,       float,  (float),        (double))               \
    X(f16,     kpk_f16,     float,  kpk_to_f16,     (double)kpk_from_f16)   \
    X(bf16,    kpk_bf16,    float,  kpk_to_bf16,    (double)kpk_from_bf16)  \
    X(f8_e4m3, kpk_f8_e4m3, float,  kpk_to_f8_e4m3, (double)kpk_from_f8_e4m3) \
    X(f8_e5m2, kpk_f8_e5m2, float,  kpk_to_f8_e5m2, (double)kpk_from_f8_e5m2)
#define INTEGER_TABLE(X)                                                    \
    X(u8, 1, UINT) X(u16, 2, UINT) X(u32, 4, UINT) X(u64, 8, UINT)          \
    X(i8, 1, INT)  X(i16, 2, INT)  X(i32, 4, INT)  X(i64, 8, INT)
/* clang-format on */

#define X(name, c_type, of, to, from)                                          \
    static void put_##name(double value, void *at)                             \
    {                                                                          \
        const c_type x = to((of)(value));                                      \
                                                                               \
        memcpy(at, &x, sizeof(x));                                             \
    }                                                                          \
    static double get_##name(const void *at)                                   \
    {                                                                          \
        c_type x;                                                              \
                                                                               \
        memcpy(&x, at, sizeof(x));                                             \
        return from((x));                                                      \
    }
FLOAT_TABLE(X)
#undef X

static const struct argument_type types[] = {
#define X(name, c_type, of, to, from)                                          \
    {#name, sizeof(c_type), FLOAT, put_##name, get_##name},
    FLOAT_TABLE(X)
#undef X
#define X(name, nbytes, kind) {#name, nbytes, kind, NULL, NULL},
        INTEGER_TABLE(X)
#undef X
};

static bool wrong(const char *text, const char *why)
{
    (void)fprintf(stderr,
                  "kpack: argument %s: %s. One looks like u32:1000, "
                  "f32x1000:ramp or null; see `man kpack`\n",
                  text, why);
    return false;
}

static const struct argument_type *find_type(const char *text, size_t nbytes)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strlen(types[i].name) == nbytes &&
            strncmp(types[i].name, text, nbytes) == 0)
            return &types[i];
    }
    return NULL;
}

/* An integer that is in the range of the type, in two's complement. */
static bool read_integer(const struct argument_type *type, const char *text,
                         uint64_t *out)
{
    const unsigned nbits = 8 * (unsigned)type->nbytes;
    const bool negative = *text == '-';
    const uint64_t half = UINT64_C(1) << (nbits - 1);
    char *end;
    uint64_t most;

    errno = 0;
    *out = strtoull(text + negative, &end, 0);
    most = type->kind == UINT ? half | (half - 1) : half - !negative;
    if (errno || !isdigit((unsigned char)text[negative]) || *end ||
        *out > most || (negative && type->kind == UINT))
        return false;
    if (negative)
        *out = 0 - *out;
    return true;
}

static bool put_number(const struct argument_type *type, const char *text,
                       unsigned char *to)
{
    uint64_t integer = 0;
    char *end;
    double value;

    if (type->kind == FLOAT) {
        value = strtod(text, &end);
        if (end == text || *end)
            return false;
        type->put(value, to);
        return true;
    }
    if (!read_integer(type, text, &integer))
        return false;
    memcpy(to, &integer, type->nbytes); /* little-endian, as HIP's hosts are */
    return true;
}

static void put_small(const struct argument_type *type, int number,
                      double fraction, unsigned char *to)
{
    const uint64_t integer = (unsigned)number;

    if (type->kind == FLOAT)
        type->put(number + fraction, to);
    else
        memcpy(to, &integer, type->nbytes);
}

static void fill_ramp(const struct argument *a)
{
    for (size_t i = 0; i < a->count; i++)
        put_small(a->type, (int)(i % 8), 0, a->host + i * a->type->nbytes);
}

/* Knuth's MMIX generator: the high bits are random enough to look at. */
static void fill_random(const struct argument *a)
{
    uint64_t state = 1;

    for (size_t i = 0; i < a->count; i++) {
        state = state * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
        if (a->type->kind == FLOAT)
            put_small(a->type, -1, (double)(state >> 40) / (1 << 23),
                      a->host + i * a->type->nbytes);
        else
            put_small(a->type, (int)(state >> 60), 0,
                      a->host + i * a->type->nbytes);
    }
}

static bool fill_from_file(const struct argument *a, const char *path)
{
    FILE *file = file_open(path, "rb");
    bool whole;
    int error;

    if (!file)
        return wrong(a->text, strerror(errno));
    whole =
        fread(a->host, 1, a->nbytes, file) == a->nbytes && fgetc(file) == EOF;
    error = ferror(file) ? errno : 0;
    (void)fclose(file);
    if (whole && !error)
        return true;
    return wrong(a->text,
                 error ? strerror(error) : "the file has not as many bytes");
}

static bool fill(const struct argument *a, const char *how)
{
    const size_t nbytes = a->type->nbytes;

    if (*how == '@')
        return fill_from_file(a, how + 1);
    if (strcmp(how, "ramp") == 0)
        fill_ramp(a);
    else if (strcmp(how, "random") == 0)
        fill_random(a);
    else if (!put_number(a->type, how, a->host))
        return wrong(a->text, "no number of that type, ramp, random or @FILE");
    else
        for (size_t i = 1; i < a->count; i++)
            memcpy(a->host + i * nbytes, a->host, nbytes);
    return true;
}

static bool read_count(const char *from, const char *colon, size_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(from, &end, 10);
    return !errno && end == colon && *from >= '1' && *from <= '9';
}

bool argument_parse(const char *text, struct argument *out)
{
    const char *colon = strchr(text, ':');
    const size_t nbytes = strcspn(text, "x:");

    memset(out, 0, sizeof(*out));
    out->text = text;
    if (strcmp(text, "null") == 0) {
        out->type = find_type("u64", 3);
        out->nbytes = sizeof(void *);
        return true;
    }
    out->type = find_type(text, nbytes);
    if (!out->type || !colon)
        return wrong(text, "of no known type");
    out->nbytes = out->type->nbytes;
    if (text[nbytes] == ':')
        return put_number(out->type, colon + 1, out->value)
                   ? true
                   : wrong(text, "no number of that type");
    if (!read_count(text + nbytes + 1, colon, &out->count) ||
        out->count > SIZE_MAX / out->nbytes)
        return wrong(text, "no count of elements");
    out->nbytes *= out->count;
    out->host = cmd_malloc(out->nbytes);
    return fill(out, colon + 1);
}

void argument_free(struct argument *argument)
{
    free(argument->host);
}

const char *argument_type_name(const struct argument *argument)
{
    return argument->type->name;
}

void argument_print_element(const struct argument *argument, size_t i,
                            char *out, size_t nbytes)
{
    const struct argument_type *type = argument->type;
    const unsigned char *at = argument->host + i * type->nbytes;
    const unsigned unused = 64 - 8 * (unsigned)type->nbytes;
    uint64_t bits = 0;

    if (type->kind == FLOAT) {
        (void)snprintf(out, nbytes, "%.9g", type->get(at));
        return;
    }
    memcpy(&bits, at, type->nbytes);
    if (type->kind == UINT)
        (void)snprintf(out, nbytes, "%" PRIu64, bits);
    else /* sign-extend from the type's highest bit */
        (void)snprintf(out, nbytes, "%" PRId64,
                       (int64_t)(bits << unused) / (INT64_C(1) << unused));
}
