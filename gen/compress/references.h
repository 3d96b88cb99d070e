/* references.h - which code object of a module is compressed against which */
#ifndef KPK_GEN_REFERENCES_H
#define KPK_GEN_REFERENCES_H

#include "compress/encode.h"

/*
 * plan_references() says what each of a module's code objects is compressed
 * against: references[i] is the number of another one, or i for none.
 */
bool plan_references(const struct bytes *contents, size_t n,
                     size_t *references);

#endif
