/* scope_rules.c - how far a memory instruction reaches, by family */
#include "scope_rules.h"

#include "../base/processor.h"
#include "insn.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum family sim_family_of(const struct sim_target *t)
{
    if (t->major == 9)
        return t->minor >= 4                    ? FAMILY_GFX94
               : strcmp(t->name, "gfx90a") == 0 ? FAMILY_GFX90A
                                                : FAMILY_GFX9;
    return t->major == 10   ? FAMILY_GFX10
           : t->major == 11 ? FAMILY_GFX11
           : t->minor >= 5  ? FAMILY_GFX125
                            : FAMILY_GFX120;
}

/* Names for the rows. */
enum {
    GFX90A = FAMILY_GFX90A,
    GFX9 = FAMILY_GFX9 | GFX90A,
    GFX94 = FAMILY_GFX94,
    GFX10 = FAMILY_GFX10,
    GFX11 = FAMILY_GFX11,
    GFX120 = FAMILY_GFX120,
    GFX125 = FAMILY_GFX125,
    GFX12 = GFX120 | GFX125,
    RDNA = GFX10 | GFX11 | GFX12,
    DROPS_L0_L1 = REACH_DROPS_L0 | REACH_DROPS_L1
};

/* clang-format off */
/* Without a name: of each load or store. A load with glc and slc, or a store
 * with glc, slc and dlc, is nontemporal, which says nothing of who sees it. */
static const struct {
    uint8_t families;
    const char *name;
    uint32_t with, without; /* flags */
    uint16_t reach;
} rows[] = {
    {GFX9 | GFX11,    NULL,                 F_GLC,         F_SLC, REACH_LOAD},
    {GFX10,           NULL,                 F_GLC | F_DLC, F_SLC, REACH_LOAD},
    {GFX10,           NULL,                 F_GLC,         F_SLC, REACH_LOAD_GROUP},
    {GFX94,           NULL,                 F_SC1,         0,     REACH_LOAD | REACH_STORE},
    {GFX94,           NULL,                 F_GLC,         0,     REACH_LOAD_GROUP | REACH_GROUP_ONLY},
    {GFX12,           NULL,                 F_SCOPE_SE,    0,     REACH_LOAD_GROUP},
    {GFX12,           NULL,                 F_SCOPE_DEV,   0,     REACH_LOAD | REACH_STORE},
    {GFX12,           NULL,                 F_SCOPE_SYS,   0,     REACH_SYSTEM},
    {GFX9,            "buffer_wbinvl1",     0,             0,     DROPS_L0_L1},
    {GFX9,            "buffer_wbinvl1_vol", 0,             0,     DROPS_L0_L1},
    {GFX9,            "buffer_wbinvl1_sc",  0,             0,     DROPS_L0_L1},
    {GFX90A,          "buffer_invl2",       0,             0,     REACH_DROPS_L2},
    {GFX90A,          "buffer_wbl2",        0,             0,     REACH_WRITES_BACK | REACH_SYSTEM},
    {GFX94,           "buffer_inv",         F_SC1,         0,     DROPS_L0_L1 | REACH_DROPS_L2},
    {GFX94,           "buffer_inv",         0,             F_SC1, REACH_DROPS_L0 | REACH_NARROW_INVALIDATION},
    {GFX94,           "buffer_wbl2",        F_SC1,         0,     REACH_WRITES_BACK},
    {GFX94,           "buffer_wbl2",        0,             F_SC1, REACH_NARROW_WRITE_BACK},
    {GFX10 | GFX11,   "buffer_gl0_inv",     0,             0,     REACH_DROPS_L0},
    {GFX10 | GFX11,   "buffer_gl1_inv",     0,             0,     REACH_DROPS_L1},
    {GFX12,           "global_inv",         F_SCOPE_DEV,   0,     DROPS_L0_L1},
    {GFX12,           "global_inv",         F_SCOPE_SE,    0,     REACH_DROPS_L0 | REACH_NARROW_INVALIDATION},
    {GFX12,           "global_wb",          F_SCOPE_DEV,   0,     REACH_WRITES_BACK},
    {GFX12,           "global_wb",          0,       F_SCOPE_DEV, REACH_NARROW_WRITE_BACK},
    {GFX12,           "global_wbinv",       F_SCOPE_DEV,   0,     REACH_WRITES_BACK | DROPS_L0_L1},
    {GFX125,          "global_inv",         F_SCOPE_DEV,   0,     REACH_DROPS_L2},
    {GFX125,          "global_wbinv",       F_SCOPE_DEV,   0,     REACH_DROPS_L2},
    {GFX120,          "global_inv",         F_SCOPE_SYS,   0,     REACH_DROPS_L2},
    {GFX120,          "global_wbinv",       F_SCOPE_SYS,   0,     REACH_DROPS_L2},
    {UINT8_MAX,       "s_dcache_inv",       0,             0,     REACH_DROPS_SCALAR},
    {UINT8_MAX,       "s_dcache_inv_vol",   0,             0,     REACH_DROPS_SCALAR},
    {RDNA,            "s_gl1_inv",          0,             0,     REACH_DROPS_L1},
};

static const struct {
    uint8_t families;
    struct scope_rules rules;
} families[] = {
    {GFX9,          {NULL,                          "buffer_wbinvl1_vol",                 true}},
    {GFX94,         {"buffer_wbl2 sc1",             "buffer_inv sc1",                     false}},
    {GFX10 | GFX11, {NULL,                          "buffer_gl1_inv and buffer_gl0_inv",  true}},
    {GFX120,        {NULL,                          "global_inv scope:SCOPE_DEV",         false}},
    {GFX125,        {"global_wb scope:SCOPE_DEV",   "global_inv scope:SCOPE_DEV",         false}},
};
/* clang-format on */

uint16_t sim_reach_of(const char *name, uint32_t flags,
                      const struct sim_target *target)
{
    const enum family family = sim_family_of(target);
    uint16_t reach = 0;

    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].families & family &&
            (!rows[i].name || strcmp(name, rows[i].name) == 0) &&
            (flags & rows[i].with) == rows[i].with &&
            !(flags & rows[i].without))
            reach |= rows[i].reach;
    return reach;
}

const struct scope_rules *sim_scope_rules(const struct sim_target *target)
{
    size_t i = 0;

    while (!(families[i].families & sim_family_of(target)))
        i++;
    return &families[i].rules;
}
