/* access.c - finds the memory of an access, or reports why it has none */
#include "access.h"
#include "../base/group_races.h"
#include "../base/host_access.h"
#include "../base/pageable.h"
#include "../base/processor.h"
#include "fault_report.h"
#include "late_memory.h"
#include "lds_marks.h"
#include "race_order.h"
#include "scope_rules.h"
#include "swap_loop.h"
#include "work_count.h"

#include <stdio.h>

static const char *verb(enum access how)
{
    static const char *const verbs[] = {"reads", "writes", "updates"};

    return verbs[how];
}

static const char *alloc_name(const struct sim_alloc *a)
{
    static const char *const names[] = {
        [SIM_MEM_DEVICE] = "allocation",
        [SIM_MEM_HOST] = "host allocation",
        [SIM_MEM_MANAGED] = "managed allocation",
        [SIM_MEM_CODE] = "code object segment",
        [SIM_MEM_INTERNAL] = "kernarg segment or packet"};

    return names[a->kind];
}

static void outside(struct wave *w, uint64_t addr, unsigned n, enum access how,
                    int lane)
{
    const struct sim_alloc *a = sim_mem_find(addr);
    typedef unsigned long long ull;

    if (a) { /* the access begins inside and ends outside */
        sim_fault_raise(w, SIM_FAULT_MEMORY, lane, addr,
                        "%s %u bytes at 0x%llx, of which %llu lie past the end "
                        "of %s #%llu of %llu bytes",
                        verb(how), n, (ull)addr,
                        (ull)(n - (a->size - (addr - a->base))), alloc_name(a),
                        (ull)a->serial, (ull)a->size);
        return;
    }
    a = sim_mem_find_below(addr);
    if (a && addr - (a->base + a->size) < UINT64_C(1) << 30)
        sim_fault_raise(w, SIM_FAULT_MEMORY, lane, addr,
                        "%s %u bytes at 0x%llx, %llu bytes past the end of "
                        "%s #%llu of %llu bytes%s",
                        verb(how), n, (ull)addr,
                        (ull)(addr - (a->base + a->size)), alloc_name(a),
                        (ull)a->serial, (ull)a->size,
                        a->freed ? " (freed)" : "");
    else
        sim_fault_raise(w, SIM_FAULT_MEMORY, lane, addr,
                        "%s %u bytes at 0x%llx, which is near no allocation",
                        verb(how), n, (ull)addr);
}

/* True if all of n bits from `bit` on are set. */
static bool all_written(const uint8_t *written, uint64_t bit, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!(__atomic_load_n(&written[(bit + i) / 8], __ATOMIC_RELAXED) >>
                  ((bit + i) % 8) &
              1))
            return false;
    return true;
}

static void set_written(uint8_t *written, uint64_t bit, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t *byte = &written[(bit + i) / 8];
        uint8_t one = (uint8_t)(1u << ((bit + i) % 8));

        if (!(__atomic_load_n(byte, __ATOMIC_RELAXED) & one))
            __atomic_fetch_or(byte, one, __ATOMIC_RELAXED);
    }
}

/* A text that says what is missing in a race. */
static const char *lack_name(const struct wave *w, enum race_lack lack,
                             char text[160])
{
    const struct scope_rules *rules = sim_scope_rules(w->target);

    switch (lack) {
    case LACKS_FLAG:
        return "with no flag between that one writes by an atomic and the "
               "other reads by one";
    case LACKS_WAIT:
        return "without a wait for it before the flag that it wrote next";
    case LACKS_WRITE_BACK:
        (void)snprintf(text, 160,
                       "without '%s' and a wait for it before the flag that it "
                       "wrote next",
                       rules->write_back);
        return text;
    case LACKS_INVALIDATION:
        break;
    }
    (void)snprintf(text, 160,
                   "before a flag that this workgroup read, without %s then",
                   rules->invalidate);
    return text;
}

/* Reports two workgroups that access one byte out of order. Loads of device
 * scope are not compared with stores, because on some targets the store of a
 * flag carries no scope. */
