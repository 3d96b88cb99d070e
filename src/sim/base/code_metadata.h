/* code_metadata.h - reads the metadata note of a code object */
#ifndef SIM_BASE_CODE_METADATA_H
#define SIM_BASE_CODE_METADATA_H

#include "elf_view.h"

/* The metadata note's kernels, into the object, whose globals are there. */
enum sim_load_status sim_load_metadata(struct loader *l);

#endif
