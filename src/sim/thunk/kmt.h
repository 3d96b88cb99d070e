/* kmt.h - the thunk's ABI: what ROCr passes to libhsakmt and reads back
 *
 * Declared from the facts of the interface, under our own names. Everything is
 * packed to four bytes. Where a structure grew, the newer form's name ends in
 * the release of HIP that came with it; fields are used by their name in both.
 */
#ifndef SIM_THUNK_KMT_H
#define SIM_THUNK_KMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMT_API __attribute__((visibility("default")))

typedef enum {
    KMT_OK = 0,
    KMT_ERROR = 1,
    KMT_INVALID_PARAMETER = 3,
    KMT_INVALID_HANDLE = 4,
    KMT_INVALID_NODE = 5,
    KMT_NO_MEMORY = 6,
    KMT_NOT_IMPLEMENTED = 10,
    KMT_NOT_SUPPORTED = 11,
    KMT_UNAVAILABLE = 12,
    KMT_WAIT_FAILURE = 30,
    KMT_WAIT_TIMEOUT = 31,
    KMT_NOT_REGISTERED = 36
} kmt_status;

#pragma pack(push, 4)

struct kmt_version {
    uint32_t major, minor;
};

struct kmt_system {
    uint32_t nnodes, oem, id, revision;
};

/* Bits of a node's capabilities. */
#define KMT_CAP_QUEUE_POWER_OF_TWO (1u << 3)
#define KMT_CAP_DOORBELL_64 (2u << 12)
#define KMT_CAP_SRAM_ECC (1u << 26)

enum { KMT_NAME_LENGTH = 64 };

/* X for fields of both versions, N for fields new in HIP 7. */
#define KMT_NODE_FIELDS(X, N)                                                  \
    X(uint32_t, cpu_cores, )                                                   \
    X(uint32_t, simds, )                                                       \
    N(uint32_t, neural_cores, )                                                \
    X(uint32_t, memory_banks, )                                                \
    X(uint32_t, caches, )                                                      \
    X(uint32_t, io_links, )                                                    \
    X(uint32_t, first_cpu_id, )                                                \
    X(uint32_t, first_simd_id, )                                               \
    X(uint32_t, capability, )                                                  \
    N(uint32_t, capability2, )                                                 \
    X(uint32_t, max_waves_per_simd, )                                          \
    X(uint32_t, lds_kib, )                                                     \
    X(uint32_t, gds_kib, )                                                     \
    X(uint32_t, wave_size, )                                                   \
    X(uint32_t, shader_banks, )                                                \
    X(uint32_t, arrays, )                                                      \
    X(uint32_t, cus_per_array, )                                               \
    X(uint32_t, simds_per_cu, )                                                \
    X(uint32_t, scratch_slots_per_cu, )                                        \
    X(uint32_t, engine_id, )                                                   \
    N(uint32_t, override_engine_id, )                                          \
    X(uint16_t, vendor, )                                                      \
    X(uint16_t, device, )                                                      \
    X(uint32_t, location, )                                                    \
    X(uint64_t, local_memory, )                                                \
    X(uint32_t, gpu_clock_mhz, )                                               \
    X(uint32_t, cpu_clock_mhz, )                                               \
    X(int32_t, drm_minor, )                                                    \
    X(uint16_t, name, [KMT_NAME_LENGTH]) /* 16-bit characters */               \
    X(uint8_t, processor, [KMT_NAME_LENGTH])                                   \
    X(uint32_t, firmware, )                                                    \
    X(uint64_t, debug, )                                                       \
    X(uint64_t, hive, )                                                        \
    X(uint32_t, sdma_engines, )                                                \
    X(uint32_t, xgmi_engines, )                                                \
    X(uint8_t, sdma_queues, )                                                  \
    X(uint8_t, compute_queues, )                                               \
    X(uint8_t, gws, )                                                          \
    X(uint8_t, integrated, )                                                   \
    X(uint32_t, pci_domain, )                                                  \
    X(uint64_t, unique_id, )                                                   \
    X(uint32_t, vgpr_nbytes_per_cu, )                                          \
    X(uint32_t, sgpr_nbytes_per_cu, )                                          \
    X(uint32_t, xccs, )                                                        \
    X(uint32_t, gpu_id, )                                                      \
    X(uint32_t, family, )

#define KMT_FIELD(type, name, dim) type name dim;
#define KMT_NO_FIELD(type, name, dim)
struct kmt_node {
    KMT_NODE_FIELDS(KMT_FIELD, KMT_NO_FIELD)
};
struct kmt_node_7 {
    KMT_NODE_FIELDS(KMT_FIELD, KMT_FIELD)
};

enum kmt_heap {
    KMT_HEAP_SYSTEM = 0,
    KMT_HEAP_VRAM = 1, /* visible to the host, too */
    KMT_HEAP_LDS = 4,
    KMT_HEAP_SCRATCH = 5
};

struct kmt_memory {
    uint32_t heap;
    uint64_t nbytes;
    uint32_t flags, width_bits, clock_mhz;
    uint64_t base;
};

enum {
    KMT_CACHE_DATA = 1,
    KMT_CACHE_INSTRUCTION = 2,
    KMT_CACHE_CPU = 4,
    KMT_CACHE_GPU = 8
};

struct kmt_cache {
    uint32_t processor, level, nkib, line_nbytes, lines_per_tag, ways, latency;
    uint32_t type;
    uint32_t siblings[256];
};

enum { KMT_LINK_PCIE = 2 };

