/* export.h - writes packs as AMD's kernel archives */
#ifndef KPK_CMD_EXPORT_H
#define KPK_CMD_EXPORT_H

#include "cmd.h"

/* `kpack extract --kpack`, of the command's pack or of the packs in a file. */
int cmd_export(const struct options *options);

#endif
