/* drm.c - memory apart from addresses, and libdrm's names for it
 *
 * HIP's virtual memory reserves addresses, creates memory and maps one into the
 * other. ROCr asks the thunk for memory without an address, has it exported as
 * a file and imported by each GPU that is to reach it, and maps the import at
 * an address; these calls are libdrm's. The host maps the device's own file at
 * the offset that the kernel's driver gives.
 *
 * Here all such memory lies in one file, every piece at an offset of its own. A
 * GPU's mapping is an allocation in the table of base/allocation.h. An export
 * is a file that names the piece; another process cannot import it.
 */
#define _GNU_SOURCE
#include "drm.h"

#include "kmt.h"
#include "node.h"

#include "../base/allocation.h"
#include "../base/processor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_DEVICES = 64 };

/* A piece of memory; its allocation and each import hold a reference. */
struct piece {
    struct piece *next;
    uint32_t id;
    int refs, device; /* ordinal, -1: the host's memory */
    uint64_t nbytes, offset;
};

struct kmt_bo {
    struct piece *piece;
};

/* At one address, for one or more GPUs. */
struct mapping {
    struct mapping *next;
    const struct piece *piece;
    uint64_t address, nbytes;
    void *bytes;
    int refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;
static struct mapping *mappings;
static int file = -1;
static uint64_t file_nbytes;
static uint32_t last_id;

/* Contents of an exported file. */
struct exported {
    char magic[8];
    int32_t process;
    uint32_t id;
};
static const char magic[8] = "kpk-bo\n";

/* ---- pieces; with the lock held ---- */

static bool file_ready(void)
{
    if (file < 0)
        file = memfd_create("kpk-sim-drm", MFD_CLOEXEC);
    return file >= 0;
}

static struct piece *new_piece(int device, uint64_t nbytes)
{
    struct piece *p = calloc(1, sizeof(*p));

    if (!p || !file_ready() || (device >= 0 && !sim_mem_charge(device, nbytes)))
        goto fail;
    if (ftruncate(file, (off_t)(file_nbytes + nbytes)) != 0) {
        if (device >= 0)
            sim_mem_discharge(device, nbytes);
        goto fail;
    }
    *p = (struct piece){pieces, ++last_id, 1, device, nbytes, file_nbytes};
    file_nbytes += nbytes;
    pieces = p;
    return p;
fail:
    free(p);
    return NULL;
}

static void let_go(struct piece *p)
{
    struct piece **at = &pieces;

    if (--p->refs)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)p->offset, (off_t)p->nbytes);
    if (p->device >= 0)
        sim_mem_discharge(p->device, p->nbytes);
    free(p);
}

static struct piece *by_id(uint32_t id)
{
    struct piece *p = pieces;

    while (p && p->id != id)
        p = p->next;
    return p;
}

/* ---- the thunk's calls ---- */

kmt_status thunk_piece_new(uint32_t node, uint64_t nbytes, void **handle)
{
    pthread_mutex_lock(&lock);
    *handle = new_piece((int)node - 1, nbytes);
    pthread_mutex_unlock(&lock);
    return *handle ? KMT_OK : KMT_NO_MEMORY;
}

/* With the lock held; NULL if it is no piece's. */
static struct piece *by_handle(const void *handle)
{
    struct piece *p = pieces;

    while (p && p != handle)
        p = p->next;
    return p;
}

bool thunk_piece_free(void *handle)
{
    struct piece *p;

    pthread_mutex_lock(&lock);
    p = by_handle(handle);
    if (p)
        let_go(p);
    pthread_mutex_unlock(&lock);
    return p != NULL;
}

