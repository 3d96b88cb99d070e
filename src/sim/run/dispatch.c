/* dispatch.c - spreads a dispatch's workgroups over the machine's cores
 *
 * A worker thread runs one workgroup at a time, its waves in turn, a slice of
 * instructions each. A group that is not done after many slices may be waiting
 * for another group (a grid barrier, a lock); it is set aside, the next group
 * is started, and from then on the worker takes turns, as a GPU does with all
 * groups that fit on it.
 */
#include "dispatch.h"

#include "../base/allocation.h"
#include "../base/config.h"
#include "../base/group_races.h"
#include "../base/host_access.h"
#include "../base/pageable.h"
#include "../base/time_bounds.h"
#include "../base/touched.h"
#include "../isa/exec.h"
#include "../isa/fault_report.h"
#include "../isa/late_lds.h"
#include "../isa/late_memory.h"
#include "../isa/lds_marks.h"
#include "../isa/pending.h"
#include "../isa/work_count.h"
#include "occupancy.h"
#include "thread_pool.h"
#include "wave_init.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    GROUP_TURN = 1 << 20, /* instructions of a wave before another group's */
    MAX_THREADS = 256,
    MAX_RACING = 1 << 22, /* groups of a launch that is watched for races */
    ALONE_NS = 100000     /* before other threads are asked to help */
};

/* Bytes of wave state that one dispatch may keep, over all threads. */
static const uint64_t max_resident_nbytes = UINT64_C(1) << 30;

/* A workgroup with the memory of its waves; used again for the next one. */
struct resident {
    struct group group;
    struct resident *next;
    uint8_t *memory; /* registers, LDS, scratch, in one block */
    bool again;      /* a group has run in it */
};

struct job {
    struct run run;
    uint64_t ngroups;
    uint64_t group_nbytes;  /* size of a resident group's memory */
    unsigned max_residents; /* of one worker */
    _Atomic uint64_t next_group;
    /* Groups above the lowest faulted group need not run. */
    _Atomic uint64_t faulted_group;
    pthread_mutex_t lock; /* guards the following fields */
    struct sim_stats stats;
    struct sim_fault fault;
    bool out_of_memory;
};

/* ---- memory of a workgroup ---- */

struct layout {
    uint64_t waves, regs, scratch, scratch_written, lds, lds_written, lds_marks,
        lds_marks_nbytes, flights, pendings, lates, memories, size;
};

static uint64_t place(uint64_t *size, uint64_t nbytes)
{
    uint64_t at = *size;

    *size += (nbytes + 63) & ~UINT64_C(63);
    return at;
}

static struct layout lay_out(const struct run *run)
{
    uint64_t n = run->nwaves, scratch = sim_wave_scratch_nbytes(run);
    struct layout l = {0};

    l.waves = place(&l.size, n * sizeof(struct wave));
    l.regs = place(&l.size, n * run->nregs * sizeof(vreg));
    l.scratch = place(&l.size, n * scratch);
    if (run->config.uninit)
        l.scratch_written = place(&l.size, n * scratch);
    l.lds = place(&l.size, run->lds_nbytes);
    if (run->config.uninit)
        l.lds_written = place(&l.size, run->lds_nbytes);
    l.lds_marks_nbytes = sim_lds_marks_nbytes(run);
    l.lds_marks = place(&l.size, l.lds_marks_nbytes);
    if (run->touched)
        l.flights = place(&l.size, n * sizeof(struct flight));
    if (run->config.weak != 1 || run->races)
        l.pendings = place(&l.size, n * sizeof(struct pending));
    if (run->config.weak != 1 && run->config.weak_parts & WEAK_LDS)
        l.lates = place(&l.size, n * sizeof(struct late));
    if (run->caches)
        l.memories = place(&l.size, n * sizeof(struct late_memory));
    return l;
}

static struct resident *new_resident(const struct job *job)
{
    struct resident *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->memory = aligned_alloc(64, job->group_nbytes);
    if (!r->memory) {
        free(r);
        return NULL;
    }
    return r;
}

static void free_resident(struct resident *r)
{
    if (r)
        free(r->memory);
    free(r);
}

/* Watching for races in LDS costs time. A race of a kernel shows in most of its
 * groups, so without KPK_SIM_RACES=1 a few are watched: the first ones, some
 * on the way and the last, which often has another path. */
