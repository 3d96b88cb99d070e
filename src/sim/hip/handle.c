/* handle.c - the set of live handles
 *
 * A set of pointers with their kinds, so that a stale or made-up handle is an
 * error and not a crash.
 */
#include "handle.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct slot {
    const void *handle; /* NULL: free; &tombstone: was removed */
    enum handle_kind kind;
};

static const char tombstone;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static size_t capacity, used; /* used counts tombstones too */

static size_t start_of(const void *handle)
{
    return (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 20) &
           (capacity - 1);
}

static struct slot *find(const void *handle)
{
    size_t i;

    if (!handle || capacity == 0)
        return NULL;
    for (i = start_of(handle); slots[i].handle; i = (i + 1) & (capacity - 1))
        if (slots[i].handle == handle)
            return &slots[i];
    return NULL;
}

static void put(const void *handle, enum handle_kind kind)
{
    size_t i = start_of(handle);

    while (slots[i].handle)
        i = (i + 1) & (capacity - 1);
    slots[i].handle = handle;
    slots[i].kind = kind;
    used++;
}

static bool grow(void)
{
    struct slot *old = slots;
    size_t n = capacity, i, live = 0;

    for (i = 0; i < n; i++)
        live += old[i].handle && old[i].handle != &tombstone;
    capacity = 64;
    while (capacity < 4 * (live + 1))
        capacity *= 2;
    slots = calloc(capacity, sizeof(*slots));
    if (!slots) {
        slots = old;
        capacity = n;
        return false;
    }
    used = 0;
    for (i = 0; i < n; i++)
        if (old[i].handle && old[i].handle != &tombstone)
            put(old[i].handle, old[i].kind);
    free(old);
    return true;
}

bool handle_add(const void *handle, enum handle_kind kind)
{
    bool ok = true;

    pthread_mutex_lock(&lock);
    if (2 * (used + 1) > capacity)
        ok = grow();
    if (ok)
        put(handle, kind);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool handle_remove(const void *handle, enum handle_kind kind)
{
    struct slot *s;
    bool found;

    pthread_mutex_lock(&lock);
    s = find(handle);
    found = s && s->kind == kind;
    if (found)
        s->handle = &tombstone;
    pthread_mutex_unlock(&lock);
    return found;
}

bool handle_valid(const void *handle, enum handle_kind kind)
{
    const struct slot *s;
    bool found;

    pthread_mutex_lock(&lock);
    s = find(handle);
    found = s && s->kind == kind;
    pthread_mutex_unlock(&lock);
    return found;
}

void handles_shutdown(void)
{
    free(slots);
    slots = NULL;
    capacity = used = 0;
}
