/* test_access.c - every load, store and atomic by its name, on each generation
 *
 * Tables of the names' meanings, run through every encoding that has them:
 * global, flat, scratch, buffer, LDS and scalar instructions. The test works
 * out each lane's expected value from bytes.
 */
#include "memory_test.h"

struct generation {
    const char *target;
    unsigned wave;
    bool renamed; /* gfx11's names */
};
static const struct generation generations[] = {
    {"gfx906", 64, false}, {"gfx942", 64, false}, {"gfx1030", 32, false},
    {"gfx1100", 32, true}, {"gfx1201", 32, true}, {"gfx1201", 64, true}};
enum { NUM_GENERATIONS = sizeof(generations) / sizeof(generations[0]) };

/* Two names of one thing; bytes; signed; 1, 2: to the low, the high half. */
struct access_case {
    const char *old, *renamed;
    unsigned nbytes;
    bool sign;
    unsigned half;
};

static const struct access_case loads[] = {
    {"load_ubyte", "load_u8", 1, false, 0},
    {"load_sbyte", "load_i8", 1, true, 0},
    {"load_ushort", "load_u16", 2, false, 0},
    {"load_sshort", "load_i16", 2, true, 0},
    {"load_dword", "load_b32", 4, false, 0},
    {"load_dwordx2", "load_b64", 8, false, 0},
    {"load_dwordx3", "load_b96", 12, false, 0},
    {"load_dwordx4", "load_b128", 16, false, 0},
    {"load_ubyte_d16", "load_d16_u8", 1, false, 1},
    {"load_ubyte_d16_hi", "load_d16_hi_u8", 1, false, 2},
    {"load_sbyte_d16", "load_d16_i8", 1, true, 1},
    {"load_sbyte_d16_hi", "load_d16_hi_i8", 1, true, 2},
    {"load_short_d16", "load_d16_b16", 2, false, 1},
    {"load_short_d16_hi", "load_d16_hi_b16", 2, false, 2},
};
static const struct access_case stores[] = {
    {"store_byte", "store_b8", 1, false, 0},
    {"store_short", "store_b16", 2, false, 0},
    {"store_dword", "store_b32", 4, false, 0},
    {"store_dwordx2", "store_b64", 8, false, 0},
    {"store_dwordx3", "store_b96", 12, false, 0},
    {"store_dwordx4", "store_b128", 16, false, 0},
    {"store_byte_d16_hi", "store_d16_hi_b8", 1, false, 2},
    {"store_short_d16_hi", "store_d16_hi_b16", 2, false, 2},
};
static const struct access_case lds_loads[] = {
    {"ds_read_u8", "ds_load_u8", 1, false, 0},
    {"ds_read_i8", "ds_load_i8", 1, true, 0},
    {"ds_read_u16", "ds_load_u16", 2, false, 0},
    {"ds_read_i16", "ds_load_i16", 2, true, 0},
    {"ds_read_b32", "ds_load_b32", 4, false, 0},
    {"ds_read_b64", "ds_load_b64", 8, false, 0},
    {"ds_read_b96", "ds_load_b96", 12, false, 0},
    {"ds_read_b128", "ds_load_b128", 16, false, 0},
    {"ds_read_u8_d16", "ds_load_u8_d16", 1, false, 1},
    {"ds_read_u8_d16_hi", "ds_load_u8_d16_hi", 1, false, 2},
    {"ds_read_i8_d16", "ds_load_i8_d16", 1, true, 1},
    {"ds_read_i8_d16_hi", "ds_load_i8_d16_hi", 1, true, 2},
    {"ds_read_u16_d16", "ds_load_u16_d16", 2, false, 1},
    {"ds_read_u16_d16_hi", "ds_load_u16_d16_hi", 2, false, 2},
};
static const struct access_case lds_stores[] = {
    {"ds_write_b8", "ds_store_b8", 1, false, 0},
    {"ds_write_b16", "ds_store_b16", 2, false, 0},
    {"ds_write_b32", "ds_store_b32", 4, false, 0},
    {"ds_write_b64", "ds_store_b64", 8, false, 0},
    {"ds_write_b96", "ds_store_b96", 12, false, 0},
    {"ds_write_b128", "ds_store_b128", 16, false, 0},
    {"ds_write_b8_d16_hi", "ds_store_b8_d16_hi", 1, false, 2},
    {"ds_write_b16_d16_hi", "ds_store_b16_d16_hi", 2, false, 2},
};

