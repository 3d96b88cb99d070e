//! memory.rs - device memory with a type and a length

use crate::error::{check, Error, Result, Status};
use crate::instance::Instance;
use crate::stream::Stream;
use crate::types::Pod;
use kpack_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Bound, Deref, DerefMut, RangeBounds};
use std::ptr::{null_mut, NonNull};

/// Device memory of `len` elements, from the instance's pool. When it is dropped, it goes back to the
/// pool in the order of its stream: work that the stream was given before may still use it.
pub struct Buffer<T: Pod> {
    ptr: *mut T,
    len: usize,
    stream: Stream,
}

/// A part of device memory, to be read.
pub struct View<'a, T: Pod> {
    ptr: *const T,
    len: usize,
    stream: &'a Stream,
    memory: PhantomData<&'a T>,
}

/// A part of device memory, to be read and written.
pub struct ViewMut<'a, T: Pod> {
    ptr: *mut T,
    len: usize,
    stream: &'a Stream,
    memory: PhantomData<&'a mut T>,
}

// SAFETY: addresses of device memory, which the host never follows. They are used by calls that any
// thread may make; borrowing keeps readers and writers apart.
unsafe impl<T: Pod> Send for Buffer<T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Sync for Buffer<T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Send for View<'_, T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Sync for View<'_, T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Send for ViewMut<'_, T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Sync for ViewMut<'_, T> {}

impl<T: Pod> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Pod> Copy for View<'_, T> {}

/// A number of elements in bytes; the host has no slice beyond isize::MAX, and no device either.
fn nbytes_of<T>(len: usize) -> Result<usize> {
    let too_many =
        || Error::new(Status::Arg, format!("{} elements of {} bytes are too many", len, size_of::<T>()));
    len.checked_mul(size_of::<T>()).filter(|n| *n <= isize::MAX as usize).ok_or_else(too_many)
}

fn same_len(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    Err(Error::new(Status::Arg, format!("a copy of {} elements to {}: both must have as many", from, to)))
}

/// First and length of a range of `len` elements.
#[track_caller]
fn bounds(range: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(at) => *at,
        Bound::Excluded(at) => at.checked_add(1).expect("a range within the memory"),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(at) => at.checked_add(1).expect("a range within the memory"),
        Bound::Excluded(at) => *at,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "range {}..{} of memory of {} elements", start, end, len);
    (start, end - start)
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn alloc(stream: &Stream, len: usize) -> Result<Buffer<T>> {
        let (nbytes, mut ptr) = (nbytes_of::<T>(len)?, null_mut());
        // SAFETY: set on success.
        check(unsafe { sys::kpk_malloc_async(stream.instance().raw(), nbytes, stream.raw(), &mut ptr) })?;
        Ok(Buffer { ptr: ptr.cast(), len, stream: stream.clone() })
    }

    /// Memory that [`Buffer::into_raw`] gave.
    ///
    /// # Safety
    ///
    /// `ptr` came from `into_raw()` of a buffer of this length in bytes and of this stream, or from
    /// `kpk_malloc_async()` of its instance, and nothing else owns it.
    pub unsafe fn from_raw(ptr: *mut T, len: usize, stream: &Stream) -> Buffer<T> {
        Buffer { ptr, len, stream: stream.clone() }
    }

    /// The memory, which is no longer given back by itself.
    pub fn into_raw(self) -> *mut T {
        let buffer = std::mem::ManuallyDrop::new(self);
        // SAFETY: the buffer's drop does not run; its stream is dropped here, once.
        drop(unsafe { std::ptr::read(&buffer.stream) });
        buffer.ptr
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream in whose order the memory is given back.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The address on the device; NULL if there are no elements.
    pub fn as_ptr(&self) -> *const T {
        self.ptr
    }

    /// The address on the device.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.ptr
    }

    /// All of it.
    pub fn as_view(&self) -> View<'_, T> {
        View { ptr: self.ptr, len: self.len, stream: &self.stream, memory: PhantomData }
    }

    /// All of it.
    pub fn as_view_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut { ptr: self.ptr, len: self.len, stream: &self.stream, memory: PhantomData }
    }

    /// A part. Panics as a slice does if the range leaves the memory.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> View<'_, T> {
        self.as_view().slice(range)
    }

    /// A part. Panics as a slice does if the range leaves the memory.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        self.as_view_mut().into_slice(range)
    }

    /// The elements before number `at`, and those from it on.
    #[track_caller]
    pub fn split_at_mut(&mut self, at: usize) -> (ViewMut<'_, T>, ViewMut<'_, T>) {
        self.as_view_mut().split_at(at)
    }

    /// The elements, on the host.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_view().to_vec()
    }

    /// Copies all elements to as many on the host; done when it returns.
    pub fn copy_to_slice(&self, to: &mut [T]) -> Result<()> {
        self.as_view().copy_to_slice(to)
    }

    /// Copies as many elements from the host; done when it returns.
    pub fn copy_from_slice(&mut self, from: &[T]) -> Result<()> {
        self.as_view_mut().copy_from_slice(from)
    }

    /// Copies from memory of the same device, or of another one of the same driver.
    pub fn copy_from(&mut self, from: View<'_, T>) -> Result<()> {
        self.as_view_mut().copy_from(from)
    }

    /// Sets every byte.
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        self.as_view_mut().fill_bytes(value)
    }

    /// A copy of the memory, of the same stream.
    pub fn try_clone(&self) -> Result<Buffer<T>> {
        let mut copy = self.stream.alloc(self.len)?;
        copy.copy_from(self.as_view())?;
        Ok(copy)
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: the block is this buffer's. It goes back when the stream has come so far; while the
        // stream records a graph it cannot, and stays until the instance is closed.
        let _ =
            unsafe { sys::kpk_free_async(self.stream.instance().raw(), self.ptr.cast(), self.stream.raw()) };
    }
}

