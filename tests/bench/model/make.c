/* make.c - writes a model of a known one's size, with random weights
 *
 *     make SHAPE FORMAT FILE.gguf
 *
 * FORMAT Q4_K_M is llama.cpp's mixture of Q4_K and Q6_K. In every quantized
 * model the matrix that logits come from is Q6_K, as llama.cpp's are.
 */
#include "../../model/tiny.h"
#include "model/gguf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    struct tiny tiny;
} shapes[] = {
    {"llama-70b",   {.arch = "llama", .layers = 80, .width = 8192, .inner = 28672, .heads = 64, .kv_heads = 8, .head = 128,
                     .vocabulary = 128256, .seed = 70}},
    {"llama-8b",    {.arch = "llama", .layers = 32, .width = 4096, .inner = 14336, .heads = 32, .kv_heads = 8, .head = 128,
                     .vocabulary = 128256, .seed = 8}},
    {"llama-1b",    {.arch = "llama", .layers = 16, .width = 2048, .inner = 8192, .heads = 32, .kv_heads = 8, .head = 64,
                     .tied = true, .vocabulary = 128256, .seed = 1}},
    {"smollm-135m", {.arch = "llama", .layers = 30, .width = 576, .inner = 1536, .heads = 9, .kv_heads = 3, .head = 64,
                     .tied = true, .vocabulary = 49152, .seed = 135}},
    {"gemma-270m",  {.arch = "gemma3", .layers = 18, .width = 640, .inner = 2048, .heads = 4, .kv_heads = 1, .head = 256,
                     .tied = true, .normed = true, .twice = true, .spm = true, .window = 512, .vocabulary = 262144, .seed = 270}},
    {"experts-7b",  {.arch = "qwen3moe", .layers = 16, .width = 2048, .inner = 1024, .heads = 16, .kv_heads = 4, .head = 128,
                     .experts = 64, .used = 8, .normed = true, .vocabulary = 50304, .seed = 7}},
    {"tiny",        {.arch = "llama", .layers = 2, .width = 256, .inner = 512, .heads = 4, .kv_heads = 2, .head = 64, .seed = 2}},
};
/* clang-format on */

/* The id of a format that has kernels; UINT32_MAX if there is none. */
static uint32_t format_named(const char *name)
{
    for (uint32_t id = 0; id < 64; id++)
        if (tensor_format_of(id) && tensor_format_of(id)->kernel &&
            strcmp(tensor_format_of(id)->name, name) == 0)
            return id;
    return UINT32_MAX;
}

int main(int argc, char **argv)
{
    struct tiny tiny = {0};
    FILE *file;
    bool mixed, good;

    for (size_t i = 0; argc == 4 && i < sizeof(shapes) / sizeof(*shapes); i++)
        if (strcmp(argv[1], shapes[i].name) == 0)
            tiny = shapes[i].tiny;
    mixed = argc == 4 && strcmp(argv[2], "Q4_K_M") == 0;
    tiny.format = tiny.arch ? format_named(mixed ? "Q4_K" : argv[2]) : 0;
    if (!tiny.arch || tiny.format == UINT32_MAX) {
        (void)fputs(
            "usage: make llama-70b|llama-8b|llama-1b|smollm-135m|gemma-270m|"
            "experts-7b|tiny Q4_0|Q4_K_M|Q8_0|F16|... FILE.gguf\n",
            stderr);
        return 2;
    }
    tiny.context = 8192;
    if (tensor_format_of(tiny.format)->elems > 1)
        tiny.output = format_named("Q6_K");
    if (mixed)
        tiny.more = format_named("Q6_K");
    file = fopen(argv[3], "wb");
    good = file && tiny_write(&tiny, file);
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        (void)fprintf(stderr, "%s: %s\n", argv[3], strerror(errno));
    return good ? 0 : 1;
}
