/* library.h - the files that may be a driver's library */
#ifndef KPK_LIBRARY_H
#define KPK_LIBRARY_H

#include "os.h"

#pragma GCC visibility push(hidden)

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

/* The library that a variable names did not load; `what` begins the sentence.
 */
kpk_status kpk_i_does_not_load(const char *what, const char *variable,
                               const char *path);

#pragma GCC visibility pop

#endif
