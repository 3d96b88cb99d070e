/* own_pack.h - the pack that the command looks into: its own, or a file's */
#ifndef KPK_CMD_OWN_PACK_H
#define KPK_CMD_OWN_PACK_H

#include "kpack.h"
#include "nearest.h"

#include <stdbool.h>
#include <stddef.h>

extern const kpk_pack *cmd_pack;
extern const char *cmd_pack_path; /* the file; "": its own */

/* The module of that name; of several, which imported packs have, the one for
 * that target. NULL, with a sentence printed, if there is none. */
const kpk_module *cmd_find_module(const char *name, const char *target);

/* Offers the names of all modules, of all kernels, or of both. */
void cmd_offer_names(struct nearest *nearest, bool modules, bool kernels);

/* The module's code object for exactly this target ID. Code objects that `kpack
 * prune` removed still have rows and are not found. */
kpk_status cmd_find_object(const kpk_module *module, const char *target,
                           size_t *out);

#endif
