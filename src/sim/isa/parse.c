/* parse.c - takes LLVM's text of one instruction apart
 *
 * The text is a mnemonic, operands separated by commas, then modifiers
 * separated by blanks. Everything has to be understood: an operand or a
 * modifier that is not known makes the instruction unknown, because running it
 * without would give wrong results silently.
 */
#include "parse.h"
#include "cost.h"
#include "insn_rows.h"
#include "parse_image.h"
#include "scope_rules.h"
#include "vop.h"
#include "wait_rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* The end of an operand or modifier: a blank or comma outside brackets. */
static const char *word_end(const char *p)
{
    int depth = 0;

    for (; *p; p++) {
        if (*p == '[' || *p == '(')
            depth++;
        else if (*p == ']' || *p == ')')
            depth--;
        else if (depth == 0 && (*p == ' ' || *p == ',' || *p == '\t'))
            break;
    }
    return p;
}

static bool word_is(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - p) == n && memcmp(p, word, n) == 0;
}

static bool starts_with(const char *p, const char *prefix)
{
    return strncmp(p, prefix, strlen(prefix)) == 0;
}

/* ---- registers ---- */

static const struct named_register {
    const char *name;
    uint8_t kind, width;
    uint16_t reg;
} named_registers[] = {
    {"vcc", OPERAND_SGPR, 2, SREG_VCC},
    {"vcc_lo", OPERAND_SGPR, 1, SREG_VCC},
    {"vcc_hi", OPERAND_SGPR, 1, SREG_VCC + 1},
    {"exec", OPERAND_SGPR, 2, SREG_EXEC},
    {"exec_lo", OPERAND_SGPR, 1, SREG_EXEC},
    {"exec_hi", OPERAND_SGPR, 1, SREG_EXEC + 1},
    {"m0", OPERAND_SGPR, 1, SREG_M0},
    {"null", OPERAND_SGPR, 1, SREG_NULL},
    {"off", OPERAND_OFF, 0, 0},
    {"flat_scratch", OPERAND_SGPR, 2, SREG_FLAT_SCRATCH},
    {"flat_scratch_lo", OPERAND_SGPR, 1, SREG_FLAT_SCRATCH},
    {"flat_scratch_hi", OPERAND_SGPR, 1, SREG_FLAT_SCRATCH + 1},
    {"xnack_mask", OPERAND_SGPR, 2, SREG_XNACK_MASK},
    {"xnack_mask_lo", OPERAND_SGPR, 1, SREG_XNACK_MASK},
    {"xnack_mask_hi", OPERAND_SGPR, 1, SREG_XNACK_MASK + 1},
    {"src_scc", OPERAND_SPECIAL, 1, SPECIAL_SCC},
    {"scc", OPERAND_SPECIAL, 1, SPECIAL_SCC},
    {"src_vccz", OPERAND_SPECIAL, 1, SPECIAL_VCCZ},
    {"src_execz", OPERAND_SPECIAL, 1, SPECIAL_EXECZ},
    {"src_shared_base", OPERAND_SPECIAL, 2, SPECIAL_SHARED_BASE},
    {"src_shared_base_lo", OPERAND_SPECIAL, 1, SPECIAL_SHARED_BASE},
    {"src_shared_limit", OPERAND_SPECIAL, 2, SPECIAL_SHARED_LIMIT},
    {"src_private_base", OPERAND_SPECIAL, 2, SPECIAL_PRIVATE_BASE},
    {"src_private_limit", OPERAND_SPECIAL, 2, SPECIAL_PRIVATE_LIMIT},
    {"src_flat_scratch_base_lo", OPERAND_SPECIAL, 1, SPECIAL_FLAT_SCRATCH_LO},
    {"src_flat_scratch_base_hi", OPERAND_SPECIAL, 1, SPECIAL_FLAT_SCRATCH_HI},
    {"src_lds_direct", OPERAND_SPECIAL, 1, SPECIAL_LDS_DIRECT},
    {"lds_direct", OPERAND_SPECIAL, 1, SPECIAL_LDS_DIRECT},
    {"src_pops_exiting_wave_id", OPERAND_SPECIAL, 1, SPECIAL_POPS},
};

