//! kpack.rs - as much of kpack.h as this program calls

use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};

#[repr(C)]
pub struct Pack {
    opaque: [u8; 0],
}
#[repr(C)]
pub struct Instance {
    opaque: [u8; 0],
}
#[repr(C)]
pub struct Kernel {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_nbytes: u32,
}

#[repr(C)]
pub struct Arg {
    value: *const c_void,
    nbytes: usize,
}

impl Arg {
    /// One argument of a launch, by the address of its value.
    pub fn of<T>(value: &T) -> Arg {
        Arg { value: value as *const T as *const c_void, nbytes: std::mem::size_of::<T>() }
    }
}

#[allow(non_upper_case_globals)]
extern "C" {
    pub static kpk_mine: Pack;

    fn kpk_error_message() -> *const c_char;
    fn kpk_open(pack: *const Pack, device: c_int, out: *mut *mut Instance) -> c_int;
    fn kpk_close(inst: *mut Instance) -> c_int;
    fn kpk_kernel_get(inst: *mut Instance, name: *const c_char, out: *mut *const Kernel) -> c_int;
    fn kpk_launch(kernel: *const Kernel, shape: *const Shape, stream: *mut c_void,
                  args: *const Arg, nargs: usize) -> c_int;
    fn kpk_malloc(inst: *mut Instance, nbytes: usize, out: *mut *mut c_void) -> c_int;
    fn kpk_free(inst: *mut Instance, ptr: *mut c_void) -> c_int;
    fn kpk_copy_to(inst: *mut Instance, dst: *mut c_void, src: *const c_void, nbytes: usize) -> c_int;
    fn kpk_copy_from(inst: *mut Instance, dst: *mut c_void, src: *const c_void, nbytes: usize) -> c_int;
}

/// A status other than 0 as the sentence that kpack has for it.
fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: a NUL-terminated string of this thread, copied before the next call.
    Err(unsafe { CStr::from_ptr(kpk_error_message()) }.to_string_lossy().into_owned())
}

/// A pack opened on a device, closed when it is dropped.
pub struct Gpu {
    inst: *mut Instance,
}

impl Gpu {
    pub fn open(pack: &'static Pack, device: i32) -> Result<Gpu, String> {
        let mut inst = std::ptr::null_mut();
        // SAFETY: the pack is constant data that lives for ever.
        check(unsafe { kpk_open(pack, device, &mut inst) })?;
        Ok(Gpu { inst })
    }

    pub fn kernel(&self, name: &str) -> Result<*const Kernel, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let mut kernel = std::ptr::null();
        // SAFETY: the instance is open; the name is not kept.
        check(unsafe { kpk_kernel_get(self.inst, name.as_ptr(), &mut kernel) })?;
        Ok(kernel)
    }

    /// Device memory with a copy of `data`; given back with `free`.
    pub fn upload<T: Copy>(&self, data: &[T]) -> Result<*mut c_void, String> {
        let mut memory = std::ptr::null_mut();
        let nbytes = std::mem::size_of_val(data);
        // SAFETY: `nbytes` are read from data and written to memory that has them.
        unsafe {
            check(kpk_malloc(self.inst, nbytes, &mut memory))?;
            check(kpk_copy_to(self.inst, memory, data.as_ptr() as *const c_void, nbytes))?;
        }
        Ok(memory)
    }

    pub fn download<T: Copy>(&self, memory: *const c_void, data: &mut [T]) -> Result<(), String> {
        let nbytes = std::mem::size_of_val(data);
        // SAFETY: kpack refuses what is no device memory of that size.
        check(unsafe { kpk_copy_from(self.inst, data.as_mut_ptr() as *mut c_void, memory, nbytes) })
    }

    pub fn free(&self, memory: *mut c_void) -> Result<(), String> {
        // SAFETY: memory of this device, used no more.
        check(unsafe { kpk_free(self.inst, memory) })
    }

    pub fn launch(&self, kernel: *const Kernel, shape: &Shape, args: &[Arg]) -> Result<(), String> {
        // SAFETY: kpack holds number and sizes of arguments against the kernel's.
        check(unsafe {
            kpk_launch(kernel, shape, std::ptr::null_mut(), args.as_ptr(), args.len())
        })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: nothing uses the instance any more.
        unsafe { kpk_close(self.inst) };
    }
}