static bool is_watched(const struct job *job, uint64_t index)
{
    return job->run.config.races || (index & (index - 1)) == 0 ||
           index == job->ngroups - 1;
}

static bool start_group(struct job *job, struct resident *r, uint64_t index)
{
    struct run *run = &job->run;
    struct group *g = &r->group;
    struct layout l = lay_out(run);
    uint64_t scratch = sim_wave_scratch_nbytes(run);
    const uint32_t lds_used = r->again ? g->lds_used : run->lds_nbytes;

    memset(g, 0, sizeof(*g));
    g->run = run;
    g->index = index;
    g->id[0] = (uint32_t)(index % run->ngroups[0]);
    g->id[1] = (uint32_t)(index / run->ngroups[0] % run->ngroups[1]);
    g->id[2] = (uint32_t)(index / run->ngroups[0] / run->ngroups[1]);
    g->nwaves = run->nwaves;
    g->waves = (struct wave *)(r->memory + l.waves);
    g->lds = r->memory + l.lds;
    g->lds_written = l.lds_written ? r->memory + l.lds_written : NULL;
    if (l.lds_marks_nbytes && is_watched(job, index))
        g->lds_marks = (uint32_t *)(r->memory + l.lds_marks);
    g->lds_epoch = 1;
    /* Scratch and LDS begin with any content, as on a GPU. */
    memset(r->memory + l.scratch, 0xa5, g->nwaves * scratch);
    memset(g->lds, 0xa5, lds_used);
    if (g->lds_written) {
        memset(g->lds_written, 0, run->lds_nbytes);
        memset(r->memory + l.scratch_written, 0, g->nwaves * scratch);
    }
    if (g->lds_marks)
        memset(g->lds_marks, 0, l.lds_marks_nbytes);
    if (l.flights)
        memset(r->memory + l.flights, 0, g->nwaves * sizeof(struct flight));
    if (l.pendings)
        memset(r->memory + l.pendings, 0, g->nwaves * sizeof(struct pending));
    for (unsigned i = 0; i < g->nwaves; i++) {
        struct wave *w = &g->waves[i];
        const unsigned used_vgprs = r->again ? w->used_vgprs : run->nvgprs;
        const unsigned used_agprs = r->again ? w->used_agprs : run->nagprs;

        memset(w, 0, sizeof(*w));
        w->group = g;
        w->run = run;
        w->index = i;
        w->used_vgprs = used_vgprs;
        w->used_agprs = used_agprs;
        w->v = (vreg *)(r->memory + l.regs) + (size_t)i * run->nregs;
        w->a = w->v + run->first_agpr;
        w->scratch = (uint32_t *)(r->memory + l.scratch + i * scratch);
        if (l.scratch_written)
            w->scratch_written = r->memory + l.scratch_written + i * scratch;
        if (l.flights)
            w->flight = (struct flight *)(r->memory + l.flights) + i;
        if (l.pendings)
            w->pending = (struct pending *)(r->memory + l.pendings) + i;
        if (l.lates) {
            w->late = (struct late *)(r->memory + l.lates) + i;
            memset(w->late, 0, offsetof(struct late, op));
        }
        if (l.memories) {
            w->memory = (struct late_memory *)(r->memory + l.memories) + i;
            sim_memory_begin(w);
        }
        if (!sim_wave_init(w)) {
            sim_fault_raise(w, SIM_FAULT_MEMORY, -1, run->dispatch->kernarg,
                            "the kernarg segment, to be loaded into SGPRs, is "
                            "not in a live allocation");
            return false;
        }
        g->nended += w->state == WAVE_ENDED;
    }
    r->again = true;
    return true;
}

/* ---- running ---- */

enum outcome { GROUP_DONE, GROUP_STALLED, GROUP_SLEEPS };

static void late_turns(struct group *g)
{
    for (unsigned i = 0; i < g->nwaves && g->waves[i].late && !g->faulted; i++)
        sim_late_turn(&g->waves[i]);
}

static bool round_of_waves(struct group *g)
{
    bool yields = true;

    for (unsigned i = 0; i < g->nwaves && !g->faulted; i++) {
        struct wave *w = &g->waves[i];

        if (w->state == WAVE_RUNS || w->state == WAVE_YIELDS)
            sim_wave_run(w, g->run->config.slice);
        if (w->state == WAVE_RUNS)
            yields = false;
    }
    late_turns(g);
    return yields;
}