/* v7, v[4:7], ttmp9, ttmp[8:9], v3.l: false if it is none of these. */
static bool parse_numbered(const char *p, const char *end, struct operand *o)
{
    static const struct {
        const char *prefix;
        uint8_t kind;
        uint16_t base;
    } files[] = {{"v", OPERAND_VGPR, 0},
                 {"a", OPERAND_AGPR, 0},
                 {"s", OPERAND_SGPR, 0},
                 {"ttmp", OPERAND_SGPR, SREG_TTMP}};
    char *stop;

    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        size_t n = strlen(files[f].prefix);
        const char *q = p + n;
        unsigned long first, last;

        if (!starts_with(p, files[f].prefix) || !(isdigit(*q) || *q == '['))
            continue;
        if (*q == '[') {
            first = last = strtoul(q + 1, &stop, 10);
            if (*stop == ':')
                last = strtoul(stop + 1, &stop, 10);
            if (*stop != ']' || last < first)
                return false;
            stop++;
        } else {
            first = last = strtoul(q, &stop, 10);
        }
        if (stop == end - 2 && stop[0] == '.' &&
            (stop[1] == 'l' || stop[1] == 'h')) {
            o->half16 = true;
            o->hi = stop[1] == 'h';
            stop += 2;
        }
        if (stop != end || last > 1023)
            return false;
        o->kind = files[f].kind;
        o->reg = (uint16_t)(files[f].base + first);
        o->width = (uint8_t)(last - first + 1);
        return true;
    }
    return false;
}

static bool parse_named(const char *p, const char *end, struct operand *o)
{
    for (size_t i = 0; i < sizeof(named_registers) / sizeof(*named_registers);
         i++)
        if (word_is(p, end, named_registers[i].name)) {
            o->kind = named_registers[i].kind;
            o->reg = named_registers[i].reg;
            o->width = named_registers[i].width;
            return true;
        }
    return false;
}

/* [v4, v9, v[12:13]]: an image's coordinates, wherever they are. */
static bool parse_address(const char *p, const char *end, struct insn *in,
                          struct operand *o)
{
    const char *last = end - 1;

    for (p++; p < last;
         p = skip_blanks(*word_end(p) == ',' ? word_end(p) + 1 : word_end(p))) {
        const char *stop = word_end(p);
        struct operand one = {0};

        if (stop > last)
            stop = last;
        if (!parse_numbered(p, stop, &one) || one.kind != OPERAND_VGPR ||
            in->naddress + one.width > (int)sizeof(in->address) ||
            one.reg + one.width > 256)
            return false;
        for (unsigned k = 0; k < one.width; k++)
            in->address[in->naddress++] = (uint8_t)(one.reg + k);
    }
    o->kind = OPERAND_VGPR;
    o->reg = in->address[0];
    o->width = 1;
    return in->naddress > 0;
}

/* ---- constants ---- */

static uint32_t bits32(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

static uint64_t bits64(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof(u));
    return u;
}

static uint64_t bits16(double d)
{
    half_t h = (half_t)d;
    uint16_t u;

    memcpy(&u, &h, sizeof(u));
    return u;
}

/* An inline constant with a point. 1/(2 pi) is given with so many digits that
 * every type rounds it right, but bf16, where the hardware cuts it off. */
static uint64_t float_constant(double d, enum lane_type type)
{
    switch (type) {
    case T_f64:
    case T_u64:
    case T_i64:
    case T_mask:
    case T_tuplef64:
        return bits64(d);
    case T_f16:
    case T_u16:
    case T_i16:
    case T_pkf16:
    case T_tuplef16:
        return bits16(d);
    case T_bf16:
    case T_pkbf16:
        return bits32((float)d) >> 16;
    case T_pkf32:
        return bits32((float)d) * UINT64_C(0x100000001);
    default:
        return bits32((float)d);
    }
}

