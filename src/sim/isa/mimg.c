/* mimg.c - loads, stores and atomics of single texels; sizes
 *
 * Operands: vdata, coordinates, the image's descriptor; image_get_resinfo takes
 * a level for coordinates. Reads outside an image give 0, writes outside are
 * dropped. Coordinates are unsigned integers.
 */
#include "image_op.h"
#include "work_count.h"

#include "fault_report.h"
#include "fp.h"

/* Finds a lane's texel; false if its coordinates are outside the image. */
static bool find_texel(const struct image_op *op, unsigned lane,
                       unsigned *level, uint32_t at[3])
{
    const struct sim_image *i = &op->image;
    const bool is_1d = sim_image_is_1d(i->type);
    uint32_t layer = 0, l = 0;

    if (op->what & IMAGE_LEVEL)
        l = sim_image_body(op, op->ncoords, lane);
    if (l > i->last_level - i->first_level)
        return false;
    *level = i->first_level + l;
    at[0] = sim_image_body(op, 0, lane);
    at[1] = is_1d ? 0 : sim_image_body(op, 1, lane);
    at[2] = 0;
    if (i->type == SIM_IMAGE_3D) {
        at[2] = sim_image_body(op, 2, lane);
    } else if (sim_image_is_array(i->type)) {
        layer = sim_image_body(op, is_1d ? 1 : 2, lane);
        at[2] = i->first_layer + layer;
    }
    return at[0] < op->layout.level[*level].width &&
           at[1] < op->layout.level[*level].height &&
           (i->type == SIM_IMAGE_3D ? at[2] < op->layout.level[*level].depth
                                    : layer < i->depth - i->first_layer);
}

/* ---- loads ---- */

static void load(struct wave *w, const struct insn *in, unsigned what)
{
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], NULL, what, &op))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint32_t channel[4], component[4] = {0}, at[3];
        unsigned level;

        if (find_texel(&op, (unsigned)lane, &level, at)) {
            if (!sim_image_fetch(&op, level, at[0], at[1], at[2], lane,
                                 channel))
                return;
            sim_texel_select(op.image.select, op.number, channel, component);
        }
        sim_image_result(&op, (unsigned)lane, component);
    }
    sim_image_count_loads(&op);
}

static void run_image_load(struct wave *w, const struct insn *in)
{
    load(w, in, 0);
}

static void run_image_load_mip(struct wave *w, const struct insn *in)
{
    load(w, in, IMAGE_LEVEL);
}

/* ---- stores ---- */

/* The four components of a store. Components that DMASK leaves out are 0, or
 * on gfx12 equal to the first component. */
static void stored_components(const struct image_op *op, unsigned lane,
                              uint32_t component[4])
{
    const struct insn *in = op->in;
    unsigned n = 0;

    for (unsigned c = 0; c < 4; c++) {
        uint32_t v;

        component[c] = 0;
        if (!(in->dmask >> c & 1))
            continue;
        v = (*tuple_reg(op->w, &in->op[0],
                        in->flags & F_D16 ? n / 2 : n))[lane];
        if (in->flags & F_D16)
            v = sim_texel_widen(op->number, (uint16_t)(v >> 16 * (n % 2)));
        component[c] = v;
        n++;
    }
    for (unsigned c = 1; c < 4 && op->w->target->major >= 12; c++)
        if (!(in->dmask >> c & 1))
            component[c] = component[0];
}

static void store(struct wave *w, const struct insn *in, unsigned what)
{
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], NULL, what, &op))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint32_t channel[4], component[4], at[3];
        uint8_t bytes[SIM_TEXEL_MOST_NBYTES];
        unsigned level;
        uint64_t address;

        if (!find_texel(&op, (unsigned)lane, &level, at))
            continue;
        stored_components(&op, (unsigned)lane, component);
        sim_texel_unselect(op.image.select, component, channel);
        memset(bytes, 0, sizeof(bytes));
        sim_texel_pack(op.format, op.number, channel, bytes);
        address = sim_image_texel_at(&op, level, at[0], at[1], at[2]);
        if (!sim_vmem_put(w, address, bytes, op.format->nbytes, lane))
            return;
        op.texel[op.ntexels++] = address;
    }
    sim_vmem_count(w, op.texel, op.ntexels, op.format->nbytes, WORK_STORES);
}

static void run_image_store(struct wave *w, const struct insn *in)
{
    store(w, in, 0);
}

static void run_image_store_mip(struct wave *w, const struct insn *in)
{
    store(w, in, IMAGE_LEVEL);
}

/* ---- atomics ---- */

/* Texels are one channel of 32 or 64 bits; DMASK must say so. */
static bool check_atomic(struct wave *w, const struct image_op *op,
                         unsigned nbytes, bool compares)
{
    const unsigned nregs = nbytes / 4 * (compares ? 2 : 1);

    if (op->format->nbytes != nbytes ||
        (nbytes == 4 && op->format->nchannels != 1)) {
        sim_fault_raise(w, SIM_FAULT_DESCRIPTOR, -1, op->image.base,
                        "an atomic of %u bytes on texels of %u bytes and %u "
                        "channels",
                        nbytes, op->format->nbytes, op->format->nchannels);
        return false;
    }
    if (op->in->dmask != (1u << nregs) - 1) {
        sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                        "the simulator does not have image atomics of %u "
                        "dwords with dmask 0x%x",
                        nregs, op->in->dmask);
        return false;
    }
    return true;
}

/* With 64-bit data DMASK has two or four bits, so the texels' format decides.
 */
