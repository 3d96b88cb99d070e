/* os.h - what the command asks of the system, beside files and libraries
 *
 * os_posix.c and os_windows.c define all of it; a build takes one of them.
 */
#ifndef KPK_CMD_OS_H
#define KPK_CMD_OS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Before anything else: the standard files are open, and the words of the
 * command line are UTF-8, which the console shows. */
void os_begin(int *argc, char ***argv);

/* Finds bytes among others; NULL if they are not there. */
const unsigned char *os_find(const unsigned char *in, size_t in_nbytes,
                             const unsigned char *bytes, size_t nbytes);

/* Room for bytes that ends against a page that cannot be read: who reads on is
 * found. Pages that nothing is written to take no memory. False without it. */
struct os_room {
    void *pages;
    size_t pages_nbytes;
    unsigned char *bytes;
};
bool os_make_room(struct os_room *out, size_t nbytes);
void os_free_room(struct os_room *room);

/* The next part of an open file that is no hole: *from at or behind `at`, *to
 * its end; all the rest where the system does not tell. False if there is
 * none. */
bool os_next_data(FILE *file, uint64_t at, uint64_t size, uint64_t *from,
                  uint64_t *to);

/* A file whose text is wanted and no file: os_end_text() closes it and gives
 * the text, by malloc(). Both are false without memory. */
struct os_text {
    FILE *file;
    char *text;
    size_t nbytes;
};
bool os_begin_text(struct os_text *out);
bool os_end_text(struct os_text *text);

/* The decoder's library, a name for kpk_i_library_open(). */
extern const char os_zstd[];

/* ---- a file that takes another one's place ------------------------------ */

/* What is at a path that is to be written. */
struct os_place {
    bool exists;
    bool straight; /* no file, or not known to be one: it is written in place */
    unsigned mode; /* who may do what with the file */
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

/* Removes files of a folder that nobody writes anymore, if is() says so of a
 * name. */
void os_sweep(const char *folder, bool (*is)(const char *name));

#endif
