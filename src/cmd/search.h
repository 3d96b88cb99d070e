/* search.h - finds the code objects in a file
 *
 * Packs are found by the magic of their heads (struct kpk_blob), whatever the
 * file is: program, shared object, archive, stripped or not. Nothing in the
 * file is believed before it is held against the file's size.
 */
#ifndef KPK_CMD_SEARCH_H
#define KPK_CMD_SEARCH_H

#include "scan.h"

#include <stdbool.h>

/* Reads the file and finds what is in it. False, with a sentence printed, if
 * it cannot be read or holds no pack; that it was cut short is printed, too.
 * Freed by search_free() either way. */
bool search_file(const char *path, struct scan *out);
void search_free(struct scan *scan);

#endif