impl<'a, T: Pod> View<'a, T> {
    /// Memory of another library.
    ///
    /// # Safety
    ///
    /// `ptr` is memory of the stream's device with `len` elements, which stays, and which nobody writes,
    /// for `'a`.
    pub unsafe fn from_raw(ptr: *const T, len: usize, stream: &'a Stream) -> View<'a, T> {
        View { ptr, len, stream, memory: PhantomData }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream of the memory.
    pub fn stream(&self) -> &'a Stream {
        self.stream
    }

    /// The address on the device.
    pub fn as_ptr(&self) -> *const T {
        self.ptr
    }

    /// A part. Panics as a slice does if the range leaves the memory.
    #[track_caller]
    pub fn slice(self, range: impl RangeBounds<usize>) -> View<'a, T> {
        let (start, len) = bounds(range, self.len);
        View { ptr: self.ptr.wrapping_add(start), len, stream: self.stream, memory: PhantomData }
    }

    /// The elements, on the host.
    pub fn to_vec(self) -> Result<Vec<T>> {
        let mut out = Vec::<T>::with_capacity(self.len);
        self.download(out.as_mut_ptr())?;
        // SAFETY: the copy is done, and has written all of them; any bytes are elements.
        unsafe { out.set_len(self.len) };
        Ok(out)
    }

    /// Copies all elements to as many on the host; done when it returns.
    pub fn copy_to_slice(self, to: &mut [T]) -> Result<()> {
        same_len(self.len, to.len())?;
        self.download(to.as_mut_ptr())
    }

    /// Copies to host memory with room for all elements.
    fn download(self, to: *mut T) -> Result<()> {
        let nbytes = nbytes_of::<T>(self.len)?;
        if nbytes == 0 {
            return Ok(());
        }
        // The blocking copy, after the stream's work: where it fails, no copy to the host's memory is
        // left under way.
        self.stream.sync()?;
        let inst = self.stream.instance().raw();
        // SAFETY: both have so many bytes.
        check(unsafe { sys::kpk_copy_from(inst, to.cast(), self.ptr.cast(), nbytes) })
    }