/* Integers are inline constants (decimal) or 32-bit literals (hexadecimal). */
static uint64_t integer_constant(int64_t v, bool literal, enum lane_type type)
{
    bool small = v >= INT32_MIN && v <= (int64_t)UINT32_MAX;

    switch (type) {
    case T_f64:
    case T_tuplef64:
        return literal && small ? (uint64_t)v << 32 : (uint64_t)v;
    case T_i64:
        return literal && small ? (uint64_t)(int64_t)(int32_t)v : (uint64_t)v;
    case T_u64:
    case T_mask:
        return literal && small ? (uint32_t)v : (uint64_t)v;
    case T_pkf32:
        return (uint32_t)v * UINT64_C(0x100000001);
    default:
        return (uint32_t)v;
    }
}

/* Sets kind and value from a number; the row's type is known by now. */
static bool parse_number(const char *p, const char *end, struct operand *o)
{
    enum lane_type type = (enum lane_type)o->type;
    bool wide = starts_with(p, "lit64(");
    bool negative;
    char *stop;

    if (wide || starts_with(p, "lit(")) {
        p = strchr(p, '(') + 1;
        end--;
    }
    negative = *p == '-';
    if (!isdigit(p[negative]))
        return false;
    o->kind = OPERAND_CONST;
    if (starts_with(p + negative, "0x")) {
        uint64_t v = strtoull(p + negative, &stop, 16);

        o->value =
            integer_constant(negative ? -(int64_t)v : (int64_t)v, true, type);
        if (wide)
            o->value = v;
    } else if (memchr(p, '.', (size_t)(end - p))) {
        double d = strtod(p, &stop);

        /* LLVM prints 0.15915494 for the inline constant 1/(2 pi). */
        if (d > 0.159 && d < 0.1592)
            d = 0.15915494309189532;
        o->value = float_constant(d, type);
    } else {
        o->value = integer_constant(strtoll(p, &stop, 10), false, type);
    }
    return stop == end;
}

static bool parse_operand(const char *p, const char *end, struct operand *o)
{
    if (o->type == T_none) { /* the handler takes it from the encoding */
        o->kind = OPERAND_LABEL;
        return true;
    }
    if (*p == '-' && !isdigit(p[1])) {
        o->neg = true;
        p++;
    }
    if (starts_with(p, "neg(") && end[-1] == ')') {
        o->neg = true;
        p += 4;
        end--;
    }
    if (*p == '|' && end[-1] == '|') {
        o->abs = true;
        p++;
        end--;
    } else if (starts_with(p, "abs(") && end[-1] == ')') {
        o->abs = true;
        p += 4;
        end--;
    }
    if (starts_with(p, "sext(") && end[-1] == ')') {
        o->sext = true;
        p += 5;
        end--;
    }
    return parse_numbered(p, end, o) || parse_named(p, end, o) ||
           parse_number(p, end, o);
}

/* ---- modifiers ---- */

static const struct {
    const char *word;
    uint32_t flag;
} flag_words[] = {
    {"clamp", F_CLAMP},
    {"glc", F_GLC},
    {"slc", F_SLC},
    {"dlc", F_DLC},
    {"sc0", F_GLC},
    {"sc1", F_SC1},
    {"nt", F_SLC},
    {"scope:SCOPE_SE", F_SCOPE_SE},
    {"scope:SCOPE_DEV", F_SCOPE_DEV},
    {"scope:SCOPE_SYS", F_SCOPE_DEV | F_SCOPE_SYS},
    {"th:TH_ATOMIC_RETURN", F_GLC},
    {"th:TH_ATOMIC_NT_RETURN", F_GLC},
    {"th:TH_ATOMIC_RT_RETURN", F_GLC},
    {"th:TH_ATOMIC_CASCADE_RETURN", F_GLC},
    {"offen", F_OFFEN},
    {"idxen", F_IDXEN},
    {"lds", F_LDS},
    {"gds", F_GDS},
    {"tfe", F_TFE},
    {"addr64", F_ADDR64},
    {"swz", F_SWZ},
    {"scale_offset", F_SCALE_OFFSET},
    {"nv", F_NV},
    {"unorm", F_UNORM},
    {"da", F_ARRAY},
    {"a16", F_A16},
    {"d16", F_D16},
    {"lwe", F_LWE},
    {"r128", F_R128},
};

/* Words for cache policy and scheduling, which do not change results. */
static const char *const ignored_words[] = {"scc", "wait_va_vdst", "wait_vdst",
                                            "wait_exp", "early_clobber"};
