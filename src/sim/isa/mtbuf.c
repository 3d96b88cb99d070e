/* mtbuf.c - buffers of texels: buffer_load_format_x, tbuffer_load_format_x...
 *
 * A record is a texel. buffer instructions take its format from the descriptor,
 * tbuffer instructions name it themselves. The descriptor also gives the
 * channel of each component. Texels out of range read 0 in all components.
 */
#include "fault_report.h"
#include "fp.h"
#include "mubuf.h"
#include "texel_convert.h"
#include "vmem.h"
#include "work_count.h"

/* The data registers' side of an instruction. */
struct typed {
    uint8_t ncomponents;
    uint8_t d16; /* 0: 32 bits each; 1: packed by twos; 2: in the high half */
};

struct texels {
    const struct sim_texel_format *format;
    enum sim_number_format number;
    uint8_t select[4];
};

static bool find_format(const struct wave *w, const struct insn *in,
                        const uint32_t *d, struct texels *t)
{
    const uint32_t field = d[3] >> 12;
    enum sim_data_format data = (enum sim_data_format)in->data_format;

    for (unsigned c = 0; c < 4; c++)
        t->select[c] = (uint8_t)(d[3] >> 3 * c & 7);
    t->number = (enum sim_number_format)in->number_format;
    if (strncmp(in->row->name, "tbuffer", 7) == 0) {
        /* LLVM does not write the default: 8 bits, UNORM. */
        t->format = sim_format_of(data ? data : SIM_DATA_8, t->number);
        return t->format != NULL;
    }
    if (w->target->major == 9) {
        data = (enum sim_data_format)(field >> 3 & 15);
        t->number = (enum sim_number_format)(field & 7);
    } else if (!sim_format_decode(field & (w->target->major == 10 ? 127 : 63),
                                  w->target, &data, &t->number)) {
        return false;
    }
    t->format = sim_format_of(data, t->number);
    return t->format != NULL;
}

/* False, with a fault, if there is no such format or modifier. */
static bool open_texels(struct wave *w, const struct insn *in,
                        const struct operand *descriptor, struct texels *t)
{
    const uint32_t *d = &w->s[descriptor->reg];

    if (in->flags & (F_TFE | F_LDS)) {
        sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                        "the simulator does not have the modifier %s with "
                        "formats",
                        in->flags & F_TFE ? "tfe" : "lds");
        return false;
    }
    if (!find_format(w, in, d, t)) {
        sim_fault_raise(w, SIM_FAULT_DESCRIPTOR, -1, 0,
                        "the buffer descriptor in s[%u:%u] has a format "
                        "(0x%08x) that the simulator does not have",
                        descriptor->reg, descriptor->reg + 3u, d[3]);
        return false;
    }
    return true;
}

/* ---- registers ---- */

static void put(struct wave *w, const struct operand *dst, struct typed form,
                enum sim_number_format number, unsigned lane,
                const uint32_t component[4])
{
    for (unsigned c = 0; c < form.ncomponents; c++) {
        unsigned high = form.d16 == 2 || (form.d16 && c % 2);
        uint32_t *reg = &(*tuple_reg(w, dst, form.d16 ? c / 2 : c))[lane];
        uint32_t half;

        if (!form.d16) {
            *reg = component[c];
            continue;
        }
        half = sim_texel_narrow(number, component[c]);
        *reg = high ? (*reg & 0xffff) | half << 16 : (*reg & 0xffff0000) | half;
    }
}

static void get(struct wave *w, const struct operand *src, struct typed form,
                enum sim_number_format number, unsigned lane,
                uint32_t component[4])
{
    for (unsigned c = 0; c < 4; c++) {
        unsigned high = form.d16 == 2 || (form.d16 && c % 2);

        if (c >= form.ncomponents) /* gfx12 repeats the first */
            component[c] = w->target->major >= 12 ? component[0] : 0;
        else if (!form.d16)
            component[c] = (*tuple_reg(w, src, c))[lane];
        else
            component[c] = sim_texel_widen(
                number,
                (uint16_t)((*tuple_reg(w, src, c / 2))[lane] >> 16 * high));
    }
}

/* ---- the instructions ---- */

