//! Streams, events, and what orders the work of several streams

use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use super::sys::{CUstream, CUstreamCaptureStatus};
use super::{CudaContext, DriverError};
use crate::kpack::{check, Error};
use kpack_sys as k;

/// A point in a stream.
#[derive(Debug)]
pub struct CudaEvent {
    event: *mut c_void,
    context: Arc<CudaContext>,
}

// SAFETY: any thread may use an event (kpack.h).
unsafe impl Send for CudaEvent {}
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        let mut event = std::ptr::null_mut();
        let flags = k::KPK_EVENT_NO_TIMING as _;

        // SAFETY: `event` is written to.
        check(unsafe { k::kpk_event_create(context.gpu().inst, flags, &mut event) })?;
        Ok(CudaEvent {
            event,
            context: context.clone(),
        })
    }

    pub fn record(&self, stream: &CudaStream) -> Result<(), DriverError> {
        if self.context != stream.context {
            return Err(Error::new(k::KPK_ERR_ARG, "an event of another device"));
        }
        // SAFETY: event and stream are alive.
        check(unsafe { k::kpk_event_record(self.context.gpu().inst, self.event, stream.stream) })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let gpu = self.context.gpu();
        // SAFETY: this was the event's last use.
        gpu.record(check(unsafe { k::kpk_event_destroy(gpu.inst, self.event) }));
    }
}

/// A queue of work of one device.
#[derive(Debug)]
pub struct CudaStream {
    stream: *mut c_void,
    context: Arc<CudaContext>,
    owned: bool,
}

// SAFETY: any thread may use a stream (kpack.h).
unsafe impl Send for CudaStream {}
unsafe impl Sync for CudaStream {}

impl CudaContext {
    pub fn default_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.stream(std::ptr::null_mut(), false)
    }

    /// A handle that is another stream in each thread.
    pub fn per_thread_stream(self: &Arc<Self>) -> Arc<CudaStream> {
        self.stream(2 as *mut c_void, false) // KPK_STREAM_PER_THREAD
    }

    /// A stream that the default one does not wait for. From the first on, uses
    /// of memory are tracked.
    pub fn new_stream(self: &Arc<Self>) -> Result<Arc<CudaStream>, DriverError> {
        let gpu = self.bound()?;
        let mut stream = std::ptr::null_mut();

        if self.nstreams.fetch_add(1, Ordering::Relaxed) == 0 && self.is_event_tracking() {
            self.per_thread_stream().synchronize()?;
            self.default_stream().synchronize()?;
        }
        // SAFETY: `stream` is written to.
        check(unsafe {
            k::kpk_stream_create(gpu.inst, k::KPK_STREAM_NON_BLOCKING as _, &mut stream)
        })?;
        Ok(self.stream(stream, true))
    }

    fn stream(self: &Arc<Self>, stream: *mut c_void, owned: bool) -> Arc<CudaStream> {
        Arc::new(CudaStream {
            stream,
            context: self.clone(),
            owned,
        })
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let gpu = self.context.gpu();
        self.context.nstreams.fetch_sub(1, Ordering::Relaxed);
        gpu.record(self.synchronize());
        // SAFETY: this was the stream's last use.
        gpu.record(check(unsafe {
            k::kpk_stream_destroy(gpu.inst, self.stream)
        }));
    }
}

impl CudaStream {
    pub fn cu_stream(&self) -> CUstream {
        self.stream
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    pub fn synchronize(&self) -> Result<(), DriverError> {
        let gpu = self.context.bound()?;
        // SAFETY: the stream is alive.
        check(unsafe { k::kpk_sync(gpu.inst, self.stream) })
    }

    /// Lets later work of this stream wait for the event.
    pub fn wait(&self, event: &CudaEvent) -> Result<(), DriverError> {
        let gpu = self.context.bound()?;
        // SAFETY: stream and event are alive.
        check(unsafe { k::kpk_stream_wait(gpu.inst, self.stream, event.event) })
    }

    /// Lets later work of this stream wait for all that `other` was given.
    pub(super) fn join(&self, other: &CudaStream) -> Result<(), DriverError> {
        let event = CudaEvent::new(&other.context)?;

        event.record(other)?;
        self.wait(&event)
    }

    pub fn capture_status(&self) -> Result<CUstreamCaptureStatus, DriverError> {
        let gpu = self.context.bound()?;
        let mut state = 0;

        // SAFETY: `state` is written to.
        check(unsafe { k::kpk_capture_query(gpu.inst, self.stream, &mut state) })?;
        Ok(match state {
            k::KPK_CAPTURE_NONE => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
            k::KPK_CAPTURE_ACTIVE => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
            _ => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED,
        })
    }
}

/// Records an event when the use of memory has been given to a stream.
#[derive(Debug)]
#[must_use]
pub struct SyncOnDrop<'a>(Option<(&'a CudaEvent, &'a CudaStream)>);

impl<'a> SyncOnDrop<'a> {
    pub(super) fn record_event(event: &'a Option<CudaEvent>, stream: &'a CudaStream) -> Self {
        SyncOnDrop(event.as_ref().map(|event| (event, stream)))
    }

    pub(super) fn nothing() -> Self {
        SyncOnDrop(None)
    }
}

impl Drop for SyncOnDrop<'_> {
    fn drop(&mut self) {
        if let Some((event, stream)) = self.0 {
            if stream.context.is_managing_stream_synchronization() {
                stream.context.gpu().record(event.record(stream));
            }
        }
    }
}
