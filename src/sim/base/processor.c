/* processor.c - a card for each processor, and the devices of this process
 *
 * Registers, waves and LDS are target_table.h's; compute units, clocks and
 * caches are those of one well-known product each. The size of memory is the
 * simulator's own choice: enough for tests, small enough to be used up by one
 * on purpose.
 */
#define _GNU_SOURCE
#include "processor.h"

#include "../../base/target_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

#define KiB(n) ((n)*1024u)
#define GiB(n) ((uint64_t)(n) << 30)

/* clang-format off */
/* A product for each processor of target_table.h that is simulated. */
enum {
#define X(gfx, ...) AT_##gfx,
    KPK_PROCESSOR_TABLE(X)
#undef X
        NPROCESSORS
};
#define PRODUCT(cus, mhz, mem_mhz, bits, l2, gib, label)                                      \
    {.name = label, .compute_units = cus, .clock_khz = mhz * 1000u,                           \
     .memory_clock_khz = mem_mhz * 1000u, .memory_bus_bits = bits, .l2_nbytes = l2,           \
     .memory_nbytes = GiB(gib)}
static const struct sim_product products[NPROCESSORS] = {
    /*                       CUs   MHz   mem   bus  L2           GiB name */
    [AT_gfx900]  = PRODUCT( 64, 1500,  945, 2048, KiB(4096),    8, "AMD Radeon Instinct MI25 (simulated)"),
    [AT_gfx902]  = PRODUCT( 11, 1250, 1200,  128, KiB(1024),    4, "AMD Radeon Vega 11 (simulated)"),
    [AT_gfx904]  = PRODUCT( 20, 1300,  700, 1024, KiB(2048),    4, "AMD Radeon Pro Vega 20 (simulated)"),
    [AT_gfx906]  = PRODUCT( 60, 1725, 1000, 4096, KiB(4096),   16, "AMD Instinct MI50 (simulated)"),
    [AT_gfx908]  = PRODUCT(120, 1502, 1200, 4096, KiB(8192),   16, "AMD Instinct MI100 (simulated)"),
    [AT_gfx909]  = PRODUCT(  3, 1200, 1200,  128, KiB(512),     4, "AMD Radeon Vega 3 (simulated)"),
    [AT_gfx90a]  = PRODUCT(104, 1700, 1600, 4096, KiB(8192),   16, "AMD Instinct MI210 (simulated)"),
    [AT_gfx90c]  = PRODUCT(  8, 1900, 1600,  128, KiB(1024),    4, "AMD Radeon Vega 8 (simulated)"),
    [AT_gfx942]  = PRODUCT(304, 2100, 1300, 8192, KiB(4096),   16, "AMD Instinct MI300X (simulated)"),
    [AT_gfx950]  = PRODUCT(256, 2400, 2000, 8192, KiB(4096),   16, "AMD Instinct MI355X (simulated)"),
    [AT_gfx1010] = PRODUCT( 40, 1905,  875,  256, KiB(4096),    8, "AMD Radeon RX 5700 XT (simulated)"),
    [AT_gfx1011] = PRODUCT( 40, 1450, 1000, 2048, KiB(4096),    8, "AMD Radeon Pro V520 (simulated)"),
    [AT_gfx1012] = PRODUCT( 22, 1845,  875,  128, KiB(2048),    4, "AMD Radeon RX 5500 XT (simulated)"),
    [AT_gfx1013] = PRODUCT( 24, 1500,  875,  256, KiB(4096),    4, "AMD BC-250 (simulated)"),
    [AT_gfx1030] = PRODUCT( 80, 2310, 1000,  256, KiB(4096),   16, "AMD Radeon RX 6900 XT (simulated)"),
    [AT_gfx1031] = PRODUCT( 40, 2581, 1000,  192, KiB(3072),   12, "AMD Radeon RX 6700 XT (simulated)"),
    [AT_gfx1032] = PRODUCT( 32, 2589, 1000,  128, KiB(2048),    8, "AMD Radeon RX 6600 XT (simulated)"),
    [AT_gfx1033] = PRODUCT(  8, 1600, 1375,  128, KiB(1024),    4, "AMD Custom GPU 0405 (simulated)"),
    [AT_gfx1034] = PRODUCT( 16, 2815, 1124,   64, KiB(1024),    4, "AMD Radeon RX 6500 XT (simulated)"),
    [AT_gfx1035] = PRODUCT( 12, 2400, 2400,  128, KiB(2048),    4, "AMD Radeon 680M (simulated)"),
    [AT_gfx1036] = PRODUCT(  2, 2200, 2600,  128, KiB(256),     4, "AMD Radeon Graphics (simulated)"),
    [AT_gfx1100] = PRODUCT( 96, 2500, 1250,  384, KiB(6144),   16, "AMD Radeon RX 7900 XTX (simulated)"),
    [AT_gfx1101] = PRODUCT( 60, 2430, 1219,  256, KiB(4096),   16, "AMD Radeon RX 7800 XT (simulated)"),
    [AT_gfx1102] = PRODUCT( 32, 2655, 1124,  128, KiB(2048),    8, "AMD Radeon RX 7600 (simulated)"),
    [AT_gfx1103] = PRODUCT( 12, 2700, 2800,  128, KiB(2048),    4, "AMD Radeon 780M (simulated)"),
    [AT_gfx1150] = PRODUCT( 16, 2900, 2800,  128, KiB(2048),    4, "AMD Radeon 890M (simulated)"),
    [AT_gfx1151] = PRODUCT( 40, 2900, 2000,  256, KiB(2048),   16, "AMD Radeon 8060S (simulated)"),
    [AT_gfx1152] = PRODUCT(  8, 3000, 2800,  128, KiB(1024),    4, "AMD Radeon 860M (simulated)"),
    [AT_gfx1153] = PRODUCT(  4, 2800, 2800,  128, KiB(1024),    4, "AMD Radeon 840M (simulated)"),
    [AT_gfx1200] = PRODUCT( 32, 3320, 1258,  128, KiB(4096),   16, "AMD Radeon RX 9060 XT (simulated)"),
    [AT_gfx1201] = PRODUCT( 64, 2970, 1258,  256, KiB(8192),   16, "AMD Radeon RX 9070 XT (simulated)"),
    [AT_gfx1250] = PRODUCT(256, 2400, 2000, 8192, KiB(4096),   16, "AMD Instinct gfx1250 (simulated)"),
};

