/* kmt_topology.c - the machine as ROCr finds it: a CPU node, a node per GPU */
#include "kmt.h"
#include "node.h"

#include "../base/processor.h"
#include "../isa/wave.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    GPU_BANKS = 3,  /* VRAM, LDS, scratch */
    GPU_CACHES = 2, /* L1, L2 */
    PCIE_WEIGHT = 20,
    PEER_WEIGHT = 40,
    DRIVER_MAJOR = 1,
    DRIVER_MINOR = 11,         /* below 14 events have no age */
    DRIVER_MINOR_VIRTUAL = 15, /* the first with memory apart from addresses */
    SCRATCH_SLOTS = 32,
    AMD_VENDOR = 0x1002,
    /* Simulated processors get made-up device IDs, which differ. */
    FIRST_DEVICE_ID = 0x7000,
    FIRMWARE = 600,
    GWS_BARRIERS = 64
};

static uint32_t nnodes(void)
{
    return 1 + (uint32_t)sim_device_count();
}

static bool is_node(uint32_t node)
{
    return node < nnodes();
}

/* ---- the system ---- */

KMT_API kmt_status hsaKmtGetVersion(struct kmt_version *version)
{
    version->major = DRIVER_MAJOR;
    version->minor = thunk_is_dtif ? DRIVER_MINOR_VIRTUAL : DRIVER_MINOR;
    return KMT_OK;
}

KMT_API kmt_status hsaKmtAcquireSystemProperties(struct kmt_system *system)
{
    if (sim_device_error())
        fprintf(stderr, "kpack-sim: %s\n", sim_device_error());
    memset(system, 0, sizeof(*system));
    system->nnodes = nnodes();
    return KMT_OK;
}

KMT_API kmt_status hsaKmtReleaseSystemProperties(void)
{
    return KMT_OK;
}

/* ---- nodes ---- */

static uint32_t cpu_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (uint32_t)n : 1;
}

static void describe_cpu(struct kmt_node_7 *p)
{
    p->cpu_cores = cpu_count();
    p->memory_banks = 1;
    p->caches = 1;
    p->io_links = nnodes() - 1;
}

/* GFX version in the fields of the engine's ID: microcode, 10 bits; major, 6;
 * minor and stepping, 8 each. */
static uint32_t engine_id(const struct sim_target *t)
{
    return FIRMWARE | (uint32_t)t->major << 10 | (uint32_t)t->minor << 16 |
           (uint32_t)t->stepping << 24;
}

/* The most shader engines, up to four, that the compute units divide into. */
static uint32_t shader_engines(const struct sim_target *t)
{
    return t->product->compute_units % 4 == 0   ? 4
           : t->product->compute_units % 2 == 0 ? 2
                                                : 1;
}

/* The graphics driver's family, by which ROCr lays images out. */
static uint32_t family(const struct sim_target *t)
{
    if (t->major == 9)
        return 0x8d;
    if (t->major == 10)
        return 0x8f;
    if (t->major == 11)
        return t->minor == 5 ? 0x96 : t->stepping == 3 ? 0x94 : 0x91;
    return 0x98;
}