    /// Copies all elements to as many on the host, as work of the memory's stream.
    ///
    /// # Safety
    ///
    /// `to` stays, and nobody else uses it, until the stream has done the copy.
    pub unsafe fn copy_to_slice_async(self, to: &mut [T]) -> Result<()> {
        same_len(self.len, to.len())?;
        let (inst, nbytes) = (self.stream.instance().raw(), nbytes_of::<T>(self.len)?);
        check(sys::kpk_copy_from_async(
            inst,
            to.as_mut_ptr().cast(),
            self.ptr.cast(),
            nbytes,
            self.stream.raw(),
        ))
    }
}

impl<'a, T: Pod> ViewMut<'a, T> {
    /// Memory of another library.
    ///
    /// # Safety
    ///
    /// `ptr` is memory of the stream's device with `len` elements, which stays, and which nobody else
    /// uses, for `'a`.
    pub unsafe fn from_raw(ptr: *mut T, len: usize, stream: &'a Stream) -> ViewMut<'a, T> {
        ViewMut { ptr, len, stream, memory: PhantomData }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream of the memory.
    pub fn stream(&self) -> &'a Stream {
        self.stream
    }

    /// The address on the device.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.ptr
    }

    /// The same memory, to be read.
    pub fn as_view(&self) -> View<'_, T> {
        View { ptr: self.ptr, len: self.len, stream: self.stream, memory: PhantomData }
    }

    /// A part, for a shorter time.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> ViewMut<'_, T> {
        let (start, len) = bounds(range, self.len);
        ViewMut { ptr: self.ptr.wrapping_add(start), len, stream: self.stream, memory: PhantomData }
    }

    /// A part, instead of the whole.
    #[track_caller]
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> ViewMut<'a, T> {
        let (start, len) = bounds(range, self.len);
        ViewMut { ptr: self.ptr.wrapping_add(start), len, stream: self.stream, memory: PhantomData }
    }

    /// The elements before number `at`, and those from it on.
    #[track_caller]
    pub fn split_at(self, at: usize) -> (ViewMut<'a, T>, ViewMut<'a, T>) {
        let (start, len) = bounds(at.., self.len);
        let rest = self.ptr.wrapping_add(start);
        (
            ViewMut { ptr: self.ptr, len: at, stream: self.stream, memory: PhantomData },
            ViewMut { ptr: rest, len, stream: self.stream, memory: PhantomData },
        )
    }

    /// Copies as many elements from the host; done when it returns.
    pub fn copy_from_slice(&mut self, from: &[T]) -> Result<()> {
        same_len(from.len(), self.len)?;
        let nbytes = nbytes_of::<T>(self.len)?;
        if nbytes == 0 {
            return Ok(());
        }
        // As View::download(): the stream's earlier work may use the memory.
        self.stream.sync()?;
        let inst = self.stream.instance().raw();
        // SAFETY: both have so many bytes.
        check(unsafe { sys::kpk_copy_to(inst, self.ptr.cast(), from.as_ptr().cast(), nbytes) })
    }

    /// Copies as many elements from the host, as work of the memory's stream.
    ///
    /// # Safety
    ///
    /// `from` stays, and nobody writes it, until the stream has done the copy.
    pub unsafe fn copy_from_slice_async(&mut self, from: &[T]) -> Result<()> {
        same_len(from.len(), self.len)?;
        let (inst, nbytes) = (self.stream.instance().raw(), nbytes_of::<T>(self.len)?);
        check(sys::kpk_copy_to_async(inst, self.ptr.cast(), from.as_ptr().cast(), nbytes, self.stream.raw()))
    }

    /// Copies as many elements from memory of the same device, or of another one of the same driver, as
    /// work of this memory's stream. Streams that differ wait for each other.
    pub fn copy_from(&mut self, from: View<'_, T>) -> Result<()> {
        same_len(from.len, self.len)?;
        let nbytes = nbytes_of::<T>(self.len)?;
        if nbytes == 0 {
            return Ok(());
        }
        let (here, there) = (self.stream.instance(), from.stream.instance());
        let (to, source) = (self.ptr.cast::<c_void>(), from.ptr.cast::<c_void>());
        let same_device = here.device().ordinal == there.device().ordinal;
        let one_stream = self.stream.is(from.stream);
        if !one_stream {
            self.stream.wait_for(from.stream)?;
        }
        // SAFETY: both have so many bytes, and are different memory: one is borrowed mutably.
        check(unsafe {
            if same_device {
                sys::kpk_copy_async(here.raw(), to, source, nbytes, self.stream.raw())
            } else {
                sys::kpk_copy_peer_async(here.raw(), to, there.raw(), source, nbytes, self.stream.raw())
            }
        })?;
        if one_stream {
            return Ok(());
        }
        // The source may be given back, or written, when its stream has seen the copy. If it cannot be
        // told to wait, the host waits.
        from.stream.wait_for(self.stream).or_else(|_| self.stream.sync())
    }

    /// Sets every byte, as work of the memory's stream.
    pub fn fill_bytes(&mut self, value: u8) -> Result<()> {
        let nbytes = nbytes_of::<T>(self.len)?;
        let (inst, stream) = (self.stream.instance().raw(), self.stream.raw());
        // SAFETY: the memory has so many bytes, and any are elements.
        check(unsafe { sys::kpk_fill_async(inst, self.ptr.cast(), value, nbytes, stream) })
    }
}

