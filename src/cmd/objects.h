/* objects.h - the code objects in a file, in order: by pack, module and target
 */
#ifndef KPK_CMD_OBJECTS_H
#define KPK_CMD_OBJECTS_H

#include "scan.h"

#include <stdbool.h>
#include <stddef.h>

/* The code objects, sorted, to be freed; those with a fault are left out. */
const struct found **objects_sorted(const struct scan *scan, size_t *n);

bool objects_same_pack(const struct found *a, const struct found *b);
bool objects_same_module(const struct found *a, const struct found *b);

/* How many from list[0] on have the pack, or the module, of list[0]. */
size_t objects_run(const struct found *const *list, size_t n,
                   bool (*same)(const struct found *, const struct found *));

/* Writes a code object as members of the JSON object that is open. */
void objects_json(const struct found *found);

/* Prints the heads that contradict their file; returns their number. */
size_t objects_print_faults(const struct scan *scan);

#endif
