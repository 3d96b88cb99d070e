/* unwaited.c - finds write-backs of the L2 cache that no wait follows */
#include "unwaited.h"

#include "elf64.h"
#include "target_table.h"

#include <stdlib.h>
#include <string.h>

enum { EM_AMDGPU_NUMBER = 224 };

/* A search gives up after this number of instructions; waits are closer. */
enum { STEPS_MAX = 4096 };

/* Functions that overlap make a file of n bytes take more than n steps. */
enum { STEPS_PER_BYTE = 64 };

struct code {
    const unsigned char *bytes;
    uint32_t nwords;
};

static uint32_t word(const struct code *code, uint32_t at)
{
    uint32_t w = 0;

    if (at < code->nwords)
        memcpy(&w, code->bytes + (size_t)at * 4, sizeof(w));
    return w;
}

/* ---- instructions of gfx9 ---- */

enum kind {
    KIND_OTHER,
    KIND_UNKNOWN, /* no instruction, or one after which the way is not known */
    KIND_WRITE_BACK,
    KIND_LOAD, /* counts on vmcnt */
    KIND_STORE,
    KIND_WAIT, /* value: vmcnt */
    KIND_BRANCH,
    KIND_MAY_BRANCH, /* value: words from the next instruction on */
    KIND_END
};

struct insn {
    enum kind kind;
    uint32_t nwords;
    int32_t value;
};

enum { LITERAL = 255, SDWA = 249, DPP = 250 };

static struct insn other(uint32_t nwords)
{
    return (struct insn){KIND_OTHER, nwords, 0};
}

static struct insn sopp(uint32_t w)
{
    const uint32_t op = w >> 16 & 0x7f;
    const int16_t simm16 = (int16_t)(w & 0xffff);

    switch (op) {
    case 1:  /* s_endpgm */
    case 27: /* s_endpgm_saved */
        return (struct insn){KIND_END, 1, 0};
    case 2:
        return (struct insn){KIND_BRANCH, 1, simm16};
    case 12:
        return (struct insn){KIND_WAIT, 1,
                             (int32_t)((w & 15) | (w >> 14 & 3) << 4)};
    default:
        /* s_cbranch_*: by SCC, VCC, EXEC; by the debugger */
        if ((op >= 4 && op <= 9) || (op >= 23 && op <= 26))
            return (struct insn){KIND_MAY_BRANCH, 1, simm16};
        return other(1);
    }
}

static struct insn scalar(uint32_t w)
{
    const bool two = (w & 255) == LITERAL || (w >> 8 & 255) == LITERAL;

    if (w >> 23 == 0x17f)
        return sopp(w);
    if (w >> 23 == 0x17d) { /* SOP1 */
        const uint32_t op = w >> 8 & 255;

        /* s_setpc, s_swappc, s_rfe, s_cbranch_join */
        if ((op >= 29 && op <= 31) || op == 46)
            return (struct insn){KIND_UNKNOWN, 1, 0};
        return other((w & 255) == LITERAL ? 2 : 1);
    }
    if (w >> 23 == 0x17e) /* SOPC */
        return other(two ? 2 : 1);
    if (w >> 28 == 11) { /* SOPK */
        const uint32_t op = w >> 23 & 31;

        if (op == 16 || op == 21) /* s_cbranch_i_fork, s_call_b64 */
            return (struct insn){KIND_UNKNOWN, 1, 0};
        return other(op == 20 ? 2 : 1); /* s_setreg_imm32_b32 */
    }
    return other(two ? 2 : 1); /* SOP2 */
}

static struct insn vector(uint32_t w)
{
    const uint32_t source = w & 511, op = w >> 25;

    /* v_madmk, v_madak, of f32 and f16 */
    if (op == 23 || op == 24 || op == 36 || op == 37)
        return other(2);
    return other(source == LITERAL || source == SDWA || source == DPP ? 2 : 1);
}

