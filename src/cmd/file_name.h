/* file_name.h - what the files of code objects are called */
#ifndef KPK_CMD_FILE_NAME_H
#define KPK_CMD_FILE_NAME_H

/* Makes of a name the name of a file, which stays in its folder. */
void cmd_file_name(char *name);

/* The extension of a code object's file for a target, without the dot. */
const char *cmd_extension(const char *target);

#endif
