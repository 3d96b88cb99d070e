/* kpack.h - GPU kernels that travel inside a program
 *
 * A pack is a set of GPU kernels, compiled ahead of time for several targets of
 * AMD and, if asked for, NVIDIA, and linked into the program as constant data.
 * This library finds the machine's HIP runtime or CUDA driver, picks the code
 * object that fits the device, loads it and launches its kernels. Linking needs
 * neither ROCm nor CUDA nor a GPU:
 *
 *     cc app.c $(pkg-config --cflags --libs kpack)
 *
 * The whole of it, without error handling:
 *
 *     #include <kpack.h>
 *     #include <kpack/candle.h>
 *
 *     kpk_instance *gpu;
 *     const kpk_kernel *k;
 *     void *a, *b, *c;
 *     uint32_t n = 1000;
 *
 *     kpk_open(&kpk_candle, KPK_ANY_DEVICE, &gpu);
 *     kpk_kernel_get(gpu, "vector_add", &k);
 *     kpk_malloc(gpu, n * sizeof(float), &a);  (b and c likewise)
 *     kpk_copy_to(gpu, a, host_a, n * sizeof(float));
 *     kpk_shape shape = kpk_shape_1d(n, 256);
 *     kpk_launch(k, &shape, NULL, KPK_ARGS(a, b, c, n));
 *     kpk_copy_from(gpu, host_c, c, n * sizeof(float));
 *     kpk_close(gpu);
 *
 * Rules that hold for every call, unless its comment says otherwise:
 *
 *   - A call returns a kpk_status. On failure its out-parameters are left
 *     alone and kpk_error_message() says what was asked, what was found and
 *     what to do. The library never prints, exits or aborts.
 *   - A pointer may be NULL only where the call's comment says so, or where it
 *     comes with a count or size of 0. Otherwise the call fails with
 *     KPK_ERR_ARG; one that returns no status returns NULL, 0, or -1 for a
 *     device's number.
 *   - A call may be made by any number of threads at once.
 *   - The calling thread's current device is the same after the call as before
 *     it. Should the driver refuse to make it current again, the call fails and
 *     its message says so. If that is all that failed, the call has done its
 *     work (a call that makes memory, a stream, an event or a graph has undone
 *     it).
 *   - Strings that are passed in are not kept. Strings that are returned are
 *     NUL-terminated UTF-8. A string of a pack or module lives as long as the
 *     program or shared object with the pack; a string of an instance lives
 *     until the instance's close.
 *   - A "target ID" is a processor and its settings as HIP's gcnArchName
 *     spells them, e.g. "gfx942:sramecc+:xnack-".
 *   - Streams, events, modules and functions are the driver's own handles,
 *     HIP's or CUDA's, passed as void * so that this header needs neither's
 *     header. NULL is the default stream. The driver's own calls go on working
 *     beside kpack's.
 *
 * Most programs need the first half:
 *
 *     Version, Errors, Packs and modules, Instances, Launching,
 *     Device memory, Streams and events, Copies in a stream, pinned memory,
 *     Memory in the order of a stream, Drivers and devices, Typed launches
 *
 * The second half is for those that want more:
 *
 *     Packed arguments, More ways to launch and to load, Device variables,
 *     Looking into packs, Selection, Configuration tables, The driver's
 * answers, Graphs
 *
 * A program that comes from HIP's module API finds each of its calls in a table
 * of src/README.md. Needs C99 or C++11.
 */
#ifndef KPACK_H
#define KPACK_H

#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ != 8
#error "kpack is for 64-bit programs: HIP and CUDA's driver know no others"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------ */
/* Version                                                                  */

#define KPK_VERSION_MAJOR 0
#define KPK_VERSION_MINOR 1
#define KPK_VERSION_PATCH 0
#define KPK_VERSION_STRING "0.1.0"

/*
 * kpk_version() is the version of the library that was linked:
 * major * 10000 + minor * 100 + patch. It differs from the macros above only
 * if the header and the archive are of different releases. Cannot fail.
 */
int kpk_version(void);

/* ------------------------------------------------------------------------ */
/* Errors                                                                   */

/* Every status: name, number and meaning. Numbers are ABI. */
/* clang-format off */
#define KPK_STATUS_TABLE(X)                                                   \
    X(KPK_OK,                0, "success")                                    \
    X(KPK_ERR_ARG,           1, "bad argument to a kpack call")               \
    X(KPK_ERR_NOMEM,         2, "out of host memory")                         \
    X(KPK_ERR_NO_DRIVER,     3, "no usable HIP runtime or CUDA driver on "    \
                                "this machine")                               \
    X(KPK_ERR_NO_DEVICE,     4, "no such GPU")                                \
    X(KPK_ERR_NO_MODULE,     5, "no such module in the pack")                 \
    X(KPK_ERR_NO_KERNEL,     6, "no such kernel in the pack")                 \
    X(KPK_ERR_AMBIGUOUS,     7, "several modules have a kernel of that name") \
    X(KPK_ERR_NO_TARGET,     8, "no code object in the pack fits the GPU")    \
    X(KPK_ERR_FORMAT,        9, "the pack's data is damaged or of another "   \
                                "version of kpack")                           \
    X(KPK_ERR_SHAPE,        10, "the launch's grid, block or shared memory "  \
                                "is impossible")                              \
    X(KPK_ERR_KERNEL_ARGS,  11, "the kernel takes other arguments")           \
    X(KPK_ERR_UNLOADED,     12, "the kernel's module has been unloaded")      \
    X(KPK_ERR_UNSUPPORTED,  13, "this driver or GPU cannot do that")          \
    X(KPK_ERR_DRIVER,       14, "a call of HIP or CUDA failed")               \
    X(KPK_ERR_NO_GLOBAL,    15, "no such device variable in the module")      \
    X(KPK_ERR_NO_ROW,       16, "no row of the configuration table fits")     \
    X(KPK_ERR_TIMEOUT,      17, "another GPU did not answer in time")
/* clang-format on */

typedef enum kpk_status {
#define KPK_STATUS_ROW(name, number, text) name = number,
    KPK_STATUS_TABLE(KPK_STATUS_ROW)
#undef KPK_STATUS_ROW
} kpk_status;

/*
 * kpk_status_name() is the spelling of a status, "KPK_ERR_NO_DRIVER";
 * kpk_status_string() is its meaning in a few words.
 *
 * A number that is no status gives "KPK_ERR_UNKNOWN" and "unknown status".
 * The strings live for ever. Cannot fail.
 */
const char *kpk_status_name(kpk_status status);
const char *kpk_status_string(kpk_status status);

/*
 * kpk_error_message() is the calling thread's last failure in full sentences.
 *
 * The string is the thread's own, and is overwritten by its next failing
 * call; a call that succeeds leaves it alone. "" if no call has failed yet.
 * Cannot fail.
 */
const char *kpk_error_message(void);

/*
 * kpk_error_driver() is the driver's error behind the calling thread's last
 * failure: a hipError_t, or a CUresult. It is 0 if no call of a driver failed.
 * Cannot fail.
 */
int kpk_error_driver(void);

/* ------------------------------------------------------------------------ */
/* Packs and modules                                                        */

/*
 * A kpk_module is one kernel source: its kernels, and its code objects for
 * all targets. A kpk_pack is a named set of modules. Both are constant data
 * that the build generates; a pack's header declares them:
 *
 *     #include <kpack/candle.h>
 *     ... kpk_candle ...           the pack, i.e. all of it
 *     ... kpk_module_affine ...    one module; naming only this one keeps the
 *                                  others out of the program
 *
 * Symbols carry the pack's name (kpk_module_candle__affine). So a program can
 * hold packs of several vendors, even if their modules have the same names. The
 * packs' own names must differ: of two packs with one name the linker takes the
 * first without a word. (kpk_kernels_get() then refuses the launchers of the
 * other one, if their kernels differ.)
 *
 * The short names, such as kpk_module_affine, are macros. Where the headers of
 * two packs meet that both have a module affine, write the whole name.
 */
typedef struct kpk_pack kpk_pack;
typedef struct kpk_module kpk_module;

/*
 * KPK_DATA stands in front of packs and modules. Programs for Windows that link
 * kpack.dll define KPK_DLL before they include a header of kpack's: data of a
 * DLL is declared as such.
 */
#if defined(_WIN32) && defined(KPK_DLL)
#define KPK_DATA __declspec(dllimport)
#else
#define KPK_DATA
#endif

/* ------------------------------------------------------------------------ */
/* Instances: a pack opened on one device                                   */

/*
 * Any number of threads may use one instance at once, but for kpk_close(),
 * which must come last, and kpk_unload(), see there. A process may have any
 * number of instances, of one pack too, on one device or on several.
 */
typedef struct kpk_instance kpk_instance;

/*
 * A kernel of an instance, ready to be launched. Owned by the instance: valid
 * until its kpk_close(), never freed by the caller.
 */
typedef struct kpk_kernel kpk_kernel;

/*
 * kpk_open() opens a pack on a device; kpk_open_modules() opens some modules,
 * so that a program need not name, and hence link, the whole pack.
 *
 *   pack     constant data, e.g. &kpk_candle
 *   modules  [n] pointers to constant data; the array itself is not kept
 *   device   device number, as kpk_device_get() counts; KPK_ANY_DEVICE: the
 *            first device that one of the modules has code for
 *   out      the instance; give it to kpk_close()
 *
 * Nothing is loaded yet: a module is loaded the first time one of its kernels
 * is asked for. If a module has no code object for the device, that is no error
 * until then. If no module of the pack has one, kpk_open() fails, and the
 * message names a device that would do, if there is one.
 *
 * KPK_ANY_DEVICE suits programs that run on one GPU, whichever it is: one card
 * of several may be too old, or of the other vendor. HIP's devices are tried
 * first, and the CUDA driver is started only if none of HIP's will do.
 * kpk_instance_ordinal() says which one was taken.
 *
 * A GPU's fault, such as a kernel's access to an address that is not there,
 * ends the use of that GPU in the process: both HIP and CUDA's driver answer
 * later calls with its error, and neither has a call that undoes it. Once
 * kpack has told of a fault, kpk_open() on that GPU fails with KPK_ERR_DRIVER
 * and says so: start the program again. (HIP before 7.0 ends the process
 * itself. The simulated GPU, on which faults are tried out, works again after
 * hipDeviceReset().)
 *
 * Fails with KPK_ERR_NO_TARGET, KPK_ERR_NO_DEVICE, KPK_ERR_NO_DRIVER,
 * KPK_ERR_DRIVER, KPK_ERR_FORMAT, KPK_ERR_NOMEM, KPK_ERR_ARG.
 */