static bool check_groups(struct wave *w, const struct sim_alloc *a,
                         uint64_t addr, unsigned n, enum access how, int lane)
{
    static const enum race_access kinds[] = {RACE_READ, RACE_WRITE,
                                             RACE_ATOMIC};
    static const char *const did[] = {"read", "wrote", "updated"};
    const uint16_t reach = w->insn ? w->insn->reach : 0;
    const bool loads = how == ACCESS_READ && reach & REACH_LOAD;
    const bool stores = how == ACCESS_WRITE && reach & REACH_STORE;
    struct race race;
    const uint32_t *counts = w->run->ngroups;
    char text[160];

    if (a->kind == SIM_MEM_INTERNAL || a->readonly)
        return true;
    if (loads)
        sim_order_flag(w, addr, n, FLAG_READ);
    else if (stores ||
             (how == ACCESS_WRITE && sim_scope_rules(w->target)->plain_flags))
        sim_order_flag(w, addr, n, FLAG_WRITE);
    else if (how == ACCESS_ATOMIC)
        sim_order_flag(w, addr, n, FLAG_UPDATE);
    if (loads || (how == ACCESS_READ && w->insn && sim_swap_loop_follows(w)))
        return true;
    if (!sim_races_note(w->run->races, w->group->index, addr, n,
                        stores ? RACE_ATOMIC : kinds[how],
                        a->bytes + (addr - a->base),
                        how == ACCESS_WRITE ? w->stores : NULL, &race))
        return true;
    sim_fault_raise(
        w, SIM_FAULT_GROUP_RACE, lane, race.at,
        "%s byte %llu of %s #%llu, which workgroup (%u,%u,%u) %s %s", verb(how),
        (unsigned long long)(race.at - a->base), alloc_name(a),
        (unsigned long long)a->serial, (unsigned)(race.group % counts[0]),
        (unsigned)(race.group / counts[0] % counts[1]),
        (unsigned)(race.group / counts[0] / counts[1]), did[race.how],
        lack_name(w, race.lack, text));
    return false;
}

/* Reports memory that this device may not access: mapped for others only, or
 * another device's. */
static void barred(struct wave *w, const struct sim_alloc *a, uint64_t addr,
                   unsigned n, enum access how, int lane)
{
    const char *const why =
        a->shared ? "to which hipMemSetAccess() gives this device no such "
                    "access"
                  : "of another device, to which nothing gives this one access "
                    "(hipDeviceEnablePeerAccess())";

    sim_fault_raise(
        w, SIM_FAULT_MEMORY, lane, addr,
        "%s %u bytes at 0x%llx, byte %llu of %s #%llu of %llu bytes, %s",
        verb(how), n, (unsigned long long)addr,
        (unsigned long long)(addr - a->base),
        a->shared ? "mapped memory" : alloc_name(a),
        (unsigned long long)a->serial, (unsigned long long)a->size, why);
}

const struct sim_alloc *sim_global_place(struct wave *w, uint64_t addr,
                                         unsigned n, enum access how, int lane,
                                         uint8_t **bytes)
{
    const struct sim_alloc *a = sim_mem_find(addr);
    typedef unsigned long long ull;
    uint64_t offset;

    if (!a && w->run->dispatch->device->xnack == SIM_FEATURE_ON)
        a = sim_pageable_find(&w->run->pageable, addr);
    if (!a || a->size - (addr - a->base) < n) {
        outside(w, addr, n, how, lane);
        return NULL;
    }
    offset = addr - a->base;
    if (a->freed) {
        sim_fault_raise(w, SIM_FAULT_USE_AFTER_FREE, lane, addr,
                        "%s %u bytes at 0x%llx, byte %llu of %s #%llu of %llu "
                        "bytes, which has been freed",
                        verb(how), n, (ull)addr, (ull)offset, alloc_name(a),
                        (ull)a->serial, (ull)a->size);
        return NULL;
    }
    if (how != ACCESS_READ && a->readonly) {
        sim_fault_raise(w, SIM_FAULT_READONLY, lane, addr,
                        "%s %u bytes at 0x%llx, byte %llu of read-only %s "
                        "#%llu of %llu bytes",
                        verb(how), n, (ull)addr, (ull)offset, alloc_name(a),
                        (ull)a->serial, (ull)a->size);
        return NULL;
    }
    if ((how == ACCESS_READ ? a->no_read : a->no_write) >>
            w->run->dispatch->device->ordinal &
        1) {
        barred(w, a, addr, n, how, lane);
        return NULL;
    }
    if (w->run->config.uninit && a->written) {
        if (how != ACCESS_WRITE && !all_written(a->written, offset, n))
            sim_mem_note_host(a, addr, n);
        if (how != ACCESS_WRITE && !all_written(a->written, offset, n)) {
            sim_fault_raise(w, SIM_FAULT_UNINITIALISED, lane, addr,
                            "%s %u bytes at 0x%llx, byte %llu of %s #%llu of "
                            "%llu bytes, that nothing has written",
                            verb(how), n, (ull)addr, (ull)offset, alloc_name(a),
                            (ull)a->serial, (ull)a->size);
            return NULL;
        }
        if (how != ACCESS_READ)
            set_written(a->written, offset, n);
    }
    if (w->run->races && !check_groups(w, a, addr, n, how, lane))
        return NULL;
    w->last_hit[how != ACCESS_READ] = a;
    *bytes = a->bytes + offset;
    return a;
}

uint8_t *sim_global_slow(struct wave *w, uint64_t addr, unsigned n,
                         enum access how, int lane)
{
    uint8_t *bytes = NULL;
    const struct sim_alloc *a = sim_global_place(w, addr, n, how, lane, &bytes);

