/* gguf.h - reads GGUF files: keys, values, and places of tensors
 *
 * The file is mapped, not read: everything here points into it, and lives until
 * gguf_close(). Nothing in the file is trusted: counts, lengths, types and
 * offsets are checked when it is opened, so that later code need not.
 *
 * The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
#ifndef MODEL_GGUF_H
#define MODEL_GGUF_H

#include "error_text.h"

#include <stddef.h>
#include <stdint.h>

/* bytes without a NUL */
struct text {
    const char *at;
    size_t n;
};

bool text_is(struct text text, const char *what);

/* For printf(): a text, cut after 96 bytes. */
#define TEXT_FORMAT "%.*s"
#define TEXT_ARGS(text) ((text).n < 96 ? (int)(text).n : 96), (text).at

/* types of values, numbered as in the file */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_NTYPES
};

struct gguf_value {
    struct text key;
    uint32_t type;       /* an array has its elements' type */
    bool is_array;       /* nested arrays are refused */
    uint64_t count;      /* elements; 1 if it is no array */
    const uint8_t *data; /* not aligned; strings have 8 bytes of length each */
};

/* The format of a tensor's elements. */
struct tensor_format {
    uint32_t id;        /* in the file */
    const char *name;   /* as GGUF's tools spell it: "Q4_K" */
    uint32_t elems;     /* of a block */
    uint32_t nbytes;    /* of a block */
    const char *kernel; /* in kernels' names; NULL: the pack has no kernels */
};

#define GGUF_MAX_DIMS 4

struct gguf_tensor {
    struct text name;
    uint32_t ndims;
    uint64_t dim[GGUF_MAX_DIMS]; /* fastest first; 1 beyond ndims */
    const struct tensor_format *format;
    const uint8_t *data;
    uint64_t nbytes;
};

struct gguf {
    const char *path;
    const uint8_t *map;
    size_t nbytes;
    uint32_t version;
    uint64_t nvalues, ntensors;
    struct gguf_value *values;   /* sorted by key */
    struct gguf_tensor *tensors; /* sorted by name */
    bool mapped;
};

/* Opens a file; path must live as long. */
bool gguf_open(const char *path, struct gguf *out, struct fault *fault);
/* The same for bytes in memory, which must stay valid. */
bool gguf_parse(const char *path, const void *bytes, size_t nbytes,
                struct gguf *out, struct fault *fault);
void gguf_close(struct gguf *gguf);

/* NULL: the file lacks the name. */
const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf,
                                           const char *name);
const struct tensor_format *tensor_format_of(uint32_t id);

/*
 * The value of a key, in *out. Where the file lacks the key, *out stays as it
 * is; if `needed`, that is a fault. So is a value of another type, or a number
 * that does not fit. Numbers of any integer type will do for an integer.
 */
bool gguf_u32(const struct gguf *gguf, const char *key, bool needed,
              uint32_t *out, struct fault *fault);
/* The same, but the key may have a value for each layer, if all are equal. */
bool gguf_same_u32(const struct gguf *gguf, const char *key, bool needed,
                   uint32_t *out, struct fault *fault);
bool gguf_f32(const struct gguf *gguf, const char *key, bool needed, float *out,
              struct fault *fault);
bool gguf_bool(const struct gguf *gguf, const char *key, bool *out,
               struct fault *fault);
bool gguf_text(const struct gguf *gguf, const char *key, bool needed,
               struct text *out, struct fault *fault);
/* An array of a given type. Without the key *out is NULL, and the call
 * succeeds. */
bool gguf_array(const struct gguf *gguf, const char *key, enum gguf_type type,
                const struct gguf_value **out, struct fault *fault);

/* Element number i of a value that is no string. */
double gguf_number(const struct gguf_value *value, uint64_t i);
/* The string at *at, which moves to the next one. */
struct text gguf_next_text(const uint8_t **at);

#endif
