/* vocabulary.h - reads the tokens of a model's file, for tokenizer.c */
#ifndef MODEL_VOCABULARY_H
#define MODEL_VOCABULARY_H

#include "pretoken.h"
#include "specials.h"

/* GPT-2's letters for bytes: a printable byte of Latin-1 stands for itself, the
 * 68 others for letters from MOVED on, in order. */
enum { MOVED = 0x100, NMOVED = 68 };

struct letters {
    uint16_t of_byte[256];
    uint8_t moved[NMOVED]; /* the bytes of letters from MOVED on */
};

/* BPE: tokenizer.ggml.model is "gpt2"; SPM: "llama", SentencePiece. */
enum kind { BPE, SPM };

/* values in tokenizer.ggml.token_type */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, BYTE = 6 };

#define NO_TOKEN UINT32_MAX

/* Texts by their bytes: a table with open addressing. Its hash has a key, so
 * that no file can make it slow. */
struct map {
    uint64_t key;
    const struct text *texts;
    uint32_t *slot; /* a text's number + 1; 0: empty */
    size_t mask;
};

struct tokenizer {
    const struct gguf *gguf;
    struct letters letters; /* of BPE */
    enum kind kind;
    const struct pretoken_rules *rules; /* of BPE */
    uint32_t n;
    struct text *tokens;
    struct map by_text;
    const struct gguf_value *scores; /* of SPM */
    uint8_t *types;
    struct text *merges; /* BPE's, as "left right" */
    struct map by_merge;
    /* [0] user-defined tokens; [1] also control tokens and unknown ones */
    struct specials *specials[2];
    uint8_t *ends; /* per token */
    uint32_t bos, eos, unknown;
    uint32_t bytes[256]; /* the token of a byte; NO_TOKEN */
    bool add_bos, add_eos, add_blank;
};

/* See tokenizer_open(). */
bool vocabulary_open(const struct gguf *gguf, struct tokenizer **out,
                     struct fault *fault);
void vocabulary_close(struct tokenizer *t);

/* The number of the first text that is left, then `between`, then right. */
uint32_t map_find(const struct map *map, struct text left, const char *between,
                  struct text right);

/* The token of a text, or NO_TOKEN. */
uint32_t vocabulary_find(const struct tokenizer *t, const char *at, size_t n);

/* 256 if the letter stands for none */
unsigned letters_byte(const struct letters *letters, uint32_t code);

#endif