static void describe_gpu(const struct sim_device *d, struct kmt_node_7 *p)
{
    const struct sim_target *t = d->target;
    unsigned i;

    p->simds = t->product->compute_units * t->simds_per_cu;
    p->memory_banks = GPU_BANKS;
    p->caches = GPU_CACHES;
    p->io_links = nnodes() - 1; /* the CPU and every other GPU */
    p->first_simd_id = 0x80000000u + (uint32_t)d->ordinal * 0x1000;
    p->capability = KMT_CAP_QUEUE_POWER_OF_TWO | KMT_CAP_DOORBELL_64 |
                    (d->sramecc == SIM_FEATURE_ON ? KMT_CAP_SRAM_ECC : 0);
    p->max_waves_per_simd = t->max_waves_per_simd;
    p->lds_kib = t->lds_nbytes / 1024;
    p->wave_size = t->default_wave;
    p->shader_banks = shader_engines(t);
    p->arrays = shader_engines(t);
    p->cus_per_array = t->product->compute_units / shader_engines(t);
    p->simds_per_cu = t->simds_per_cu;
    p->scratch_slots_per_cu = SCRATCH_SLOTS;
    p->engine_id = engine_id(t);
    p->vendor = AMD_VENDOR;
    p->device = (uint16_t)(FIRST_DEVICE_ID + t->mach);
    p->location = ((uint32_t)d->ordinal + 1) << 8; /* bus, device, function */
    p->local_memory = d->memory_nbytes;
    p->gpu_clock_mhz = t->product->clock_khz / 1000;
    p->drm_minor = 128 + d->ordinal;
    for (i = 0; i < KMT_NAME_LENGTH - 1 && t->product->name[i]; i++)
        p->name[i] = (uint8_t)t->product->name[i];
    for (i = 0; i < KMT_NAME_LENGTH - 1 && t->name[i]; i++)
        p->processor[i] = (uint8_t)t->name[i];
    p->firmware = FIRMWARE;
    p->sdma_engines = 2;
    p->sdma_queues = 8;
    p->compute_queues = 24;
    p->gws = GWS_BARRIERS;
    p->unique_id = 0x6b7061636b000000u + (uint64_t)d->ordinal;
    p->vgpr_nbytes_per_cu =
        t->vgprs_per_simd * t->simds_per_cu * t->default_wave * 4;
    p->sgpr_nbytes_per_cu = 16384;
    p->xccs = 1;
    p->gpu_id = 1 + (uint32_t)d->ordinal;
    p->family = family(t);
}

KMT_API kmt_status hsaKmtGetNodeProperties(uint32_t node, void *properties)
{
    struct kmt_node_7 p = {0};
    struct kmt_node old;

    if (!is_node(node))
        return KMT_INVALID_NODE;
    if (node == 0)
        describe_cpu(&p);
    else
        describe_gpu(thunk_device(node), &p);
    if (thunk_is_dtif) {
        memcpy(properties, &p, sizeof(p));
        return KMT_OK;
    }
#define COPY(type, field, dim) memcpy(&old.field, &p.field, sizeof(old.field));
    KMT_NODE_FIELDS(COPY, KMT_NO_FIELD)
#undef COPY
    memcpy(properties, &old, sizeof(old));
    return KMT_OK;
}

/* ---- memory banks ---- */

static uint64_t host_memory_nbytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 1u << 30;
}

KMT_API kmt_status hsaKmtGetNodeMemoryProperties(uint32_t node, uint32_t n,
                                                 struct kmt_memory *banks)
{
    struct kmt_memory all[GPU_BANKS] = {{0}};
    uint32_t nall = 1;

    if (!is_node(node))
        return KMT_INVALID_NODE;
    if (node == 0) {
        all[0].heap = KMT_HEAP_SYSTEM;
        all[0].nbytes = host_memory_nbytes();
        all[0].width_bits = 64;
        all[0].clock_mhz = 3200;
    } else {
        const struct sim_device *d = thunk_device(node);
        const struct sim_target *t = d->target;

        nall = GPU_BANKS;
        all[0].heap = KMT_HEAP_VRAM;
        all[0].nbytes = d->memory_nbytes;
        all[0].width_bits = t->product->memory_bus_bits;
        all[0].clock_mhz = t->product->memory_clock_khz / 1000;
        all[1].heap = KMT_HEAP_LDS;
        all[1].nbytes = t->lds_nbytes;
        all[1].base = SHARED_BASE;
        all[2].heap = KMT_HEAP_SCRATCH;
        all[2].nbytes = UINT64_C(4) << 30;
        all[2].base = PRIVATE_BASE;
    }
    memcpy(banks, all, (n < nall ? n : nall) * sizeof(all[0]));
    return KMT_OK;
}

