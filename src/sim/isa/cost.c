/* cost.c - cycles of an instruction in the pipe that executes it
 *
 * A SIMD of gfx9 has 16 lanes, so a vector instruction of a wave takes 4
 * cycles; one of RDNA has 32 and takes 1 for each 32 lanes. The table lists
 * slower instructions with multiples of these cycles.
 *
 * Sources: f64 and packed f32 from the peaks of AMD's data sheets (MI100,
 * MI250X, MI300X, MI355X, RX 6900 XT, RX 7900 XTX); products of 32-bit
 * integers, transcendentals and 64-bit integers from LLVM's scheduling models
 * (SISchedule.td); transcendentals of CDNA 4 from its white paper. LLVM takes
 * conversions of f32 as a quarter of the rate on gfx9; other sources do not, so
 * they count as full.
 */
#include "cost.h"

#include "../base/pipe_work.h"
#include "../base/processor.h"
#include "insn.h"
#include "matrix_cycles.h"

#include <string.h>

enum arch { GCN, CDNA1, CDNA2, CDNA3, CDNA4, RDNA2, RDNA3, RDNA4, NARCHS };

static enum arch arch_of(const struct sim_target *t)
{
    switch (t->major) {
    case 9:
        if (t->minor >= 5)
            return CDNA4;
        if (t->minor >= 4)
            return CDNA3;
        return t->unified_vgprs ? CDNA2 : t->accum_vgprs ? CDNA1 : GCN;
    case 10:
        return RDNA2;
    case 11:
        return RDNA3;
    default:
        return RDNA4;
    }
}

/* ---- vector ALU ---- */

/*
 * The first row that fits counts: a mnemonic that begins and ends so. Rates
 * are multiples of a full-rate instruction's time; of an f64 instruction on
 * RDNA no more is known than of FMA.
 */
static const struct {
    const char *begin, *end;
    uint8_t rate;
    uint8_t times[NARCHS];
} rates[] = {
    /* clang-format off */
    /* begin             end     rate              GCN CDNA1 2  3  4 RDNA2 3  4 */
    {"v_dual_",          "",     SIM_RATE_DUAL,    {1,  1,  1, 1, 1,  1,  1,  1}},
    {"v_cmp",            "64",   SIM_RATE_HALF,    {2,  2,  1, 1, 1,  2,  2,  2}},
    {"v_rcp_",           "_f64", SIM_RATE_F64,     {4,  4,  4, 4, 4, 16, 16, 16}},
    {"v_rsq_",           "_f64", SIM_RATE_F64,     {4,  4,  4, 4, 4, 16, 16, 16}},
    {"v_sqrt_",          "_f64", SIM_RATE_F64,     {4,  4,  4, 4, 4, 16, 16, 16}},
    {"v_cvt_f64_",       "",     SIM_RATE_F64,     {2,  2,  1, 1, 1, 16, 16, 16}},
    {"v_",               "_f64", SIM_RATE_F64,     {2,  2,  1, 1, 1, 16, 16, 16}},
    {"v_rcp_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_rsq_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_sqrt_",          "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_exp_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_log_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_sin_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_cos_",           "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_s_",             "",     SIM_RATE_TRANS,   {4,  4,  4, 4, 2,  4,  4,  4}},
    {"v_mul_lo_u32",     "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mul_lo_i32",     "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mul_hi_u32",     "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mul_hi_i32",     "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mad_u64_u32",    "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mad_i64_i32",    "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mad_co_u64_u32", "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_mad_co_i64_i32", "",     SIM_RATE_QUARTER, {4,  4,  1, 1, 1,  4,  4,  4}},
    {"v_lsh",            "64",   SIM_RATE_HALF,    {2,  2,  1, 1, 1,  2,  2,  2}},
    {"v_ashr",           "64",   SIM_RATE_HALF,    {2,  2,  1, 1, 1,  2,  2,  2}},
    {"v_pk_",            "",     SIM_RATE_PACKED,  {1,  1,  1, 1, 1,  1,  1,  1}},
    {"",                 "",     SIM_RATE_FULL,    {1,  1,  1, 1, 1,  1,  1,  1}},
    /* clang-format on */
};

