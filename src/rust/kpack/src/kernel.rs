//! kernel.rs - kernels and their launches

use crate::args::{Arg, ByValue};
use crate::error::{check, text, Error, Result, Status};
use crate::instance::Instance;
use crate::pack::Module;
use crate::stream::{Event, Stream};
use kpack_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// The extent of a launch. No dimension may be 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_nbytes: u32,
}

/// One block of one thread.
impl Default for Shape {
    fn default() -> Shape {
        Shape { grid: [1; 3], block: [1; 3], shared_nbytes: 0 }
    }
}

impl Shape {
    /// Enough blocks in x to give every one of n elements a thread, within what HIP launches; a kernel
    /// that is given more elements than threads has to loop over them.
    pub const fn d1(n: u64, block: u32) -> Shape {
        let raw = sys::kpk_shape_1d(n, block);
        Shape { grid: raw.grid, block: raw.block, shared_nbytes: 0 }
    }

    /// The same with this much dynamic shared memory.
    pub const fn with_shared(self, shared_nbytes: u32) -> Shape {
        Shape { grid: self.grid, block: self.block, shared_nbytes }
    }

    pub(crate) const fn raw(self) -> sys::kpk_shape {
        sys::kpk_shape { grid: self.grid, block: self.block, shared_nbytes: self.shared_nbytes }
    }
}

impl From<sys::kpk_shape> for Shape {
    fn from(raw: sys::kpk_shape) -> Shape {
        Shape { grid: raw.grid, block: raw.block, shared_nbytes: raw.shared_nbytes }
    }
}

/// A kernel's needs on its device: the members of `kpk_attrs`.
pub type Attrs = sys::kpk_attrs;

/// A kernel of an instance. A clone is the same kernel. Any thread may launch it.
#[derive(Clone)]
pub struct Kernel {
    raw: *const sys::kpk_kernel,
    instance: Instance,
}

// SAFETY: a kernel is the instance's, which it keeps open, and is only read.
unsafe impl Send for Kernel {}
// SAFETY: likewise.
unsafe impl Sync for Kernel {}

/// More that can be said of a launch. The default is the plain thing.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchOptions<'a> {
    /// All blocks run at once, so that the kernel may wait for all of them.
    pub cooperative: bool,
    /// May start before earlier work of the stream has ended.
    pub any_order: bool,
    /// May begin while the launch before it still runs, if the kernel itself waits for that.
    pub early: bool,
    /// Blocks of a cluster, of NVIDIA's GPUs from sm_90 on.
    pub cluster: [u32; 3],
    /// Recorded as the kernel starts.
    pub start: Option<&'a Event>,
    /// Recorded as it ends.
    pub stop: Option<&'a Event>,
}

fn same_device(instance: &Instance, stream: &Stream) -> Result<()> {
    let (here, there) = (instance.device().ordinal, stream.instance().device().ordinal);
    if here == there {
        return Ok(());
    }
    Err(Error::new(Status::Arg, format!("a kernel of device {} in a stream of device {}", here, there)))
}

impl Kernel {
    pub(crate) fn of(instance: &Instance, raw: *const sys::kpk_kernel) -> Kernel {
        Kernel { raw, instance: instance.clone() }
    }

    /// For calls of `kpack-sys`. It lives as long as the instance.
    pub fn raw(&self) -> *const sys::kpk_kernel {
        self.raw
    }

    /// The driver's `hipModule_t` and `hipFunction_t`, or `CUmodule` and `CUfunction`. Both are the
    /// instance's.
    pub fn driver_handles(&self) -> Result<(*mut c_void, *mut c_void)> {
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: both are set on success.
        check(unsafe { sys::kpk_kernel_raw(self.raw, &mut module, &mut function) })?;
        Ok((module, function))
    }

    /// The instance that the kernel is of.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Its exported name.
    pub fn name(&self) -> &str {
        // SAFETY: cannot fail; the name lives as long as the pack.
        unsafe { text(sys::kpk_kernel_name(self.raw)) }
    }

    /// Its module.
    pub fn module(&self) -> Module {
        // SAFETY: cannot fail; modules are constant data.
        Module::new(unsafe { &*sys::kpk_kernel_module(self.raw) })
    }

