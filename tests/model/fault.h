/* fault.h - what went wrong, as one sentence for the user */
#ifndef MODEL_FAULT_H
#define MODEL_FAULT_H

#include <stdbool.h>

struct fault {
    char text[768];
};

/* Writes the sentence, unless there is one already. Returns false, so that
 * callers can return it. */
__attribute__((format(printf, 2, 3))) bool fail(struct fault *fault,
                                                const char *format, ...);

#endif