/* gfx11 on executes these for 64 lanes at once (RDNA 3 white paper: 64-wide
 * floating point); they are those that dual issue takes. */
static const char *const one_pass_names[] = {
    "v_fma_f32",          "v_fmac_f32",        "v_fmaak_f32",
    "v_fmamk_f32",        "v_mul_f32",         "v_add_f32",
    "v_sub_f32",          "v_subrev_f32",      "v_mov_b32",
    "v_max_f32",          "v_min_f32",         "v_max_num_f32",
    "v_and_b32",          "v_min_num_f32",     "v_add_nc_u32",
    "v_lshlrev_b32",      "v_cndmask_b32",     "v_dot2acc_f32_f16",
    "v_dot2acc_f32_bf16", "v_mul_dx9_zero_f32"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), m = strlen(with);

    return n >= m && strcmp(name + n - m, with) == 0;
}

static void cost_valu(struct cost *c, const char *name, enum arch arch)
{
    unsigned once = arch >= RDNA2 ? 1 : 4, r = 0, times;

    while (!begins(name, rates[r].begin) || !ends(name, rates[r].end))
        r++;
    times = rates[r].times[arch];
    c->rate = rates[r].rate;
    /* RDNA's transcendental unit works beside the SIMD, which only issues. */
    if (c->rate == SIM_RATE_TRANS && arch >= RDNA2) {
        c->trans = (uint8_t)times;
        times = 1;
    }
    c->valu = (uint8_t)(once * times);
    /* Instructions that this processor runs at full rate count as full rate. */
    if (times == 1 && (c->rate == SIM_RATE_HALF || c->rate == SIM_RATE_QUARTER))
        c->rate = SIM_RATE_FULL;
    for (size_t i = 0; arch >= RDNA3 && i < COUNT(one_pass_names); i++)
        c->one_pass |= strcmp(name, one_pass_names[i]) == 0;
}

/* ---- matrix ---- */

static const struct {
    uint8_t arch, cycles;
    bool beside;
    const char *name;
} matrix[] = {
#define X(arch, name, cycles, beside) {arch, cycles, beside, #name},
    MATRIX_CYCLES(X)
#undef X
};

static void cost_matrix(struct cost *c, const char *name, const struct insn *in,
                        enum arch arch)
{
    enum { FORMATS_OF_8_BITS = 2 }; /* 0 and 1: fp8, bf8 */

    for (size_t i = 0; i < COUNT(matrix); i++) {
        if (matrix[i].arch != arch || strcmp(matrix[i].name, name) != 0)
            continue;
        c->matrix = matrix[i].cycles;
        c->matrix_blocks_valu = !matrix[i].beside;
        if (strstr(name, "f8f6f4") &&
            (in->cbsz < FORMATS_OF_8_BITS || in->blgp < FORMATS_OF_8_BITS))
            c->matrix = (uint8_t)(2 * c->matrix);
    }
}

/* ---- the rest ---- */

static enum lds_kind lds_of(const char *name)
{
    if (strstr(name, "permute") || begins(name, "ds_swizzle"))
        return LDS_LANES;
    if (begins(name, "ds_read") || begins(name, "ds_load") ||
        begins(name, "flat_load"))
        return LDS_READS;
    if ((begins(name, "ds_write") || begins(name, "ds_store") ||
         begins(name, "flat_store")) &&
        !strstr(name, "xchg"))
        return LDS_WRITES;
    return LDS_ATOMIC;
}

struct cost sim_cost_of(const char *name, const struct insn *in,
                        const struct sim_target *target)
{
    struct cost c = {0};
    enum arch arch = arch_of(target);

    switch (in->class) {
    case CLASS_VALU:
        cost_valu(&c, name, arch);
        break;
    case CLASS_MATRIX:
        cost_matrix(&c, name, in, arch);
        break;
    case CLASS_LDS:
        c.lds = (uint8_t)lds_of(name);
        break;
    case CLASS_VMEM:
        if (begins(name, "flat_")) /* may lead to LDS */
            c.lds = (uint8_t)lds_of(name);
        break;
    default:
        break;
    }
    return c;
}
