/* import_bundle.h - the code objects in bundles and offload binaries */
#ifndef KPK_GEN_IMPORT_BUNDLE_H
#define KPK_GEN_IMPORT_BUNDLE_H

#include "pack/import_image.h"

/* Whether data is a bundle or an offload binary. */
bool import_is_bundle(const unsigned char *data, size_t nbytes);

/*
 * import_bundles() takes bundles one behind the other, as in a program of
 * several sources: a single one is module NAME, several are NAME.0, NAME.1 and
 * so on.
 */
void import_bundles(struct import_found *f, const unsigned char *data,
                    size_t nbytes, const char *module);

#endif
