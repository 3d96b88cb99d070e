/* memory_test.h - helpers for tests of memory instructions */
#ifndef SIM_TESTS_MEMORY_TEST_H
#define SIM_TESTS_MEMORY_TEST_H

#include "asm.h"
#include "sim/base/host_access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

/* Bytes 1, 2, 3... at a device address. */
static inline struct sim_alloc *counting_bytes(size_t n)
{
    struct sim_alloc *a = sim_mem_alloc(0, n, 256, SIM_MEM_DEVICE);

    assert_non_null(a);
    for (size_t i = 0; i < n; i++)
        a->bytes[i] = (uint8_t)(i + 1);
    sim_mem_mark_written(a->base, n);
    return a;
}

static inline void set64(struct asm_state *st, unsigned reg, uint64_t v)
{
    st->s[reg] = (uint32_t)v;
    st->s[reg + 1] = (uint32_t)(v >> 32);
}

/* v[reg:reg+1] = base + lane * step */
static inline void set_addresses(struct asm_state *st, unsigned reg,
                                 uint64_t base, unsigned step)
{
    for (unsigned lane = 0; lane < st->wave_size; lane++) {
        uint64_t at = base + lane * (uint64_t)step;

        st->v[reg][lane] = (uint32_t)at;
        st->v[reg + 1][lane] = (uint32_t)(at >> 32);
    }
}

static inline uint32_t dword_at(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

#endif
