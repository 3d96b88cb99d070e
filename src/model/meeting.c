/* meeting.c - bytes from each of several processes to all of them */
#include "meeting.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 60 };

struct meeting {
    uint32_t rank, ranks;
    int *peers; /* rank 0: by rank, its own -1; others: rank 0 alone */
};

/* What a rank says first. */
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

/* A socket that only this user may connect to; one that an earlier run left
 * behind is replaced. */
static bool listen_at(const char *path, const struct sockaddr_un *name,
                      int *out, struct fault *fault)
{
    const mode_t mask = umask(0077);
    struct stat old;
    bool good;

    if (lstat(path, &old) == 0 && S_ISSOCK(old.st_mode))
        (void)unlink(path);
    *out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    good = *out >= 0 &&
           bind(*out, (const struct sockaddr *)name, sizeof(*name)) == 0 &&
           listen(*out, SOMAXCONN) == 0;
    (void)umask(mask);
    return good || fail(fault, "--meet %s: %s", path, strerror(errno));
}

/* Takes the next rank that connects. */
static bool take_one(struct meeting *m, const char *path, int listener,
                     double end, struct fault *fault)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    struct card card;
    const double left = end - seconds_now();
    int peer = -1;

    if (left > 0 && poll(&wait, 1, (int)(left * 1000)) > 0)
        peer = accept(listener, NULL, NULL);
    if (peer < 0)
        return fail(fault,
                    "--meet %s: not all of %u processes have come in %d s",
                    path, (unsigned)m->ranks, WAIT_S);
    if (!receive_all(peer, &card, sizeof(card)) || card.ranks != m->ranks ||
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

static bool take_all(struct meeting *m, const char *path,
                     const struct sockaddr_un *name, struct fault *fault)
{
    const double end = seconds_now() + WAIT_S;
    int listener = -1;
    bool good = listen_at(path, name, &listener, fault);

    for (uint32_t i = 1; good && i < m->ranks; i++)
        good = take_one(m, path, listener, end, fault);
    if (listener >= 0) {
        (void)close(listener);
        (void)unlink(path);
    }
    return good;
}

static bool connect_to(struct meeting *m, const char *path,
                       const struct sockaddr_un *name, struct fault *fault)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    const double end = seconds_now() + WAIT_S;
    const struct card card = {m->rank, m->ranks};

    while (seconds_now() < end) {
        const int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (peer >= 0 &&
            connect(peer, (const struct sockaddr *)name, sizeof(*name)) == 0) {
            m->peers[0] = peer;
            return send_all(peer, &card, sizeof(card)) ||
                   fail(fault, "--meet %s: rank 0 has ended", path);
        }
        if (peer >= 0)
            (void)close(peer);
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
