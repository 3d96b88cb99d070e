/* exit_status.h - what the command ends with */
#ifndef KPK_CMD_EXIT_STATUS_H
#define KPK_CMD_EXIT_STATUS_H

#include "kpack.h"

/* Exit statuses. The manual page and --help list them from this table. */
/* clang-format off */
#define EXIT_TABLE(X)                                                        \
    X(DONE,      0, "success")                                               \
    X(NO,        1, "the answer is no, or a check failed")                   \
    X(USAGE,     2, "the command line is wrong")                             \
    X(NO_GPU,    3, "there is no HIP and no CUDA, or no GPU")                \
    X(NO_OUTPUT, 4, "output could not be written")                           \
    X(NO_MEMORY, 5, "out of memory")
/* clang-format on */

enum exit_status {
#define X(name, number, text) EXIT_##name = number,
    EXIT_TABLE(X)
#undef X
};

/* Prints kpack's last message on standard error. The exit status for `st`. */
int cmd_failed(kpk_status st);

/* For calls that cannot fail at this place: ends the command if one does. */
void cmd_need(kpk_status st);

#endif
