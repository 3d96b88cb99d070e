/* test_litmus.c - KPK_SIM_WEAK: what waves may see of each other's memory
 *
 * Litmus tests: a few threads, each a wave, store and load x and y, and an
 * outcome is forbidden or allowed. The same tests run on every family with what
 * LLVM emits for it, where threads are
 *
 *   GROUP    waves of one group on one compute unit (CU)
 *   SPLIT    waves of one group on several: WGP mode, tgsplit
 *   DEVICE   waves of different groups, on one die
 *   DIES     the same on several
 *
 * A forbidden outcome never shows, an allowed one does. And each wait,
 * write-back and invalidation that makes an outcome forbidden is left out once:
 * then it shows.
 *
 * KPK_LITMUS_SEEDS sets how many seeds a forbidden outcome is looked for in.
 */
#include "asm.h"
#include "sim/base/host_access.h"
#include "sim/isa/fault_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 4, MOST_LINES = 4, MOST_READS = 4, BUFFER = 4096 };
enum { AT_X = 0, AT_Y = 512, AT_READS = 2048 };
enum place { GROUP, SPLIT, DEVICE, DIES, NUM_PLACES };

static const char *const place_names[] = {"group", "split", "device", "dies"};

/*
 * What a family does for a scope. Lines begin with what they are: a wait for
 * (l)oads or (s)tores, a write-(b)ack, an (i)nvalidation.
 */
struct scope {
    const char *load, *store; /* bits of relaxed ones */
    const char *release[MOST_LINES + 1], *acquire[MOST_LINES + 1];
};

struct family {
    const char *target;
    const char *wait_loads, *wait_stores, *wait_lds;
    bool places[NUM_PLACES];
    struct scope group, device; /* group: if it is split */
};

/* clang-format off */
#define V0 "s_waitcnt vmcnt(0)"
#define S0 "s_waitcnt_vscnt null, 0x0"
#define LDS0 "s_waitcnt lgkmcnt(0)"
#define NONE {"", "", {NULL}, {NULL}}
#define GFX9 {"glc", "", {"s" V0}, {"l" V0, "ibuffer_wbinvl1_vol"}}
#define GFX94 {"sc1", "sc1", {"bbuffer_wbl2 sc1", "s" V0}, {"l" V0, "ibuffer_inv sc1"}}
#define GFX90A_GROUP {"glc", "", {"s" V0}, {"l" V0, "ibuffer_wbinvl1_vol"}}
#define GFX94_GROUP {"sc0", "sc0", {"s" V0}, {"l" V0, "ibuffer_inv sc0"}}

static const struct family families[] = {
    {"gfx906", V0, V0, LDS0, {true, false, true, false}, NONE, GFX9},
    {"gfx90a", V0, V0, LDS0, {true, true, true, false}, GFX90A_GROUP, GFX9},
    {"gfx942", V0, V0, LDS0, {true, true, true, true}, GFX94_GROUP, GFX94},
    {"gfx950", V0, V0, LDS0, {true, true, true, true}, GFX94_GROUP, GFX94},
    {"gfx1030", V0, S0, LDS0, {true, true, true, false},
     {"glc", "", {"s" S0}, {"l" V0, "ibuffer_gl0_inv"}},
     {"glc dlc", "", {"s" S0}, {"l" V0, "ibuffer_gl1_inv", "ibuffer_gl0_inv"}}},
    {"gfx1100", V0, S0, LDS0, {true, true, true, false},
     {"glc", "", {"s" S0}, {"l" V0, "ibuffer_gl0_inv"}},
     {"glc", "", {"s" S0}, {"l" V0, "ibuffer_gl1_inv", "ibuffer_gl0_inv"}}},
    {"gfx1201", "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0",
     {true, true, true, false},
     {"scope:SCOPE_SE", "scope:SCOPE_SE", {"ss_wait_storecnt 0x0"},
      {"ls_wait_loadcnt 0x0", "iglobal_inv scope:SCOPE_SE"}},
     {"scope:SCOPE_DEV", "scope:SCOPE_DEV", {"ss_wait_storecnt 0x0"},
      {"ls_wait_loadcnt 0x0", "iglobal_inv scope:SCOPE_DEV"}}},
    {"gfx1250", "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0",
     {true, false, false, true}, NONE,
     {"scope:SCOPE_DEV", "scope:SCOPE_DEV",
      {"bglobal_wb scope:SCOPE_DEV", "ss_wait_storecnt 0x0"},
      {"ls_wait_loadcnt 0x0", "iglobal_inv scope:SCOPE_DEV"}}},
};

