//! graph.rs - recorded work that one call launches

use crate::error::{check, Error, Result, Status};
use crate::instance::Instance;
use crate::stream::Stream;
use kpack_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;

/// The threads in which calls that wait, or may wait, are forbidden while a stream records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// In all threads.
    Global,
    /// In the recording thread.
    Thread,
    /// In none; only calls that wait for the recording stream are forbidden.
    Relaxed,
}

impl CaptureMode {
    pub(crate) fn number(self) -> sys::kpk_capture_mode {
        match self {
            CaptureMode::Global => sys::KPK_CAPTURE_GLOBAL,
            CaptureMode::Thread => sys::KPK_CAPTURE_THREAD,
            CaptureMode::Relaxed => sys::KPK_CAPTURE_RELAXED,
        }
    }
}

/// Work that [`Stream::capture`] recorded, ready to be launched any number of times. It may go to
/// another thread, but one thread at a time uses it.
pub struct Graph {
    instance: Instance,
    exec: *mut c_void,
    last: Option<Stream>,
}

// SAFETY: a graph is a handle that any thread may use, if one at a time does: launches take it
// mutably, and it is not Sync.
unsafe impl Send for Graph {}

impl Graph {
    /// An executable graph of a recorded one, which it takes.
    ///
    /// # Safety
    ///
    /// `graph` is a graph of the instance's device.
    pub(crate) unsafe fn of(instance: &Instance, graph: *mut c_void) -> Result<Graph> {
        if graph.is_null() {
            return Err(Error::new(Status::Driver, "the recording gave no graph".into()));
        }
        let mut exec = null_mut();
        let made = check(sys::kpk_graph_instantiate(instance.raw(), graph, &mut exec));
        let gone = check(sys::kpk_graph_destroy(instance.raw(), graph));
        let graph = made.map(|()| Graph { instance: instance.clone(), exec, last: None })?;
        gone.map(|()| graph)
    }

    /// The driver's handle of the executable graph.
    pub fn raw(&self) -> *mut c_void {
        self.exec
    }

    /// Launches all recorded work as work of a stream. A launch waits for the one before it.
    ///
    /// # Safety
    ///
    /// All memory that the recorded work uses is still there, and stays until this launch is done; the
    /// modules of its kernels are loaded. No other work uses the memory meanwhile.
    pub unsafe fn launch(&mut self, stream: &Stream) -> Result<()> {
        if let Some(last) = &self.last {
            stream.wait_for(last)?;
        }
        self.last = Some(stream.clone());
        check(sys::kpk_graph_launch(self.instance.raw(), self.exec, stream.raw()))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(last) = &self.last {
            let _ = last.sync();
        }
        // SAFETY: made by this instance; its launches are done.
        let _ = unsafe { sys::kpk_graph_exec_destroy(self.instance.raw(), self.exec) };
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({:p})", self.exec)
    }
}
