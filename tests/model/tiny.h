/* tiny.h - makes models with random weights: small ones for tests, and ones of
 * any size for measurements
 *
 * Every weight of a format has about the size that a trained model's has, so
 * that no layer runs away. The vocabulary is BPE's or SentencePiece's kind.
 */
#ifndef MODEL_TINY_H
#define MODEL_TINY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tiny {
    const char *arch;
    uint32_t format; /* matrices' type, as in the file */
    uint32_t layers, width, inner, heads, kv_heads, head;
    uint32_t experts;    /* of a layer, each `inner` wide; 0: no mixture */
    uint32_t used;       /* experts of a token */
    uint32_t window;     /* 0: none */
    bool tied;           /* no output.weight */
    bool biased;         /* biases of Q, K, V; of attention's output in llama */
    bool normed;         /* norms of heads */
    bool twice;          /* norms behind attention and the inner layer */
    bool factors;        /* factors of the rotations */
    float yarn;          /* YaRN's factor; 0: without YaRN */
    bool spm;            /* the vocabulary's kind */
    uint32_t vocabulary; /* tokens; 0: TINY_VOCABULARY */
    uint32_t filler;     /* the least bytes of a filler's name, up to 2000 */
    uint32_t context;    /* context in training; 0: 256 */
    uint32_t output;     /* format of the output's weights; 0: `format` */
    uint32_t more;       /* format of some V and down, see format_of() */
    uint64_t seed;
};

enum { TINY_VOCABULARY = 320 };

/* Two layers in Q4_0, where any model will do. */
extern const struct tiny tiny_llama;

/* The file's bytes, for the caller to free(). Exits without memory. */
uint8_t *tiny_make(const struct tiny *tiny, size_t *nbytes);
/* The same bytes into a file, which may be larger than memory. */
bool tiny_write(const struct tiny *tiny, FILE *file);

#endif
