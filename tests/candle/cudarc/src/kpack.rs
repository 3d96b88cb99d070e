//! A device of kpack's: the instance that all contexts of a device share

use std::cell::Cell;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_int;
use std::sync::Mutex;

use kpack_sys as sys;

extern "C" {
    static kpk_candle: sys::kpk_pack;
}

/// A call that failed: kpack's status and its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: sys::kpk_status,
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(status: sys::kpk_status, message: impl Into<String>) -> Self {
        Error {
            status,
            message: message.into(),
        }
    }
}

/// A library's own type of error: candle tells them apart.
macro_rules! error_type {
    ($name:ident) => {
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub crate::kpack::Error);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::error::Error for $name {}

        impl From<crate::kpack::Error> for $name {
            fn from(error: crate::kpack::Error) -> Self {
                $name(error)
            }
        }
    };
}
pub(crate) use error_type;

/// The result of a call of kpack's on this thread.
pub fn check(status: sys::kpk_status) -> Result<(), Error> {
    if status == sys::KPK_OK {
        return Ok(());
    }
    // SAFETY: a NUL-terminated string of this thread, copied before its next call.
    let message = unsafe { CStr::from_ptr(sys::kpk_error_message()) };
    Err(Error::new(status, message.to_string_lossy()))
}

/// The candle pack, open on a device for as long as the process lives.
pub struct Gpu {
    pub inst: *mut sys::kpk_instance,
    pub(crate) ordinal: usize,
}

// SAFETY: any number of threads may use an instance (kpack.h).
unsafe impl Send for Gpu {}
unsafe impl Sync for Gpu {}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({})", self.ordinal)
    }
}

thread_local! {
    static CURRENT: Cell<Option<&'static Gpu>> = const { Cell::new(None) };
    /// The first failure of a call that cannot return it, such as Drop's. Other
    /// threads have work of their own, and do not hear of it.
    static FAILED: Cell<Option<Error>> = const { Cell::new(None) };
}

/// The device that this thread used last, as CUDA's current context is.
pub fn current() -> Option<&'static Gpu> {
    CURRENT.get()
}

/// The number of devices of all drivers.
pub(crate) fn device_count() -> Result<usize, Error> {
    let mut n: c_int = 0;
    // SAFETY: `n` is written to.
    check(unsafe { sys::kpk_device_count(&mut n) })?;
    Ok(n as usize)
}

impl Gpu {
    /// Opens the device, once in a process.
    pub(crate) fn open(ordinal: usize) -> Result<&'static Gpu, Error> {
        static OPEN: Mutex<Vec<&'static Gpu>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap();

        if let Some(gpu) = open.iter().find(|gpu| gpu.ordinal == ordinal) {
            return Ok(gpu);
        }
        let mut inst = std::ptr::null_mut();
        // SAFETY: the pack is constant data that lives for ever.
        check(unsafe { sys::kpk_open(&kpk_candle, ordinal as c_int, &mut inst) })?;
        let gpu: &'static Gpu = Box::leak(Box::new(Gpu { inst, ordinal }));
        open.push(gpu);
        Ok(gpu)
    }

    /// Makes the device this thread's, and reports what could not be before.
    pub(crate) fn bind(&'static self) -> Result<(), Error> {
        if current().map(|gpu| gpu.ordinal) != Some(self.ordinal) {
            crate::ptx::make_current(self)?;
            CURRENT.set(Some(self));
        }
        match FAILED.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Keeps a failure for this thread's next call that can report it.
    pub fn record<T>(&self, result: Result<T, Error>) {
        if let Err(error) = result {
            FAILED.set(FAILED.take().or(Some(error)));
        }
    }

    pub fn device(&self) -> &sys::kpk_device {
        // SAFETY: the description lives as long as the instance, for ever.
        unsafe { &*sys::kpk_instance_device(self.inst) }
    }

    pub fn kernel(&self, module: &str, name: &str) -> Result<Kernel, Error> {
        let (module, name) = (c_string(module)?, c_string(name)?);
        let mut kernel = std::ptr::null();
        // SAFETY: the instance is open; the names are not kept.
        check(unsafe {
            sys::kpk_kernel_get_in(self.inst, module.as_ptr(), name.as_ptr(), &mut kernel)
        })?;
        Ok(Kernel(kernel))
    }

    /// Memory for work that the stream is given from now on.
    pub fn alloc(&self, nbytes: usize, stream: *mut c_void) -> Result<*mut c_void, Error> {
        let mut ptr = std::ptr::null_mut();
        // SAFETY: `ptr` is written to.
        check(unsafe { sys::kpk_malloc_async(self.inst, nbytes, stream, &mut ptr) })?;
        Ok(ptr)
    }

    /// # Safety
    /// Only work that the stream was given before uses the memory.
    pub unsafe fn free(&self, ptr: *mut c_void, stream: *mut c_void) -> Result<(), Error> {
        check(sys::kpk_free_async(self.inst, ptr, stream))
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::new(sys::KPK_ERR_ARG, "a name has a NUL"))
}

/// A kernel of the pack; it lives as long as its instance, for ever.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(pub(crate) *const sys::kpk_kernel);

impl Kernel {
    /// The number of arguments that a launch gives.
    pub(crate) fn nargs(&self) -> Result<usize, Error> {
        // SAFETY: all zeros are a declaration; the calls fill it.
        unsafe {
            let mut decl: sys::kpk_kernel_decl = std::mem::zeroed();
            check(sys::kpk_module_kernel(
                sys::kpk_kernel_module(self.0),
                sys::kpk_kernel_index(self.0),
                &mut decl,
            ))?;
            Ok(decl.nargs_given)
        }
    }

    /// The recommended shape for n elements, or n rows of so many columns.
    pub fn shape(&self, n: usize, columns: usize) -> Result<sys::kpk_shape, Error> {
        let mut shape = shape([1, 1, 1], [1, 1, 1], 0);
        // SAFETY: `shape` is written to.
        check(unsafe { sys::kpk_kernel_shape(self.0, n as u64, columns as u64, &mut shape) })?;
        Ok(shape)
    }

    /// # Safety
    /// Pointers among the arguments point to what the kernel takes them for.
    pub unsafe fn launch(
        &self,
        shape: &sys::kpk_shape,
        stream: *mut c_void,
        args: &[sys::kpk_arg],
    ) -> Result<(), Error> {
        check(sys::kpk_launch(
            self.0,
            shape,
            stream,
            args.as_ptr(),
            args.len(),
        ))
    }
}

pub fn shape(grid: [u32; 3], block: [u32; 3], shared_nbytes: u32) -> sys::kpk_shape {
    sys::kpk_shape {
        grid,
        block,
        shared_nbytes,
    }
}

/// One argument of a launch, by its value's address.
pub fn arg<T>(value: &T) -> sys::kpk_arg {
    sys::kpk_arg {
        value: (value as *const T).cast(),
        nbytes: std::mem::size_of::<T>(),
    }
}

pub use sys::kpk_arg as Arg;
pub use sys::kpk_shape as Shape;