enum { KPK_ANY_DEVICE = -1 };
kpk_status kpk_open(const kpk_pack *pack, int device, kpk_instance **out);
kpk_status kpk_open_modules(const kpk_module *const *modules, size_t n,
                            int device, kpk_instance **out);

/*
 * kpk_close() waits for the device's work, unloads all modules and frees the
 * instance with its kernels. NULL is a success and does nothing.
 *
 * The instance is gone whatever the status. KPK_ERR_DRIVER only says that the
 * driver reported a failure on the way, for instance of a kernel that faulted;
 * a module that the driver did not unload stays in memory. Do not call it from
 * destructors or atexit() handlers: HIP may be gone by then. No other thread
 * may be using the instance.
 */
kpk_status kpk_close(kpk_instance *inst);

/*
 * kpk_load() loads a module now instead of at its first kernel, for programs
 * that want the time spent early or before a stream capture.
 *
 *   module  the module's name; NULL for every module that fits the device
 *
 * If the module is loaded already, nothing happens: a success. Fails with
 * KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET, KPK_ERR_FORMAT, KPK_ERR_DRIVER,
 * KPK_ERR_NOMEM.
 */
kpk_status kpk_load(kpk_instance *inst, const char *module);

/*
 * kpk_unload() waits for the device's work and unloads one module; any call
 * that loads modules loads it again.
 *
 *   module  the module's name; NULL for all of them
 *
 * The module's kernels stay valid, those for typed launches too: a launch is
 * refused with KPK_ERR_UNLOADED as long as the module is not loaded, and works
 * again from then on. A launch itself loads nothing. No other thread may be
 * launching kernels of the module meanwhile; other modules may be in use. Any
 * other call may be at work on the module: it is waited for, or waits. An
 * address or handle that such a call has returned ends with the module.
 * Unloading what is not loaded is a success.
 * Fails with KPK_ERR_NO_MODULE, KPK_ERR_DRIVER.
 */
kpk_status kpk_unload(kpk_instance *inst, const char *module);

/*
 * kpk_kernel_get() finds a kernel, loading its module the first time.
 * kpk_kernel_get_in() looks in one module only, for packs in which several
 * modules have a kernel of one name.
 *
 *   inst    an open instance
 *   module  the module's name
 *   name    the kernel's exported name, e.g. "affine_f32"
 *   out     the kernel; owned by inst
 *
 * Fails with KPK_ERR_NO_KERNEL, KPK_ERR_AMBIGUOUS, KPK_ERR_NO_MODULE,
 * KPK_ERR_NO_TARGET, KPK_ERR_FORMAT, KPK_ERR_DRIVER, KPK_ERR_NOMEM.
 * Threads may ask at once, for the same kernel too: a module loads once. A
 * kernel that was fetched before is found without taking a lock.
 */
kpk_status kpk_kernel_get(kpk_instance *inst, const char *name,
                          const kpk_kernel **out);
kpk_status kpk_kernel_get_in(kpk_instance *inst, const char *module,
                             const char *name, const kpk_kernel **out);

/*
 * kpk_kernel_name(), kpk_kernel_module() and kpk_kernel_index() say where a
 * kernel comes from: its name, its module and its number in the module, as
 * kpk_module_kernel() and kpk_module_arg() take it. Cannot fail.
 */
const char *kpk_kernel_name(const kpk_kernel *kernel);
const kpk_module *kpk_kernel_module(const kpk_kernel *kernel);
size_t kpk_kernel_index(const kpk_kernel *kernel);

/*
 * kpk_kernel_raw() gives the driver's own handles of a kernel, for calls that
 * kpack does not wrap.
 *
 *   module    a hipModule_t or CUmodule; may be NULL
 *   function  a hipFunction_t or CUfunction; may be NULL
 *
 * Both belong to the instance: neither is to be unloaded, and both end with
 * kpk_unload() or kpk_close(). Fails with KPK_ERR_UNLOADED.
 */
kpk_status kpk_kernel_raw(const kpk_kernel *kernel, void **module,
                          void **function);

/* ------------------------------------------------------------------------ */
/* Launching                                                                */

/* The extent of a launch. No dimension may be 0. */
typedef struct kpk_shape {
    uint32_t grid[3];       /* blocks in x, y, z */
    uint32_t block[3];      /* threads of a block in x, y, z */
    uint32_t shared_nbytes; /* dynamic shared memory of a block */
} kpk_shape;

/*
 * kpk_shape_1d() is a shape of enough blocks in x to give every one of n
 * elements a thread: ceil(n / block) of them, at least 1 and at most 2^31 - 1
 * and never so many that there are 2^32 threads or more, which HIP refuses;
 * a kernel that is given more elements than threads has to loop over them.
 * A block of 0 gives a shape that every launch refuses.
 */
static inline kpk_shape kpk_shape_1d(uint64_t n, uint32_t block)
{
    kpk_shape shape = {{1, 1, 1}, {0, 1, 1}, 0};
    uint64_t most = block ? 0xffffffffu / (uint64_t)block : 1;
    uint64_t blocks = block ? n / block + (n % block != 0) : 1;

    if (most > 0x7fffffffu)
        most = 0x7fffffffu;
    if (blocks > most)
        blocks = most;
    shape.grid[0] = blocks ? (uint32_t)blocks : 1;
    shape.block[0] = block;
    return shape;
}

/* One argument of a launch: where its value is, and the value's size. */
typedef struct kpk_arg {
    const void *value; /* copied during the call */
    size_t nbytes;
} kpk_arg;

/* Most arguments that kpk_launch() takes; kpk_launch_packed() has no limit. */
#define KPK_MAX_ARGS 256

/*
 * KPK_ARGS(a, b, ...) makes the last two arguments of kpk_launch() out of up
 * to 32 variables, in the order of the kernel's parameters. Each must have
 * the size of its parameter: a device pointer is any pointer variable, a
 * size_t parameter wants a size_t or uint64_t, not an int. In C each has to be
 * a variable (its address is taken), in C++ any expression will do.
 *
 *     kpk_launch(k, &shape, NULL, KPK_ARGS(n, rank, info, in, out, mul, add));
 *
 * A kernel without arguments takes NULL, 0 instead.
 */
#ifndef __cplusplus
#define KPK_ARG(kpk_x)                                                         \
    {                                                                          \
        &(kpk_x), sizeof(kpk_x)                                                \
    }
#define KPK_ARGS(...)                                                          \
    ((const kpk_arg[]){KPK_I_EACH(KPK_I_COUNT(__VA_ARGS__), __VA_ARGS__)}),    \
        (size_t)KPK_I_COUNT(__VA_ARGS__)
#else
#define KPK_ARGS(...)                                                          \
    kpk_i_arg_list(__VA_ARGS__).args, (size_t)KPK_I_COUNT(__VA_ARGS__)
#endif

/*
 * kpk_launch() starts a kernel and returns without waiting for it.
 *
 *   kernel  from kpk_kernel_get()
 *   shape   read during the call only
 *   stream  a hipStream_t of the instance's device; NULL for the default one
 *   args    [nargs] in the order of the kernel's parameters; read, with the
 *           values, during the call only
 *
 * Everything is checked before the GPU sees it, against the kernel's argument
 * list, its limits and the device's: KPK_ERR_KERNEL_ARGS names the argument
 * that does not fit, KPK_ERR_SHAPE the dimension. No check can tell whether a
 * pointer points to device memory of the right extent. Nothing is allocated. A
 * kernel whose metadata lists no arguments, though it reads some, is launched
 * with kpk_launch_packed() only. Also fails with KPK_ERR_UNLOADED,
 * KPK_ERR_DRIVER, KPK_ERR_ARG.
 *
 * A pointer to dynamic shared memory (KPK_KIND_DYNAMIC_SHARED), which kernels
 * of OpenCL C can have as an argument, is 4 bytes of any value: HIP puts the
 * address of the block's dynamic shared memory there. Its size is the shape's
 * shared_nbytes. HIP places several such pointers 4 bytes apart, so a kernel
 * that has two or more is refused on AMD's GPUs, however it is launched
 * (KPK_ERR_UNSUPPORTED).
 */
kpk_status kpk_launch(const kpk_kernel *kernel, const kpk_shape *shape,
                      void *stream, const kpk_arg *args, size_t nargs);

/*
 * kpk_kernel_shape() recommends a launch shape for a kernel; kpk_module_shape()
 * is the same without a device, for a target ID (NULL: for any).
 *
 *   n        what the grid's x covers: elements of an elementwise kernel, rows
 *            of a row kernel; the table's column grid_x_counts says which
 *   columns  the length of a row, by which the block of row kernels is chosen,
 *            or what grid_y_counts says; 0 where there is no such thing
 *   out      grid, block and dynamic shared memory
 *
 * The numbers come from the module's configuration table that has a column
 * block_x: block_x, block_y, grid_x_each and grid_y_each (how many of n and of
 * columns a block takes), shared_nbytes, min_n, the least n that a row is for,
 * n_multiple, of which n must be a multiple for it, and min_columns and
 * max_columns, its range of columns. The first row that fits is taken: one for
 * `target`, which is the target of the code object that runs, or for any. An
 * imported pack has such a table of Triton's kernels whose JSON lay beside
 * them; n and columns are the grid's x and y there.
 *
 * The grid covers all of n and of columns. HIP launches fewer than 2^32 threads
 * in a dimension, and 2^31 - 1 blocks in x and 65535 in y at most. If a grid
 * would be larger, KPK_ERR_SHAPE says so: launch the kernel for parts of the
 * data. Where the row says that the kernel loops over what a grid leaves
 * (grid_x_loops, grid_y_loops: 1) it is the largest grid that HIP launches; and
 * grid_x_most blocks, if the row has such a limit, as kernels have that fill a
 * GPU with so many.
 *
 * Fails with KPK_ERR_NO_ROW where nothing is recommended, KPK_ERR_SHAPE,
 * KPK_ERR_ARG.
 */
