/* os.h - system functions of the command, beside files and libraries
 *
 * os_posix.c and os_windows.c define all functions; a build uses one of them.
 */
#ifndef KPK_CMD_OS_H
#define KPK_CMD_OS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Call it first. It makes sure that the standard files are open, that the
 * command line's words are UTF-8, and that the console shows UTF-8. */
void os_begin(int *argc, char ***argv);

/* Finds bytes in a longer sequence; NULL if they are not there. */
const unsigned char *os_find(const unsigned char *in, size_t in_nbytes,
                             const unsigned char *bytes, size_t nbytes);

/* Room for bytes that ends against an unreadable page, so that a read past the
 * end faults. Pages take memory only once they are written. False without
 * memory. */
struct os_room {
    void *pages;
    size_t pages_nbytes;
    unsigned char *bytes;
};
bool os_make_room(struct os_room *out, size_t nbytes);
void os_free_room(struct os_room *room);

/* Finds the next part of an open file that is no hole, [*from, *to), at or
 * after `at`. It is all the rest if the system does not know holes. False if
 * there is none. */
bool os_next_data(FILE *file, uint64_t at, uint64_t size, uint64_t *from,
                  uint64_t *to);

/* A FILE that writes to memory. os_end_text() closes it and returns the text,
 * allocated by malloc(). Both are false without memory. */
struct os_text {
    FILE *file;
    char *text;
    size_t nbytes;
};
bool os_begin_text(struct os_text *out);
bool os_end_text(struct os_text *text);

/* The decoder's library, a name for kpk_i_library_open(). */
extern const char os_zstd[];

/* ---- replacing a file --------------------------------------------------- */

/* What exists at a path that is to be written. */
struct os_place {
    bool exists;
    bool straight; /* maybe no regular file, so it is written in place */
    unsigned mode; /* the file's permissions */
};
struct os_place os_look(const char *path);

/* The file that a path leads to, if it may be written, by malloc(); else NULL
 * and errno. */
char *os_writable(const char *path);

/* A file that did not exist, for writing, and what says that it is ours; NULL
 * and errno: EEXIST, and EBUSY if os_sweep() was faster. */
FILE *os_create(const char *path, int *lock);
void os_set_mode(int lock, unsigned mode);
/* When it has its place, or is removed. */
void os_let_go(int lock);
bool os_replace(const char *from, const char *to);
void os_remove(const char *path);
/* This process's number, for names. */
long os_process(void);

/* Signals that end the command remove `path` while *is_there. */
void os_heed_signals(const char *path, volatile sig_atomic_t *is_there);

/* Removes files of a folder whose name is() accepts and which no process writes
 * any more. */
void os_sweep(const char *folder, bool (*is)(const char *name));

#endif
