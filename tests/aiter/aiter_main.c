/* aiter_main.c - runs the kernels of an imported tree of AITER's
 *
 *     test_aiter [-k GLOB] [-f FAMILY] [-n EVERY] [-v]
 *
 * Each kernel of a family is run in a process of its own, on the simulated GPU
 * of its processor, as a fault ends all work on a device. Prints failures and,
 * for each family, the numbers of objects and of table rows that are right.
 * Objects that no row names are not run, as AITER's host never runs them,
 * unless the release has no table of their kind. EVERY 3 takes every third.
 */
#include "aiter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The linker's name of the pack: kpk_aiter, or of the sample. */
extern const kpk_pack aiter_pack;

static const char *const targets[] = {"gfx942", "gfx950"};
enum { NUM_TARGETS = 2, MAX_MODULES = 8192, LEFT_OUT = 3 };

enum outcome { NOT_RUN, RIGHT, WRONG, LEFT, UNNAMED, KNOWN, NUM_OUTCOMES };

static struct family {
    const char *kind; /* the folder */
    void (*run)(struct subject *s);
    unsigned n[NUM_TARGETS][NUM_OUTCOMES];
    bool has_rows[NUM_TARGETS];
} families[] = {
    {.kind = "fmha_v3_fwd", .run = run_fmha_fwd},
    {.kind = "topksoftmax", .run = run_topksoftmax},
    {.kind = "bf16gemm", .run = run_bf16gemm},
    {.kind = "fmoe", .run = run_fmoe},
    {.kind = "pa", .run = run_pa},
    {.kind = "mla", .run = run_mla},
};
enum { NUM_FAMILIES = sizeof(families) / sizeof(families[0]) };

#define NO_INDEX "reads the index of a later block before it is loaded"
#define NO_LDS "reads registers before LDS has loaded them"
#define NO_WAIT "missing wait"

/* Kernels with known wrong numbers that are no fault of the simulator. `said`:
 * a word of the simulator's report without which the row does not hold;
 * KPK_SIM_WEAK reports missing waits. */
static const struct {
    const char *target, *glob, *why, *said;
} known[] = {
    {"gfx9*", "fmoe/*/fmoe_*_pertokenFp8_g1u1_vs_[gs]*lu_1tg_32x128",
     "its loop over columns of the result never stores them to LDS, from where "
     "it adds them to memory",
     ""},
    {"gfx950", "mla/mla_a8w8_qh64_qseqlen4_gqaratio16*",
     "it leaves two of four tokens out; the cause is not known", ""},
    {"gfx950", "mla/mla_a8w8_qh16_qseqlen4_gqaratio16",
     "a wave writes LDS that another one reads, with no barrier between",
     "data race in LDS"},
    {"gfx9*", "fmoe/*_32x192", "computes into a register of a pending load",
     NO_WAIT},
    {"gfx9*", "fmoe/*_g1u1_vs_[gs]*lu_1tg_32x128", NO_LDS, NO_WAIT},
    {"gfx9*", "mla/mla_a16w16_qh16_m*_coex0_mask1", NO_INDEX, NO_WAIT},
    {"gfx9*", "mla/mla_a8w8_qh128_m32x4_n16x2_msk?", NO_INDEX, NO_WAIT},
    {"gfx9*", "mla/mla_dec_stage1_bf16_a16w16_subQ128_mqa128", NO_INDEX,
     NO_WAIT},
    {"gfx9*", "mla/mla_a8w8_qh16_qseqlen4_gqaratio16", NO_LDS, NO_WAIT},
    {"gfx9*", "pa/pa_*_noquant_gqa*", NO_INDEX, NO_WAIT},
    {"gfx9*", "pa/pa_*_pertoken*_gqa16_2tg_4w", NO_LDS, NO_WAIT},
};

static bool is_weak(void)
{
    const char *seed = getenv("KPK_SIM_WEAK");

    return seed && strcmp(seed, "1") != 0;
}

/* `said` is what the kernel's process printed. */
static const char *known_fault(const char *target, const char *path,
                               const char *said)
{
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
        if (fnmatch(known[k].target, target, 0) == 0 &&
            fnmatch(known[k].glob, path, 0) == 0 && strstr(said, known[k].said))
            return known[k].why;
    return NULL;
}

static bool is_old; /* the release: it has no table of topksoftmax */
static uint8_t outcomes[NUM_TARGETS][MAX_MODULES];
static bool named[NUM_TARGETS][MAX_MODULES]; /* by a row */

