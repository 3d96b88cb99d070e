/* process.c - whether a driver can be found and used in this process
 *
 * A driver is found once in a process, by one thread. It does not survive
 * fork(), and cannot be loaded into a program that is linked with -static.
 */
/* For dl_iterate_phdr; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "process.h"
#include "error.h"

#include <link.h>
#include <pthread.h>

static pthread_mutex_t bind_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool found_any;
static atomic_bool forked; /* from a process that had found a driver */

/* The first object is the program; dynamic ones name their interpreter. */
static int has_interpreter(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    (void)nbytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(bool *)out = true;
    return 1; /* the others do not matter */
}

struct place {
    uintptr_t address;
    bool found;
};

/* Looks in the first object only: the program. */
static int has_address(struct dl_phdr_info *info, size_t nbytes, void *out)
{
    struct place *place = out;

    (void)nbytes;
    for (int i = 0; i < info->dlpi_phnum; i++)
        place->found |=
            place->address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
            info->dlpi_phdr[i].p_memsz;
    return 1; /* the others do not matter */
}

bool kpk_i_is_in_program(const void *address)
{
    struct place place = {(uintptr_t)address, false};

    (void)dl_iterate_phdr(has_address, &place);
    return place.found;
}

/* A shared library that is loaded into a static program brings a second C
 * library, and crashes. */
bool kpk_i_program_is_static(void)
{
    bool interpreter = false;

    (void)dl_iterate_phdr(has_interpreter, &interpreter);
    return !interpreter;
}

/* In the child of fork(), where this thread is the only one: a lock that
 * another one held would never be free again. */
static void after_fork(void)
{
    const bool searching = pthread_mutex_trylock(&bind_lock) != 0;

    if (!searching)
        (void)pthread_mutex_unlock(&bind_lock);
    if (searching || atomic_load(&found_any))
        atomic_store(&forked, true);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork);
}

kpk_status kpk_i_check_process(void)
{
    if (!atomic_load_explicit(&forked, memory_order_relaxed))
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "this process was forked from one that had found a GPU's "
                      "driver, and neither HIP nor CUDA survives fork(). Fork "
                      "before the first call that needs a GPU, or let the "
                      "child exec()");
}

kpk_status kpk_i_bind_once(atomic_bool *bound, kpk_status (*find)(void))
{
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    struct kpk_i_failure before;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK || atomic_load_explicit(bound, memory_order_acquire))
        return st;
    (void)pthread_once(&watching, watch_forks);
    (void)pthread_mutex_lock(&bind_lock);
    if (!atomic_load_explicit(bound, memory_order_relaxed)) {
        kpk_i_keep_failure(&before);
        st = find();
        if (st == KPK_OK) {
            kpk_i_put_back_failure(&before);
            atomic_store(&found_any, true);
            atomic_store_explicit(bound, true, memory_order_release);
        }
    }
    (void)pthread_mutex_unlock(&bind_lock);
    return st;
}

/* ISO C has no conversion from void * to a function pointer; POSIX promises
 * that the bytes mean the same. */
void kpk_i_store_function(void *slot, void *address)
{
    memcpy(slot, &address, sizeof(address));
}
