//! instance.rs - a pack opened on one device

use crate::device::Device;
use crate::error::{check, Error, Result, Status};
use crate::memory::{Buffer, Pinned};
use crate::pack::{c_string, selection, Module, Pack, Selection};
use crate::stream::Stream;
use crate::types::Pod;
use crate::Kernel;
use kpack_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A pack opened on one device. A clone is the same instance; it is closed when the last of the
/// clones, kernels, streams and buffers is dropped. Any number of threads may use it.
///
/// HIP may be gone when a process ends: an instance in a `thread_local!`, whose destructor may run
/// then, is to be dropped or [leaked](Instance::leak) before. A `static` is never dropped.
#[derive(Clone)]
pub struct Instance(Arc<Open>);

struct Open {
    raw: *mut sys::kpk_instance, // NULL once it is closed
    device: Device,
}

// SAFETY: kpack.h: any number of threads may use an instance at once but for its close, which
// happens when the last Arc is dropped, and kpk_unload(), which is unsafe here.
unsafe impl Send for Open {}
// SAFETY: likewise.
unsafe impl Sync for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: nobody else has the instance any more. It is gone whatever the status; NULL does
        // nothing.
        let _ = unsafe { sys::kpk_close(self.raw) };
    }
}

/// What is linked and loaded of the device's memory pool: see [`Instance::pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Bytes of blocks that are given out.
    pub used_nbytes: usize,
    /// Bytes of blocks that wait for their next user.
    pub idle_nbytes: usize,
}

impl Instance {
    /// Opens a pack on the first device that it has code for.
    pub fn open(pack: Pack) -> Result<Instance> {
        Instance::open_on(pack, sys::KPK_ANY_DEVICE)
    }

    /// Opens a pack on a device.
    pub fn open_on(pack: Pack, ordinal: i32) -> Result<Instance> {
        let mut raw = null_mut();
        // SAFETY: the pack is constant data.
        check(unsafe { sys::kpk_open(pack.raw(), ordinal, &mut raw) })?;
        Instance::of(raw)
    }

    /// Opens modules on the first device that one of them has code for. The program need not name, and
    /// hence link, the rest of their pack. Of modules with one name that were made for different targets
    /// the instance has the one that fits.
    pub fn open_modules(modules: &[Module]) -> Result<Instance> {
        Instance::open_modules_on(modules, sys::KPK_ANY_DEVICE)
    }

    /// Opens all modules of several packs, of which the instance has those that fit: each pack may be for
    /// another target.
    pub fn open_packs(packs: &[Pack]) -> Result<Instance> {
        Instance::open_modules(&packs.iter().flat_map(|pack| pack.modules()).collect::<Vec<_>>())
    }

    /// Opens modules on a device.
    pub fn open_modules_on(modules: &[Module], ordinal: i32) -> Result<Instance> {
        let pointers: Vec<_> = modules.iter().map(|module| module.raw()).collect();
        let mut raw = null_mut();
        // SAFETY: the modules are constant data; the array is read during the call.
        check(unsafe { sys::kpk_open_modules(pointers.as_ptr(), pointers.len(), ordinal, &mut raw) })?;
        Instance::of(raw)
    }

    fn of(raw: *mut sys::kpk_instance) -> Result<Instance> {
        // SAFETY: the instance is open, and neither call can fail.
        let device = unsafe { Device::of(sys::kpk_instance_ordinal(raw), &*sys::kpk_instance_device(raw)) };
        Ok(Instance(Arc::new(Open { raw, device })))
    }

    /// For calls of `kpack-sys`. It lives as long as this instance.
    pub fn raw(&self) -> *mut sys::kpk_instance {
        self.0.raw
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Closes the instance, and says what the driver had to say. Fails with [`Status::Arg`], and leaves
    /// it open, if clones, kernels, streams or buffers of it are left.
    pub fn close(self) -> Result<()> {
        match Arc::try_unwrap(self.0) {
            Ok(mut open) => {
                let raw = std::mem::replace(&mut open.raw, null_mut());
                // SAFETY: nobody else has the instance.
                check(unsafe { sys::kpk_close(raw) })
            }
            Err(shared) => Err(Error::new(
                Status::Arg,
                format!(
                    "the instance is still in use: {} owners beside this one",
                    Arc::strong_count(&shared) - 1
                ),
            )),
        }
    }

    /// Keeps the instance open until the process ends.
    pub fn leak(self) -> &'static Instance {
        Box::leak(Box::new(self))
    }

