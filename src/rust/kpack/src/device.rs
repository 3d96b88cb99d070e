//! device.rs - the machine's GPUs

use crate::error::{check, text, Error, Result, Status};
use kpack_sys as sys;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::raw::c_char;

/// Whose driver a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// AMD's, through HIP.
    Hip,
    /// NVIDIA's, through the CUDA driver.
    Cuda,
}

impl Platform {
    pub(crate) fn number(self) -> sys::kpk_platform {
        match self {
            Platform::Hip => sys::KPK_HIP,
            Platform::Cuda => sys::KPK_CUDA,
        }
    }
}

/// A GPU as its driver describes it. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its number, counted over HIP's devices and then CUDA's.
    pub ordinal: i32,
    /// Marketing or board name.
    pub name: String,
    /// Target ID, `gfx90a:sramecc+:xnack-` or `sm_90`.
    pub target: String,
    /// The driver.
    pub platform: Platform,
    /// The device's number in that driver.
    pub index: i32,
    /// All its memory.
    pub memory_nbytes: u64,
    /// Most shared memory of a block.
    pub lds_nbytes: u64,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Most threads of a block.
    pub max_block: u32,
    /// Most threads in each dimension of a block.
    pub max_block_dim: [u32; 3],
    /// Most blocks in each dimension.
    pub max_grid: [u32; 3],
    /// Compute units, or multiprocessors.
    pub compute_units: u32,
    /// True if cooperative launches work.
    pub cooperative: bool,
}

fn fixed(text: &[c_char]) -> String {
    // SAFETY: both texts of a device end with a NUL within their arrays.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

impl Device {
    pub(crate) fn of(ordinal: i32, raw: &sys::kpk_device) -> Device {
        Device {
            ordinal,
            name: fixed(&raw.name),
            target: fixed(&raw.target),
            platform: if raw.platform == sys::KPK_CUDA { Platform::Cuda } else { Platform::Hip },
            index: raw.index,
            memory_nbytes: raw.memory_nbytes,
            lds_nbytes: raw.lds_nbytes,
            wave_size: raw.wave_size,
            max_block: raw.max_block,
            max_block_dim: raw.max_block_dim,
            max_grid: raw.max_grid,
            compute_units: raw.compute_units,
            cooperative: raw.cooperative != 0,
        }
    }

    /// How many devices all drivers have: 0 on a machine with a driver and no GPU. The first call starts
    /// CUDA's driver, where there is one, which takes a fifth of a second.
    pub fn count() -> Result<usize> {
        let mut n = 0;
        // SAFETY: sets n on success.
        check(unsafe { sys::kpk_device_count(&mut n) })?;
        Ok(n.max(0) as usize)
    }

    /// The number of one driver's devices. Does not load the other driver.
    pub fn count_of(platform: Platform) -> Result<usize> {
        let mut n = 0;
        // SAFETY: sets n on success.
        check(unsafe { sys::kpk_platform_device_count(platform.number(), &mut n) })?;
        Ok(n.max(0) as usize)
    }

    /// Device number `ordinal`.
    pub fn get(ordinal: i32) -> Result<Device> {
        let mut raw = MaybeUninit::<sys::kpk_device>::zeroed();
        // SAFETY: all members are set on success.
        unsafe {
            check(sys::kpk_device_get(ordinal, raw.as_mut_ptr()))?;
            Ok(Device::of(ordinal, &raw.assume_init()))
        }
    }

    /// All devices.
    pub fn all() -> Result<Vec<Device>> {
        (0..Device::count()? as i32).map(Device::get).collect()
    }

    /// The device of a driver that is current on the calling thread, as `hipSetDevice()` or
    /// `cudaSetDevice()` left it.
    pub fn current(platform: Platform) -> Result<Device> {
        let mut ordinal = 0;
        // SAFETY: sets the number on success.
        check(unsafe { sys::kpk_current_device(platform.number(), &mut ordinal) })?;
        Device::get(ordinal)
    }
}

/// A driver that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its own number: HIP's major * 10000000 + minor * 100000 + patch, CUDA's major * 1000 + minor * 10.
    pub version: i32,
    /// The file it was loaded from.
    pub path: &'static str,
}

impl Driver {
    /// Finds a platform's driver.
    pub fn find(platform: Platform) -> Result<Driver> {
        let (mut version, mut path) = (0, std::ptr::null());
        // SAFETY: both are set on success; the path stays for ever.
        unsafe {
            check(sys::kpk_driver_info(platform.number(), &mut version, &mut path))?;
            if path.is_null() {
                return Err(Error::new(Status::NoDriver, "the driver's file has no name".into()));
            }
            Ok(Driver { version, path: text(path) })
        }
    }
}
