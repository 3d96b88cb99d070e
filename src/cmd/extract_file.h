/* extract_file.h - kpack extract on a file */
#ifndef KPK_CMD_EXTRACT_FILE_H
#define KPK_CMD_EXTRACT_FILE_H

#include "cmd.h"

int cmd_extract_file(const struct options *options);

#endif
