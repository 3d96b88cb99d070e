/* list_file.h - kpack list and info on a file */
#ifndef KPK_CMD_LIST_FILE_H
#define KPK_CMD_LIST_FILE_H

#include "cmd.h"

#include <stdbool.h>

int cmd_list_file(const struct options *options);

/* Prints what `info` has of one of AMD's archives, or of a library whose code
 * is in some. False, and nothing printed, if the file is neither; *sound tells
 * whether all code that it wants is there. */
bool cmd_info_file(const struct options *options, bool *sound);

#endif