/// Pinned memory of the host, which copies of every device of a driver reach directly. It is a slice.
pub struct Pinned<T: Pod> {
    ptr: NonNull<T>,
    len: usize,
    instance: Instance,
}

// SAFETY: it owns its elements as a Vec does.
unsafe impl<T: Pod> Send for Pinned<T> {}
// SAFETY: likewise.
unsafe impl<T: Pod> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    pub(crate) fn new(instance: &Instance, len: usize) -> Result<Pinned<T>> {
        let (nbytes, mut ptr) = (nbytes_of::<T>(len)?, null_mut());
        // SAFETY: set on success.
        check(unsafe { sys::kpk_malloc_host(instance.raw(), nbytes, &mut ptr) })?;
        let ptr = match NonNull::new(ptr.cast::<T>()) {
            // SAFETY: nbytes of new memory; zeros are elements.
            Some(ptr) => unsafe {
                ptr.as_ptr().cast::<u8>().write_bytes(0, nbytes);
                ptr
            },
            None => NonNull::dangling(),
        };
        Ok(Pinned { ptr, len, instance: instance.clone() })
    }
}

impl<T: Pod> Deref for Pinned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: so many elements, all of them written.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}
impl<T: Pod> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}
impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.len * size_of::<T>() != 0 {
            // SAFETY: the driver's memory, which no safe copy uses any more.
            let _ = unsafe { sys::kpk_free_host(self.instance.raw(), self.ptr.as_ptr().cast()) };
        }
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {} at {:p})", self.len, std::any::type_name::<T>(), self.ptr)
    }
}
impl<T: Pod> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({} x {} at {:p})", self.len, std::any::type_name::<T>(), self.ptr)
    }
}
impl<T: Pod> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewMut({} x {} at {:p})", self.len, std::any::type_name::<T>(), self.ptr)
    }
}
impl<T: Pod + fmt::Debug> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_a_slice() {
        assert_eq!(bounds(.., 5), (0, 5));
        assert_eq!(bounds(2..4, 5), (2, 2));
        assert_eq!(bounds(2..=4, 5), (2, 3));
        assert_eq!(bounds(5.., 5), (5, 0));
        assert_eq!(bounds((Bound::Excluded(1), Bound::Unbounded), 5), (2, 3));
    }

    #[test]
    #[should_panic(expected = "range 2..6 of memory of 5 elements")]
    fn a_range_beyond_the_end_panics() {
        bounds(2..6, 5);
    }

    #[test]
    fn sizes_that_no_memory_has_are_refused() {
        assert_eq!(nbytes_of::<f32>(3).unwrap(), 12);
        assert!(nbytes_of::<f32>(usize::MAX / 2).is_err());
        assert!(nbytes_of::<u8>(isize::MAX as usize + 1).is_err());
        assert_eq!(
            same_len(3, 4).unwrap_err().message(),
            "a copy of 3 elements to 4: both must have as many"
        );
    }
}
