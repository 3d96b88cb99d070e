/* test_caches.c - which memory an L2 keeps from other devices and the host, and
 * which instructions reach them
 *
 * Each row is a kind of memory. A compute unit stores 7, the host or another
 * device then writes 9. Rows follow the memory types that Linux's driver gives
 * each card, and LLVM's memory model.
 */
#include "sim/base/allocation.h"
#include "sim/base/dispatch_packet.h"
#include "sim/base/host_access.h"
#include "sim/base/processor.h"
#include "sim/isa/caches.h"
#include "sim/isa/scope_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

enum whose { OWN, PEER, HOST };
enum { NBYTES = 4096, AT = 1024 };

/* clang-format off */
static const struct memory {
    const char *target;
    enum whose whose;
    bool fine;
    bool apart; /* others do not see it before a write-back */
} rows[] = {
    {"gfx906",  OWN,  false, false},
    {"gfx90a",  OWN,  false, true},
    {"gfx90a",  OWN,  true,  false},
    {"gfx90a",  PEER, false, true},
    {"gfx90a",  HOST, true,  false},
    {"gfx90a",  HOST, false, true},
    {"gfx942",  OWN,  false, true},
    {"gfx942",  OWN,  true,  true},
    {"gfx942",  PEER, false, true},
    {"gfx942",  PEER, true,  false},
    {"gfx942",  HOST, false, false},
    {"gfx1030", OWN,  false, false},
    {"gfx1030", HOST, true,  false},
    {"gfx1100", PEER, false, true},
    {"gfx1201", OWN,  false, true},
    {"gfx1201", HOST, true,  true},
    {"gfx1250", OWN,  false, true},
};
/* clang-format on */

static struct sim_device device;
static struct sim_dispatch dispatch = {.device = &device};
static struct run run = {.dispatch = &dispatch};

static struct caches *caches_of(const char *target)
{
    struct caches *c;

    run.target = device.target = sim_target_by_name(target);
    run.config.weak = 0;
    assert_non_null(run.target);
    c = sim_caches_new(&run);
    assert_non_null(c);
    return c;
}

static struct sim_alloc *memory_of(const struct memory *m)
{
    struct sim_alloc *a =
        sim_mem_alloc(m->whose == PEER ? 1 : 0, NBYTES, 256,
                      m->whose == HOST ? SIM_MEM_HOST : SIM_MEM_DEVICE);

    assert_non_null(a);
    a->fine_grained = m->fine;
    memset(a->bytes, 0, NBYTES);
    return a;
}

static unsigned load(struct caches *c, struct cu *cu, const struct sim_alloc *a,
                     enum cache_level level)
{
    uint32_t value;

    sim_caches_read(c, cu, a, a->bytes + AT, sizeof(value), level,
                    (uint8_t *)&value);
    return value;
}

static void store(struct caches *c, struct cu *cu, const struct sim_alloc *a,
                  enum cache_level level, uint32_t value)
{
    static uint64_t serial;
    const struct cache_store s = {
        .wave = 1, .serial = ++serial, .level = (uint8_t)level};

    sim_caches_write(c, cu, &s, a, a->bytes + AT, sizeof(value),
                     (const uint8_t *)&value);
    sim_caches_complete(c, cu, 1, serial);
}

static unsigned in_memory(const struct sim_alloc *a)
{
    uint32_t value;

    memcpy(&value, a->bytes + AT, sizeof(value));
    return value;
}

static void test_stores_reach_others_by_memory_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct caches *c = caches_of(rows[i].target);
        struct cu *cu = sim_caches_cu(c, 0, 0);
        struct sim_alloc *a = memory_of(&rows[i]);

        store(c, cu, a, LEVEL_L2, 7);
        if (in_memory(a) != (rows[i].apart ? 0 : 7))
            fail_msg("row %zu, %s: %u in memory", i, rows[i].target,
                     in_memory(a));
        assert_int_equal(load(c, cu, a, LEVEL_L2), 7);
        sim_caches_write_back(c, cu, UINT64_MAX, LEVEL_MEMORY);
        assert_int_equal(in_memory(a), 7);
        store(c, cu, a, LEVEL_MEMORY, 8); /* of system scope */
        assert_int_equal(in_memory(a), 8);
        store(c, cu, a, LEVEL_L2, 6);
        sim_caches_free(c); /* the launch ends */
        assert_int_equal(in_memory(a), 6);
        sim_mem_free(a->base);
    }
}

