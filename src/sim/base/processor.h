/* processor.h - the table of processors and a process's devices
 *
 * One table row per processor gives everything about it that the loader, the
 * interpreter or a property query needs. KPK_SIM_DEVICES lists the devices of
 * a process as target IDs, separated by commas (default: one of each default
 * target of the pack): "gfx942:sramecc+:xnack-,gfx1100". A feature that the
 * processor has and the list leaves out is taken as sramecc+ and xnack-, or
 * xnack+ where HSA_XNACK=1 turns it on for a process. The word "none" gives a
 * machine without a GPU. KPK_SIM_MEMORY, as "8G", sizes each device's memory.
 */
#ifndef SIM_BASE_PROCESSOR_H
#define SIM_BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

enum sim_feature { SIM_FEATURE_NONE, SIM_FEATURE_OFF, SIM_FEATURE_ON };

/* What a processor is sold as. */
struct sim_product {
    const char *name;       /* hipDeviceGetName()'s answer */
    uint32_t compute_units; /* HSA's count */
    uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
    uint32_t l2_nbytes;
    uint64_t memory_nbytes; /* if KPK_SIM_MEMORY is not set */
};

struct sim_target {
    const char *name;    /* "gfx942" */
    const char *generic; /* "gfx9-4-generic", NULL if none covers it */
    const struct sim_product *product; /* without a name: not simulated */
    uint8_t mach;                      /* EF_AMDGPU_MACH */
    uint8_t major, minor, stepping;    /* 9, 4, 2 */
    uint8_t default_wave; /* 64 on gfx9, 32 later: properties' warpSize */
    bool has_sramecc, has_xnack;
    bool architected_flat_scratch;
    bool packed_work_item_ids;
    bool accum_vgprs;        /* has AGPRs */
    bool unified_vgprs;      /* AGPRs and VGPRs in one file (gfx90a on) */
    bool drops_fine_atomics; /* float atomics on fine-grained memory */
    uint32_t lds_nbytes;     /* per workgroup */
    uint32_t simds_per_cu;
    uint32_t max_waves_per_simd;
    uint32_t vgprs_per_simd; /* per lane, 32-bit, for wave-size lanes */
    uint32_t vgpr_granule32, vgpr_granule64; /* allocation granules */
};

struct sim_device {
    int ordinal;
    const struct sim_target *target;
    enum sim_feature sramecc, xnack;
    char target_id[64]; /* "gfx942:sramecc+:xnack-" */
    uint64_t memory_nbytes;
    bool lost; /* device loss was injected: every call fails */
};

/* The row for a processor name (features stripped) or a MACH; NULL if none. */
const struct sim_target *sim_target_by_name(const char *name);
const struct sim_target *sim_target_by_mach(unsigned mach);

/*
 * Whether a device runs code for a processor (or generic target) with these
 * feature settings; SIM_FEATURE_NONE means that any will do. On refusal `why`
 * (may be NULL) holds the reason in words.
 */
bool sim_device_accepts(const struct sim_device *device, const char *processor,
                        enum sim_feature sramecc, enum sim_feature xnack,
                        char why[256]);

/* The same for a target ID, "gfx90a:xnack-" or "gfx11-generic". */
bool sim_device_accepts_id(const struct sim_device *device,
                           const char *target_id, char why[256]);

/*
 * The devices of this process, made once from KPK_SIM_DEVICES. A list that
 * cannot be read gives no devices and sim_device_error() says why.
 */
int sim_device_count(void);
struct sim_device *sim_device_get(int ordinal);
const char *sim_device_error(void);

#endif
