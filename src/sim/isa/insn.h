/* insn.h - the internal form of one decoded instruction
 *
 * The decoder (decode.c) takes LLVM's text of an instruction apart once and
 * leaves this. Operands stand in the order of the text: op[0] is the
 * destination if there is one, then an optional second (scalar) destination,
 * then the sources. A row (one per mnemonic, see insn_rows.h) says what each
 * is.
 */
#ifndef SIM_ISA_INSN_H
#define SIM_ISA_INSN_H

#include "lane_types.h"
#include "waits.h"

#include <stdbool.h>
#include <stdint.h>

struct wave;
struct insn;

enum {
    MAX_OPERANDS = 8,
    MAX_NAME = 48 /* longest mnemonic, with its end */
};

/* Where scalar registers stand in struct wave's array `s`. */
enum sreg {
    SREG_VCC = 106,
    SREG_TTMP = 108, /* sixteen of them */
    SREG_M0 = 124,
    SREG_NULL = 125, /* writes vanish; a source that names it is decoded as the
                        constant 0 */
    SREG_EXEC = 126,
    SREG_FLAT_SCRATCH = 128,
    SREG_XNACK_MASK = 130,
    NUM_SREGS = 132
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_VGPR,
    OPERAND_AGPR,
    OPERAND_SGPR,    /* reg: index into wave.s, specials included */
    OPERAND_CONST,   /* value: bits as the row's type wants them */
    OPERAND_SPECIAL, /* reg: enum special, computed when read */
    OPERAND_OFF,     /* "off" of memory instructions */
    OPERAND_LABEL    /* value: a number that is no data, e.g. hwreg(), 16-bit
                        branch distance, count of s_nop */
};

enum special {
    SPECIAL_SCC,
    SPECIAL_VCCZ,
    SPECIAL_EXECZ,
    SPECIAL_SHARED_BASE,
    SPECIAL_SHARED_LIMIT,
    SPECIAL_PRIVATE_BASE,
    SPECIAL_PRIVATE_LIMIT,
    SPECIAL_FLAT_SCRATCH_LO, /* gfx1250's src_flat_scratch_base */
    SPECIAL_FLAT_SCRATCH_HI,
    SPECIAL_LDS_DIRECT,
    SPECIAL_POPS
};

