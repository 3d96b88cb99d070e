// Made by bindings.py from kpack.h. Do not edit.

use core::ffi::c_void;
use core::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_int, c_uint};

/// A status: one of `KPK_OK` and `KPK_ERR_...`.
pub type kpk_status = c_uint;
/// success
pub const KPK_OK: kpk_status = 0;
/// bad argument to a kpack call
pub const KPK_ERR_ARG: kpk_status = 1;
/// out of host memory
pub const KPK_ERR_NOMEM: kpk_status = 2;
/// no usable HIP runtime or CUDA driver on this machine
pub const KPK_ERR_NO_DRIVER: kpk_status = 3;
/// no such GPU
pub const KPK_ERR_NO_DEVICE: kpk_status = 4;
/// no such module in the pack
pub const KPK_ERR_NO_MODULE: kpk_status = 5;
/// no such kernel in the pack
pub const KPK_ERR_NO_KERNEL: kpk_status = 6;
/// several modules have a kernel of that name
pub const KPK_ERR_AMBIGUOUS: kpk_status = 7;
/// no code object in the pack fits the GPU
pub const KPK_ERR_NO_TARGET: kpk_status = 8;
/// the pack's data is damaged or of another version of kpack
pub const KPK_ERR_FORMAT: kpk_status = 9;
/// the launch's grid, block or shared memory is impossible
pub const KPK_ERR_SHAPE: kpk_status = 10;
/// the kernel takes other arguments
pub const KPK_ERR_KERNEL_ARGS: kpk_status = 11;
/// the kernel's module has been unloaded
pub const KPK_ERR_UNLOADED: kpk_status = 12;
/// this driver or GPU cannot do that
pub const KPK_ERR_UNSUPPORTED: kpk_status = 13;
/// a call of HIP or CUDA failed
pub const KPK_ERR_DRIVER: kpk_status = 14;
/// no such device variable in the module
pub const KPK_ERR_NO_GLOBAL: kpk_status = 15;
/// no row of the configuration table fits
pub const KPK_ERR_NO_ROW: kpk_status = 16;
/// another GPU did not answer in time
pub const KPK_ERR_TIMEOUT: kpk_status = 17;
/// Version
pub const KPK_VERSION_MAJOR: c_int = 0;
pub const KPK_VERSION_MINOR: c_int = 1;
pub const KPK_VERSION_PATCH: c_int = 0;
pub const KPK_VERSION_STRING: &str = "0.1.0";
/// ```text
/// A kpk_module is one kernel source: its kernels, and its code objects for
/// all targets. A kpk_pack is a named set of modules. Both are constant data
/// that the build generates; a pack's header declares them:
///
///     #include <kpack/candle.h>
///     ... kpk_candle ...           the pack, i.e. all of it
///     ... kpk_module_affine ...    one module; naming only this one keeps the
///                                  others out of the program
///
/// Symbols carry the pack's name (kpk_module_candle__affine). So a program can
/// hold packs of several vendors, even if their modules have the same names. The
/// packs' own names must differ: of two packs with one name the linker takes the
/// first without a word. (kpk_kernels_get() then refuses the launchers of the
/// other one, if their kernels differ.)
///
/// The short names, such as kpk_module_affine, are macros. Where the headers of
/// two packs meet that both have a module affine, write the whole name.
/// ```
#[repr(C)]
pub struct kpk_pack {
    _opaque: [u8; 0],
    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct kpk_module {
    _opaque: [u8; 0],
    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,
}
/// ```text
/// Any number of threads may use one instance at once, but for kpk_close(),
/// which must come last, and kpk_unload(), see there. A process may have any
/// number of instances, of one pack too, on one device or on several.
/// ```
#[repr(C)]
pub struct kpk_instance {
    _opaque: [u8; 0],
    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,
}
/// ```text
/// A kernel of an instance, ready to be launched. Owned by the instance: valid
/// until its kpk_close(), never freed by the caller.
/// ```
#[repr(C)]
pub struct kpk_kernel {
    _opaque: [u8; 0],
    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,
}
/// ```text
/// kpk_open() opens a pack on a device; kpk_open_modules() opens some modules,
/// so that a program need not name, and hence link, the whole pack.
///
///   pack     constant data, e.g. &kpk_candle
///   modules  [n] pointers to constant data; the array itself is not kept
///   device   device number, as kpk_device_get() counts; KPK_ANY_DEVICE: the
///            first device that one of the modules has code for
///   out      the instance; give it to kpk_close()
///
/// Nothing is loaded yet: a module is loaded the first time one of its kernels
/// is asked for. If a module has no code object for the device, that is no error
/// until then. If no module of the pack has one, kpk_open() fails, and the
/// message names a device that would do, if there is one.
///
/// KPK_ANY_DEVICE suits programs that run on one GPU, whichever it is: one card
/// of several may be too old, or of the other vendor. HIP's devices are tried
/// first, and the CUDA driver is started only if none of HIP's will do.
/// kpk_instance_ordinal() says which one was taken.
///
/// A GPU's fault, such as a kernel's access to an address that is not there,
/// ends the use of that GPU in the process: both HIP and CUDA's driver answer
/// later calls with its error, and neither has a call that undoes it. Once
/// kpack has told of a fault, kpk_open() on that GPU fails with KPK_ERR_DRIVER
/// and says so: start the program again. (HIP before 7.0 ends the process
/// itself. The simulated GPU, on which faults are tried out, works again after
/// hipDeviceReset().)
///
/// Fails with KPK_ERR_NO_TARGET, KPK_ERR_NO_DEVICE, KPK_ERR_NO_DRIVER,
/// KPK_ERR_DRIVER, KPK_ERR_FORMAT, KPK_ERR_NOMEM, KPK_ERR_ARG.
/// ```
pub const KPK_ANY_DEVICE: c_int = -1;
/// The extent of a launch. No dimension may be 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_nbytes: u32,
}
/// One argument of a launch: where its value is, and the value's size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_arg {
    pub value: *const c_void,
    pub nbytes: usize,
}
/// Most arguments that kpk_launch() takes; kpk_launch_packed() has no limit.
pub const KPK_MAX_ARGS: usize = 256;
/// ```text
/// Device memory that several processes use. One process exports it and sends
/// the bytes of the kpk_ipc_memory to others, by a pipe, a file or a socket;
/// they import it.
///
///   kpk_ipc_export()  describes memory of inst's device for other processes.
///                     `ptr` is what kpk_malloc() or kpk_malloc_uncached() gave,
///                     and must stay allocated until the others have closed it
///   kpk_ipc_import()  gives memory of another process of this machine an
///                     address here, for inst's device: the memory's own, or one
///                     that reaches it. The process that exported it cannot
///                     import it
///   kpk_ipc_close()   gives up what kpk_ipc_import() gave; the memory stays the
///                     exporter's. NULL does nothing
///
/// They fail with KPK_ERR_DRIVER, KPK_ERR_ARG, and KPK_ERR_UNSUPPORTED if the
/// driver has no such call.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_ipc_memory {
    pub bytes: [u8; 64],
}
/// ```text
/// A stream is a queue of work of one device: kernels, copies and fills of one
/// stream run one after the other, those of several streams may overlap. An
/// event is a point in a stream that other streams and the host can wait for.
/// Both are the driver's own handles, so those of a program's HIP, CUDA or
/// PyTorch serve as well as those that are made here. `inst` is any instance on
/// the handle's device. NULL, the default stream, serves wherever a stream is
/// taken, and so does KPK_STREAM_PER_THREAD. Any thread may use any of them;
/// one stream is given work by one thread at a time if the order matters.
///
/// Streams and events that are made here outlive kpk_close(): destroy them
/// before it.
/// ```
pub const KPK_STREAM_NON_BLOCKING: c_uint = 1;
/// The drivers' numbers.
pub const KPK_EVENT_SLEEP: c_uint = 1;
pub const KPK_EVENT_NO_TIMING: c_uint = 2;
/// Whose devices: AMD's through HIP, or NVIDIA's through the CUDA driver.
pub type kpk_platform = c_uint;
pub const KPK_HIP: kpk_platform = 0;
pub const KPK_CUDA: kpk_platform = 1;
/// A device as the driver describes it. Sizes are in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_device {
    pub name: [c_char; 256],
    pub target: [c_char; 256],
    pub memory_nbytes: u64,
    pub lds_nbytes: u64,
    pub wave_size: u32,
    pub max_block: u32,
    pub max_block_dim: [u32; 3],
    pub max_grid: [u32; 3],
    pub compute_units: u32,
    pub cooperative: u32,
    pub cooperative_multi: u32,
    pub platform: kpk_platform,
    pub index: c_int,
}
/// The kernels of one module. The instance owns them.
#[repr(C)]
pub struct kpk_kernels {
    _opaque: [u8; 0],
    _not_send_or_sync: PhantomData<(*mut u8, PhantomPinned)>,
}
/// ```text
/// The buffer that kpk_launch_packed() takes, laid out from a list of typed
/// values, as hosts of hand-written kernels do it.
///
/// A kpk_value is one typed value, made by
///
///     kpk_ptr()    of a device pointer
///     kpk_u32(), kpk_i32(), kpk_u64(), kpk_i64(), kpk_f32(), kpk_f64()
///                  of a number
///     kpk_bytes()  of a struct, or of anything else that lies at `at`. Its
///                  bytes are read when the list is laid out. `align` is the
///                  type's alignment, a power of two.
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_value {
    pub at: *const c_void,
    pub bits: u64,
    pub nbytes: usize,
    pub align: usize,
}
/// The layout of a list in the buffer.
pub type kpk_layout = c_uint;
pub const KPK_LAYOUT_NATURAL: kpk_layout = 0;
pub const KPK_LAYOUT_SLOTS: kpk_layout = 1;
/// Largest buffer that kpk_launch_values() makes.
pub const KPK_MAX_PACKED: usize = 4096;
/// The calling thread's own default stream.
pub const KPK_STREAM_PER_THREAD: *mut c_void = 2 as *mut c_void;
pub const KPK_LAUNCH_COOPERATIVE: c_uint = 1;
pub const KPK_LAUNCH_ANY_ORDER: c_uint = 2;
pub const KPK_LAUNCH_NO_PRE_SYNC: c_uint = 4;
pub const KPK_LAUNCH_NO_POST_SYNC: c_uint = 8;
pub const KPK_LAUNCH_EARLY: c_uint = 16;
/// Everything that can be said of a launch. Zeros are the plain thing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_launch_options {
    pub shape: kpk_shape,
    pub stream: *mut c_void,
    pub flags: c_uint,
    pub start_event: *mut c_void,
    pub stop_event: *mut c_void,
    pub packed: *const c_void,
    pub packed_nbytes: usize,
    pub cluster: [u32; 3],
}
/// One launch of a list, see kpk_launch_all().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_launch_item {
    pub kernel: *const kpk_kernel,
    pub shape: kpk_shape,
    pub stream: *mut c_void,
    pub args: *const kpk_arg,
    pub nargs: usize,
}
/// Most kernels of one cooperative launch over several devices.
pub const KPK_MAX_COOPERATIVE: usize = 16;
/// A kernel's arguments. They are the same on all targets.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_kernel_decl {
    pub name: *const c_char,
    pub nargs: usize,
    pub nargs_given: usize,
    pub packed_nbytes: usize,
}
/// The kind of an argument: the code object's `.value_kind`.
pub type kpk_kind = c_uint;
pub const KPK_KIND_VALUE: kpk_kind = 0;
pub const KPK_KIND_BUFFER: kpk_kind = 1;
pub const KPK_KIND_DYNAMIC_SHARED: kpk_kind = 2;
pub const KPK_KIND_OTHER: kpk_kind = 3;
pub const KPK_KIND_UNKNOWN: kpk_kind = 4;
/// One explicit argument of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_arg_decl {
    pub name: *const c_char,
    pub offset: usize,
    pub nbytes: usize,
    pub kind: kpk_kind,
    pub is_padding: c_int,
}
/// One code object: a module compiled for one target.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_object {
    pub target: *const c_char,
    pub cov: c_uint,
    pub data: *const c_void,
    pub nbytes: usize,
    pub sha256: *const u8,
    pub stored_nbytes: usize,
}
/// A kernel's needs on one target, as its code object states them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_attrs {
    pub kernarg_nbytes: u32,
    pub kernarg_align: u32,
    pub lds_nbytes: u32,
    pub scratch_nbytes: u32,
    pub max_block: u32,
    pub reqd_block: [u32; 3],
    pub wave_size: u32,
    pub vgprs: u32,
    pub agprs: u32,
    pub sgprs: u32,
    pub vgpr_spills: u32,
    pub sgpr_spills: u32,
    pub dynamic_stack: u32,
    pub hidden_args: u32,
    pub waits: u32,
}
/// The kind of a code object's symbol.
pub type kpk_symbol_kind = c_uint;
pub const KPK_SYMBOL_KERNEL: kpk_symbol_kind = 0;
pub const KPK_SYMBOL_VARIABLE: kpk_symbol_kind = 1;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_symbol {
    pub name: *const c_char,
    pub kind: kpk_symbol_kind,
    pub nbytes: u64,
}
/// ```text
/// How well a code object fits a device, best first. Among equals the one
/// that names more features wins, then the first by target ID.
///
/// Source of the rules: AMDGPUUsage, "Target ID" and "Generic processor"; a
/// feature (sramecc, xnack) that the code object names must have the device's
/// setting, one that it does not name runs with either.
/// ```
pub type kpk_fit = c_uint;
pub const KPK_FIT_EXACT: kpk_fit = 0;
pub const KPK_FIT_ANY: kpk_fit = 1;
pub const KPK_FIT_GENERIC: kpk_fit = 2;
pub const KPK_FIT_NONE: kpk_fit = 3;
/// The outcome of a selection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_selection {
    pub object: usize,
    pub target: *const c_char,
    pub fit: kpk_fit,
    pub why: [c_char; 256],
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_table_decl {
    pub name: *const c_char,
    pub nrows: usize,
    pub ncolumns: usize,
}
/// A column's type: integers, floats or text, by what its cells are.
pub type kpk_type = c_uint;
pub const KPK_TYPE_INT: kpk_type = 0;
pub const KPK_TYPE_FLOAT: kpk_type = 1;
pub const KPK_TYPE_STRING: kpk_type = 2;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_column_decl {
    pub name: *const c_char,
    pub r#type: kpk_type,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_row {
    pub kernel: *const c_char,
    pub target: *const c_char,
    pub module: *const c_char,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_cell {
    pub r#type: kpk_type,
    pub i: i64,
    pub f: f64,
    pub s: *const c_char,
}
/// ```text
/// A cell in the table's own form: `i` in a column of integers, `f` in one of
/// floats; nothing of use in one of text.
/// ```
#[repr(C)]
#[derive(Clone, Copy)]
pub union kpk_number {
    pub i: i64,
    pub f: f64,
}
/// A condition on a row's cell.
pub type kpk_op = c_uint;
pub const KPK_EQUAL: kpk_op = 0;
pub const KPK_AT_LEAST: kpk_op = 1;
pub const KPK_AT_MOST: kpk_op = 2;
pub const KPK_DIVIDES: kpk_op = 3;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_condition {
    pub column: usize,
    pub op: kpk_op,
    pub i: i64,
    pub s: *const c_char,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kpk_query {
    pub kernel: *const c_char,
    pub target: *const c_char,
    pub conditions: *const kpk_condition,
    pub nconditions: usize,
    pub cost: Option<unsafe extern "C" fn(row: usize, cells: *const kpk_number, context: *mut c_void) -> f64>,
    pub context: *mut c_void,
}
/// ```text
/// Numbers of hipFuncGetAttribute and cuFuncGetAttribute, which are the same:
/// the ones that mean something on AMD's GPUs.
/// ```
pub type kpk_driver_attr = c_uint;
pub const KPK_DRIVER_ATTR_MAX_BLOCK: kpk_driver_attr = 0;
pub const KPK_DRIVER_ATTR_LDS_NBYTES: kpk_driver_attr = 1;
pub const KPK_DRIVER_ATTR_SCRATCH_NBYTES: kpk_driver_attr = 3;
pub const KPK_DRIVER_ATTR_VGPRS: kpk_driver_attr = 4;
pub const KPK_DRIVER_ATTR_BINARY_VERSION: kpk_driver_attr = 6;
pub const KPK_DRIVER_ATTR_MAX_DYNAMIC_LDS: kpk_driver_attr = 8;
/// ```text
/// Which calls are forbidden while the stream records: those that wait, and
/// those that may wait, such as kpk_malloc(). A forbidden call fails, and breaks
/// the recording. The drivers' numbers.
/// ```
pub type kpk_capture_mode = c_uint;
pub const KPK_CAPTURE_GLOBAL: kpk_capture_mode = 0;
pub const KPK_CAPTURE_THREAD: kpk_capture_mode = 1;
pub const KPK_CAPTURE_RELAXED: kpk_capture_mode = 2;
/// The drivers' numbers.
pub type kpk_capture_state = c_uint;
pub const KPK_CAPTURE_NONE: kpk_capture_state = 0;
pub const KPK_CAPTURE_ACTIVE: kpk_capture_state = 1;
pub const KPK_CAPTURE_BROKEN: kpk_capture_state = 2;

extern "C" {
    /// ```text
    /// kpk_version() is the version of the library that was linked:
    /// major * 10000 + minor * 100 + patch. It differs from the macros above only
    /// if the header and the archive are of different releases. Cannot fail.
    /// ```
    pub fn kpk_version() -> c_int;
    /// ```text
    /// kpk_status_name() is the spelling of a status, "KPK_ERR_NO_DRIVER";
    /// kpk_status_string() is its meaning in a few words.
    ///
    /// A number that is no status gives "KPK_ERR_UNKNOWN" and "unknown status".
    /// The strings live for ever. Cannot fail.
    /// ```
    pub fn kpk_status_name(status: kpk_status) -> *const c_char;
    pub fn kpk_status_string(status: kpk_status) -> *const c_char;
    /// ```text
    /// kpk_error_message() is the calling thread's last failure in full sentences.
    ///
    /// The string is the thread's own, and is overwritten by its next failing
    /// call; a call that succeeds leaves it alone. "" if no call has failed yet.
    /// Cannot fail.
    /// ```
    pub fn kpk_error_message() -> *const c_char;
    /// ```text
    /// kpk_error_driver() is the driver's error behind the calling thread's last
    /// failure: a hipError_t, or a CUresult. It is 0 if no call of a driver failed.
    /// Cannot fail.
    /// ```
    pub fn kpk_error_driver() -> c_int;
    pub fn kpk_open(pack: *const kpk_pack, device: c_int, out: *mut *mut kpk_instance) -> kpk_status;
    pub fn kpk_open_modules(modules: *const *const kpk_module, n: usize, device: c_int, out: *mut *mut kpk_instance) -> kpk_status;
    /// ```text
    /// kpk_close() waits for the device's work, unloads all modules and frees the
    /// instance with its kernels. NULL is a success and does nothing.
    ///
    /// The instance is gone whatever the status. KPK_ERR_DRIVER only says that the
    /// driver reported a failure on the way, for instance of a kernel that faulted;
    /// a module that the driver did not unload stays in memory. Do not call it from
    /// destructors or atexit() handlers: HIP may be gone by then. No other thread
    /// may be using the instance.
    /// ```
    pub fn kpk_close(inst: *mut kpk_instance) -> kpk_status;
    /// ```text
    /// kpk_load() loads a module now instead of at its first kernel, for programs
    /// that want the time spent early or before a stream capture.
    ///
    ///   module  the module's name; NULL for every module that fits the device
    ///
    /// If the module is loaded already, nothing happens: a success. Fails with
    /// KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET, KPK_ERR_FORMAT, KPK_ERR_DRIVER,
    /// KPK_ERR_NOMEM.
    /// ```
    pub fn kpk_load(inst: *mut kpk_instance, module: *const c_char) -> kpk_status;
    /// ```text
    /// kpk_unload() waits for the device's work and unloads one module; any call
    /// that loads modules loads it again.
    ///
    ///   module  the module's name; NULL for all of them
    ///
    /// The module's kernels stay valid, those for typed launches too: a launch is
    /// refused with KPK_ERR_UNLOADED as long as the module is not loaded, and works
    /// again from then on. A launch itself loads nothing. No other thread may be
    /// launching kernels of the module meanwhile; other modules may be in use. Any
    /// other call may be at work on the module: it is waited for, or waits. An
    /// address or handle that such a call has returned ends with the module.
    /// Unloading what is not loaded is a success.
    /// Fails with KPK_ERR_NO_MODULE, KPK_ERR_DRIVER.
    /// ```
    pub fn kpk_unload(inst: *mut kpk_instance, module: *const c_char) -> kpk_status;
    /// ```text
    /// kpk_kernel_get() finds a kernel, loading its module the first time.
    /// kpk_kernel_get_in() looks in one module only, for packs in which several
    /// modules have a kernel of one name.
    ///
    ///   inst    an open instance
    ///   module  the module's name
    ///   name    the kernel's exported name, e.g. "affine_f32"
    ///   out     the kernel; owned by inst
    ///
    /// Fails with KPK_ERR_NO_KERNEL, KPK_ERR_AMBIGUOUS, KPK_ERR_NO_MODULE,
    /// KPK_ERR_NO_TARGET, KPK_ERR_FORMAT, KPK_ERR_DRIVER, KPK_ERR_NOMEM.
    /// Threads may ask at once, for the same kernel too: a module loads once. A
    /// kernel that was fetched before is found without taking a lock.
    /// ```
    pub fn kpk_kernel_get(inst: *mut kpk_instance, name: *const c_char, out: *mut *const kpk_kernel) -> kpk_status;
    pub fn kpk_kernel_get_in(inst: *mut kpk_instance, module: *const c_char, name: *const c_char, out: *mut *const kpk_kernel) -> kpk_status;
    /// ```text
    /// kpk_kernel_name(), kpk_kernel_module() and kpk_kernel_index() say where a
    /// kernel comes from: its name, its module and its number in the module, as
    /// kpk_module_kernel() and kpk_module_arg() take it. Cannot fail.
    /// ```
    pub fn kpk_kernel_name(kernel: *const kpk_kernel) -> *const c_char;
    pub fn kpk_kernel_module(kernel: *const kpk_kernel) -> *const kpk_module;
    pub fn kpk_kernel_index(kernel: *const kpk_kernel) -> usize;
    /// ```text
    /// kpk_kernel_raw() gives the driver's own handles of a kernel, for calls that
    /// kpack does not wrap.
    ///
    ///   module    a hipModule_t or CUmodule; may be NULL
    ///   function  a hipFunction_t or CUfunction; may be NULL
    ///
    /// Both belong to the instance: neither is to be unloaded, and both end with
    /// kpk_unload() or kpk_close(). Fails with KPK_ERR_UNLOADED.
    /// ```
    pub fn kpk_kernel_raw(kernel: *const kpk_kernel, module: *mut *mut c_void, function: *mut *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_launch() starts a kernel and returns without waiting for it.
    ///
    ///   kernel  from kpk_kernel_get()
    ///   shape   read during the call only
    ///   stream  a hipStream_t of the instance's device; NULL for the default one
    ///   args    [nargs] in the order of the kernel's parameters; read, with the
    ///           values, during the call only
    ///
    /// Everything is checked before the GPU sees it, against the kernel's argument
    /// list, its limits and the device's: KPK_ERR_KERNEL_ARGS names the argument
    /// that does not fit, KPK_ERR_SHAPE the dimension. No check can tell whether a
    /// pointer points to device memory of the right extent. Nothing is allocated. A
    /// kernel whose metadata lists no arguments, though it reads some, is launched
    /// with kpk_launch_packed() only. Also fails with KPK_ERR_UNLOADED,
    /// KPK_ERR_DRIVER, KPK_ERR_ARG.
    ///
    /// A pointer to dynamic shared memory (KPK_KIND_DYNAMIC_SHARED), which kernels
    /// of OpenCL C can have as an argument, is 4 bytes of any value: HIP puts the
    /// address of the block's dynamic shared memory there. Its size is the shape's
    /// shared_nbytes. HIP places several such pointers 4 bytes apart, so a kernel
    /// that has two or more is refused on AMD's GPUs, however it is launched
    /// (KPK_ERR_UNSUPPORTED).
    /// ```
    pub fn kpk_launch(kernel: *const kpk_kernel, shape: *const kpk_shape, stream: *mut c_void, args: *const kpk_arg, nargs: usize) -> kpk_status;
    /// ```text
    /// kpk_kernel_shape() recommends a launch shape for a kernel; kpk_module_shape()
    /// is the same without a device, for a target ID (NULL: for any).
    ///
    ///   n        what the grid's x covers: elements of an elementwise kernel, rows
    ///            of a row kernel; the table's column grid_x_counts says which
    ///   columns  the length of a row, by which the block of row kernels is chosen,
    ///            or what grid_y_counts says; 0 where there is no such thing
    ///   out      grid, block and dynamic shared memory
    ///
    /// The numbers come from the module's configuration table that has a column
    /// block_x: block_x, block_y, grid_x_each and grid_y_each (how many of n and of
    /// columns a block takes), shared_nbytes, min_n, the least n that a row is for,
    /// n_multiple, of which n must be a multiple for it, and min_columns and
    /// max_columns, its range of columns. The first row that fits is taken: one for
    /// `target`, which is the target of the code object that runs, or for any. An
    /// imported pack has such a table of Triton's kernels whose JSON lay beside
    /// them; n and columns are the grid's x and y there.
    ///
    /// The grid covers all of n and of columns. HIP launches fewer than 2^32 threads
    /// in a dimension, and 2^31 - 1 blocks in x and 65535 in y at most. If a grid
    /// would be larger, KPK_ERR_SHAPE says so: launch the kernel for parts of the
    /// data. Where the row says that the kernel loops over what a grid leaves
    /// (grid_x_loops, grid_y_loops: 1) it is the largest grid that HIP launches; and
    /// grid_x_most blocks, if the row has such a limit, as kernels have that fill a
    /// GPU with so many.
    ///
    /// Fails with KPK_ERR_NO_ROW where nothing is recommended, KPK_ERR_SHAPE,
    /// KPK_ERR_ARG.
    /// ```
    pub fn kpk_kernel_shape(kernel: *const kpk_kernel, n: u64, columns: u64, out: *mut kpk_shape) -> kpk_status;
    pub fn kpk_module_shape(module: *const kpk_module, kernel: usize, target: *const c_char, n: u64, columns: u64, out: *mut kpk_shape) -> kpk_status;
    /// ```text
    /// Thin calls over hipMalloc, hipFree, hipMemcpy, hipMemset and
    /// hipStreamSynchronize, or CUDA's counterparts, on the instance's device. A
    /// program mixes them freely with the driver's own: a pointer is a pointer.
    ///
    /// kpk_malloc()     nbytes of device memory, aligned to 256 at least; 0 bytes
    ///                  give NULL. Freed by kpk_free(), not by kpk_close().
    /// kpk_free()       gives it back; waits for the device; NULL does nothing
    /// kpk_copy_to()    host to device; done when it returns
    /// kpk_copy_from()  device to host; waits for kernels on the default stream,
    ///                  done when it returns
    /// kpk_fill()       sets nbytes of device memory to one byte's value
    /// kpk_sync()       waits for a stream; NULL for the default one. Reports what
    ///                  went wrong in kernels that it waited for, as far as the
    ///                  driver does.
    ///
    /// All fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_malloc(inst: *mut kpk_instance, nbytes: usize, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_free(inst: *mut kpk_instance, ptr: *mut c_void) -> kpk_status;
    pub fn kpk_copy_to(inst: *mut kpk_instance, device_dst: *mut c_void, host_src: *const c_void, nbytes: usize) -> kpk_status;
    pub fn kpk_copy_from(inst: *mut kpk_instance, host_dst: *mut c_void, device_src: *const c_void, nbytes: usize) -> kpk_status;
    pub fn kpk_fill(inst: *mut kpk_instance, device_dst: *mut c_void, value: u8, nbytes: usize) -> kpk_status;
    pub fn kpk_sync(inst: *mut kpk_instance, stream: *mut c_void) -> kpk_status;
    /// ```text
    /// For kernels of several devices that work together while they run.
    ///
    /// kpk_peer_enable()      lets kernels of inst's device read and write memory of
    ///                        peer's device, from now on until the process ends. The
    ///                        other direction is a call of its own. Does nothing for
    ///                        a device and itself, or for the second time
    /// kpk_malloc_uncached()  kpk_malloc() of memory that no cache keeps on AMD's
    ///                        GPUs (hipDeviceMallocUncached), for flags between
    ///                        devices. On NVIDIA's it is kpk_malloc()
    ///
    /// Both fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_peer_enable() also with
    /// KPK_ERR_UNSUPPORTED if the devices have no direct way between them.
    /// ```
    pub fn kpk_peer_enable(inst: *mut kpk_instance, peer: *const kpk_instance) -> kpk_status;
    pub fn kpk_malloc_uncached(inst: *mut kpk_instance, nbytes: usize, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_ipc_export(inst: *mut kpk_instance, ptr: *mut c_void, out: *mut kpk_ipc_memory) -> kpk_status;
    pub fn kpk_ipc_import(inst: *mut kpk_instance, memory: *const kpk_ipc_memory, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_ipc_close(inst: *mut kpk_instance, ptr: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_stream_create() makes a stream on the instance's device.
    ///
    ///   flags  0 or KPK_STREAM_NON_BLOCKING
    ///   out    the stream; give it to kpk_stream_destroy()
    ///
    /// Fails with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_stream_create(inst: *mut kpk_instance, flags: c_uint, out: *mut *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_stream_destroy() destroys a stream. HIP and CUDA differ in whether it
    /// waits for the stream's work: call kpk_sync() before. NULL does nothing. Fails
    /// with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_stream_destroy(inst: *mut kpk_instance, stream: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_stream_query() asks, without waiting, whether a stream's work is done.
    /// kpk_sync() waits for it.
    ///
    ///   out  1 if all work that the stream was given has ended, else 0
    ///
    /// Fails with KPK_ERR_DRIVER, for a kernel that failed too, and KPK_ERR_ARG.
    /// ```
    pub fn kpk_stream_query(inst: *mut kpk_instance, stream: *mut c_void, out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_stream_wait() lets all later work of a stream wait for an event. The host
    /// does not wait. An event that was never recorded holds nothing up. The event
    /// may be of another device of the same driver. Fails with KPK_ERR_DRIVER and
    /// KPK_ERR_ARG.
    /// ```
    pub fn kpk_stream_wait(inst: *mut kpk_instance, stream: *mut c_void, event: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_event_create() makes an event on the instance's device.
    ///
    ///   flags  0, or KPK_EVENT_SLEEP and KPK_EVENT_NO_TIMING
    ///   out    the event; give it to kpk_event_destroy()
    ///
    /// kpk_event_destroy() destroys it; a stream that waits for it goes on waiting
    /// for the same point. NULL does nothing.
    ///
    /// Fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_event_create(inst: *mut kpk_instance, flags: c_uint, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_event_destroy(inst: *mut kpk_instance, event: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_event_record() makes the event stand for the end of all work that the
    /// stream has been given so far. An event can be recorded anew: who waits for it
    /// already, waits for the former point.
    ///
    /// kpk_event_query() asks, without waiting, whether that work has ended: 1, or 0
    /// if not. An event that was never recorded has passed.
    ///
    /// kpk_event_sync() lets the calling thread wait for it.
    ///
    /// Fail with KPK_ERR_DRIVER, for a kernel that failed before the event too, and
    /// KPK_ERR_ARG.
    /// ```
    pub fn kpk_event_record(inst: *mut kpk_instance, event: *mut c_void, stream: *mut c_void) -> kpk_status;
    pub fn kpk_event_query(inst: *mut kpk_instance, event: *mut c_void, out: *mut c_int) -> kpk_status;
    pub fn kpk_event_sync(inst: *mut kpk_instance, event: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_event_elapsed() is the time between two events that have passed, in
    /// milliseconds.
    ///
    ///   start, stop  recorded events with timing
    ///
    /// Fails with KPK_ERR_DRIVER, also if one has not passed yet, and KPK_ERR_ARG.
    /// ```
    pub fn kpk_event_elapsed(inst: *mut kpk_instance, start: *mut c_void, stop: *mut c_void, out: *mut f32) -> kpk_status;
    /// ```text
    /// kpk_copy_to_async() and its kin are the calls of "Device memory" as work of a
    /// stream: they return at once, and the copy is done when the stream comes to
    /// it.
    ///
    /// kpk_copy_to_async()    host to device
    /// kpk_copy_from_async()  device to host
    /// kpk_copy_async()       within the instance's device
    /// kpk_copy_peer_async()  from the device of instance `from`, of the same
    ///                        driver, to that of `inst`; directly if the two reach
    ///                        each other, else through the host
    /// kpk_fill_async()       sets nbytes of device memory to one byte's value
    ///
    ///   device_dst, device_src  nbytes of device memory each, which do not overlap
    ///   host_dst, host_src      memory of the host, which must stay until the copy
    ///                           is done. If it is pinned (kpk_malloc_host()), the
    ///                           host goes on meanwhile; from other memory the call
    ///                           may wait
    ///   stream                  a stream of the instance's device
    ///
    /// 0 bytes are a success; the pointers may then be NULL. A copy in a stream that
    /// records a graph becomes a part of the graph; HIP does a kpk_copy_peer_async()
    /// at once instead. Fail with KPK_ERR_DRIVER and KPK_ERR_ARG;
    /// kpk_copy_peer_async() also with KPK_ERR_UNSUPPORTED, between devices of HIP
    /// and CUDA.
    /// ```
    pub fn kpk_copy_to_async(inst: *mut kpk_instance, device_dst: *mut c_void, host_src: *const c_void, nbytes: usize, stream: *mut c_void) -> kpk_status;
    pub fn kpk_copy_from_async(inst: *mut kpk_instance, host_dst: *mut c_void, device_src: *const c_void, nbytes: usize, stream: *mut c_void) -> kpk_status;
    pub fn kpk_copy_async(inst: *mut kpk_instance, device_dst: *mut c_void, device_src: *const c_void, nbytes: usize, stream: *mut c_void) -> kpk_status;
    pub fn kpk_copy_peer_async(inst: *mut kpk_instance, device_dst: *mut c_void, from: *const kpk_instance, device_src: *const c_void, nbytes: usize, stream: *mut c_void) -> kpk_status;
    pub fn kpk_fill_async(inst: *mut kpk_instance, device_dst: *mut c_void, value: u8, nbytes: usize, stream: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_malloc_host() allocates nbytes of pinned memory of the host: copies of
    /// every device reach it directly. 0 bytes give NULL. kpk_free_host() gives it
    /// back, any instance of the same driver's will do; NULL does nothing. No copy
    /// may use it any more. kpk_close() does not give it back.
    ///
    /// Fail with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_malloc_host(inst: *mut kpk_instance, nbytes: usize, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_free_host(inst: *mut kpk_instance, ptr: *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_malloc_async() and kpk_free_async() are for programs that allocate and
    /// free all the time: they neither wait nor, once a program has found its sizes,
    /// call the driver for memory. Each instance has a pool of freed blocks. All
    /// calls may be made by any number of threads.
    ///
    /// kpk_malloc_async()  nbytes of device memory, aligned to 256 at least, for
    ///                     work that the stream is given after the call; 0 bytes
    ///                     give NULL. Its bytes are what a former user left.
    ///                     A block of the pool that was freed in the same stream is
    ///                     given out at once; one that was freed in another stream,
    ///                     when the work that the other stream had then is done;
    ///                     else the driver is asked. If the device is full, the
    ///                     pool's idle blocks are given back first
    /// kpk_free_async()    puts the block into the pool. Work that the stream was
    ///                     given before may still use it. If other streams use it,
    ///                     let `stream` wait for them first (kpk_stream_wait()).
    /// NULL does nothing kpk_pool_trim()     waits for the device, and gives all
    /// idle blocks back to the driver kpk_pool_info()     bytes of the pool's blocks
    /// that are given out, and of those that are idle. Requests are rounded up by 6
    /// % at most, small ones to 512 bytes. Either pointer may be NULL
    ///
    /// kpk_close() gives all blocks back, idle or not: their addresses are not to be
    /// used after it. kpk_free() does not take them.
    ///
    /// A stream that is destroyed without kpk_stream_destroy() of the same instance
    /// must have ended its work before its handle is made anew.
    ///
    /// A stream that records a graph takes no part, since a graph's memory must stay
    /// as long as the graph: KPK_ERR_UNSUPPORTED. Allocate before the recording, and
    /// free after it; in other threads, too, if it is KPK_CAPTURE_GLOBAL.
    ///
    /// Fail with KPK_ERR_DRIVER, KPK_ERR_NOMEM, KPK_ERR_ARG (also for a pointer that
    /// is not given out) and KPK_ERR_UNSUPPORTED.
    /// ```
    pub fn kpk_malloc_async(inst: *mut kpk_instance, nbytes: usize, stream: *mut c_void, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_free_async(inst: *mut kpk_instance, ptr: *mut c_void, stream: *mut c_void) -> kpk_status;
    pub fn kpk_pool_trim(inst: *mut kpk_instance) -> kpk_status;
    pub fn kpk_pool_info(inst: *mut kpk_instance, used_nbytes: *mut usize, idle_nbytes: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_device_count() counts the devices of all drivers: HIP's come first, then
    /// CUDA's.
    ///
    /// A machine without a GPU has 0 of them, which is a success. It asks both
    /// drivers, so the first call starts CUDA's where there is one, which takes a
    /// fifth of a second. Fails with KPK_ERR_NO_DRIVER if there is neither HIP nor a
    /// CUDA driver, and with KPK_ERR_DRIVER.
    /// ```
    pub fn kpk_device_count(out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_platform_device_count() counts the devices of one driver and leaves the
    /// other alone. HIP's devices have the numbers from 0 on, so a program that is
    /// for AMD's GPUs needs no other count, and never starts the CUDA driver.
    ///
    /// 0 devices are a success. Fails with KPK_ERR_NO_DRIVER if the driver is not
    /// there, KPK_ERR_DRIVER, KPK_ERR_ARG, KPK_ERR_UNSUPPORTED.
    /// ```
    pub fn kpk_platform_device_count(platform: kpk_platform, out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_driver_info() finds a platform's driver and says which one was found.
    ///
    ///   version  the driver's own number; may be NULL.
    ///            HIP: major * 10000000 + minor * 100000 + patch.
    ///            CUDA: major * 1000 + minor * 10
    ///   path     the file it was loaded from, for ever; may be NULL
    ///
    /// Fails with KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER, KPK_ERR_ARG,
    /// KPK_ERR_UNSUPPORTED.
    /// ```
    pub fn kpk_driver_info(platform: kpk_platform, version: *mut c_int, path: *mut *const c_char) -> kpk_status;
    /// ```text
    /// kpk_device_get() describes device number `device`, counted from 0 over
    /// HIP's devices and then CUDA's.
    ///
    /// Fails with KPK_ERR_NO_DEVICE, KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER.
    /// ```
    pub fn kpk_device_get(device: c_int, out: *mut kpk_device) -> kpk_status;
    /// ```text
    /// kpk_instance_device() describes the device that the instance is open on,
    /// as found when it was opened; kpk_instance_ordinal() is its number.
    /// The description lives until kpk_close(). Cannot fail.
    /// ```
    pub fn kpk_instance_device(inst: *const kpk_instance) -> *const kpk_device;
    pub fn kpk_instance_ordinal(inst: *const kpk_instance) -> c_int;
    /// ```text
    /// kpk_memory_info() asks the driver how much memory the instance's device has:
    /// in all, and not in use by any process. Either pointer may be NULL.
    ///
    /// Fails with KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_memory_info(inst: *mut kpk_instance, free_nbytes: *mut usize, total_nbytes: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_device_attr() asks the driver for an attribute of the instance's device
    /// that kpk_device does not have.
    ///
    ///   attr  the driver's own number: a hipDeviceAttribute_t or, where the
    ///         device's platform is KPK_CUDA, a CUdevice_attribute. The two number
    ///         differently, and so do HIP 5 and later releases
    ///
    /// Fails with KPK_ERR_DRIVER, for a number that the driver does not know too,
    /// and KPK_ERR_ARG.
    /// ```
    pub fn kpk_device_attr(inst: *mut kpk_instance, attr: c_int, out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_current_device() tells which of a driver's devices is current on the
    /// calling thread, as hipSetDevice(), cudaSetDevice() or PyTorch left it.
    ///
    ///   out  the device's number, as kpk_open() takes it
    ///
    /// HIP's first device is current in a thread that chose none. With CUDA none is
    /// until the thread chose one: KPK_ERR_NO_DEVICE. Fails with that,
    /// KPK_ERR_NO_DRIVER, KPK_ERR_DRIVER and KPK_ERR_ARG.
    /// ```
    pub fn kpk_current_device(platform: kpk_platform, out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_kernels_get() finds the kernels of a module and loads it unless it is
    /// loaded.
    ///
    ///   module  a module of the instance
    ///   layout  what the header knows of names and arguments, as a number; a
    ///           module that has others is refused (KPK_ERR_FORMAT): the header is
    ///           of another build
    ///   out     owned by inst: valid until its kpk_close()
    ///
    /// Fails with KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET, KPK_ERR_FORMAT,
    /// KPK_ERR_DRIVER, KPK_ERR_ARG.
    /// ```
    pub fn kpk_kernels_get(inst: *mut kpk_instance, module: *const kpk_module, layout: u64, out: *mut *const kpk_kernels) -> kpk_status;
    /// ```text
    /// kpk_kernels_launch() starts kernel number `kernel` of a module's kernels.
    ///
    ///   args  pointers to the values of the kernel's arguments. Their number and
    ///         sizes must be the kernel's; neither is checked. NULL if the kernel
    ///         takes no arguments. Read, with the values, during the call only.
    ///
    /// Otherwise as kpk_launch().
    /// ```
    pub fn kpk_kernels_launch(kernels: *const kpk_kernels, kernel: usize, shape: *const kpk_shape, stream: *mut c_void, args: *const *const c_void) -> kpk_status;
    /// ```text
    /// kpk_values_pack() lays a list of values out in a buffer. Bytes between values
    /// are zeros. Nothing is allocated.
    ///
    ///   values  [n]
    ///   buffer  [room]; NULL with room 0 to ask for the size alone
    ///   nbytes  receives the size, for kpk_launch_packed(); may be NULL
    ///
    ///     const kpk_value values[] = {
    ///         kpk_ptr(indices), kpk_ptr(weights), kpk_ptr(logits),
    ///         kpk_u32(tokens),  kpk_u32(128),     kpk_u32(4),
    ///         kpk_u32(1),       kpk_u32(16)};
    ///     unsigned char buffer[128];
    ///     size_t nbytes;
    ///
    ///     kpk_values_pack(KPK_LAYOUT_SLOTS, values, 8, buffer, sizeof(buffer),
    ///                     &nbytes);
    ///     kpk_launch_packed(kernel, &shape, NULL, buffer, nbytes);
    ///
    /// Fails with KPK_ERR_ARG, for instance if the room does not suffice; the
    /// message has the size that would.
    /// ```
    pub fn kpk_values_pack(layout: kpk_layout, values: *const kpk_value, n: usize, buffer: *mut c_void, room: usize, nbytes: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_launch_packed() starts a kernel with arguments that the caller has laid
    /// out in a buffer as the kernel expects them: kpk_values_pack() does it, and
    /// kpk_module_arg() has the offsets. Hand-written kernels with 16-byte slots are
    /// launched like this.
    ///
    ///   buffer  [nbytes]; read during the call only; NULL if nbytes is 0
    ///   nbytes  at least up to the end of the last argument that is not padding.
    ///           Some kernels list arguments beyond the segment that they ask for:
    ///           then up to the segment's end. Bytes beyond the last argument are
    ///           ignored.
    ///
    /// A shorter buffer is refused with KPK_ERR_KERNEL_ARGS, and the message names
    /// the first argument that it leaves out. A kernel whose metadata lists no
    /// arguments needs the whole segment, and HIP 7.0: older releases would drop the
    /// buffer (KPK_ERR_UNSUPPORTED). Otherwise as kpk_launch(). In kernels from PTX,
    /// CUDA may place an argument with an alignment above 16 bytes elsewhere than
    /// kpk_module_arg() says: launch such kernels by kpk_launch().
    /// ```
    pub fn kpk_launch_packed(kernel: *const kpk_kernel, shape: *const kpk_shape, stream: *mut c_void, buffer: *const c_void, nbytes: usize) -> kpk_status;
    /// ```text
    /// kpk_launch_values() lays values out, holds them against the kernel's argument
    /// list and starts the kernel: kpk_values_pack() and kpk_launch_packed() in one,
    /// with each argument checked.
    ///
    /// Every value must lie where the list has an argument, and have its size, or be
    /// part of an argument that is a struct. If one does not, or an argument is left
    /// without a value, KPK_ERR_KERNEL_ARGS names it. Values behind the end of the
    /// list are ignored: hosts of hand-written kernels give one list to several of
    /// them. Otherwise like kpk_values_pack() and kpk_launch_packed().
    /// ```
    pub fn kpk_launch_values(kernel: *const kpk_kernel, shape: *const kpk_shape, stream: *mut c_void, layout: kpk_layout, values: *const kpk_value, n: usize) -> kpk_status;
    /// ```text
    /// kpk_launch_ex() is kpk_launch() and kpk_launch_packed() with options.
    ///
    /// A cooperative launch is refused with KPK_ERR_SHAPE if its blocks cannot all
    /// be on the device at once; the message has the number that can. It takes no
    /// events and no KPK_LAUNCH_ANY_ORDER (KPK_ERR_ARG). KPK_ERR_UNSUPPORTED says
    /// that the device cannot do it, or that its driver lacks the function: in HIP
    /// events and flags need hipExtModuleLaunchKernel, cooperation
    /// hipModuleLaunchCooperativeKernel (HIP 5.5). Otherwise as kpk_launch().
    ///
    /// KPK_LAUNCH_EARLY lets the kernel begin while the launch before it in the
    /// stream still runs: CUDA's programmatic dependent launch. The kernel's work
    /// before its wait for that launch then takes no time of its own. Before the
    /// wait the kernel must not read memory that an earlier launch of the stream
    /// writes; kernels/README.md lists what the pack's kernels read before the wait.
    /// The flag is a permission, and the launch an ordinary one where the kernel's
    /// code does not wait (kpk_attrs), on AMD's GPUs, with a driver before CUDA
    /// 12.3, and with events or other flags. A captured launch keeps the flag in the
    /// graph.
    ///
    /// A launch in clusters takes no events and no other flags (KPK_ERR_ARG). It
    /// fails with KPK_ERR_SHAPE if the grid is no multiple of the cluster, and with
    /// KPK_ERR_UNSUPPORTED on AMD's GPUs, on NVIDIA's before sm_90, and with a
    /// driver before CUDA 11.8.
    /// ```
    pub fn kpk_launch_ex(kernel: *const kpk_kernel, options: *const kpk_launch_options, args: *const kpk_arg, nargs: usize) -> kpk_status;
    /// ```text
    /// kpk_launch_all() starts several kernels, on one device or on several.
    ///
    ///   items  [n] launches; all are checked, streams too, before the first one
    ///          is started
    ///   flags  0: they are started one after the other, in the order of the list.
    ///          KPK_LAUNCH_COOPERATIVE: they are one launch over n devices, in
    ///          which a kernel may wait for all blocks on all devices. Each item
    ///          then has a device, and a stream other than NULL, of its own, and
    ///          n is at most KPK_MAX_COOPERATIVE. KPK_LAUNCH_NO_PRE_SYNC and
    ///          KPK_LAUNCH_NO_POST_SYNC may be added.
    ///
    /// Fails as kpk_launch_ex() does. If the driver refuses a launch of a list
    /// without KPK_LAUNCH_COOPERATIVE, those before it have been started.
    /// ```
    pub fn kpk_launch_all(items: *const kpk_launch_item, n: usize, flags: c_uint) -> kpk_status;
    /// ```text
    /// kpk_load_ex() is kpk_load() through hipModuleLoadDataEx, for programs that
    /// come with its options.
    ///
    ///   n        how many options there are
    ///   options  [n] hipJitOption numbers; NULL if n is 0
    ///   values   [n] their values; NULL if n is 0
    ///
    /// HIP on AMD GPUs accepts every option and ignores it. The options have no
    /// effect on a module that is loaded already. Fails as kpk_load() does, and with
    /// KPK_ERR_UNSUPPORTED.
    /// ```
    pub fn kpk_load_ex(inst: *mut kpk_instance, module: *const c_char, n: c_uint, options: *mut c_int, values: *mut *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_global() finds a variable of a module on the device (`__device__` or
    /// `__constant__` in the source), loading the module the first time.
    ///
    ///   module  the module's name
    ///   name    the variable's, as kpk_module_symbols() spells it
    ///   out     its address in device memory, valid until the module is unloaded;
    ///           may be NULL
    ///   nbytes  its size; may be NULL
    ///
    /// kpk_global_write() copies nbytes of host memory into it, kpk_global_read()
    /// out of it, starting `offset` bytes into the variable; both are done when
    /// they return, and refuse to leave the variable (KPK_ERR_ARG).
    ///
    /// Fail with KPK_ERR_NO_GLOBAL, KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET,
    /// KPK_ERR_FORMAT, KPK_ERR_DRIVER, KPK_ERR_ARG.
    /// ```
    pub fn kpk_global(inst: *mut kpk_instance, module: *const c_char, name: *const c_char, out: *mut *mut c_void, nbytes: *mut usize) -> kpk_status;
    pub fn kpk_global_write(inst: *mut kpk_instance, module: *const c_char, name: *const c_char, offset: usize, host_src: *const c_void, nbytes: usize) -> kpk_status;
    pub fn kpk_global_read(inst: *mut kpk_instance, module: *const c_char, name: *const c_char, offset: usize, host_dst: *mut c_void, nbytes: usize) -> kpk_status;
    /// ```text
    /// kpk_texture() finds a texture reference of a module, a textureReference *.
    ///
    /// HIP on most AMD GPUs has none: KPK_ERR_UNSUPPORTED where the runtime or the
    /// device cannot, KPK_ERR_NO_GLOBAL where the module has none of that name.
    /// Otherwise as kpk_global().
    /// ```
    pub fn kpk_texture(inst: *mut kpk_instance, module: *const c_char, name: *const c_char, out: *mut *mut c_void) -> kpk_status;
    /// ```text
    /// kpk_pack_name()          the pack's name, e.g. "candle"
    /// kpk_pack_module_count()  how many modules it has
    /// kpk_pack_module()        module number i, sorted by name; NULL if there are
    ///                          not so many
    /// kpk_pack_find()          the module of that name; NULL if there is none
    ///
    /// An imported pack can have several modules of one name, for different targets,
    /// if their kernels differ. kpk_pack_find() returns the first; the others follow
    /// it. An instance has the one that fits its device best, as kpk_select()
    /// chooses among code objects.
    /// ```
    pub fn kpk_pack_name(pack: *const kpk_pack) -> *const c_char;
    pub fn kpk_pack_module_count(pack: *const kpk_pack) -> usize;
    pub fn kpk_pack_module(pack: *const kpk_pack, i: usize) -> *const kpk_module;
    pub fn kpk_pack_find(pack: *const kpk_pack, name: *const c_char) -> *const kpk_module;
    /// ```text
    /// kpk_module_name() is the module's name, e.g. "affine".
    /// kpk_module_kernel_count() is how many kernels it has, sorted by name;
    /// kpk_module_object_count() how many code objects, sorted by target ID.
    /// Cannot fail.
    /// ```
    pub fn kpk_module_name(module: *const kpk_module) -> *const c_char;
    pub fn kpk_module_kernel_count(module: *const kpk_module) -> usize;
    pub fn kpk_module_object_count(module: *const kpk_module) -> usize;
    /// ```text
    /// kpk_module_kernel() describes kernel number `kernel` of a module.
    /// kpk_module_find_kernel() gives the number of the kernel of that name.
    ///
    /// Fails with KPK_ERR_ARG (no such number), KPK_ERR_NO_KERNEL (no such name).
    /// ```
    pub fn kpk_module_kernel(module: *const kpk_module, kernel: usize, out: *mut kpk_kernel_decl) -> kpk_status;
    pub fn kpk_module_find_kernel(module: *const kpk_module, name: *const c_char, out: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_module_arg() describes argument number `arg`, counted from 0, of kernel
    /// number `kernel`. Hidden arguments, which HIP fills in, are not counted.
    ///
    /// Fails with KPK_ERR_ARG.
    /// ```
    pub fn kpk_module_arg(module: *const kpk_module, kernel: usize, arg: usize, out: *mut kpk_arg_decl) -> kpk_status;
    /// ```text
    /// kpk_module_object() describes code object number `object` of a module, its
    /// bytes included: to write them to a file, or to hand them to other tools.
    /// kpk_module_object_info() is the same with data NULL, and never decompresses.
    /// kpk_module_find_object() gives the number of the one with exactly that
    /// target ID; to find one that fits a device, see kpk_select().
    ///
    /// In a pack made with COMPRESS=zstd a code object is decompressed the first
    /// time that kpk_module_object() or a load wants it, once in a process, and held
    /// against its SHA-256; the memory is kept until the process ends, or until
    /// dlclose() of the shared object that holds pack and library. Close the
    /// instances before dlclose(): the memory of a loaded module is not freed. If
    /// several threads ask for one code object at once, one of them decompresses it
    /// and the others wait.
    ///
    /// Fails with KPK_ERR_ARG (no such number), KPK_ERR_NO_TARGET (no such ID),
    /// KPK_ERR_FORMAT (its head or compressed data is damaged), KPK_ERR_NOMEM.
    /// ```
    pub fn kpk_module_object(module: *const kpk_module, object: usize, out: *mut kpk_object) -> kpk_status;
    pub fn kpk_module_object_info(module: *const kpk_module, object: usize, out: *mut kpk_object) -> kpk_status;
    pub fn kpk_module_find_object(module: *const kpk_module, target: *const c_char, out: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_module_attrs() gives kernel number `kernel`'s needs in code object
    /// number `object`; kpk_kernel_attrs() those of an instance's kernel, in the
    /// code object that was selected for its device.
    ///
    /// Fail with KPK_ERR_ARG.
    /// ```
    pub fn kpk_module_attrs(module: *const kpk_module, kernel: usize, object: usize, out: *mut kpk_attrs) -> kpk_status;
    pub fn kpk_kernel_attrs(kernel: *const kpk_kernel, out: *mut kpk_attrs) -> kpk_status;
    /// ```text
    /// kpk_module_symbols() lists what a code object exports, its variables among
    /// them, in the order of its symbol table. No device is needed.
    ///
    ///   object  number of the code object
    ///   out     [room] receives the first `room` symbols; may be NULL if room is 0
    ///   count   receives how many there are in all
    ///
    /// Fails with KPK_ERR_FORMAT if the code object is damaged, KPK_ERR_NO_TARGET if
    /// `kpack prune` took it out, KPK_ERR_ARG, and of PTX, which has no such table,
    /// with KPK_ERR_UNSUPPORTED.
    /// ```
    pub fn kpk_module_symbols(module: *const kpk_module, object: usize, out: *mut kpk_symbol, room: usize, count: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_target_fit() says how well a code object for target ID `object` fits a
    /// device that reports target ID `device`, and why, in words.
    ///
    ///   why         receives the reason, NUL-terminated and cut to fit; may be
    ///               NULL
    ///   why_nbytes  room in `why`; 256 is enough for every reason
    ///   out         KPK_FIT_NONE is a success: the answer is no
    ///
    /// Fails with KPK_ERR_ARG if either is not of the form processor[:feature+|-].
    /// ```
    pub fn kpk_target_fit(device: *const c_char, object: *const c_char, out: *mut kpk_fit, why: *mut c_char, why_nbytes: usize) -> kpk_status;
    /// ```text
    /// kpk_select() picks the code object of a module that a device of target ID
    /// `target` would run. No device is needed.
    ///
    /// Fails with KPK_ERR_NO_TARGET, whose message names the device's target ID,
    /// what the module holds, why each near miss does not fit and the ARCHS= to
    /// rebuild with; KPK_ERR_ARG if `target` is malformed.
    /// ```
    pub fn kpk_select(module: *const kpk_module, target: *const c_char, out: *mut kpk_selection) -> kpk_status;
    /// ```text
    /// kpk_instance_selection() says which code object of a module the instance
    /// uses and why. It loads nothing.
    ///
    ///   module  the module's name
    ///
    /// Fails with KPK_ERR_NO_MODULE, KPK_ERR_NO_TARGET.
    /// ```
    pub fn kpk_instance_selection(inst: *const kpk_instance, module: *const c_char, out: *mut kpk_selection) -> kpk_status;
    /// ```text
    /// A file kernels/NAME.csv becomes a constant table of module NAME. A row is
    /// about one kernel (column `kernel`). A column `target` says on which
    /// processor, or, as "gfx1*" does, on which of AMD's, by the beginning of their
    /// names. Every further column has a type. Tables, rows and columns are numbered
    /// from 0. Rows are sorted by kernel; those of one kernel keep the file's order.
    /// Nothing here needs a device or allocates.
    ///
    /// In an imported pack (gen/README.md) each file is a module, for instance
    /// "bf16gemm/tile_64x64". The CSV files of a folder are tables of a module of
    /// their own, which has the folder's name, "bf16gemm", and no kernels. There a
    /// row names its kernel's module too; kpk_table_kernel() goes from row to
    /// kernel.
    ///
    /// All calls fail with KPK_ERR_ARG for a number out of range. A call that looks
    /// for a name or a row fails with KPK_ERR_NO_ROW without a match.
    /// ```
    pub fn kpk_module_table_count(module: *const kpk_module) -> usize;
    pub fn kpk_module_table(module: *const kpk_module, table: usize, out: *mut kpk_table_decl) -> kpk_status;
    pub fn kpk_module_find_table(module: *const kpk_module, name: *const c_char, out: *mut usize) -> kpk_status;
    pub fn kpk_table_column(module: *const kpk_module, table: usize, column: usize, out: *mut kpk_column_decl) -> kpk_status;
    pub fn kpk_table_find_column(module: *const kpk_module, table: usize, name: *const c_char, out: *mut usize) -> kpk_status;
    pub fn kpk_table_row(module: *const kpk_module, table: usize, row: usize, out: *mut kpk_row) -> kpk_status;
    pub fn kpk_table_cell(module: *const kpk_module, table: usize, row: usize, column: usize, out: *mut kpk_cell) -> kpk_status;
    /// Row number `row` as it stands: (*out)\[column\], constant, lives for ever.
    pub fn kpk_table_numbers(module: *const kpk_module, table: usize, row: usize, out: *mut *const kpk_number) -> kpk_status;
    /// ```text
    /// kpk_table_select() finds the best row.
    ///
    ///   query  what is asked; read during the call only
    ///   out    the row's number
    ///
    /// Searching 500 rows takes less than a microsecond (`make bench-table`). The
    /// cost function is called for each row that meets all conditions.
    ///
    /// Example: the GEMM tile for M, N, K is a query with KPK_DIVIDES on tileN, and
    /// a cost function that counts rounds over the device's compute units. See
    /// gen/README.md, "Tables".
    /// ```
    pub fn kpk_table_select(module: *const kpk_module, table: usize, query: *const kpk_query, out: *mut usize) -> kpk_status;
    /// ```text
    /// kpk_table_kernel() finds the kernel of a configuration table's row, loading
    /// its module the first time.
    ///
    ///   inst    an open instance of the pack
    ///   module  the module that has the table
    ///   row     from kpk_table_select(), with the instance's target in the query
    ///
    /// Fails with KPK_ERR_NO_TARGET if the row is about another processor;
    /// otherwise as kpk_table_row() and kpk_kernel_get_in().
    /// ```
    pub fn kpk_table_kernel(inst: *mut kpk_instance, module: *const kpk_module, table: usize, row: usize, out: *mut *const kpk_kernel) -> kpk_status;
    /// ```text
    /// kpk_kernel_driver_attr() asks the driver for an attribute of a kernel. It
    /// agrees with kpk_kernel_attrs(), which needs no call into the driver.
    ///
    /// Fails with KPK_ERR_DRIVER, KPK_ERR_UNLOADED, KPK_ERR_UNSUPPORTED,
    /// KPK_ERR_ARG.
    /// ```
    pub fn kpk_kernel_driver_attr(kernel: *const kpk_kernel, attr: kpk_driver_attr, out: *mut c_int) -> kpk_status;
    /// ```text
    /// kpk_occupancy() asks the driver how many blocks of a kernel a compute unit
    /// runs at once; times kpk_device.compute_units it is the largest cooperative
    /// grid. It is 0 for a block that the kernel does not take.
    ///
    ///   block          threads in a block
    ///   shared_nbytes  dynamic shared memory of a block
    ///
    /// kpk_occupancy_shape() asks the driver for the block that fills the device
    /// best, and for the least number of such blocks that fill it. `most` limits the
    /// block's threads; 0 sets no limit. Dimensions y and z of block and grid are 1.
    ///
    /// Fail with KPK_ERR_DRIVER, KPK_ERR_UNLOADED, KPK_ERR_UNSUPPORTED, KPK_ERR_ARG.
    /// ```
    pub fn kpk_occupancy(kernel: *const kpk_kernel, block: u32, shared_nbytes: usize, out: *mut u32) -> kpk_status;
    pub fn kpk_occupancy_shape(kernel: *const kpk_kernel, shared_nbytes: u32, most: u32, out: *mut kpk_shape) -> kpk_status;
    /// ```text
    /// kpk_capture_begin() lets a stream record from now on; not the default stream.
    /// kpk_capture_end() ends it.
    ///
    ///   stream  a stream of the instance's device. Streams that wait for an event
    ///           that it records (kpk_stream_wait()) record, too, into the same
    ///           graph; it has to wait for them again before the end
    ///   out     the graph; give it to kpk_graph_destroy()
    ///
    /// The stream works again after kpk_capture_end(). If the recording was broken,
    /// destroy the stream: CUDA's works again, HIP's (7.2) refuses all work.
    ///
    /// kpk_capture_query() tells whether a stream records.
    ///
    /// Fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_capture_query() also with
    /// KPK_ERR_UNSUPPORTED, if HIP lacks hipStreamIsCapturing.
    /// ```
    pub fn kpk_capture_begin(inst: *mut kpk_instance, stream: *mut c_void, mode: kpk_capture_mode) -> kpk_status;
    pub fn kpk_capture_end(inst: *mut kpk_instance, stream: *mut c_void, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_capture_query(inst: *mut kpk_instance, stream: *mut c_void, out: *mut kpk_capture_state) -> kpk_status;
    /// ```text
    /// kpk_graph_instantiate() makes an executable graph, which no longer needs the
    /// graph it was made of.
    ///
    ///   out  the executable graph; give it to kpk_graph_exec_destroy()
    ///
    /// kpk_graph_launch() launches it as work of a stream: of the one that recorded
    /// it, or of any other one of the device.
    ///
    /// kpk_graph_destroy() and kpk_graph_exec_destroy() destroy the two; NULL does
    /// nothing. Wait for the launches before.
    ///
    /// Fail with KPK_ERR_DRIVER and KPK_ERR_ARG; kpk_graph_instantiate() also with
    /// KPK_ERR_UNSUPPORTED, with a driver before CUDA 11.4.
    /// ```
    pub fn kpk_graph_instantiate(inst: *mut kpk_instance, graph: *mut c_void, out: *mut *mut c_void) -> kpk_status;
    pub fn kpk_graph_launch(inst: *mut kpk_instance, exec: *mut c_void, stream: *mut c_void) -> kpk_status;
    pub fn kpk_graph_destroy(inst: *mut kpk_instance, graph: *mut c_void) -> kpk_status;
    pub fn kpk_graph_exec_destroy(inst: *mut kpk_instance, exec: *mut c_void) -> kpk_status;
}

#[cfg(test)]
layouts! {
    kpk_shape { grid block shared_nbytes }
    kpk_arg { value nbytes }
    kpk_ipc_memory { bytes }
    kpk_device { name target memory_nbytes lds_nbytes wave_size max_block max_block_dim max_grid compute_units cooperative cooperative_multi platform index }
    kpk_value { at bits nbytes align }
    kpk_launch_options { shape stream flags start_event stop_event packed packed_nbytes cluster }
    kpk_launch_item { kernel shape stream args nargs }
    kpk_kernel_decl { name nargs nargs_given packed_nbytes }
    kpk_arg_decl { name offset nbytes kind is_padding }
    kpk_object { target cov data nbytes sha256 stored_nbytes }
    kpk_attrs { kernarg_nbytes kernarg_align lds_nbytes scratch_nbytes max_block reqd_block wave_size vgprs agprs sgprs vgpr_spills sgpr_spills dynamic_stack hidden_args waits }
    kpk_symbol { name kind nbytes }
    kpk_selection { object target fit why }
    kpk_table_decl { name nrows ncolumns }
    kpk_column_decl { name r#type }
    kpk_row { kernel target module }
    kpk_cell { r#type i f s }
    kpk_number { i f }
    kpk_condition { column op i s }
    kpk_query { kernel target conditions nconditions cost context }
}
#[cfg(test)]
constants! {
    KPK_OK
    KPK_ERR_ARG
    KPK_ERR_NOMEM
    KPK_ERR_NO_DRIVER
    KPK_ERR_NO_DEVICE
    KPK_ERR_NO_MODULE
    KPK_ERR_NO_KERNEL
    KPK_ERR_AMBIGUOUS
    KPK_ERR_NO_TARGET
    KPK_ERR_FORMAT
    KPK_ERR_SHAPE
    KPK_ERR_KERNEL_ARGS
    KPK_ERR_UNLOADED
    KPK_ERR_UNSUPPORTED
    KPK_ERR_DRIVER
    KPK_ERR_NO_GLOBAL
    KPK_ERR_NO_ROW
    KPK_ERR_TIMEOUT
    KPK_VERSION_MAJOR
    KPK_VERSION_MINOR
    KPK_VERSION_PATCH
    KPK_ANY_DEVICE
    KPK_MAX_ARGS
    KPK_STREAM_NON_BLOCKING
    KPK_EVENT_SLEEP
    KPK_EVENT_NO_TIMING
    KPK_HIP
    KPK_CUDA
    KPK_LAYOUT_NATURAL
    KPK_LAYOUT_SLOTS
    KPK_MAX_PACKED
    KPK_LAUNCH_COOPERATIVE
    KPK_LAUNCH_ANY_ORDER
    KPK_LAUNCH_NO_PRE_SYNC
    KPK_LAUNCH_NO_POST_SYNC
    KPK_LAUNCH_EARLY
    KPK_MAX_COOPERATIVE
    KPK_KIND_VALUE
    KPK_KIND_BUFFER
    KPK_KIND_DYNAMIC_SHARED
    KPK_KIND_OTHER
    KPK_KIND_UNKNOWN
    KPK_SYMBOL_KERNEL
    KPK_SYMBOL_VARIABLE
    KPK_FIT_EXACT
    KPK_FIT_ANY
    KPK_FIT_GENERIC
    KPK_FIT_NONE
    KPK_TYPE_INT
    KPK_TYPE_FLOAT
    KPK_TYPE_STRING
    KPK_EQUAL
    KPK_AT_LEAST
    KPK_AT_MOST
    KPK_DIVIDES
    KPK_DRIVER_ATTR_MAX_BLOCK
    KPK_DRIVER_ATTR_LDS_NBYTES
    KPK_DRIVER_ATTR_SCRATCH_NBYTES
    KPK_DRIVER_ATTR_VGPRS
    KPK_DRIVER_ATTR_BINARY_VERSION
    KPK_DRIVER_ATTR_MAX_DYNAMIC_LDS
    KPK_CAPTURE_GLOBAL
    KPK_CAPTURE_THREAD
    KPK_CAPTURE_RELAXED
    KPK_CAPTURE_NONE
    KPK_CAPTURE_ACTIVE
    KPK_CAPTURE_BROKEN
}
