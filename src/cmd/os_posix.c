/* os_posix.c - what the command asks of Linux and its like */
/* For memmem and SEEK_DATA; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char os_zstd[] = "libzstd.so.1";

/* If a standard file is closed, the next open() gets its number, and output
 * would go into that file or GPU. Fill the number with /dev/null, opened so
 * that reads and writes still fail. */
void os_begin(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

const unsigned char *os_find(const unsigned char *in, size_t in_nbytes,
                             const unsigned char *bytes, size_t nbytes)
{
    return memmem(in, in_nbytes, bytes, nbytes);
}

bool os_make_room(struct os_room *out, size_t nbytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (nbytes + page - 1) / page * page;

    out->pages_nbytes = room + page;
    out->pages = mmap(NULL, out->pages_nbytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (out->pages == MAP_FAILED ||
        mprotect((char *)out->pages + room, page, PROT_NONE) != 0)
        return false;
    out->bytes = (unsigned char *)out->pages + room - nbytes;
    return true;
}

void os_free_room(struct os_room *room)
{
    if (room->pages)
        (void)munmap(room->pages, room->pages_nbytes);
}

bool os_next_data(FILE *file, uint64_t at, uint64_t size, uint64_t *from,
                  uint64_t *to)
{
    const int fd = fileno(file);
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    off_t hole;

    if (data < 0 && errno == ENXIO)
        return false; /* a hole up to the end */
    if (data < 0)
        data = (off_t)at;
    hole = lseek(fd, data, SEEK_HOLE);
    *from = (uint64_t)data;
    *to = hole <= data || (uint64_t)hole > size ? size : (uint64_t)hole;
    return *from < size;
}

bool os_begin_text(struct os_text *out)
{
    out->file = open_memstream(&out->text, &out->nbytes);
    return out->file != NULL;
}

bool os_end_text(struct os_text *text)
{
    return fclose(text->file) == 0 && text->text;
}

/* ---- replacing a file --------------------------------------------------- */

struct os_place os_look(const char *path)
{
    struct os_place place = {.exists = false};
    struct stat status;

    if (stat(path, &status) == 0) {
        place.exists = true;
        place.straight = !S_ISREG(status.st_mode);
        place.mode = status.st_mode & 0777;
    } else {
        /* A link to nowhere: its file is made. */
        place.straight = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    }
    /* These folders have names for open files, which cannot be replaced. */
    if ((strncmp(path, "/dev/", 5) == 0 &&
         strncmp(path, "/dev/shm/", 9) != 0) ||
        strncmp(path, "/proc/", 6) == 0)
        place.straight = true;
    return place;
}

char *os_writable(const char *path)
{
    return access(path, W_OK) == 0 ? realpath(path, NULL) : NULL;
}

/* Whether the file is ours now: not if another's os_sweep() was faster. The
 * lock stays when the stream is closed. */
static bool lock_file(FILE *file, int *lock)
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

FILE *os_create(const char *path, int *lock)
{
    FILE *file = fopen(path, "wbx");
    int why;

    if (!file || lock_file(file, lock))
        return file;
    why = errno;
    (void)unlink(path);
    (void)fclose(file);
    errno = why;
    return NULL;
}

void os_set_mode(int lock, unsigned mode)
{
    (void)fchmod(lock, mode);
}

void os_let_go(int lock)
{
    (void)close(lock);
}

bool os_replace(const char *from, const char *to)
{
    return rename(from, to) == 0;
}

void os_remove(const char *path)
{
    (void)unlink(path);
}

long os_process(void)
{
    return getpid();
}

/* For the handler. */
static const char *unfinished;
static volatile sig_atomic_t *is_unfinished;

static void end_by_signal(int number)
{
    if (*is_unfinished)
        (void)unlink(unfinished);
    (void)raise(number); /* once more, when this returns: it ends the command */
}

void os_heed_signals(const char *path, volatile sig_atomic_t *is_there)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction ours = {.sa_handler = end_by_signal,
                                   .sa_flags = (int)SA_RESETHAND};
    struct sigaction old;

    unfinished = path;
    is_unfinished = is_there;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) /* as under nohup */
            (void)sigaction(numbers[i], &ours, NULL);
    }
    (void)signal(SIGXFSZ, SIG_IGN); /* write() fails at the size limit */
}

/* Who writes a file holds a lock on it, which ends with the process, also one
 * in another container or on another host. */
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

void os_sweep(const char *folder, bool (*is)(const char *name))
{
    const struct dirent *entry;
    DIR *dir = opendir(folder);

    while (dir && (entry = readdir(dir)))
        if (is(entry->d_name))
            sweep_file(dirfd(dir), entry->d_name);
    if (dir)
        (void)closedir(dir);
}
