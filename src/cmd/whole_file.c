/* whole_file.c - a file appears whole or not at all
 *
 * The file is written beside its place, under a temporary name, and then
 * renamed. So a previous file stays if the disk is full, and a signal leaves
 * neither half a file nor a temporary one.
 *
 * SIGKILL leaves the temporary file. The next command that writes into the
 * folder removes it, if no running command still writes it: see os_sweep().
 */
#include "whole_file.h"
#include "exit_status.h"
#include "os.h"
#include "xmalloc.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file being written, for the signal handler. */
static char unfinished[4096];
static volatile sig_atomic_t is_unfinished;

int cmd_write_failed(const char *name)
{
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: cannot write %s: %s\n", name,
                  strerror(errno));
    return EXIT_NO_OUTPUT;
}

/* Writes and closes a file; errno says why it failed. */
static bool fill(FILE *file, const void *data, size_t nbytes)
{
    const bool written = fwrite(data, 1, nbytes, file) == nbytes;
    const int why = errno;

    if (fclose(file) == 0 && written) /* a full disk may show only now */
        return true;
    if (!written)
        errno = why;
    return false;
}

/* Writes in place: only a regular file can be replaced. */
static int write_straight(const char *name, const void *data, size_t nbytes)
{
    FILE *file = file_open(name, "wb");

    return file && fill(file, data, nbytes) ? EXIT_DONE
                                            : cmd_write_failed(name);
}

/* ---- unfinished files ----------------------------------------------- */

#define PREFIX ".kpack-"
#define SUFFIX ".new"

/* Up to the name of the file itself. */
static int folder_nbytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash + 1 - path) : 0;
}

/* Another name each time, so that os_sweep() cannot mean a later file. */
static bool name_unfinished(const char *path)
{
    static unsigned serial;

    if ((size_t)snprintf(unfinished, sizeof(unfinished),
                         "%.*s" PREFIX "%ld-%u" SUFFIX, folder_nbytes(path),
                         path, os_process(), ++serial) < sizeof(unfinished))
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* A name that name_unfinished() makes. */
static bool is_unfinished_name(const char *name)
{
    const size_t n = strlen(PREFIX);
    size_t digits;

    if (strncmp(name, PREFIX, n) != 0)
        return false;
    digits = strspn(name + n, "0123456789-");
    return digits > 0 && strcmp(name + n + digits, SUFFIX) == 0;
}

/* Of the folder that `path` is in; once, however many files are written there.
 * What cannot be swept is left: that is no reason not to write. */
static void sweep(const char *path)
{
    static char swept[sizeof(unfinished)];
    char folder[sizeof(unfinished)] = "./";
    const int n = folder_nbytes(path);

    if ((size_t)n >= sizeof(folder))
        return;
    if (n > 0) {
        memcpy(folder, path, (size_t)n);
        folder[n] = '\0';
    }
    if (strcmp(folder, swept) == 0)
        return;
    memcpy(swept, folder, sizeof(swept));
    os_sweep(folder, is_unfinished_name);
}

/* Creates an unfinished file in the folder of `path`; NULL with errno set on
 * failure. */
static FILE *open_unfinished(const char *path, int *lock)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES; i++) {
        FILE *file;
        int why;

        if (!name_unfinished(path))
            return NULL;
        is_unfinished = 1; /* before the file exists: a signal may come */
        file = os_create(unfinished, lock);
        if (file)
            return file;
        why = errno;
        is_unfinished = 0;
        errno = why;
        /* EBUSY: os_sweep() holds it. EEXIST: it is a file of another process
         * with the same process number. */
        if (why != EBUSY && why != EEXIST)
            return NULL;
    }
    return NULL;
}

/* Writes an unfinished file and moves it to `path`, with the permissions of
 * `like` if `like` exists. */
static bool exchange(const char *path, const void *data, size_t nbytes,
                     const struct os_place *like)
{
    FILE *file;
    bool ok;
    int lock, why;

    sweep(path);
    file = open_unfinished(path, &lock);
    if (!file)
        return false;
    if (like->exists)
        os_set_mode(lock, like->mode);
    ok = fill(file, data, nbytes) && os_replace(unfinished, path);
    why = errno;
    if (!ok)
        os_remove(unfinished);
    is_unfinished = 0;
    os_let_go(lock);
    errno = why;
    return ok;
}

int cmd_write_file(const char *name, const void *data, size_t nbytes,
                   const char *like)
{
    const struct os_place there = os_look(name);
    const struct os_place other =
        like ? os_look(like) : (struct os_place){.exists = false};
    char *path = NULL;
    bool ok;

    if (strcmp(name, "-") == 0) {
        /* main() reports a failing standard output */
        (void)fwrite(data, 1, nbytes, stdout);
        return EXIT_DONE;
    }
    if (there.straight)
        return write_straight(name, data, nbytes);
    /* Replace the file itself, not a link to it. */
    if (there.exists && !(path = os_writable(name)))
        return cmd_write_failed(name);
    os_heed_signals(unfinished, &is_unfinished);
    ok = exchange(path ? path : name, data, nbytes,
                  there.exists ? &there : &other);
    free(path);
    return ok ? EXIT_DONE : cmd_write_failed(name);
}

bool cmd_make_folder(const char *folder)
{
    if (strlen(folder) >= FOLDER_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return file_make_folder(folder) || errno == EEXIST;
}
