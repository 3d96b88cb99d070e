/* harness.c - opens the module on each device and runs the rows there */
#include "harness.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of a row, on the host or on the device; freed after the row. */
struct kt_memory {
    struct kt_memory *next;
    void *host;
    void *device;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

static struct kt_memory *remember(struct kt *t)
{
    struct kt_memory *m = calloc(1, sizeof(*m));

    if (!m)
        die("kernel test", "out of memory");
    m->next = t->memory;
    t->memory = m;
    return m;
}

static void forget_all(struct kt *t)
{
    while (t->memory) {
        struct kt_memory *m = t->memory;

        t->memory = m->next;
        free(m->host);
        if (m->device && kpk_free(t->inst, m->device) != KPK_OK)
            kt_fail(t, "%s", kpk_error_message());
        free(m);
    }
}

void *kt_alloc(struct kt *t, size_t nbytes)
{
    struct kt_memory *m = remember(t);

    m->host = calloc(nbytes ? nbytes : 1, 1);
    if (!m->host)
        die("kernel test", "out of memory");
    return m->host;
}

bool kt_turn(struct kt *t)
{
    /* rows of a type may be as far apart as a multiple of the devices */
    const size_t row = t->row + t->row / t->turns;

    t->call = 0;
    return (row + t->which++) % t->turns == t->turn || t->every_case;
}

static struct kt_shared *find_shared(const struct kt *t)
{
    struct kt_shared *s = *t->shared;

    while (s && (s->which != t->which || s->call != t->call))
        s = s->next;
    return s;
}

struct kt_shared *kt_shared(struct kt *t, size_t nbytes)
{
    struct kt_shared *s = find_shared(t);