static void test_loads_see_others_by_memory_type(void **state)
{
    const uint32_t nine = 9;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct caches *c = caches_of(rows[i].target);
        struct cu *cu = sim_caches_cu(c, 0, 0);
        struct sim_alloc *a = memory_of(&rows[i]);

        assert_int_equal(load(c, cu, a, LEVEL_CU), 0);
        memcpy(a->bytes + AT, &nine, sizeof(nine));
        assert_int_equal(load(c, cu, a, LEVEL_CU), 0);
        assert_int_equal(load(c, cu, a, LEVEL_MEMORY), 9);
        sim_caches_invalidate(c, cu, REACH_DROPS_L0 | REACH_DROPS_L1);
        if (load(c, cu, a, LEVEL_CU) != (rows[i].apart ? 0 : 9))
            fail_msg("row %zu, %s: sees %u", i, rows[i].target,
                     load(c, cu, a, LEVEL_CU));
        sim_caches_invalidate(c, cu,
                              REACH_DROPS_L0 | REACH_DROPS_L1 | REACH_DROPS_L2);
        assert_int_equal(load(c, cu, a, LEVEL_CU), 9);
        sim_caches_free(c);
        sim_mem_free(a->base);
    }
}

/* A store dirties its own bytes alone: a neighbour's in the line stay. */
static void test_bytes_of_one_line_are_apart(void **state)
{
    const struct memory own = {"gfx942", OWN, false, true};
    struct caches *c = caches_of(own.target);
    struct cu *one = sim_caches_cu(c, 0, 0), *two = sim_caches_cu(c, 1, 0);
    struct sim_alloc *a = memory_of(&own);
    const struct cache_store s = {.wave = 2, .serial = 1, .level = LEVEL_L2};

    (void)state;
    assert_int_not_equal(one->die, two->die);
    store(c, one, a, LEVEL_L2, 7);
    sim_caches_write(c, two, &s, a, a->bytes + AT + 4, 4,
                     (const uint8_t *)&(uint32_t){5});
    sim_caches_free(c);
    assert_int_equal(in_memory(a), 7);
    assert_int_equal(a->bytes[AT + 4], 5);
    sim_mem_free(a->base);
}

/* clang-format off */
static const struct {
    const char *target, *name;
    uint32_t flags;
    uint16_t has, lacks; /* of its reach */
} scopes[] = {
    {"gfx90a",  "buffer_wbl2",    0,                         REACH_WRITES_BACK | REACH_SYSTEM, 0},
    {"gfx90a",  "buffer_invl2",   0,                         REACH_DROPS_L2, REACH_DROPS_L0},
    {"gfx906",  "buffer_wbinvl1", 0,                         REACH_DROPS_L0, REACH_DROPS_L2},
    {"gfx942",  "buffer_inv",     F_GLC | F_SC1,             REACH_DROPS_L0 | REACH_DROPS_L2, 0},
    {"gfx942",  "buffer_inv",     F_GLC,                     REACH_NARROW_INVALIDATION, REACH_DROPS_L2},
    {"gfx942",  "buffer_wbl2",    F_GLC,                     REACH_NARROW_WRITE_BACK, REACH_WRITES_BACK},
    {"gfx1201", "global_wb",      F_SCOPE_DEV | F_SCOPE_SYS, REACH_WRITES_BACK | REACH_SYSTEM, 0},
    {"gfx1201", "global_wb",      F_SCOPE_DEV,               REACH_WRITES_BACK, REACH_SYSTEM},
    {"gfx1201", "global_inv",     F_SCOPE_DEV | F_SCOPE_SYS, REACH_DROPS_L0 | REACH_DROPS_L2, 0},
    {"gfx1201", "global_inv",     F_SCOPE_DEV,               REACH_DROPS_L0, REACH_DROPS_L2},
    {"gfx1250", "global_inv",     F_SCOPE_DEV,               REACH_DROPS_L0 | REACH_DROPS_L2, 0},
    {"gfx1201", "global_load_b32", F_SCOPE_DEV | F_SCOPE_SYS, REACH_LOAD | REACH_SYSTEM, 0},
    {"gfx1030", "global_load_dword", F_GLC,                  REACH_LOAD_GROUP, REACH_LOAD},
};
/* clang-format on */

static void test_scopes_of_caches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++) {
        const unsigned reach =
            sim_reach_of(scopes[i].name, scopes[i].flags,
                         sim_target_by_name(scopes[i].target));

        if ((reach & scopes[i].has) != scopes[i].has || reach & scopes[i].lacks)
            fail_msg("%s: %s has %x", scopes[i].target, scopes[i].name, reach);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores_reach_others_by_memory_type),
        cmocka_unit_test(test_loads_see_others_by_memory_type),
        cmocka_unit_test(test_bytes_of_one_line_are_apart),
        cmocka_unit_test(test_scopes_of_caches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
