/* occupancy.c - waves that a card holds at once, by registers and LDS */
#include "occupancy.h"

static uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

/* SGPRs of a wave; from gfx10 on a wave always has 106. */
static uint32_t allocated_sgprs(const struct run *run)
{
    return run->target->major >= 10 ? 106
                                    : 16 * ((run->rsrc1 >> 6 & 15) / 2 + 1);
}

/* Waves of this kernel that the registers of a SIMD leave room for. */
static uint32_t waves_by_registers(const struct run *run)
{
    enum { SGPRS_OF_SIMD = 800 }; /* up to gfx9 (LLVM's AMDGPU back end) */
    const struct sim_target *t = run->target;
    unsigned granule =
        run->wave_size == 32 ? t->vgpr_granule32 : t->vgpr_granule64;
    unsigned used = t->unified_vgprs ? run->nregs : run->nvgprs;
    unsigned file = t->vgprs_per_simd, waves;

    if (t->major >= 10 && run->wave_size == 64)
        file /= 2;
    waves = file / round_up(used, granule);
    if (t->major < 10 && waves > SGPRS_OF_SIMD / allocated_sgprs(run))
        waves = SGPRS_OF_SIMD / allocated_sgprs(run);
    return waves < t->max_waves_per_simd ? waves : t->max_waves_per_simd;
}

/* RDNA: bit 29 spreads a group's waves over both compute units of a WGP. */
static bool shares_cus(const struct run *run)
{
    return run->target->major >= 10 && (run->rsrc1 >> 29 & 1);
}

/* LDS is allocated in granules; sizes are LLVM's, from RDNA 10.3 on Mesa's. */
static uint32_t lds_granule(const struct sim_target *t)
{
    if (t->major == 9)
        return t->minor >= 5 ? 1280 : 512;
    return t->major > 10 || t->minor >= 3 ? 1024 : 512;
}

/* How many groups fit the LDS of a compute unit, or of two that share it. */
static uint32_t groups_by_lds(const struct run *run)
{
    const struct sim_target *t = run->target;

    return run->lds_nbytes ? t->lds_nbytes * (shares_cus(run) ? 2 : 1) /
                                 round_up(run->lds_nbytes, lds_granule(t))
                           : UINT32_MAX;
}

/* Waves that a SIMD holds at most, where groups do not fill all alike. */
static uint32_t occupancy(const struct run *run, const struct sim_work *k)
{
    unsigned simds = run->target->simds_per_cu * (shares_cus(run) ? 2 : 1);
    uint64_t lds = (uint64_t)k->groups_by_lds * run->nwaves;

    lds = (lds + simds - 1) / simds;
    return lds < k->waves_by_registers ? (uint32_t)lds : k->waves_by_registers;
}

void sim_count_occupancy(const struct run *run, struct sim_stats *s)
{
    s->vgprs = run->nregs;
    s->sgprs = allocated_sgprs(run);
    s->lds_nbytes = run->lds_nbytes;
    s->scratch_nbytes = run->scratch_nbytes;
    s->work.wave_size = run->wave_size;
    s->work.waves_per_group = run->nwaves;
    s->work.groups_share_cus = shares_cus(run);
    s->work.waves_by_registers = waves_by_registers(run);
    s->work.groups_by_lds = groups_by_lds(run);
    s->occupancy_waves = occupancy(run, &s->work);
}
