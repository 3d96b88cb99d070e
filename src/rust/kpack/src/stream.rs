//! stream.rs - queues of a device's work, and points in them

use crate::error::{check, Result};
use crate::graph::{CaptureMode, Graph};
use crate::instance::Instance;
use crate::memory::Buffer;
use crate::types::Pod;
use kpack_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

/// A queue of work of one device. A clone is the same stream. Any thread may use it.
///
/// Memory belongs to the stream that it was allocated in: it is given back when that stream has come so
/// far, and copies between buffers of two streams make each wait for the other. Where a kernel of one
/// stream is given memory of another, [`Stream::wait_for`] orders the two.
#[derive(Clone)]
pub struct Stream(Arc<Handle>);

struct Handle {
    instance: Instance,
    raw: *mut c_void,
    owned: bool,
}

// SAFETY: streams are handles that HIP and CUDA let any thread use, several at a time too.
unsafe impl Send for Handle {}
// SAFETY: likewise.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: the stream was made by this instance, and nobody uses it any more. Drivers differ
            // in whether destroying waits, so its work ends before.
            unsafe {
                let _ = sys::kpk_sync(self.instance.raw(), self.raw);
                let _ = sys::kpk_stream_destroy(self.instance.raw(), self.raw);
            }
        }
    }
}

impl Stream {
    pub(crate) fn create(instance: &Instance, flags: u32) -> Result<Stream> {
        let mut raw = null_mut();
        // SAFETY: set on success.
        check(unsafe { sys::kpk_stream_create(instance.raw(), flags, &mut raw) })?;
        Ok(Stream(Arc::new(Handle { instance: instance.clone(), raw, owned: true })))
    }

    pub(crate) fn borrowed(instance: &Instance, raw: *mut c_void) -> Stream {
        Stream(Arc::new(Handle { instance: instance.clone(), raw, owned: false }))
    }

    /// A stream of another library: a `hipStream_t`, `cudaStream_t` or `CUstream`.
    ///
    /// # Safety
    ///
    /// It is a stream of the instance's device, and outlives this value, its clones and their memory.
    pub unsafe fn from_raw(instance: &Instance, raw: *mut c_void) -> Stream {
        Stream::borrowed(instance, raw)
    }

    /// The driver's handle.
    pub fn raw(&self) -> *mut c_void {
        self.0.raw
    }

    /// The instance that the stream is of.
    pub fn instance(&self) -> &Instance {
        &self.0.instance
    }

    /// True if both are one stream: each device has a default one.
    pub(crate) fn is(&self, other: &Stream) -> bool {
        let (here, there) = (self.instance().device(), other.instance().device());
        self.raw() == other.raw() && here.ordinal == there.ordinal
    }

