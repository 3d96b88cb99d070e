/* pretoken.h - cuts text into the words that BPE works on */
#ifndef MODEL_PRETOKEN_H
#define MODEL_PRETOKEN_H

#include "gguf.h"

/*
 * The rules of a family of models, which it writes as regular expressions:
 *
 *   gpt-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+
 *            |\s+(?!\S)|\s+
 *   smollm   each \p{N} alone, then as gpt-2 between them
 *   llama3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *            | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *   qwen2    as llama3 with \p{N} for \p{N}{1,3}
 */
struct pretoken_rules {
    const char *name;   /* the value of tokenizer.ggml.pre */
    bool lines;         /* as llama3: any character before a word, line ends */
    unsigned digits;    /* at most so many in a word; 0: any number of them */
    bool digits_apart;  /* each digit is a word before anything else is */
    bool whole_words;   /* a word that is a token is not merged */
    bool begins_marked; /* the model wants its token of beginning */
};

/* NULL if there are no rules of that name. */
const struct pretoken_rules *pretoken_rules_of(struct text name);

/* Code points of UTF-8; a byte that is none becomes U+FFFD. The caller's to
 * free; NULL without memory. */
uint32_t *pretoken_decode(const char *text, size_t nbytes, size_t *n);
/* A code point as UTF-8: 1 to 4 bytes. */
size_t pretoken_encode(uint32_t code, char out[4]);

/* The end of the word that begins at code[from]. */
size_t pretoken_next(const struct pretoken_rules *rules, const uint32_t *code,
                     size_t n, size_t from);

#endif
