/* library.h - the files that may be a driver's library */
#ifndef KPK_LIBRARY_H
#define KPK_LIBRARY_H

#include "internal.h"

#pragma GCC visibility push(hidden)

struct kpk_i_library {
    const char *stem;   /* "libamdhip64", before ".so" and a number */
    int newest, oldest; /* numbers to look for */
    /* Folders to look in after the loader's own, each with its slash, and NULL.
     */
    const char *const *folders;
    const char *root; /* has core-X/lib for each release; may be NULL */
};

/* The handle of copy number `i` in the process; NULL if there are not so many.
 */
void *kpk_i_mapped_library(const struct kpk_i_library *library, size_t i);

/* Calls try() with each file name of the library, in order, until it returns
 * true. Returns whether it did. */
typedef bool kpk_i_try_file(const char *name, void *what);
bool kpk_i_each_file(const struct kpk_i_library *library, kpk_i_try_file *try,
                     void *what);

/* Files that exist and cannot be used, with the reasons. */
struct kpk_i_tried {
    char why[1024];
};
void kpk_i_tried(struct kpk_i_tried *tried, const char *name, const char *why);

/* The handle of a file, or NULL; that it is there but does not load is noted.
 */
void *kpk_i_open_library(const char *name, struct kpk_i_tried *tried);

#pragma GCC visibility pop

#endif
