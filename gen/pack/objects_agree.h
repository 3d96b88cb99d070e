/* objects_agree.h - do all targets of a module offer the same kernels? */
#ifndef KPK_GEN_OBJECTS_AGREE_H
#define KPK_GEN_OBJECTS_AGREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/codeobj.h"

/*
 * objects_agree() says whether every object holds the same kernels, with the
 * same argument layout. A difference is reported on stderr, as `FILE: what`.
 */
bool objects_agree(struct codeobj *const *objects, size_t nobjects);

/*
 * objects_reference() picks the object whose kernels become the module's: the
 * first for AMDGPU, whose metadata say most, or else the first.
 */
const struct codeobj *objects_reference(struct codeobj *const *objects,
                                        size_t nobjects);

/* Whether two objects hold the same kernels; reports nothing. Names of
 * arguments must agree too, because they tell padding. */
bool objects_alike(const struct codeobj *a, const struct codeobj *b);

#endif