/* What is neither a store nor an atomic loads, or touches caches. */
static enum kind buffer_kind(uint32_t op)
{
    if (op == 40)
        return KIND_WRITE_BACK;
    return (op >= 4 && op <= 7) || (op >= 12 && op <= 15) ||
                   (op >= 24 && op <= 31) || op == 61 || (op >= 64 && op <= 108)
               ? KIND_STORE
               : KIND_LOAD;
}

/* gfx950's last two opcodes load to LDS. */
static enum kind flat_kind(uint32_t op)
{
    return (op >= 24 && op <= 31) || (op >= 64 && op <= 123) ? KIND_STORE
                                                             : KIND_LOAD;
}

static struct insn decode(const struct code *code, uint32_t at)
{
    const uint32_t w = word(code, at);
    const uint32_t op = w >> 18 & 127;
    struct insn in = {KIND_OTHER, 2, 0};

    if (w >> 31 == 0)
        return vector(w);
    if (w >> 30 == 2)
        return scalar(w);
    switch (w >> 26) {
    case 48: /* SMEM */
    case 49: /* EXP */
    case 52: /* VOP3, VOP3P */
    case 54: /* DS */
        break;
    case 53: /* VINTRP */
        in.nwords = 1;
        break;
    case 55: /* FLAT */
        in.kind = flat_kind(op);
        break;
    case 56: /* MUBUF */
        in.kind = buffer_kind(op);
        break;
    case 58: /* MTBUF */
        in.kind = w >> 15 & 4 ? KIND_STORE : KIND_LOAD;
        break;
    case 60: /* MIMG */
        in.kind = op >= 8 && op < 32 ? KIND_STORE : KIND_LOAD;
        break;
    default:
        in.kind = KIND_UNKNOWN;
    }
    return in;
}

/* ---- ways from a write-back ---- */

struct search {
    struct code code;
    uint32_t *reached; /* by which search, for each word */
    uint32_t number;
    uint32_t at[STEPS_MAX], nloads[STEPS_MAX]; /* branches still to follow */
    uint32_t n;
};

static void go_on(struct search *s, int64_t at, uint32_t nloads)
{
    if (at < 0 || at >= s->code.nwords || s->n == STEPS_MAX ||
        s->reached[at] == s->number)
        return;
    s->reached[at] = s->number;
    s->at[s->n] = (uint32_t)at;
    s->nloads[s->n++] = nloads;
}

/* Whether a way from `from` on reaches a store or an end without a wait. A wait
 * for N completes the write-back if N or more operations are younger. */
static bool is_unwaited(struct search *s, uint32_t from)
{
    s->number++;
    s->n = 0;
    go_on(s, from, 0);
    for (uint32_t steps = 0; s->n && steps < STEPS_MAX; steps++) {
        const uint32_t at = s->at[--s->n];
        const struct insn in = decode(&s->code, at);
        const int64_t next = (int64_t)at + in.nwords;
        uint32_t nloads = s->nloads[s->n];

        switch (in.kind) {
        case KIND_STORE:
        case KIND_END:
            return true;
        case KIND_UNKNOWN:
            break;
        case KIND_WAIT:
            if ((uint32_t)in.value > nloads)
                go_on(s, next, nloads);
            break;
        case KIND_BRANCH:
            go_on(s, next + in.value, nloads);
            break;
        case KIND_MAY_BRANCH:
            go_on(s, next + in.value, nloads);
            go_on(s, next, nloads);
            break;
        case KIND_WRITE_BACK:
        case KIND_LOAD:
            nloads++;
            go_on(s, next, nloads);
            break;
        case KIND_OTHER:
            go_on(s, next, nloads);
            break;
        }
    }
    return false;
}

/* The next write-back at or behind *at, instruction by instruction. */
static bool next_write_back(const struct code *code, uint32_t *at)
{
    while (*at < code->nwords) {
        const struct insn in = decode(code, *at);

        if (in.kind == KIND_WRITE_BACK)
            return true;
        /* After a jump to a register the code goes on. */
        if (in.kind == KIND_UNKNOWN && in.nwords == 2)
            return false;
        *at += in.nwords;
    }
    return false;
}

