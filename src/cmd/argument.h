/* argument.h - arguments of a kernel as the command line has them
 *
 *   TYPE:NUMBER      a number, e.g. u32:1000 or f32:0.5
 *   TYPExCOUNT:FILL  device memory of COUNT elements, e.g. f32x1000:ramp.
 *                    FILL is a number, `ramp` (0 to 7 over and over), `random`
 *                    (-1 to 1, or 0 to 15 of integers; always the same) or
 *                    @FILE with the bytes
 *   null             a null pointer
 *
 * Types are u8 to u64, i8 to i64, f64, f32, f16, bf16, f8_e4m3 and f8_e5m2.
 */
#ifndef KPK_CMD_ARGUMENT_H
#define KPK_CMD_ARGUMENT_H

#include "kpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { ELEMENT_MAX_NBYTES = 8 };

struct argument {
    const char *text; /* as typed */
    const struct argument_type *type;
    size_t count;        /* elements of a buffer; 0: a value */
    size_t nbytes;       /* size of the buffer or value */
    unsigned char *host; /* the buffer's bytes; NULL for a value */
    void *device;
    unsigned char value[ELEMENT_MAX_NBYTES];
};

/* False, with a sentence printed, if the text is no argument. */
bool argument_parse(const char *text, struct argument *out);
void argument_free(struct argument *argument);

const char *argument_type_name(const struct argument *argument);

/* Element i of the host's copy. */
void argument_print_element(const struct argument *argument, size_t i,
                            char *out, size_t nbytes);

#endif
