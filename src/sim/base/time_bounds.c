/* time_bounds.c - lower bounds of a launch's time on a card, from counted work
 */
#include "time_bounds.h"

#include "processor.h"

#include <stdio.h>

static double sum(const uint64_t *v, unsigned n)
{
    double s = 0;

    for (unsigned i = 0; i < n; i++)
        s += (double)v[i];
    return s;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/*
 * Traffic between L2 and memory: reads of 64 bytes, writes of 32 or 64 (the
 * requests TCC_EA_RDREQ and TCC_EA_WRREQ of ROCm's profilers).
 */
static double dram_bytes(const struct sim_work *k)
{
    return 64. * (double)k->read_segments64 +
           32. * (double)k->written_segments32;
}

/* Compute units that work on the launch: few groups do not reach all. */
static double units_used(const struct sim_card *card, const struct sim_stats *s,
                         bool large_grid)
{
    double reach = (double)s->workgroups * (s->work.groups_share_cus ? 2. : 1.);

    return large_grid ? card->compute_units.value
                      : least(card->compute_units.value, reach);
}

/* SIMDs that work on the launch: a group of few waves does not reach all SIMDs
 * of its compute unit. */
static double simds_used(const struct sim_card *card,
                         const struct sim_target *t, const struct sim_stats *s,
                         bool large_grid)
{
    double all = card->compute_units.value * t->simds_per_cu;
    double cus = units_used(card, s, large_grid) * t->simds_per_cu;

    return large_grid ? all : least(cus, (double)s->waves);
}

/* How many waves of whole groups fit the registers and the LDS. */
static double waves_per_simd(const struct sim_target *t,
                             const struct sim_work *k)
{
    unsigned simds = t->simds_per_cu * (k->groups_share_cus ? 2 : 1);
    unsigned groups;

    if (k->waves_per_group == 0)
        return k->waves_by_registers;
    groups = k->waves_by_registers * simds / k->waves_per_group;
    if (groups > k->groups_by_lds)
        groups = k->groups_by_lds;
    return (double)groups * k->waves_per_group / simds;
}

static void set_flight(const struct sim_card *card, const struct sim_target *t,
                       const struct sim_stats *s, struct sim_bounds *out)
{
    double a_wave = s->work.load_waits ? (double)s->work.load_bytes /
                                             (double)s->work.load_waits
                                       : 0;

    out->waves_per_simd = waves_per_simd(t, &s->work);
    out->in_flight_bytes = a_wave * out->waves_per_simd * t->simds_per_cu;
    /* GB/s times ns are bytes. */
    out->needed_bytes = card->dram_gbs.value * card->dram_latency_ns.value /
                        card->compute_units.value;
}

/*
 * Groups go to the dies in turn, whether they work or leave at once. So if one
 * group in 8 works, one die may have every working group. A group's work is the
 * memory that it touches. An even deal gives each die as many groups as the
 * others or one more.
 */
static double dies_percent(const struct sim_card *card,
                           const struct sim_work *k)
{
    const unsigned dies = (unsigned)card->dies.value;
    const uint64_t groups = k->working_groups;
    const uint64_t evenly = (groups + dies - 1) / dies; /* of a die */
    double on[SIM_DIES] = {0}, most = 0, even;

    if (groups == 0)
        return 100;
    for (unsigned i = 0; i < SIM_DIES; i++)
        on[i % dies] += (double)k->die_segments[i];
    for (unsigned i = 0; i < dies; i++)
        most = on[i] > most ? on[i] : most;
    even = sum(k->die_segments, SIM_DIES) / (double)groups * (double)evenly;
    return least(100, 100 * even / most);
}

void sim_bounds_of(const struct sim_card *card, const struct sim_stats *s,
                   bool large_grid, struct sim_bounds *out)
{
    const struct sim_target *t = sim_target_by_name(card->target);
    const struct sim_work *k = &s->work;
    double ghz = card->clock_mhz.value / 1000;
    double cus = units_used(card, s, large_grid);
    double simds = simds_used(card, t, s, large_grid);
    double lines =
        (double)(card->l1_line.value > 64 ? k->segments128 : k->segments64) +
        (double)k->scratch_bytes / card->l1_line.value;
    double turns = (double)k->atomic_requests / card->l2_channels.value;

    *out = (struct sim_bounds){.card = card, .dram_bytes = dram_bytes(k)};
    if (cus > 0) {
        out->ns[SIM_PIPE_MATRIX] = (double)k->matrix_cycles / simds / ghz;
        out->ns[SIM_PIPE_VALU] =
            (sum(k->valu_cycles, SIM_NRATES) + (double)k->matrix_blocks_valu) /
            simds / ghz;
        out->ns[SIM_PIPE_TRANS] = (double)k->trans_cycles / simds / ghz;
        out->ns[SIM_PIPE_SALU] =
            (double)k->salu_insns / (card->scalar_per_simd ? simds : cus) / ghz;
        out->ns[SIM_PIPE_LDS] = (double)k->lds_cycles / cus / ghz;
        out->ns[SIM_PIPE_L1] = lines / cus / ghz;
    }
    out->ns[SIM_PIPE_DRAM] = out->dram_bytes / card->dram_gbs.value;
    if (turns < (double)k->atomic_hottest)
        turns = (double)k->atomic_hottest;
    out->ns[SIM_PIPE_ATOMICS] = turns / ghz;
    for (int p = 0; p < SIM_NPIPES; p++)
        if (out->ns[p] > out->ns[out->largest])
            out->largest = (enum sim_pipe)p;
    set_flight(card, t, s, out);
    out->dies_percent = dies_percent(card, k);
}

static const char *pipe_name(enum sim_pipe pipe)
{
    static const char *const names[] = {
#define X(name, word) word,
        SIM_PIPES(X)
#undef X
    };

    return names[pipe];
}

/* ---- the report ---- */

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* The pipes, the largest bound first. */
static void print_pipes(const struct sim_bounds *b)
{
    bool done[SIM_NPIPES] = {false};

    for (int n = 0; n < SIM_NPIPES; n++) {
        int best = -1;

        for (int p = 0; p < SIM_NPIPES; p++)
            if (!done[p] && (best < 0 || b->ns[p] > b->ns[best]))
                best = p;
        done[best] = true;
        if (b->ns[best] > 0)
            fprintf(stderr, "%s%s %.0f %%", n ? ", " : "  ",
                    pipe_name((enum sim_pipe)best),
                    percent(b->ns[best], b->ns[b->largest]));
    }
    fputc('\n', stderr);
}

static void print_alus(const struct sim_work *k)
{
    static const char *const names[] = {
#define X(name, word) word,
        SIM_RATES_TABLE(X)
#undef X
    };
    const char *comma = "";

    fprintf(stderr, "  vector ALU, instructions/cycles of a SIMD:");
    for (int r = 0; r < SIM_NRATES; r++)
        if (k->valu_insns[r]) {
            fprintf(stderr, "%s %s %llu/%llu", comma, names[r],
                    (unsigned long long)k->valu_insns[r],
                    (unsigned long long)k->valu_cycles[r]);
            comma = ",";
        }
    fprintf(stderr, "; matrix %llu/%llu; scalar %llu\n",
            (unsigned long long)k->matrix_insns,
            (unsigned long long)k->matrix_cycles,
            (unsigned long long)k->salu_insns);
    if (k->matrix_unknown)
        fprintf(stderr,
                "  %llu matrix instructions have no published cycles and count "
                "as none\n",
                (unsigned long long)k->matrix_unknown);
}

static void print_memory(const struct sim_stats *s, const struct sim_bounds *b)
{
    typedef unsigned long long ull;
    const struct sim_work *k = &s->work;

    fprintf(stderr,
            "  LDS: %llu instructions, %llu cycles of a compute unit, %llu of "
            "them conflicts (%.1f %%)\n"
            "  memory: asked %llu + %llu written, in 64-byte segments %llu, in "
            "128-byte ones %llu; different bytes %llu + %llu written, DRAM "
            "moves at least %.0f\n",
            (ull)k->lds_insns, (ull)k->lds_cycles, (ull)k->lds_conflict_cycles,
            percent((double)k->lds_conflict_cycles, (double)k->lds_cycles),
            (ull)s->bytes_read, (ull)s->bytes_written, (ull)k->segments64 * 64,
            (ull)k->segments128 * 128, (ull)k->read_bytes,
            (ull)k->written_bytes, b->dram_bytes);
    if (k->atomic_requests)
        fprintf(stderr,
                "  atomics: %llu lanes, %llu requests of the L2, the busiest "
                "64 bytes take %llu turns\n",
                (ull)k->atomic_lanes, (ull)k->atomic_requests,
                (ull)k->atomic_hottest);
    if (k->untracked)
        fprintf(stderr,
                "  %llu accesses lie beyond the memory that is tracked: the "
                "different bytes are too few\n",
                (ull)k->untracked);
}

static void print_flight(const struct sim_bounds *b)
{
    fprintf(stderr, "  in flight: %.3g waves a SIMD", b->waves_per_simd);
    if (b->in_flight_bytes > 0)
        fprintf(stderr,
                ", %.0f bytes of loads a compute unit; latency times bandwidth "
                "needs %.0f",
                b->in_flight_bytes, b->needed_bytes);
    if (b->card->dies.value > 1)
        fprintf(stderr, "; the busiest of %.0f dies has %.1f times its share",
                b->card->dies.value, 100 / b->dies_percent);
    fputc('\n', stderr);
}

void sim_bounds_print(const char *kernel, const char *processor,
                      const struct sim_stats *s)
{
    const struct sim_card *card = sim_card_of(processor);
    struct sim_bounds b;

    if (!card) {
        fprintf(stderr,
                "kpack-sim: no card stands for %s: there are no bounds for it "
                "(src/sim/base/cards.c)\n",
                processor);
        return;
    }
    sim_bounds_of(card, s, false, &b);
    flockfile(stderr);
    fprintf(stderr,
            "kpack-sim: %s on %s, %s: bounds, no times: at least %.2f us, by "
            "%s%s\n",
            kernel ? kernel : "?", processor, card->name,
            b.ns[b.largest] / 1000, b.ns[b.largest] > 0 ? "the " : "nothing",
            b.ns[b.largest] > 0 ? pipe_name(b.largest) : "");
    print_pipes(&b);
    print_alus(&s->work);
    print_memory(s, &b);
    print_flight(&b);
    funlockfile(stderr);
}
