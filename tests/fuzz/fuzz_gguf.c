/* fuzz_gguf.c - any bytes as a GGUF file: its tensors, sizes and vocabulary */
#include "fuzz.h"
#include "model/arch.h"
#include "model/tokenizer.h"

/* Every tensor lies in the file. */
static void check_tensors(const struct gguf *gguf, const uint8_t *data,
                          size_t nbytes)
{
    for (uint64_t i = 0; i < gguf->ntensors; i++) {
        const struct gguf_tensor *t = &gguf->tensors[i];

        FUZZ_ASSERT(t->data >= data && t->data <= data + nbytes &&
                    t->nbytes <= (size_t)(data + nbytes - t->data));
    }
}

/* The file's own bytes are the text that is cut into tokens. */
static void tokenize(const struct gguf *gguf, const uint8_t *data,
                     size_t nbytes)
{
    struct fault fault = {""};
    struct tokenizer *tokenizer = NULL;
    struct tokens tokens = {0};
    char piece[16];

    if (!tokenizer_open(gguf, &tokenizer, &fault)) {
        FUZZ_ASSERT(fault.text[0]);
        return;
    }
    if (tokenizer_encode(tokenizer, (const char *)data,
                         nbytes < 4096 ? nbytes : 4096, nbytes % 2, &tokens,
                         &fault))
        for (size_t i = 0; i < tokens.n; i++) {
            FUZZ_ASSERT(tokens.id[i] < tokenizer_count(tokenizer));
            (void)tokenizer_piece(tokenizer, tokens.id[i], piece,
                                  sizeof(piece));
            (void)tokenizer_ends(tokenizer, tokens.id[i]);
        }
    free(tokens.id);
    tokenizer_close(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct fault fault = {""};
    struct gguf gguf;
    struct sizes sizes;

    if (!gguf_parse("fuzz", data, nbytes, &gguf, &fault)) {
        FUZZ_ASSERT(fault.text[0]);
        return 0;
    }
    check_tensors(&gguf, data, nbytes);
    if (!sizes_read(&gguf, &sizes, &fault))
        FUZZ_ASSERT(fault.text[0]);
    else
        for (uint32_t i = 0; i < sizes.layers; i++)
            (void)has_window(&sizes, i);
    tokenize(&gguf, data, nbytes);
    gguf_close(&gguf);
    return 0;
}