    if (a && w->memory)
        sim_memory_open(w, a, bytes, n, how != ACCESS_READ);
    return bytes;
}

/* ---- LDS ---- */

uint8_t *sim_lds(struct wave *w, uint64_t offset, unsigned n, enum access how,
                 int lane)
{
    struct group *g = w->group;
    uint32_t size = w->run->lds_nbytes;

    /* An offset below 0 (M0 and the instruction's, added) is a huge one. */
    if (offset > size || n > size - offset) {
        sim_fault_raise(w, SIM_FAULT_LDS, lane, offset,
                        "%s %u bytes at LDS offset %lld; the workgroup has %u "
                        "bytes",
                        verb(how), n, (long long)offset, size);
        return NULL;
    }
    if (how != ACCESS_READ)
        sim_lds_used(g, offset + n);
    if (g->lds_written) {
        if (how != ACCESS_WRITE &&
            memchr(g->lds_written + offset, 0, n) != NULL) {
            sim_fault_raise(w, SIM_FAULT_UNINITIALISED, lane, offset,
                            "%s %u bytes at LDS offset %llu that nothing has "
                            "written",
                            verb(how), n, (unsigned long long)offset);
            return NULL;
        }
        if (how != ACCESS_READ)
            memset(g->lds_written + offset, 1, n);
    }
    if (!w->run->config.races) {
        if (how == ACCESS_ATOMIC && g->lds_marks)
            sim_lds_new_epoch(g);
    } else if (how != ACCESS_ATOMIC &&
               !sim_lds_check_race(w, (uint32_t)offset, n, how, lane)) {
        return NULL;
    }
    return g->lds + offset;
}

/*
 * LDS has 32 banks of a dword, and serves 32 lanes a cycle where each bank is
 * asked for one address only (the same dword for several lanes counts once).
 * Each cycle beyond one per 32 lanes and dword is a conflict.
 */
static unsigned lds_cycles(uint32_t mask, const uint32_t offset[32])
{
    uint32_t last[32] = {0};
    uint8_t depth[32] = {0};
    unsigned worst = 1;

    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t dword = offset[__builtin_ctz(m)] / 4;
        const unsigned bank = dword % 32;

        if (depth[bank] && last[bank] == dword)
            continue;
        last[bank] = dword;
        if (++depth[bank] > worst)
            worst = depth[bank];
    }
    return worst;
}

/* The same for 32 lanes whose offsets have a constant stride of whole dwords; 0
 * for other offsets. */
static unsigned even_lds_cycles(const uint32_t offset[32])
{
    const uint32_t by = offset[1] - offset[0], dwords = by / 4 | 32;
    uint32_t off = by & 3;

    for (uint32_t i = 0; i < 32; i++)
        off |= offset[i] - offset[0] - i * by;
    if (off)
        return 0;
    return by ? dwords & -dwords : 1; /* their greatest common divisor */
}

void sim_count_lds(struct wave *w, uint64_t mask, const uint32_t *offset,
                   unsigned n)
{
    struct sim_stats *s = &w->group->stats;
    uint64_t left = mask;

    s->lds_bytes += (uint64_t)(unsigned)__builtin_popcountll(mask) * n;
    for (unsigned half = 0; half < w->nlanes; half += 32, left >>= 32) {
        const uint32_t lanes = (uint32_t)left;
        unsigned cycles =
            lanes == UINT32_MAX ? even_lds_cycles(offset + half) : 0;

        if (cycles == 0)
            cycles = lds_cycles(lanes, offset + half);
        s->lds_bank_conflicts += cycles - 1;
    }
    if (w->flight)
        sim_work_lds(w, mask, offset, n);
}

/* ---- scratch ---- */

uint8_t *sim_scratch(struct wave *w, uint64_t offset, unsigned n,
                     enum access how, int lane)
{
    uint64_t at =
        offset / 4 * w->nlanes * 4 + (uint64_t)(unsigned)lane * 4 + offset % 4;

    if (offset > w->run->scratch_nbytes ||
        n > w->run->scratch_nbytes - offset) {
        sim_fault_raise(w, SIM_FAULT_SCRATCH, lane, offset,
                        "%s %u bytes at scratch offset 0x%llx; a work-item has "
                        "%u bytes",
                        verb(how), n, (unsigned long long)offset,
                        w->run->scratch_nbytes);
        return NULL;
    }
    if (w->scratch_written) {
        if (how != ACCESS_WRITE &&
            memchr(w->scratch_written + at, 0, n) != NULL) {
            sim_fault_raise(w, SIM_FAULT_UNINITIALISED, lane, offset,
                            "%s %u bytes at scratch offset 0x%llx that nothing "
                            "has written",
                            verb(how), n, (unsigned long long)offset);
            return NULL;
        }
        if (how != ACCESS_READ)
            memset(w->scratch_written + at, 1, n);
    }
    return (uint8_t *)w->scratch + at;
}
