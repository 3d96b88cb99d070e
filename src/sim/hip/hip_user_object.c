/* hip_user_object.c - objects of the program that live as long as graphs
 *
 * A user object is destroyed with its last reference. Graphs, clones of graphs
 * and instantiated graphs each hold references.
 */
#include "hip_user_object.h"

#include "call.h"
#include "handle.h"

#include <limits.h>
#include <stdlib.h>

struct hipUserObject {
    void *pointer;
    hipHostFn_t destroy;
    unsigned refs;
};

/* Drops n references, or the rest if fewer are left. */
static void release(hipUserObject_t object, unsigned n)
{
    if (object->refs < n)
        return;
    object->refs -= n;
    if (object->refs)
        return;
    handle_remove(object, HANDLE_USER_OBJECT);
    object->destroy(object->pointer);
    free(object);
}

bool user_object_is_count(unsigned n)
{
    return n != 0 && n <= INT_MAX;
}

HIP_API hipError_t hipUserObjectCreate(hipUserObject_t *out, void *pointer,
                                       hipHostFn_t destroy, unsigned refs,
                                       unsigned flags)
{
    enum { NO_DESTRUCTOR_SYNC = 1 };
    hipUserObject_t object;

    ENTER();
    if (!out || !destroy || !user_object_is_count(refs) ||
        flags != NO_DESTRUCTOR_SYNC)
        LEAVE(hipErrorInvalidValue);
    object = calloc(1, sizeof(*object));
    if (!object || !handle_add(object, HANDLE_USER_OBJECT)) {
        free(object);
        LEAVE(hipErrorOutOfMemory);
    }
    *object = (struct hipUserObject){pointer, destroy, refs};
    *out = object;
    LEAVE(hipSuccess);
}

/* An object that is gone is no error, as in AMD's runtime. */
HIP_API hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned n)
{
    ENTER();
    if (!object || !user_object_is_count(n))
        LEAVE(hipErrorInvalidValue);
    if (handle_valid(object, HANDLE_USER_OBJECT))
        release(object, n);
    LEAVE(hipSuccess);
}

HIP_API hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned n)
{
    ENTER();
    if (!object || !user_object_is_count(n))
        LEAVE(hipErrorInvalidValue);
    if (handle_valid(object, HANDLE_USER_OBJECT))
        object->refs += n;
    LEAVE(hipSuccess);
}

/* ---- references of graphs ------------------------------------------------ */

struct user_held {
    struct user_held *next;
    hipUserObject_t object;
    unsigned refs;
};

static struct user_held *find(struct user_held *list,
                              const struct hipUserObject *object)
{
    while (list && list->object != object)
        list = list->next;
    return list;
}

static bool add(struct user_held **list, hipUserObject_t object, unsigned n)
{
    struct user_held *h = find(*list, object);

    if (!h) {
        h = calloc(1, sizeof(*h));
        if (!h)
            return false;
        h->object = object;
        h->next = *list;
        *list = h;
    }
    h->refs += n;
    return true;
}

bool user_object_hold(struct user_held **list, hipUserObject_t object,
                      unsigned n, bool takes_over)
{
    if (!add(list, object, n))
        return false;
    if (!takes_over)
        object->refs += n;
    return true;
}

bool user_object_hold_as(struct user_held **list, const struct user_held *from)
{
    for (; from; from = from->next)
        if (handle_valid(from->object, HANDLE_USER_OBJECT) &&
            !user_object_hold(list, from->object, from->refs, false))
            return false;
    return true;
}

void user_object_give_back(struct user_held *list, hipUserObject_t object,
                           unsigned n)
{
    struct user_held *h = find(list, object);

    if (!h || h->refs < n || !handle_valid(object, HANDLE_USER_OBJECT))
        return;
    h->refs -= n;
    release(object, n);
}

void user_object_let_go(struct user_held **list)
{
    while (*list) {
        struct user_held *h = *list;

        *list = h->next;
        if (handle_valid(h->object, HANDLE_USER_OBJECT))
            release(h->object, h->refs);
        free(h);
    }
}
