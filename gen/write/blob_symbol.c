/* blob_symbol.c - what a code object's bytes are called in C */
#include "write/blob_symbol.h"

#include <ctype.h>
#include <stdio.h>

void blob_symbol(char out[BLOB_SYMBOL_MAX], const char *pack,
                 const char *module, const char *target)
{
    size_t n;

    if (!*module) {
        snprintf(out, BLOB_SYMBOL_MAX, "kpk_i_%.500s__dictionary", pack);
        return;
    }
    n = (size_t)snprintf(out, BLOB_SYMBOL_MAX, "kpk_i_%.500s__%.500s_", pack,
                         module);
    for (const char *c = target; *c && n + 5 < BLOB_SYMBOL_MAX; c++) {
        if (*c == '+')
            n += (size_t)snprintf(out + n, BLOB_SYMBOL_MAX - n, "_on");
        else if (*c == '-' && (c[1] == ':' || !c[1]))
            n += (size_t)snprintf(out + n, BLOB_SYMBOL_MAX - n, "_off");
        else
            out[n++] = isalnum((unsigned char)*c) ? *c : '_';
    }
    out[n] = '\0';
}
