/* file.h - a whole file in memory */
#ifndef KPK_GEN_FILE_H
#define KPK_GEN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define FILE_ERROR_MAX 128

/*
 * file_read() reads a file of at most `most` bytes.
 *
 *   out    its bytes and a NUL behind them; to be freed
 *   error  what went wrong, without the path, if it returns false
 */
bool file_read(const char *path, size_t most, unsigned char **out,
               size_t *nbytes, char error[FILE_ERROR_MAX]);

/* Reads the first bytes of a file, `room` at most. */
bool file_read_start(const char *path, void *out, size_t room, size_t *nbytes,
                     char error[FILE_ERROR_MAX]);

/* The part of a path behind its last slash. */
const char *file_name(const char *path);

#endif
