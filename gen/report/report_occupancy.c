/* report_occupancy.c - how many waves of a kernel a SIMD holds
 *
 * Registers, waves and LDS are target_table.h's. A block may use four SIMDs:
 * those of one compute unit, or of two.
 */
#include "report/report_occupancy.h"

#include "base/target_table.h"

#include <stdbool.h>
#include <string.h>

enum { SIMDS = 4 };

struct machine {
    const char *name;
    unsigned vgprs, granule; /* of a lane, in waves of `wave` lanes */
    unsigned wave, most_waves, lds_kib;
    bool separate_agprs; /* a second file of the same size */
};

#define ROW(name, sramecc, xnack, wave, dot4, mfma, wmma, pk32, bf16, vgprs,   \
            granule, waves, simds, lds)                                        \
    {name, vgprs, granule, wave, waves, SIMDS / (simds) * (lds), (mfma) == 1},
#define PROCESSOR_ROW(name, mach, major, minor, step, generic, ...)            \
    ROW(#name, __VA_ARGS__)
#define GENERIC_ROW(name, mach, major, minor, step, generic, ...)              \
    ROW(generic, __VA_ARGS__)
static const struct machine machines[] = {KPK_PROCESSOR_TABLE(PROCESSOR_ROW)
                                              KPK_GENERIC_TABLE(GENERIC_ROW)};
enum { NMACHINES = sizeof(machines) / sizeof(machines[0]) };

static const struct machine *find_machine(const char *target)
{
    const size_t n = strcspn(target, ":");

    for (size_t i = 0; i < NMACHINES; i++)
        if (strncmp(target, machines[i].name, n) == 0 && !machines[i].name[n])
            return &machines[i];
    return NULL;
}

static unsigned at_most(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

struct occupancy occupancy_of(const char *target,
                              const struct kpk_kernel_attrs *attrs)
{
    const struct machine *m = find_machine(target);
    struct occupancy out = {0, 0, 256};
    unsigned used = attrs->vgprs ? attrs->vgprs : 1;
    unsigned waves_of_block;
    unsigned granule;
    unsigned blocks;
    unsigned file;

    if (!m)
        return out;
    out.most = m->most_waves;
    if (attrs->reqd_block[0])
        out.block =
            attrs->reqd_block[0] * attrs->reqd_block[1] * attrs->reqd_block[2];
    else
        out.block = at_most(out.block, attrs->max_block);
    if (!attrs->wave_size || !out.block)
        return out;
    if (m->separate_agprs && attrs->agprs > used)
        used = attrs->agprs;
    /* A wave of 64 lanes takes each register of a file for 32 twice. */
    file = attrs->wave_size > m->wave ? m->vgprs / 2 : m->vgprs;
    granule = attrs->wave_size > m->wave ? m->granule / 2 : m->granule;
    used = (used + granule - 1) / granule * granule;
    waves_of_block = (out.block + attrs->wave_size - 1) / attrs->wave_size;
    blocks = at_most(file / used, m->most_waves) * SIMDS / waves_of_block;
    if (attrs->lds_nbytes)
        blocks = at_most(blocks, m->lds_kib * 1024 / attrs->lds_nbytes);
    out.waves =
        at_most((blocks * waves_of_block + SIMDS - 1) / SIMDS, m->most_waves);
    return out;
}
