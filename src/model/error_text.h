/* error_text.h - what went wrong, as one sentence for the user */
#ifndef MODEL_ERROR_TEXT_H
#define MODEL_ERROR_TEXT_H

#include <stdbool.h>

struct fault {
    char text[768];
};

/* Writes the sentence, unless there is one already. */
__attribute__((format(printf, 2, 3))) void set_fault(struct fault *fault,
                                                     const char *format, ...);

static inline bool is_false(void)
{
    return false;
}

/* The same, with value false, so that callers can return it. It is a macro, so
 * that tools which analyze single files see the value. */
#define fail(fault, ...) (set_fault(fault, __VA_ARGS__), is_false())

#endif