static const char *const ignored_prefixes[] = {
    "scope:",     "th:",           "wait_exp:",
    "wait_vdst:", "wait_va_vdst:", "wait_vm_vsrc:"};

static const struct {
    const char *word;
    uint8_t kind;
} dpp_words[] = {{"row_shl:", DPP_ROW_SHL},
                 {"row_shr:", DPP_ROW_SHR},
                 {"row_ror:", DPP_ROW_ROR},
                 {"wave_shl:", DPP_WAVE_SHL},
                 {"wave_rol:", DPP_WAVE_ROL},
                 {"wave_shr:", DPP_WAVE_SHR},
                 {"wave_ror:", DPP_WAVE_ROR},
                 {"row_half_mirror", DPP_ROW_HALF_MIRROR},
                 {"row_mirror", DPP_ROW_MIRROR},
                 {"row_bcast:", DPP_ROW_BCAST},
                 {"row_newbcast:", DPP_ROW_NEWBCAST},
                 {"row_share:", DPP_ROW_SHARE},
                 {"row_xmask:", DPP_ROW_XMASK}};

static const char *const sel_words[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                        "BYTE_3", "WORD_0", "WORD_1"};
static const char *const unused_words[] = {"UNUSED_PAD", "UNUSED_SEXT",
                                           "UNUSED_PRESERVE"};

static int word_index(const char *p, const char *end, const char *const *words,
                      int n)
{
    for (int i = 0; i < n; i++)
        if (word_is(p, end, words[i]))
            return i;
    return -1;
}

/* [1,0,1]: bits from the lowest on; the count, or 0 if it is not a list. */
static unsigned parse_list(const char *p, const char *end, uint8_t *out,
                           unsigned max)
{
    unsigned n = 0;

    if (*p++ != '[')
        return 0;
    while (n < max && p < end) {
        char *stop;

        out[n++] = (uint8_t)strtoul(p, &stop, 10);
        if (*stop == ']')
            return stop + 1 == end ? n : 0;
        if (*stop != ',')
            return 0;
        p = stop + 1;
    }
    return 0;
}

static bool parse_bits(const char *p, const char *end, uint8_t *bits,
                       unsigned *count)
{
    uint8_t list[8];
    unsigned n = parse_list(p, end, list, 8);

    *bits = 0;
    for (unsigned i = 0; i < n; i++)
        *bits |= (uint8_t)((list[i] & 1) << i);
    if (count)
        *count = n;
    return n > 0;
}

static bool parse_dpp(const char *p, const char *end, struct insn *in)
{
    struct dpp *dpp = &in->dpp;

    if (starts_with(p, "quad_perm:")) {
        dpp->kind = DPP_QUAD_PERM;
        return parse_list(p + 10, end, dpp->perm, 4) == 4;
    }
    if (starts_with(p, "dpp8:")) {
        dpp->kind = DPP_8;
        return parse_list(p + 5, end, dpp->perm, 8) == 8;
    }
    if (starts_with(p, "row_mask:"))
        dpp->row_mask = (uint8_t)strtoul(p + 9, NULL, 0);
    else if (starts_with(p, "bank_mask:"))
        dpp->bank_mask = (uint8_t)strtoul(p + 10, NULL, 0);
    else if (starts_with(p, "bound_ctrl:"))
        dpp->bound_ctrl = true; /* old assemblers write 0 for "on" */
    else if (starts_with(p, "fi:"))
        dpp->fi = p[3] != '0';
    else {
        for (size_t i = 0; i < sizeof(dpp_words) / sizeof(dpp_words[0]); i++)
            if (starts_with(p, dpp_words[i].word)) {
                dpp->kind = dpp_words[i].kind;
                dpp->amount =
                    (uint8_t)strtoul(p + strlen(dpp_words[i].word), NULL, 0);
                return true;
            }
        return false;
    }
    return true;
}

