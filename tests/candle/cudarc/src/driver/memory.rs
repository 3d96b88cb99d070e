//! Device memory, and copies to it and from it

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

use super::views::Place;
use super::{sys::CUdeviceptr, CudaEvent, CudaStream, DriverError, SyncOnDrop};
use super::{DevicePtr, DevicePtrMut, DeviceSlice};
use crate::kpack::check;
use kpack_sys as k;

/// A type that kernels take.
///
/// # Safety
/// Its bytes mean the same on the device.
pub unsafe trait DeviceRepr {}

/// A type of which zeros are a value.
///
/// # Safety
/// They must be.
pub unsafe trait ValidAsZeroBits {}

macro_rules! device_types {
    ($($type:ty)*) => { $(
        unsafe impl DeviceRepr for $type {}
        unsafe impl ValidAsZeroBits for $type {}
    )* };
}
device_types!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);
device_types!(half::f16 half::bf16 float8::F8E4M3 float8::F8E5M2);

/// Memory of the host, from which and to which copies go.
pub trait HostSlice<T> {
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// # Safety
    /// `stream` alone uses the slice.
    unsafe fn stream_synced_slice<'a>(
        &'a self,
        stream: &'a CudaStream,
    ) -> (&'a [T], SyncOnDrop<'a>);
    /// # Safety
    /// `stream` alone uses the slice.
    unsafe fn stream_synced_mut_slice<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (&'a mut [T], SyncOnDrop<'a>);
}

macro_rules! host_slice {
    ([$($generic:tt)*] $type:ty) => {
        impl<T, $($generic)*> HostSlice<T> for $type {
            fn len(&self) -> usize {
                (self as &[T]).len()
            }
            unsafe fn stream_synced_slice<'a>(
                &'a self,
                _: &'a CudaStream,
            ) -> (&'a [T], SyncOnDrop<'a>) {
                (self, SyncOnDrop::nothing())
            }
            unsafe fn stream_synced_mut_slice<'a>(
                &'a mut self,
                _: &'a CudaStream,
            ) -> (&'a mut [T], SyncOnDrop<'a>) {
                (self, SyncOnDrop::nothing())
            }
        }
    };
}
host_slice!([][T]);
host_slice!([] Vec<T>);
host_slice!([const N: usize] [T; N]);

/// `Vec<T>` in device memory, given back in the order of its stream.
#[derive(Debug)]
pub struct CudaSlice<T> {
    ptr: CUdeviceptr,
    len: usize,
    read: Option<CudaEvent>,
    write: Option<CudaEvent>,
    stream: Arc<CudaStream>,
    marker: PhantomData<*const T>,
}

// SAFETY: an address; the memory is used by way of streams alone.
unsafe impl<T> Send for CudaSlice<T> {}
unsafe impl<T> Sync for CudaSlice<T> {}

impl<T> CudaSlice<T> {
    /// Where the address is, for a launch.
    pub(super) fn ptr(&self) -> &CUdeviceptr {
        &self.ptr
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place {
            ptr: self.ptr,
            len: self.len,
            read: &self.read,
            write: &self.write,
            stream: &self.stream,
        }
    }
}

impl<T> Drop for CudaSlice<T> {
    fn drop(&mut self) {
        let gpu = self.stream.context().gpu();

        if self.stream.context().is_managing_stream_synchronization() {
            for event in [&self.read, &self.write].into_iter().flatten() {
                gpu.record(self.stream.wait(event));
            }
        }
        // SAFETY: the stream has waited for all other streams' uses.
        gpu.record(unsafe { gpu.free(self.ptr as *mut c_void, self.stream.cu_stream()) });
    }
}

impl<T: DeviceRepr> CudaSlice<T> {
    pub fn try_clone(&self) -> Result<Self, DriverError> {
        self.stream.clone_dtod(self)
    }
}

impl<T: DeviceRepr> Clone for CudaSlice<T> {
    fn clone(&self) -> Self {
        self.try_clone().unwrap()
    }
}