static int export_piece(uint32_t id)
{
    struct exported e = {.process = getpid(), .id = id};
    int fd = memfd_create("kpk-sim-dmabuf", MFD_CLOEXEC);

    memcpy(e.magic, magic, sizeof(magic));
    if (fd >= 0 && write(fd, &e, sizeof(e)) != sizeof(e)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

KMT_API kmt_status hsaKmtExportDMABufHandle(void *handle, uint64_t nbytes,
                                            int *fd, uint64_t *offset)
{
    const struct piece *p;
    uint32_t id;

    (void)nbytes;
    pthread_mutex_lock(&lock);
    p = by_handle(handle);
    id = p ? p->id : 0;
    pthread_mutex_unlock(&lock);
    if (!p)
        return KMT_NOT_SUPPORTED; /* memory that has an address */
    *fd = export_piece(id);
    *offset = 0;
    return *fd >= 0 ? KMT_OK : KMT_NO_MEMORY;
}

/* ---- devices ---- */

KMT_API kmt_status hsaKmtGetAMDGPUDeviceHandle(uint32_t node, void **handle)
{
    static struct kmt_drm_device devices[MAX_DEVICES];
    const struct sim_device *d = thunk_device(node);

    if (!d || d->ordinal >= MAX_DEVICES)
        return KMT_INVALID_NODE;
    pthread_mutex_lock(&lock);
    file_ready();
    devices[d->ordinal] =
        (struct kmt_drm_device){.refs = 1, .fd = file, .ordinal = d->ordinal};
    pthread_mutex_unlock(&lock);
    *handle = &devices[d->ordinal];
    return KMT_OK;
}

KMT_API int amdgpu_device_get_fd(const struct kmt_drm_device *device)
{
    return device->fd;
}

enum { COUNTER_KHZ = 100000 }; /* rate of s_memrealtime */

KMT_API int amdgpu_query_gpu_info(void *device, struct kmt_gpu_info *info)
{
    (void)device;
    *info = (struct kmt_gpu_info){.counter_khz = COUNTER_KHZ};
    return 0;
}

/* Serves one command of the driver, GEM_MMAP: where the host maps a piece. */
KMT_API int drmCommandWriteRead(int fd, unsigned long command, void *data,
                                unsigned long nbytes)
{
    enum { GEM_MMAP = 1 };
    const struct piece *p;
    uint32_t id;
    int result = -EINVAL;

    (void)fd;
    if (command != GEM_MMAP || nbytes < sizeof(p->offset))
        return -ENOSYS;
    memcpy(&id, data, sizeof(id));
    pthread_mutex_lock(&lock);
    p = by_id(id);
    if (p) {
        memcpy(data, &p->offset, sizeof(p->offset));
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- imports ---- */

KMT_API int amdgpu_bo_import(void *device, int type, uint32_t fd,
                             struct kmt_bo_import *out)
{
    struct kmt_bo *bo = calloc(1, sizeof(*bo));
    struct exported e;
    int result = -EINVAL;

    (void)device;
    if (!bo)
        return -ENOMEM;
    if (type == KMT_BO_DMA_BUF &&
        pread((int)fd, &e, sizeof(e), 0) == sizeof(e) &&
        memcmp(e.magic, magic, sizeof(magic)) == 0 && e.process == getpid()) {
        pthread_mutex_lock(&lock);
        bo->piece = by_id(e.id);
        if (bo->piece) {
            bo->piece->refs++;
            *out = (struct kmt_bo_import){bo, bo->piece->nbytes};
            result = 0;
        }
        pthread_mutex_unlock(&lock);
    }
    if (result)
        free(bo);
    return result;
}

KMT_API int amdgpu_bo_export(const struct kmt_bo *bo, int type, uint32_t *out)
{
    int fd;

    if (type == KMT_BO_KMS) {
        *out = bo->piece->id;
        return 0;
    }
    fd = type == KMT_BO_DMA_BUF ? export_piece(bo->piece->id) : -1;
    *out = (uint32_t)fd;
    return fd >= 0 ? 0 : -EINVAL;
}

KMT_API int amdgpu_bo_free(struct kmt_bo *bo)
{
    pthread_mutex_lock(&lock);
    let_go(bo->piece);
    pthread_mutex_unlock(&lock);
    free(bo);
    return 0;
}

/* ---- mappings; with the lock held ---- */

static struct mapping **mapped_at(uint64_t address)
{
    struct mapping **at = &mappings;

    while (*at && (*at)->address != address)
        at = &(*at)->next;
    return at;
}

static int map(const struct piece *p, uint64_t offset, uint64_t nbytes,
               uint64_t address, bool writable)
{
    struct mapping *m = *mapped_at(address);
    struct sim_alloc *a;

    if (m && (m->piece != p || m->nbytes != nbytes))
        return -EINVAL;
    if (m) { /* for another GPU, too */
        m->refs++;
        return 0;
    }
    if (offset > p->nbytes || nbytes == 0 || nbytes > p->nbytes - offset)
        return -EINVAL;
    m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    *m = (struct mapping){mappings, p, address, nbytes, NULL, 1};
    m->bytes = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                    (off_t)(p->offset + offset));
    if (m->bytes == MAP_FAILED)
        goto fail;
    a = sim_mem_publish(p->device, address, m->bytes, nbytes,
                        p->device < 0 ? SIM_MEM_HOST : SIM_MEM_DEVICE);
    if (!a) {
        munmap(m->bytes, nbytes);
        goto fail;
    }
    a->readonly = !writable;
    mappings = m;
    return 0;
fail:
    free(m);
    return -ENOMEM;
}

static int unmap(uint64_t address)
{
    struct mapping **at = mapped_at(address), *m = *at;

    if (!m)
        return -EINVAL;
    if (--m->refs)
        return 0;
    *at = m->next;
    sim_mem_free(address);
    munmap(m->bytes, m->nbytes);
    free(m);
    return 0;
}

KMT_API int amdgpu_bo_va_op(const struct kmt_bo *bo, uint64_t offset,
                            uint64_t nbytes, uint64_t address, uint64_t flags,
                            uint32_t operation)
{
    enum { MAP = 1, UNMAP = 2, WRITABLE = 1 << 2 };
    int result = -EINVAL;

    pthread_mutex_lock(&lock);
    if (operation == MAP)
        result =
            map(bo->piece, offset, nbytes, address, (flags & WRITABLE) != 0);
    else if (operation == UNMAP)
        result = unmap(address);
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- missing functions ---- */

#define NO_DRM(name)                                                           \
    KMT_API int name(void);                                                    \
    int name(void)                                                             \
    {                                                                          \
        return -ENOSYS;                                                        \
    }
NO_DRM(amdgpu_bo_cpu_map)
NO_DRM(amdgpu_bo_query_info)
NO_DRM(amdgpu_bo_set_metadata)
NO_DRM(amdgpu_device_deinitialize)
NO_DRM(amdgpu_device_initialize)