static bool parse_sdwa(const char *p, const char *end, struct insn *in)
{
    unsigned k;
    int index;

    if (starts_with(p, "dst_unused:")) {
        index = word_index(p + 11, end, unused_words, 3);
        in->dst_unused = (uint8_t)index;
        return index >= 0;
    }
    if (starts_with(p, "dst_sel:")) {
        p += 8;
        k = 0;
    } else if (starts_with(p, "src0_sel:") || starts_with(p, "src1_sel:")) {
        /* The last two vector sources; which operands is settled later. */
        k = p[3] == '0' ? 1 : 2;
        p += 9;
    } else {
        return false;
    }
    in->flags |= F_SDWA;
    index = word_index(p, end, sel_words, 7);
    in->sdwa_sel[k] = (uint8_t)index;
    return index >= 0;
}

/* key:NUMBER modifiers and the field of struct insn each goes to. */
#define NUMBER_MODIFIERS(X)                                                    \
    X("offset0:", offset0)                                                     \
    X("offset1:", offset1)                                                     \
    X("cbsz:", cbsz)                                                           \
    X("abid:", abid)                                                           \
    X("blgp:", blgp)                                                           \
    X("byte_sel:", byte_sel)                                                   \
    X("bitop3:", bitop3)                                                       \
    X("index_key:", index_key)                                                 \
    X("dmask:", dmask)

static bool parse_modifier(const char *p, const char *end, struct insn *in)
{
    for (size_t i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++)
        if (word_is(p, end, flag_words[i].word)) {
            in->flags |= flag_words[i].flag;
            return true;
        }
    for (size_t i = 0; i < sizeof(ignored_words) / sizeof(*ignored_words); i++)
        if (word_is(p, end, ignored_words[i]))
            return true;
#define X(key, field)                                                          \
    if (starts_with(p, key)) {                                                 \
        in->field = (uint8_t)strtoul(p + strlen(key), NULL, 0);                \
        return true;                                                           \
    }
    NUMBER_MODIFIERS(X)
#undef X
    if (starts_with(p, "dim:"))
        return sim_parse_dim(p + 4, end, in);
    if (starts_with(p, "format:"))
        return sim_parse_buffer_format(p + 7, end, in);
    if (starts_with(p, "offset:")) {
        /* offset:swizzle(...) is taken from the encoding. */
        in->offset = isalpha(p[7]) ? (int32_t)(in->raw & 0xffff)
                                   : (int32_t)strtol(p + 7, NULL, 0);
        return true;
    }
    if (starts_with(p, "op_sel:"))
        return parse_bits(p + 7, end, &in->op_sel, &in->nop_sel);
    if (starts_with(p, "op_sel_hi:"))
        return parse_bits(p + 10, end, &in->op_sel_hi, NULL);
    if (starts_with(p, "neg_lo:"))
        return parse_bits(p + 7, end, &in->neg_lo, NULL);
    if (starts_with(p, "neg_hi:"))
        return parse_bits(p + 7, end, &in->neg_hi, NULL);
    if (starts_with(p, "neg:")) /* MFMA f64 */
        return parse_bits(p + 4, end, &in->neg_lo, NULL);
    if (word_is(p, end, "mul:2") || word_is(p, end, "mul:4")) {
        in->omod = p[4] == '2' ? 1 : 2;
        return true;
    }
    if (word_is(p, end, "div:2")) {
        in->omod = 3;
        return true;
    }
    if (parse_dpp(p, end, in) || parse_sdwa(p, end, in))
        return true;
    for (size_t i = 0; i < sizeof(ignored_prefixes) / sizeof(char *); i++)
        if (starts_with(p, ignored_prefixes[i]))
            return true;
    return false;
}

/* ---- the whole ---- */

const char *sim_parse_mnemonic(const char *text, char name[MAX_NAME])
{
    static const char *const suffixes[] = {"_e64_dpp", "_e32", "_e64",
                                           "_dpp8",    "_dpp", "_sdwa"};
    const char *p = skip_blanks(text);
    size_t n = 0;

    while (p[n] && !isspace((unsigned char)p[n]))
        n++;
    if (n >= MAX_NAME) {
        name[0] = '\0';
        return p + n;
    }
    memcpy(name, p, n);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t m = strlen(suffixes[i]);

        if (n > m && strcmp(name + n - m, suffixes[i]) == 0) {
            name[n - m] = '\0';
            break;
        }
    }
    return p + n;
}