/*
 * A thread's steps: W stores 1, or what = says, R loads into a, b, c, d in the
 * order of the text, x, y in memory, z in LDS; A stores 1 from LDS and waits
 * for it (gfx1250); S loads, then swaps if memory holds this value; .x relaxed
 * at the scope, .r release, .a acquire, .s sequentially consistent; F a
 * sequentially consistent fence; D waits for what was loaded, C goes on if it is
 * not 0. The outcome names loaded values and what memory holds in the end.
 * Verdicts are of GROUP, SPLIT, DEVICE and DIES: (F)orbidden, (A)llowed,
 * - without meaning.
 *
 * needs: lines that are left out, by their kind, of all threads at once.
 */
static const struct test {
    const char *name, *thread[MOST_THREADS];
    const char *outcome, *verdict, *needs;
} tests[] = {
    {"MP plain", {"Wx Wy", "Ry Rx"}, "a=1 b=0", "FAAA", ""},
    {"MP release, acquire", {"Wx Wy.r", "Ry.a Rx"}, "a=1 b=0", "FFFF", "slbi"},
    {"MP release, plain", {"Wx Wy.r", "Ry D Rx"}, "a=1 b=0", "FAAA", ""},
    {"MP plain, acquire", {"Wx Wy.x", "Ry.a Rx"}, "a=1 b=0", "FAAA", ""},
    {"MP by a fence", {"Wx F Wy.x", "Ry.x F Rx"}, "a=1 b=0", "FFFF", "slbi"},
    {"MP from LDS", {"Ax Wy.x", "Rx.x D Rx.x D Ry.a Rx"}, "c=1 d=0", "---F", "a"},
    {"MP flag in LDS", {"Wx Wz", "Rz D Rx"}, "a=1 b=0", "FA--", ""},
    {"MP data in LDS", {"Wz Wy.x", "Ry.x D Rz"}, "a=1 b=0", "AA--", ""},
    {"SB plain", {"Wx Ry", "Wy Rx"}, "a=0 b=0", "FAAA", ""},
    {"SB release, acquire", {"Wx.r Ry.a", "Wy.r Rx.a"}, "a=0 b=0", "FAAA", ""},
    {"SB fence", {"Wx F Ry", "Wy F Rx"}, "a=0 b=0", "FFFF", "sbi"},
    {"SB seq_cst", {"Wx.s Ry.s", "Wy.s Rx.s"}, "a=0 b=0", "FFFF", "s"},
    {"LB plain", {"Rx Wy.x", "Ry Wx.x"}, "a=1 b=1", "FAAA", ""},
    {"LB dependency", {"Rx D Wy.x", "Ry D Wx.x"}, "a=1 b=1", "FFFF", ""},
    {"CoRR plain", {"Wx.x", "Rx Rx"}, "a=1 b=0", "FFFF", ""},
    {"CoRR scoped, plain", {"Wx.x", "Rx.x Rx"}, "a=1 b=0", "FAAA", ""},
    {"CoRR scoped", {"Wx.x", "Rx.x Rx.x"}, "a=1 b=0", "FFFF", ""},
    {"CoWW", {"Wx Wx=2"}, "x=1", "FFFF", ""},
    {"CoWR", {"Wx Rx", "Wy"}, "a=0", "FFFF", ""},
    {"CoRW", {"Rx Wx"}, "a=1", "FFFF", ""},
    {"IRIW plain", {"Wx.x", "Wy.x", "Rx Ry", "Ry Rx"}, "a=1 b=0 c=1 d=0", "FAAA", ""},
    {"IRIW acquire", {"Wx.x", "Wy.x", "Rx.a Ry", "Ry.a Rx"}, "a=1 b=0 c=1 d=0", "FFFF", "li"},
    {"IRIW seq_cst", {"Wx.s", "Wy.s", "Rx.s Ry.s", "Ry.s Rx.s"}, "a=1 b=0 c=1 d=0", "FFFF", ""},
    {"2+2W plain", {"Wx Wy=2", "Wy Wx=2"}, "x=1 y=1", "FAAA", ""},
    {"2+2W release", {"Wx.x Wy=2.r", "Wy.x Wx=2.r"}, "x=1 y=1", "FFFF", "s"},
    {"S plain", {"Wx=2 Wy.x", "Ry Wx"}, "a=1 x=2", "FAAA", ""},
    {"S release, acquire", {"Wx=2 Wy.r", "Ry.a Wx"}, "a=1 x=2", "FFFF", "s"},
    {"R plain", {"Wx Wy", "Wy=2 Rx"}, "y=2 a=0", "FAAA", ""},
    {"R release, acquire", {"Wx.x Wy.r", "Wy=2.r Rx.a"}, "y=2 a=0", "FAAA", ""},
    {"R fence", {"Wx F Wy.x", "Wy=2.x F Rx"}, "y=2 a=0", "FFFF", "s"},
};
/* clang-format on */

