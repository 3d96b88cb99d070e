/* shapes.c - times the launches of shapes.csv, one's own kernels and others'
 *
 * A shape's launches are recorded as one CUDA graph, each with memory of its
 * own, so that neither the host's part of a launch nor what the launch before
 * left in the L2 is measured; weights rotate through several times the L2.
 * Columns that weights are multiplied with are the same for all launches of a
 * shape: the launch before has read them, so they lie in the L2, as they do in
 * a model, whose launch before has written them. The graphs of all folders run
 * in turn, forth and back. An event's time is a whole microsecond, so the mean
 * of the middle half of their times is taken: of 64 launches it is finer than a
 * hundredth of the shortest.
 */
#include "shapes.h"
#include "bench_cuda.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FOLDERS = 8,
    MAX_MODULES = 64,
    MAX_CELLS = 4096,
    LAUNCHES = 64,     /* least launches in a graph */
    FEW_LAUNCHES = 16, /* bound by arithmetic */
    MAX_LAUNCHES = 1024,
    RUNS = 24,
    DECODE = 8 /* tokens, at most */
};
static const uint64_t POOL = UINT64_C(5) << 30;
static const uint64_t ROTATED = UINT64_C(192) << 20; /* weights of a graph */

/* ---- memory ---- */

static struct {
    CUdeviceptr base;
    uint64_t used, kept; /* from the front, from the back */
    unsigned turn;
} pool;

unsigned shape_turn(void)
{
    return pool.turn;
}

static uint64_t rounded(uint64_t nbytes)
{
    return (nbytes + 511) / 512 * 512;
}

uint64_t shape_memory(uint64_t nbytes)
{
    const uint64_t at = pool.used;

    pool.used += rounded(nbytes);
    if (pool.used + pool.kept > POOL)
        bench_die("shapes", "a launch needs more memory than there is");
    return pool.base + at;
}

uint64_t shape_kept(uint64_t nbytes)
{
    pool.kept += rounded(nbytes);
    if (pool.used + pool.kept > POOL)
        bench_die("shapes", "a table needs more memory than there is");
    return pool.base + POOL - pool.kept;
}

uint64_t shape_upload(const void *data, size_t nbytes)
{
    const CUdeviceptr p = shape_memory(nbytes);

    if (pool.base)
        BENCH_CHECK(cuda.cuMemcpyHtoD(p, data, nbytes));
    return p;
}

/* f32 from 0.0078 to 0.031, f16 from 1 to 1.25, bf16 and f64 small. */
static void fill_pool(void)
{
    enum { N = 1 << 20 };
    uint32_t *words = malloc(N * sizeof(*words));
    uint64_t done = N * sizeof(*words);

    if (!words)
        bench_die("shapes", "out of memory");
    for (size_t i = 0; i < N; i++)
        words[i] = 0x3c003c00u | (bench_next_random() & 0x00ff00ffu);
    BENCH_CHECK(cuda.cuMemAlloc(&pool.base, POOL));
    BENCH_CHECK(cuda.cuMemcpyHtoD(pool.base, words, done));
    for (; done < POOL; done *= 2)
        BENCH_CHECK(cuda.cuMemcpyDtoD(pool.base + done, pool.base,
                                      done < POOL - done ? done : POOL - done));
    free(words);
}

/* ---- kernels ---- */

struct folder {
    const char *path;
    CUmodule modules[MAX_MODULES];
    unsigned nmodules;
};

static void load_folder(struct folder *f, const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    if (!dir)
        bench_die(path, "no such folder of cubins");
    f->path = path;
    while ((entry = readdir(dir)) != NULL) {
        char file[1024];

        if (fnmatch("*.cubin", entry->d_name, 0) != 0)
            continue;
        if (f->nmodules == MAX_MODULES)
            bench_die(path, "too many cubins");
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        BENCH_CHECK(cuda.cuModuleLoad(&f->modules[f->nmodules++], file));
    }
    closedir(dir);
}

