/* coverage.c - lists the instructions of each target that the simulator knows
 *
 *     coverage EXECUTED >COVERAGE.md
 *
 * LLVM's libraries do not give out its tables, but its disassembler can be
 * asked. Words are made from every value of their upper half and several of the
 * lower, with operands that most encodings accept. The mnemonics that
 * come out are LLVM's. EXECUTED lists the instructions that tests ran, in lines
 * of "PROCESSOR MNEMONIC" (KPK_SIM_COVERAGE).
 */
#include "sim/isa/decode.h"
#include "sim/isa/insn_rows.h"
#include "sim/isa/parse.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 4096, NUM_WORDS = 5 };

static const char *const processors[] = {
    "gfx900",  "gfx906",  "gfx908",  "gfx90a",  "gfx942",  "gfx950", "gfx1010",
    "gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1201", "gfx1250"};
enum { NUM_PROCESSORS = sizeof(processors) / sizeof(processors[0]) };

/* Graphics: images, exports, interpolation, typed buffers, ray tracing,
 * geometry's counters, debuggers' traps, forks of waves. */
static const char *const not_compute[] = {
    "image_",
    "exp",
    "v_interp",
    "tbuffer_",
    "lds_param",
    "lds_direct",
    "ds_param",
    "ds_direct",
    "ds_ordered",
    "ds_bvh",
    "v_screen",
    "buffer_gl",
    "s_rfe",
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "v_illegal",
    "v_mfma_ld_scale" /* the first half of v_mfma_scale */};
static const char *const not_compute_parts[] = {"_format", "_ordered_",
                                                "_gs_reg_"};

