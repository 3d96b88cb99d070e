/* sdwa.c - sub-dword addressing: bytes and words of operands and results */
#include "sdwa.h"

static const struct {
    uint8_t shift, bits;
} parts[] = {
    [SEL_DWORD] = {0, 32}, [SEL_BYTE0] = {0, 8},  [SEL_BYTE1] = {8, 8},
    [SEL_BYTE2] = {16, 8}, [SEL_BYTE3] = {24, 8}, [SEL_WORD0] = {0, 16},
    [SEL_WORD1] = {16, 16}};

void sim_sdwa_select(const struct operand *o, const uint32_t *src,
                     uint32_t out[MAX_LANES], unsigned nlanes)
{
    unsigned bits = parts[o->sel].bits;
    unsigned up = 32 - bits - parts[o->sel].shift, down = 32 - bits;

    for (unsigned i = 0; i < nlanes; i++)
        out[i] = o->sext ? (uint32_t)((int32_t)(src[i] << up) >> down)
                         : src[i] << up >> down;
}

void sim_sdwa_merge(const struct insn *in, const uint32_t *value,
                    const uint32_t *old, uint32_t out[MAX_LANES],
                    unsigned nlanes)
{
    unsigned sel = in->sdwa_sel[0];
    unsigned shift = parts[sel].shift, bits = parts[sel].bits;
    uint32_t field = (bits == 32 ? UINT32_MAX : (1u << bits) - 1) << shift;
    /* The bits above the part, 0 if it reaches the top. */
    uint32_t above = ~(field | (field - 1));

    for (unsigned i = 0; i < nlanes; i++) {
        uint32_t part = value[i] << shift & field;
        bool negative = part >> (shift + bits - 1) & 1;

        if (in->dst_unused == UNUSED_PRESERVE)
            part |= old[i] & ~field;
        else if (in->dst_unused == UNUSED_SEXT && negative)
            part |= above;
        out[i] = part;
    }
}
