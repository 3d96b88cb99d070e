/* output.h - a file that appears complete or not at all */
#ifndef KPK_GEN_OUTPUT_H
#define KPK_GEN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *f;
    char *path, *temporary;
    struct output *next; /* next open output */
};

/*
 * output_open() opens a file and makes its folders. Bytes go to a temporary
 * file beside it until output_close(), which puts the file in place if every
 * write and `ok` are good. If the content would not change, the old file stays,
 * with its time. Both report failures on stderr. The struct stays where it is
 * while it is open: a command that exits meanwhile leaves nothing half written.
 */
bool output_open(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool output_close(struct output *out, bool ok);

#endif
