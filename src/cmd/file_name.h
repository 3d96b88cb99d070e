/* file_name.h - names of code objects' files */
#ifndef KPK_CMD_FILE_NAME_H
#define KPK_CMD_FILE_NAME_H

/* Turns a name into a file name that cannot leave its folder. */
void cmd_file_name(char *name);

/* The extension of a code object's file for a target, without the dot. */
const char *cmd_extension(const char *target);

#endif
