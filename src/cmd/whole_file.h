/* whole_file.h - a file appears whole or not at all */
#ifndef KPK_CMD_WHOLE_FILE_H
#define KPK_CMD_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a file whole or not at all; "-" is standard output. A new one gets the
 * mode of the file `like`, if that is not NULL. */
int cmd_write_file(const char *name, const void *data, size_t nbytes,
                   const char *like);
/* Reports that a file cannot be written, with errno's reason. */
int cmd_write_failed(const char *name);

/* Makes a folder, unless it exists. False: errno says why not. A name is
 * shorter than FOLDER_MAX bytes. */
enum { FOLDER_MAX = 3000 };
bool cmd_make_folder(const char *folder);

#endif