/* ---- the text ---- */

struct writer {
    const struct family *family;
    const struct scope *scope;
    bool old_names; /* _dword for _b32 */
    char without;   /* a kind of line */
    bool left_out;
    const char *instead; /* of such a line */
    unsigned which; /* of the lines of this kind in a row; 0: all of them */
    unsigned nreads;
    size_t n;
    char text[4096];
};

static void put(struct writer *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct writer *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    t->n +=
        (size_t)vsnprintf(t->text + t->n, sizeof(t->text) - t->n, format, args);
    va_end(args);
    assert_true(t->n < sizeof(t->text));
}

/* A line, unless it is the one of its kind that is left out. */
static void put_line(struct writer *t, char kind, const char *line,
                     unsigned which)
{
    const bool leave = kind == t->without && which == t->which;

    t->left_out = t->left_out || leave;
    put(t, "%s\n", !leave ? line : t->instead ? t->instead : "");
}

static void put_lines(struct writer *t, const char *const *lines)
{
    unsigned which = 0;

    for (size_t i = 0; lines[i]; i++) {
        which += lines[i][0] == t->without;
        put_line(t, lines[i][0], lines[i] + 1, which);
    }
}

/* One wait is enough where loads and stores share a counter. */
static bool has_one_counter(const struct family *f)
{
    return f->wait_loads == f->wait_stores;
}

static void put_fence(struct writer *t)
{
    const char *const *acquire = t->scope->acquire;

    put_lines(t, t->scope->release);
    if (has_one_counter(t->family) && acquire[0])
        acquire++;
    put_lines(t, acquire);
}

static unsigned offset_of(char variable)
{
    return variable == 'y' ? AT_Y : AT_X;
}

static void put_store(struct writer *t, const char *step)
{
    const char *order = strchr(step, '.');
    const unsigned value = strchr(step, '=') ? 2 : 1;

    if (step[1] == 'z') {
        put(t, "%s v1, v%u\n", t->old_names ? "ds_write_b32" : "ds_store_b32",
            3 + value);
        return;
    }
    if (order && order[1] != 'x')
        put_lines(t, t->scope->release);
    put(t, "%s v1, v%u, s[4:5] offset:%u %s\n",
        t->old_names ? "global_store_dword" : "global_store_b32", 3 + value,
        offset_of(step[1]), order ? t->scope->store : "");
}

/* gfx1250's, which has a counter of its own. */
static void put_store_from_lds(struct writer *t)
{
    put(t,
        "ds_store_b32 v1, v4\ns_wait_dscnt 0x0\n"
        "global_store_async_from_lds_b32 v1, v1, s[4:5] offset:%u %s\n",
        AT_X, t->scope->store);
    put_line(t, 'a', "s_wait_asynccnt 0x0", 1);
}

static void put_load(struct writer *t, const char *step)
{
    const char *order = strchr(step, '.');
    const unsigned reg = 20 + t->nreads++;

    if (step[1] == 'z') {
        put(t, "%s v%u, v1\n%s\n", t->old_names ? "ds_read_b32" : "ds_load_b32",
            reg, t->family->wait_lds);
        return;
    }
    if (order && order[1] == 's') {
        if (!has_one_counter(t->family))
            put_line(t, 'l', t->family->wait_loads, 1);
        put_line(t, 's', t->family->wait_stores, 1);
    }
    put(t, "%s v%u, v1, s[4:5] offset:%u %s\n",
        t->old_names ? "global_load_dword" : "global_load_b32", reg,
        offset_of(step[1]), order ? t->scope->load : "");
    if (order && order[1] != 'x')
        put_lines(t, t->scope->acquire);
}

