/* meeting.c - gathers bytes among several processes */
#define _GNU_SOURCE /* struct ucred, accept4() */
#include "meeting.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 60 };

struct meeting {
    uint32_t rank, ranks;
    int *peers; /* rank 0: by rank, its own -1; others: only rank 0's */
};

/* A rank's first message. */
struct card {
    uint32_t rank, ranks;
};

static bool send_all(int peer, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0) {
        const ssize_t sent = send(peer, at, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int peer, void *bytes, size_t n)
{
    char *at = bytes;

    while (n > 0) {
        const ssize_t got = recv(peer, at, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static bool name_socket(const char *path, struct sockaddr_un *out,
                        struct fault *fault)
{
    const size_t n = strlen(path);

    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n >= sizeof(out->sun_path))
        return fail(fault, "--meet %s: a path of less than %zu bytes is wanted",
                    path, sizeof(out->sun_path));
    memcpy(out->sun_path, path, n + 1);
    return true;
}

/* Takes a socket that an earlier run left behind out of the way. One of another
 * type cannot connect, so a process that listens there is not disturbed. */
static bool remove_old(const char *path, const struct sockaddr_un *name,
                       struct fault *fault)
{
    struct stat old;
    int probe;
    bool refused;

    if (lstat(path, &old) != 0 || !S_ISSOCK(old.st_mode))
        return true; /* bind() will report the error */
    probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    refused = probe >= 0 &&
              connect(probe, (const struct sockaddr *)name, sizeof(*name)) &&
              errno == ECONNREFUSED;
    if (probe >= 0)
        (void)close(probe);
    if (!refused)
        return fail(fault, "--meet %s: other processes meet there", path);
    return unlink(path) == 0 ||
           fail(fault, "--meet %s: %s", path, strerror(errno));
}

/* Listens at a socket that only this user may connect to. */
static bool listen_at(const char *path, const struct sockaddr_un *name,
                      int *out, struct stat *made, struct fault *fault)
{
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const mode_t mask = umask(0077);
    const bool bound =
        listener >= 0 &&
        bind(listener, (const struct sockaddr *)name, sizeof(*name)) == 0;

    (void)umask(mask);
    if (bound && lstat(path, made) == 0 && listen(listener, SOMAXCONN) == 0) {
        *out = listener;
        return true;
    }
    set_fault(fault, "--meet %s: %s", path, strerror(errno));
    if (listener >= 0)
        (void)close(listener);
    if (bound)
        (void)unlink(path);
    return false;
}

/* Ends sends and receives after so many seconds; 0: never. */
static bool limit(int peer, double seconds)
{
    const struct timeval time = {
        .tv_sec = (time_t)seconds,
        .tv_usec = (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds))};

    return setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)) ==
               0 &&
           setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) == 0;
}

/* The time left, a moment at least. */
static double left_until(double end)
{
    const double left = end - seconds_now();

    return left > 0.001 ? left : 0.001;
}

/* Whether a peer belongs to this user; only such peers are trusted. */
static bool is_own(int peer)
{
    struct ucred who;
    socklen_t n = sizeof(who);

    return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
           who.uid == geteuid();
}

/* Waits for the next connection. */
static bool wait_for_one(const struct meeting *m, const char *path,
                         int listener, double end, int *out,
                         struct fault *fault)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    int ready;

    do
        ready = poll(&wait, 1, (int)(left_until(end) * 1000));
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return fail(fault,
                    "--meet %s: not all of %u processes have come in %d s",
                    path, (unsigned)m->ranks, WAIT_S);
    *out = ready > 0 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    return *out >= 0 || fail(fault, "--meet %s: %s", path, strerror(errno));
}

/* Takes the next rank that connects. */
static bool take_one(struct meeting *m, const char *path, int listener,
                     double end, struct fault *fault)
{
    struct card card;
    int peer;

    if (!wait_for_one(m, path, listener, end, &peer, fault))
        return false;
    if (!is_own(peer) || !limit(peer, left_until(end)) ||
        !receive_all(peer, &card, sizeof(card)) || card.ranks != m->ranks ||
        card.rank == 0 || card.rank >= m->ranks || m->peers[card.rank] >= 0) {
        (void)close(peer);
        return fail(fault,
                    "--meet %s: a process has come that is no other rank of "
                    "%u: each has its own --rank",
                    path, (unsigned)m->ranks);
    }
    m->peers[card.rank] = peer;
    return true;
}

/* Rank 0: accepts all other ranks, then tells them that all are connected. */
static bool take_all(struct meeting *m, const char *path,
                     const struct sockaddr_un *name, struct fault *fault)
{
    const double end = seconds_now() + WAIT_S;
    struct stat made, now;
    int listener;
    bool good = true;

    if (!remove_old(path, name, fault) ||
        !listen_at(path, name, &listener, &made, fault))
        return false;
    for (uint32_t i = 1; good && i < m->ranks; i++)
        good = take_one(m, path, listener, end, fault);
    for (uint32_t r = 1; good && r < m->ranks; r++)
        good = (send_all(m->peers[r], &m->ranks, sizeof(m->ranks)) &&
                limit(m->peers[r], 0)) ||
               fail(fault, "--meet %s: rank %u has ended", path, (unsigned)r);
    (void)close(listener);
    if (lstat(path, &now) == 0 && now.st_dev == made.st_dev &&
        now.st_ino == made.st_ino)
        (void)unlink(path);
    return good;
}

