/* archive.h - AMD's kernel archives (.kpack), and libraries whose code is there
 *
 * Their code objects are found as those of a pack are: the group is the pack,
 * the key the module. They carry no SHA-256, so they are decoded when they are
 * found, and held against their labels.
 */
#ifndef KPK_CMD_ARCHIVE_H
#define KPK_CMD_ARCHIVE_H

#include "scan.h"

/* Whether the file that was read is an archive, which is taken then: true, with
 * a sentence printed if it is not sound. */
bool archive_scan(struct scan *scan);

bool archive_is_sound(const struct scan *scan);

/* Whether the file is a library with archives; if so, finds and reads them.
 * False, with a sentence printed, if the library's reference is damaged. */
bool archive_scan_library(struct scan *scan);

/* Whether a file is either, by its first bytes or its sections. */
bool archive_is(const struct scan *scan);

void archive_free(struct scan *scan);

/* How many archives are damaged, and how many translation units of a library no
 * archive has. */
size_t archive_faults(const struct scan *scan);

/* Prints which archives a library wants and which are there; with `whole` also
 * an archive's group, targets and compression. Prints nothing for other files.
 * archive_json() writes members of an object that is open. */
void archive_print(const struct scan *scan, bool whole);
void archive_json(const struct scan *scan);

#endif
