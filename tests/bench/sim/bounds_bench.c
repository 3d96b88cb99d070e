/* bounds_bench.c - lower bounds of kernels' times on real cards
 *
 * usage: LD_LIBRARY_PATH=build/sim bench-bounds TABLE.csv [GLOB]
 *
 * Runs the launches of the table on every simulated GPU, and prints a CSV row
 * for each: the bounds of its time on the card that stands for the processor,
 * as if the grid filled the card. Each row of the table is launched as candle's
 * callers do, and also in kpack's recommended shape, if its column `asked` is
 * filled. Where its column `alone` is filled, the launch has the card to
 * itself, and compute units without a workgroup are idle.
 */
#include "bounds_launch.h"
#include "sim/base/cards.h"
#include "sim/base/config.h"
#include "sim/base/processor.h"
#include "sim/base/time_bounds.h"
#include "sim/hip/kpk_sim.h"

#include <kpack.h>
#include <kpack/candle.h>
#include <kpack/candle/gemm_plan.h>

#include <ctype.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int (*get)(struct sim_stats *);
    void (*reset)(void);
    struct sim_config *(*config)(void);
} sim;

static kpk_instance *gpu;

static void check(kpk_status status)
{
    if (status != KPK_OK)
        bench_die("kpack", kpk_error_message());
}

/* ---- functions for shapes_launch.c ---- */

enum { MOST_BUFFERS = 32, PATTERN = 1 << 16 };
static void *buffers[MOST_BUFFERS];
static unsigned nbuffers;

/* Memory filled with bits that are ordinary numbers in every float type, and
 * valid scales of blocks. */
uint64_t shape_memory(uint64_t nbytes)
{
    static uint32_t words[PATTERN / 4];
    void *p;

    if (nbuffers == MOST_BUFFERS)
        bench_die("bounds", "too many buffers in one launch");
    if (!words[0])
        for (size_t i = 0; i < PATTERN / 4; i++)
            words[i] = 0x3c003c00u | (bench_next_random() & 0x00ff00ffu);
    check(kpk_malloc(gpu, nbytes ? nbytes : 1, &p));
    buffers[nbuffers++] = p;
    for (uint64_t done = 0; done < nbytes; done += PATTERN)
        check(kpk_copy_to(gpu, (char *)p + done, words,
                          nbytes - done < PATTERN ? nbytes - done : PATTERN));
    return (uint64_t)(uintptr_t)p;
}

uint64_t shape_kept(uint64_t nbytes)
{
    return shape_memory(nbytes);
}

uint64_t shape_upload(const void *data, size_t nbytes)
{
    uint64_t p = shape_memory(nbytes);

    check(kpk_copy_to(gpu, (void *)(uintptr_t)p, data, nbytes));
    return p;
}

unsigned shape_turn(void)
{
    return 0;
}

/* ---- a launch ---- */

static void launch(const kpk_kernel *kernel, const struct bench_launch *l,
                   const kpk_shape *shape, struct sim_stats *stats)
{
    const kpk_module *module = kpk_kernel_module(kernel);
    const size_t index = kpk_kernel_index(kernel);
    kpk_kernel_decl decl;
    kpk_arg args[BENCH_MAX_ARGS];
    size_t n;

    /* As in CUDA, hosts may give more than the kernel takes. */
    check(kpk_module_kernel(module, index, &decl));
    n = decl.nargs < l->nargs ? decl.nargs : l->nargs;
    for (size_t i = 0; i < n; i++) {
        kpk_arg_decl arg;

        check(kpk_module_arg(module, index, i, &arg));
        args[i] = (kpk_arg){&l->args[i], arg.nbytes};
    }
    sim.reset();
    check(kpk_launch(kernel, shape, NULL, args, n));
    check(kpk_sync(gpu, NULL));
    sim.get(stats);
}

static double share(const struct sim_bounds *b, int pipe)
{
    double most = b->ns[b->largest];

    return most > 0 ? 100 * b->ns[pipe] / most : 0;
}

static bool alone; /* the row's column */

