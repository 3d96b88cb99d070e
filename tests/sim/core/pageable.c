/* pageable.c - the program's own memory, which devices with XNACK reach */
#include "pageable.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_pageable {
    struct sim_alloc alloc;
    struct sim_pageable *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct sim_alloc *look(const struct sim_pageable *list,
                                    uint64_t addr)
{
    for (; list; list = list->next)
        if (addr - list->alloc.base < list->alloc.size)
            return &list->alloc;
    return NULL;
}

/* Asks the system. False if nothing that can be read is there. */
static bool find_mapping(uint64_t addr, struct sim_alloc *out)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long long from, to;
    char line[512], may[5];
    bool whole = true, found = false;

    if (!maps)
        return false;
    while (!found && fgets(line, sizeof(line), maps)) {
        /* A long name of a file takes several pieces. */
        found = whole && sscanf(line, "%llx-%llx %4s", &from, &to, may) == 3 &&
                addr >= from && addr < to;
        whole = false;
        for (const char *c = line; *c; c++)
            whole |= *c == '\n';
    }
    fclose(maps);
    if (!found || may[0] != 'r')
        return false;
    *out = (struct sim_alloc){.base = from,
                              .size = to - from,
                              .bytes = (uint8_t *)(uintptr_t)from,
                              .kind = SIM_MEM_HOST,
                              .device = -1,
                              .readonly = may[1] != 'w',
                              .fine_grained = true};
    return true;
}

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
