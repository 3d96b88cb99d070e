/* write.c - a file appears whole or not at all
 *
 * It is written beside its place, under a name of its own, and then takes the
 * place. So what was there before stays if the disk is full, and a signal
 * leaves neither half a file nor a stray one.
 */
#include "cmd.h"
#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

    if (strncmp(name, "/dev/", 5) == 0 || strncmp(name, "/proc/", 6) == 0)
        return true;
    /* A link to nowhere: its file is made. */
    return there ? !S_ISREG(there->st_mode)
                 : lstat(name, &status) == 0 && S_ISLNK(status.st_mode);
}

/* The name that is free for what is unfinished, in the folder of `path`. */
static bool name_unfinished(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash + 1 - path) : 0;

    if ((size_t)snprintf(unfinished, sizeof(unfinished), "%.*s.kpack-%ld.new",
                         n, path, (long)getpid()) < sizeof(unfinished))
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Writes it with the mode of another file, if it is to have that. */
static bool exchange(const char *path, const void *data, size_t nbytes,
                     const struct stat *like)
{
    FILE *file;
    bool ok;
    int why;

    if (!name_unfinished(path))
        return false;
    is_unfinished = 1; /* before it is there, for a signal just then */
    file = fopen(unfinished, "wbx");
    if (file && like)
        (void)fchmod(fileno(file), like->st_mode & 0777);
    ok = file && fill(file, data, nbytes) && rename(unfinished, path) == 0;
    why = errno;
    if (file && !ok)
        (void)unlink(unfinished);
    is_unfinished = 0;
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
