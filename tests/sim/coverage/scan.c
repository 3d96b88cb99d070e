/* scan.c - lists instructions of given objects that the simulator cannot run
 *
 *     scan FILE|FOLDER...
 *
 * Reads code objects, bundles of them and whatever has bundles in it (a
 * program's .hip_fatbin), in folders those called *.co and *.hsaco, and follows
 * the code of their kernels. Prints a line for each processor and mnemonic that
 * the simulator cannot run: the number of objects with it, the reason, one of
 * the objects. A last line counts the objects and instructions read. Exit 1 if
 * an instruction cannot run.
 */
#define _GNU_SOURCE /* memmem() */
#include "base/target_table.h"
#include "sim/base/bundle_pick.h"
#include "sim/base/loaded_object.h"
#include "sim/base/loader.h"
#include "sim/isa/code_cache.h"
#include "sim/isa/decode.h"
#include "sim/isa/disassemble.h"
#include "sim/isa/parse.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const processors[] = {
#define X(name, ...) #name,
    KPK_PROCESSOR_TABLE(X)
#undef X
};

/* An instruction that the simulator cannot run on one processor. */
struct missing {
    const struct sim_target *target;
    char name[MAX_NAME], why[128];
    unsigned nobjects;
    char *first, *last; /* objects */
};

static struct {
    struct missing missing[4096];
    unsigned nmissing, nobjects, nkernels, nrefused;
    uint64_t ninsns;
} found;

static void note(const struct sim_target *target, const char *text,
                 const char *object)
{
    struct insn again = {0};
    char name[MAX_NAME], why[128] = "";
    struct missing *m = found.missing;

    if (*text)
        sim_parse_mnemonic(text, name);
    else
        snprintf(name, sizeof(name), "(no instruction)");
    sim_parse(text, target, &again, why);
    free(again.pair);
    while (m < found.missing + found.nmissing &&
           (m->target != target || strcmp(m->name, name) != 0))
        m++;
    if (m == found.missing + sizeof(found.missing) / sizeof(*m))
        return;
    if (m == found.missing + found.nmissing) {
        found.nmissing++;
        *m = (struct missing){.target = target, .first = strdup(object)};
        snprintf(m->name, sizeof(m->name), "%s", name);
        snprintf(m->why, sizeof(m->why), "%s", why);
    }
    if (!m->last || strcmp(m->last, object) != 0) {
        free(m->last);
        m->last = strdup(object);
        m->nobjects++;
    }
}

/* Whether the next instruction may follow this one. */
static bool falls_through(const char *name)
{
    return strcmp(name, "s_branch") != 0 && strcmp(name, "s_endpgm") != 0 &&
           strcmp(name, "s_endpgm_saved") != 0;
}

static bool branches(const char *name)
{
    return strcmp(name, "s_branch") == 0 || strcmp(name, "s_call_b64") == 0 ||
           strncmp(name, "s_cbranch_", 10) == 0;
}

/* Follows the code from `entry` on. Targets of jumps through registers are not
 * known, so the code behind such a jump counts as reached. */
static void scan_code(struct sim_code *code, uint64_t entry, unsigned wave_size,
                      const char *object)
{
    const uint64_t nwords = code->size / 4;
    uint8_t *seen = calloc(nwords, 1);
    uint64_t *todo = calloc(nwords + 1, sizeof(*todo)), n = 0;

    if (!seen || !todo) {
        fprintf(stderr, "scan: no memory for %s\n", object);
        exit(2);
    }
    todo[n++] = (entry - code->base) / 4;
    while (n) {
        uint64_t at = todo[--n];
        bool on = true;

        while (on && at < nwords && !seen[at]) {
            const uint64_t addr = code->base + 4 * at;
            const struct insn *in = sim_decode(code, addr, wave_size);
            char text[256] = "", name[MAX_NAME];

            if (!in)
                exit(2);
            seen[at] = 1;
            found.ninsns++;
            if (!sim_is_runnable(in)) {
                sim_disassemble(code, addr, wave_size, text, sizeof(text));
                note(code->target, text, object);
            }
            snprintf(name, sizeof(name), "%s", in->row ? in->row->name : "");
            at += in->size / 4u;
            on = falls_through(name);
            if (branches(name)) {
                const uint64_t to = at + (uint64_t)(int16_t)in->raw;

                /* Each offset goes to `todo` once at most. */
                if (to < nwords && !seen[to] && n <= nwords)
                    todo[n++] = to;
            }
        }
    }
    free(todo);
    free(seen);
}

