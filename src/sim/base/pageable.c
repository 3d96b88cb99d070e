/* pageable.c - the program's own memory, which devices with XNACK reach */
#include "pageable.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_pageable {
    struct sim_alloc alloc;
    struct sim_pageable *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct sim_landing *landing;

/* The program's own handlers of SIGSEGV and SIGBUS. */
static struct sigaction of_program[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

static const struct sim_alloc *look(const struct sim_pageable *list,
                                    uint64_t addr)
{
    for (; list; list = list->next)
        if (addr - list->alloc.base < list->alloc.size)
            return &list->alloc;
    return NULL;
}

/* Parses "FROM-TO ACCESS ...", in hexadecimal, of /proc/self/maps. False if the
 * line has another form or the memory is not readable. */
static bool read_mapping(const char *line, struct sim_alloc *out)
{
    unsigned long long from, to;
    char *end;

    from = strtoull(line, &end, 16);
    if (end == line || *end != '-')
        return false;
    to = strtoull(end + 1, &end, 16);
    if (end[0] != ' ' || end[1] != 'r' || to <= from)
        return false;
    *out = (struct sim_alloc){.base = from,
                              .size = to - from,
                              .bytes = (uint8_t *)(uintptr_t)from,
                              .kind = SIM_MEM_HOST,
                              .device = -1,
                              .readonly = end[2] != 'w',
                              .fine_grained = true};
    return true;
}

/* Finds the address in /proc/self/maps. False if no readable mapping has it. */
static bool find_mapping(uint64_t addr, struct sim_alloc *out)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool whole = true, found = false;

    if (!maps)
        return false;
    while (!found && fgets(line, sizeof(line), maps)) {
        /* A long name of a file takes several pieces. */
        found =
            whole && read_mapping(line, out) && addr - out->base < out->size;
        whole = strchr(line, '\n') != NULL;
    }
    (void)fclose(maps);
    return found;
}

/* ---- memory that goes while a kernel runs ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct sim_landing *const l = landing;
    const struct sigaction *old = &of_program[number == signals[1]];

    if (l && look(*l->list, (uint64_t)(uintptr_t)info->si_addr)) {
        landing = NULL;
        l->addr = (uint64_t)(uintptr_t)info->si_addr;
        siglongjmp(l->env, 1);
    }
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(number, info, context);
    else if (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN)
        (void)sigaction(number, old, NULL); /* the signal repeats and kills */
    else
        old->sa_handler(number);
}

/* Installs the handlers again, because a program may set its own at any time.
 */
static void take_signals(void)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK},
                     now;

    ours.sa_sigaction = on_signal;
    for (size_t i = 0; i < 2; i++) {
        if (sigaction(signals[i], NULL, &now) != 0 ||
            ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal))
            continue;
        of_program[i] = now;
        (void)sigaction(signals[i], &ours, NULL);
    }
}

void sim_pageable_guard(struct sim_landing *to)
{
    landing = to;
}

/* ---- looking it up ---- */

const struct sim_alloc *sim_pageable_find(struct sim_pageable *_Atomic *list,
                                          uint64_t addr)
{
    const struct sim_alloc *a;
    struct sim_pageable *fresh;
    struct sim_alloc mapping;

    if (sim_mem_is_kept(addr))
        return NULL;
    a = look(*list, addr);
    if (a)
        return a;
    pthread_mutex_lock(&lock);
    a = look(*list, addr);
    if (!a && find_mapping(addr, &mapping) &&
        (fresh = malloc(sizeof(*fresh))) != NULL) {
        take_signals();
        fresh->alloc = mapping;
        fresh->next = *list;
        *list = fresh;
        a = &fresh->alloc;
    }
    pthread_mutex_unlock(&lock);
    return a;
}

void sim_pageable_free(struct sim_pageable *list)
{
    while (list) {
        struct sim_pageable *next = list->next;

        free(list);
        list = next;
    }
}