static void search_function(struct code code, const char *name, int64_t *steps,
                            unwaited_report *report, void *user)
{
    struct search *s = NULL;

    for (uint32_t at = 0; *steps > 0 && next_write_back(&code, &at); at += 2) {
        *steps -= STEPS_MAX;
        if (!s && (s = calloc(1, sizeof(*s)))) {
            s->code = code;
            s->reached = calloc(code.nwords, sizeof(*s->reached));
        }
        if (!s || !s->reached)
            break;
        if (is_unwaited(s, at + 2))
            report(user, name, (uint64_t)at * 4);
    }
    if (s)
        free(s->reached);
    free(s);
}

/* ---- ELF ---- */

static bool has_write_backs(unsigned mach)
{
#define X(name, number, major, minor, stepping, ...)                           \
    if (mach == (number))                                                      \
        return (major) == 9 && ((minor) >= 4 || (stepping) == 10);
    KPK_PROCESSOR_TABLE(X)
    KPK_GENERIC_TABLE(X)
#undef X
    return false;
}

static bool is_for_them(const struct elf64 *elf)
{
    return elf->head.e_ident[EI_CLASS] == ELFCLASS64 &&
           elf->head.e_machine == EM_AMDGPU_NUMBER &&
           has_write_backs(elf->head.e_flags & 0xff);
}

/* Finds the table of all symbols, or else the dynamic symbol table. */
static bool find_symbols(const struct elf64 *elf, Elf64_Shdr *table)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};

    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < elf->nsections; i++) {
            *table = elf64_section(elf, i);
            if (table->sh_type == types[t])
                return true;
        }
    return false;
}

static bool find_code(const struct elf64 *elf, const Elf64_Sym *symbol,
                      struct code *out)
{
    const unsigned char *content;
    Elf64_Shdr s;
    uint64_t skip;

    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_size < 4 ||
        symbol->st_size > UINT32_MAX || symbol->st_shndx >= elf->nsections)
        return false;
    s = elf64_section(elf, symbol->st_shndx);
    content = s.sh_type == SHT_PROGBITS ? elf64_content(elf, &s) : NULL;
    if (!content || symbol->st_value < s.sh_addr)
        return false;
    skip = symbol->st_value - s.sh_addr;
    if (skip > s.sh_size || symbol->st_size > s.sh_size - skip)
        return false;
    *out = (struct code){content + skip, (uint32_t)(symbol->st_size / 4)};
    return true;
}

static const char *printable(const char *name)
{
    for (const char *p = name; *p; p++)
        if (*p < '!' || *p > '~')
            return "?";
    return *name ? name : "?";
}

/* Whether an earlier symbol has the same value: a second name of a function is
 * reported only once. */
static bool is_named_before(const struct elf64 *elf, const Elf64_Shdr *table,
                            size_t i, uint64_t value)
{
    for (size_t k = 0; k < i; k++) {
        Elf64_Sym symbol;

        if (elf64_symbol(elf, table, k, &symbol) && symbol.st_value == value &&
            ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
            return true;
    }
    return false;
}

void unwaited_find(const void *data, size_t nbytes, unwaited_report *report,
                   void *user)
{
    int64_t steps = STEPS_PER_BYTE * ((int64_t)nbytes + STEPS_MAX);
    struct elf64 elf;
    Elf64_Shdr table;

    if (!elf64_open(&elf, data, nbytes) || !is_for_them(&elf) ||
        !find_symbols(&elf, &table))
        return;
    for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym) && steps > 0;
         i++) {
        Elf64_Sym symbol;
        const char *name = elf64_symbol(&elf, &table, i, &symbol);
        struct code code;
        uint32_t at = 0;

        steps--;
        if (!name || !find_code(&elf, &symbol, &code))
            continue;
        steps -= code.nwords;
        if (!next_write_back(&code, &at))
            continue;
        steps -= (int64_t)i;
        if (!is_named_before(&elf, &table, i, symbol.st_value))
            search_function(code, printable(name), &steps, report, user);
    }
}