/* ---- caches ---- */

KMT_API kmt_status hsaKmtGetNodeCacheProperties(uint32_t node,
                                                uint32_t processor, uint32_t n,
                                                struct kmt_cache *caches)
{
    const struct sim_device *d = thunk_device(node);
    uint32_t i;

    if (!is_node(node))
        return KMT_INVALID_NODE;
    memset(caches, 0, n * sizeof(*caches));
    for (i = 0; i < n && i < (d ? GPU_CACHES : 1u); i++) {
        caches[i].processor = processor;
        caches[i].level = i + 1;
        caches[i].line_nbytes = 64;
        caches[i].lines_per_tag = 1;
        caches[i].ways = 16;
        caches[i].type = KMT_CACHE_DATA | (d ? KMT_CACHE_GPU : KMT_CACHE_CPU);
        caches[i].nkib = !d       ? 32
                         : i == 0 ? 16
                                  : d->target->product->l2_nbytes / 1024;
    }
    return KMT_OK;
}

/* ---- links ---- */

static void describe_link(uint32_t from, uint32_t to, struct kmt_link_7 *link)
{
    memset(link, 0, sizeof(*link));
    link->type = KMT_LINK_PCIE;
    link->major = 4;
    link->from = from;
    link->to = to;
    link->weight = from == 0 || to == 0 ? PCIE_WEIGHT : PEER_WEIGHT;
    link->max_mbytes_per_s = 32000;
}

KMT_API kmt_status hsaKmtGetNodeIoLinkProperties(uint32_t node, uint32_t n,
                                                 void *links)
{
    uint32_t to, i = 0;

    if (!is_node(node))
        return KMT_INVALID_NODE;
    for (to = 0; to < nnodes() && i < n; to++) {
        struct kmt_link_7 link;
        struct kmt_link old;

        if (to == node)
            continue;
        describe_link(node, to, &link);
        if (thunk_is_dtif) {
            memcpy((struct kmt_link_7 *)links + i++, &link, sizeof(link));
            continue;
        }
#define COPY(type, field, dim) memcpy(&old.field, &link.field, sizeof(type));
        KMT_LINK_FIELDS(COPY, KMT_NO_FIELD)
#undef COPY
        memcpy((struct kmt_link *)links + i++, &old, sizeof(old));
    }
    return KMT_OK;
}

/* ---- a node's other features ---- */

/* The process's setting: the setting of the first device that has a choice. */
KMT_API kmt_status hsaKmtGetXNACKMode(int32_t *enabled)
{
    int i;

    *enabled = 0;
    for (i = 0; i < sim_device_count(); i++) {
        if (sim_device_get(i)->xnack == SIM_FEATURE_NONE)
            continue;
        *enabled = sim_device_get(i)->xnack == SIM_FEATURE_ON;
        break;
    }
    return KMT_OK;
}

KMT_API kmt_status hsaKmtSetXNACKMode(int32_t enable)
{
    int32_t enabled;

    hsaKmtGetXNACKMode(&enabled);
    return (enable != 0) == (enabled != 0) ? KMT_OK : KMT_NOT_SUPPORTED;
}

KMT_API kmt_status hsaKmtGetTileConfig(uint32_t node, struct kmt_tiles *tiles)
{
    if (!thunk_device(node))
        return KMT_INVALID_NODE;
    tiles->ntiles = tiles->nmacro_tiles = 0;
    tiles->address = tiles->banks = tiles->ranks = 0;
    return KMT_OK;
}

KMT_API kmt_status hsaKmtGetClockCounters(uint32_t node,
                                          struct kmt_clocks *clocks)
{
    uint64_t now = thunk_now();

    if (!is_node(node))
        return KMT_INVALID_NODE;
    *clocks = (struct kmt_clocks){now, now, now, UINT64_C(1000000000)};
    return KMT_OK;
}
