/* file.h - files and folders, by names in UTF-8
 *
 * file_posix.c and file_windows.c define all functions; a build uses one of
 * them. Functions that fail set errno.
 */
#ifndef KPK_BASE_FILE_H
#define KPK_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Devices have no end; other files are folders, pipes and the like. */
enum file_kind { FILE_NONE, FILE_REGULAR, FILE_DEVICE, FILE_OTHER };
enum file_kind file_kind(const char *path);
/* Of an open file, and its size. */
enum file_kind file_kind_of(FILE *file, uint64_t *nbytes);

/* fopen() and fseek() from the beginning, for any name and any size. */
FILE *file_open(const char *path, const char *mode);
bool file_seek(FILE *file, uint64_t at);

/* Calls with the name of each entry of a folder until a call returns false.
 * Whether all did, and the folder was read to its end. */
bool file_each(const char *folder, bool (*call)(const char *name, void *what),
               void *what);

/* A file's path from the root, without links, its separators '/', by malloc();
 * NULL if there is no such file. */
char *file_whole_path(const char *path);

bool file_make_folder(const char *path);

#endif
