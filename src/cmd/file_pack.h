/* file_pack.h - the packs in a file, for commands that look into a pack */
#ifndef KPK_CMD_FILE_PACK_H
#define KPK_CMD_FILE_PACK_H

#include "cmd.h"

/* Runs a command with a file's packs as cmd_pack. Its exit status; EXIT_NO,
 * with a sentence printed, if the file has no pack or some of its code cannot
 * be read. */
int cmd_on_file(const char *path, int (*run)(const struct options *),
                const struct options *options);

#endif
