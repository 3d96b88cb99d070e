/* decode.c - decodes instructions when they are first reached
 *
 * LLVM's disassembler costs a microsecond or two an instruction and a code
 * object holds many kernels of which a program runs few, so nothing is decoded
 * ahead of need. A decoded instruction is published through an atomic pointer
 * and lives as long as its code allocation.
 */
#include "decode.h"

#include "disassemble.h"
#include "fault_report.h"
#include "parse.h"
#include "reached.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- instructions that fault ---- */

static void run_illegal(struct wave *w, const struct insn *in)
{
    sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                    "0x%08x is not an instruction of %s", in->raw,
                    w->target->name);
}

static void run_unknown(struct wave *w, const struct insn *in)
{
    struct insn again;
    char text[256], why[128] = "";

    sim_disassemble(w->code, w->insn_pc, w->nlanes, text, sizeof(text));
    memset(&again, 0, sizeof(again));
    again.raw = in->raw;
    sim_parse(text, w->target, &again, why);
    free(again.pair);
    sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0, "the simulator %s", why);
}

bool sim_is_runnable(const struct insn *in)
{
    return in->run != run_illegal && in->run != run_unknown;
}

/* ---- instructions known by their bytes ----
 *
 * Kernels repeat themselves: of a large object's instructions, one in ten is
 * new. Nothing in the internal form depends on where an instruction stands, so
 * one form serves every place with the same bytes, in every code object.
 * The number of bytes follows from the first of them, so looking for 4 bytes,
 * then 8, finds the right one. Entries are never freed.
 */
enum {
    MAX_WORDS = 5,
    NUM_BUCKETS = 1 << 16,
    SLAB = 256 /* forms allocated together */
};

struct known {
    struct insn insn; /* first */
    struct known *next;
    const struct sim_target *target;
    unsigned wave_size, nwords;
    uint32_t words[MAX_WORDS];
};

static struct known *buckets[NUM_BUCKETS];

static struct known **bucket(const uint32_t *words, unsigned nwords,
                             unsigned wave_size)
{
    uint64_t h = wave_size;

    for (unsigned i = 0; i < nwords; i++)
        h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[h >> 48];
}

static struct known *find_known(const struct sim_code *code, unsigned wave_size,
                                const uint32_t words[MAX_WORDS])
{
    for (unsigned n = 1; n <= MAX_WORDS; n++)
        for (struct known *k = *bucket(words, n, wave_size); k; k = k->next)
            if (k->nwords == n && k->wave_size == wave_size &&
                k->target == code->target &&
                memcmp(k->words, words, 4ull * n) == 0)
                return k;
    return NULL;
}

static struct known *new_known(void)
{
    static struct known *slab;
    static unsigned left;

    if (left == 0) {
        slab = aligned_alloc(64, SLAB * sizeof(*slab));
        if (!slab)
            return NULL;
        left = SLAB;
    }
    left--;
    memset(slab, 0, sizeof(*slab));
    return slab++;
}

/* ---- constants, in every lane ---- */

struct splat {
    uint32_t lanes[MAX_LANES] __attribute__((aligned(64)));
    struct splat *next;
};

static const uint32_t *splat_of(uint32_t value)
{
    static struct splat *splats[256];
    struct splat **place = &splats[(value * 0x9e3779b9u) >> 24];
    struct splat *s = *place;

    while (s && s->lanes[0] != value)
        s = s->next;
    if (s)
        return s->lanes;
    s = aligned_alloc(64, sizeof(*s));
    if (!s)
        return NULL;
    for (unsigned i = 0; i < MAX_LANES; i++)
        s->lanes[i] = value;
    s->next = *place;
    *place = s;
    return s->lanes;
}

static void splat_constants(struct insn *in)
{
    for (unsigned k = 0; in && k < in->nops; k++) {
        struct operand *o = &in->op[k];

        if (o->kind == OPERAND_CONST && !o->neg && !o->abs && !o->sext &&
            !o->hi && !o->sel && in->dpp.kind == DPP_NONE)
            o->splat = splat_of((uint32_t)o->value);
    }
}

static struct insn *decode_locked(const struct sim_code *code, uint64_t addr,
                                  unsigned wave_size)
{
    uint64_t left = code->base + code->size - addr;
    uint32_t words[MAX_WORDS] = {0};
    char text[256], why[128];
    struct known *k, **place;
    size_t size;

    memcpy(words, code->bytes + (addr - code->base),
           left < sizeof(words) ? left : sizeof(words));
    k = find_known(code, wave_size, words);
    if (k)
        return &k->insn;
    k = new_known();
    if (!k)
        return NULL;
    size = sim_disassemble(code, addr, wave_size, text, sizeof(text));
    k->insn.raw = words[0];
    k->insn.size = size ? (uint8_t)size : 4;
    if (size == 0) {
        k->insn.run = run_illegal;
        k->insn.class = CLASS_OTHER;
    } else if (!sim_parse(text, code->target, &k->insn, why)) {
        k->insn.run = run_unknown;
        k->insn.class = CLASS_OTHER;
    } else {
        sim_coverage_note(code->target, text);
    }
    splat_constants(&k->insn);
    splat_constants(k->insn.pair);
    k->target = code->target;
    k->wave_size = wave_size;
    /* An illegal instruction may be illegal by its later words, so the key has
     * all of them. */
    k->nwords = size ? (unsigned)size / 4 : MAX_WORDS;
    memcpy(k->words, words, sizeof(words));
    place = bucket(words, k->nwords, wave_size);
    k->next = *place;
    *place = k;
    return &k->insn;
}

const struct insn *sim_decode(struct sim_code *code, uint64_t addr,
                              unsigned wave_size)
{
    _Atomic(struct insn *) *slot =
        &code->slot[wave_size == 32][(addr - code->base) / 4];
    struct insn *in = atomic_load_explicit(slot, memory_order_acquire);

    if (in)
        return in;
    pthread_mutex_lock(&lock);
    in = atomic_load_explicit(slot, memory_order_acquire);
    if (!in) {
        in = decode_locked(code, addr, wave_size);
        atomic_store_explicit(slot, in, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return in;
}

bool sim_is_decoded_from(const struct insn *in, const uint8_t *bytes,
                         uint64_t nbytes)
{
    const struct known *k = (const struct known *)in;
    const uint64_t n = 4ull * k->nwords;

    return memcmp(k->words, bytes, n < nbytes ? n : nbytes) == 0;
}
