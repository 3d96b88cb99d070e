/* whole_file.c - a file appears whole or not at all
 *
 * It is written beside its place, under a name of its own, and then takes the
 * place. So what was there before stays if the disk is full, and a signal
 * leaves neither half a file nor a stray one.
 *
 * SIGKILL does leave one. The next command that writes into the folder removes
 * it: who writes a file holds a lock on it, which ends with the process, also
 * one in another container or on another host.
 */
#include "whole_file.h"
#include "exit_status.h"
#include "xmalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is being written, for the handler of signals. */
static char unfinished[4096];
static volatile sig_atomic_t is_unfinished;

static void end_by_signal(int number)
{
    if (is_unfinished)
        (void)unlink(unfinished);
    (void)raise(number); /* once more, when this returns: it ends the command */
}

static void heed_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction ours = {.sa_handler = end_by_signal,
                                   .sa_flags = (int)SA_RESETHAND};
    struct sigaction old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* as under nohup */
            (void)sigaction(numbers[i], &ours, NULL);
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit of size: writing fails then */
}

int cmd_write_failed(const char *name)
{
    if (errno == ENOMEM)
        cmd_no_memory();
    (void)fprintf(stderr, "kpack: cannot write %s: %s\n", name,
                  strerror(errno));
    return EXIT_NO_OUTPUT;
}

/* And closes it; errno says why it failed. */
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

/* What is no file, or not known to be one, cannot be exchanged. */
static int write_straight(const char *name, const void *data, size_t nbytes)
{
    FILE *file = fopen(name, "wb");

    return file && fill(file, data, nbytes) ? EXIT_DONE
                                            : cmd_write_failed(name);
}

static bool is_straight(const char *name, const struct stat *there)
{
    struct stat status;

    /* What is open already has a name there, though it may be a file. */
    if ((strncmp(name, "/dev/", 5) == 0 &&
         strncmp(name, "/dev/shm/", 9) != 0) ||
        strncmp(name, "/proc/", 6) == 0)
        return true;
    /* A link to nowhere: its file is made. */
    return there ? !S_ISREG(there->st_mode)
                 : lstat(name, &status) == 0 && S_ISLNK(status.st_mode);
}

/* ---- what is unfinished --------------------------------------------- */

#define PREFIX ".kpack-"
#define SUFFIX ".new"

/* Up to the name of the file itself. */
static int folder_nbytes(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash + 1 - path) : 0;
}

/* Another name each time, so that sweep() cannot mean a later file. */
static bool name_unfinished(const char *path)
{
    static unsigned serial;

    if ((size_t)snprintf(unfinished, sizeof(unfinished),
                         "%.*s" PREFIX "%ld-%u" SUFFIX, folder_nbytes(path),
                         path, (long)getpid(), ++serial) < sizeof(unfinished))
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

/* Removes what nobody writes anymore. */
static void sweep_file(int folder, const char *name)
{
    const int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    (void)close(fd);
}

/* Of the folder that `path` is in; once, however many files are written there.
 * What cannot be swept is left: that is no reason not to write. */
static void sweep(const char *path)
{
    static char swept[sizeof(unfinished)];
    char folder[sizeof(unfinished)] = "./";
    const int n = folder_nbytes(path);
    const struct dirent *entry;
    DIR *dir;

    if ((size_t)n >= sizeof(folder))
        return;
    if (n > 0) {
        memcpy(folder, path, (size_t)n);
        folder[n] = '\0';
    }
    if (strcmp(folder, swept) == 0)
        return;
    memcpy(swept, folder, sizeof(swept));
    dir = opendir(folder);
    while (dir && (entry = readdir(dir)))
        if (is_unfinished_name(entry->d_name))
            sweep_file(dirfd(dir), entry->d_name);
    if (dir)
        (void)closedir(dir);
}

/* Whether the file is ours now: not if another's sweep() was faster. The lock
 * stays when the stream is closed. */
static bool lock_unfinished(FILE *file, int *lock)
{
    struct stat status;

    *lock = dup(fileno(file));
    if (*lock < 0)
        return false;
    /* Some file systems have no locks: there nothing can be swept either. */
    if ((flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
        fstat(*lock, &status) == 0 && status.st_nlink > 0)
        return true;
    (void)close(*lock);
    errno = EBUSY;
    return false;
}

/* In the folder of `path`; NULL says why in errno. */
static FILE *open_unfinished(const char *path, int *lock)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES; i++) {
        FILE *file;
        int why;

        if (!name_unfinished(path))
            return NULL;
        is_unfinished = 1; /* before it is there, for a signal just then */
        file = fopen(unfinished, "wbx");
        if (file && lock_unfinished(file, lock))
            return file;
        why = errno;
        if (file) {
            (void)unlink(unfinished);
            (void)fclose(file);
        }
        is_unfinished = 0;
        errno = why;
        /* Busy with a sweep(), or there: of a process of the same number. */
        if (why != EBUSY && why != EEXIST)
            return NULL;
    }
    return NULL;
}

/* Writes it with the mode of another file, if it is to have that. */
static bool exchange(const char *path, const void *data, size_t nbytes,
                     const struct stat *like)
{
    FILE *file;
    bool ok;
    int lock, why;

    sweep(path);
    file = open_unfinished(path, &lock);
    if (!file)
        return false;
    if (like)
        (void)fchmod(lock, like->st_mode & 0777);
    ok = fill(file, data, nbytes) && rename(unfinished, path) == 0;
    why = errno;
    if (!ok)
        (void)unlink(unfinished);
    is_unfinished = 0;
    (void)close(lock);
    errno = why;
    return ok;
}

int cmd_write_file(const char *name, const void *data, size_t nbytes,
                   const char *like)
{
    struct stat status, other;
    const bool there = stat(name, &status) == 0;
    const bool is_like = like && stat(like, &other) == 0;
    char *path = NULL;
    bool ok;

    if (strcmp(name, "-") == 0) {
        /* main() reports a failing standard output */
        (void)fwrite(data, 1, nbytes, stdout);
        return EXIT_DONE;
    }
    if (is_straight(name, there ? &status : NULL))
        return write_straight(name, data, nbytes);
    /* The file itself, not the link to it. */
    if (there && (access(name, W_OK) != 0 || !(path = realpath(name, NULL))))
        return cmd_write_failed(name);
    heed_signals();
    ok = exchange(path ? path : name, data, nbytes,
                  there     ? &status
                  : is_like ? &other
                            : NULL);
    free(path);
    return ok ? EXIT_DONE : cmd_write_failed(name);
}

bool cmd_make_folder(const char *folder)
{
    if (strlen(folder) >= FOLDER_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdir(folder, 0777) == 0 || errno == EEXIST;
}
