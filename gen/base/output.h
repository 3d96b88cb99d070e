/* output.h - a file that appears complete or not at all */
#ifndef KPK_GEN_OUTPUT_H
#define KPK_GEN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *f;
    char *path, *temporary;
    struct output *next; /* that is open, too */
};

/*
 * output_open() opens a file, whose folders it makes. What is written is beside
 * it until output_close(), which puts it in place if all is well, `ok` among
 * it. A file that would not change is left as it is, with its time. Both say on
 * stderr what goes wrong. The struct stays where it is while it is open: a
 * command that exits meanwhile leaves nothing half written.
 */
bool output_open(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool output_close(struct output *out, bool ok);

#endif
