/* import_library.h - libraries of the host without code of their own */
#ifndef KPK_GEN_IMPORT_LIBRARY_H
#define KPK_GEN_IMPORT_LIBRARY_H

#include "pack/imported.h"

/* Remembers a library whose code lies in AMD's archives. Takes *hipk over. */
void import_library(struct import *in, const struct import_place *place,
                    const struct hipk *hipk);

/*
 * import_host() remembers a library, program or static archive without code for
 * GPUs. A tree with AMD's archives has many: import_libraries() passes them
 * over. In other trees import_libraries() refuses them. A file is refused at
 * once if its ending claims code objects and is none of the host's.
 */
void import_host(struct import *in, const char *file, const char *message);

/* Follows the libraries to their archives, when all files have been read. */
void import_libraries(struct import *in);

#endif