static struct {
    const char *glob, *family;
    unsigned every;
    bool verbose;
} options = {.glob = "*", .every = 1};

static struct family *family_of(const char *path)
{
    const char *slash = strchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) : strlen(path);

    for (unsigned f = 0; f < NUM_FAMILIES; f++)
        if (strlen(families[f].kind) == n &&
            strncmp(families[f].kind, path, n) == 0)
            return &families[f];
    return NULL;
}

static bool has_object(const kpk_module *module, const char *target)
{
    kpk_object object;

    for (size_t k = 0; k < kpk_module_object_count(module); k++)
        if (kpk_module_object(module, k, &object) == KPK_OK &&
            strncmp(object.target, target, strlen(target)) == 0)
            return true;
    return false;
}

/* Runs a kernel in a process of its own. */
static _Noreturn void run_here(const struct family *f, const kpk_module *module,
                               unsigned target)
{
    struct subject s = {.path = kpk_module_name(module),
                        .gfx950 = target == 1,
                        .ncus = target ? 256 : 304,
                        .old = is_old};
    kpk_kernel_decl decl;
    const char *slash = strrchr(s.path, '/');

    s.name = slash ? slash + 1 : s.path;
    if (kpk_open_modules(&module, 1, (int)target, &s.inst) != KPK_OK ||
        kpk_module_kernel(module, 0, &decl) != KPK_OK ||
        kpk_kernel_get(s.inst, decl.name, &s.kernel) != KPK_OK) {
        printf("%s", kpk_error_message());
        fflush(stdout);
        _Exit(4);
    }
    s.args_nbytes = decl.packed_nbytes;
    f->run(&s);
    kpk_close(s.inst);
    if (s.nwrong)
        printf("%u times wrong: %s", s.nwrong, s.why);
    fflush(stdout);
    _Exit(s.nwrong ? 1 : 0);
}

static enum outcome run_module(struct family *f, const kpk_module *module,
                               unsigned target)
{
    int ends[2], status = 0;
    char text[4096];
    size_t n = 0;
    ssize_t got;
    pid_t child;
    const char *why;
    enum outcome o;

    if (pipe(ends) != 0)
        exit(2);
    fflush(stdout);
    child = fork();
    if (child < 0)
        exit(2);
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        run_here(f, module, target);
    }
    close(ends[1]);
    /* The last text says how the child ended; warnings may come first. */
    while ((got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0) {
        n += (size_t)got;
        if (n > sizeof(text) / 2) {
            memmove(text, text + n - sizeof(text) / 4, sizeof(text) / 4);
            n = sizeof(text) / 4;
        }
    }
    text[n] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    o = !WIFEXITED(status)                ? WRONG
        : WEXITSTATUS(status) == 0        ? RIGHT
        : WEXITSTATUS(status) == LEFT_OUT ? LEFT
                                          : WRONG;
    why = known_fault(targets[target], kpk_module_name(module), text);
    if (why && o == RIGHT) {
        snprintf(text, sizeof(text), "is right, against the list of known[]");
        o = WRONG;
    } else if (why && WIFEXITED(status) &&
               (WEXITSTATUS(status) == 1 || is_weak())) {
        snprintf(text, sizeof(text), "%s", why);
        o = KNOWN;
    }
    if (o == WRONG || o == KNOWN || options.verbose)
        printf("%s %s %s: %s\n", targets[target], kpk_module_name(module),
               o == WRONG   ? "WRONG"
               : o == KNOWN ? "known to be wrong"
               : o == LEFT  ? "left out"
                            : "right",
               o == RIGHT ? "" : text);
    return o;
}

/* Calls `f` for each row of a family's tables and each object that it names. */
static void for_rows(const kpk_pack *pack,
                     void (*f)(struct family *f, const kpk_module *of,
                               size_t table, unsigned target, size_t module))
{
    const size_t nmodules = kpk_pack_module_count(pack);

    for (size_t i = 0; i < nmodules; i++) {
        const kpk_module *of = kpk_pack_module(pack, i);
        struct family *family = family_of(kpk_module_name(of));

        for (size_t t = 0; family && t < kpk_module_table_count(of); t++) {
            kpk_table_decl table;
            kpk_row row;

            if (kpk_module_table(of, t, &table) != KPK_OK)
                continue;
            for (size_t r = 0; r < table.nrows; r++)
                for (unsigned d = 0; d < NUM_TARGETS; d++) {
                    if (kpk_table_row(of, t, r, &row) != KPK_OK ||
                        strcmp(row.target, targets[d]) != 0)
                        continue;
                    for (size_t m = 0; m < nmodules && m < MAX_MODULES; m++)
                        if (strcmp(kpk_module_name(kpk_pack_module(pack, m)),
                                   row.module) == 0)
                            f(family, of, t, d, m);
                }
        }
    }
}

