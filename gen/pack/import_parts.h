/* import_parts.h - an imported tree as parts of a pack */
#ifndef KPK_GEN_IMPORT_PARTS_H
#define KPK_GEN_IMPORT_PARTS_H

#include "pack/imported.h"

/* The parts that a tree makes, one a kind, sorted by name. */
struct pack_part *import_parts(const struct import *in, size_t *n);

#endif
