/* pretoken.h - cuts text into the words that BPE works on */
#ifndef MODEL_PRETOKEN_H
#define MODEL_PRETOKEN_H

#include "gguf.h"

/* The rules of a family of models, which it writes as regular expressions. */
struct pretoken_rules {
    const char *name;      /* the value of tokenizer.ggml.pre */
    const char *stages[6]; /* a stage cuts the pieces of the stage before */
    bool whole_words;      /* a word that is a token is not merged */
    bool begins_marked;    /* the model wants the beginning-of-text token */
};

/* NULL: the name has no rules. An empty name is of old files, which llama.cpp
 * cuts by rules of its own. */
const struct pretoken_rules *pretoken_rules_of(struct text name);

/* Replaces a byte that is not UTF-8. Bytes of overlong forms and of surrogates
 * are not UTF-8 either. */
#define NO_CHARACTER 0xfffd

/* The code point that text begins with, of UTF-8, and how many of its n bytes,
 * 1 at least, it takes; for a byte that is not UTF-8's, NO_CHARACTER and 1. */
uint32_t pretoken_read(const char *text, size_t n, size_t *used);
/* Code points of UTF-8, NO_CHARACTER for a byte that is not. The caller's to
 * free; NULL without memory. */
uint32_t *pretoken_decode(const char *text, size_t nbytes, size_t *n);
/* A code point as UTF-8: 1 to 4 bytes. */
size_t pretoken_encode(uint32_t code, char out[4]);

/* Cuts code[0 .. n - 1] into *count words and returns the words' ends. The
 * caller's to free; NULL without memory. */
size_t *pretoken_cut(const struct pretoken_rules *rules, const uint32_t *code,
                     size_t n, size_t *count);

#endif
