/* scope_rules.c - how far a memory instruction reaches, by family */
#include "scope_rules.h"

#include "../base/processor.h"
#include "insn.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum family {
    GFX9 = 1,
    GFX94 = 2,
    GFX10 = 4,
    GFX11 = 8,
    GFX120 = 16,
    GFX125 = 32
};

static enum family family_of(const struct sim_target *t)
{
    if (t->major == 9)
        return t->minor >= 4 ? GFX94 : GFX9;
    return t->major == 10   ? GFX10
           : t->major == 11 ? GFX11
           : t->minor >= 5  ? GFX125
                            : GFX120;
}

/* clang-format off */
/* Without a name: of each load or store. A load with glc and slc, or a store
 * with glc, slc and dlc, is nontemporal, which says nothing of who sees it. */
static const struct {
    uint8_t families;
    const char *name;
    uint32_t with, without; /* flags */
    uint8_t reach;
} rows[] = {
    {GFX9 | GFX11,    NULL,                 F_GLC,         F_SLC, REACH_LOAD},
    {GFX10,           NULL,                 F_GLC | F_DLC, F_SLC, REACH_LOAD},
    {GFX94,           NULL,                 F_SC1,         0,     REACH_LOAD | REACH_STORE},
    {GFX120 | GFX125, NULL,                 F_SCOPE_DEV,   0,     REACH_LOAD | REACH_STORE},
    {GFX9,            "buffer_wbinvl1",     0,             0,     REACH_DROPS_L0 | REACH_DROPS_L1},
    {GFX9,            "buffer_wbinvl1_vol", 0,             0,     REACH_DROPS_L0 | REACH_DROPS_L1},
    {GFX9,            "buffer_wbinvl1_sc",  0,             0,     REACH_DROPS_L0 | REACH_DROPS_L1},
    {GFX94,           "buffer_inv",         F_SC1,         0,     REACH_DROPS_L0 | REACH_DROPS_L1},
    {GFX94,           "buffer_wbl2",        F_SC1,         0,     REACH_WRITES_BACK},
    {GFX10 | GFX11,   "buffer_gl0_inv",     0,             0,     REACH_DROPS_L0},
    {GFX10 | GFX11,   "buffer_gl1_inv",     0,             0,     REACH_DROPS_L1},
    {GFX120 | GFX125, "global_inv",         F_SCOPE_DEV,   0,     REACH_DROPS_L0 | REACH_DROPS_L1},
    {GFX120 | GFX125, "global_wb",          F_SCOPE_DEV,   0,     REACH_WRITES_BACK},
    {GFX120 | GFX125, "global_wbinv",       F_SCOPE_DEV,   0,     REACH_WRITES_BACK | REACH_DROPS_L0 | REACH_DROPS_L1},
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

uint8_t sim_reach_of(const char *name, uint32_t flags,
                     const struct sim_target *target)
{
    const enum family family = family_of(target);
    uint8_t reach = 0;

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

    while (!(families[i].families & family_of(target)))
        i++;
    return &families[i].rules;
}