kpk_status kpk_kernel_shape(const kpk_kernel *kernel, uint64_t n,
                            uint64_t columns, kpk_shape *out);
kpk_status kpk_module_shape(const kpk_module *module, size_t kernel,
                            const char *target, uint64_t n, uint64_t columns,
                            kpk_shape *out);

/* ------------------------------------------------------------------------ */
/* Device memory, for programs that do not use the driver themselves        */

/*
 * Thin calls over hipMalloc, hipFree, hipMemcpy, hipMemset and
 * hipStreamSynchronize, or CUDA's counterparts, on the instance's device. A
 * program mixes them freely with the driver's own: a pointer is a pointer.
 *
 * kpk_malloc()     nbytes of device memory, aligned to 256 at least; 0 bytes
 *                  give NULL. Freed by kpk_free(), not by kpk_close().
 * kpk_free()       gives it back; waits for the device; NULL does nothing
 * kpk_copy_to()    host to device; done when it returns
 * kpk_copy_from()  device to host; waits for kernels on the default stream,
 *                  done when it returns
 * kpk_fill()       sets nbytes of device memory to one byte's value
 * kpk_sync()       waits for a stream; NULL for the default one. Reports what
 *                  went wrong in kernels that it waited for, as far as the
 *                  driver does.
 *
 * All fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_malloc(kpk_instance *inst, size_t nbytes, void **out);
kpk_status kpk_free(kpk_instance *inst, void *ptr);
kpk_status kpk_copy_to(kpk_instance *inst, void *device_dst,
                       const void *host_src, size_t nbytes);
kpk_status kpk_copy_from(kpk_instance *inst, void *host_dst,
                         const void *device_src, size_t nbytes);
kpk_status kpk_fill(kpk_instance *inst, void *device_dst, uint8_t value,
                    size_t nbytes);
kpk_status kpk_sync(kpk_instance *inst, void *stream);

/*
 * For kernels of several devices that work together while they run.
 *
 * kpk_peer_enable()      lets kernels of inst's device read and write memory of
 *                        peer's device, from now on until the process ends. The
 *                        other direction is a call of its own. Does nothing for
 *                        a device and itself, or for the second time
 * kpk_malloc_uncached()  kpk_malloc() of memory that no cache keeps on AMD's
 *                        GPUs (hipDeviceMallocUncached), for flags between
 *                        devices. On NVIDIA's it is kpk_malloc()
 *
 * Both fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_peer_enable() also with
 * KPK_ERR_UNSUPPORTED if the devices have no direct way between them.
 */
kpk_status kpk_peer_enable(kpk_instance *inst, const kpk_instance *peer);
kpk_status kpk_malloc_uncached(kpk_instance *inst, size_t nbytes, void **out);

/*
 * Device memory that several processes use. One process exports it and sends
 * the bytes of the kpk_ipc_memory to others, by a pipe, a file or a socket;
 * they import it.
 *
 *   kpk_ipc_export()  describes memory of inst's device for other processes.
 *                     `ptr` is what kpk_malloc() or kpk_malloc_uncached() gave,
 *                     and must stay allocated until the others have closed it
 *   kpk_ipc_import()  gives memory of another process of this machine an
 *                     address here, for inst's device: the memory's own, or one
 *                     that reaches it. The process that exported it cannot
 *                     import it
 *   kpk_ipc_close()   gives up what kpk_ipc_import() gave; the memory stays the
 *                     exporter's. NULL does nothing
 *
 * They fail with KPK_ERR_DRIVER, KPK_ERR_ARG, and KPK_ERR_UNSUPPORTED if the
 * driver has no such call.
 */
typedef struct kpk_ipc_memory {
    uint8_t bytes[64];
} kpk_ipc_memory;

kpk_status kpk_ipc_export(kpk_instance *inst, void *ptr, kpk_ipc_memory *out);
kpk_status kpk_ipc_import(kpk_instance *inst, const kpk_ipc_memory *memory,
                          void **out);
kpk_status kpk_ipc_close(kpk_instance *inst, void *ptr);

/* ------------------------------------------------------------------------ */
/* Streams and events                                                       */

/*
 * A stream is a queue of work of one device: kernels, copies and fills of one
 * stream run one after the other, those of several streams may overlap. An
 * event is a point in a stream that other streams and the host can wait for.
 * Both are the driver's own handles, so those of a program's HIP, CUDA or
 * PyTorch serve as well as those that are made here. `inst` is any instance on
 * the handle's device. NULL, the default stream, serves wherever a stream is
 * taken, and so does KPK_STREAM_PER_THREAD. Any thread may use any of them;
 * one stream is given work by one thread at a time if the order matters.
 *
 * Streams and events that are made here outlive kpk_close(): destroy them
 * before it.
 */

enum {
    /* The stream and the default stream do not wait for each other. */
    KPK_STREAM_NON_BLOCKING = 1
};

/*
 * kpk_stream_create() makes a stream on the instance's device.
 *
 *   flags  0 or KPK_STREAM_NON_BLOCKING
 *   out    the stream; give it to kpk_stream_destroy()
 *
 * Fails with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_stream_create(kpk_instance *inst, unsigned flags, void **out);

/*
 * kpk_stream_destroy() destroys a stream. HIP and CUDA differ in whether it
 * waits for the stream's work: call kpk_sync() before. NULL does nothing. Fails
 * with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_stream_destroy(kpk_instance *inst, void *stream);

/*
 * kpk_stream_query() asks, without waiting, whether a stream's work is done.
 * kpk_sync() waits for it.
 *
 *   out  1 if all work that the stream was given has ended, else 0
 *
 * Fails with KPK_ERR_DRIVER, for a kernel that failed too, and KPK_ERR_ARG.
 */
kpk_status kpk_stream_query(kpk_instance *inst, void *stream, int *out);

/*
 * kpk_stream_wait() lets all later work of a stream wait for an event. The host
 * does not wait. An event that was never recorded holds nothing up. The event
 * may be of another device of the same driver. Fails with KPK_ERR_DRIVER and
 * KPK_ERR_ARG.
 */
kpk_status kpk_stream_wait(kpk_instance *inst, void *stream, void *event);

/* The drivers' numbers. */
enum {
    KPK_EVENT_SLEEP = 1,    /* kpk_event_sync() sleeps; else it may spin */
    KPK_EVENT_NO_TIMING = 2 /* cheaper; kpk_event_elapsed() refuses it */
};

/*
 * kpk_event_create() makes an event on the instance's device.
 *
 *   flags  0, or KPK_EVENT_SLEEP and KPK_EVENT_NO_TIMING
 *   out    the event; give it to kpk_event_destroy()
 *
 * kpk_event_destroy() destroys it; a stream that waits for it goes on waiting
 * for the same point. NULL does nothing.
 *
 * Fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_event_create(kpk_instance *inst, unsigned flags, void **out);
kpk_status kpk_event_destroy(kpk_instance *inst, void *event);

/*
 * kpk_event_record() makes the event stand for the end of all work that the
 * stream has been given so far. An event can be recorded anew: who waits for it
 * already, waits for the former point.
 *
 * kpk_event_query() asks, without waiting, whether that work has ended: 1, or 0
 * if not. An event that was never recorded has passed.
 *
 * kpk_event_sync() lets the calling thread wait for it.
 *
 * Fail with KPK_ERR_DRIVER, for a kernel that failed before the event too, and
 * KPK_ERR_ARG.
 */
kpk_status kpk_event_record(kpk_instance *inst, void *event, void *stream);
kpk_status kpk_event_query(kpk_instance *inst, void *event, int *out);
kpk_status kpk_event_sync(kpk_instance *inst, void *event);

/*
 * kpk_event_elapsed() is the time between two events that have passed, in
 * milliseconds.
 *
 *   start, stop  recorded events with timing
 *
 * Fails with KPK_ERR_DRIVER, also if one has not passed yet, and KPK_ERR_ARG.
 */
kpk_status kpk_event_elapsed(kpk_instance *inst, void *start, void *stop,
                             float *out);

/* ------------------------------------------------------------------------ */
/* Copies in a stream, pinned memory                                        */

/*
 * kpk_copy_to_async() and its kin are the calls of "Device memory" as work of a
 * stream: they return at once, and the copy is done when the stream comes to
 * it.
 *
 * kpk_copy_to_async()    host to device
 * kpk_copy_from_async()  device to host
 * kpk_copy_async()       within the instance's device
 * kpk_copy_peer_async()  from the device of instance `from`, of the same
 *                        driver, to that of `inst`; directly if the two reach
 *                        each other, else through the host
 * kpk_fill_async()       sets nbytes of device memory to one byte's value
 *
 *   device_dst, device_src  nbytes of device memory each, which do not overlap
 *   host_dst, host_src      memory of the host, which must stay until the copy
 *                           is done. If it is pinned (kpk_malloc_host()), the
 *                           host goes on meanwhile; from other memory the call
 *                           may wait
 *   stream                  a stream of the instance's device
 *
 * 0 bytes are a success; the pointers may then be NULL. A copy in a stream that
 * records a graph becomes a part of the graph; HIP does a kpk_copy_peer_async()
 * at once instead. Fail with KPK_ERR_DRIVER and KPK_ERR_ARG;
 * kpk_copy_peer_async() also with KPK_ERR_UNSUPPORTED, between devices of HIP
 * and CUDA.
 */
kpk_status kpk_copy_to_async(kpk_instance *inst, void *device_dst,
                             const void *host_src, size_t nbytes, void *stream);
kpk_status kpk_copy_from_async(kpk_instance *inst, void *host_dst,
                               const void *device_src, size_t nbytes,
                               void *stream);