/* Where an encoding has its data and how its text goes: %s is the name, then
 * the data registers; v[2:3] holds the address, v1 the offset. */
struct encoding {
    const char *prefix, *load, *store;
    enum { IN_MEMORY, IN_SCRATCH, IN_LDS } where;
};
static const struct encoding encodings[] = {
    {"global_", "%s %s, v[2:3], off offset:16", "%s v[2:3], %s, off offset:16",
     IN_MEMORY},
    {"global_", "%s %s, v1, s[4:5] offset:16", "%s v1, %s, s[4:5] offset:16",
     IN_MEMORY},
    {"flat_", "%s %s, v[2:3] offset:16", "%s v[2:3], %s offset:16", IN_MEMORY},
    {"buffer_", "%s %s, v1, s[8:11], s12 offen offset:16",
     "%s %s, v1, s[8:11], s12 offen offset:16", IN_MEMORY},
    {"scratch_", "%s %s, off, s6 offset:16", "%s off, %s, s6 offset:16",
     IN_SCRATCH},
    {"scratch_", "%s %s, v7, off offset:16", "%s v7, %s, off offset:16",
     IN_SCRATCH},
};
enum { NUM_ENCODINGS = sizeof(encodings) / sizeof(encodings[0]) };
static const struct encoding lds_encoding = {"", "%s %s, v8 offset:16",
                                             "%s v8, %s offset:16", IN_LDS};

enum { DATA = 20, STEP = 32, BYTES = 64 * STEP + 64 };

/* A lane's bytes from the place that the text leads to. */
static uint8_t *place_of(struct asm_state *st, struct sim_alloc *memory,
                         const struct encoding *e, unsigned lane)
{
    return e->where == IN_MEMORY ? memory->bytes + STEP * lane + 16
                                 : st->lds + STEP * lane + 16;
}

static void copy_scratch(struct asm_state *st, unsigned lane, uint8_t *bytes,
                         bool out)
{
    for (unsigned i = 0; i < 16; i++) { /* s6, v7 + 16 */
        unsigned at = 24 + i;
        uint8_t *p = (uint8_t *)&st->scratch[at / 4][lane] + at % 4;

        if (out)
            bytes[i] = *p;
        else
            *p = bytes[i];
    }
}

static void fill_state(struct asm_state *st, const struct sim_alloc *memory)
{
    set_addresses(st, 2, memory->base, STEP);
    set64(st, 4, memory->base);
    st->s[6] = 8;
    set64(st, 8, memory->base);
    st->s[10] = BYTES;
    st->s[12] = 0;
    st->s[11] = 3u << 28; /* OOB_SELECT raw, for targets with that field */
    for (unsigned lane = 0; lane < 64; lane++) {
        uint8_t bytes[16];

        st->v[1][lane] = st->v[8][lane] = STEP * lane;
        st->v[7][lane] = 8;
        for (unsigned i = 0; i < 16; i++)
            bytes[i] = (uint8_t)(0x79 + 37 * lane + 11 * i);
        memcpy(st->lds + STEP * lane + 16, bytes, 16);
        memcpy(memory->bytes + STEP * lane + 16, bytes, 16);
        copy_scratch(st, lane, bytes, false);
        for (unsigned d = 0; d < 4; d++)
            st->v[DATA + d][lane] = 0x01234567 * (d + 3) + lane * 0x1001;
    }
    st->s[SREG_EXEC] &= ~4u; /* lane 2 is off */
}

static void make_line(char out[128], const struct encoding *e,
                      const char *format, const char *name, unsigned nbytes)
{
    char full[64], data[24];

    snprintf(full, sizeof(full), "%s%s", e->prefix, name);
    if (nbytes <= 4)
        snprintf(data, sizeof(data), "v%d", DATA);
    else
        snprintf(data, sizeof(data), "v[%d:%u]", DATA, DATA + nbytes / 4 - 1);
    /* buffer stores have the data first, as loads do */
    snprintf(out, 128, format, full, data); /* NOLINT */
}

