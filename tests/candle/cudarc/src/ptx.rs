//! Modules of PTX on NVIDIA's GPUs: with the environment variable CANDLE_PTX,
//! candle's own kernels instead of kpack's, to compare them
//!
//! CUDA's driver loads and launches them; all else is as with kpack's modules.
#![allow(non_snake_case)] // the driver's names

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::sync::{Mutex, OnceLock};

use crate::kpack::{c_string, Arg, Error, Gpu, Shape};
use kpack_sys as k;

/// The PTX of the file MODULE.ptx in the folder CANDLE_PTX, if it is given.
pub(crate) fn instead_of(module: &str) -> Result<Option<String>, Error> {
    let Some(folder) = std::env::var_os("CANDLE_PTX") else {
        return Ok(None);
    };
    let path = std::path::Path::new(&folder).join(format!("{module}.ptx"));
    std::fs::read_to_string(&path)
        .map(Some)
        .map_err(|error| Error::new(k::KPK_ERR_ARG, format!("{}: {error}", path.display())))
}

#[derive(Debug)]
pub(crate) struct Module(*mut c_void);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(*mut c_void);

// SAFETY: any thread may use the driver's handles.
unsafe impl Send for Module {}
unsafe impl Sync for Module {}
unsafe impl Send for Function {}
unsafe impl Sync for Function {}

impl Module {
    pub(crate) fn load(gpu: &Gpu, text: &str) -> Result<Self, Error> {
        if gpu.device().platform != k::KPK_CUDA {
            return Err(Error::new(k::KPK_ERR_UNSUPPORTED, "PTX, for an AMD GPU"));
        }
        let text = c_string(text)?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the device's context is this thread's; the text ends with a NUL.
        check("cuModuleLoadData", unsafe {
            (driver()?.cuModuleLoadData)(&mut module, text.as_ptr().cast())
        })?;
        Ok(Module(module))
    }

    pub(crate) fn function(&self, name: &str) -> Result<Function, Error> {
        let name = c_string(name)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded; the name is not kept.
        check("cuModuleGetFunction", unsafe {
            (driver()?.cuModuleGetFunction)(&mut function, self.0, name.as_ptr())
        })?;
        Ok(Function(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if let Ok(driver) = driver() {
            // SAFETY: no function of the module is used any more.
            unsafe { (driver.cuModuleUnload)(self.0) };
        }
    }
}

impl Function {
    /// # Safety
    /// The arguments are what the kernel takes.
    pub(crate) unsafe fn launch(
        &self,
        shape: &Shape,
        stream: *mut c_void,
        args: &[Arg],
    ) -> Result<(), Error> {
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let mut values: Vec<*mut c_void> = args.iter().map(|arg| arg.value as *mut _).collect();

        check(
            "cuLaunchKernel",
            (driver()?.cuLaunchKernel)(
                self.0,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared_nbytes,
                stream,
                values.as_mut_ptr(),
                std::ptr::null_mut(),
            ),
        )
    }
}

/// Makes a device's primary context this thread's: kpack's calls are the
/// cheapest then. AMD's GPUs have none.
pub(crate) fn make_current(gpu: &Gpu) -> Result<(), Error> {
    static CONTEXTS: Mutex<Option<HashMap<c_int, usize>>> = Mutex::new(None);
    let device = gpu.device();

    if device.platform != k::KPK_CUDA {
        return Ok(());
    }
    let driver = driver()?;
    let mut contexts = CONTEXTS.lock().unwrap();
    let contexts = contexts.get_or_insert_with(HashMap::new);
    if !contexts.contains_key(&device.index) {
        let (mut number, mut context) = (0, std::ptr::null_mut());
        // SAFETY: results are written to; kpack has started the driver.
        unsafe {
            check(
                "cuDeviceGet",
                (driver.cuDeviceGet)(&mut number, device.index),
            )?;
            check(
                "cuDevicePrimaryCtxRetain",
                (driver.cuDevicePrimaryCtxRetain)(&mut context, number),
            )?;
        }
        contexts.insert(device.index, context as usize);
    }
    // SAFETY: the context is retained for ever.
    check("cuCtxSetCurrent", unsafe {
        (driver.cuCtxSetCurrent)(contexts[&device.index] as *mut c_void)
    })
}

fn check(call: &str, result: c_int) -> Result<(), Error> {
    match result {
        0 => Ok(()),
        _ => Err(Error::new(
            k::KPK_ERR_DRIVER,
            format!("{call} failed with {result}"),
        )),
    }
}

macro_rules! driver {
    ($($name:ident($($type:ty),*);)*) => {
        struct Driver {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)*
        }

        /// CUDA's driver, as kpack found it.
        fn driver() -> Result<&'static Driver, Error> {
            static DRIVER: OnceLock<Result<Driver, Error>> = OnceLock::new();

            DRIVER
                .get_or_init(|| {
                    let mut path: *const c_char = std::ptr::null();
                    // SAFETY: kpack's path lives for ever; each symbol has its type.
                    unsafe {
                        crate::kpack::check(k::kpk_driver_info(
                            k::KPK_CUDA,
                            std::ptr::null_mut(),
                            &mut path,
                        ))?;
                        let library = dlopen(path, 2);
                        $(
                            let name = concat!(stringify!($name), "\0");
                            let $name = dlsym(library, name.as_ptr().cast());
                            if library.is_null() || $name.is_null() {
                                return Err(Error::new(
                                    k::KPK_ERR_NO_DRIVER,
                                    format!("no {name} in {:?}", CStr::from_ptr(path)),
                                ));
                            }
                        )*
                        Ok(Driver { $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>($name),)* })
                    }
                })
                .as_ref()
                .map_err(Clone::clone)
        }
    };
}
driver! {
    cuDeviceGet(*mut c_int, c_int);
    cuDevicePrimaryCtxRetain(*mut *mut c_void, c_int);
    cuCtxSetCurrent(*mut c_void);
    cuModuleLoadData(*mut *mut c_void, *const c_void);
    cuModuleUnload(*mut c_void);
    cuModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char);
    cuLaunchKernel(*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint,
        *mut c_void, *mut *mut c_void, *mut *mut c_void);
}

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}