    /// Waits until all work is done. Reports what went wrong in its kernels, as far as the driver does.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the stream is the instance's.
        check(unsafe { sys::kpk_sync(self.instance().raw(), self.raw()) })
    }

    /// True if all work is done.
    pub fn is_idle(&self) -> Result<bool> {
        let mut done = 0;
        // SAFETY: as above; set on success.
        check(unsafe { sys::kpk_stream_query(self.instance().raw(), self.raw(), &mut done) })?;
        Ok(done != 0)
    }

    /// An event at the end of all work that the stream has been given.
    pub fn record(&self) -> Result<Event> {
        let mut event = Event::new(self.instance())?;
        event.record(self)?;
        Ok(event)
    }

    /// Lets all later work of this stream wait for an event. The host does not wait.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles live.
        check(unsafe { sys::kpk_stream_wait(self.instance().raw(), self.raw(), event.raw()) })
    }

    /// Lets all later work of this stream wait for all work that `other` has been given so far.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        if self.is(other) {
            return Ok(());
        }
        let mut event = Event::with_flags(other.instance(), sys::KPK_EVENT_NO_TIMING)?;
        event.record(other)?;
        self.wait(&event)
    }

    /// Memory of this stream, whose bytes are what a former user left.
    pub fn alloc<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::alloc(self, len)
    }

    /// Memory of zeros.
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(len)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// Memory with a copy of `data`.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.alloc(data.len())?;
        buffer.copy_from_slice(data)?;
        Ok(buffer)
    }

    /// Records the work that `work` gives to this stream into a graph, instead of doing it. The default
    /// stream records none. Load modules and allocate memory before.
    ///
    /// If `work` fails, the recording is thrown away. A recording that was broken, by a call that waits,
    /// may leave HIP's stream unusable.
    pub fn capture(&self, mode: CaptureMode, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        /// Ends the recording if `work` fails or panics.
        struct Recording<'a>(Option<&'a Stream>);
        impl Recording<'_> {
            fn end(&mut self) -> Result<*mut c_void> {
                let mut graph = null_mut();
                match self.0.take() {
                    // SAFETY: this stream records; set on success.
                    Some(stream) => check(unsafe {
                        sys::kpk_capture_end(stream.instance().raw(), stream.raw(), &mut graph)
                    })?,
                    None => return Ok(graph),
                }
                Ok(graph)
            }
        }
        impl Drop for Recording<'_> {
            fn drop(&mut self) {
                let stream = self.0;
                if let (Some(stream), Ok(graph)) = (stream, self.end()) {
                    // SAFETY: the graph is ours, and NULL does nothing.
                    let _ = unsafe { sys::kpk_graph_destroy(stream.instance().raw(), graph) };
                }
            }
        }
        // SAFETY: the stream is the instance's.
        check(unsafe { sys::kpk_capture_begin(self.instance().raw(), self.raw(), mode.number()) })?;
        let mut recording = Recording(Some(self));
        work(self)?;
        let graph = recording.end()?;
        // SAFETY: the graph has just been made of this instance's device.
        unsafe { Graph::of(self.instance(), graph) }
    }

    /// True if the stream records a graph.
    pub fn is_capturing(&self) -> Result<bool> {
        let mut state = sys::KPK_CAPTURE_NONE;
        // SAFETY: set on success.
        check(unsafe { sys::kpk_capture_query(self.instance().raw(), self.raw(), &mut state) })?;
        Ok(state != sys::KPK_CAPTURE_NONE)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:p} of {:?})", self.raw(), self.instance())
    }
}

/// A point in a stream that other streams and the host can wait for.
pub struct Event {
    instance: Instance,
    raw: *mut c_void,
}

// SAFETY: events are handles that HIP and CUDA let any thread use.
unsafe impl Send for Event {}
// SAFETY: likewise. Recording, which moves the event, takes it mutably.
unsafe impl Sync for Event {}

impl Event {
    /// An event that takes times. It has passed until it is recorded.
    pub fn new(instance: &Instance) -> Result<Event> {
        Event::with_flags(instance, 0)
    }

    /// An event with `KPK_EVENT_SLEEP` or `KPK_EVENT_NO_TIMING` of `kpack-sys`.
    pub fn with_flags(instance: &Instance, flags: u32) -> Result<Event> {
        let mut raw = null_mut();
        // SAFETY: set on success.
        check(unsafe { sys::kpk_event_create(instance.raw(), flags, &mut raw) })?;
        Ok(Event { instance: instance.clone(), raw })
    }

    /// The driver's handle.
    pub fn raw(&self) -> *mut c_void {
        self.raw
    }

    /// Lets the event stand for the end of all work that the stream has been given so far.
    pub fn record(&mut self, stream: &Stream) -> Result<()> {
        // SAFETY: both handles live.
        check(unsafe { sys::kpk_event_record(self.instance.raw(), self.raw, stream.raw()) })
    }

    /// True if that work is done.
    pub fn has_passed(&self) -> Result<bool> {
        let mut done = 0;
        // SAFETY: set on success.
        check(unsafe { sys::kpk_event_query(self.instance.raw(), self.raw, &mut done) })?;
        Ok(done != 0)
    }

    /// Waits for it.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the handle lives.
        check(unsafe { sys::kpk_event_sync(self.instance.raw(), self.raw) })
    }

    /// Milliseconds from `start` to this event, both of which have passed.
    pub fn elapsed_ms(&self, start: &Event) -> Result<f32> {
        let mut out = 0.0;
        // SAFETY: both handles live; set on success.
        check(unsafe { sys::kpk_event_elapsed(self.instance.raw(), start.raw, self.raw, &mut out) })?;
        Ok(out)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by this instance. Streams that wait for it go on waiting.
        let _ = unsafe { sys::kpk_event_destroy(self.instance.raw(), self.raw) };
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:p})", self.raw)
    }
}