static void expect_load(const struct access_case *c, const uint8_t *from,
                        uint32_t regs[4])
{
    uint32_t v = 0;

    if (c->nbytes >= 4) {
        memcpy(regs, from, c->nbytes);
        return;
    }
    memcpy(&v, from, c->nbytes);
    if (c->sign && from[c->nbytes - 1] & 0x80)
        v |= c->nbytes == 1 ? 0xffffff00 : 0xffff0000;
    regs[0] = c->half == 1   ? (regs[0] & 0xffff0000) | (v & 0xffff)
              : c->half == 2 ? (regs[0] & 0xffff) | v << 16
                             : v;
}

static void check_load(const struct generation *g, const struct encoding *e,
                       const struct access_case *c)
{
    struct asm_state *st = asm_new(g->target, g->wave);
    struct sim_alloc *memory = counting_bytes(BYTES);
    uint32_t want[64][4] = {0};
    char line[128];

    fill_state(st, memory);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        for (unsigned d = 0; d < 4; d++)
            want[lane][d] = st->v[DATA + d][lane];
        if (lane != 2)
            expect_load(c, place_of(st, memory, e, lane), want[lane]);
    }
    make_line(line, e, e->load, g->renamed ? c->renamed : c->old, c->nbytes);
    asm_run(st, line);
    for (unsigned lane = 0; lane < g->wave; lane++)
        for (unsigned d = 0; d < 4; d++)
            if (st->v[DATA + d][lane] != want[lane][d])
                fail_msg("%s: %s: want %#x in dword %u of lane %u, got %#x",
                         g->target, line, want[lane][d], d, lane,
                         st->v[DATA + d][lane]);
    asm_free(st);
    sim_mem_free(memory->base);
}

static void check_store(const struct generation *g, const struct encoding *e,
                        const struct access_case *c)
{
    struct asm_state *st = asm_new(g->target, g->wave);
    struct sim_alloc *memory = counting_bytes(BYTES);
    uint8_t want[64][16];
    char line[128];

    fill_state(st, memory);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        uint32_t regs[4];

        for (unsigned d = 0; d < 4; d++)
            regs[d] = st->v[DATA + d][lane];
        regs[0] >>= c->half == 2 ? 16 : 0;
        memcpy(want[lane], place_of(st, memory, e, lane), 16);
        if (lane != 2)
            memcpy(want[lane], regs, c->nbytes);
    }
    make_line(line, e, e->store, g->renamed ? c->renamed : c->old, c->nbytes);
    asm_run(st, line);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        uint8_t got[16];

        if (e->where == IN_SCRATCH)
            copy_scratch(st, lane, got, true);
        else
            memcpy(got, place_of(st, memory, e, lane), 16);
        if (memcmp(got, want[lane], 16) != 0)
            fail_msg("%s: %s: lane %u wrote %#x, not %#x", g->target, line,
                     lane, dword_at(got), dword_at(want[lane]));
    }
    asm_free(st);
    sim_mem_free(memory->base);
}

