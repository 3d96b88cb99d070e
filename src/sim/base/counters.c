/* counters.c - adds up the counters of launches, prints them (KPK_SIM_STATS=1)
 */
#include "counters.h"

#include <stdio.h>

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

void sim_stats_add(struct sim_stats *to, const struct sim_stats *from)
{
#define ADD(field) to->field += from->field
    ADD(waves);
    ADD(workgroups);
    ADD(insns);
    ADD(lane_insns);
    ADD(valu);
    ADD(salu);
    ADD(vmem);
    ADD(smem);
    ADD(lds);
    ADD(branch);
    ADD(matrix);
    ADD(other);
    ADD(bytes_read);
    ADD(bytes_written);
    ADD(segment_bytes_read);
    ADD(segment_bytes_written);
    ADD(lds_bytes);
    ADD(lds_bank_conflicts);
    for (unsigned r = 0; r < SIM_NRATES; r++) {
        ADD(work.valu_insns[r]);
        ADD(work.valu_cycles[r]);
    }
    ADD(work.trans_cycles);
    ADD(work.matrix_insns);
    ADD(work.matrix_cycles);
    ADD(work.matrix_blocks_valu);
    ADD(work.matrix_unknown);
    ADD(work.salu_insns);
    ADD(work.lds_insns);
    ADD(work.lds_cycles);
    ADD(work.lds_conflict_cycles);
    ADD(work.vmem_insns);
    ADD(work.segments64);
    ADD(work.segments128);
    ADD(work.scratch_bytes);
    ADD(work.atomic_lanes);
    ADD(work.atomic_requests);
    ADD(work.atomic_hottest);
    ADD(work.read_bytes);
    ADD(work.read_segments64);
    ADD(work.read_segments128);
    ADD(work.written_bytes);
    ADD(work.written_segments32);
    ADD(work.written_segments128);
    ADD(work.untracked);
    ADD(work.load_bytes);
    ADD(work.load_waits);
    ADD(work.working_groups);
    for (unsigned i = 0; i < SIM_DIES; i++)
        ADD(work.die_segments[i]);
#undef ADD
#define SET(field) to->field = from->field
    SET(vgprs);
    SET(sgprs);
    SET(lds_nbytes);
    SET(scratch_nbytes);
    SET(occupancy_waves);
    SET(work.wave_size);
    SET(work.waves_per_group);
    SET(work.groups_share_cus);
    SET(work.waves_by_registers);
    SET(work.groups_by_lds);
#undef SET
}

void sim_stats_print(const char *kernel, const char *target_id,
                     const struct sim_stats *s)
{
    typedef unsigned long long ull;

    fprintf(stderr,
            "kpack-sim: %s on %s: %llu groups, %llu waves, %llu instructions "
            "(%llu lane instructions)\n"
            "  valu %llu salu %llu vmem %llu smem %llu lds %llu branch %llu "
            "matrix %llu other %llu\n"
            "  read %llu bytes in %llu bytes of segments (%.0f%% used), wrote "
            "%llu in %llu (%.0f%%)\n"
            "  lds %llu bytes, %llu cycles of bank conflicts; %u vgprs, %u "
            "sgprs, %u bytes of lds, %u of scratch, occupancy %u waves\n",
            kernel ? kernel : "?", target_id, (ull)s->workgroups, (ull)s->waves,
            (ull)s->insns, (ull)s->lane_insns, (ull)s->valu, (ull)s->salu,
            (ull)s->vmem, (ull)s->smem, (ull)s->lds, (ull)s->branch,
            (ull)s->matrix, (ull)s->other, (ull)s->bytes_read,
            (ull)s->segment_bytes_read,
            percent(s->bytes_read, s->segment_bytes_read),
            (ull)s->bytes_written, (ull)s->segment_bytes_written,
            percent(s->bytes_written, s->segment_bytes_written),
            (ull)s->lds_bytes, (ull)s->lds_bank_conflicts, s->vgprs, s->sgprs,
            s->lds_nbytes, s->scratch_nbytes, s->occupancy_waves);
}