#define KMT_LINK_FIELDS(X, N)                                                  \
    X(uint32_t, type, )                                                        \
    X(uint32_t, major, )                                                       \
    X(uint32_t, minor, )                                                       \
    X(uint32_t, from, )                                                        \
    X(uint32_t, to, )                                                          \
    X(uint32_t, weight, )                                                      \
    X(uint32_t, min_latency, )                                                 \
    X(uint32_t, max_latency, )                                                 \
    X(uint32_t, min_mbytes_per_s, )                                            \
    X(uint32_t, max_mbytes_per_s, )                                            \
    X(uint32_t, transfer_nbytes, )                                             \
    N(uint32_t, sdma_engines, )                                                \
    X(uint32_t, flags, )
struct kmt_link {
    KMT_LINK_FIELDS(KMT_FIELD, KMT_NO_FIELD)
};
struct kmt_link_7 {
    KMT_LINK_FIELDS(KMT_FIELD, KMT_FIELD)
};

/* Flags of an allocation. */
#define KMT_MEM_HOST_ACCESS (1u << 6)
#define KMT_MEM_GDS (1u << 8)
#define KMT_MEM_SCRATCH (1u << 9)
#define KMT_MEM_EXECUTE (1u << 12)
#define KMT_MEM_FIXED (1u << 15)
#define KMT_MEM_NO_ADDRESS (1u << 18)
#define KMT_MEM_ONLY_ADDRESS (1u << 19)

enum kmt_pointer_type {
    KMT_POINTER_UNKNOWN,
    KMT_POINTER_ALLOCATED,
    KMT_POINTER_REGISTERED
};

struct kmt_pointer {
    uint32_t type, node, flags;
    void *cpu;
    uint64_t gpu, nbytes;
    uint32_t nregistered, nmapped;
    const uint32_t *registered, *mapped;
    void *user;
};

enum kmt_event_type {
    KMT_EVENT_SIGNAL = 0,
    KMT_EVENT_HW_EXCEPTION = 3,
    KMT_EVENT_MEMORY = 8
};

/* Reasons of a memory fault. */
enum {
    KMT_FAULT_NOT_PRESENT = 1,
    KMT_FAULT_READ_ONLY = 2,
    KMT_FAULT_NO_EXECUTE = 4
};

struct kmt_event_descriptor {
    uint32_t type, node;
    void *user;
    uint64_t user_size;
};

struct kmt_event {
    uint32_t id;
    uint32_t type;
    struct {
        uint32_t node;
        uint64_t address;
        uint32_t reasons, severity;
    } fault;
    uint64_t os_handle;
    uint64_t mailbox; /* address that GPUs write the event's ID to */
    uint32_t data3;
};

struct kmt_clocks {
    uint64_t gpu, cpu, system, system_hz;
};

enum kmt_queue_type {
    KMT_QUEUE_SDMA = 2,
    KMT_QUEUE_SDMA_XGMI = 5,
    KMT_QUEUE_SDMA_ENGINE = 6,
    KMT_QUEUE_AQL = 21
};

struct kmt_queue {
    uint64_t id;
    uint64_t *doorbell, *write_index, *read_index;
    int64_t *error;
};

struct kmt_tiles {
    uint32_t *tiles, *macro_tiles;
    uint32_t ntiles, nmacro_tiles, address, banks, ranks, reserved[7];
};

/* libdrm's record of a device: libdrm's own function reads the file from it. */
struct kmt_drm_device {
    int32_t refs, pad;
    void *next;
    int32_t fd, flink_fd;
    int32_t ordinal; /* from here on ours */
};
_Static_assert(offsetof(struct kmt_drm_device, fd) == 16, "libdrm's");

/* Kinds of handles for exported memory. */
enum { KMT_BO_KMS = 1, KMT_BO_DMA_BUF = 2 };

struct kmt_bo;
struct kmt_bo_import {
    struct kmt_bo *bo;
    uint64_t nbytes;
};

/* libdrm's record, as far as ROCr reads it; the whole one is larger. */
struct kmt_gpu_info {
    uint32_t asic, chip_revision, external_revision, family;
    uint64_t ids_flags, max_engine_khz, max_memory_khz;
    uint32_t shader_engines, arrays_per_engine, pipes, max_pipes;
    uint32_t cache_entries, contexts, backends, backend_mask;
    uint32_t counter_khz;
};

#pragma pack(pop)

_Static_assert(sizeof(struct kmt_node) == 356, "node properties of HIP 5");
_Static_assert(sizeof(struct kmt_node_7) == 368, "node properties of HIP 7");
_Static_assert(sizeof(struct kmt_memory) == 32, "memory properties");
_Static_assert(sizeof(struct kmt_cache) == 1056, "cache properties");
_Static_assert(sizeof(struct kmt_link) == 48, "link properties of HIP 5");
_Static_assert(sizeof(struct kmt_link_7) == 52, "link properties of HIP 7");
_Static_assert(sizeof(struct kmt_pointer) == 68, "pointer information");
_Static_assert(offsetof(struct kmt_pointer, user) == 60, "its user data");
_Static_assert(sizeof(struct kmt_event) == 48, "an event");
_Static_assert(offsetof(struct kmt_event, mailbox) == 36, "its mailbox");
_Static_assert(sizeof(struct kmt_event_descriptor) == 24, "event descriptor");
_Static_assert(sizeof(struct kmt_queue) == 40, "queue resource");
_Static_assert(sizeof(struct kmt_tiles) == 64, "tile configuration");
_Static_assert(offsetof(struct kmt_gpu_info, counter_khz) == 72, "libdrm's");

#endif