/* One turn of a group: until it ends, faults, sleeps as a whole, or has had
 * its share. */
static enum outcome run_group(struct job *job, struct group *g)
{
    const uint64_t slice = g->run->config.slice;

    for (uint64_t n = 0; n < GROUP_TURN; n += slice) {
        bool yields = round_of_waves(g);

        if (g->faulted || g->nended == g->nwaves)
            return GROUP_DONE;
        if (atomic_load(&job->faulted_group) < g->index)
            return GROUP_DONE;
        if (yields) {
            bool waits = true;

            for (unsigned k = 0; k < g->nwaves; k++)
                waits &= g->waves[k].state != WAVE_RUNS;
            if (waits)
                return GROUP_SLEEPS;
        }
    }
    return GROUP_STALLED;
}

static void finish_group(struct job *job, struct group *g)
{
    struct sim_work *k = &g->stats.work;

    for (unsigned i = 0; g->run->caches && i < g->nwaves; i++)
        if (g->waves[i].memory)
            sim_memory_end(&g->waves[i]);
    g->stats.workgroups = 1;
    g->stats.waves = g->nwaves;
    k->working_groups = k->segments64 > 0;
    k->die_segments[g->index % SIM_DIES] = k->segments64;
    pthread_mutex_lock(&job->lock);
    sim_stats_add(&job->stats, &g->stats);
    if (g->faulted && g->index < atomic_load(&job->faulted_group)) {
        atomic_store(&job->faulted_group, g->index);
        job->fault = g->fault;
    }
    pthread_mutex_unlock(&job->lock);
}

/* The queue of a worker: groups take turns from the front. */
struct worker {
    struct job *job;
    struct sim_help *help; /* NULL but for the dispatching thread */
    unsigned nhelpers;     /* threads to call at call_at, then 0 */
    uint64_t call_at;
    struct resident *first, *last;
    struct resident *spare; /* a finished group's memory */
    unsigned nresidents;
};

static void append(struct worker *k, struct resident *r)
{
    r->next = NULL;
    if (k->last)
        k->last->next = r;
    else
        k->first = r;
    k->last = r;
    k->nresidents++;
}

static struct resident *take_first(struct worker *k)
{
    struct resident *r = k->first;

    if (r) {
        k->first = r->next;
        if (!k->first)
            k->last = NULL;
        k->nresidents--;
    }
    return r;
}

/* The next workgroup of the grid, started; NULL if there is none to start. */
static struct resident *admit(struct worker *k)
{
    struct job *job = k->job;
    struct resident *r = k->spare;
    uint64_t index;

    if (k->nresidents >= job->max_residents ||
        atomic_load(&job->next_group) >= job->ngroups)
        return NULL;
    k->spare = NULL;
    if (!r)
        r = new_resident(job);
    if (!r) {
        pthread_mutex_lock(&job->lock);
        job->out_of_memory |= k->nresidents == 0;
        pthread_mutex_unlock(&job->lock);
        return NULL;
    }
    index = atomic_fetch_add(&job->next_group, 1);
    if (index >= job->ngroups || index > atomic_load(&job->faulted_group)) {
        k->spare = r;
        return NULL;
    }
    start_group(job, r, index);
    return r;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void help(void *arg);

static void retire(struct worker *k, struct resident *r)
{
    finish_group(k->job, &r->group);
    free_resident(k->spare);
    k->spare = r;
}

/* Takes the n-th resident out of the queue. */
static struct resident *take(struct worker *k, uint64_t n)
{
    struct resident **p = &k->first, *r, *before = NULL;