static void put_swap(struct writer *t, const char *step)
{
    put_load(t, step);
    put(t,
        "%s\nv_mov_b32 v7, v%u\nv_mov_b32 v6, 3\n"
        "%s v1, v[6:7], s[4:5] offset:%u\n",
        t->family->wait_loads, 19 + t->nreads,
        t->old_names ? "global_atomic_cmpswap" : "global_atomic_cmpswap_b32",
        offset_of(step[1]));
}

static void put_thread(struct writer *t, const char *steps)
{
    const unsigned first = t->nreads;

    for (const char *p = steps; *p;) {
        char step[16];
        const size_t n = strcspn(p, " ");

        snprintf(step, sizeof(step), "%.*s", (int)n, p);
        p += n + (p[n] == ' ');
        switch (step[0]) {
        case 'W':
            put_store(t, step);
            break;
        case 'A':
            put_store_from_lds(t);
            break;
        case 'S':
            put_swap(t, step);
            break;
        case 'R':
            put_load(t, step);
            break;
        case 'D':
            put(t, "%s\n", t->family->wait_loads);
            break;
        case 'C':
            put(t,
                "v_readfirstlane_b32 s7, v%u\ns_cmp_eq_u32 s7, 0\n"
                "s_cbranch_scc1 end\n",
                19 + t->nreads);
            break;
        default:
            put_fence(t);
        }
    }
    if (t->nreads > first)
        put(t, "%s\n", t->family->wait_loads);
    for (unsigned k = first; k < t->nreads; k++)
        put(t, "%s v2, v%u, s[4:5] offset:%u\n",
            t->old_names ? "global_store_dword" : "global_store_b32", 20 + k,
            4 * k);
}

/* s6 is the thread's number, x and y are at s[4:5], v4 is 1, v5 is 2. */
static void put_test(struct writer *t, const struct test *test,
                     enum place place)
{
    const char *target = t->family->target;
    const bool gfx12 = strncmp(target, "gfx12", 5) == 0;
    const bool gfx9 = target[3] == '9';
    const bool waves = place == GROUP || place == SPLIT;

    t->scope = waves ? &t->family->group : &t->family->device;
    t->old_names = gfx9 || strncmp(target, "gfx10", 5) == 0;
    t->n = t->nreads = 0;
    t->left_out = false;
    put(t, "%s s[4:5], s[0:1], 0x0\n%s\n",
        t->old_names ? "s_load_dwordx2" : "s_load_b64",
        gfx12 ? "s_wait_kmcnt 0x0" : "s_waitcnt lgkmcnt(0)");
    put(t, "v_readfirstlane_b32 s6, v0\ns_lshr_b32 s6, s6, %d\n", gfx9 ? 6 : 5);
    if (!waves)
        put(t, "s_mov_b32 s6, %s\n", gfx12 ? "ttmp9" : "s2");
    if (place == DEVICE && gfx9) /* groups that are on one of eight dies */
        put(t,
            "s_and_b32 s7, s6, 7\ns_cbranch_scc1 end\ns_lshr_b32 s6, s6, 3\n");
    put(t,
        "%s\nv_mov_b32 v1, 0\nv_mov_b32 v2, %d\nv_mov_b32 v4, 1\n"
        "v_mov_b32 v5, 2\n",
        gfx9 ? "s_mov_b64 exec, 1" : "s_mov_b32 exec_lo, 1", AT_READS);
    for (unsigned k = 0; k < MOST_THREADS && test->thread[k]; k++) {
        put(t, "s_cmp_lg_u32 s6, %u\ns_cbranch_scc1 not_%u\n", k, k);
        put_thread(t, test->thread[k]);
        put(t, "s_branch end\nnot_%u:\n", k);
    }
    put(t, "end:\n");
}

/* ---- running ---- */

static bool fits(const char *outcome, const uint8_t *bytes)
{
    for (const char *p = outcome; *p; p += strcspn(p, " "), p += *p == ' ') {
        const unsigned at = *p == 'x'   ? AT_X
                            : *p == 'y' ? AT_Y
                                        : AT_READS + 4 * (unsigned)(*p - 'a');
        const uint32_t wants = (uint32_t)(p[2] - '0');
        uint32_t value;

        memcpy(&value, bytes + at, sizeof(value));
        if (value != wants && !(wants == 0 && value == 0xa5a5a5a5))
            return false;
    }
    return true;
}