/* Other ranks: send their number, and wait until all are connected. */
static bool join(struct meeting *m, const char *path, double end,
                 struct fault *fault)
{
    const struct card card = {m->rank, m->ranks};
    const int peer = m->peers[0];
    uint32_t ranks = 0;

    if (!is_own(peer))
        return fail(fault, "--meet %s: another user's process listens there",
                    path);
    return (limit(peer, left_until(end)) &&
            send_all(peer, &card, sizeof(card)) &&
            receive_all(peer, &ranks, sizeof(ranks)) && ranks == m->ranks &&
            limit(peer, 0)) ||
           fail(fault,
                "--meet %s: rank 0 has ended, or not all of %u processes have "
                "come in %d s",
                path, (unsigned)m->ranks, WAIT_S);
}

static bool connect_to(struct meeting *m, const char *path,
                       const struct sockaddr_un *name, struct fault *fault)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    const double end = seconds_now() + WAIT_S;

    while (seconds_now() < end) {
        const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int error = errno;

        if (peer >= 0) {
            error = limit(peer, left_until(end)) &&
                            connect(peer, (const struct sockaddr *)name,
                                    sizeof(*name)) == 0
                        ? 0
                        : errno;
            m->peers[0] = peer;
            if (error == 0)
                return join(m, path, end, fault);
            (void)close(peer);
            m->peers[0] = -1;
        }
        /* rank 0 comes later, or has more to do */
        if (error != ENOENT && error != ECONNREFUSED && error != EAGAIN &&
            error != EINTR)
            return fail(fault, "--meet %s: %s", path, strerror(error));
        (void)nanosleep(&pause, NULL);
    }
    return fail(fault, "--meet %s: rank 0 has not come in %d s", path, WAIT_S);
}

bool meeting_open(const char *path, uint32_t rank, uint32_t ranks,
                  struct meeting **out, struct fault *fault)
{
    struct meeting *m = calloc(1, sizeof(*m));
    struct sockaddr_un name;

    if (m)
        m->peers = calloc(ranks, sizeof(*m->peers));
    if (!m || !m->peers) {
        free(m);
        return fail(fault, "no memory to meet %u processes", (unsigned)ranks);
    }
    m->rank = rank;
    m->ranks = ranks;
    for (uint32_t r = 0; r < ranks; r++)
        m->peers[r] = -1;
    if (name_socket(path, &name, fault) &&
        (rank == 0 ? take_all(m, path, &name, fault)
                   : connect_to(m, path, &name, fault))) {
        *out = m;
        return true;
    }
    meeting_close(m);
    return false;
}

void meeting_close(struct meeting *m)
{
    if (!m)
        return;
    for (uint32_t r = 0; r < m->ranks; r++)
        if (m->peers[r] >= 0)
            (void)close(m->peers[r]);
    free(m->peers);
    free(m);
}

/* To rank 0, and back from there. */
static bool send_own(const struct meeting *m, const void *mine, void *all,
                     size_t nbytes)
{
    const uint64_t n = nbytes;
    uint64_t said = 0;

    return send_all(m->peers[0], &n, sizeof(n)) &&
           send_all(m->peers[0], mine, nbytes) &&
           receive_all(m->peers[0], &said, sizeof(said)) && said == n &&
           receive_all(m->peers[0], all, nbytes * m->ranks);
}

static bool collect(const struct meeting *m, const void *mine, void *all,
                    size_t nbytes)
{
    const uint64_t n = nbytes;

    if (nbytes > 0)
        memcpy(all, mine, nbytes);
    for (uint32_t r = 1; r < m->ranks; r++) {
        uint64_t said = 0;

        if (!receive_all(m->peers[r], &said, sizeof(said)) || said != n ||
            !receive_all(m->peers[r], (char *)all + r * nbytes, nbytes))
            return false;
    }
    for (uint32_t r = 1; r < m->ranks; r++)
        if (!send_all(m->peers[r], &n, sizeof(n)) ||
            !send_all(m->peers[r], all, nbytes * m->ranks))
            return false;
    return true;
}

int meeting_gather(void *meeting, const void *mine, void *all, size_t nbytes)
{
    struct meeting *m = meeting;
    const bool good = m->rank == 0 ? collect(m, mine, all, nbytes)
                                   : send_own(m, mine, all, nbytes);

    /* a rank that cannot go on must not keep the others waiting */
    for (uint32_t r = 0; !good && r < m->ranks; r++)
        if (m->peers[r] >= 0)
            (void)shutdown(m->peers[r], SHUT_RDWR);
    return !good;
}