static void print_bounds(const char *target, const struct shape *s,
                         const struct sim_stats *stats, const char *launched,
                         double least)
{
    const struct sim_card *card = sim_card_of(target);
    struct sim_bounds b;
    const struct sim_work *k = &stats->work;

    sim_bounds_of(card, stats, !alone, &b);
    printf("%s,%s,%s,%s,%s%s,%.3f", target, s->kernel, s->layout, s->text,
           launched, alone ? " alone" : "", b.ns[b.largest] / 1000);
    for (int p = 0; p < SIM_NPIPES; p++)
        printf(",%.0f", share(&b, p));
    printf(",%.1f,%.1f,%.3g,%.0f,%.0f,%.0f\n",
           least > 0 ? 100 * b.dram_bytes / least : 0,
           k->lds_cycles
               ? 100. * (double)k->lds_conflict_cycles / (double)k->lds_cycles
               : 0,
           b.waves_per_simd, b.in_flight_bytes, b.needed_bytes, b.dies_percent);
    if (k->matrix_unknown || k->untracked)
        bench_die(s->kernel, "not all of its work could be counted");
}

static void release(void)
{
    while (nbuffers)
        check(kpk_free(gpu, buffers[--nbuffers]));
}

/* Least bytes through DRAM. For products the families count the weights alone:
 * this function adds the columns, as blocks of q8_1, and the results. */
static double least_bytes(const struct shape *s, const struct bench_launch *l)
{
    if (strncmp(s->kernel, "mul_mat_", 8) != 0)
        return l->nbytes;
    return l->nbytes + 36. / 32 * (double)(s->n[2] * s->n[1]) +
           4. * (double)(s->n[0] * s->n[2]);
}

/* ---- products of floats ---- */

/* A product in the shape that its table says. */
static void launch_gemm(const struct shape *s, const kpk_kernel *kernel,
                        const struct shape_family *family,
                        struct bench_launch *l, struct sim_stats *stats)
{
    struct shape_use use = {0};
    kpk_shape shape;

    memset(l, 0, sizeof(*l));
    family->prepare(l, &use, s);
    check(kpk_kernel_shape(kernel, s->n[0], s->n[1], &shape));
    launch(kernel, l, &shape, stats);
    release();
}

/*
 * Estimates the work of a product with many tiles and a large K, which would
 * take hours, from two products with few whole tiles and small K. The
 * difference of the two is the work of their difference in steps along K. DRAM
 * moves different bytes, given in nbytes. A product with all tiles and one step
 * of K tells which groups work.
 */
static void extend_gemm(const struct shape *s, const kpk_kernel *kernel,
                        const struct shape_family *family,
                        const double nbytes[2], struct sim_stats *out)
{
    enum { SIDE = 256, STEPS = 256, A_STEP = 16 };
    const uint64_t tiles = s->n[0] / SIDE * (s->n[1] / SIDE);
    const double more = ((double)s->n[2] - STEPS) / STEPS;
    struct sim_stats longer, wide;
    struct bench_launch l;
    struct shape part = *s;
    uint64_t *a = (uint64_t *)&out->work, *b = (uint64_t *)&longer.work;

    part.n[0] = part.n[1] = SIDE;
    part.n[2] = STEPS;
    launch_gemm(&part, kernel, family, &l, out);
    part.n[2] = 2 * STEPS;
    launch_gemm(&part, kernel, family, &l, &longer);
    part = *s;
    part.n[2] = A_STEP;
    launch_gemm(&part, kernel, family, &l, &wide);
    for (size_t i = 0; i < offsetof(struct sim_work, wave_size) / 8; i++)
        a[i] =
            (uint64_t)((double)tiles *
                       ((double)a[i] + more * ((double)b[i] - (double)a[i])));
    out->work.working_groups = wide.work.working_groups;
    memcpy(out->work.die_segments, wide.work.die_segments,
           sizeof(out->work.die_segments));
    out->work.read_segments64 = (uint64_t)(nbytes[0] / 64);
    out->work.written_segments32 = (uint64_t)(nbytes[1] / 32);
}

