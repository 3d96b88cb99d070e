/* allocation.h - the memory of the simulated GPUs
 *
 * Device memory lives in one arena that is mapped twice: at the addresses that
 * programs and kernels see, with no access (a host that touches device memory
 * except through HIP takes a SIGSEGV, as it would with a discrete GPU), and a
 * second time, readable and writable, for the interpreter and for copies.
 * Pinned and managed host memory has one address for both sides. With a large
 * BAR (sim_config()) the host reaches device memory at the first address too:
 * the pages that it touched there, which the system knows, count as written.
 *
 * Every byte that a kernel touches is looked up in the table of live
 * allocations. Freed allocations stay in the table for a while, unmapped, so
 * that a use after free can be told from a wild pointer.
 *
 * Threads: all functions may be called from any thread. A struct sim_alloc
 * that sim_mem_find() returned stays valid while a sim_mem_pin() is held.
 */
#ifndef SIM_BASE_ALLOCATION_H
#define SIM_BASE_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_mem_kind {
    SIM_MEM_DEVICE,  /* hipMalloc */
    SIM_MEM_HOST,    /* hipHostMalloc, hipHostRegister */
    SIM_MEM_MANAGED, /* hipMallocManaged */
    SIM_MEM_CODE,    /* a loaded code object */
    SIM_MEM_INTERNAL /* kernarg segments, packets, queues */
};

struct sim_alloc {
    uint64_t base;  /* address that kernels use */
    uint64_t size;  /* requested bytes: accesses beyond are faults */
    uint8_t *bytes; /* the same bytes, readable and writable by the host */
    /* One bit per byte, set once written; NULL if not tracked (host memory). */
    uint8_t *written;
    enum sim_mem_kind kind;
    int device;        /* ordinal of the owner, -1 for none */
    bool freed;        /* kept only to name a use after free */
    bool readonly;     /* kernels may not write (code, constants) */
    bool fine_grained; /* coherent with the host while a kernel runs */
    bool shared; /* maps memory that may be mapped elsewhere (reservation.c) */
    /* A bit for each device that must not read, or write, because of how the
     * memory is mapped (reservation.h) or because it is another device's. */
    uint64_t no_read, no_write;
    uint64_t serial; /* 1, 2, 3... in order of allocation, for messages */
    uint32_t origin, flags; /* for hip/: the call that made it, and its flags */
    bool sync_memops;       /* for hip/: the attribute as the program set it */
    /* Raised whenever the host rewrites the bytes of executable memory. */
    uint32_t code_generation;
    /* Decoded instructions, which isa/ owns, and how it frees them. */
    struct sim_code *code;
    void (*drop_code)(struct sim_code *code);
};

/*
 * Allocates `size` (> 0) bytes aligned to `align` (a power of two, at least
 * 256 is used). Returns NULL when the device's memory is used up.
 */
struct sim_alloc *sim_mem_alloc(int device, uint64_t size, uint64_t align,
                                enum sim_mem_kind kind);

/*
 * Several allocations at fixed distances from each other, in ascending order
 * (the segments of a code object). Fills out[0..n) or returns false.
 */
struct sim_mem_part {
    uint64_t offset; /* from a common base, which is aligned to a page */
    uint64_t size;   /* > 0 */
    bool readonly;
};
bool sim_mem_alloc_parts(int device, const struct sim_mem_part *parts, size_t n,
                         enum sim_mem_kind kind, struct sim_alloc **out);

/*
 * Makes existing host memory (hipHostRegister) accessible to kernels. NULL if
 * some of it is an allocation already.
 */
struct sim_alloc *sim_mem_register(int device, void *host, uint64_t size);

/*
 * Allocates `size` bytes of a kind that host and kernels access at the same
 * address, aligned to `align`. If `at` is not 0, the memory is at this address,
 * which must be free. NULL on failure, or if the device's memory is used up.
 */
struct sim_alloc *sim_mem_map(int device, uint64_t size, uint64_t align,
                              uint64_t at, enum sim_mem_kind kind);

/*
 * Lets kernels reach [host, host + size) at another address, `base`, which the
 * caller has reserved and keeps until sim_mem_free(base).
 */
struct sim_alloc *sim_mem_alias(uint64_t base, void *host, uint64_t size);

/*
 * Enters memory of another owner at the address `base`; its bytes are at
 * `bytes` in this process. It does not count as the device's memory.
 * sim_mem_free() removes the entry and leaves the bytes alone.
 */
struct sim_alloc *sim_mem_publish(int device, uint64_t base, void *bytes,
                                  uint64_t size, enum sim_mem_kind kind);

/* Counts `size` bytes of the device's memory as used, without an allocation, or
 * as free again. False if there is less. */
bool sim_mem_charge(int device, uint64_t size);
void sim_mem_discharge(int device, uint64_t size);

/* Frees by base address. False if `base` is not the start of a live one. */
bool sim_mem_free(uint64_t base);

/*
 * Takes an allocation as freed, without giving it back, until it is resumed: a
 * pool's, between its users.
 */
void sim_mem_suspend(uint64_t base);
void sim_mem_resume(uint64_t base);

/* The live or freed allocation that contains `addr`, or NULL. */
const struct sim_alloc *sim_mem_find(uint64_t addr);

/* Whether the address is in a page of a live or freed allocation, the bytes
 * after the allocation's end included. */
bool sim_mem_is_kept(uint64_t addr);

/* The last allocation that ends before `addr` (for "N bytes past ..."). */
const struct sim_alloc *sim_mem_find_below(uint64_t addr);

/* The live allocation with the lowest address above `addr`, or NULL. */
struct sim_alloc *sim_mem_find_above(uint64_t addr);

/* Keeps all allocations found from now on valid until sim_mem_unpin(). */
void sim_mem_pin(void);
void sim_mem_unpin(void);

/* How another process can map a live allocation of device memory: a file
 * descriptor of this process, and an offset. False for other memory. */
bool sim_mem_shared_file(uint64_t base, int *fd, uint64_t *offset);

/* Bytes in use and in total of one device. */
void sim_mem_info(int device, uint64_t *used, uint64_t *total);

/* Gives everything back at the end of the process; nothing may run then. */
void sim_mem_shutdown(void);

#endif