static void name_it(struct family *f, const kpk_module *of, size_t table,
                    unsigned target, size_t module)
{
    (void)of;
    (void)table;
    f->has_rows[target] = true;
    named[target][module] = true;
}

/* Rows of a table, by what became of the objects that they name. */
static struct {
    const kpk_module *of;
    size_t table;
    unsigned nrows, nright;
} rows;

static void print_rows(void)
{
    kpk_table_decl table;

    if (rows.nright && kpk_module_table(rows.of, rows.table, &table) == KPK_OK)
        printf("table %s/%s: %u of %u rows ran right\n",
               kpk_module_name(rows.of), table.name, rows.nright, rows.nrows);
    rows.nrows = rows.nright = 0;
}

static void count_row(struct family *f, const kpk_module *of, size_t table,
                      unsigned target, size_t module)
{
    (void)f;
    if (rows.of != of || rows.table != table) {
        print_rows();
        rows.of = of;
        rows.table = table;
    }
    rows.nrows++;
    rows.nright += outcomes[target][module] == RIGHT;
}

int main(int argc, char **argv)
{
    const kpk_pack *pack = &aiter_pack;
    unsigned nright = 0, nwrong = 0;
    int c;

    while ((c = getopt(argc, argv, "k:f:n:v")) != -1)
        switch (c) {
        case 'k':
            options.glob = optarg;
            break;
        case 'f':
            options.family = optarg;
            break;
        case 'n':
            options.every = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'v':
            options.verbose = true;
            break;
        default:
            fprintf(stderr, "usage: %s [-k GLOB] [-f FAMILY] [-n EVERY] [-v]\n",
                    argv[0]);
            return 2;
        }
    /* AMD's kernels rely on waves that advance step by step. */
    if (setenv("KPK_SIM_DEVICES", "gfx942,gfx950", 1) != 0 ||
        setenv("KPK_SIM_SLICE", "1", 0) != 0)
        return 2;
    for_rows(pack, name_it);
    is_old = true;
    for (unsigned f = 0; f < NUM_FAMILIES; f++)
        for (unsigned t = 0; t < NUM_TARGETS; t++)
            is_old &= strcmp(families[f].kind, "topksoftmax") != 0 ||
                      !families[f].has_rows[t];
    for (size_t i = 0; i < kpk_pack_module_count(pack) && i < MAX_MODULES;
         i++) {
        const kpk_module *module = kpk_pack_module(pack, i);
        struct family *f = family_of(kpk_module_name(module));

        for (unsigned t = 0; f && t < NUM_TARGETS; t++) {
            if (kpk_module_kernel_count(module) != 1 ||
                !has_object(module, targets[t]) ||
                fnmatch(options.glob, kpk_module_name(module), 0) != 0 ||
                (options.family && strcmp(options.family, f->kind) != 0) ||
                (options.every > 1 && i % options.every))
                continue;
            outcomes[t][i] = f->has_rows[t] && !named[t][i]
                                 ? UNNAMED
                                 : (uint8_t)run_module(f, module, t);
            f->n[t][outcomes[t][i]]++;
        }
    }
    for_rows(pack, count_row);
    print_rows();
    for (unsigned f = 0; f < NUM_FAMILIES; f++)
        for (unsigned t = 0; t < NUM_TARGETS; t++) {
            const unsigned *n = families[f].n[t];

            if (n[RIGHT] + n[WRONG] + n[LEFT] + n[UNNAMED] + n[KNOWN])
                printf("%-12s %s: %u right, %u wrong, %u known to be, %u left "
                       "out, %u that no table names\n",
                       families[f].kind, targets[t], n[RIGHT], n[WRONG],
                       n[KNOWN], n[LEFT], n[UNNAMED]);
            nright += n[RIGHT];
            nwrong += n[WRONG];
        }
    if (!nright && !nwrong)
        printf("no kernel was run\n");
    return nwrong || !nright;
}