/* How many of the seeds from `first` on show the outcome; stops at one if it is
 * to show. */
static unsigned count(const struct test *test, struct writer *t,
                      enum place place, uint64_t first, uint64_t end,
                      bool stops)
{
    const char *target = t->family->target;
    const bool gfx9 = target[3] == '9',
               waves = place == GROUP || place == SPLIT;
    struct sim_alloc *a = sim_mem_alloc(0, BUFFER, 256, SIM_MEM_DEVICE);
    uint64_t kernarg;
    unsigned n = 0, threads = 0;
    struct asm_launch l = {.target = target,
                           .wave_size = gfx9 ? 64 : 32,
                           .text = t->text,
                           .lds_nbytes = 256,
                           .nregs = 64,
                           .accum_offset = 32,
                           .split = place == SPLIT,
                           .kernarg = &kernarg,
                           .kernarg_nbytes = sizeof(kernarg)};

    assert_non_null(a);
    while (threads < MOST_THREADS && test->thread[threads])
        threads++;
    l.groups = waves                     ? 1
               : place == DEVICE && gfx9 ? 8 * (threads - 1) + 1
                                         : threads;
    l.block = l.wave_size * (waves ? threads : 1);
    kernarg = a->base;
    asm_assemble(&l);
    for (uint64_t seed = first; seed < end && !(stops && n); seed++) {
        memset(a->bytes, 0, BUFFER);
        sim_config_mutable()->weak = seed;
        if (!asm_dispatch(&l))
            fail_msg("%s: %s\n%s", target, t->text, l.fault.text);
        n += fits(test->outcome, a->bytes);
    }
    sim_config_mutable()->weak = 1;
    asm_discard(&l);
    sim_mem_free(a->base);
    return n;
}

enum { ALLOWED_SEEDS = 20000 };

static uint64_t forbidden_seeds(void)
{
    const char *text = getenv("KPK_LITMUS_SEEDS");

    return text ? strtoull(text, NULL, 0) : 40;
}

typedef void case_fn(const struct test *test, struct writer *t,
                     enum place place);

/* tgsplit has no LDS, and gfx1250 alone stores from there. */
static bool lacks(const struct family *f, enum place place,
                  const struct test *test)
{
    if (strstr(test->name, "from LDS"))
        return strcmp(f->target, "gfx1250") != 0;
    return place == SPLIT && f->target[3] == '9' && strstr(test->name, "LDS");
}

static void each_case(char verdict, case_fn *fn)
{
    static struct writer t;

    for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++)
        for (int place = 0; place < NUM_PLACES; place++)
            for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
                if (!families[f].places[place] ||
                    tests[i].verdict[place] != verdict ||
                    lacks(&families[f], (enum place)place, &tests[i]))
                    continue;
                t = (struct writer){.family = &families[f]};
                fn(&tests[i], &t, (enum place)place);
            }
}

static void never_shows(const struct test *test, struct writer *t,
                        enum place place)
{
    put_test(t, test, place);
    if (count(test, t, place, 0, forbidden_seeds(), true))
        fail_msg("%s, %s, %s shows:\n%s", test->name, t->family->target,
                 place_names[place], t->text);
}

static void shows(const struct test *test, struct writer *t, enum place place)
{
    put_test(t, test, place);
    if (!count(test, t, place, 2, ALLOWED_SEEDS, true))
        fail_msg("%s, %s, %s does not show:\n%s", test->name, t->family->target,
                 place_names[place], t->text);
}

static void needs_each_line(const struct test *test, struct writer *t,
                            enum place place)
{
    for (const char *kind = test->needs; *kind && place != GROUP; kind++) {
        if (*kind == 'b' && place != DIES)
            continue;
        t->without = *kind;
        for (t->which = 1;; t->which++) {
            put_test(t, test, place);
            if (!t->left_out)
                break;
            if (!count(test, t, place, 2, ALLOWED_SEEDS, true))
                fail_msg("%s, %s, %s does not show without '%c' %u:\n%s",
                         test->name, t->family->target, place_names[place],
                         *kind, t->which, t->text);
        }
    }
}

