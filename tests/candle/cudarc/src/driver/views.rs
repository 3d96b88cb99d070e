//! Parts of device memory, and what slices and views have in common

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::{sys::CUdeviceptr, CudaEvent, CudaSlice, CudaStream, SyncOnDrop};

/// Where memory is, and the events of its last uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub ptr: CUdeviceptr,
    pub len: usize,
    pub read: &'a Option<CudaEvent>,
    pub write: &'a Option<CudaEvent>,
    pub stream: &'a Arc<CudaStream>,
}

impl<'a> Place<'a> {
    fn part<T>(self, bounds: impl RangeBounds<usize>) -> Option<Self> {
        let start = match bounds.start_bound() {
            Bound::Included(&n) => n,
            Bound::Excluded(&n) => n + 1,
            Bound::Unbounded => 0,
        };
        let end = match bounds.end_bound() {
            Bound::Included(&n) => n + 1,
            Bound::Excluded(&n) => n,
            Bound::Unbounded => self.len,
        };
        (start <= end && end <= self.len).then(|| Place {
            ptr: self.ptr + (start * std::mem::size_of::<T>()) as u64,
            len: end - start,
            ..self
        })
    }

    /// Lets the stream wait for the uses before that a new one must not pass.
    fn wait(&self, stream: &CudaStream, writes: bool) {
        if !self.stream.context().is_managing_stream_synchronization() {
            return;
        }
        for event in [writes.then_some(self.read), Some(self.write)]
            .into_iter()
            .flatten()
        {
            if let Some(event) = event {
                stream.context().gpu().record(stream.wait(event));
            }
        }
    }

    pub fn for_reading(self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.wait(stream, false);
        (self.ptr, SyncOnDrop::record_event(self.read, stream))
    }

    pub fn for_writing(self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.wait(stream, true);
        (self.ptr, SyncOnDrop::record_event(self.write, stream))
    }
}

/// `&[T]` of device memory.
#[derive(Debug)]
pub struct CudaView<'a, T> {
    pub(super) place: Place<'a>,
    pub(super) marker: PhantomData<&'a [T]>,
}

/// `&mut [T]` of device memory.
#[derive(Debug)]
pub struct CudaViewMut<'a, T> {
    pub(super) place: Place<'a>,
    pub(super) marker: PhantomData<&'a mut [T]>,
}

impl<T> CudaSlice<T> {
    pub fn as_view(&self) -> CudaView<'_, T> {
        CudaView {
            place: self.place(),
            marker: PhantomData,
        }
    }

    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> CudaView<'_, T> {
        self.as_view().slice(bounds)
    }

    pub fn slice_mut(&mut self, bounds: impl RangeBounds<usize>) -> CudaViewMut<'_, T> {
        let place = self.place().part::<T>(bounds).unwrap();
        CudaViewMut {
            place,
            marker: PhantomData,
        }
    }
}

impl<'a, T> CudaView<'a, T> {
    pub fn slice(&self, bounds: impl RangeBounds<usize>) -> CudaView<'a, T> {
        CudaView {
            place: self.place.part::<T>(bounds).unwrap(),
            marker: PhantomData,
        }
    }
}

pub trait DeviceSlice<T> {
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn num_bytes(&self) -> usize {
        self.len() * std::mem::size_of::<T>()
    }
    fn stream(&self) -> &Arc<CudaStream>;
}

pub trait DevicePtr<T>: DeviceSlice<T> {
    /// The address for a read that `stream` is given while the guard lives.
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>);
}

pub trait DevicePtrMut<T>: DeviceSlice<T> {
    /// The address for a write that `stream` is given while the guard lives.
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>);
}

macro_rules! device_memory {
    ($type:ty, $self:ident, $place:expr) => {
        impl<T> $type {
            pub fn len(&self) -> usize {
                DeviceSlice::<T>::len(self)
            }
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
            pub fn stream(&$self) -> &Arc<CudaStream> {
                $place.stream
            }
        }
        impl<T> DeviceSlice<T> for $type {
            fn len(&$self) -> usize {
                $place.len
            }
            fn stream(&$self) -> &Arc<CudaStream> {
                $place.stream
            }
        }
        impl<T> DevicePtr<T> for $type {
            fn device_ptr<'s>(&'s $self, stream: &'s CudaStream) -> (CUdeviceptr, SyncOnDrop<'s>) {
                $place.for_reading(stream)
            }
        }
    };
}
device_memory!(CudaSlice<T>, self, self.place());
device_memory!(CudaView<'_, T>, self, self.place);
device_memory!(CudaViewMut<'_, T>, self, self.place);

impl<T> DevicePtrMut<T> for CudaSlice<T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.place().for_writing(stream)
    }
}

impl<T> DevicePtrMut<T> for CudaViewMut<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, stream: &'a CudaStream) -> (CUdeviceptr, SyncOnDrop<'a>) {
        self.place.for_writing(stream)
    }
}