static bool is_16bit(unsigned type)
{
    return type == T_u16 || type == T_i16 || type == T_f16 || type == T_bf16;
}

/* In conversions between f32 and f16 or f64 the field of those counts (LLVM
 * marks both FPDPRounding). Memory and matrix units know no MODE. */
static enum fp_rule fp_of(const struct insn_row *row)
{
    enum fp_rule fp = FP_NONE;

    if (row->class == CLASS_VMEM || row->class == CLASS_LDS ||
        row->class == CLASS_MATRIX || (row->flags & ROW_FP_FIXED))
        return FP_FIXED;
    if (strstr(row->name, "_class_")) /* never flushes denormals */
        return FP_NONE;
    for (int k = 0; k < MAX_OPERANDS; k++) {
        unsigned t = row->type[k];

        if (t == T_f16 || t == T_f64 || t == T_pkf16 || t == T_bf16)
            return FP_OF_64;
        if (t == T_f32 || t == T_pkf32)
            fp = FP_OF_32;
        else if (t == T_tuplef32 && fp == FP_NONE)
            fp = FP_FIXED;
    }
    return fp;
}

/* Fills in the fields that depend on several operands and modifiers. */
static void finish(struct insn *in, const struct sim_target *target)
{
    struct operand *dst = &in->op[0];
    bool modified = in->dpp.kind != DPP_NONE || (in->flags & F_SDWA);
    unsigned first = sim_first_source(in);
    unsigned nsrc = in->nops > first ? in->nops - first : 0;

    for (unsigned k = first; k < in->nops; k++) {
        struct operand *o = &in->op[k];
        unsigned src = k - first;

        if (o->kind == OPERAND_SGPR && o->reg == SREG_NULL) {
            o->kind = OPERAND_CONST;
            o->value = 0;
        }
        if (is_16bit(o->type) && src < 4 && (in->op_sel >> src & 1))
            o->hi = true;
        if ((in->flags & F_SDWA) && src < 2 && in->sdwa_sel[src + 1]) {
            o->sel = in->sdwa_sel[src + 1];
        }
        o->plain = (o->kind == OPERAND_VGPR || o->kind == OPERAND_AGPR) &&
                   !o->neg && !o->abs && !o->sext && !o->hi && !o->sel &&
                   !(src == 0 && in->dpp.kind != DPP_NONE);
    }
    if (in->nops && !(in->row->flags & ROW_NO_DST) && is_16bit(dst->type)) {
        if (in->nop_sel == nsrc + 1 && (in->op_sel >> nsrc & 1))
            dst->hi = true;
        /* gfx9 clears the other half, unless op_sel can select a half. */
        if (target->major >= 10 || dst->half16 || dst->hi ||
            (in->row->flags & ROW_KEEP_HIGH) ||
            (nsrc == 3 && !(in->row->flags & ROW_ZERO_HIGH)))
            in->flags |= F_KEEP_HIGH;
    }
    in->plain_dst = (dst->kind == OPERAND_VGPR || dst->kind == OPERAND_AGPR) &&
                    !modified && !in->omod && !(in->flags & F_CLAMP) &&
                    !is_16bit(dst->type);
    if (first > 0) /* else the first operand is a source */
        dst->plain = (dst->kind == OPERAND_VGPR || dst->kind == OPERAND_AGPR) &&
                     !dst->hi;
    for (unsigned k = 0; k < in->nops; k++) {
        const struct operand *o = &in->op[k];
        unsigned end = o->reg + (o->width ? o->width : 1u);

        if (o->kind == OPERAND_VGPR && end > in->nvgprs)
            in->nvgprs = (uint16_t)end;
        if (o->kind == OPERAND_AGPR && end > in->nagprs)
            in->nagprs = (uint16_t)end;
    }
    for (unsigned k = 0; k < in->naddress; k++)
        if (in->address[k] >= in->nvgprs)
            in->nvgprs = (uint16_t)(in->address[k] + 1);
    in->fp = (uint8_t)fp_of(in->row);
    in->class = in->row->class;
    in->run = in->row->run;
}

