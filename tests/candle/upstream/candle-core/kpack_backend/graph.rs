//! Work that is recorded once, and launched again by one call

use super::{kpack, KpackDevice};
use crate::Result;
use kpack::{Buffer, CaptureMode, Stream};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

/// Memory of recorded work. What its tensors give back stays here, since each launch uses it again.
pub(super) struct Arena {
    thread: ThreadId, // which alone uses the GPU while it records
    idle: Mutex<HashMap<usize, Vec<Buffer<u8>>>>,
    lists: Mutex<Vec<Arc<Buffer<usize>>>>,
    is_recording: AtomicBool,
}

impl Arena {
    fn new() -> Self {
        Arena {
            thread: thread::current().id(),
            idle: Mutex::default(),
            lists: Mutex::default(),
            is_recording: AtomicBool::new(false),
        }
    }

    /// Memory of this size. While the stream records there is what the work had when it ran before.
    pub(super) fn take(&self, nbytes: usize, stream: &Stream) -> Result<Buffer<u8>> {
        let idle = self.idle.lock().unwrap().get_mut(&nbytes).and_then(Vec::pop);
        match idle {
            Some(buffer) => Ok(buffer),
            None => {
                self.refuse_new(&format!("{nbytes} bytes"))?;
                Ok(stream.alloc(nbytes)?)
            }
        }
    }

    /// A stream that records neither allocates nor uploads.
    pub(super) fn refuse_new(&self, what: &str) -> Result<()> {
        if self.is_recording.load(Ordering::Relaxed) {
            crate::bail!(
                "recorded work asks for {what} that it did not ask for when it ran before: \
                 it has to be the same work each time"
            )
        }
        Ok(())
    }

    pub(super) fn give_back(&self, buffer: Buffer<u8>) {
        let mut idle = self.idle.lock().unwrap();
        idle.entry(buffer.len()).or_default().push(buffer);
    }

    /// Dimensions and strides that the recorded work reads.
    pub(super) fn keep(&self, list: &Arc<Buffer<usize>>) {
        self.lists.lock().unwrap().push(list.clone());
    }
}

/// What [`KpackDevice::record`] recorded, with the work and its memory.
pub struct KpackGraph<W> {
    graph: kpack::Graph,
    device: KpackDevice,
    _work: W,
    _arena: Arc<Arena>,
}

impl<W> KpackGraph<W> {
    /// Does the recorded work, in the order of the device's other work: on what the tensors that it reads
    /// hold by then, with its result where it was.
    ///
    /// # Safety
    /// The tensors that the work read or wrote and did not make itself are still there, in the same memory.
    /// The graph has what the work owns or borrows; a tensor that was replaced within that (a `RefCell`, a
    /// lock, a `Var`) or that the work got elsewhere is the caller's to keep.
    pub unsafe fn launch(&mut self) -> Result<()> {
        let _recording = self.device.refuse_to_record("launches another graph")?;
        Ok(self.graph.launch(self.device.stream())?)
    }
}

/// The device records as long as this is there.
struct Recording<'a>(&'a KpackDevice);

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        *self.0.arena() = None;
    }
}

impl KpackDevice {
    /// Records work, so that one call launches it again. It is done twice: once as usual, so that modules
    /// load and its memory is known, and once to be recorded. Only [`KpackGraph::launch`] then fills the
    /// result that is returned. Change a tensor that the work reads by `slice_set()`.
    ///
    /// The work is the same each time. It takes no numbers from the host and gives it none; random
    /// numbers repeat. What other threads ask of the GPU meanwhile is refused.
    ///
    /// ```ignore
    /// let (mut graph, y) = device.as_kpack_device()?.record(|| model.forward(&x))?;
    /// x.slice_set(&next, 0, 0)?;
    /// unsafe { graph.launch()? } // x and the model's tensors are where they were
    /// ```
    pub fn record<T, W>(&self, mut work: W) -> Result<(KpackGraph<W>, T)>
    where
        W: FnMut() -> Result<T>,
    {
        let arena = Arc::new(Arena::new());
        {
            let mut recording = self.arena();
            if recording.is_some() {
                crate::bail!("{self:?} records already")
            }
            *recording = Some(arena.clone());
        }
        let recording = Recording(self);
        drop(work()?);
        arena.is_recording.store(true, Ordering::Relaxed);

        let mut result = None;
        let graph = self.stream().capture(CaptureMode::Thread, |_| {
            result = Some(work());
            Ok(())
        });
        drop(recording);
        let result = result.transpose()?; // says more than that the recording failed
        let (graph, Some(result)) = (graph?, result) else {
            crate::bail!("nothing was recorded")
        };
        let graph = KpackGraph {
            graph,
            device: self.clone(),
            _work: work,
            _arena: arena,
        };
        Ok((graph, result))
    }

    /// The memory of what this thread records, if it does. Other threads are refused then. Nobody begins
    /// to record while this is held, so it is held until the stream has the work.
    pub(super) fn recording(&self) -> Result<MutexGuard<'_, Option<Arc<Arena>>>> {
        let arena = self.arena();
        if arena.as_ref().is_some_and(|arena| arena.thread != thread::current().id()) {
            crate::bail!(
                "another thread records work on {self:?}: use the GPU before, or after record() has returned"
            )
        }
        Ok(arena)
    }

    /// For what the device cannot record; likewise.
    pub(super) fn refuse_to_record(&self, what: &str) -> Result<MutexGuard<'_, Option<Arc<Arena>>>> {
        let arena = self.recording()?;
        if arena.is_some() {
            crate::bail!("recorded work {what}: do that before, or after the launch")
        }
        Ok(arena)
    }
}
