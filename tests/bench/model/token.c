/* token.c - the launches of one token, for what bounds them
 *
 *     token MODEL.gguf PLACE
 *
 * Runs a token that sees PLACE others, of which nothing was kept: K and V are
 * what the memory holds. Prints the token that would be next, which is no
 * answer. To be run on a simulated GPU, see bounds.
 */
#include "model/generate.h"
#include "model/open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const struct model_token token = {
        17, 0, argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0, true};
    const struct model_options options = {.ndevices = 1,
                                          .batch = 1,
                                          .context = token.position + 1,
                                          .sequences = 1,
                                          .unrecorded = true};
    struct model *model = NULL;
    struct fault fault = {""};
    struct gguf gguf = {0};
    uint32_t next;
    bool good;

    if (argc != 3) {
        (void)fputs("usage: token MODEL.gguf PLACE\n", stderr);
        return 2;
    }
    good = gguf_open(argv[1], &gguf, &fault) &&
           model_open(&gguf, &options, &model, &fault) &&
           model_run(model, &token, 1, &fault) &&
           model_likeliest(model, &next, &fault);
    if (good)
        printf("%" PRIu32 "\n", next);
    else
        (void)fprintf(stderr, "token: %s\n", fault.text);
    model_close(model);
    gguf_close(&gguf);
    return good ? 0 : 1;
}