static void does_not_show_with_seed_1(const struct test *test, struct writer *t,
                                      enum place place)
{
    put_test(t, test, place);
    sim_config_mutable()->slice = 1000; /* one thread after the other */
    if (strncmp(test->name, "SB", 2) != 0 && strncmp(test->name, "R", 1) != 0 &&
        count(test, t, place, 1, 2, true))
        fail_msg("%s, %s, %s shows:\n%s", test->name, t->family->target,
                 place_names[place], t->text);
    sim_config_mutable()->slice = 64;
}

static void test_what_is_forbidden_never_shows(void **state)
{
    (void)state;
    each_case('F', never_shows);
}

static void test_what_is_allowed_shows(void **state)
{
    (void)state;
    each_case('A', shows);
}

static void test_each_part_is_needed(void **state)
{
    (void)state;
    each_case('F', needs_each_line);
}

static void test_seed_1_is_the_plain_run(void **state)
{
    (void)state;
    each_case('A', does_not_show_with_seed_1);
}

/* The first stale read of the data, whose reader has seen the flag. */
static const struct {
    const char *target;
    enum place place;
    char without;
    const char *report;  /* "": none */
    const char *instead; /* of what is left out */
} reports[] = {
    {"gfx942", DIES, 0, "", NULL},
    {"gfx942", DIES, 'b', "the writer lacks 'buffer_wbl2 sc1'", NULL},
    {"gfx942", DIES, 'i', "the reader lacks buffer_inv sc1", NULL},
    {"gfx942", DEVICE, 's', "the writer lacks a wait", NULL},
    {"gfx90a", DEVICE, 0, "", NULL},
    {"gfx90a", DEVICE, 's', "the writer lacks a wait", NULL},
    {"gfx90a", DEVICE, 'i', "the reader lacks buffer_wbinvl1_vol", NULL},
    {"gfx1030", DEVICE, 'i', "the reader lacks buffer_gl1_inv", NULL},
    {"gfx1201", DEVICE, 0, "", NULL},
    {"gfx1201", DEVICE, 's', "the writer lacks a wait", NULL},
    {"gfx1250", DIES, 'b', "the writer lacks 'global_wb scope:SCOPE_DEV'",
     NULL},
    {"gfx942", DIES, 'b', "has too small a scope", "buffer_wbl2 sc0"},
    {"gfx942", DIES, 'i', "has too small a scope", "buffer_inv sc0"},
    {"gfx1201", DEVICE, 'i', "has too small a scope",
     "global_inv scope:SCOPE_SE"},
};

static void report_of(const char *what, size_t i, const struct test *test)
{
    static struct writer t;

    for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
        if (strcmp(families[f].target, reports[i].target) != 0)
            continue;
        t = (struct writer){.family = &families[f],
                            .without = reports[i].without,
                            .instead = reports[i].instead,
                            .which = 1};
        put_test(&t, test, reports[i].place);
        sim_forget_warning();
        (void)count(test, &t, reports[i].place, 2, *what ? ALLOWED_SEEDS : 200,
                    true);
        if (*what ? !strstr(sim_last_warning(), what)
                  : *sim_last_warning() != 0)
            fail_msg("%s: '%s' is not in '%s'", reports[i].target, what,
                     sim_last_warning());
    }
}

static void test_the_report_says_what_was_not_done(void **state)
{
    static const struct test mp = {
        "MP", {"Wx Wy.r", "Ry.a C Rx"}, "a=1 b=0", "", ""};

    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        report_of(reports[i].report, i, &mp);
}

/* The same loads are stale, but a compare-and-swap holds them against memory.
 */
static void test_no_report_of_a_load_before_a_swap(void **state)
{
    static const struct test swap = {
        "swap", {"Wx Wy.r", "Ry.a C Sx"}, "a=1 b=7", "", ""};

    (void)state;
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        report_of("", i, &swap);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_what_is_forbidden_never_shows),
        cmocka_unit_test(test_what_is_allowed_shows),
        cmocka_unit_test(test_each_part_is_needed),
        cmocka_unit_test(test_the_report_says_what_was_not_done),
        cmocka_unit_test(test_no_report_of_a_load_before_a_swap),
        cmocka_unit_test(test_seed_1_is_the_plain_run),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}
