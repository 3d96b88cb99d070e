/* inputs.h - the inputs of a run in a device's memory */
#ifndef MODEL_INPUTS_H
#define MODEL_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* A run's inputs on a device. They are one block of memory, so that one copy
 * uploads all. */
struct inputs {
    size_t *view;    /* shape for adding RESULT's bias, see op_add_row_info() */
    int64_t *rows;   /* [tokens] of the caches */
    uint32_t *ids;   /* [tokens] */
    int32_t *places; /* [tokens]: positions */
    int32_t *tokens; /* [groups + 1], see struct attention */
    int32_t *keys;   /* [groups + 1] */
    int32_t *pages;  /* [groups] */
    uint32_t *wanted; /* tokens with an answer */
};

enum { VIEW = 6 };

/* Size of the inputs for n tokens in up to n groups. */
size_t inputs_nbytes(size_t n);
struct inputs inputs_place(void *base, size_t n, size_t groups);
/* Number of words from `rows` to `keys`. op_count_up() advances these words to
 * the next token of each of n groups. */
size_t inputs_words_up(size_t n);
/* Sets up[], all zeros before, to each word's increment for the next token. */
void inputs_count_up(size_t n, uint32_t *up);

#endif