/* gfx906 has scratch behind a descriptor alone. */
static bool has_encoding(const struct generation *g, const struct encoding *e)
{
    return e->where != IN_SCRATCH || strcmp(g->target, "gfx906") != 0;
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_loads_of_every_name(void **state)
{
    (void)state;
    for (unsigned g = 0; g < NUM_GENERATIONS; g++) {
        for (unsigned e = 0; e < NUM_ENCODINGS; e++)
            for (size_t i = 0; i < COUNT(loads); i++)
                if (has_encoding(&generations[g], &encodings[e]))
                    check_load(&generations[g], &encodings[e], &loads[i]);
        for (size_t i = 0; i < COUNT(lds_loads); i++)
            check_load(&generations[g], &lds_encoding, &lds_loads[i]);
    }
}

static void test_stores_of_every_name(void **state)
{
    (void)state;
    for (unsigned g = 0; g < NUM_GENERATIONS; g++) {
        for (unsigned e = 0; e < NUM_ENCODINGS; e++)
            for (size_t i = 0; i < COUNT(stores); i++)
                if (has_encoding(&generations[g], &encodings[e]))
                    check_store(&generations[g], &encodings[e], &stores[i]);
        for (size_t i = 0; i < COUNT(lds_stores); i++)
            check_store(&generations[g], &lds_encoding, &lds_stores[i]);
    }
}

/* ---- atomics ---- */

static uint64_t low(uint64_t v, unsigned nbytes)
{
    return nbytes == 4 ? (uint32_t)v : v;
}

static int64_t as_signed(uint64_t v, unsigned nbytes)
{
    return nbytes == 4 ? (int32_t)v : (int64_t)v;
}

/* `o` old, `d` data, `c` compare; n bytes. */
#define ATOMICS(X)                                                             \
    X(swap, "swap", "swap_b", d)                                               \
    X(cmpswap, "cmpswap", "cmpswap_b", o == c ? d : o)                         \
    X(add, "add", "add_u", o + d)                                              \
    X(sub, "sub", "sub_u", o - d)                                              \
    X(smin, "smin", "min_i", as_signed(o, n) < as_signed(d, n) ? o : d)        \
    X(umin, "umin", "min_u", o < d ? o : d)                                    \
    X(smax, "smax", "max_i", as_signed(o, n) > as_signed(d, n) ? o : d)        \
    X(umax, "umax", "max_u", o > d ? o : d)                                    \
    X(and, "and", "and_b", o &d)                                               \
    X(or, "or", "or_b", o | d)                                                 \
    X(xor, "xor", "xor_b", o ^ d)                                              \
    X(inc, "inc", "inc_u", o >= d ? 0 : o + 1)                                 \
    X(dec, "dec", "dec_u", o == 0 || o > d ? d : o - 1)

#define ATOMIC_FN(name, old, renamed, value)                                   \
    static uint64_t do_##name(uint64_t o, uint64_t d, uint64_t c, unsigned n)  \
    {                                                                          \
        (void)o, (void)d, (void)c, (void)n;                                    \
        return value;                                                          \
    }
ATOMICS(ATOMIC_FN)

static const struct atomic_case {
    const char *old, *renamed;
    uint64_t (*run)(uint64_t o, uint64_t d, uint64_t c, unsigned n);
} atomics[] = {
#define ATOMIC_ROW(name, old, renamed, value) {old, renamed, do_##name},
    ATOMICS(ATOMIC_ROW)};

static const uint64_t edges[] = {0,
                                 1,
                                 7,
                                 UINT64_MAX,
                                 UINT64_C(0x7fffffff80000000),
                                 UINT64_C(0x8000000080000000),
                                 UINT64_C(0x8000000000000000)};
enum { NUM_EDGES = sizeof(edges) / sizeof(edges[0]) };

/* An atomic's text, with the return bit as its target writes it. */
struct atomic_text {
    const char *prefix, *text; /* name, result, data; name, data */
    const char *plain;
};
static const struct atomic_text atomic_texts[] = {
    {"global_atomic_", "%s %s, v[2:3], %s, off", "%s v[2:3], %s, off"},
    {"flat_atomic_", "%s %s, v[2:3], %s", "%s v[2:3], %s"},
    /* the result takes the data's place */
    {"buffer_atomic_", NULL, "%s %s, v1, s[8:11], s12 offen"},
};

static void registers(char out[24], unsigned reg, unsigned n)
{
    if (n == 1)
        snprintf(out, 24, "v%u", reg);
    else
        snprintf(out, 24, "v[%u:%u]", reg, reg + n - 1);
}

/* v[DATA...]: data, then what to compare with; v[40:41] gets the old value. */
static void check_atomic(const struct generation *g,
                         const struct atomic_text *t,
                         const struct atomic_case *c, unsigned nbytes,
                         bool returns)
{
    struct asm_state *st = asm_new(g->target, g->wave);
    struct sim_alloc *memory = counting_bytes(BYTES);
    const char *bit = !returns                     ? ""
                      : strstr(g->target, "gfx12") ? " th:TH_ATOMIC_RETURN"
                      : strstr(g->target, "gfx94") ? " sc0"
                                                   : " glc";
    unsigned words = nbytes / 4, result = t->text ? 40 : DATA;
    bool compares = strncmp(c->old, "cmp", 3) == 0;
    char name[64], data[24], back[24], line[160], whole[192];
    uint64_t old[64] = {0}, value[64] = {0}, compare[64] = {0};

    if (g->renamed)
        snprintf(name, sizeof(name), "%s%s%u", t->prefix, c->renamed,
                 8 * nbytes);
    else
        snprintf(name, sizeof(name), "%s%s%s", t->prefix, c->old,
                 nbytes == 8 ? "_x2" : "");
    fill_state(st, memory);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        old[lane] = low(edges[lane % NUM_EDGES], nbytes);
        value[lane] = low(edges[(lane / NUM_EDGES + lane) % NUM_EDGES], nbytes);
        compare[lane] = lane % 3 ? old[lane] : 5;
        memcpy(memory->bytes + STEP * lane, &old[lane], 8);
        for (unsigned w = 0; w < words; w++) {
            st->v[DATA + w][lane] = (uint32_t)(value[lane] >> 32 * w);
            st->v[DATA + words + w][lane] = (uint32_t)(compare[lane] >> 32 * w);
        }
    }
    registers(data, DATA, compares ? 2 * words : words);
    registers(back, 40, words);
    if (returns && t->text)
        snprintf(line, sizeof(line), t->text, name, back, data); /* NOLINT */
    else
        snprintf(line, sizeof(line), t->plain, name, data); /* NOLINT */
    snprintf(whole, sizeof(whole), "%s%s", line, bit);
    asm_run(st, whole);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        uint64_t want =
            low(c->run(old[lane], value[lane], compare[lane], nbytes), nbytes);
        uint64_t got = 0, seen = 0;

        if (lane == 2)
            continue;
        memcpy(&got, memory->bytes + STEP * lane, nbytes);
        for (unsigned w = 0; w < words; w++)
            seen |= (uint64_t)st->v[result + w][lane] << 32 * w;
        if (got != want || (returns && seen != old[lane]))
            fail_msg("%s: %s: of %#llx and %#llx: want %#llx, got %#llx and "
                     "%#llx back",
                     g->target, whole, (unsigned long long)old[lane],
                     (unsigned long long)value[lane], (unsigned long long)want,
                     (unsigned long long)got, (unsigned long long)seen);
    }
    asm_free(st);
    sim_mem_free(memory->base);
}