kpk_status kpk_copy_async(kpk_instance *inst, void *device_dst,
                          const void *device_src, size_t nbytes, void *stream);
kpk_status kpk_copy_peer_async(kpk_instance *inst, void *device_dst,
                               const kpk_instance *from, const void *device_src,
                               size_t nbytes, void *stream);
kpk_status kpk_fill_async(kpk_instance *inst, void *device_dst, uint8_t value,
                          size_t nbytes, void *stream);

/*
 * kpk_malloc_host() allocates nbytes of pinned memory of the host: copies of
 * every device reach it directly. 0 bytes give NULL. kpk_free_host() gives it
 * back, any instance of the same driver's will do; NULL does nothing. No copy
 * may use it any more. kpk_close() does not give it back.
 *
 * Fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_malloc_host(kpk_instance *inst, size_t nbytes, void **out);
kpk_status kpk_free_host(kpk_instance *inst, void *ptr);

/* ------------------------------------------------------------------------ */
/* Memory in the order of a stream                                          */

/*
 * kpk_malloc_async() and kpk_free_async() are for programs that allocate and
 * free all the time: they neither wait nor, once a program has found its sizes,
 * call the driver for memory. Each instance has a pool of freed blocks. All
 * calls may be made by any number of threads.
 *
 * kpk_malloc_async()  nbytes of device memory, aligned to 256 at least, for
 *                     work that the stream is given after the call; 0 bytes
 *                     give NULL. Its bytes are what a former user left.
 *                     A block of the pool that was freed in the same stream is
 *                     given out at once; one that was freed in another stream,
 *                     when the work that the other stream had then is done;
 *                     else the driver is asked. If the device is full, the
 *                     pool's idle blocks are given back first
 * kpk_free_async()    puts the block into the pool. Work that the stream was
 *                     given before may still use it. If other streams use it,
 *                     let `stream` wait for them first (kpk_stream_wait()).
 * NULL does nothing kpk_pool_trim()     waits for the device, and gives all
 * idle blocks back to the driver kpk_pool_info()     bytes of the pool's blocks
 * that are given out, and of those that are idle. Requests are rounded up by 6
 * % at most, small ones to 512 bytes. Either pointer may be NULL
 *
 * kpk_close() gives all blocks back, idle or not: their addresses are not to be
 * used after it. kpk_free() does not take them.
 *
 * A stream that is destroyed without kpk_stream_destroy() of the same instance
 * must have ended its work before its handle is made anew.
 *
 * A stream that records a graph takes no part, since a graph's memory must stay
 * as long as the graph: KPK_ERR_UNSUPPORTED. Allocate before the recording, and
 * free after it; in other threads, too, if it is KPK_CAPTURE_GLOBAL.
 *
 * Fail with KPK_ERR_DRIVER, KPK_ERR_NOMEM, KPK_ERR_ARG (also for a pointer that
 * is not given out) and KPK_ERR_UNSUPPORTED.
 */
kpk_status kpk_malloc_async(kpk_instance *inst, size_t nbytes, void *stream,
                            void **out);
kpk_status kpk_free_async(kpk_instance *inst, void *ptr, void *stream);
kpk_status kpk_pool_trim(kpk_instance *inst);
kpk_status kpk_pool_info(kpk_instance *inst, size_t *used_nbytes,
                         size_t *idle_nbytes);

/* ------------------------------------------------------------------------ */
/* Drivers and devices                                                      */

/*
 * HIP is found when it is first needed, in this order: a copy that is already
 * in the process (the program links HIP itself, or has loaded it), whatever its
 * number; the file or name in the environment variable KPK_HIP_LIBRARY, which
 * programs with raised privileges ignore; libamdhip64.so.20 down to .5 and
 * libamdhip64.so, in the loader's path, in /opt/rocm/lib and in
 * /opt/rocm/core-X/lib, newest X first. Among the libamdhip64 files the first
 * with a device is taken; if none has a device, the first usable file. The
 * library stays for the life of the process. Releases from 5 on are served by
 * one binary.
 *
 * Neither HIP nor CUDA's driver survives fork(): in a child whose parent had
 * found one, every call that needs a driver fails with KPK_ERR_UNSUPPORTED.
 * Programs that are linked with -static can load neither: KPK_ERR_NO_DRIVER.
 */

/*
 * NVIDIA's GPUs are reached through the CUDA driver, which is found likewise: a
 * copy in the process, the file or name in KPK_CUDA_LIBRARY, libcuda.so.1 in
 * the loader's path and in the folders where drivers are installed: the first
 * that has a device, so that a toolkit's stub of that name is passed over. An
 * empty KPK_CUDA_LIBRARY says not to look. The driver is left alone while a
 * device of HIP's is asked for.
 *
 * Kernels run in the device's primary context, which CUDA's runtime and PyTorch
 * use too: their pointers and streams are good here. A context that the program
 * makes itself with cuCtxCreate() is not: its pointers are unknown here. The
 * thread's current context is the same after a call as before it. Calls are the
 * cheapest in a thread where the primary context is current already, as it is
 * after cudaSetDevice(): in others each call pushes it and pops it again.
 */

/*
 * kpk_device_count() counts the devices of all drivers: HIP's come first, then
 * CUDA's.
 *
 * A machine without a GPU has 0 of them, which is a success. It asks both
 * drivers, so the first call starts CUDA's where there is one, which takes a
 * fifth of a second. Fails with KPK_ERR_NO_DRIVER if there is neither HIP nor a
 * CUDA driver, and with KPK_ERR_DRIVER.
 */
kpk_status kpk_device_count(int *out);

/* Whose devices: AMD's through HIP, or NVIDIA's through the CUDA driver. */
typedef enum kpk_platform { KPK_HIP = 0, KPK_CUDA = 1 } kpk_platform;

/*
 * kpk_platform_device_count() counts the devices of one driver and leaves the
 * other alone. HIP's devices have the numbers from 0 on, so a program that is
 * for AMD's GPUs needs no other count, and never starts the CUDA driver.
 *
 * 0 devices are a success. Fails with KPK_ERR_NO_DRIVER if the driver is not
 * there, KPK_ERR_DRIVER, KPK_ERR_ARG, KPK_ERR_UNSUPPORTED.
 */
kpk_status kpk_platform_device_count(kpk_platform platform, int *out);

/*
 * kpk_driver_info() finds a platform's driver and says which one was found.
 *
 *   version  the driver's own number; may be NULL.
 *            HIP: major * 10000000 + minor * 100000 + patch.
 *            CUDA: major * 1000 + minor * 10
 *   path     the file it was loaded from, for ever; may be NULL
 *
 * Fails with KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER, KPK_ERR_ARG,
 * KPK_ERR_UNSUPPORTED.
 */
kpk_status kpk_driver_info(kpk_platform platform, int *version,
                           const char **path);

/* A device as the driver describes it. Sizes are in bytes. */
typedef struct kpk_device {
    char name[256];   /* marketing or board name */
    char target[256]; /* target ID, "gfx90a:sramecc+:xnack-" */
    uint64_t memory_nbytes;
    uint64_t lds_nbytes; /* most shared memory of a block */
    uint32_t wave_size;
    uint32_t max_block; /* most threads in a block */
    uint32_t max_block_dim[3];
    uint32_t max_grid[3]; /* most blocks in each dimension */
    uint32_t compute_units;
    uint32_t cooperative;       /* 1 if cooperative launches work: the device
                                 * can, and this HIP has the call (5.5) */
    uint32_t cooperative_multi; /* 1 if they work over several devices */
    kpk_platform platform;      /* the driver of the device */
    int index;                  /* the device's number in that driver */
} kpk_device;

/*
 * kpk_device_get() describes device number `device`, counted from 0 over
 * HIP's devices and then CUDA's.
 *
 * Fails with KPK_ERR_NO_DEVICE, KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER.
 */
kpk_status kpk_device_get(int device, kpk_device *out);

/*
 * kpk_instance_device() describes the device that the instance is open on,
 * as found when it was opened; kpk_instance_ordinal() is its number.
 * The description lives until kpk_close(). Cannot fail.
 */
const kpk_device *kpk_instance_device(const kpk_instance *inst);
int kpk_instance_ordinal(const kpk_instance *inst);

/*
 * kpk_memory_info() asks the driver how much memory the instance's device has:
 * in all, and not in use by any process. Either pointer may be NULL.
 *
 * Fails with KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_memory_info(kpk_instance *inst, size_t *free_nbytes,
                           size_t *total_nbytes);

/*
 * kpk_device_attr() asks the driver for an attribute of the instance's device
 * that kpk_device does not have.
 *
 *   attr  the driver's own number: a hipDeviceAttribute_t or, where the
 *         device's platform is KPK_CUDA, a CUdevice_attribute. The two number
 *         differently, and so do HIP 5 and later releases
 *
 * Fails with KPK_ERR_DRIVER, for a number that the driver does not know too,
 * and KPK_ERR_ARG.
 */
kpk_status kpk_device_attr(kpk_instance *inst, int attr, int *out);

/*
 * kpk_current_device() tells which of a driver's devices is current on the
 * calling thread, as hipSetDevice(), cudaSetDevice() or PyTorch left it.
 *
 *   out  the device's number, as kpk_open() takes it
 *
 * HIP's first device is current in a thread that chose none. With CUDA none is
 * until the thread chose one: KPK_ERR_NO_DEVICE. Fails with that,
 * KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER and KPK_ERR_ARG.
 */
kpk_status kpk_current_device(kpk_platform platform, int *out);

/* ------------------------------------------------------------------------ */
/* Typed launches                                                           */

/*
 * The build writes a header for each module, kpack/PACK/MODULE.h, with a
 * function for each kernel whose parameters are the kernel's own:
 *
 *     #include <kpack/candle/affine.h>
 *
 *     const kpk_affine_kernels *affine;
 *
 *     kpk_affine_kernels_get(gpu, &affine);
 *     kpk_affine_f32(affine, &shape, stream, n, rank, info, in, out, mul, add);
 *
 * A wrong number or type of arguments does not compile. The call costs less
 * than kpk_launch(), which checks its arguments each time. Types that C does
 * not have are in kpack/types.h. C compilers before gcc 14 only warn of a
 * pointer of a wrong type; the headers make that warning an error, unless
 * KPK_LAX_POINTERS is defined.
 *
 * The headers are made of two calls.
 */