    if (!s) {
        s = calloc(1, sizeof(*s));
        if (s)
            s->data = calloc(nbytes ? nbytes : 1, 1);
        if (!s || !s->data)
            die("kernel test", "out of memory");
        *s = (struct kt_shared){*t->shared, t->which, t->call,
                                nbytes,     s->data,  false};
        *t->shared = s;
    }
    if (s->nbytes != nbytes)
        die(t->symbol, "its cases are not the same on all devices");
    t->call++;
    return s;
}

static void forget_shared(struct kt_shared *s)
{
    while (s) {
        struct kt_shared *next = s->next;

        free(s->data);
        free(s);
        s = next;
    }
}

void kt_fail(struct kt *t, const char *format, ...)
{
    va_list ap;

    t->failures++;
    printf("FAIL %s %s %s: ", t->symbol, t->target, t->what ? t->what : "");
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

void kt_write(struct kt *t, void *device, const void *host, size_t nbytes)
{
    if (nbytes && kpk_copy_to(t->inst, device, host, nbytes) != KPK_OK)
        die("copy to the device", kpk_error_message());
}

void kt_read(struct kt *t, void *host, const void *device, size_t nbytes)
{
    if (nbytes && kpk_copy_from(t->inst, host, device, nbytes) != KPK_OK)
        kt_fail(t, "reading the result: %s", kpk_error_message());
}

void *kt_device(struct kt *t, const void *host, size_t nbytes, size_t lead)
{
    const size_t total = nbytes + lead;
    struct kt_memory *m = remember(t);

    /* An empty buffer still is a pointer: of one byte that no kernel may use.
     * It holds a pattern, so that what a kernel leaves alone can be told. */
    if (kpk_malloc(t->inst, total ? total : 1, &m->device) != KPK_OK)
        die("device memory", kpk_error_message());
    if (kpk_fill(t->inst, m->device, 0xA5, total ? total : 1) != KPK_OK)
        die("device memory", kpk_error_message());
    if (host)
        kt_write(t, (char *)m->device + lead, host, nbytes);
    return (char *)m->device + lead;
}

bool kt_is_simulated(void)
{
    return getenv("KPK_SIM_DEVICES") != NULL;
}

/* Memory available without swapping; 0 if unknown. */
static size_t available_memory(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    unsigned long kib = 0;
    char line[128];

    while (f && kib == 0 && fgets(line, sizeof(line), f))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kib = strtoul(line + 13, NULL, 10);
    if (f)
        (void)fclose(f);
    return (size_t)kib * 1024;
}

static void leave_out(const struct kt *t, size_t nbytes, const char *why)
{
    printf("%s %s %s: left out, it takes %zu MiB: %s\n", t->symbol, t->target,
           t->what, nbytes >> 20, why);
}

bool kt_device_holds(struct kt *t, size_t nbytes)
{
    const bool holds = nbytes <= kpk_instance_device(t->inst)->memory_nbytes;

    if (!holds)
        leave_out(t, nbytes, "the device has less memory");
    return holds;
}

void *kt_large_device(struct kt *t, size_t nbytes)
{
    /* For the system, and for a test that runs beside this one and is about to
     * fill its largest buffer. */
    const size_t reserve = (size_t)4 << 30;
    /* Watching for races takes 40 bytes for each byte that kernels touch. */
    const size_t most = getenv("KPK_SIM_RACES") ? 41 * nbytes : nbytes;
    const char *why = "the machine has not so much memory left";
    void *p = NULL;

    if (!kt_is_simulated() || available_memory() > most + reserve) {
        why = kpk_malloc(t->inst, nbytes, &p) ? kpk_error_message() : NULL;
        if (!why)
            remember(t)->device = p;
    }
    if (why)
        leave_out(t, nbytes, why);
    return p;
}

const size_t *kt_info(struct kt *t, size_t n,
                      const struct kt_layout *const *layouts)
{
    const size_t rank = layouts[0]->rank;
    uint64_t info[KT_MAX_RANK * 8];
    size_t used = 0;

    if (rank == 0)
        return NULL;
    if ((n + 1) * rank > sizeof(info) / sizeof(info[0]))
        die("kt_info", "too many layouts");
    for (size_t d = 0; d < rank; d++)
        info[used++] = layouts[0]->dims[d];
    for (size_t k = 0; k < n; k++)
        for (size_t d = 0; d < rank; d++)
            info[used++] = layouts[k]->strides[d];
    return kt_device(t, info, used * sizeof(info[0]), 0);
}

bool kt_launch(struct kt *t, const unsigned grid[3], const unsigned block[3],
               size_t shared_nbytes, const kpk_arg *args, size_t nargs)
{
    const kpk_kernel *kernel;
    kpk_launch_options options = {.cluster = {t->cluster}};

    for (int i = 0; i < 3; i++) {
        options.shape.grid[i] = grid[i];
        options.shape.block[i] = block[i];
    }
    options.shape.shared_nbytes = (uint32_t)shared_nbytes;
    if (kpk_kernel_get(t->inst, t->symbol, &kernel) != KPK_OK ||
        kpk_launch_ex(kernel, &options, args, nargs) != KPK_OK ||
        kpk_sync(t->inst, NULL) != KPK_OK) {
        kt_fail(t, "%s", kpk_error_message());
        return false;
    }
    return true;
}

/* ---- the program ---- */

struct options {
    const char *kernels; /* glob */
    const char *device;  /* ordinal or processor, NULL for all */
    size_t every;        /* test each such row; 1: every row */
    size_t first;        /* number of the first row */
    bool every_case;     /* on every device */
    bool verbose;
};

static void parse(int argc, char **argv, struct options *o)
{
    *o = (struct options){
        .kernels = "*", .every = 1, .every_case = getenv("FULL") != NULL};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "-k") == 0 && i + 1 < argc)
            o->kernels = argv[++i];
        else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc)
            o->device = argv[++i];
        else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc &&
                 strtoul(argv[i + 1], NULL, 10) > 0)
            o->every = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "-f") == 0 && i + 1 < argc)
            o->first = strtoul(argv[++i], NULL, 10);
        else {
            fprintf(stderr,
                    "usage: %s [-k GLOB] [-d DEVICE] [-s N [-f FIRST]] [-v]\n",
                    argv[0]);
            exit(2);
        }
    }
}

static bool wanted(const struct options *o, int ordinal, const char *target)
{
    char number[16];
    size_t n;

    if (!o->device)
        return true;
    snprintf(number, sizeof(number), "%d", ordinal);
    n = strcspn(target, ":");
    return strcmp(o->device, number) == 0 ||
           (strlen(o->device) == n && strncmp(o->device, target, n) == 0);
}

/* Rows that are asked for must name kernels that exist, and every kernel must
 * have a row. */