static void run_gemm(const char *target, const struct shape *s,
                     const kpk_kernel *kernel,
                     const struct shape_family *family)
{
    enum { MOST_OPS_RUN = 1 << 30 };
    const double m = (double)s->n[0], n = (double)s->n[1], k = (double)s->n[2];
    const double size = strstr(s->kernel, "_f64_")   ? 8
                        : strstr(s->kernel, "_f32_") ? 4
                                                     : 2;
    double nbytes[] = {(m + n) * k * size, m * n * size};
    struct bench_launch l;
    struct sim_stats stats;

    if (m * n * k > MOST_OPS_RUN)
        extend_gemm(s, kernel, family, nbytes, &stats);
    else
        launch_gemm(s, kernel, family, &l, &stats);
    print_bounds(target, s, &stats, "recommended", nbytes[0] + nbytes[1]);
}

/*
 * A product as kpk_gemm_launch() launches it, with all launches of its plan,
 * for rows called gemm_LAYOUTS_TYPE with the layout `planned`: m x n x k x
 * batch. The line names the kernel of the plan.
 */
static void run_planned_gemm(const char *target, const struct shape *s)
{
    const char layout_a = s->kernel[5], layout_b = s->kernel[6];
    const char *type = s->kernel + 8;
    const kpk_gemm_type t = strcmp(type, "f16") == 0    ? KPK_GEMM_F16
                            : strcmp(type, "bf16") == 0 ? KPK_GEMM_BF16
                            : strcmp(type, "f32") == 0  ? KPK_GEMM_F32
                                                        : KPK_GEMM_F64;
    const uint64_t size = t == KPK_GEMM_F64 ? 8 : t == KPK_GEMM_F32 ? 4 : 2;
    const uint32_t m = (uint32_t)s->n[0], n = (uint32_t)s->n[1];
    const uint32_t k = (uint32_t)s->n[2];
    const uint32_t batch = s->n[3] ? (uint32_t)s->n[3] : 1;
    const uint64_t a = (uint64_t)m * k, b = (uint64_t)n * k;
    const uint64_t c = (uint64_t)m * n;
    const kpk_gemm_product product = {
        t, layout_a == 't', layout_b == 't', m, n, k, batch};
    const kpk_gemm_operands operands = {
        .a = (void *)(uintptr_t)shape_memory(batch * a * size),
        .b = (void *)(uintptr_t)shape_memory(batch * b * size),
        .c = (void *)(uintptr_t)shape_memory(batch * c * size),
        .lda = product.trans_a ? m : k,
        .ldb = product.trans_b ? k : n,
        .ldc = n,
        .stride_a = (int64_t)a,
        .stride_b = (int64_t)b,
        .stride_c = (int64_t)c,
        .alpha = 1};
    kpk_gemm_plan plan;
    struct sim_stats stats;
    void *workspace;

    check(kpk_gemm_choose(gpu, &kpk_module_gemm, &product, UINT64_MAX, &plan));
    workspace = (void *)(uintptr_t)shape_memory(plan.workspace_nbytes);
    sim.reset();
    check(kpk_gemm_launch(gpu, &product, &plan, &operands, workspace, NULL));
    check(kpk_sync(gpu, NULL));
    sim.get(&stats);
    print_bounds(target, s, &stats, plan.kernel,
                 (double)(batch * (a + b + c) * size));
    release();
}

/* `asked` is what kpk_kernel_shape() is told, N or NxCOLUMNS; "" for none. */
static void run(const char *target, const struct shape *s, const char *asked)
{
    const struct shape_family *family = bounds_family_of(s);
    struct bench_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    struct shape_use use = {0};
    struct sim_stats stats;
    const kpk_kernel *kernel;
    kpk_shape shape;
    char *end;

    if (strcmp(s->layout, "planned") == 0) {
        run_planned_gemm(target, s);
        return;
    }
    if (!family)
        bench_die(s->kernel, "no family of kernels has it");
    check(kpk_kernel_get(gpu, s->kernel, &kernel));
    if (strncmp(s->kernel, "gemm_", 5) == 0) {
        run_gemm(target, s, kernel, family);
        return;
    }
    family->prepare(&l, &use, s);
    memcpy(shape.grid, l.grid, sizeof(shape.grid));
    memcpy(shape.block, l.block, sizeof(shape.block));
    shape.shared_nbytes = l.shared_nbytes;
    launch(kernel, &l, &shape, &stats);
    print_bounds(target, s, &stats, "callers'", least_bytes(s, &l));
    if (asked[0]) {
        uint64_t n = strtoull(asked, &end, 10);
        uint64_t columns = *end == 'x' ? strtoull(end + 1, NULL, 10) : 0;

        check(kpk_kernel_shape(kernel, n, columns, &shape));
        launch(kernel, &l, &shape, &stats);
        print_bounds(target, s, &stats, "recommended", least_bytes(s, &l));
    }
    fflush(stdout);
    release();
}

