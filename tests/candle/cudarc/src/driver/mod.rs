//! Contexts, streams, memory and launches

mod context;
mod launch;
mod memory;
mod stream;
mod views;

pub use context::{CudaContext, CudaFunction, CudaModule};
pub use launch::{LaunchArgs, LaunchConfig, PushKernelArg};
pub use memory::{CudaSlice, DeviceRepr, HostSlice, ValidAsZeroBits};
pub use stream::{CudaEvent, CudaStream, SyncOnDrop};
pub use views::{CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice};

pub type DriverError = crate::kpack::Error;

pub mod safe {
    pub use super::*;
}

/// What of the driver's own interface candle names.
#[allow(non_camel_case_types)]
pub mod sys {
    use std::ffi::c_void;

    pub type CUdevice = i32;
    pub type CUdeviceptr = u64;
    pub type CUstream = *mut c_void;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CUstreamCaptureStatus {
        CU_STREAM_CAPTURE_STATUS_NONE,
        CU_STREAM_CAPTURE_STATUS_ACTIVE,
        CU_STREAM_CAPTURE_STATUS_INVALIDATED,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CUdevice_attribute {
        CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    }
}

pub mod result {
    pub use super::DriverError;

    pub mod device {
        use super::super::sys::{CUdevice, CUdevice_attribute as Attribute};
        use super::DriverError;
        use crate::kpack::{Error, Gpu};
        use std::ffi::CStr;

        /// # Safety
        /// None is needed: cudarc's function is unsafe.
        pub unsafe fn get_attribute(
            device: CUdevice,
            attribute: Attribute,
        ) -> Result<i32, DriverError> {
            let device = Gpu::open(device as usize)?.device();
            let target = CStr::from_ptr(device.target.as_ptr()).to_string_lossy();
            // sm_90; AMD's GPUs have no compute capability.
            let capability = target
                .strip_prefix("sm_")
                .and_then(|n| n.parse::<i32>().ok());
            let value = match attribute {
                Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE => Some(device.wave_size as i32),
                Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => {
                    Some(device.compute_units as i32)
                }
                Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => {
                    capability.map(|n| n / 10)
                }
                Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => {
                    capability.map(|n| n % 10)
                }
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => {
                    Some(device.lds_nbytes as i32)
                }
            };
            value.ok_or_else(|| {
                let message = format!("{target} has no {attribute:?}");
                Error::new(kpack_sys::KPK_ERR_UNSUPPORTED, message)
            })
        }
    }
}
