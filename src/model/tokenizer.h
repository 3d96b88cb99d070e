/* tokenizer.h - text to a model's tokens and back, by the model's vocabulary */
#ifndef MODEL_TOKENIZER_H
#define MODEL_TOKENIZER_H

#include "gguf.h"

struct tokenizer;

/* The tokenizer points into the file: gguf must live as long. */
bool tokenizer_open(const struct gguf *gguf, struct tokenizer **out,
                    struct fault *fault);
void tokenizer_close(struct tokenizer *t);

uint32_t tokenizer_count(const struct tokenizer *t);

/* A growing list of tokens. Initialize it with zeros; free `id` at the end. */
struct tokens {
    uint32_t *id;
    size_t n, room;
};

bool tokens_add(struct tokens *list, uint32_t id, struct fault *fault);

/*
 * Adds the tokens of a text, after the beginning-of-text token if the model
 * wants one.
 *
 *   special  the text may name special tokens, such as <|im_start|>
 */
bool tokenizer_encode(const struct tokenizer *t, const char *text,
                      size_t nbytes, bool special, struct tokens *out,
                      struct fault *fault);

/*
 * Writes up to `room` of the bytes that a token stands for, and returns their
 * number. Special tokens have none. A character may be spread over several
 * tokens.
 */
size_t tokenizer_piece(const struct tokenizer *t, uint32_t id, char *out,
                       size_t room);

/* The most bytes that a token stands for. */
size_t tokenizer_longest(const struct tokenizer *t);

/* Whether this token ends an answer. */
bool tokenizer_ends(const struct tokenizer *t, uint32_t id);

#endif