/* Operands: vdata, vaddr, srsrc, soffset. */
static void load(struct wave *w, const struct insn *in, struct typed form)
{
    uint64_t touched[MAX_LANES];
    struct places p;
    struct texels t;
    unsigned n = 0;

    if (!open_texels(w, in, &in->op[2], &t) ||
        !sim_buffer_locate(w, in, &in->op[1], t.format->nbytes, &p))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint32_t channel[4], component[4] = {0};

        if (p.lanes >> lane & 1) {
            const uint8_t *bytes =
                sim_global(w, p.at[lane], t.format->nbytes, ACCESS_READ, lane);

            if (!bytes)
                return;
            touched[n++] = p.at[lane];
            sim_texel_unpack(t.format, t.number, bytes, channel);
            sim_texel_select(t.select, t.number, channel, component);
        }
        put(w, &in->op[0], form, t.number, (unsigned)lane, component);
    }
    sim_vmem_count(w, touched, n, t.format->nbytes, WORK_LOADS);
}

static void store(struct wave *w, const struct insn *in, struct typed form)
{
    uint64_t touched[MAX_LANES];
    struct places p;
    struct texels t;
    unsigned n = 0;

    if (!open_texels(w, in, &in->op[2], &t) ||
        !sim_buffer_locate(w, in, &in->op[1], t.format->nbytes, &p))
        return;
    for (uint64_t m = p.lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint8_t bytes[SIM_TEXEL_MOST_NBYTES] = {0};
        uint32_t channel[4], component[4];

        get(w, &in->op[0], form, t.number, (unsigned)lane, component);
        sim_texel_unselect(t.select, component, channel);
        sim_texel_pack(t.format, t.number, channel, bytes);
        if (!sim_vmem_put(w, p.at[lane], bytes, t.format->nbytes, lane))
            return;
        touched[n++] = p.at[lane];
    }
    sim_vmem_count(w, touched, n, t.format->nbytes, WORK_STORES);
}

/* clang-format off */
/* X(prefix, what, old end of the name, from gfx11 on, components, d16) */
#define TYPED(X, p, what)                                        \
    X(p, what, format_x,          format_x,          1, 0)       \
    X(p, what, format_xy,         format_xy,         2, 0)       \
    X(p, what, format_xyz,        format_xyz,        3, 0)       \
    X(p, what, format_xyzw,       format_xyzw,       4, 0)       \
    X(p, what, format_d16_x,      d16_format_x,      1, 1)       \
    X(p, what, format_d16_xy,     d16_format_xy,     2, 1)       \
    X(p, what, format_d16_xyz,    d16_format_xyz,    3, 1)       \
    X(p, what, format_d16_xyzw,   d16_format_xyzw,   4, 1)
#define TYPED_HIGH(X, p, what)                                   \
    X(p, what, format_d16_hi_x,   d16_hi_format_x,   1, 2)
#define ALL_TYPED(X)                                             \
    TYPED(X, buffer, load)   TYPED_HIGH(X, buffer, load)         \
    TYPED(X, buffer, store)  TYPED_HIGH(X, buffer, store)        \
    TYPED(X, tbuffer, load)  TYPED(X, tbuffer, store)
/* clang-format on */

#define TYPED_RUN(p, what, old, new, ncomponents, d16)                         \
    static void run_##p##_##what##_##old(struct wave *w,                       \
                                         const struct insn *in)                \
    {                                                                          \
        what(w, in, (struct typed){ncomponents, d16});                         \
    }
ALL_TYPED(TYPED_RUN)

#define FLAGS_load 0
#define FLAGS_store ROW_NO_DST
#define TYPED_ROW(p, what, old, new, ncomponents, d16)                         \
    {#p "_" #what "_" #old,                                                    \
     run_##p##_##what##_##old,                                                 \
     CLASS_VMEM,                                                               \
     {T_tuple, T_tuple, T_tuple, T_u32},                                       \
     FLAGS_##what},
#define TYPED_ALIAS(p, what, old, new, ncomponents, d16)                       \
    {#p "_" #what "_" #new, #p "_" #what "_" #old},

static const struct insn_row rows[] = {ALL_TYPED(TYPED_ROW)};
static const struct insn_alias aliases[] = {ALL_TYPED(TYPED_ALIAS)};

ROW_SET(mtbuf, rows, aliases);