/* ---- the table ---- */

/* A field of a line of CSV; cuts it off. */
static char *field(char **line)
{
    char *at = *line, *comma = strchr(at, ',');

    *line = comma ? comma + 1 : at + strlen(at);
    if (comma)
        *comma = '\0';
    at[strcspn(at, "\n")] = '\0';
    return at;
}

static void put_shape(struct shape *s, const char *kernel, const char *layout,
                      const char *text)
{
    unsigned i = 0;

    memset(s, 0, sizeof(*s));
    snprintf(s->kernel, sizeof(s->kernel), "%s", kernel);
    snprintf(s->layout, sizeof(s->layout), "%s", layout);
    snprintf(s->text, sizeof(s->text), "%s", text);
    for (const char *p = text; *p && i < SHAPE_MAX_SIZES; i++) {
        char *end;

        s->n[i] = strtoull(p, &end, 10);
        p = *end == 'x' ? end + 1 : end;
        if (!isdigit((unsigned char)*p) && *p)
            bench_die(text, "is no shape");
    }
}

static void run_table(const char *path, const char *glob, const char *target)
{
    FILE *file = fopen(path, "r");
    char line[512];
    bool head = true;

    if (!file)
        bench_die(path, "cannot be opened");
    while (fgets(line, sizeof(line), file)) {
        char *rest = line, *kernel = field(&rest), *layout = field(&rest);
        char *text = field(&rest), *asked = field(&rest);
        struct shape s;

        field(&rest); /* the family, for readers */

        if (kernel[0] == '#' || head) {
            head = head && kernel[0] == '#';
            continue;
        }
        if (fnmatch(glob, kernel, 0) != 0)
            continue;
        put_shape(&s, kernel, layout, text);
        alone = strcmp(field(&rest), "alone") == 0;
        run(target, &s, asked);
    }
    (void)fclose(file);
}

static void find_simulator(void)
{
    int n;
    void *hip;

    check(kpk_device_count(&n));
    hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    if (hip) {
        *(void **)&sim.get = dlsym(hip, "kpkSimGetStats");
        *(void **)&sim.reset = dlsym(hip, "kpkSimResetStats");
        *(void **)&sim.config = dlsym(hip, "kpkSimConfig");
    }
    if (!sim.get || !sim.reset || !sim.config)
        bench_die("this is no simulated GPU",
                  "run it with LD_LIBRARY_PATH=build/sim");
    sim.config()->bounds = true;
}

static void print_head(void)
{
    printf(
        "target,kernel,layout,shape,launched,bound_us,matrix,valu,trans,salu,"
        "lds,cache,dram,atomics,moved,conflicts,waves,flight,needed,dies\n");
}

int main(int argc, char **argv)
{
    int ndevices;

    if (argc < 2) {
        fprintf(stderr, "usage: bench-bounds TABLE.csv [GLOB]\n");
        return 2;
    }
    find_simulator();
    print_head();
    check(kpk_device_count(&ndevices));
    for (int i = 0; i < ndevices; i++) {
        kpk_device device;
        char target[64];

        check(kpk_device_get(i, &device));
        snprintf(target, sizeof(target), "%.*s",
                 (int)strcspn(device.target, ":"), device.target);
        if (!sim_card_of(target))
            bench_die(target, "no card stands for it: src/sim/base/cards.c");
        check(kpk_open(&kpk_candle, i, &gpu));
        run_table(argv[1], argc > 2 ? argv[2] : "*", target);
        check(kpk_close(gpu));
    }
    return 0;
}
