/* decode.c - decodes instructions when they are first reached
 *
 * LLVM's disassembler costs a microsecond or two an instruction and a code
 * object holds many kernels of which a program runs few, so nothing is decoded
 * ahead of need. A decoded instruction is published through an atomic pointer
 * and lives as long as its code allocation.
 */
#include "decode.h"
#include "basic_block.h"
#include "reached.h"
#include "wave.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One disassembler per processor and wave size, made when needed, kept. */
enum { MAX_DISASSEMBLERS = 64 };
static struct {
    const struct sim_target *target;
    unsigned wave_size;
    LLVMDisasmContextRef context;
} disassemblers[MAX_DISASSEMBLERS];

static LLVMDisasmContextRef disassembler(const struct sim_target *target,
                                         unsigned wave_size)
{
    char features[64] = "";
    size_t i = 0;

    while (i < MAX_DISASSEMBLERS && disassemblers[i].target) {
        if (disassemblers[i].target == target &&
            disassemblers[i].wave_size == wave_size)
            return disassemblers[i].context;
        i++;
    }
    if (i == MAX_DISASSEMBLERS)
        return NULL;
    if (i == 0) {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
    }
    /* True16 text names the half of a register that the bits name; without
     * the feature LLVM would read those bits as part of the number. */
    if (target->major >= 10)
        snprintf(features, sizeof(features), "+wavefrontsize%u%s", wave_size,
                 target->major >= 11 ? ",+real-true16" : "");
    disassemblers[i].context = LLVMCreateDisasmCPUFeatures(
        "amdgcn-amd-amdhsa", target->name, features, NULL, 0, NULL, NULL);
    if (disassemblers[i].context) {
        disassemblers[i].target = target;
        disassemblers[i].wave_size = wave_size;
    }
    return disassemblers[i].context;
}

/*
 * gfx10's v_cmpx in its long form writes EXEC and has no use for the field of
 * a destination. Compilers before LLVM 16 left it 0; LLVM since wants it to
 * name EXEC, and takes it for no instruction otherwise.
 */
static size_t old_cmpx(LLVMDisasmContextRef context,
                       const struct sim_target *target, uint8_t bytes[],
                       uint64_t left, uint64_t addr, char *text, size_t ntext)
{
    uint32_t word;
    size_t n;

    memcpy(&word, bytes, sizeof(word));
    if (target->major != 10 || left < 8 || word >> 24 != 0xd4 ||
        (word & 0xff) != 0)
        return 0;
    bytes[0] = 0x7e;
    n = LLVMDisasmInstruction(context, bytes, left, addr, text, ntext);
    return strncmp(text + strspn(text, "\t "), "v_cmpx_", 7) == 0 ? n : 0;
}

static size_t disassemble_locked(const struct sim_code *code, uint64_t addr,
                                 unsigned wave_size, char *text, size_t ntext)
{
    LLVMDisasmContextRef context = disassembler(code->target, wave_size);
    uint64_t left = code->base + code->size - addr;
    uint8_t bytes[32] = {0};
    size_t n;

    text[0] = '\0';
    if (!context)
        return 0;
    if (left > sizeof(bytes))
        left = sizeof(bytes);
    memcpy(bytes, code->bytes + (addr - code->base), left);
    n = LLVMDisasmInstruction(context, bytes, left, addr, text, ntext);
    return n ? n
             : old_cmpx(context, code->target, bytes, left, addr, text, ntext);
}

size_t sim_disassemble(const struct sim_code *code, uint64_t addr,
                       unsigned wave_size, char *text, size_t ntext)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = disassemble_locked(code, addr, wave_size, text, ntext);
    pthread_mutex_unlock(&lock);
    return n;
}

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
    size = disassemble_locked(code, addr, wave_size, text, sizeof(text));
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

/* ---- the decoded form of an allocation ---- */

static void forget(struct sim_code *code)
{
    sim_blocks_free(code);
    for (int s = 0; s < 2; s++) {
        free(code->slot[s]);
        code->slot[s] = NULL;
    }
}

void sim_code_drop(struct sim_code *code)
{
    if (code)
        forget(code);
    free(code);
}

bool sim_code_is_stale(const struct sim_alloc *alloc)
{
    const struct sim_code *code;
    bool stale = false;

    pthread_mutex_lock(&lock);
    code = alloc->code;
    for (int s = 0; s < 2 && code && code->slot[0] && code->slot[1]; s++)
        for (uint64_t i = 0; i < code->size / 4 && !stale; i++) {
            const struct insn *in =
                atomic_load_explicit(&code->slot[s][i], memory_order_acquire);
            const struct known *k = (const struct known *)in;
            uint64_t n = code->size - 4 * i;

            if (k && n > 4ull * k->nwords)
                n = 4ull * k->nwords;
            stale = k && memcmp(k->words, code->bytes + 4 * i, n) != 0;
        }
    pthread_mutex_unlock(&lock);
    return stale;
}

static bool make_slots(struct sim_code *code)
{
    const size_t n = code->size / 4 + 1;

    for (int s = 0; s < 2; s++) {
        code->slot[s] = calloc(n, sizeof(*code->slot[s]));
        code->block[s] = calloc(n, sizeof(*code->block[s]));
    }
    return code->slot[0] && code->slot[1] && code->block[0] && code->block[1];
}

struct sim_code *sim_code_of(const struct sim_alloc *alloc,
                             const struct sim_target *target)
{
    struct sim_code *code;

    pthread_mutex_lock(&lock);
    code = alloc->code;
    if (code && code->generation != alloc->code_generation) {
        /* The host rewrote the code; it must not do so under a kernel. */
        forget(code);
        code->generation = alloc->code_generation;
        if (!make_slots(code))
            code = NULL;
    } else if (!code) {
        code = calloc(1, sizeof(*code));
        if (code) {
            code->bytes = alloc->bytes;
            code->base = alloc->base;
            code->size = alloc->size;
            code->generation = alloc->code_generation;
            code->target = target;
            if (make_slots(code)) {
                /* The cache belongs to the interpreter: not a change of the
                 * allocation that anyone else sees. */
                ((struct sim_alloc *)alloc)->code = code;
            } else {
                sim_code_drop(code);
                code = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}