/* SDWA selections, of sources and of the destination. */
enum sdwa_sel {
    SEL_DWORD,
    SEL_BYTE0,
    SEL_BYTE1,
    SEL_BYTE2,
    SEL_BYTE3,
    SEL_WORD0,
    SEL_WORD1
};
enum sdwa_unused { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

struct operand {
    uint8_t kind;  /* enum operand_kind */
    uint8_t type;  /* enum lane_type, from the row */
    uint8_t width; /* number of registers in the text: 2 for v[4:5] */
    uint8_t sel;   /* enum sdwa_sel */
    uint16_t reg;
    bool plain; /* a vector register without modifiers */
    bool neg, abs, sext;
    bool hi;     /* .h of a true16 operand, or its op_sel bit where that picks
                    a half (types of 16 bits; never packed types) */
    bool half16; /* the text said .l or .h: the other half is kept on writes */
    uint64_t value;
    /* A 32-bit constant with its modifiers applied, repeated for each lane, so
     * that handlers read it like a register. NULL for other operands. */
    const uint32_t *splat;
};

enum dpp_kind {
    DPP_NONE,
    DPP_QUAD_PERM,
    DPP_ROW_SHL,
    DPP_ROW_SHR,
    DPP_ROW_ROR,
    DPP_WAVE_SHL,
    DPP_WAVE_ROL,
    DPP_WAVE_SHR,
    DPP_WAVE_ROR,
    DPP_ROW_MIRROR,
    DPP_ROW_HALF_MIRROR,
    DPP_ROW_BCAST,    /* amount 15 or 31 */
    DPP_ROW_NEWBCAST, /* gfx90a */
    DPP_ROW_SHARE,
    DPP_ROW_XMASK,
    DPP_8
};

struct dpp {
    uint8_t kind;                /* enum dpp_kind */
    uint8_t amount;              /* the shift's count, broadcast lane or mask */
    uint8_t perm[8];             /* four of QUAD_PERM, eight of DPP_8 */
    uint8_t row_mask, bank_mask; /* 15 unless said */
    bool bound_ctrl;             /* a lane without a source reads 0 */
    bool fi;                     /* inactive lanes may be read */
};

/* Bits of insn.flags: modifiers without a value. */
enum {
    F_CLAMP = 1 << 0,
    F_GLC = 1 << 1, /* glc, sc0 or th:TH_ATOMIC_RETURN: an atomic returns */
    F_OFFEN = 1 << 2,
    F_IDXEN = 1 << 3,
    F_LDS = 1 << 4,
    F_GDS = 1 << 5,
    F_TFE = 1 << 6,
    F_ADDR64 = 1 << 7,
    F_SDWA = 1 << 8,
    F_SWZ = 1 << 9,
    F_SCALE_OFFSET = 1 << 10, /* gfx1250 */
    F_NV = 1 << 11,
    F_KEEP_HIGH = 1 << 12, /* a 16-bit result leaves the high half alone */
    F_SC1 = 1 << 13,
    /* of image instructions: */
    F_UNORM = 1 << 14, /* coordinates count texels */
    F_ARRAY = 1 << 15, /* gfx9's da: there is a layer */
    F_A16 = 1 << 16,   /* coordinates of 16 bits */
    F_D16 = 1 << 17,   /* data of 16 bits */
    F_LWE = 1 << 18,
    F_R128 = 1 << 19,
    /* of memory instructions, see scope_rules.h: */
    F_SLC = 1 << 20, /* slc, nt: not to be kept in caches */
    F_DLC = 1 << 21,
    F_SCOPE_SE = 1 << 22,
    F_SCOPE_DEV = 1 << 23, /* gfx12: of the device, or wider */
    F_SCOPE_SYS = 1 << 24
};

typedef void insn_fn(struct wave *w, const struct insn *in);

/* Which fields of MODE an instruction's arithmetic obeys. */
enum fp_rule {
    FP_NONE,  /* it has none */
    FP_FIXED, /* rounds to nearest and keeps denormals, whatever MODE says */
    FP_OF_32,
    FP_OF_64 /* f16 and f64 */
};

/* The counter that an instruction adds to. */
enum insn_class {
    CLASS_VALU,
    CLASS_SALU,
    CLASS_VMEM,
    CLASS_SMEM,
    CLASS_LDS,
    CLASS_BRANCH,
    CLASS_MATRIX,
    CLASS_OTHER,
    NUM_CLASSES
};

/* Bits of insn_row.flags. */
enum {
    ROW_NO_DST = 1, /* op[0] is a source: stores, s_cmp, v_cmpx of gfx10 */
    ROW_SDST = 2,   /* op[1] is a second destination: carry out */
    ROW_RAW = 4,    /* operands are not read: waits, hints, messages */
    /* The high half after a 16-bit result on gfx9, for instructions that
     * differ from the rule in parse.c's finish(): */
    ROW_KEEP_HIGH = 8,
    ROW_ZERO_HIGH = 16,
    ROW_OP_SEL_HI_0 = 32, /* op_sel_hi is 0 by default: v_fma_mix */
    ROW_FP_FIXED = 64,    /* arithmetic that does not depend on MODE */
    ROW_SETS_MODE = 128,  /* may change how the next instructions compute */
    ROW_QUIET = 256,      /* scalar registers in and out, and nothing else */
    ROW_BARE = 512        /* modifiers alone: write-backs, invalidations */
};

struct insn_row {
    const char *name;
    insn_fn *run;
    uint8_t class;              /* enum insn_class */
    uint8_t type[MAX_OPERANDS]; /* enum lane_type, in the text's order */
    uint16_t flags;             /* ROW_... */
};

enum lds_kind {
    LDS_NONE,
    LDS_READS,
    LDS_WRITES,
    LDS_ATOMIC,
    LDS_LANES /* moves between lanes: no banks */
};

/* The instruction's cycles in the pipe that executes it, see cost.h. */
struct cost {
    uint8_t rate;   /* enum sim_rate */
    uint8_t valu;   /* cycles of a SIMD: a wave on gfx9, 32 lanes later */
    uint8_t trans;  /* cycles of the transcendental unit, 32 lanes */
    uint8_t matrix; /* cycles of the matrix unit, a wave; 0: not published */
    bool matrix_blocks_valu;
    bool one_pass; /* gfx11: wave64 takes no longer than wave32 */
    uint8_t lds;   /* enum lds_kind */
};

/* Fields that most handlers read come first, in the first cache lines. */
struct insn {
    insn_fn *run;
    const struct insn_row *row;
    uint8_t size; /* bytes of code */
    uint8_t nops;
    uint8_t class;  /* enum insn_class */
    uint8_t fp;     /* enum fp_rule */
    uint32_t flags; /* F_... */
    uint32_t raw;   /* first dword of the encoding: SIMM16 and the like */
    bool plain_dst; /* op[0] is a whole vector register, result unmodified */
    uint8_t omod;   /* 0 none, 1 mul:2, 2 mul:4, 3 div:2 */
    bool pair_overlaps; /* the second half reads what the first writes */
    uint8_t dst_unused; /* enum sdwa_unused */
    struct operand op[MAX_OPERANDS];
    struct insn *pair; /* second half of a VOPD instruction */
    int32_t offset;
    uint8_t offset0, offset1;
    uint16_t nvgprs, nagprs;                   /* registers it needs to exist */
    uint8_t op_sel, op_sel_hi, neg_lo, neg_hi; /* a bit per source; op_sel has
                                                  the destination's last */
    struct dpp dpp;
    uint8_t cbsz, abid, blgp, byte_sel, bitop3, index_key;
    uint8_t sdwa_sel[3]; /* enum sdwa_sel: destination, src0, src1 */
    unsigned nop_sel;    /* entries of op_sel in the text */
    uint8_t dmask;       /* image components, a bit for each */
    uint8_t dim;         /* enum sim_image_type, 0 if not said */
    uint8_t data_format, number_format; /* typed buffers, as written */
    uint8_t naddress;    /* registers of coordinates that the text lists */
    uint8_t address[12]; /* their numbers; none: they follow op[1] */
    uint32_t extra;      /* result of a special parser (s_getreg, swizzle) */
    struct cost cost;
    struct waits waits;
    uint16_t reach; /* bits of enum reach */
} __attribute__((aligned(64)));

/* Index of the first source among the operands. */
static inline unsigned sim_first_source(const struct insn *in)
{
    return in->row->flags & ROW_NO_DST ? 0 : in->row->flags & ROW_SDST ? 2 : 1;
}

#endif
