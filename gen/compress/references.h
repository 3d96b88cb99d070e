/* references.h - picks the code objects that others of their module are
 * compressed against */
#ifndef KPK_GEN_REFERENCES_H
#define KPK_GEN_REFERENCES_H

#include "compress/encode.h"

/*
 * plan_references() sets references[i] to the number of the object that object
 * i of a module is compressed against; to i if object i is a root.
 */
bool plan_references(const struct bytes *contents, size_t n,
                     size_t *references);

#endif