/* NULL if no cubin of the folder has it. */
static CUfunction find_kernel(const struct folder *f, const char *name)
{
    CUfunction found;

    for (unsigned i = 0; i < f->nmodules; i++)
        if (cuda.cuModuleGetFunction(&found, f->modules[i], name) == 0)
            return found;
    return NULL;
}

/* ---- graphs ---- */

static CUstream stream;
static CUevent start, stop;

static CUgraphExec record(CUfunction f, const struct bench_launch *launches,
                          unsigned n)
{
    CUgraph graph;
    CUgraphExec exec;

    BENCH_CHECK(cuda.cuStreamBeginCapture(stream, 2)); /* relaxed */
    for (unsigned i = 0; i < n; i++) {
        const struct bench_launch *l = &launches[i];
        void *args[BENCH_MAX_ARGS];

        for (unsigned a = 0; a < l->nargs; a++)
            args[a] = (void *)&l->args[a];
        BENCH_CHECK(cuda.cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2],
                                        l->block[0], l->block[1], l->block[2],
                                        l->shared_nbytes, stream, args, NULL));
    }
    BENCH_CHECK(cuda.cuStreamEndCapture(stream, &graph));
    BENCH_CHECK(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
    BENCH_CHECK(cuda.cuGraphDestroy(graph));
    return exec;
}

