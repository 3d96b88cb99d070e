/* make_cubin.c - writes a cubin of one kernel, scale(8, 8, 2 and 4 bytes)
 *
 *   make_cubin FILE NUMBER [OPTIONS]
 *
 * The target is sm_NUMBER. OPTIONS are the assembler's, like "-arch sm_90a";
 * the cubin has them in a note, which cubins of CUDA 11 lack.
 */
#include "made_cubin.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static const struct made_param params[] = {
        {0, 8}, {8, 8}, {16, 2}, {20, 4}};
    struct made_cubin spec = {.kernel = "scale",
                              .release = 130,
                              .params = params,
                              .nparams = 4,
                              .param_nbytes = 24,
                              .registers = 32};
    unsigned char *data;
    size_t nbytes;
    FILE *f;
    int ok;

    if (argc < 3 || argc > 4)
        return 2;
    spec.sm = (unsigned)strtoul(argv[2], NULL, 10);
    spec.options = argc > 3 ? argv[3] : NULL;
    data = make_cubin(&spec, &nbytes);
    f = fopen(argv[1], "wb");
    if (!f)
        return perror(argv[1]), 1;
    ok = fwrite(data, nbytes, 1, f) == 1;
    free(data);
    return fclose(f) == 0 && ok ? 0 : 1;
}