    for (; n > 0; n--) {
        before = *p;
        p = &(*p)->next;
    }
    r = *p;
    *p = r->next;
    if (k->last == r)
        k->last = before;
    k->nresidents--;
    return r;
}

/* 1, 2, 4 and so on, up to a slice. */
static uint64_t slice_by_chance(struct caches *c, uint64_t slice)
{
    uint64_t n = 1;

    while (n < slice)
        n *= 2;
    return n >> sim_caches_random(c, (unsigned)__builtin_ctzll(n) + 1u);
}

/* Runs one turn of a wave of the group: the first one from number k on that is
 * running and not stalled. */
static void turn_of_wave(struct caches *c, struct group *g, unsigned k)
{
    unsigned n = 0;

    while (n < g->nwaves && ((g->waves[k].state != WAVE_RUNS &&
                              g->waves[k].state != WAVE_YIELDS) ||
                             g->waves[k].memory->stalled > c->turns)) {
        n++;
        k = (k + 1) % g->nwaves;
    }
    if (n == g->nwaves)
        return;
    sim_wave_run(&g->waves[k], slice_by_chance(c, g->run->config.slice));
    if (g->nended == g->nwaves || sim_caches_chance(c, g->nwaves))
        late_turns(g);
}

/* Whether its waves have ended, and all that they left is done. */
static bool is_over(const struct group *g)
{
    bool over = g->nended == g->nwaves;

    for (unsigned k = 0; k < g->nwaves; k++)
        over &= g->waves[k].memory->nops == 0;
    return over || g->faulted;
}

/*
 * Under caches: the waves of a window of groups take turns of some instructions
 * by chance, so that they meet in many ways. Seeds differ in how long one goes
 * on. The window grows while no group ends, for groups may wait for others.
 */
static void work_by_chance(struct worker *k)
{
    enum { WINDOW = 16, PATIENCE = 4096, TURNS_ALONE = 64 };
    struct caches *c = k->job->run.caches;
    static const unsigned turns_of[] = {1, 4, 16};
    const uint64_t seed = k->job->run.config.weak;
    uint64_t turns = 0;
    bool stays = false;
    unsigned wave = 0;
    struct resident *r;

    for (;;) {
        while (k->nresidents < WINDOW + turns / PATIENCE && (r = admit(k)))
            append(k, r);
        if (!k->first)
            break;
        r = take(k, stays ? k->nresidents - 1
                          : sim_caches_random(c, k->nresidents));
        turns++;
        if (!stays)
            wave = (unsigned)sim_caches_random(c, r->group.nwaves);
        if (!r->group.faulted && seed)
            turn_of_wave(c, &r->group, wave);
        else if (!r->group.faulted)
            (void)round_of_waves(&r->group);
        stays = !sim_caches_chance(c, turns_of[seed / 3 % 3]);
        sim_memory_turn(c);
        if (turns % TURNS_ALONE == 0) /* they may wait for another launch */
            sched_yield();
        if (is_over(&r->group) ||
            atomic_load(&k->job->faulted_group) < r->group.index) {
            retire(k, r);
            turns = 0;
            stays = false;
        } else {
            append(k, r);
        }
    }
    free_resident(k->spare);
}

static void work(struct worker *k)
{
    unsigned nsleep = 0; /* groups in a row that slept */
    struct resident *r;

    if (k->job->run.caches) {
        work_by_chance(k);
        return;
    }
    while ((r = admit(k)) || (r = take_first(k))) {
        const enum outcome outcome =
            r->group.faulted ? GROUP_DONE : run_group(k->job, &r->group);

        nsleep = outcome == GROUP_SLEEPS ? nsleep + 1 : 0;
        if (outcome == GROUP_DONE)
            retire(k, r);
        else
            append(k, r);
        /* All waves wait, maybe for another device, which may need this core.
         */
        if (nsleep > k->nresidents) {
            sched_yield();
            nsleep = 0;
        }
        if (k->nhelpers && now_ns() >= k->call_at) {
            sim_pool_call(k->help, help, k->job, k->nhelpers);
            k->nhelpers = 0;
        }
    }
    free_resident(k->spare);
}

static void help(void *arg)
{
    struct worker k = {.job = arg};

    work(&k);
}

/*
 * Most kernels of tests are over before another thread would run, let alone
 * one that shares a processor with a host that waits busily.
 */
static void run_on_threads(struct job *job, unsigned nthreads)
{
    struct sim_help called = {0};
    struct worker k = {.job = job,
                       .help = &called,
                       .nhelpers = nthreads - 1,
                       .call_at = now_ns() + ALONE_NS};

    work(&k);
    sim_pool_end(&called);
}

/* ---- packet and queue, where the caller made none ---- */

static void put(struct sim_alloc *a, unsigned offset, const void *value,
                unsigned n)
{
    memcpy(a->bytes + offset, value, n);
}

static bool make_packet(struct run *run, struct sim_alloc **own)
{
    const struct sim_dispatch *d = run->dispatch;
    struct sim_alloc *a;

    run->packet = d->packet;
    if (d->packet)
        return true;
    a = sim_mem_alloc(d->device->ordinal, 64, 64, SIM_MEM_INTERNAL);
    if (!a)
        return false;
    *own = a;
    memset(a->bytes, 0, 64);
    put(a, 0, &(uint16_t){2}, 2);
    put(a, 2, &(uint16_t){3}, 2);
    put(a, 4, d->block, 6);
    put(a, 12, d->grid, 12);
    put(a, 24, &run->scratch_nbytes, 4);
    put(a, 28, &run->lds_nbytes, 4);
    put(a, 32, &d->descriptor, 8);
    put(a, 40, &d->kernarg, 8);
    sim_mem_mark_written(a->base, 64);
    run->packet = a->base;
    return true;
}

static bool make_queue(struct run *run, struct sim_alloc **own)
{
    const struct sim_dispatch *d = run->dispatch;
    uint32_t shared = (uint32_t)(SHARED_BASE >> 32);
    uint32_t private = (uint32_t)(PRIVATE_BASE >> 32);
    struct sim_alloc *a;

    run->queue = d->queue;
    if (d->queue)
        return true;
    a = sim_mem_alloc(d->device->ordinal, 256, 64, SIM_MEM_INTERNAL);
    if (!a)
        return false;
    *own = a;
    memset(a->bytes, 0, 256);
    put(a, 64, &shared, 4);
    put(a, 68, &private, 4);
    sim_mem_mark_written(a->base, 256);
    run->queue = a->base;
    return true;
}

/* ---- a dispatch ---- */

static bool refuse(struct sim_fault *fault, const struct sim_dispatch *d,
                   enum sim_fault_kind kind, const char *why)
{
    memset(fault, 0, sizeof(*fault));
    fault->kind = kind;
    fault->lane = -1;
    snprintf(fault->text, sizeof(fault->text), "kernel '%s' cannot start: %s",
             d->kernel_name ? d->kernel_name : "?", why);
    return false;
}

static uint64_t set_grid(struct run *run)
{
    const struct sim_dispatch *d = run->dispatch;
    uint64_t items = 1, groups = 1;

    for (int axis = 0; axis < 3; axis++) {
        if (d->block[axis] == 0 || d->grid[axis] == 0)
            return 0;
        run->ngroups[axis] =
            (uint32_t)(((uint64_t)d->grid[axis] + d->block[axis] - 1) /
                       d->block[axis]);
        items *= d->block[axis];
        groups *= run->ngroups[axis];
    }
    run->nwaves = (uint32_t)((items + run->wave_size - 1) / run->wave_size);
    return items <= 1024 ? groups : 0;
}

/* Whether a kernel has only s_endpgm; a card runs 2^31 groups of it quickly. */
static bool is_empty(const struct run *run)
{
    const uint32_t s_endpgm =
        run->target->major >= 11 ? 0xbfb00000 : 0xbf810000;
    const struct sim_alloc *a = sim_mem_find(run->entry);
    uint32_t first = 0;

    if (run->config.trace || run->config.bounds || !a || a->freed ||
        run->entry - a->base + sizeof(first) > a->size)
        return false;
    memcpy(&first, a->bytes + (run->entry - a->base), sizeof(first));
    return first == s_endpgm;
}

/* Multiplies the first group's counters by n, for n equal groups. */
static void count_alike(struct sim_stats *s, uint64_t n)
{
    s->waves *= n;
    s->workgroups *= n;
    s->insns *= n;
    s->other *= n;
}

static void report_stats(const struct job *job, struct sim_stats *stats)
{
    struct sim_stats s = job->stats;

    sim_count_occupancy(&job->run, &s);
    if (job->run.touched)
        sim_touched_count(job->run.touched, &s.work);
    if (job->run.config.stats)
        sim_stats_print(job->run.dispatch->kernel_name,
                        job->run.dispatch->device->target_id, &s);
    if (job->run.config.print_bounds)
        sim_bounds_print(job->run.dispatch->kernel_name, job->run.target->name,
                         &s);
    if (stats)
        sim_stats_add(stats, &s);
}

static void plan(struct job *job, unsigned *nthreads)
{
    struct layout l = lay_out(&job->run);
    uint32_t waves = job->run.dispatch->max_waves;
    uint64_t groups = waves ? waves / job->run.nwaves : UINT64_MAX;
    uint64_t fit;

    groups += groups == 0;
    job->group_nbytes = l.size;
    *nthreads = job->run.config.threads;
    if (*nthreads > job->ngroups)
        *nthreads = (unsigned)job->ngroups;
    if (*nthreads > groups)
        *nthreads = (unsigned)groups;
    if (*nthreads > MAX_THREADS)
        *nthreads = MAX_THREADS;
    if (job->run.races || job->run.caches)
        *nthreads = 1;
    fit = max_resident_nbytes / l.size / *nthreads;
    if (fit > groups / *nthreads)
        fit = groups / *nthreads;
    job->max_residents = fit < 1 ? 1 : fit > 4096 ? 4096 : (unsigned)fit;
}

static bool run_job(struct job *job, struct sim_stats *stats,
                    struct sim_fault *fault)
{
    const struct sim_dispatch *d = job->run.dispatch;
    const struct sim_alloc *a = sim_mem_find(d->descriptor);
    struct sim_alloc *packet = NULL, *queue = NULL;
    uint64_t alike = 1;
    unsigned nthreads;
    bool ok = false;