/* microseconds per launch, for n launches */
static float time_graph(CUgraphExec exec, unsigned n)
{
    float ms;

    BENCH_CHECK(cuda.cuEventRecord(start, stream));
    BENCH_CHECK(cuda.cuGraphLaunch(exec, stream));
    BENCH_CHECK(cuda.cuEventRecord(stop, stream));
    BENCH_CHECK(cuda.cuEventSynchronize(stop));
    BENCH_CHECK(cuda.cuEventElapsedTime(&ms, start, stop));
    return ms * 1000 / (float)n;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float middle_of(float (*us)[RUNS])
{
    float sum = 0;

    qsort(*us, RUNS, sizeof((*us)[0]), by_value);
    for (int i = RUNS / 4; i < RUNS * 3 / 4; i++)
        sum += (*us)[i];
    return sum / (RUNS / 2);
}

/* The launches of a shape; their number. */
static unsigned prepare(const struct shape_family *family,
                        const struct shape *shape,
                        struct bench_launch *launches)
{
    unsigned n = LAUNCHES;
    uint64_t each = 0; /* bytes of a launch */

    pool.used = 0;
    for (pool.turn = 0; pool.turn < n; pool.turn++) {
        const struct bench_launch empty = {.grid = {1, 1, 1},
                                           .block = {1, 1, 1}};
        struct shape_use use = {0};

        if (pool.used + each + pool.kept > POOL)
            pool.used = 0; /* share with the first launches */
        pool.kept = 0;
        launches[pool.turn] = empty;
        family->prepare(&launches[pool.turn], &use, shape);
        if (pool.turn > 0)
            continue;
        each = pool.used;
        if (launches[0].nops > 0)
            n = FEW_LAUNCHES;
        else if (use.weight_nbytes > 0 && ROTATED / use.weight_nbytes > n)
            n = (unsigned)(ROTATED / use.weight_nbytes);
        if (n > MAX_LAUNCHES)
            n = MAX_LAUNCHES;
    }
    return n;
}

/* ---- the table ---- */

/* The columns of a line of the CSV, cut in place; their number. */
static unsigned cut(char *line, char *cell[], unsigned most)
{
    unsigned n = 0;

    line[strcspn(line, "\r\n")] = 0;
    while (n < most) {
        cell[n++] = line;
        line += strcspn(line, ",");
        if (*line == 0)
            break;
        *line++ = 0;
    }
    return n;
}

/* Sizes like 32tx512; false if it is no such thing. */
static int parse_sizes(struct shape *s, const char *text, unsigned *count)
{
    char *to = s->text;

    *count = 0;
    for (;; text++) {
        char *end;
        uint64_t n = strtoull(text, &end, 10);

        if (end == text)
            n = 1;
        if (*end == 't')
            n *= s->tokens, end++;
        else if (end == text)
            return 0;
        if (*count == SHAPE_MAX_SIZES || n == 0)
            return 0;
        s->n[(*count)++] = n;
        to += snprintf(to, (size_t)(s->text + sizeof(s->text) - to), "%s%llu",
                       *count > 1 ? "x" : "", (unsigned long long)n);
        text = end;
        if (*text == 0)
            return 1;
        if (*text != 'x')
            return 0;
    }
}

static struct {
    unsigned tokens;
    float ratio[MAX_FOLDERS]; /* 0: the folder lacks the kernel */
    char name[144];
} cells[MAX_CELLS];
static unsigned ncells;

static void time_shape(const struct shape_family *family,
                       const struct shape *shape, const struct folder *folders,
                       unsigned nfolders)
{
    static struct bench_launch launches[MAX_LAUNCHES];
    CUgraphExec graph[MAX_FOLDERS] = {NULL};
    float us[MAX_FOLDERS][RUNS], mean[MAX_FOLDERS];
    const unsigned n = prepare(family, shape, launches);

    printf("%-30s %-8s %-20s %6u", shape->kernel, shape->layout, shape->text,
           shape->tokens);
    for (unsigned i = 0; i < nfolders; i++) {
        CUfunction f = find_kernel(&folders[i], shape->kernel);

        if (f)
            graph[i] = record(f, launches, n);
    }
    for (int run = -2; run < RUNS; run++)
        for (unsigned k = 0; k < nfolders; k++) {
            const unsigned i = run % 2 ? nfolders - 1 - k : k;

            if (graph[i])
                us[i][run < 0 ? 0 : run] = time_graph(graph[i], n);
        }
    if (ncells == MAX_CELLS)
        bench_die("shapes", "too many cells");
    cells[ncells].tokens = shape->tokens;
    snprintf(cells[ncells].name, sizeof(cells[ncells].name), "%s %s %s",
             shape->kernel, shape->layout, shape->text);
    for (unsigned i = 0; i < nfolders; i++) {
        if (!graph[i]) {
            printf("         -%s", i ? "      -" : "");
            continue;
        }
        BENCH_CHECK(cuda.cuGraphExecDestroy(graph[i]));
        mean[i] = middle_of(&us[i]);
        printf(" %9.3f", (double)mean[i]);
        if (i > 0 && graph[0]) {
            cells[ncells].ratio[i] = mean[i] / mean[0];
            printf(" %6.3f", (double)cells[ncells].ratio[i]);
        }
    }
    if (graph[0])
        printf(" %8.0f GB/s", launches[0].nbytes / mean[0] / 1e3);
    printf("\n");
    fflush(stdout);
    ncells++;
}

struct run {
    const struct folder *folders; /* none: the launch is listed, not timed */
    unsigned nfolders;
};

static void list_shape(const struct shape_family *family,
                       const struct shape *shape)
{
    struct bench_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    struct shape_use use = {0};

    pool.used = pool.kept = pool.turn = 0;
    family->prepare(&l, &use, shape);
    printf("%s,%u,%u %u %u,%u %u %u\n", shape->kernel, l.nargs, l.grid[0],
           l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2]);
}

