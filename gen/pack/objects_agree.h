/* objects_agree.h - do all targets of a module offer the same kernels? */
#ifndef KPK_GEN_OBJECTS_AGREE_H
#define KPK_GEN_OBJECTS_AGREE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/codeobj.h"

/*
 * objects_agree() says whether every object holds the same kernels, with the
 * same argument layout. The sentence that says what differs goes to
 * stderr, as `FILE: what`.
 */
bool objects_agree(struct codeobj *const *objects, size_t nobjects);

/*
 * objects_reference() is the one that tells most of the kernels, whose list is
 * the module's: the first that is not NVIDIA's, or else the first.
 */
const struct codeobj *objects_reference(struct codeobj *const *objects,
                                        size_t nobjects);

/* The same of two objects, without a word, and the names of arguments too, for
 * those tell padding. */
bool objects_alike(const struct codeobj *a, const struct codeobj *b);

#endif
