/* exit_status.c - what the command ends with after a failure of kpack's */
#include "exit_status.h"

#include <stdio.h>
#include <stdlib.h>

int cmd_failed(kpk_status st)
{
    (void)fprintf(stderr, "kpack: %s\n", kpk_error_message());
    switch ((int)st) {
    case KPK_ERR_NOMEM:
        return EXIT_NO_MEMORY;
    case KPK_ERR_NO_DRIVER:
    case KPK_ERR_NO_DEVICE:
        return EXIT_NO_GPU;
    default:
        return EXIT_NO;
    }
}

void cmd_need(kpk_status st)
{
    if (st != KPK_OK)
        exit(cmd_failed(st));
}
