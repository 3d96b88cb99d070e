/* target_id.h - parses the names of targets: "gfx90a:xnack+", "sm_90a" */
#ifndef KPK_BASE_TARGET_ID_H
#define KPK_BASE_TARGET_ID_H

#include <stdbool.h>

/* A processor of AMD's, or a generic target. */
struct target_processor {
    const char *name;
    unsigned mach; /* in e_flags of its code objects */
    bool sramecc;  /* whether the feature exists; likewise xnack */
    bool xnack;
    bool generic;
};

/* The processor of a number in e_flags; NULL for an unknown number. */
const struct target_processor *target_processor_find(unsigned mach);

/* Whether a name is a target ID that a code object of AMD's may have. */
bool target_is_amd(const char *name);

/* Whether a name is sm_NN or compute_NN, with its suffix if it has one. */
bool target_is_nvidia(const char *name);

#endif