    /// Its needs, in the code object that was selected.
    pub fn attrs(&self) -> Result<Attrs> {
        let mut out = MaybeUninit::<Attrs>::zeroed();
        // SAFETY: all members are set on success.
        unsafe {
            check(sys::kpk_kernel_attrs(self.raw, out.as_mut_ptr()))?;
            Ok(out.assume_init())
        }
    }

    /// The launch shape that the module's table recommends. `n` is what the grid's x covers: elements of
    /// an elementwise kernel, rows of a row kernel. `columns` is a row's length, or 0. Fails with
    /// [`Status::NoRow`] where nothing is recommended.
    pub fn shape(&self, n: u64, columns: u64) -> Result<Shape> {
        let mut out = Shape::default().raw();
        // SAFETY: set on success.
        check(unsafe { sys::kpk_kernel_shape(self.raw, n, columns, &mut out) })?;
        Ok(out.into())
    }

    /// How many blocks of so many threads a compute unit runs at once.
    pub fn occupancy(&self, block: u32, shared_nbytes: usize) -> Result<u32> {
        let mut out = 0;
        // SAFETY: set on success.
        check(unsafe { sys::kpk_occupancy(self.raw, block, shared_nbytes, &mut out) })?;
        Ok(out)
    }

    /// Starts the kernel and returns without waiting for it: [`launch!`](crate::launch) makes the list.
    ///
    /// Number and sizes of the arguments, the block and the shared memory are held against what the
    /// kernel takes: [`Status::KernelArgs`] names the argument that does not fit.
    ///
    /// # Safety
    ///
    /// - Each argument means what the kernel takes it for, and all memory that the kernel touches for
    ///   these arguments and this shape is there, on its device.
    /// - The memory stays, and no other work uses it in a way that conflicts, until the stream has done
    ///   the kernel. A [`Buffer`](crate::Buffer) of the same stream may be dropped at once; before one of
    ///   another stream is used or dropped, the streams are ordered by [`Stream::wait_for`].
    pub unsafe fn launch(&self, shape: &Shape, stream: &Stream, args: &[Arg<'_>]) -> Result<()> {
        same_device(&self.instance, stream)?;
        check(sys::kpk_launch(self.raw, &shape.raw(), stream.raw(), Arg::list(args), args.len()))
    }

    /// [`Kernel::launch`] with options.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`], and what each option asks of the kernel.
    pub unsafe fn launch_with(
        &self, options: &LaunchOptions<'_>, shape: &Shape, stream: &Stream, args: &[Arg<'_>],
    ) -> Result<()> {
        same_device(&self.instance, stream)?;
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        let raw = sys::kpk_launch_options {
            shape: shape.raw(),
            stream: stream.raw(),
            flags: flag(options.cooperative, sys::KPK_LAUNCH_COOPERATIVE)
                | flag(options.any_order, sys::KPK_LAUNCH_ANY_ORDER)
                | flag(options.early, sys::KPK_LAUNCH_EARLY),
            start_event: options.start.map_or(null_mut(), Event::raw),
            stop_event: options.stop.map_or(null_mut(), Event::raw),
            packed: null(),
            packed_nbytes: 0,
            cluster: options.cluster,
        };
        check(sys::kpk_launch_ex(self.raw, &raw, Arg::list(args), args.len()))
    }

    /// Starts the kernel with arguments that are laid out as it expects them.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`].
    pub unsafe fn launch_packed(&self, shape: &Shape, stream: &Stream, buffer: &[u8]) -> Result<()> {
        same_device(&self.instance, stream)?;
        check(sys::kpk_launch_packed(
            self.raw,
            &shape.raw(),
            stream.raw(),
            buffer.as_ptr().cast(),
            buffer.len(),
        ))
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} of {:?})", self.name(), self.instance)
    }
}