/* AGPRs came with CDNA, one file for both kinds of registers and packed
 * work-item IDs with CDNA 2, flat scratch by the architecture with CDNA 3; RDNA
 * has the last two from gfx11 on. CDNA 2 alone drops fine-grained atomics. A
 * wave of 64 lanes takes each register of a file for 32 twice. */
static const struct sim_target targets[] = {
#define X(gfx, mach_, maj, min, step, generic_, sramecc, xnack, wave, dot4, cdna, wmma, pk32, \
          bf16, vgprs, granule, waves, simds, lds)                                            \
    {.name = #gfx, .generic = sizeof(generic_) > 1 ? generic_ : NULL, .mach = mach_,          \
     .major = maj, .minor = min, .stepping = step, .has_sramecc = sramecc,                    \
     .has_xnack = xnack, .default_wave = wave, .accum_vgprs = cdna >= 1,                      \
     .unified_vgprs = cdna >= 2, .drops_fine_atomics = cdna == 2,                             \
     .packed_work_item_ids = cdna >= 2 || maj >= 11,                                          \
     .architected_flat_scratch = cdna >= 3 || maj >= 11, .vgprs_per_simd = vgprs,             \
     .vgpr_granule32 = granule, .vgpr_granule64 = wave == 64 ? granule : granule / 2,         \
     .max_waves_per_simd = waves, .simds_per_cu = simds, .lds_nbytes = KiB(lds), .product = &products[AT_##gfx]},
    KPK_PROCESSOR_TABLE(X)
#undef X
};

/* The generic targets and the features that an object for one may name. */
static const struct {
    const char *name;
    bool sramecc, xnack;
} generics[] = {
#define X(gfx, mach, maj, min, step, generic, sramecc, xnack, ...) {generic, sramecc, xnack},
    KPK_GENERIC_TABLE(X)
#undef X
};
/* clang-format on */

/* The default, unless a file beside this library has another list. */
static const char default_devices[] = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sim_device devices[MAX_DEVICES];
static int ndevices;
static char error[256];

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct sim_target *sim_target_by_name(const char *name)
{
    size_t i;

    for (i = 0; i < COUNT(targets); i++)
        if (targets[i].product->name && strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

const struct sim_target *sim_target_by_mach(unsigned mach)
{
    size_t i;

    for (i = 0; i < COUNT(targets); i++)
        if (targets[i].product->name && targets[i].mach == mach)
            return &targets[i];
    return NULL;
}

/* ---- target IDs --------------------------------------------------------- */

struct target_id {
    char processor[32];
    enum sim_feature sramecc, xnack; /* NONE: not named */
};

static bool read_feature(const char *text, size_t n, const char *name,
                         enum sim_feature *out)
{
    size_t len = strlen(name);

    if (n != len + 1 || strncmp(text, name, len) != 0 ||
        *out != SIM_FEATURE_NONE)
        return false;
    if (text[len] != '+' && text[len] != '-')
        return false;
    *out = text[len] == '+' ? SIM_FEATURE_ON : SIM_FEATURE_OFF;
    return true;
}

/* "processor(:feature(+|-))*"; only the features in `id` are known. */
static bool parse_target_id(const char *text, size_t n, struct target_id *id)
{
    size_t len = 0;

    memset(id, 0, sizeof(*id));
    while (len < n && text[len] != ':')
        len++;
    if (len == 0 || len >= sizeof(id->processor))
        return false;
    memcpy(id->processor, text, len);
    while (len < n) {
        size_t start = ++len;

        while (len < n && text[len] != ':')
            len++;
        if (!read_feature(text + start, len - start, "sramecc", &id->sramecc) &&
            !read_feature(text + start, len - start, "xnack", &id->xnack))
            return false;
    }
    return true;
}

static bool refuse(char why[256], const char *format, const char *a,
                   const char *b)
{
    if (why)
        snprintf(why, 256, format, a, b);
    return false;
}

static bool feature_fits(const char *name, enum sim_feature code,
                         enum sim_feature device, const char *target_id,
                         char why[256])
{
    char setting[16];

    if (code == SIM_FEATURE_NONE || code == device)
        return true;
    snprintf(setting, sizeof(setting), "%s%c", name,
             code == SIM_FEATURE_ON ? '+' : '-');
    return refuse(why, "the code needs %s and the device is %s", setting,
                  target_id);
}

bool sim_device_accepts(const struct sim_device *device, const char *processor,
                        enum sim_feature sramecc, enum sim_feature xnack,
                        char why[256])
{
    const struct sim_target *t = device->target;
    size_t i;

    if (strcmp(processor, t->name) != 0) {
        for (i = 0; i < COUNT(generics); i++)
            if (strcmp(generics[i].name, processor) == 0)
                break;
        if (i == COUNT(generics) || !t->generic ||
            strcmp(t->generic, processor) != 0)
            return refuse(why, "the code is for %s and the device is %s",
                          processor, device->target_id);
        if (!generics[i].sramecc)
            sramecc = SIM_FEATURE_NONE;
        if (!generics[i].xnack)
            xnack = SIM_FEATURE_NONE;
    }
    return feature_fits("sramecc", sramecc, device->sramecc, device->target_id,
                        why) &&
           feature_fits("xnack", xnack, device->xnack, device->target_id, why);
}

bool sim_device_accepts_id(const struct sim_device *device,
                           const char *target_id, char why[256])
{
    struct target_id id;

    if (!parse_target_id(target_id, strlen(target_id), &id))
        return refuse(why, "'%s' is no target ID%s", target_id, "");
    return sim_device_accepts(device, id.processor, id.sramecc, id.xnack, why);
}

/* ---- list of devices ----------------------------------------------------- */

/* "64M", in bytes, KiB, MiB or GiB; 0 if it is none. */
static uint64_t read_size(const char *text)
{
    static const char units[] = "KMG";
    char *end;
    uint64_t n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    const char *unit = n && *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

    if (!n || (*end && (!unit || end[1])) || n > UINT64_MAX >> shift)
        return 0;
    return n << shift;
}

static bool set_memory(struct sim_device *d)
{
    const char *text = getenv("KPK_SIM_MEMORY");

    d->memory_nbytes = d->target->product->memory_nbytes;
    if (!text || !*text)
        return true;
    d->memory_nbytes = read_size(text);
    if (!d->memory_nbytes)
        snprintf(error, sizeof(error),
                 "KPK_SIM_MEMORY: '%.100s' is no size, such as 512M or 8G",
                 text);
    return d->memory_nbytes != 0;
}

/* From CDNA 2 on processes choose; before, the driver does when it starts. */
static bool xnack_is_on(const struct sim_target *t)
{
    const char *text = getenv("HSA_XNACK");

    return text && strcmp(text, "1") == 0 && t->unified_vgprs;
}

static enum sim_feature setting(bool has, enum sim_feature asked,
                                enum sim_feature usual)
{
    if (!has)
        return SIM_FEATURE_NONE;
    return asked == SIM_FEATURE_NONE ? usual : asked;
}

static bool add_device(const char *text, size_t n)
{
    static const char sign[] = {'?', '-', '+'};
    struct sim_device *d = &devices[ndevices];
    struct target_id id;
    int len;

    if (ndevices == MAX_DEVICES) {
        snprintf(error, sizeof(error), "KPK_SIM_DEVICES: more than %d devices",
                 MAX_DEVICES);
        return false;
    }
    if (!parse_target_id(text, n, &id) ||
        !(d->target = sim_target_by_name(id.processor))) {
        snprintf(error, sizeof(error),
                 "KPK_SIM_DEVICES: '%.*s' is no target ID of a simulated GPU",
                 (int)(n > 100 ? 100 : n), text);
        return false;
    }
    if ((id.sramecc && !d->target->has_sramecc) ||
        (id.xnack && !d->target->has_xnack)) {
        snprintf(error, sizeof(error),
                 "KPK_SIM_DEVICES: %s does not have the features of '%.*s'",
                 d->target->name, (int)(n > 100 ? 100 : n), text);
        return false;
    }
    d->ordinal = ndevices;
    d->sramecc = setting(d->target->has_sramecc, id.sramecc, SIM_FEATURE_ON);
    d->xnack =
        setting(d->target->has_xnack, id.xnack,
                xnack_is_on(d->target) ? SIM_FEATURE_ON : SIM_FEATURE_OFF);
    if (!set_memory(d))
        return false;
    len = snprintf(d->target_id, sizeof(d->target_id), "%s", d->target->name);
    if (d->sramecc)
        len += snprintf(d->target_id + len, sizeof(d->target_id) - (size_t)len,
                        ":sramecc%c", sign[d->sramecc]);
    if (d->xnack)
        snprintf(d->target_id + len, sizeof(d->target_id) - (size_t)len,
                 ":xnack%c", sign[d->xnack]);
    ndevices++;
    return true;
}

/* The devices that the last build's pack has code for, as make wrote them into
 * the file `devices` beside this library; "" without one. */
static void read_built_devices(char *out, int nbytes)
{
    char path[4096] = "";
    const char *slash;
    Dl_info info;
    FILE *file;

    *out = '\0';
    if (!dladdr(&default_devices, &info))
        return;
    slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof(path), "%.*sdevices",
             slash ? (int)(slash + 1 - info.dli_fname) : 0, info.dli_fname);
    file = fopen(path, "r");
    if (!file)
        return;
    if (fgets(out, nbytes, file))
        out[strcspn(out, "\n")] = '\0';
    (void)fclose(file);
}

/* A pack may have code for processors that are not simulated. */
static bool is_simulated(const char *text, size_t n)
{
    struct target_id id;

    return parse_target_id(text, n, &id) && sim_target_by_name(id.processor);
}

/* Adds the devices of a list. Devices that are not simulated are an error if
 * the user asked for them. */
static void add_devices(const char *list, bool asked)
{
    while (*list) {
        const size_t n = strcspn(list, ",");

        if ((asked || is_simulated(list, n)) && !add_device(list, n)) {
            ndevices = 0;
            return;
        }
        list += n + (list[n] == ',');
    }
}

static void make_devices(void)
{
    const char *list = getenv("KPK_SIM_DEVICES");
    char built[4096];

    if (list && strcmp(list, "none") == 0)
        return;
    if (list && *list) {
        add_devices(list, true);
        return;
    }
    read_built_devices(built, sizeof(built));
    add_devices(built, false);
    if (ndevices == 0 && !error[0])
        add_devices(default_devices, false);
}

int sim_device_count(void)
{
    pthread_once(&once, make_devices);
    return ndevices;
}

struct sim_device *sim_device_get(int ordinal)
{
    pthread_once(&once, make_devices);
    return ordinal >= 0 && ordinal < ndevices ? &devices[ordinal] : NULL;
}

const char *sim_device_error(void)
{
    pthread_once(&once, make_devices);
    return error[0] ? error : NULL;
}
