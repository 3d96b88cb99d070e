/* kmt_alloc.c - memory that ROCr allocates, maps for GPUs and asks about
 *
 * Host and GPUs use the same addresses. The table of base/allocation.h has
 * every block, so each access of a kernel is checked. ROCr hands out parts of
 * blocks to programs, and an access outside of its part but within the block is
 * not found.
 */
#define _GNU_SOURCE
#include "drm.h"
#include "kmt.h"
#include "kmt_register.h"
#include "node.h"

#include "../base/allocation.h"
#include "../base/processor.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SMALL_ALIGN = 64 << 10,
    LARGE_ALIGN = 2 << 20,
    PAGE = 4096,
    MAX_NODES = 65
};

struct block {
    struct block *next;
    uint64_t base, nbytes;
    uint32_t node, flags;
    bool reserved_only; /* address space without memory, unknown to the core */
    void *user;
    uint32_t nmapped, mapped[MAX_NODES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;

/* The place in the list that points to the block around `addr`. */
static struct block **find(uint64_t addr)
{
    struct block **at = &blocks;

    while (*at && addr - (*at)->base >= (*at)->nbytes)
        at = &(*at)->next;
    return at;
}

/* ---- allocating ---- */

static uint64_t reserve(uint64_t nbytes, uint64_t align, uint64_t at)
{
    uint8_t *p = mmap(thunk_pointer(at), nbytes + (at ? 0 : align), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                          (at ? MAP_FIXED_NOREPLACE : 0),
                      -1, 0);
    uint64_t base = (uint64_t)(uintptr_t)p, first;

    if (p == MAP_FAILED || at)
        return p == MAP_FAILED ? 0 : base;
    first = (base + align - 1) & ~(align - 1);
    if (first != base)
        munmap(p, first - base);
    munmap(thunk_pointer(first + nbytes), base + align - first);
    return first;
}

static enum sim_mem_kind kind_of(uint32_t node, uint32_t flags)
{
    if (flags & KMT_MEM_EXECUTE)
        return SIM_MEM_CODE;
    return node == 0 ? SIM_MEM_HOST : SIM_MEM_DEVICE;
}

static kmt_status allocate(struct block *b, uint64_t align, uint64_t at)
{
    struct sim_alloc *a;

    if (b->reserved_only) {
        b->base = reserve(b->nbytes, align, at);
        return b->base ? KMT_OK : KMT_NO_MEMORY;
    }
    a = sim_mem_map((int)b->node - 1, b->nbytes, align, at,
                    kind_of(b->node, b->flags));
    if (!a)
        return KMT_NO_MEMORY;
    a->flags = b->flags;
    b->base = a->base;
    return KMT_OK;
}

KMT_API kmt_status hsaKmtAllocMemoryAlign(uint32_t node, uint64_t nbytes,
                                          uint64_t align, uint32_t flags,
                                          void **address)
{
    uint64_t at = (flags & KMT_MEM_FIXED) ? (uint64_t)(uintptr_t)*address : 0;
    uint64_t usual = nbytes >= LARGE_ALIGN ? LARGE_ALIGN : SMALL_ALIGN;
    struct block *b;
    kmt_status status;

    if (node > (uint32_t)sim_device_count())
        return KMT_INVALID_NODE;
    if (nbytes == 0 || nbytes % PAGE || (align & (align - 1)))
        return KMT_INVALID_PARAMETER;
    if (flags & KMT_MEM_GDS)
        return KMT_NOT_SUPPORTED;
    if (flags & KMT_MEM_NO_ADDRESS)
        return thunk_piece_new(node, nbytes, address);
    b = calloc(1, sizeof(*b));
    if (!b)
        return KMT_NO_MEMORY;
    b->node = node;
    b->nbytes = nbytes;
    b->flags = flags;
    /* Scratch is the interpreter's own; its addresses are never used. */
    b->reserved_only = flags & (KMT_MEM_SCRATCH | KMT_MEM_ONLY_ADDRESS);
    status = allocate(b, align > usual ? align : usual, at);
    if (status != KMT_OK) {
        free(b);
        return status;
    }
    pthread_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    pthread_mutex_unlock(&lock);
    *address = thunk_pointer(b->base);
    return KMT_OK;
}

KMT_API kmt_status hsaKmtAllocMemory(uint32_t node, uint64_t nbytes,
                                     uint32_t flags, void **address)
{
    return hsaKmtAllocMemoryAlign(node, nbytes, 0, flags, address);
}

KMT_API kmt_status hsaKmtFreeMemory(void *address, uint64_t nbytes)
{
    uint64_t base = (uint64_t)(uintptr_t)address;
    struct block **at, *b;

    (void)nbytes;
    if (thunk_piece_free(address))
        return KMT_OK;
    pthread_mutex_lock(&lock);
    at = find(base);
    b = *at && (*at)->base == base ? *at : NULL;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    if (!b)
        return KMT_INVALID_PARAMETER;
    if (b->reserved_only)
        munmap(address, b->nbytes);
    else
        sim_mem_free(base);
    free(b);
    return KMT_OK;
}

KMT_API kmt_status hsaKmtAvailableMemory(uint32_t node, uint64_t *nbytes)
{
    const struct sim_device *d = thunk_device(node);
    uint64_t used, total;

    if (!d)
        return KMT_INVALID_NODE;
    sim_mem_info(d->ordinal, &used, &total);
    *nbytes = total - used;
    return KMT_OK;
}

/* ---- mapping: every block is within reach of every GPU anyway ---- */

/* False if `addr` is in no block. */
static bool remember_nodes(uint64_t addr, uint64_t n, const uint32_t *nodes)
{
    struct block *b;

    pthread_mutex_lock(&lock);
    b = *find(addr);
    if (b) {
        b->nmapped = n < MAX_NODES ? (uint32_t)n : MAX_NODES;
        if (n)
            memcpy(b->mapped, nodes, b->nmapped * sizeof(nodes[0]));
    }
    pthread_mutex_unlock(&lock);
    return b != NULL;
}

KMT_API kmt_status hsaKmtMapMemoryToGPUNodes(void *address, uint64_t nbytes,
                                             uint64_t *gpu_address,
                                             uint32_t flags, uint64_t n,
                                             const uint32_t *nodes)
{
    uint64_t addr = (uint64_t)(uintptr_t)address;

    (void)flags;
    if (n && !nodes)
        return KMT_INVALID_PARAMETER;
    if (!remember_nodes(addr, n, nodes))
        addr = thunk_registered_address(addr, nbytes);
    if (gpu_address)
        *gpu_address = addr;
    return KMT_OK;
}

KMT_API kmt_status hsaKmtMapMemoryToGPU(void *address, uint64_t nbytes,
                                        uint64_t *gpu_address)
{
    uint32_t nodes[MAX_NODES], n = 0;

    while (n < (uint32_t)sim_device_count() && n < MAX_NODES) {
        nodes[n] = n + 1;
        n++;
    }
    return hsaKmtMapMemoryToGPUNodes(address, nbytes, gpu_address, 0, n, nodes);
}

KMT_API kmt_status hsaKmtUnmapMemoryToGPU(void *address)
{
    remember_nodes((uint64_t)(uintptr_t)address, 0, NULL);
    return KMT_OK;
}

/* ---- asking ---- */

static bool describe_block(uint64_t addr, struct kmt_pointer *info)
{
    const struct block *b;

    pthread_mutex_lock(&lock);
    b = *find(addr);
    if (b) {
        info->type = KMT_POINTER_ALLOCATED;
        info->node = b->node;
        info->flags = b->flags;
        info->cpu = thunk_pointer(b->base);
        info->gpu = b->base;
        info->nbytes = b->nbytes;
        info->nmapped = b->nmapped;
        info->mapped = b->mapped;
        info->user = b->user;
    }
    pthread_mutex_unlock(&lock);
    return b != NULL;
}

KMT_API kmt_status hsaKmtQueryPointerInfo(const void *pointer,
                                          struct kmt_pointer *info)
{
    uint64_t addr = (uint64_t)(uintptr_t)pointer;

    memset(info, 0, sizeof(*info));
    if (describe_block(addr, info) || thunk_describe_registered(addr, info))
        return KMT_OK;
    return KMT_ERROR;
}

KMT_API kmt_status hsaKmtSetMemoryUserData(const void *pointer, void *user)
{
    struct block *b;

    pthread_mutex_lock(&lock);
    b = *find((uint64_t)(uintptr_t)pointer);
    if (b)
        b->user = user;
    pthread_mutex_unlock(&lock);
    return b || thunk_set_registered_user((uint64_t)(uintptr_t)pointer, user)
               ? KMT_OK
               : KMT_INVALID_PARAMETER;
}