/* The kernels of one module. The instance owns them. */
typedef struct kpk_kernels kpk_kernels;

/*
 * kpk_kernels_get() finds the kernels of a module and loads it unless it is
 * loaded.
 *
 *   module  a module of the instance
 *   layout  what the header knows of names and arguments, as a number; a
 *           module that has others is refused (KPK_ERR_FORMAT): the header is
 *           of another build
 *   out     owned by inst: valid until its kpk_close()
 *
 * Fails with KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET, KPK_ERR_FORMAT,
 * KPK_ERR_DRIVER, KPK_ERR_ARG.
 */
kpk_status kpk_kernels_get(kpk_instance *inst, const kpk_module *module,
                           uint64_t layout, const kpk_kernels **out);

/*
 * kpk_kernels_launch() starts kernel number `kernel` of a module's kernels.
 *
 *   args  pointers to the values of the kernel's arguments. Their number and
 *         sizes must be the kernel's; neither is checked. NULL if the kernel
 *         takes no arguments. Read, with the values, during the call only.
 *
 * Otherwise as kpk_launch().
 */
kpk_status kpk_kernels_launch(const kpk_kernels *kernels, size_t kernel,
                              const kpk_shape *shape, void *stream,
                              const void *const *args);

/* ------------------------------------------------------------------------ */
/* Packed arguments                                                         */

/*
 * The buffer that kpk_launch_packed() takes, laid out from a list of typed
 * values, as hosts of hand-written kernels do it.
 *
 * A kpk_value is one typed value, made by
 *
 *     kpk_ptr()    of a device pointer
 *     kpk_u32(), kpk_i32(), kpk_u64(), kpk_i64(), kpk_f32(), kpk_f64()
 *                  of a number
 *     kpk_bytes()  of a struct, or of anything else that lies at `at`. Its
 *                  bytes are read when the list is laid out. `align` is the
 *                  type's alignment, a power of two.
 */
typedef struct kpk_value {
    const void *at; /* NULL: the value is in `bits` */
    uint64_t bits;
    size_t nbytes;
    size_t align;
} kpk_value;

static inline kpk_value kpk_bytes(const void *at, size_t nbytes, size_t align)
{
    kpk_value value;

    value.at = at;
    value.bits = 0;
    value.nbytes = at ? nbytes : 0; /* kpk_values_pack() refuses it */
    value.align = align;
    return value;
}
static inline kpk_value kpk_i_number(uint64_t bits, size_t nbytes)
{
    kpk_value value;

    value.at = NULL;
    value.bits = bits;
    value.nbytes = nbytes;
    value.align = nbytes;
    return value;
}
static inline kpk_value kpk_ptr(const void *device)
{
    return kpk_i_number((uint64_t)(uintptr_t)device, 8);
}
static inline kpk_value kpk_u32(uint32_t number)
{
    return kpk_i_number(number, 4);
}
static inline kpk_value kpk_i32(int32_t number)
{
    return kpk_i_number((uint32_t)number, 4);
}
static inline kpk_value kpk_u64(uint64_t number)
{
    return kpk_i_number(number, 8);
}
static inline kpk_value kpk_i64(int64_t number)
{
    return kpk_i_number((uint64_t)number, 8);
}
static inline kpk_value kpk_f32(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return kpk_i_number(bits, 4);
}
static inline kpk_value kpk_f64(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return kpk_i_number(bits, 8);
}

/* The layout of a list in the buffer. */
typedef enum kpk_layout {
    /* As a C compiler lays out parameters: each at the next multiple of its
     * own alignment. The buffer ends with the last value. */
    KPK_LAYOUT_NATURAL = 0,
    /* A slot of 16 bytes each, as hand-written kernels have it: at the next
     * multiple of 16. The buffer ends with the last slot. */
    KPK_LAYOUT_SLOTS = 1
} kpk_layout;

/*
 * kpk_values_pack() lays a list of values out in a buffer. Bytes between values
 * are zeros. Nothing is allocated.
 *
 *   values  [n]
 *   buffer  [room]; NULL with room 0 to ask for the size alone
 *   nbytes  receives the size, for kpk_launch_packed(); may be NULL
 *
 *     const kpk_value values[] = {
 *         kpk_ptr(indices), kpk_ptr(weights), kpk_ptr(logits),
 *         kpk_u32(tokens),  kpk_u32(128),     kpk_u32(4),
 *         kpk_u32(1),       kpk_u32(16)};
 *     unsigned char buffer[128];
 *     size_t nbytes;
 *
 *     kpk_values_pack(KPK_LAYOUT_SLOTS, values, 8, buffer, sizeof(buffer),
 *                     &nbytes);
 *     kpk_launch_packed(kernel, &shape, NULL, buffer, nbytes);
 *
 * Fails with KPK_ERR_ARG, for instance if the room does not suffice; the
 * message has the size that would.
 */
kpk_status kpk_values_pack(kpk_layout layout, const kpk_value *values, size_t n,
                           void *buffer, size_t room, size_t *nbytes);

/*
 * kpk_launch_packed() starts a kernel with arguments that the caller has laid
 * out in a buffer as the kernel expects them: kpk_values_pack() does it, and
 * kpk_module_arg() has the offsets. Hand-written kernels with 16-byte slots are
 * launched like this.
 *
 *   buffer  [nbytes]; read during the call only; NULL if nbytes is 0
 *   nbytes  at least up to the end of the last argument that is not padding.
 *           Some kernels list arguments beyond the segment that they ask for:
 *           then up to the segment's end. Bytes beyond the last argument are
 *           ignored.
 *
 * A shorter buffer is refused with KPK_ERR_KERNEL_ARGS, and the message names
 * the first argument that it leaves out. A kernel whose metadata lists no
 * arguments needs the whole segment, and HIP 7.0: older releases would drop the
 * buffer (KPK_ERR_UNSUPPORTED). Otherwise as kpk_launch(). In kernels from PTX,
 * CUDA may place an argument with an alignment above 16 bytes elsewhere than
 * kpk_module_arg() says: launch such kernels by kpk_launch().
 */
kpk_status kpk_launch_packed(const kpk_kernel *kernel, const kpk_shape *shape,
                             void *stream, const void *buffer, size_t nbytes);

/* Largest buffer that kpk_launch_values() makes. */
#define KPK_MAX_PACKED 4096

/*
 * kpk_launch_values() lays values out, holds them against the kernel's argument
 * list and starts the kernel: kpk_values_pack() and kpk_launch_packed() in one,
 * with each argument checked.
 *
 * Every value must lie where the list has an argument, and have its size, or be
 * part of an argument that is a struct. If one does not, or an argument is left
 * without a value, KPK_ERR_KERNEL_ARGS names it. Values behind the end of the
 * list are ignored: hosts of hand-written kernels give one list to several of
 * them. Otherwise like kpk_values_pack() and kpk_launch_packed().
 */
kpk_status kpk_launch_values(const kpk_kernel *kernel, const kpk_shape *shape,
                             void *stream, kpk_layout layout,
                             const kpk_value *values, size_t n);

/* ------------------------------------------------------------------------ */
/* More ways to launch and to load                                          */

/* The calling thread's own default stream, which HIP gives the number 2. It
 * does not wait for the work of other threads' default streams. It may stand
 * for any stream, but HIP 5.2 does not launch on it (KPK_ERR_UNSUPPORTED). */
/* NOLINTNEXTLINE(performance-no-int-to-ptr): HIP's handle is that number */
#define KPK_STREAM_PER_THREAD ((void *)(uintptr_t)2)

enum {
    /* All blocks run at once, so that the kernel may wait for all of them. */
    KPK_LAUNCH_COOPERATIVE = 1,
    /* May start before earlier work of the stream has ended. */
    KPK_LAUNCH_ANY_ORDER = 2,
    /* Both are for kpk_launch_all() with KPK_LAUNCH_COOPERATIVE. The first: do
     * not wait for earlier work of all the streams. The second: later work of a
     * stream does not wait for the kernels on the other devices. */
    KPK_LAUNCH_NO_PRE_SYNC = 4,
    KPK_LAUNCH_NO_POST_SYNC = 8,
    /* May begin while the launch before it in the stream still runs, if the
     * kernel itself waits for that: see kpk_launch_ex(). */
    KPK_LAUNCH_EARLY = 16
};

/* Everything that can be said of a launch. Zeros are the plain thing. */
typedef struct kpk_launch_options {
    kpk_shape shape;
    void *stream;
    unsigned flags;     /* KPK_LAUNCH_COOPERATIVE, _ANY_ORDER, _EARLY */
    void *start_event;  /* a hipEvent_t recorded as the kernel starts */
    void *stop_event;   /* a hipEvent_t recorded as it ends */
    const void *packed; /* arguments as of kpk_launch_packed(); args is then */
    size_t packed_nbytes; /* NULL and nargs 0 */
    /* Blocks of a cluster, which reach each other's shared memory: NVIDIA's,
     * from sm_90 on. The grid is a multiple of the cluster; 0 counts as 1. */
    uint32_t cluster[3];
} kpk_launch_options;

