/* specials.h - finds the special tokens that a text names
 *
 * As llama.cpp does: the longest one is looked for first, from the left, in all
 * of the text; then the next one, by length and number, in what is left
 * between; and so on. The time is that of reading the text once, however many
 * special tokens there are.
 */
#ifndef MODEL_SPECIALS_H
#define MODEL_SPECIALS_H

#include "gguf.h"

struct specials;

/* The specials among tokens: texts of one byte and more, all different. NULL
 * without memory. */
struct specials *specials_open(const struct text *tokens, const uint32_t *ids,
                               size_t n);
void specials_close(struct specials *s);

#define NO_SPECIAL UINT32_MAX

/* For each of the text's bytes the token that begins there, or NO_SPECIAL. The
 * caller's to free; NULL without memory. */
uint32_t *specials_find(const struct specials *s, struct text text);

#endif
