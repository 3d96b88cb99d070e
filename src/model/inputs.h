/* inputs.h - what a device is told of a run */
#ifndef MODEL_INPUTS_H
#define MODEL_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* A run's inputs on a device; one block of memory, because each copy waits. */
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
/* Words from `rows` to `keys`, which op_count_up() moves on to the next token,
 * a token for each of n groups. */
size_t inputs_words_up(size_t n);
/* By how much each of these words is higher then; up is zeros. */
void inputs_count_up(size_t n, uint32_t *up);

#endif