/*
 * kpk_launch_ex() is kpk_launch() and kpk_launch_packed() with options.
 *
 * A cooperative launch is refused with KPK_ERR_SHAPE if its blocks cannot all
 * be on the device at once; the message has the number that can. It takes no
 * events and no KPK_LAUNCH_ANY_ORDER (KPK_ERR_ARG). KPK_ERR_UNSUPPORTED says
 * that the device cannot do it, or that its driver lacks the function: in HIP
 * events and flags need hipExtModuleLaunchKernel, cooperation
 * hipModuleLaunchCooperativeKernel (HIP 5.5). Otherwise as kpk_launch().
 *
 * KPK_LAUNCH_EARLY lets the kernel begin while the launch before it in the
 * stream still runs: CUDA's programmatic dependent launch. The kernel's work
 * before its wait for that launch then takes no time of its own. Before the
 * wait the kernel must not read memory that an earlier launch of the stream
 * writes; kernels/README.md lists what the pack's kernels read before the wait.
 * The flag is a permission, and the launch an ordinary one where the kernel's
 * code does not wait (kpk_attrs), on AMD's GPUs, with a driver before CUDA
 * 12.3, and with events or other flags. A captured launch keeps the flag in the
 * graph.
 *
 * A launch in clusters takes no events and no other flags (KPK_ERR_ARG). It
 * fails with KPK_ERR_SHAPE if the grid is no multiple of the cluster, and with
 * KPK_ERR_UNSUPPORTED on AMD's GPUs, on NVIDIA's before sm_90, and with a
 * driver before CUDA 11.8.
 */
kpk_status kpk_launch_ex(const kpk_kernel *kernel,
                         const kpk_launch_options *options, const kpk_arg *args,
                         size_t nargs);

/* One launch of a list, see kpk_launch_all(). */
typedef struct kpk_launch_item {
    const kpk_kernel *kernel;
    kpk_shape shape;
    void *stream;
    const kpk_arg *args;
    size_t nargs;
} kpk_launch_item;

/* Most kernels of one cooperative launch over several devices. */
#define KPK_MAX_COOPERATIVE 16

/*
 * kpk_launch_all() starts several kernels, on one device or on several.
 *
 *   items  [n] launches; all are checked, streams too, before the first one
 *          is started
 *   flags  0: they are started one after the other, in the order of the list.
 *          KPK_LAUNCH_COOPERATIVE: they are one launch over n devices, in
 *          which a kernel may wait for all blocks on all devices. Each item
 *          then has a device, and a stream other than NULL, of its own, and
 *          n is at most KPK_MAX_COOPERATIVE. KPK_LAUNCH_NO_PRE_SYNC and
 *          KPK_LAUNCH_NO_POST_SYNC may be added.
 *
 * Fails as kpk_launch_ex() does. If the driver refuses a launch of a list
 * without KPK_LAUNCH_COOPERATIVE, those before it have been started.
 */
kpk_status kpk_launch_all(const kpk_launch_item *items, size_t n,
                          unsigned flags);

/*
 * kpk_load_ex() is kpk_load() through hipModuleLoadDataEx, for programs that
 * come with its options.
 *
 *   n        how many options there are
 *   options  [n] hipJitOption numbers; NULL if n is 0
 *   values   [n] their values; NULL if n is 0
 *
 * HIP on AMD GPUs accepts every option and ignores it. The options have no
 * effect on a module that is loaded already. Fails as kpk_load() does, and with
 * KPK_ERR_UNSUPPORTED.
 */
kpk_status kpk_load_ex(kpk_instance *inst, const char *module, unsigned n,
                       int *options, void **values);

/* ------------------------------------------------------------------------ */
/* Device variables                                                         */

/*
 * kpk_global() finds a variable of a module on the device (`__device__` or
 * `__constant__` in the source), loading the module the first time.
 *
 *   module  the module's name
 *   name    the variable's, as kpk_module_symbols() spells it
 *   out     its address in device memory, valid until the module is unloaded;
 *           may be NULL
 *   nbytes  its size; may be NULL
 *
 * kpk_global_write() copies nbytes of host memory into it, kpk_global_read()
 * out of it, starting `offset` bytes into the variable; both are done when
 * they return, and refuse to leave the variable (KPK_ERR_ARG).
 *
 * Fail with KPK_ERR_NO_GLOBAL, KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET,
 * KPK_ERR_FORMAT, KPK_ERR_DRIVER, KPK_ERR_ARG.
 */
kpk_status kpk_global(kpk_instance *inst, const char *module, const char *name,
                      void **out, size_t *nbytes);
kpk_status kpk_global_write(kpk_instance *inst, const char *module,
                            const char *name, size_t offset,
                            const void *host_src, size_t nbytes);
kpk_status kpk_global_read(kpk_instance *inst, const char *module,
                           const char *name, size_t offset, void *host_dst,
                           size_t nbytes);

/*
 * kpk_texture() finds a texture reference of a module, a textureReference *.
 *
 * HIP on most AMD GPUs has none: KPK_ERR_UNSUPPORTED where the runtime or the
 * device cannot, KPK_ERR_NO_GLOBAL where the module has none of that name.
 * Otherwise as kpk_global().
 */
kpk_status kpk_texture(kpk_instance *inst, const char *module, const char *name,
                       void **out);

/* ------------------------------------------------------------------------ */
/* Looking into packs, without a GPU                                        */

/*
 * kpk_pack_name()          the pack's name, e.g. "candle"
 * kpk_pack_module_count()  how many modules it has
 * kpk_pack_module()        module number i, sorted by name; NULL if there are
 *                          not so many
 * kpk_pack_find()          the module of that name; NULL if there is none
 *
 * An imported pack can have several modules of one name, for different targets,
 * if their kernels differ. kpk_pack_find() returns the first; the others follow
 * it. An instance has the one that fits its device best, as kpk_select()
 * chooses among code objects.
 */
const char *kpk_pack_name(const kpk_pack *pack);
size_t kpk_pack_module_count(const kpk_pack *pack);
const kpk_module *kpk_pack_module(const kpk_pack *pack, size_t i);
const kpk_module *kpk_pack_find(const kpk_pack *pack, const char *name);

/*
 * kpk_module_name() is the module's name, e.g. "affine".
 * kpk_module_kernel_count() is how many kernels it has, sorted by name;
 * kpk_module_object_count() how many code objects, sorted by target ID.
 * Cannot fail.
 */
const char *kpk_module_name(const kpk_module *module);
size_t kpk_module_kernel_count(const kpk_module *module);
size_t kpk_module_object_count(const kpk_module *module);

/* A kernel's arguments. They are the same on all targets. */
typedef struct kpk_kernel_decl {
    const char *name;     /* exported name, e.g. "affine_f32" */
    size_t nargs;         /* entries of its argument list, padding included */
    size_t nargs_given;   /* arguments that a launch gives: less padding */
    size_t packed_nbytes; /* end of the last argument: a packed buffer's size */
} kpk_kernel_decl;

/*
 * kpk_module_kernel() describes kernel number `kernel` of a module.
 * kpk_module_find_kernel() gives the number of the kernel of that name.
 *
 * Fails with KPK_ERR_ARG (no such number), KPK_ERR_NO_KERNEL (no such name).
 */
kpk_status kpk_module_kernel(const kpk_module *module, size_t kernel,
                             kpk_kernel_decl *out);
kpk_status kpk_module_find_kernel(const kpk_module *module, const char *name,
                                  size_t *out);

/* The kind of an argument: the code object's `.value_kind`. */
typedef enum kpk_kind {
    KPK_KIND_VALUE = 0,          /* a number or struct, copied */
    KPK_KIND_BUFFER = 1,         /* a pointer to device memory */
    KPK_KIND_DYNAMIC_SHARED = 2, /* a pointer to dynamic shared memory, which
                                  * HIP sets: see kpk_launch() */
    KPK_KIND_OTHER = 3,          /* sampler, image, pipe, queue */
    KPK_KIND_UNKNOWN = 4         /* a cubin does not tell: value or pointer */
} kpk_kind;

/* One explicit argument of a kernel. */
typedef struct kpk_arg_decl {
    const char *name; /* as in the source; "" if the build did not record it */
    size_t offset;    /* bytes from the start of the argument segment */
    size_t nbytes;
    kpk_kind kind;
    int is_padding; /* 1 for an entry named "pad": takes no argument */
} kpk_arg_decl;

/*
 * kpk_module_arg() describes argument number `arg`, counted from 0, of kernel
 * number `kernel`. Hidden arguments, which HIP fills in, are not counted.
 *
 * Fails with KPK_ERR_ARG.
 */
kpk_status kpk_module_arg(const kpk_module *module, size_t kernel, size_t arg,
                          kpk_arg_decl *out);

/* One code object: a module compiled for one target. */
typedef struct kpk_object {
    const char *target;    /* target ID; a feature not named means 'any' */
    unsigned cov;          /* code object version: 3 to 6; of a cubin CUDA's
                            * release, of PTX its ISA, times 10: 130, 78 */
    const void *data;      /* AMDGPU ELF, cubin, or PTX, which a 0 follows;
                            * constant, lives as long as the pack */
    size_t nbytes;         /* its size; 0 if `kpack prune` took it out */
    const uint8_t *sha256; /* [32], of these bytes */
    size_t stored_nbytes;  /* bytes in the program file: less than nbytes for a
                              compressed object */
} kpk_object;

/*
 * kpk_module_object() describes code object number `object` of a module, its
 * bytes included: to write them to a file, or to hand them to other tools.
 * kpk_module_object_info() is the same with data NULL, and never decompresses.
 * kpk_module_find_object() gives the number of the one with exactly that
 * target ID; to find one that fits a device, see kpk_select().
 *
 * In a pack made with COMPRESS=zstd a code object is decompressed the first
 * time that kpk_module_object() or a load wants it, once in a process, and held
 * against its SHA-256; the memory is kept until the process ends, or until
 * dlclose() of the shared object that holds pack and library. Close the
 * instances before dlclose(): the memory of a loaded module is not freed. If
 * several threads ask for one code object at once, one of them decompresses it
 * and the others wait.
 *
 * Fails with KPK_ERR_ARG (no such number), KPK_ERR_NO_TARGET (no such ID),
 * KPK_ERR_FORMAT (its head or compressed data is damaged), KPK_ERR_NOMEM.
 */
kpk_status kpk_module_object(const kpk_module *module, size_t object,
                             kpk_object *out);
kpk_status kpk_module_object_info(const kpk_module *module, size_t object,
                                  kpk_object *out);
kpk_status kpk_module_find_object(const kpk_module *module, const char *target,
                                  size_t *out);