static bool is_compute(const char *name)
{
    for (size_t i = 0; i < sizeof(not_compute) / sizeof(not_compute[0]); i++)
        if (strncmp(name, not_compute[i], strlen(not_compute[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof(not_compute_parts) / sizeof(char *); i++)
        if (strstr(name, not_compute_parts[i]))
            return false;
    return true;
}

/* ---- LLVM's instructions ---- */

struct list {
    char *name[MAX_NAMES]; /* in order of appearance, later sorted */
    size_t n;
    char *hashed[4 * MAX_NAMES];
};

static char **find(const struct list *list, const char *name)
{
    uint32_t h = 2166136261u;

    for (const char *p = name; *p; p++)
        h = (h ^ (uint8_t)*p) * 16777619u;
    h %= 4 * MAX_NAMES;
    while (list->hashed[h] && strcmp(list->hashed[h], name) != 0)
        h = (h + 1) % (4 * MAX_NAMES);
    return (char **)&list->hashed[h];
}

static bool in_list(const struct list *list, const char *name)
{
    return *find(list, name) != NULL;
}

/* Adds a name to the list. False if the list has it already. */
static bool add_name(struct list *list, const char *name)
{
    char **slot = find(list, name);

    if (!*name || *slot)
        return false;
    *slot = list->n < MAX_NAMES ? strdup(name) : NULL;
    if (!*slot) {
        fprintf(stderr, "coverage: more than %d mnemonics\n", MAX_NAMES);
        exit(1);
    }
    list->name[list->n++] = *slot;
    return true;
}

static uint32_t next_random(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (uint32_t)(x >> 16);
}

/* LLVM's printer reads past its tables for some impossible operands. */
static sigjmp_buf escape;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(escape, 1);
}

/* Words that gave a new mnemonic on some processor: its kin may have it too,
 * where chance has not hit upon it. */
static struct {
    uint32_t words[8 * MAX_NAMES][NUM_WORDS];
    size_t n;
} hits;

static void disassemble(LLVMDisasmContextRef context, struct list *list,
                        uint32_t words[NUM_WORDS])
{
    char text[512], name[MAX_NAME], *second;

    if (sigsetjmp(escape, 0))
        return;
    if (!LLVMDisasmInstruction(context, (uint8_t *)words, sizeof(hits.words[0]),
                               0, text, sizeof(text)))
        return;
    second = strstr(text, " :: ");
    sim_parse_mnemonic(text, name);
    if (is_compute(name) && add_name(list, name) &&
        hits.n < sizeof(hits.words) / sizeof(hits.words[0]))
        memcpy(hits.words[hits.n++], words, sizeof(hits.words[0]));
    if (second) {
        sim_parse_mnemonic(second + 4, name);
        add_name(list, name);
    }
}

/*
 * The rest of a word whose upper half is given: lower halves with the op_sel_hi
 * and destination masks that packed and matrix encodings insist on, each with
 * second words of vector registers (with and without op_sel_hi) and of zeros;
 * then random ones.
 */
enum { PLAIN = 8, SECONDS = 3, TRIES = PLAIN * SECONDS + 16 };

static void fill(uint32_t words[NUM_WORDS], uint32_t top, unsigned n)
{
    static const uint16_t plain[PLAIN] = {0x0000, 0x4000, 0x4400, 0x4800,
                                          0x0800, 0x6000, 0x0010, 0x8000};
    const uint32_t even =
        0x100 | 4 | (0x100 | 12) << 9 | (uint32_t)(0x100 | 20) << 18;
    const uint32_t second[SECONDS] = {even | 0x18000000, even, 0};
    bool random = n >= PLAIN * SECONDS;

    words[0] = top << 16 | (random ? next_random() & 0xffff : plain[n % PLAIN]);
    words[1] = random ? next_random() & (n & 1 ? 0x07ffffff : UINT32_MAX)
                      : second[n / PLAIN];
    for (unsigned k = 2; k < NUM_WORDS; k++)
        words[k] = next_random();
}

static LLVMDisasmContextRef open_disassembler(const char *processor)
{
    bool gfx9 = strncmp(processor, "gfx9", 4) == 0;
    bool true16 = !gfx9 && strncmp(processor, "gfx10", 5) != 0;

    return LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", processor,
                                       gfx9 ? ""
                                       : true16
                                           ? "+wavefrontsize32,+real-true16"
                                           : "+wavefrontsize32",
                                       NULL, 0, NULL, NULL);
}

static void scan(const char *processor, struct list *list)
{
    /* A prefix that loads the scales, then the matrix instruction. */
    static const uint32_t scaled[2][4] = {
        {0xd3ac0000, 0x00023318, 0xd3ad0800, 0x04521904},
        {0xd3ac0000, 0x00023318, 0xd3ae0800, 0x04021904}};
    LLVMDisasmContextRef context = open_disassembler(processor);
    uint32_t words[NUM_WORDS];

    for (uint32_t top = 0; top < 0x10000; top++)
        for (unsigned n = 0; n < TRIES; n++) {
            fill(words, top, n);
            disassemble(context, list, words);
        }
    for (unsigned n = 0; n < 2; n++) {
        memcpy(words, scaled[n], sizeof(scaled[n]));
        words[4] = 0;
        disassemble(context, list, words);
    }
    LLVMDisasmDispose(context);
}

static void scan_hits(const char *processor, struct list *list)
{
    LLVMDisasmContextRef context = open_disassembler(processor);
    size_t n = hits.n;

    for (size_t i = 0; i < n; i++)
        disassemble(context, list, hits.words[i]);
    LLVMDisasmDispose(context);
}

/* ---- the table ---- */

static void read_executed(const char *path,
                          struct list executed[NUM_PROCESSORS])
{
    FILE *file = fopen(path, "r");
    char processor[32], name[MAX_NAME];

    if (!file) {
        perror(path);
        exit(1);
    }
    while (fscanf(file, "%31s %47s", processor, name) == 2)
        for (size_t p = 0; p < NUM_PROCESSORS; p++)
            if (strcmp(processors[p], processor) == 0)
                add_name(&executed[p], name);
    if (fclose(file) != 0)
        perror(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_known(const char *processor, const char *name)
{
    char gfx9_name[MAX_NAME + 8];

    if (strncmp(processor, "gfx9", 4) != 0 || strncmp(name, "v_cmpx_", 7) != 0)
        return sim_row_find(name);
    snprintf(gfx9_name, sizeof(gfx9_name), "gfx9_%s", name);
    return sim_row_find(gfx9_name);
}

enum question { NOT_IN_TABLES, NEVER_RUN };

/* The processors whose answer is yes, one bit each. */
static unsigned where(enum question question, const char *name,
                      const struct list llvm[NUM_PROCESSORS],
                      const struct list executed[NUM_PROCESSORS])
{
    unsigned mask = 0;
    bool ran = false;

    for (size_t p = 0; p < NUM_PROCESSORS; p++) {
        ran = ran || in_list(&executed[p], name);
        if (in_list(&llvm[p], name) &&
            is_known(processors[p], name) == (question == NEVER_RUN))
            mask |= 1u << p;
    }
    return question == NEVER_RUN && ran ? 0 : mask;
}

static void print_group(enum question question, unsigned mask,
                        const struct list *all,
                        const struct list llvm[NUM_PROCESSORS],
                        const struct list executed[NUM_PROCESSORS])
{
    int column = 0;

    printf("\n");
    for (size_t p = 0; p < NUM_PROCESSORS; p++)
        if (mask >> p & 1)
            printf("%s ", processors[p]);
    printf("\n\n```\n");
    for (size_t i = 0; i < all->n; i++) {
        const char *name = all->name[i];
        int n = (int)strlen(name) + 1;

        if (where(question, name, llvm, executed) != mask)
            continue;
        if (column + n > 100) {
            putchar('\n');
            column = 0;
        }
        column += printf("%s%s", column ? " " : "", name);
    }
    printf("\n```\n");
}

/* Mnemonics with the same answer everywhere stand together. */
static void print_question(enum question question, const struct list *all,
                           const struct list llvm[NUM_PROCESSORS],
                           const struct list executed[NUM_PROCESSORS])
{
    static bool seen[1 << NUM_PROCESSORS];

    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < all->n; i++) {
        unsigned mask = where(question, all->name[i], llvm, executed);

        if (mask && !seen[mask])
            print_group(question, mask, all, llvm, executed);
        seen[mask] = true;
    }
}

int main(int argc, char **argv)
{
    static struct list llvm[NUM_PROCESSORS], executed[NUM_PROCESSORS], all;
    struct sigaction fault = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

    if (argc != 2) {
        fprintf(stderr, "usage: coverage EXECUTED >COVERAGE.md\n");
        return 2;
    }
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    sigaction(SIGSEGV, &fault, NULL);
    read_executed(argv[1], executed);
    for (size_t p = 0; p < NUM_PROCESSORS; p++)
        scan(processors[p], &llvm[p]);
    for (size_t p = 0; p < NUM_PROCESSORS; p++) {
        scan_hits(processors[p], &llvm[p]);
        for (size_t i = 0; i < llvm[p].n; i++)
            add_name(&all, llvm[p].name[i]);
    }
    qsort(all.name, all.n, sizeof(char *), by_name);
    signal(SIGSEGV, SIG_DFL);

    puts("# Instructions that the simulated GPU knows\n\n"
         "Made by `make coverage`; do not edit. Of the mnemonics that LLVM's "
         "disassembler knows for a\nprocessor, without graphics: how many the "
         "tables hold, and how many the tests in `tests/sim`\nhave run on it. "
         "An instruction that is not in the tables stops a kernel with an "
         "error that names it.\n\n"
         "| processor | LLVM | in the tables | run by a test |\n"
         "|---|---|---|---|");
    for (size_t p = 0; p < NUM_PROCESSORS; p++) {
        size_t known = 0, ran = 0;

        for (size_t i = 0; i < llvm[p].n; i++) {
            known += is_known(processors[p], llvm[p].name[i]);
            ran += in_list(&executed[p], llvm[p].name[i]);
        }
        printf("| %s | %zu | %zu | %zu |\n", processors[p], llvm[p].n, known,
               ran);
    }
    puts("\n## Not in the tables");
    print_question(NOT_IN_TABLES, &all, llvm, executed);
    puts("\n## In the tables, run by no test on any processor");
    print_question(NEVER_RUN, &all, llvm, executed);
    return 0;
}
