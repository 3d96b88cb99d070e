/* gpu.c - a device, as all files of the backend use it */
#include "gpu.h"

#include <stdio.h>

bool gpu_check(kpk_status status, const char *what)
{
    if (status != KPK_OK)
        (void)fprintf(stderr, "ggml-kpack: %s: %s\n", what,
                      kpk_error_message());
    return status == KPK_OK;
}