/* A kernel's needs on one target, as its code object states them. */
typedef struct kpk_attrs {
    uint32_t kernarg_nbytes; /* argument segment, hidden arguments included */
    uint32_t kernarg_align;
    uint32_t lds_nbytes;     /* static shared memory of a block */
    uint32_t scratch_nbytes; /* private memory of a thread */
    uint32_t max_block;      /* most threads in a block */
    uint32_t reqd_block[3];  /* the only block accepted; 0, 0, 0 for any */
    uint32_t wave_size;      /* 32 or 64 */
    uint32_t vgprs;          /* vector registers of a thread */
    uint32_t agprs;          /* accumulation registers, on GPUs with them */
    uint32_t sgprs;          /* scalar registers of a wave */
    uint32_t vgpr_spills;
    uint32_t sgpr_spills;
    uint32_t dynamic_stack; /* 1 if scratch_nbytes is only a lower bound */
    uint32_t hidden_args;   /* 1 if HIP fills in hidden arguments */
    uint32_t waits; /* 1 if it waits for earlier launches: KPK_LAUNCH_EARLY */
} kpk_attrs;

/*
 * kpk_module_attrs() gives kernel number `kernel`'s needs in code object
 * number `object`; kpk_kernel_attrs() those of an instance's kernel, in the
 * code object that was selected for its device.
 *
 * Fail with KPK_ERR_ARG.
 */
kpk_status kpk_module_attrs(const kpk_module *module, size_t kernel,
                            size_t object, kpk_attrs *out);
kpk_status kpk_kernel_attrs(const kpk_kernel *kernel, kpk_attrs *out);

/* The kind of a code object's symbol. */
typedef enum kpk_symbol_kind {
    KPK_SYMBOL_KERNEL = 0,
    KPK_SYMBOL_VARIABLE = 1
} kpk_symbol_kind;

typedef struct kpk_symbol {
    const char *name;
    kpk_symbol_kind kind;
    uint64_t nbytes; /* a variable's size; 0 for a kernel */
} kpk_symbol;

/*
 * kpk_module_symbols() lists what a code object exports, its variables among
 * them, in the order of its symbol table. No device is needed.
 *
 *   object  number of the code object
 *   out     [room] receives the first `room` symbols; may be NULL if room is 0
 *   count   receives how many there are in all
 *
 * Fails with KPK_ERR_FORMAT if the code object is damaged, KPK_ERR_NO_TARGET if
 * `kpack prune` took it out, KPK_ERR_ARG, and of PTX, which has no such table,
 * with KPK_ERR_UNSUPPORTED.
 */
kpk_status kpk_module_symbols(const kpk_module *module, size_t object,
                              kpk_symbol *out, size_t room, size_t *count);

/* ------------------------------------------------------------------------ */
/* Selection: which code object runs on which device                        */

/*
 * How well a code object fits a device, best first. Among equals the one
 * that names more features wins, then the first by target ID.
 *
 * Source of the rules: AMDGPUUsage, "Target ID" and "Generic processor"; a
 * feature (sramecc, xnack) that the code object names must have the device's
 * setting, one that it does not name runs with either.
 */
typedef enum kpk_fit {
    KPK_FIT_EXACT = 0,   /* this processor; every feature it has is named */
    KPK_FIT_ANY = 1,     /* this processor; a feature is left as 'any' */
    KPK_FIT_GENERIC = 2, /* a generic target that covers the processor */
    KPK_FIT_NONE = 3     /* the device refuses it */
} kpk_fit;

/*
 * kpk_target_fit() says how well a code object for target ID `object` fits a
 * device that reports target ID `device`, and why, in words.
 *
 *   why         receives the reason, NUL-terminated and cut to fit; may be
 *               NULL
 *   why_nbytes  room in `why`; 256 is enough for every reason
 *   out         KPK_FIT_NONE is a success: the answer is no
 *
 * Fails with KPK_ERR_ARG if either is not of the form processor[:feature+|-].
 */
kpk_status kpk_target_fit(const char *device, const char *object, kpk_fit *out,
                          char *why, size_t why_nbytes);

/* The outcome of a selection. */
typedef struct kpk_selection {
    size_t object;      /* number of the code object in its module */
    const char *target; /* its target ID */
    kpk_fit fit;
    char why[256]; /* in words: "exact processor, xnack left as any" */
} kpk_selection;

/*
 * kpk_select() picks the code object of a module that a device of target ID
 * `target` would run. No device is needed.
 *
 * Fails with KPK_ERR_NO_TARGET, whose message names the device's target ID,
 * what the module holds, why each near miss does not fit and the ARCHS= to
 * rebuild with; KPK_ERR_ARG if `target` is malformed.
 */
kpk_status kpk_select(const kpk_module *module, const char *target,
                      kpk_selection *out);

/*
 * kpk_instance_selection() says which code object of a module the instance
 * uses and why. It loads nothing.
 *
 *   module  the module's name
 *
 * Fails with KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET.
 */
kpk_status kpk_instance_selection(const kpk_instance *inst, const char *module,
                                  kpk_selection *out);

/* ------------------------------------------------------------------------ */
/* Configuration tables: what a CSV file beside the kernels says of them    */

/*
 * A file kernels/NAME.csv becomes a constant table of module NAME. A row is
 * about one kernel (column `kernel`). A column `target` says on which
 * processor, or, as "gfx1*" does, on which of AMD's, by the beginning of their
 * names. Every further column has a type. Tables, rows and columns are numbered
 * from 0. Rows are sorted by kernel; those of one kernel keep the file's order.
 * Nothing here needs a device or allocates.
 *
 * In an imported pack (gen/README.md) each file is a module, for instance
 * "bf16gemm/tile_64x64". The CSV files of a folder are tables of a module of
 * their own, which has the folder's name, "bf16gemm", and no kernels. There a
 * row names its kernel's module too; kpk_table_kernel() goes from row to
 * kernel.
 *
 * All calls fail with KPK_ERR_ARG for a number out of range. A call that looks
 * for a name or a row fails with KPK_ERR_NO_ROW without a match.
 */
size_t kpk_module_table_count(const kpk_module *module);

typedef struct kpk_table_decl {
    const char *name; /* the file's name less ".csv" */
    size_t nrows;
    size_t ncolumns; /* besides `kernel` and `target` */
} kpk_table_decl;

kpk_status kpk_module_table(const kpk_module *module, size_t table,
                            kpk_table_decl *out);
kpk_status kpk_module_find_table(const kpk_module *module, const char *name,
                                 size_t *out);

/* A column's type: integers, floats or text, by what its cells are. */
typedef enum kpk_type {
    KPK_TYPE_INT = 0,
    KPK_TYPE_FLOAT = 1,
    KPK_TYPE_STRING = 2
} kpk_type;

typedef struct kpk_column_decl {
    const char *name;
    kpk_type type;
} kpk_column_decl;

kpk_status kpk_table_column(const kpk_module *module, size_t table,
                            size_t column, kpk_column_decl *out);
kpk_status kpk_table_find_column(const kpk_module *module, size_t table,
                                 const char *name, size_t *out);

typedef struct kpk_row {
    const char *kernel; /* the row's kernel */
    const char *target; /* its processor, "gfx942"; all of AMD's that begin
                           so, "gfx1*"; "" for any */
    const char *module; /* the kernel's module */
} kpk_row;

kpk_status kpk_table_row(const kpk_module *module, size_t table, size_t row,
                         kpk_row *out);

typedef struct kpk_cell {
    kpk_type type;
    int64_t i;     /* 0 unless an integer */
    double f;      /* the number, whichever kind */
    const char *s; /* "" unless text */
} kpk_cell;

kpk_status kpk_table_cell(const kpk_module *module, size_t table, size_t row,
                          size_t column, kpk_cell *out);

/* A cell in the table's own form: `i` in a column of integers, `f` in one of
 * floats; nothing of use in one of text. */
typedef union kpk_number {
    int64_t i;
    double f;
} kpk_number;

/* Row number `row` as it stands: (*out)[column], constant, lives for ever. */
kpk_status kpk_table_numbers(const kpk_module *module, size_t table, size_t row,
                             const kpk_number **out);

/* A condition on a row's cell. */
typedef enum kpk_op {
    KPK_EQUAL,    /* cell == value; the only one for text */
    KPK_AT_LEAST, /* cell >= value */
    KPK_AT_MOST,  /* cell <= value */
    KPK_DIVIDES   /* value is a multiple of the cell, an integer */
} kpk_op;

typedef struct kpk_condition {
    size_t column;
    kpk_op op;
    int64_t i;     /* the value, for columns of numbers */
    const char *s; /* the value, for columns of text */
} kpk_condition;

typedef struct kpk_query {
    const char *kernel; /* rows of this kernel alone; NULL for all */
    const char *target; /* rows for this target ID or any; NULL for all */
    const kpk_condition *conditions; /* [nconditions], all must hold */
    size_t nconditions;
    /* The row with the least cost is taken, the first of several; a NaN is more
     * than any number. NULL takes the first row that meets the conditions.
     * cells[column] is the row's, by the columns' numbers. */
    double (*cost)(size_t row, const kpk_number *cells, void *context);
    void *context; /* passed on to cost */
} kpk_query;

/*
 * kpk_table_select() finds the best row.
 *
 *   query  what is asked; read during the call only
 *   out    the row's number
 *
 * Searching 500 rows takes less than a microsecond (`make bench-table`). The
 * cost function is called for each row that meets all conditions.
 *
 * Example: the GEMM tile for M, N, K is a query with KPK_DIVIDES on tileN, and
 * a cost function that counts rounds over the device's compute units. See
 * gen/README.md, "Tables".
 */
kpk_status kpk_table_select(const kpk_module *module, size_t table,
                            const kpk_query *query, size_t *out);

/*
 * kpk_table_kernel() finds the kernel of a configuration table's row, loading
 * its module the first time.
 *
 *   inst    an open instance of the pack
 *   module  the module that has the table
 *   row     from kpk_table_select(), with the instance's target in the query
 *
 * Fails with KPK_ERR_NO_TARGET if the row is about another processor;
 * otherwise as kpk_table_row() and kpk_kernel_get_in().
 */