static void test_atomics_of_every_name(void **state)
{
    (void)state;
    for (unsigned g = 0; g < NUM_GENERATIONS; g++)
        for (size_t t = 0; t < COUNT(atomic_texts); t++)
            for (size_t i = 0; i < COUNT(atomics); i++)
                for (unsigned form = 0; form < 4; form++)
                    check_atomic(&generations[g], &atomic_texts[t], &atomics[i],
                                 form & 1 ? 8 : 4, form & 2);
}

/* ---- LDS atomics: ds_OP_TYPE and ds_OP_rtn_TYPE ---- */

static uint64_t do_rsub(uint64_t o, uint64_t d, uint64_t c, unsigned n)
{
    (void)c, (void)n;
    return d - o;
}

/* (old & ~data0) | data1, data1 standing where the others compare. */
static uint64_t do_mskor(uint64_t o, uint64_t d, uint64_t c, unsigned n)
{
    (void)n;
    return (o & ~d) | c;
}

static const struct {
    const char *op, *type;
    unsigned operands; /* 3: cmpst: compare first; 4: compare second */
    uint64_t (*run)(uint64_t o, uint64_t d, uint64_t c, unsigned n);
} lds_atomics[] = {
    {"add", "u", 1, do_add},
    {"sub", "u", 1, do_sub},
    {"rsub", "u", 1, do_rsub},
    {"inc", "u", 1, do_inc},
    {"dec", "u", 1, do_dec},
    {"min", "i", 1, do_smin},
    {"max", "i", 1, do_smax},
    {"min", "u", 1, do_umin},
    {"max", "u", 1, do_umax},
    {"and", "b", 1, do_and},
    {"or", "b", 1, do_or},
    {"xor", "b", 1, do_xor},
    {"mskor", "b", 2, do_mskor},
    {"cmpst", "b", 3, do_cmpswap},
    {"cmpstore", "b", 4, do_cmpswap},
    {"wrxchg", "b", 5, do_swap},
    {"storexchg", "b", 5, do_swap},
};

