/* references.h - picks, for each code object of a module, the one that it is
 * compressed against */
#ifndef KPK_GEN_REFERENCES_H
#define KPK_GEN_REFERENCES_H

#include "compress/encode.h"

/*
 * plan_references() sets references[i] to the number of the object against
 * which a module's object i is compressed, or to i if it is a root.
 */
bool plan_references(const struct bytes *contents, size_t n,
                     size_t *references);

#endif
