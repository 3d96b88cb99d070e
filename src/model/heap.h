/* heap.h - a priority queue of candidates in a text */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct choice {
    double priority; /* the highest first; among equal ones the leftmost */
    size_t left;     /* the candidate's first position */
    size_t what;     /* the caller's data */
};

/* All zeros: empty and without room. */
struct heap {
    struct choice *choices; /* the best first */
    size_t n;
};

/* Room for that many at once; false without memory. */
bool heap_open(struct heap *heap, size_t most);
void heap_close(struct heap *heap);
void heap_push(struct heap *heap, struct choice choice);
/* Takes the best choice; the heap must not be empty. */
struct choice heap_pop(struct heap *heap);

#endif