static unsigned check_coverage(const kpk_module *module,
                               const struct kt_row *rows, size_t nrows,
                               const struct options *o)
{
    const size_t nkernels = kpk_module_kernel_count(module);
    unsigned missing = 0;
    size_t index;

    for (size_t i = 0; i < nrows; i++)
        if (fnmatch(o->kernels, rows[i].symbol, 0) == 0 &&
            kpk_module_find_kernel(module, rows[i].symbol, &index) != KPK_OK) {
            printf("FAIL %s: %s\n", rows[i].symbol, kpk_error_message());
            missing++;
        }
    for (size_t k = 0; k < nkernels; k++) {
        kpk_kernel_decl decl;
        size_t i = 0;

        if (kpk_module_kernel(module, k, &decl) != KPK_OK)
            die("kernel test", kpk_error_message());
        while (i < nrows && strcmp(rows[i].symbol, decl.name) != 0)
            i++;
        if (i == nrows) {
            printf("FAIL %s: no row tests it\n", decl.name);
            missing++;
        }
    }
    return missing;
}

struct totals {
    unsigned passed, failed;
};

static void run_cases(struct kt *t, const struct kt_row *row, bool every)
{
    t->every_case = every;
    t->which = t->call = 0;
    row->run(t, row);
}

static void run_row(struct kt *t, const struct kt_row *row,
                    const struct options *o, struct totals *totals)
{
    t->symbol = row->symbol;
    t->what = "";
    t->checks = t->failures = 0;
    run_cases(t, row, o->every_case);
    if (t->checks == 0 && t->failures == 0 && t->which > 0) /* no turn */
        run_cases(t, row, true);
    if (t->checks == 0 && t->failures == 0)
        kt_fail(t, "the row checked nothing");
    forget_all(t);
    if (t->failures)
        totals->failed++;
    else
        totals->passed++;
    if (o->verbose)
        printf("%s %s %s: %lu checks\n", t->failures ? "FAIL" : "ok",
               row->symbol, t->target, t->checks);
    fflush(stdout);
}

static void open_device(struct kt *t, int ordinal, const kpk_module *module,
                        const struct options *o)
{
    kpk_device device;

    *t = (struct kt){.device = ordinal};
    if (kpk_device_get(ordinal, &device) != KPK_OK)
        die("device", kpk_error_message());
    if (!wanted(o, ordinal, device.target))
        return;
    snprintf(t->target, sizeof(t->target), "%s", device.target);
    t->wave_size = device.wave_size;
    if (kpk_open_modules(&module, 1, ordinal, &t->inst) != KPK_OK)
        die("open", kpk_error_message());
}

/* Devices of one wave size take turns. */
static void give_turns(struct kt *devices, size_t n)
{
    for (size_t d = 0; d < n; d++)
        for (size_t e = 0; e < n; e++)
            if (devices[e].inst &&
                devices[e].wave_size == devices[d].wave_size) {
                devices[d].turn += e < d;
                devices[d].turns++;
            }
}

int kt_main(int argc, char **argv, const kpk_module *module,
            const struct kt_row *rows, size_t nrows)
{
    struct totals totals = {0, 0};
    struct options options;
    struct kt *device;
    int ndevices;

    parse(argc, argv, &options);
    if (kpk_device_count(&ndevices) != KPK_OK)
        die("devices", kpk_error_message());
    totals.failed = check_coverage(module, rows, nrows, &options);
    device = calloc((size_t)ndevices + 1, sizeof(*device));
    if (!device)
        die("kernel test", "out of memory");
    for (int d = 0; d < ndevices; d++)
        open_device(&device[d], d, module, &options);
    give_turns(device, (size_t)ndevices);
    for (size_t i = options.first; i < nrows; i += options.every) {
        struct kt_shared *shared = NULL;

        if (fnmatch(options.kernels, rows[i].symbol, 0) != 0)
            continue;
        for (int d = 0; d < ndevices; d++) {
            device[d].shared = &shared;
            device[d].row = i;
            if (device[d].inst)
                run_row(&device[d], &rows[i], &options, &totals);
        }
        forget_shared(shared);
    }
    for (int d = 0; d < ndevices; d++)
        if (device[d].inst && kpk_close(device[d].inst) != KPK_OK)
            die("close", kpk_error_message());
    free(device);
    printf("%u passed, %u failed\n", totals.passed, totals.failed);
    return totals.failed || !totals.passed;
}