static void atomic(struct wave *w, const struct insn *in, bool compares,
                   atomic_fn *fn32, atomic_fn *fn64)
{
    const bool wide = in->dmask == (compares ? 15 : 3);
    const unsigned nbytes = wide && fn64 ? 8 : 4;
    struct places p = {.space = SPACE_GLOBAL};
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], NULL, 0, &op) ||
        !check_atomic(w, &op, nbytes, compares))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        unsigned level;
        uint32_t at[3];

        if (!find_texel(&op, (unsigned)lane, &level, at))
            continue;
        p.lanes |= UINT64_C(1) << lane;
        p.at[lane] = sim_image_texel_at(&op, level, at[0], at[1], at[2]);
    }
    sim_vmem_atomic(w, &p, in->flags & F_GLC ? &in->op[0] : NULL, &in->op[0],
                    nbytes, compares, nbytes == 8 ? fn64 : fn32);
}

/* clang-format off */
/* X(name up to gfx11, name from gfx12 on, compares, of 32 bits, of 64 bits) */
#define IMAGE_ATOMICS(X)                                                       \
    X(atomic_swap,    atomic_swap,     false, sim_atomic_swap32,    sim_atomic_swap64)    \
    X(atomic_cmpswap, atomic_cmpswap,  true,  sim_atomic_cmpswap32, sim_atomic_cmpswap64) \
    X(atomic_add,     atomic_add_uint, false, sim_atomic_add32,     sim_atomic_add64)     \
    X(atomic_sub,     atomic_sub_uint, false, sim_atomic_sub32,     sim_atomic_sub64)     \
    X(atomic_smin,    atomic_min_int,  false, sim_atomic_smin32,    sim_atomic_smin64)    \
    X(atomic_umin,    atomic_min_uint, false, sim_atomic_umin32,    sim_atomic_umin64)    \
    X(atomic_smax,    atomic_max_int,  false, sim_atomic_smax32,    sim_atomic_smax64)    \
    X(atomic_umax,    atomic_max_uint, false, sim_atomic_umax32,    sim_atomic_umax64)    \
    X(atomic_and,     atomic_and,      false, sim_atomic_and64,     sim_atomic_and64)     \
    X(atomic_or,      atomic_or,       false, sim_atomic_or64,      sim_atomic_or64)      \
    X(atomic_xor,     atomic_xor,      false, sim_atomic_xor64,     sim_atomic_xor64)     \
    X(atomic_inc,     atomic_inc_uint, false, sim_atomic_inc32,     sim_atomic_inc64)     \
    X(atomic_dec,     atomic_dec_uint, false, sim_atomic_dec32,     sim_atomic_dec64)     \
    X(atomic_fcmpswap, atomic_fcmpswap, true, sim_atomic_fcmpswap32, sim_atomic_fcmpswap64) \
    X(atomic_fmin,    atomic_min_flt,  false, sim_atomic_fmin32,    sim_atomic_fmin64)    \
    X(atomic_fmax,    atomic_max_flt,  false, sim_atomic_fmax32,    sim_atomic_fmax64)    \
    X(atomic_add_flt, atomic_add_flt,  false, sim_atomic_fadd32,    NULL)                 \
    X(atomic_pk_add_f16, atomic_pk_add_f16, false, sim_atomic_pk_add_f16, NULL)           \
    X(atomic_pk_add_bf16, atomic_pk_add_bf16, false, sim_atomic_pk_add_bf16, NULL)
/* clang-format on */

#define ATOMIC_RUN(name, new, compares, fn32, fn64)                            \
    static void run_image_##name(struct wave *w, const struct insn *in)        \
    {                                                                          \
        atomic(w, in, compares, fn32, fn64);                                   \
    }
IMAGE_ATOMICS(ATOMIC_RUN)

/* ---- sizes ---- */

/* Width, height, depth or layers, and how many levels there are. */
static void run_image_get_resinfo(struct wave *w, const struct insn *in)
{
    struct image_op op;

    if (!sim_image_open(w, in, &in->op[2], NULL, IMAGE_NO_PLACE | IMAGE_LEVEL,
                        &op))
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(m);
        const struct sim_image *i = &op.image;
        const uint32_t shown = i->last_level - i->first_level;
        uint32_t level = sim_image_body(&op, 0, lane), size[4] = {0};

        if (level <= shown) {
            const struct sim_image_level *l =
                &op.layout.level[i->first_level + level];

            size[0] = l->width;
            size[1] = l->height;
            size[2] =
                i->type == SIM_IMAGE_3D ? l->depth : i->depth - i->first_layer;
        }
        size[3] = shown + 1;
        op.number = SIM_NUMBER_UINT; /* for D16 */
        sim_image_result(&op, lane, size);
    }
}

/* ---- the tables ---- */

#define IMAGE_TYPES                                                            \
    {                                                                          \
        T_tuple, T_tuple, T_tuple                                              \
    }
#define ATOMIC_ROW(name, ...)                                                  \
    {"image_" #name, run_image_##name, CLASS_VMEM, IMAGE_TYPES, 0},
#define ATOMIC_ALIAS(name, new, ...) {"image_" #new, "image_" #name},

static const struct insn_row rows[] = {
    {"image_load", run_image_load, CLASS_VMEM, IMAGE_TYPES, 0},
    {"image_load_mip", run_image_load_mip, CLASS_VMEM, IMAGE_TYPES, 0},
    {"image_store", run_image_store, CLASS_VMEM, IMAGE_TYPES, ROW_NO_DST},
    {"image_store_mip", run_image_store_mip, CLASS_VMEM, IMAGE_TYPES,
     ROW_NO_DST},
    {"image_get_resinfo", run_image_get_resinfo, CLASS_VMEM, IMAGE_TYPES, 0},
    IMAGE_ATOMICS(ATOMIC_ROW)};
static const struct insn_alias aliases[] = {IMAGE_ATOMICS(ATOMIC_ALIAS)};

ROW_SET(mimg, rows, aliases);