static bool has_lds_atomic(const struct generation *g, size_t i)
{
    const char *op = lds_atomics[i].op;

    if (strcmp(op, "cmpst") == 0 || strcmp(op, "wrxchg") == 0)
        return !g->renamed;
    if (strcmp(op, "cmpstore") == 0 || strcmp(op, "storexchg") == 0)
        return g->renamed;
    return true;
}

static void check_lds_atomic(const struct generation *g, size_t i,
                             unsigned nbytes, bool returns)
{
    struct asm_state *st = asm_new(g->target, g->wave);
    struct sim_alloc *memory = counting_bytes(BYTES);
    unsigned operands = lds_atomics[i].operands, words = nbytes / 4;
    bool two = operands >= 2 && operands <= 4;
    char first[24], second[24], back[24], text[160];
    uint64_t old[64] = {0}, value[64] = {0}, other[64] = {0};

    fill_state(st, memory);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        old[lane] = low(edges[lane % NUM_EDGES], nbytes);
        value[lane] = low(edges[(lane / NUM_EDGES + lane) % NUM_EDGES], nbytes);
        other[lane] = lane % 3 ? old[lane] : 5;
        memcpy(st->lds + STEP * lane + 16, &old[lane], 8);
        for (unsigned w = 0; w < words; w++) {
            st->v[DATA + w][lane] = (uint32_t)(value[lane] >> 32 * w);
            st->v[DATA + 4 + w][lane] = (uint32_t)(other[lane] >> 32 * w);
        }
    }
    registers(first, operands == 3 ? DATA + 4 : DATA, words);
    registers(second, operands == 3 ? DATA : DATA + 4, words);
    registers(back, 40, words);
    snprintf(text, sizeof(text), "ds_%s%s_%s%u %s%sv8, %s%s%s offset:16",
             lds_atomics[i].op, returns ? "_rtn" : "", lds_atomics[i].type,
             8 * nbytes, returns ? back : "", returns ? ", " : "", first,
             two ? ", " : "", two ? second : "");
    asm_run(st, text);
    for (unsigned lane = 0; lane < g->wave; lane++) {
        uint64_t want =
            low(lds_atomics[i].run(old[lane], value[lane], other[lane], nbytes),
                nbytes);
        uint64_t got = 0, seen = 0;

        if (lane == 2)
            continue;
        memcpy(&got, st->lds + STEP * lane + 16, nbytes);
        for (unsigned w = 0; w < words; w++)
            seen |= (uint64_t)st->v[40 + w][lane] << 32 * w;
        if (got != want || (returns && seen != old[lane]))
            fail_msg("%s: %s: want %#llx, got %#llx and %#llx back", g->target,
                     text, (unsigned long long)want, (unsigned long long)got,
                     (unsigned long long)seen);
    }
    asm_free(st);
    sim_mem_free(memory->base);
}

static void test_lds_atomics_of_every_name(void **state)
{
    (void)state;
    for (unsigned g = 0; g < NUM_GENERATIONS; g++)
        for (size_t i = 0; i < COUNT(lds_atomics); i++)
            for (unsigned form = 0; form < 4; form++)
                if (has_lds_atomic(&generations[g], i) &&
                    (form & 2 || lds_atomics[i].operands != 5))
                    check_lds_atomic(&generations[g], i, form & 1 ? 8 : 4,
                                     form & 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads_of_every_name),
        cmocka_unit_test(test_stores_of_every_name),
        cmocka_unit_test(test_atomics_of_every_name),
        cmocka_unit_test(test_lds_atomics_of_every_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
