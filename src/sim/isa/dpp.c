/* dpp.c - data parallel primitives: a source read from another lane
 *
 * Rows are 16 lanes, banks 4. A lane has no source if it would come from
 * outside the row, or from an inactive lane without FI. With BOUND_CTRL such a
 * lane gets 0, otherwise it is not written. With DPP8, which has no BOUND_CTRL,
 * inactive lanes give 0.
 */
#include "dpp.h"

enum { NO_LANE = 255 };

static unsigned in_row(unsigned lane, int other)
{
    return other < 0 || other > 15 ? NO_LANE : (lane & ~15u) | (unsigned)other;
}

static unsigned source_lane(const struct dpp *dpp, unsigned lane,
                            unsigned nlanes)
{
    int r = (int)(lane & 15), n = dpp->amount;

    switch (dpp->kind) {
    case DPP_QUAD_PERM:
        return (lane & ~3u) | dpp->perm[lane & 3];
    case DPP_8:
        return (lane & ~7u) | dpp->perm[lane & 7];
    case DPP_ROW_SHL:
        return in_row(lane, r + n);
    case DPP_ROW_SHR:
        return in_row(lane, r - n);
    case DPP_ROW_ROR:
        return in_row(lane, (r - n) & 15);
    case DPP_ROW_MIRROR:
        return in_row(lane, 15 - r);
    case DPP_ROW_HALF_MIRROR:
        return in_row(lane, r ^ 7);
    case DPP_ROW_SHARE:
    case DPP_ROW_NEWBCAST:
        return in_row(lane, n);
    case DPP_ROW_XMASK:
        return in_row(lane, r ^ n);
    case DPP_WAVE_SHL:
        return lane + 1 < nlanes ? lane + 1 : NO_LANE;
    case DPP_WAVE_ROL:
        return (lane + 1) & (nlanes - 1);
    case DPP_WAVE_SHR:
        return lane ? lane - 1 : NO_LANE;
    case DPP_WAVE_ROR:
        return (lane - 1) & (nlanes - 1);
    case DPP_ROW_BCAST: /* last lane of the row before, or of the first half */
        return n == 15     ? lane > 15 ? (lane & ~15u) - 1 : NO_LANE
               : lane > 31 ? 31
                           : NO_LANE;
    default:
        return lane;
    }
}

void sim_dpp_move32(struct wave *w, const struct insn *in, const uint32_t *src,
                    uint32_t out[MAX_LANES])
{
    const struct dpp *dpp = &in->dpp;
    uint64_t exec = wave_exec(w), write = 0;
    uint32_t moved[MAX_LANES];

    for (unsigned i = 0; i < w->nlanes; i++) {
        unsigned from = source_lane(dpp, i, w->nlanes);
        bool masked = (dpp->row_mask >> (i / 16) & 1) &&
                      (dpp->bank_mask >> (i / 4 % 4) & 1);
        bool valid = from != NO_LANE && (dpp->fi || (exec >> from & 1));

        moved[i] = valid ? src[from] : 0;
        valid = valid || dpp->bound_ctrl || dpp->kind == DPP_8;
        write |= (uint64_t)(masked && valid) << i;
    }
    memcpy(out, moved, sizeof(moved));
    w->mask &= write;
}