/* False if it was not loaded; says so if that is final. */
static bool scan_object(struct sim_device *device, const void *elf, size_t n,
                        const char *name, bool final)
{
    struct sim_code_object *object = NULL;
    char why[256];

    enum sim_load_status st =
        sim_code_object_load(device, elf, n, &object, why);

    if (st != SIM_LOAD_OK) {
        if (st == SIM_LOAD_WRONG_TARGET && !final)
            return false;
        fprintf(stderr, "scan: %s: %s\n", name, why);
        found.nrefused++;
        return true;
    }
    found.nobjects++;
    for (unsigned k = 0; k < object->nkernels; k++) {
        const struct sim_kernel *kernel = &object->kernels[k];
        const struct sim_alloc *a = sim_mem_find(kernel->entry);
        struct sim_code *code = a ? sim_code_of(a, device->target) : NULL;

        found.nkernels++;
        if (code)
            scan_code(code, kernel->entry, kernel->wave_size, name);
    }
    sim_code_object_free(object);
    return true;
}

static bool is_of(const struct sim_target *target, const uint8_t *elf, size_t n)
{
    enum { MACHINE = 18, FLAGS = 48, AMDGPU = 224 };

    return n > 52 && memcmp(elf, "\177ELF", 4) == 0 && elf[MACHINE] == AMDGPU &&
           elf[FLAGS] == target->mach;
}

/* A code object, or each processor's of a bundle, with xnack- and xnack+. */
static bool scan_image(const uint8_t *image, size_t n, const char *name)
{
    const size_t nprocessors = sizeof(processors) / sizeof(processors[0]);
    bool any = false;

    for (size_t k = 0; k < nprocessors; k++) {
        const void *last = NULL;

        for (int xnack = SIM_FEATURE_OFF; xnack <= SIM_FEATURE_ON; xnack++) {
            struct sim_device device = {.target =
                                            sim_target_by_name(processors[k])};
            const void *elf = image;
            void *expanded = NULL;
            size_t nbytes = n;
            char why[256];
            enum sim_bundle_status st;

            if (!device.target) /* not simulated */
                continue;
            if (device.target->has_sramecc)
                device.sramecc = SIM_FEATURE_ON;
            if (device.target->has_xnack)
                device.xnack = (enum sim_feature)xnack;
            st = sim_bundle_pick(&device, image, n, &elf, &nbytes, &expanded,
                                 why);
            if ((st == SIM_BUNDLE_OK ||
                 (st == SIM_BUNDLE_NONE && is_of(device.target, image, n))) &&
                elf != last) {
                /* A code object for the other XNACK setting is scanned then. */
                if (scan_object(&device, elf, nbytes, name,
                                xnack == SIM_FEATURE_ON || expanded))
                    last = elf;
                any = true;
            }
            free(expanded);
            if (expanded && !device.target->has_xnack)
                break;
        }
    }
    return any;
}

static void scan_file(const char *path)
{
    static const char *const magics[] = {"__CLANG_OFFLOAD_BUNDLE__", "CCOB"};
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t n = 0, got;

    if (!f) {
        fprintf(stderr, "scan: %s: cannot be read\n", path);
        found.nrefused++;
        return;
    }
    do {
        uint8_t *more = realloc(bytes, n + (1 << 20));

        if (!more) {
            fprintf(stderr, "scan: no memory for %s\n", path);
            exit(2);
        }
        bytes = more;
        got = fread(bytes + n, 1, 1 << 20, f);
        n += got;
    } while (got);
    (void)fclose(f); /* only read: no error to report */
    if (!scan_image(bytes, n, path))
        for (unsigned k = 0; k < 2; k++) {
            const size_t nmagic = strlen(magics[k]);
            uint8_t *p = bytes;

            while (
                (p = memmem(p, n - (size_t)(p - bytes), magics[k], nmagic))) {
                scan_image(p, n - (size_t)(p - bytes), path);
                p += nmagic;
            }
        }
    free(bytes);
}

static int visit(const char *path, const struct stat *st, int kind,
                 struct FTW *ftw)
{
    const char *dot = strrchr(path, '.');

    (void)st;
    if (kind == FTW_F && (ftw->level == 0 || (dot && (!strcmp(dot, ".co") ||
                                                      !strcmp(dot, ".hsaco")))))
        scan_file(path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: scan FILE|FOLDER...\n");
        return 2;
    }
    for (int k = 1; k < argc; k++)
        if (nftw(argv[k], visit, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "scan: %s: cannot be read\n", argv[k]);
            return 2;
        }
    for (unsigned k = 0; k < found.nmissing; k++) {
        const struct missing *m = &found.missing[k];

        printf("%-8s %-32s %6u objects: %s; %s\n", m->target->name, m->name,
               m->nobjects, m->why, m->first);
    }
    printf(
        "%u objects, %u kernels, %llu instructions; not run: %u; refused: %u "
        "objects\n",
        found.nobjects, found.nkernels, (unsigned long long)found.ninsns,
        found.nmissing, found.nrefused);
    return found.nmissing || found.nrefused || !found.nobjects;
}