    if (!a || a->freed || d->descriptor - a->base + DESCRIPTOR_NBYTES > a->size)
        return refuse(fault, d, SIM_FAULT_MEMORY,
                      "its descriptor is not in a live allocation");
    sim_run_read_descriptor(&job->run, a->bytes + (d->descriptor - a->base));
    job->ngroups = set_grid(&job->run);
    if (job->ngroups == 0)
        return refuse(fault, d, SIM_FAULT_ILLEGAL_INSN,
                      "its grid is empty or its block above 1024 work-items");
    if (!make_packet(&job->run, &packet) || !make_queue(&job->run, &queue)) {
        refuse(fault, d, SIM_FAULT_MEMORY, "no device memory is left");
        goto out;
    }
    if (job->run.config.bounds && !(job->run.touched = sim_touched_new())) {
        refuse(fault, d, SIM_FAULT_MEMORY,
               "the host has no memory to count for bounds");
        goto out;
    }
    if (job->run.config.races && job->ngroups > 1 &&
        job->ngroups <= MAX_RACING &&
        !(job->run.races = sim_races_new(job->ngroups))) {
        refuse(fault, d, SIM_FAULT_MEMORY,
               "the host has no memory to look for races");
        goto out;
    }
    if (job->run.config.weak != 1 && !job->run.races &&
        job->run.config.weak_parts & WEAK_CACHES &&
        !(job->run.caches = sim_caches_new(&job->run))) {
        refuse(fault, d, SIM_FAULT_MEMORY,
               "the host has no memory to play caches");
        goto out;
    }
    if (is_empty(&job->run)) {
        alike = job->ngroups;
        job->ngroups = 1;
    }
    plan(job, &nthreads);
    atomic_store(&job->faulted_group, UINT64_MAX);
    run_on_threads(job, nthreads);
    if (job->out_of_memory) {
        refuse(fault, d, SIM_FAULT_MEMORY,
               "the host has no memory for a group");
        goto out;
    }
    count_alike(&job->stats, alike);
    report_stats(job, stats);
    ok = atomic_load(&job->faulted_group) == UINT64_MAX;
    if (!ok)
        *fault = job->fault;
out:
    sim_caches_free(job->run.caches);
    sim_races_free(job->run.races);
    sim_touched_free(job->run.touched);
    sim_pageable_free(job->run.pageable);
    if (packet)
        sim_mem_free(packet->base);
    if (queue)
        sim_mem_free(queue->base);
    return ok;
}

bool sim_dispatch_run(const struct sim_dispatch *dispatch,
                      struct sim_stats *stats, struct sim_fault *fault)
{
    struct job job = {.run = {.dispatch = dispatch,
                              .target = dispatch->device->target,
                              .config = *sim_config()}};
    bool ok;

    pthread_mutex_init(&job.lock, NULL);
    sim_mem_pin();
    ok = run_job(&job, stats, fault);
    sim_mem_unpin();
    pthread_mutex_destroy(&job.lock);
    return ok;
}