    /// Finds a kernel by its exported name, loading its module the first time.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let mut kernel = null();
        // SAFETY: the instance is open; the name is read during the call.
        check(unsafe { sys::kpk_kernel_get(self.raw(), c_string(name).as_ptr(), &mut kernel) })?;
        Ok(Kernel::of(self, kernel))
    }

    /// Finds a kernel of one module.
    pub fn kernel_in(&self, module: &str, name: &str) -> Result<Kernel> {
        let (module, name, mut kernel) = (c_string(module), c_string(name), null());
        // SAFETY: as above.
        check(unsafe { sys::kpk_kernel_get_in(self.raw(), module.as_ptr(), name.as_ptr(), &mut kernel) })?;
        Ok(Kernel::of(self, kernel))
    }

    /// Loads a module now instead of at its first kernel; `None` loads all that fit the device. Do it
    /// before a stream records a graph.
    pub fn load(&self, module: Option<&str>) -> Result<()> {
        let module = module.map(c_string);
        // SAFETY: the instance is open; the name is read during the call.
        check(unsafe { sys::kpk_load(self.raw(), module.as_ref().map_or(null(), |name| name.as_ptr())) })
    }

    /// Waits for the device and unloads a module, or all; see `kpk_unload()`.
    ///
    /// # Safety
    ///
    /// No other thread launches kernels of the module meanwhile, and no graph has one of them.
    pub unsafe fn unload(&self, module: Option<&str>) -> Result<()> {
        let module = module.map(c_string);
        check(sys::kpk_unload(self.raw(), module.as_ref().map_or(null(), |name| name.as_ptr())))
    }

    /// Which code object of a module the instance uses, and why.
    pub fn selection(&self, module: &str) -> Result<Selection> {
        let mut out = std::mem::MaybeUninit::<sys::kpk_selection>::zeroed();
        // SAFETY: all members are set on success.
        unsafe {
            check(sys::kpk_instance_selection(self.raw(), c_string(module).as_ptr(), out.as_mut_ptr()))?;
            Ok(selection(&out.assume_init()))
        }
    }

    // ---- streams and memory ----

    /// The device's default stream.
    pub fn default_stream(&self) -> Stream {
        Stream::borrowed(self, null_mut())
    }

    /// The calling thread's own default stream.
    ///
    /// # Safety
    ///
    /// In another thread the same value is that thread's stream: this one, its clones and its memory
    /// stay in the calling thread.
    pub unsafe fn thread_stream(&self) -> Stream {
        Stream::borrowed(self, sys::KPK_STREAM_PER_THREAD)
    }

    /// A new stream, which does not wait for the default one.
    pub fn new_stream(&self) -> Result<Stream> {
        Stream::create(self, sys::KPK_STREAM_NON_BLOCKING)
    }

    /// Memory with a copy of `data`, of the default stream. [`Stream`] has the same calls.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        self.default_stream().upload(data)
    }

    /// Memory of zeros, of the default stream.
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.default_stream().zeros(len)
    }

    /// Memory of the default stream, whose bytes are what a former user left.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        self.default_stream().alloc(len)
    }

    /// Zeros in pinned memory of the host, which copies reach directly.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>> {
        Pinned::new(self, len)
    }

    /// Waits for the default stream. Reports what went wrong in its kernels, as far as the driver does.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the instance is open; NULL is the default stream.
        check(unsafe { sys::kpk_sync(self.raw(), null_mut()) })
    }

    /// The device's memory that no process uses, and all of it.
    pub fn memory_info(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are set on success.
        check(unsafe { sys::kpk_memory_info(self.raw(), &mut free, &mut total) })?;
        Ok((free, total))
    }

    /// The pool that buffers come from and go back to.
    pub fn pool(&self) -> Result<Pool> {
        let (mut used_nbytes, mut idle_nbytes) = (0, 0);
        // SAFETY: both are set on success.
        check(unsafe { sys::kpk_pool_info(self.raw(), &mut used_nbytes, &mut idle_nbytes) })?;
        Ok(Pool { used_nbytes, idle_nbytes })
    }

    /// Waits for the device, and gives the pool's idle blocks back to the driver.
    pub fn trim_pool(&self) -> Result<()> {
        // SAFETY: the instance is open.
        check(unsafe { sys::kpk_pool_trim(self.raw()) })
    }

    /// An attribute of the device by its driver's own number.
    pub fn device_attr(&self, attr: i32) -> Result<i32> {
        let mut out = 0;
        // SAFETY: set on success.
        check(unsafe { sys::kpk_device_attr(self.raw(), attr, &mut out) })?;
        Ok(out)
    }

    /// Copies `data` to a module's variable, `offset` bytes into it; done when it returns.
    pub fn write_global<T: Pod>(&self, module: &str, name: &str, offset: usize, data: &[T]) -> Result<()> {
        let (module, name) = (c_string(module), c_string(name));
        let (from, nbytes) = (data.as_ptr().cast::<c_void>(), std::mem::size_of_val(data));
        // SAFETY: the data has these bytes; kpack refuses to leave the variable.
        check(unsafe {
            sys::kpk_global_write(self.raw(), module.as_ptr(), name.as_ptr(), offset, from, nbytes)
        })
    }

    /// Copies a module's variable, from `offset` bytes on, to `data`; done when it returns.
    pub fn read_global<T: Pod>(&self, module: &str, name: &str, offset: usize, data: &mut [T]) -> Result<()> {
        let (module, name) = (c_string(module), c_string(name));
        let (to, nbytes) = (data.as_mut_ptr().cast::<c_void>(), std::mem::size_of_val(data));
        // SAFETY: the data has room for these bytes, and any bytes are values of it.
        check(unsafe { sys::kpk_global_read(self.raw(), module.as_ptr(), name.as_ptr(), offset, to, nbytes) })
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instance(on {}, {})", self.device().ordinal, self.device().target)
    }
}
