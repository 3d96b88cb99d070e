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

/* The code object of exactly that target ID that is still in the module: what
 * `kpack prune` took out has left its row. */
kpk_status cmd_find_object(const kpk_module *module, const char *target,
                           size_t *out);

#endif