/// Starts a kernel with these arguments: `launch!(kernel, shape, stream; n, &input, &mut output)`.
///
/// Arguments are numbers of the parameters' sizes, memory, [`NULL`](crate::NULL), or structs
/// [`ByValue`](crate::ByValue). It is [`Kernel::launch`](crate::Kernel::launch), and as unsafe.
///
/// ```no_run
/// # fn main() -> kpack::Result<()> {
/// # let (gpu, x, mut y): (kpack::Instance, kpack::Buffer<f32>, kpack::Buffer<f32>) = todo!();
/// let (saxpy, shape) = (gpu.kernel("saxpy")?, kpack::Shape::d1(1000, 256));
/// // SAFETY: saxpy(u32 n, const float *x, float *y) touches n elements of both.
/// unsafe { kpack::launch!(saxpy, shape, gpu.default_stream(); 1000u32, &x, &mut y) }
/// # }
/// ```
#[macro_export]
macro_rules! launch {
    ($kernel:expr, $shape:expr, $stream:expr $(; $($arg:expr),* $(,)?)?) => {
        $kernel.launch(
            &$shape,
            &$stream,
            &[$($($crate::Arg::new(&$crate::KernelArg::into_value($arg))),*)?],
        )
    };
}

/// The kernels of one module, for the typed kernels that kpack-gen writes.
#[derive(Clone)]
pub struct Kernels {
    raw: *const sys::kpk_kernels,
    instance: Instance,
}

// SAFETY: as Kernel.
unsafe impl Send for Kernels {}
// SAFETY: likewise.
unsafe impl Sync for Kernels {}

impl Kernels {
    /// The kernels of the instance's module of that name, which is loaded. `kernel` is one of them, and
    /// `layout` what is known of their names and arguments: a module with others is refused with
    /// [`Status::Format`].
    pub fn get(instance: &Instance, module: &str, kernel: &str, layout: u64) -> Result<Kernels> {
        let module = instance.kernel_in(module, kernel)?.module();
        let mut raw = null();
        // SAFETY: the module is one of the instance's; set on success.
        check(unsafe { sys::kpk_kernels_get(instance.raw(), module.raw(), layout, &mut raw) })?;
        Ok(Kernels { raw, instance: instance.clone() })
    }

    /// The instance that the kernels are of.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Where a value is, for [`Kernels::launch`].
    pub fn at<T>(value: &T) -> *const c_void {
        (value as *const T).cast()
    }

    /// A struct by value, of which the size is all that is known.
    pub fn by_value<T: Copy>(value: ByValue<T>, nbytes: usize) -> Result<T> {
        if std::mem::size_of::<T>() == nbytes {
            return Ok(value.0);
        }
        let (name, has) = (std::any::type_name::<T>(), std::mem::size_of::<T>());
        let message = format!("{} has {} bytes, and the kernel's struct {}", name, has, nbytes);
        Err(Error::new(Status::KernelArgs, message))
    }

    /// Starts kernel number `kernel`.
    ///
    /// # Safety
    ///
    /// As [`Kernel::launch`], and `args` are pointers to values of the number and sizes that the kernel
    /// takes: neither is checked.
    pub unsafe fn launch(
        &self, kernel: usize, shape: &Shape, stream: &Stream, args: &[*const c_void],
    ) -> Result<()> {
        same_device(&self.instance, stream)?;
        check(sys::kpk_kernels_launch(self.raw, kernel, &shape.raw(), stream.raw(), args.as_ptr()))
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernels(of {:?})", self.instance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_covers_its_elements() {
        for (n, block, grid) in
            [(0, 256, 1), (1, 256, 1), (256, 256, 1), (257, 256, 2), (u64::MAX, 1024, 4194303)]
        {
            assert_eq!(Shape::d1(n, block).grid, [grid, 1, 1], "{} by {}", n, block);
        }
        assert_eq!(Shape::d1(9, 0).block, [0, 1, 1]);
        assert_eq!(Shape::d1(u64::MAX, 1).grid[0], 0x7fff_ffff);
        assert_eq!(Shape::d1(1, 1).with_shared(64).shared_nbytes, 64);
    }

    #[test]
    fn a_struct_of_another_size_is_refused() {
        assert_eq!(Kernels::by_value(ByValue(7u32), 4).unwrap(), 7);
        let error = Kernels::by_value(ByValue(7u32), 8).unwrap_err();
        assert_eq!(error.status(), Status::KernelArgs);
        assert_eq!(error.message(), "u32 has 4 bytes, and the kernel's struct 8");
    }
}