impl CudaStream {
    /// # Safety
    /// The memory is not set.
    pub unsafe fn alloc<T: DeviceRepr>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<CudaSlice<T>, DriverError> {
        let context = self.context();
        let gpu = context.bound()?;
        let event = || {
            context
                .is_event_tracking()
                .then(|| CudaEvent::new(context))
                .transpose()
        };
        let (read, write) = (event()?, event()?);
        let ptr = gpu.alloc(len * std::mem::size_of::<T>(), self.cu_stream())?;

        Ok(CudaSlice {
            ptr: ptr as CUdeviceptr,
            len,
            read,
            write,
            stream: self.clone(),
            marker: PhantomData,
        })
    }

    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        self: &Arc<Self>,
        len: usize,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is set below.
        let mut dst = unsafe { self.alloc::<T>(len)? };
        let nbytes = dst.num_bytes();
        {
            let (ptr, _record) = dst.device_ptr_mut(self);
            // SAFETY: `dst` has the bytes.
            check(unsafe {
                k::kpk_fill_async(
                    self.context().gpu().inst,
                    ptr as *mut c_void,
                    0,
                    nbytes,
                    self.cu_stream(),
                )
            })?;
        }
        Ok(dst)
    }

    pub fn clone_htod<T: DeviceRepr, S: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &S,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is set below.
        let mut dst = unsafe { self.alloc(src.len())? };
        self.memcpy_htod(src, &mut dst)?;
        Ok(dst)
    }

    pub fn memcpy_htod<T: DeviceRepr, S: HostSlice<T> + ?Sized, D: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &S,
        dst: &mut D,
    ) -> Result<(), DriverError> {
        assert!(dst.len() >= src.len());
        let gpu = self.context().bound()?;
        // SAFETY: the slice is used by this stream alone.
        let (src, _record_src) = unsafe { src.stream_synced_slice(self) };
        let (dst, _record_dst) = dst.device_ptr_mut(self);
        // SAFETY: both have the bytes.
        check(unsafe {
            k::kpk_copy_to_async(
                gpu.inst,
                dst as *mut c_void,
                src.as_ptr().cast(),
                std::mem::size_of_val(src),
                self.cu_stream(),
            )
        })?;
        // CUDA's driver has read pageable memory when the call returns; HIP does
        // not say so.
        match gpu.device().platform {
            k::KPK_CUDA => Ok(()),
            _ => self.synchronize(),
        }
    }

    pub fn clone_dtoh<T: DeviceRepr, S: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &S,
    ) -> Result<Vec<T>, DriverError> {
        let mut dst = Vec::with_capacity(src.len());
        // SAFETY: a DeviceRepr has no invalid bytes; all are written below.
        #[allow(clippy::uninit_vec)]
        unsafe {
            dst.set_len(src.len())
        };
        self.memcpy_dtoh(src, &mut dst)?;
        Ok(dst)
    }

    pub fn memcpy_dtoh<T: DeviceRepr, S: DevicePtr<T>, D: HostSlice<T> + ?Sized>(
        self: &Arc<Self>,
        src: &S,
        dst: &mut D,
    ) -> Result<(), DriverError> {
        assert!(dst.len() >= src.len());
        let gpu = self.context().bound()?;
        let nbytes = src.num_bytes();
        let (src, _record_src) = src.device_ptr(self);
        // SAFETY: the slice is used by this stream alone.
        let (dst, _record_dst) = unsafe { dst.stream_synced_mut_slice(self) };
        // SAFETY: both have the bytes.
        check(unsafe {
            k::kpk_copy_from_async(
                gpu.inst,
                dst.as_mut_ptr().cast(),
                src as *const c_void,
                nbytes,
                self.cu_stream(),
            )
        })?;
        self.synchronize()
    }

    pub fn clone_dtod<T: DeviceRepr, S: DevicePtr<T>>(
        self: &Arc<Self>,
        src: &S,
    ) -> Result<CudaSlice<T>, DriverError> {
        // SAFETY: it is set below.
        let mut dst = unsafe { self.alloc(src.len())? };
        self.memcpy_dtod(src, &mut dst)?;
        Ok(dst)
    }

    pub fn memcpy_dtod<T, S: DevicePtr<T>, D: DevicePtrMut<T>>(
        self: &Arc<Self>,
        src: &S,
        dst: &mut D,
    ) -> Result<(), DriverError> {
        assert!(dst.len() >= src.len());
        let gpu = self.context().bound()?;
        let nbytes = src.num_bytes();
        let from = src.stream().context().gpu();
        let same = from.ordinal == gpu.ordinal;

        // Events of another device can be waited for here, not recorded.
        if !same {
            self.join(src.stream())?;
        }
        let (src, _record_src) = src.device_ptr(if same { self } else { src.stream() });
        let (dst, _record_dst) = dst.device_ptr_mut(self);
        let (dst, src, stream) = (dst as *mut c_void, src as *const c_void, self.cu_stream());
        // SAFETY: both have the bytes.
        check(unsafe {
            if same {
                k::kpk_copy_async(gpu.inst, dst, src, nbytes, stream)
            } else {
                k::kpk_copy_peer_async(gpu.inst, dst, from.inst, src, nbytes, stream)
            }
        })
    }
}
