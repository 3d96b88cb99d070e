/* after.h - what the programs that call kpack share */
#include <kpack.h>

#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                               \
    do {                                                                       \
        if ((call) != KPK_OK) {                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                 \
                    kpk_error_message());                                      \
            exit(1);                                                           \
        }                                                                      \
    } while (0)