static bool parse_rest(const char *p, struct insn *in, char why[128])
{
    bool operands = !(in->row->flags & ROW_BARE);

    while (*(p = skip_blanks(p))) {
        const char *end = word_end(p);
        bool ok;

        if (operands && in->nops < MAX_OPERANDS) {
            struct operand *o = &in->op[in->nops];

            o->type = in->row->type[in->nops];
            ok = *p == '[' ? parse_address(p, end, in, o)
                           : parse_operand(p, end, o);
            in->nops++;
        } else {
            ok = parse_modifier(p, end, in);
        }
        if (!ok) {
            snprintf(why, 128, "does not understand '%.*s'", (int)(end - p), p);
            return false;
        }
        p = skip_blanks(end);
        operands = *p == ',';
        if (operands)
            p++;
    }
    return true;
}

/* v_cmpx names a mask to write on gfx9 and none later: two rows. */
static const struct insn_row *find_row(const char *name,
                                       const struct sim_target *target)
{
    char gfx9_name[MAX_NAME + 8];

    if (target->major > 9 || !starts_with(name, "v_cmpx_"))
        return sim_row_find(name);
    snprintf(gfx9_name, sizeof(gfx9_name), "gfx9_%s", name);
    return sim_row_find(gfx9_name);
}

static bool parse_one(const char *text, const struct sim_target *target,
                      struct insn *in, char why[128])
{
    char name[MAX_NAME];
    const char *p = sim_parse_mnemonic(text, name);

    in->row = find_row(name, target);
    if (!in->row) {
        snprintf(why, 128, "has no such instruction");
        return false;
    }
    in->op_sel_hi = in->row->flags & ROW_OP_SEL_HI_0 ? 0 : 0xff;
    in->dpp.row_mask = in->dpp.bank_mask = 0xf;
    if (!(in->row->flags & ROW_RAW) && !parse_rest(p, in, why))
        return false;
    finish(in, target);
    in->cost = sim_cost_of(name, in, target);
    in->waits = sim_waits_of(name, in, target);
    in->reach = sim_reach_of(name, in->flags, target);
    return true;
}

/* ---- two in one: "v_dual_X ... :: v_dual_Y ..." ---- */

static const char pair_mark[] = " :: ";

/* Both halves of a dual instruction read their sources before either writes. If
 * the second reads a register that the first writes, the register's old value
 * is restored for it. */
static void run_pair(struct wave *w, const struct insn *in)
{
    vreg *dst = tuple_reg(w, &in->op[0], 0);
    vreg old, result;

    if (!in->pair_overlaps) {
        in->row->run(w, in);
        in->pair->run(w, in->pair);
        return;
    }
    memcpy(old, *dst, sizeof(old));
    in->row->run(w, in);
    memcpy(result, *dst, sizeof(result));
    memcpy(*dst, old, sizeof(old));
    in->pair->run(w, in->pair);
    memcpy(*dst, result, sizeof(result));
}

static bool parse_pair(const char *text, const struct sim_target *target,
                       struct insn *in, char why[128])
{
    const char *mark = strstr(text, pair_mark);
    struct insn *second = aligned_alloc(_Alignof(struct insn), sizeof(*second));
    char first[256];

    snprintf(first, sizeof(first), "%.*s", (int)(mark - text), text);
    if (!second) {
        snprintf(why, 128, "has no memory");
        return false;
    }
    memset(second, 0, sizeof(*second));
    if (!parse_one(first, target, in, why) ||
        !parse_one(mark + sizeof(pair_mark) - 1, target, second, why)) {
        free(second);
        return false;
    }
    for (unsigned k = 0; k < second->nops; k++)
        if (second->op[k].kind == OPERAND_VGPR &&
            second->op[k].reg == in->op[0].reg)
            in->pair_overlaps = true;
    if (second->nvgprs > in->nvgprs)
        in->nvgprs = second->nvgprs;
    in->pair = second;
    in->run = run_pair;
    return true;
}

bool sim_parse(const char *text, const struct sim_target *target,
               struct insn *in, char why[128])
{
    if (strstr(text, pair_mark))
        return parse_pair(text, target, in, why);
    return parse_one(text, target, in, why);
}
