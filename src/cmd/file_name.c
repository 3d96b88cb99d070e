/* file_name.c - names of code objects' files */
#include "file_name.h"

#include <ctype.h>
#include <string.h>

void cmd_file_name(char *name)
{
    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_.+-:", *c))
            *c = '-';
    }
    if (name[0] == '.')
        name[0] = '-';
}

const char *cmd_extension(const char *target)
{
    return strncmp(target, "sm_", 3) == 0        ? "cubin"
           : strncmp(target, "compute_", 8) == 0 ? "ptx"
                                                 : "hsaco";
}