/* Times the row with each number of tokens. */
static void run_row(const char *where, char *cell[], const struct run *run)
{
    for (char *tokens = cell[3]; *tokens;) {
        struct shape s = {.tokens = (unsigned)strtoul(tokens, &tokens, 10)};
        const struct shape_family *family;
        unsigned count;

        while (*tokens == ' ')
            tokens++;
        snprintf(s.kernel, sizeof(s.kernel), "%s", cell[0]);
        if (fnmatch("*_cuda", cell[0], 0) == 0 &&
            strncmp(cell[0], "dequantize_", 11) != 0) /* by columns */
            snprintf(s.kernel, sizeof(s.kernel), "%.60s%u", cell[0], s.tokens);
        snprintf(s.layout, sizeof(s.layout), "%s", cell[1]);
        family = shape_family_of(s.kernel);
        if (!family)
            bench_die(where, "no family of shapes_launch.c has the kernel");
        if (!parse_sizes(&s, cell[2], &count) || count < family->nsizes)
            bench_die(where, "the shape is not what the family takes");
        if (run->nfolders)
            time_shape(family, &s, run->folders, run->nfolders);
        else
            list_shape(family, &s);
    }
}

static void run_table(const char *table, const char *glob,
                      const struct run *run)
{
    FILE *file = fopen(table, "r");
    char line[512];
    unsigned number = 0;

    if (!file)
        bench_die(table, "cannot be read");
    while (fgets(line, sizeof(line), file)) {
        char where[600], *cell[6];

        snprintf(where, sizeof(where), "%s:%u", table, ++number);
        if (line[0] == '#' || strncmp(line, "kernel,", 7) == 0)
            continue;
        if (cut(line, cell, 6) != 6)
            bench_die(where, "6 columns wanted");
        if (fnmatch(glob, cell[0], 0) == 0)
            run_row(where, cell, run);
    }
    (void)fclose(file);
}

/* Cells against folder i: how many are below 1, and the geometric mean. */
static void summarize(unsigned i, const char *path)
{
    static const struct {
        const char *name;
        unsigned least, most;
    } parts[] = {{"decode (1 to 8 tokens)", 1, DECODE},
                 {"more tokens, and images", DECODE + 1, ~0u}};

    for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
        unsigned n = 0, below = 0;
        double logs = 0;

        for (unsigned c = 0; c < ncells; c++) {
            const float ratio = cells[c].ratio[i];

            if (ratio <= 0 || cells[c].tokens < parts[p].least ||
                cells[c].tokens > parts[p].most)
                continue;
            n++;
            below += ratio < 1;
            logs += log((double)ratio);
        }
        if (n > 0)
            printf("%s, %s: %u cells, %u below 1, geometric mean %.3f\n", path,
                   parts[p].name, n, below, exp(logs / n));
    }
    for (unsigned c = 0; c < ncells; c++)
        if (cells[c].ratio[i] > 0 && cells[c].ratio[i] < 1)
            printf("  %.3f  %s\n", (double)cells[c].ratio[i], cells[c].name);
}

int bench_list_shapes(const char *table)
{
    const struct run run = {NULL, 0};

    run_table(table, "*", &run);
    return 0;
}

int bench_shapes(const char *table, const char *glob, const char *const *paths,
                 unsigned nfolders)
{
    static struct folder folders[MAX_FOLDERS];
    const struct run run = {folders, nfolders};

    if (nfolders > MAX_FOLDERS)
        bench_die("shapes", "too many folders of cubins");
    for (unsigned i = 0; i < nfolders; i++)
        load_folder(&folders[i], paths[i]);
    fill_pool();
    BENCH_CHECK(cuda.cuStreamCreate(&stream, 1)); /* apart from the default */
    BENCH_CHECK(cuda.cuEventCreate(&start, 0));
    BENCH_CHECK(cuda.cuEventCreate(&stop, 0));
    printf(
        "in the L2 when a launch begins: columns that weights are multiplied "
        "with, no other input\n");
    printf("%-30s %-8s %-20s %6s %9s", "kernel", "layout", "shape", "tokens",
           "us");
    for (unsigned i = 1; i < nfolders; i++) {
        const char *slash = strrchr(paths[i], '/');

        printf(" %9.9s  ratio", slash ? slash + 1 : paths[i]);
    }
    printf("\n");
    run_table(table, glob, &run);
    for (unsigned i = 1; i < nfolders; i++)
        summarize(i, paths[i]);
    return 0;
}
