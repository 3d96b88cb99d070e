/* generate.h - generates tokens from prompts */
#ifndef MODEL_GENERATE_H
#define MODEL_GENERATE_H

#include "model.h"
#include "tokenizer.h"

/* Why an answer ended. */
enum stop { STOP_END, STOP_TOKENS, STOP_CONTEXT };

struct answer {
    struct tokens prompt, made; /* made: without the end token */
    enum stop stop;
};

struct speeds {
    uint64_t read, made; /* tokens */
    double read_s, made_s;
    double first_s; /* from the start of reading to the first token */
};

struct generator {
    struct model *model;
    const struct tokenizer *tokenizer;
    struct sampler sampler;
    uint32_t tokens, context, batch, sequences;
    /* Called with each new token; may be NULL. */
    void (*made)(void *context, size_t answer, uint32_t id);
    void *made_context;
};

/* Generates n answers from their prompts, several at once. */
bool generate(struct generator *g, struct answer *answers, size_t n,
              struct speeds *speeds, struct fault *fault);

#endif