kpk_status kpk_table_kernel(kpk_instance *inst, const kpk_module *module,
                            size_t table, size_t row, const kpk_kernel **out);

/* ------------------------------------------------------------------------ */
/* The driver's answers about a loaded kernel                               */

/* Numbers of hipFuncGetAttribute and cuFuncGetAttribute, which are the same:
 * the ones that mean something on AMD's GPUs. */
typedef enum kpk_driver_attr {
    KPK_DRIVER_ATTR_MAX_BLOCK = 0,      /* kpk_attrs.max_block */
    KPK_DRIVER_ATTR_LDS_NBYTES = 1,     /* kpk_attrs.lds_nbytes */
    KPK_DRIVER_ATTR_SCRATCH_NBYTES = 3, /* kpk_attrs.scratch_nbytes */
    KPK_DRIVER_ATTR_VGPRS = 4,          /* kpk_attrs.vgprs */
    KPK_DRIVER_ATTR_BINARY_VERSION = 6, /* major * 10 + minor of GFX or SM */
    KPK_DRIVER_ATTR_MAX_DYNAMIC_LDS = 8 /* device LDS less lds_nbytes */
} kpk_driver_attr;

/*
 * kpk_kernel_driver_attr() asks the driver for an attribute of a kernel. It
 * agrees with kpk_kernel_attrs(), which needs no call into the driver.
 *
 * Fails with KPK_ERR_DRIVER, KPK_ERR_UNLOADED, KPK_ERR_UNSUPPORTED,
 * KPK_ERR_ARG.
 */
kpk_status kpk_kernel_driver_attr(const kpk_kernel *kernel,
                                  kpk_driver_attr attr, int *out);

/*
 * kpk_occupancy() asks the driver how many blocks of a kernel a compute unit
 * runs at once; times kpk_device.compute_units it is the largest cooperative
 * grid. It is 0 for a block that the kernel does not take.
 *
 *   block          threads in a block
 *   shared_nbytes  dynamic shared memory of a block
 *
 * kpk_occupancy_shape() asks the driver for the block that fills the device
 * best, and for the least number of such blocks that fill it. `most` limits the
 * block's threads; 0 sets no limit. Dimensions y and z of block and grid are 1.
 *
 * Fail with KPK_ERR_DRIVER, KPK_ERR_UNLOADED, KPK_ERR_UNSUPPORTED, KPK_ERR_ARG.
 */
kpk_status kpk_occupancy(const kpk_kernel *kernel, uint32_t block,
                         size_t shared_nbytes, uint32_t *out);
kpk_status kpk_occupancy_shape(const kpk_kernel *kernel, uint32_t shared_nbytes,
                               uint32_t most, kpk_shape *out);

/* ------------------------------------------------------------------------ */
/* Graphs                                                                   */

/*
 * A stream can record work instead of doing it. A graph holds what it recorded:
 * launches, copies, fills and events, with the values of all arguments and the
 * addresses of all memory. One call launches all of it, any number of times;
 * the memory must stay until the last launch is done. Load the modules of the
 * kernels before (kpk_load()). HIP before 6.0 records no kernels. Graphs are
 * the driver's own handles, and outlive kpk_close(): destroy them before it.
 * One executable graph runs once at a time, and one thread at a time calls with
 * it.
 */

/* Which calls are forbidden while the stream records: those that wait, and
 * those that may wait, such as kpk_malloc(). A forbidden call fails, and breaks
 * the recording. The drivers' numbers. */
typedef enum kpk_capture_mode {
    KPK_CAPTURE_GLOBAL = 0, /* in all threads */
    KPK_CAPTURE_THREAD = 1, /* in this thread */
    KPK_CAPTURE_RELAXED = 2 /* only those that wait for the stream itself */
} kpk_capture_mode;

/* The drivers' numbers. */
typedef enum kpk_capture_state {
    KPK_CAPTURE_NONE = 0,   /* the stream works */
    KPK_CAPTURE_ACTIVE = 1, /* it records */
    KPK_CAPTURE_BROKEN = 2  /* likewise, but kpk_capture_end() will fail */
} kpk_capture_state;

/*
 * kpk_capture_begin() lets a stream record from now on; not the default stream.
 * kpk_capture_end() ends it.
 *
 *   stream  a stream of the instance's device. Streams that wait for an event
 *           that it records (kpk_stream_wait()) record, too, into the same
 *           graph; it has to wait for them again before the end
 *   out     the graph; give it to kpk_graph_destroy()
 *
 * The stream works again after kpk_capture_end(). If the recording was broken,
 * destroy the stream: CUDA's works again, HIP's (7.2) refuses all work.
 *
 * kpk_capture_query() tells whether a stream records.
 *
 * Fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_capture_query() also with
 * KPK_ERR_UNSUPPORTED, if HIP lacks hipStreamIsCapturing.
 */
kpk_status kpk_capture_begin(kpk_instance *inst, void *stream,
                             kpk_capture_mode mode);
kpk_status kpk_capture_end(kpk_instance *inst, void *stream, void **out);
kpk_status kpk_capture_query(kpk_instance *inst, void *stream,
                             kpk_capture_state *out);

/*
 * kpk_graph_instantiate() makes an executable graph, which no longer needs the
 * graph it was made of.
 *
 *   out  the executable graph; give it to kpk_graph_exec_destroy()
 *
 * kpk_graph_launch() launches it as work of a stream: of the one that recorded
 * it, or of any other one of the device.
 *
 * kpk_graph_destroy() and kpk_graph_exec_destroy() destroy the two; NULL does
 * nothing. Wait for the launches before.
 *
 * Fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_graph_instantiate() also with
 * KPK_ERR_UNSUPPORTED, with a driver before CUDA 11.4.
 */
kpk_status kpk_graph_instantiate(kpk_instance *inst, void *graph, void **out);
kpk_status kpk_graph_launch(kpk_instance *inst, void *exec, void *stream);
kpk_status kpk_graph_destroy(kpk_instance *inst, void *graph);
kpk_status kpk_graph_exec_destroy(kpk_instance *inst, void *exec);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ------------------------------------------------------------------------ */
/* The inner macros of KPK_ARGS. Not for use.                               */

/* Parameters have long names: some checkers confuse an argument that is
 * called n with a parameter that is. */

/* clang-format off */
#define KPK_I_COUNT(...) KPK_I_33RD(__VA_ARGS__,                               \
    32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,            \
    16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KPK_I_33RD(                                                            \
    kpk_1, kpk_2, kpk_3, kpk_4, kpk_5, kpk_6, kpk_7, kpk_8, kpk_9, kpk_10,     \
    kpk_11, kpk_12, kpk_13, kpk_14, kpk_15, kpk_16, kpk_17, kpk_18,            \
    kpk_19, kpk_20, kpk_21, kpk_22, kpk_23, kpk_24, kpk_25, kpk_26,            \
    kpk_27, kpk_28, kpk_29, kpk_30, kpk_31, kpk_32, kpk_n, ...) kpk_n
/* clang-format on */

/* A pointer as another type, in either language; for launchers. */
#ifndef __cplusplus
#define KPK_I_CAST(kpk_type, kpk_x) ((kpk_type)(kpk_x))
#else
#define KPK_I_CAST(kpk_type, kpk_x) (reinterpret_cast<kpk_type>(kpk_x))
#endif

#ifndef __cplusplus
/* clang-format off */
#define KPK_I_EACH(kpk_n, ...) KPK_I_EACH2(kpk_n, __VA_ARGS__)
#define KPK_I_EACH2(kpk_n, ...) KPK_I_E##kpk_n(__VA_ARGS__)
#define KPK_I_E1(kpk_x) KPK_ARG(kpk_x)
#define KPK_I_E2(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E1(__VA_ARGS__)
#define KPK_I_E3(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E2(__VA_ARGS__)
#define KPK_I_E4(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E3(__VA_ARGS__)
#define KPK_I_E5(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E4(__VA_ARGS__)
#define KPK_I_E6(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E5(__VA_ARGS__)
#define KPK_I_E7(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E6(__VA_ARGS__)
#define KPK_I_E8(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E7(__VA_ARGS__)
#define KPK_I_E9(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E8(__VA_ARGS__)
#define KPK_I_E10(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E9(__VA_ARGS__)
#define KPK_I_E11(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E10(__VA_ARGS__)
#define KPK_I_E12(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E11(__VA_ARGS__)
#define KPK_I_E13(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E12(__VA_ARGS__)
#define KPK_I_E14(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E13(__VA_ARGS__)
#define KPK_I_E15(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E14(__VA_ARGS__)
#define KPK_I_E16(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E15(__VA_ARGS__)
#define KPK_I_E17(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E16(__VA_ARGS__)
#define KPK_I_E18(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E17(__VA_ARGS__)
#define KPK_I_E19(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E18(__VA_ARGS__)
#define KPK_I_E20(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E19(__VA_ARGS__)
#define KPK_I_E21(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E20(__VA_ARGS__)
#define KPK_I_E22(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E21(__VA_ARGS__)
#define KPK_I_E23(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E22(__VA_ARGS__)
#define KPK_I_E24(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E23(__VA_ARGS__)
#define KPK_I_E25(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E24(__VA_ARGS__)
#define KPK_I_E26(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E25(__VA_ARGS__)
#define KPK_I_E27(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E26(__VA_ARGS__)
#define KPK_I_E28(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E27(__VA_ARGS__)
#define KPK_I_E29(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E28(__VA_ARGS__)
#define KPK_I_E30(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E29(__VA_ARGS__)
#define KPK_I_E31(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E30(__VA_ARGS__)
#define KPK_I_E32(kpk_x, ...) KPK_ARG(kpk_x), KPK_I_E31(__VA_ARGS__)
/* clang-format on */
#else
/* The values outlive the call: temporaries live to the end of the full
 * expression in which KPK_ARGS stands. */
template <typename... T> struct kpk_i_args {
    kpk_arg args[sizeof...(T)];
};
template <typename... T>
inline kpk_i_args<T...> kpk_i_arg_list(const T &...values)
{
    return {{{&values, sizeof(values)}...}};
}
#endif

#endif
