/* make.c - writes a model of a known one's size, with random weights
 *
 *     make SHAPE FORMAT FILE.gguf
 */
#include "../../model/gguf.h"
#include "../../model/tiny.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    struct tiny tiny;
} shapes[] = {
    {"llama-8b", {.arch = "llama", .layers = 32, .width = 4096, .inner = 14336, .heads = 32, .kv_heads = 8, .head = 128,
                  .vocabulary = 128256, .seed = 8}},
    {"llama-1b", {.arch = "llama", .layers = 16, .width = 2048, .inner = 8192, .heads = 32, .kv_heads = 8, .head = 64,
                  .tied = true, .vocabulary = 128256, .seed = 1}},
    {"tiny",     {.arch = "llama", .layers = 2, .width = 256, .inner = 512, .heads = 4, .kv_heads = 2, .head = 64, .seed = 2}},
};
/* clang-format on */

int main(int argc, char **argv)
{
    struct tiny tiny = {0};
    uint8_t *bytes;
    size_t n;
    FILE *file;

    for (size_t i = 0; argc == 4 && i < sizeof(shapes) / sizeof(*shapes); i++)
        if (strcmp(argv[1], shapes[i].name) == 0)
            tiny = shapes[i].tiny;
    for (uint32_t id = 0; tiny.arch && id < 16; id++)
        if (tensor_format_of(id) && tensor_format_of(id)->kernel &&
            strcmp(tensor_format_of(id)->name, argv[2]) == 0) {
            tiny.format = id;
            file = fopen(argv[3], "wb");
            bytes = file ? tiny_make(&tiny, &n) : NULL;
            if (!bytes || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) {
                (void)fprintf(stderr, "%s: %s\n", argv[3], strerror(errno));
                return 1;
            }
            free(bytes);
            return 0;
        }
    (void)fputs("usage: make llama-8b|llama-1b|tiny Q4_0|Q4_K|Q8_0|... "
                "FILE.gguf\n",
                stderr);
    return 2;
}
