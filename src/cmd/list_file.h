/* list_file.h - kpack list and info on a file */
#ifndef KPK_CMD_LIST_FILE_H
#define KPK_CMD_LIST_FILE_H

#include "cmd.h"

#include <stdbool.h>

int cmd_list_file(const struct options *options);

/* Prints `info` for one of AMD's archives, or for a library with code in such
 * archives. False, with nothing printed, for another file; *sound says whether
 * all of its code was found. */
bool cmd_info_file(const struct options *options, bool *sound);

#endif
