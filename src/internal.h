/* internal.h - what the runtime's files share
 *
 * Everything is declared with hidden visibility, the public calls too: two
 * shared objects of one process can each hold their own copy of the library,
 * and neither's calls can land in the other's.
 */
#ifndef KPK_INTERNAL_H
#define KPK_INTERNAL_H

/* Before the pragma: the system's own functions are not hidden. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(hidden)

#include "gpu.h"
#include "kpack.h"
#include "kpack/format.h"

/* error.c */

/* Sets the thread's message; returns `status` so that it can be returned. */
kpk_status kpk_i_fail(kpk_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The thread's last failure. A call that succeeds although a step of it failed
 * puts the former failure back. */
enum { KPK_I_MESSAGE_NBYTES = 2048 };
struct kpk_i_failure {
    int driver; /* see kpk_error_driver() */
    char text[KPK_I_MESSAGE_NBYTES];
};
void kpk_i_keep_failure(struct kpk_i_failure *out);
void kpk_i_put_back_failure(const struct kpk_i_failure *from);

/* A NULL that a public call does not take. */
#define KPK_I_NEED(kpk_pointer)                                                \
    do {                                                                       \
        if (!(kpk_pointer))                                                    \
            return kpk_i_fail(KPK_ERR_ARG, "%s: %s is NULL", __func__,         \
                              #kpk_pointer);                                   \
    } while (0)

/* Adds to the message of the failure that was told just now. */
void kpk_i_fail_more(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* The same for a call of the driver that returned `error`: "<message>: <call>
 * returned <name> (<number>), <text>". The status is KPK_ERR_DRIVER. */
kpk_status kpk_i_fail_gpu(const struct kpk_i_gpu *gpu, const char *call,
                          hipError_t error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Has a failure been told that a fault of a GPU was behind? */
bool kpk_i_has_faulted(const struct kpk_i_gpu *gpu);

/* The driver's error behind the failure that was told just now. */
void kpk_i_fail_behind(hipError_t error);

/* A bounded string that is built piece by piece; what does not fit is cut. */
struct kpk_i_text {
    char *at;
    size_t room;
};
void kpk_i_append(struct kpk_i_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* process.c; hip.c and cuda.c: see gpu.h */

/* Finds a driver unless that is done. A failure is tried again at the next
 * call. */
kpk_status kpk_i_bind_once(atomic_bool *bound, kpk_status (*find)(void));

bool kpk_i_program_is_static(void);

/* Is the address in the program itself, and in no shared object? */
bool kpk_i_is_in_program(const void *address);

/* Puts what dlsym() found into a slot for a function pointer. */
void kpk_i_store_function(void *slot, void *address);

/* Refused in a child of fork() whose parent had found a driver: its threads are
 * not there, nor are those that may have held a lock. */
kpk_status kpk_i_check_process(void);

/* The driver lacks a function that `what` needs: KPK_ERR_UNSUPPORTED. */
kpk_status kpk_i_lacks(const struct kpk_i_gpu *gpu, const char *what,
                       const char *hip_name);

/* library.c */

struct kpk_i_library {
    const char *stem;   /* "libamdhip64", before ".so" and a number */
    int newest, oldest; /* numbers to look for */
    /* Folders to look in after the loader's own, each with its slash, and NULL.
     */
    const char *const *folders;
    const char *root; /* has core-X/lib for each release; may be NULL */
};

/* The handle of copy number `i` in the process; NULL if there are not so many.
 */
void *kpk_i_mapped_library(const struct kpk_i_library *library, size_t i);

/* The files that it may be, in order, until `try` returns true, which is then
 * returned. */
typedef bool kpk_i_try_file(const char *name, void *what);
bool kpk_i_each_file(const struct kpk_i_library *library, kpk_i_try_file *try,
                     void *what);

/* Files that are there and cannot be used, with the reasons. */
struct kpk_i_tried {
    char why[1024];
};
void kpk_i_tried(struct kpk_i_tried *tried, const char *name, const char *why);

/* The handle of a file, or NULL; that it is there but does not load is noted.
 */
void *kpk_i_open_library(const char *name, struct kpk_i_tried *tried);

/* device.c */

/* Describes device number `device`, and says whose it is. */
kpk_status kpk_i_find_device(int device, const struct kpk_i_gpu **gpu,
                             kpk_device *out);

/* select_sm.c */

/* A target of NVIDIA's: sm_90a, a cubin, or compute_80, PTX. */
struct kpk_i_sm {
    unsigned number; /* major * 10 + minor; 0: none of NVIDIA's */
    char suffix;     /* 'a', 'f' or '\0' */
    bool is_ptx;
};
bool kpk_i_sm_parse(const char *text, struct kpk_i_sm *out);

/* How well `object` fits a device, which is an sm_NN; why, in words. */
kpk_fit kpk_i_sm_fit(const struct kpk_i_sm *device,
                     const struct kpk_i_sm *object, struct kpk_i_text *why);

/* Among objects that fit alike the highest wins: cubins before PTX, the
 * higher number, the suffix that names more. */
unsigned kpk_i_sm_rank(const struct kpk_i_sm *object);

/* module.c */

const char *kpk_i_string(const kpk_module *module, uint32_t offset);

/* "argument 6", with the name where it is known: "argument 6 \"mul\"". `entry`
 * is where it stands in the list, `number` what the caller knows it by. */
enum { KPK_I_ARG_TEXT_NBYTES = 128 };
const char *kpk_i_arg_text(const kpk_module *module,
                           const struct kpk_kernel_desc *desc, uint32_t entry,
                           size_t number, char text[KPK_I_ARG_TEXT_NBYTES]);

/* True if argument `arg` of a kernel is an entry that only fills space. */
bool kpk_i_arg_is_padding(const kpk_module *module,
                          const struct kpk_kernel_desc *desc, uint32_t arg);

/* Size of the zeros that padding entries are copied from; no padding entry is
 * larger. */
#define KPK_I_MAX_PADDING 64u

kpk_status kpk_i_module_check(const kpk_module *module);

/* A code object's bytes, decompressed if need be; refused unless they look
 * like what the target says: an AMDGPU ELF, a cubin or PTX. */
kpk_status kpk_i_object_image(const kpk_module *module, size_t object,
                              const unsigned char **out);

void kpk_i_attrs(const struct kpk_kernel_attrs *from, kpk_attrs *to);

/* select.c */

/* kpk_select() for a target ID that HIP reports, which is never refused: what
 * is not understood of it is a feature that no code object names. */
kpk_status kpk_i_select_reported(const kpk_module *module, const char *target,
                                 kpk_selection *out);

/* Among code objects with the same fit, the one with the higher rank is more
 * specific. */
size_t kpk_i_target_rank(const char *target);

/* unpack.c */

/* A code object's bytes, decompressed if need be; NULL if it was taken out. */
kpk_status kpk_i_object_bytes(const kpk_module *module, size_t object,
                              const unsigned char **out);

/* A module has been loaded from those bytes (1), or unloaded (-1). */
void kpk_i_use_object(const kpk_module *module, size_t object, int by);

/* Gives back what has been decompressed and no loaded module uses. Nobody may
 * hold bytes any more that kpk_module_object() has given. */
void kpk_i_forget_unpacked(void);

/* sha256.c */

void kpk_i_sha256(const void *data, size_t nbytes, uint8_t digest[32]);

/* table.c */

kpk_status kpk_i_check_table(const kpk_module *module, size_t table);

bool kpk_i_find_column(const kpk_module *module, const struct kpk_table *t,
                       const char *name, size_t *out);

/* Is the row for this processor? A target ID's settings do not matter. */
bool kpk_i_for_target(const kpk_module *module, const struct kpk_row_key *key,
                      const char *target);

const char *kpk_i_row_kernel(const kpk_module *module,
                             const struct kpk_table *t, size_t row);

/* The rows of one kernel stand together, by its name: the first that is not
 * below it. */
size_t kpk_i_first_row_of(const kpk_module *module, const struct kpk_table *t,
                          const char *kernel);

/* shape.c */

/* The target whose rows of launch shapes count on a device: that of the code
 * that runs there. It is the device's, the code's, or in `name`. The packs'
 * host code calls it: kernels/host/runtime.h. */
enum { KPK_I_SM_NBYTES = 16 };
const char *kpk_i_target_of_rows(const kpk_module *module, const char *device,
                                 char name[KPK_I_SM_NBYTES]);

/* instance.c */

struct kpk_i_slot { /* a module in an instance */
    const kpk_module *module;
    size_t object; /* selected code object; none if `fits` is false */
    bool fits;
    kpk_fit fit;
    size_t rank;                     /* rank of the object's target */
    _Atomic(hipModule_t) hip_module; /* NULL while not loaded */
    pthread_rwlock_t held;           /* read by who keeps it loaded */
    kpk_kernel *kernels;             /* [module->nkernels] */
};

struct kpk_kernel {
    kpk_instance *inst;
    struct kpk_i_slot *slot;
    const struct kpk_kernel_desc *desc;
    const struct kpk_kernel_attrs *attrs; /* NULL if no object fits */
    uint32_t nargs_given;                 /* desc->nargs less padding */
    uint32_t nbytes_needed;               /* least size of a packed buffer */
    uint32_t unlisted_nbytes;  /* arguments' size, if the metadata lists none */
    uint32_t nshared_pointers; /* arguments that point to shared memory */
    _Atomic(hipFunction_t) function; /* NULL while not resolved */
};

struct kpk_instance {
    const struct kpk_i_gpu *gpu;
    int ordinal; /* kpack's number of the device */
    kpk_device device;
    pthread_mutex_t lock; /* loading and unloading */
    bool lock_made;
    size_t nslots;
    struct kpk_i_slot *slots; /* sorted by module name */
    kpk_kernel *kernels;      /* every slot's, slot by slot */
    kpk_kernel **names;       /* hash table by name, see names.c */
    size_t names_mask;
};

/* Makes the instance's device current for the calling thread and remembers
 * what was; leave() puts it back. If it cannot, the message says what is
 * current now; leave() returns `st`, or KPK_ERR_DRIVER if `st` is a success. */
kpk_status kpk_i_enter(const kpk_instance *inst, intptr_t *saved);
kpk_status kpk_i_leave(const kpk_instance *inst, intptr_t saved, kpk_status st);

/* An action under the instance's lock with its device current. */
typedef kpk_status kpk_i_work(kpk_instance *inst, void *what);
kpk_status kpk_i_with_lock(kpk_instance *inst, kpk_i_work *work, void *what);

kpk_status kpk_i_find_slot(const kpk_instance *inst, const char *name,
                           struct kpk_i_slot **out);

/* The kernel's function, found in its module the first time. It is refused
 * with KPK_ERR_UNLOADED unless the module is loaded. */
kpk_status kpk_i_function(const kpk_kernel *kernel, hipFunction_t *out);

/* An action on a kernel's function, which stays valid meanwhile: under the
 * instance's lock with its device current. */
typedef kpk_status kpk_i_use(kpk_instance *inst, const kpk_kernel *kernel,
                             hipFunction_t function, void *what);
kpk_status kpk_i_with_function(const kpk_kernel *kernel, kpk_i_use *use,
                               void *what);

/* Under the lock: loads the module unless it is loaded. */
kpk_status kpk_i_load_slot(kpk_instance *inst, struct kpk_i_slot *slot);

/* Under the lock: the module stays loaded until it is let go, which takes no
 * lock. For what is too slow to be done under the lock. */
void kpk_i_hold_slot(struct kpk_i_slot *slot);
void kpk_i_let_go(struct kpk_i_slot *slot);

/* query.c */

/* kpk_occupancy() without the lock: for launches, which no unloading may meet.
 */
kpk_status kpk_i_occupancy(const kpk_kernel *kernel, uint32_t block,
                           size_t shared_nbytes, uint32_t *out);

/* launch.c */

/* Holds a launch against the limits of kernel, device and driver. */
kpk_status kpk_i_check_launch(const kpk_kernel *kernel, const kpk_shape *shape);

/* One pointer for each entry of the kernel's argument list: into the caller's
 * values, or, of a packed buffer, into that. */
kpk_status kpk_i_point_to_args(const kpk_kernel *kernel, const kpk_arg *args,
                               size_t nargs, void *params[KPK_MAX_ARGS]);
kpk_status kpk_i_point_into_buffer(const kpk_kernel *kernel, const void *buffer,
                                   size_t nbytes, void *params[KPK_MAX_ARGS]);

kpk_status kpk_i_check_stream(const kpk_kernel *kernel, const void *stream);
kpk_status kpk_i_launch_failed(const char *call, hipError_t error,
                               const kpk_kernel *kernel,
                               const kpk_shape *shape);

/* names.c */

kpk_status kpk_i_names_make(kpk_instance *inst, size_t nkernels);

/* The kernel of that name, the only one that fits the device, or the only one:
 * else *other is set, and the first found is returned. NULL: no such kernel.
 */
kpk_kernel *kpk_i_names_find(const kpk_instance *inst, const char *name,
                             const kpk_kernel **other);

#pragma GCC visibility pop

#endif
