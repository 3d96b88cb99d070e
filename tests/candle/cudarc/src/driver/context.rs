//! A context, its modules and their functions

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use super::{sys, DriverError};
use crate::kpack::{self, Gpu, Kernel};
use crate::nvrtc::Ptx;
use crate::ptx;

/// A user's context. All of a device share its instance, as they share CUDA's
/// primary context.
#[derive(Debug)]
pub struct CudaContext {
    gpu: &'static Gpu,
    /// Streams besides the default ones: with any, uses of memory are tracked.
    pub(super) nstreams: AtomicUsize,
    event_tracking: AtomicBool,
}

impl PartialEq for CudaContext {
    fn eq(&self, other: &Self) -> bool {
        self.gpu.ordinal == other.gpu.ordinal
    }
}

impl Eq for CudaContext {}

impl CudaContext {
    pub fn new(ordinal: usize) -> Result<Arc<Self>, DriverError> {
        let gpu = Gpu::open(ordinal)?;

        gpu.bind()?;
        Ok(Arc::new(CudaContext {
            gpu,
            nstreams: AtomicUsize::new(0),
            event_tracking: AtomicBool::new(true),
        }))
    }

    pub fn device_count() -> Result<i32, DriverError> {
        Ok(kpack::device_count()? as i32)
    }

    pub fn ordinal(&self) -> usize {
        self.gpu.ordinal
    }

    pub fn cu_device(&self) -> sys::CUdevice {
        self.gpu.ordinal as sys::CUdevice
    }

    pub(crate) fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// The device, made this thread's.
    pub(crate) fn bound(&self) -> Result<&'static Gpu, DriverError> {
        self.gpu.bind()?;
        Ok(self.gpu)
    }

    pub fn is_event_tracking(&self) -> bool {
        self.event_tracking.load(Ordering::Relaxed)
    }

    /// # Safety
    /// The caller orders the work of several streams.
    pub unsafe fn disable_event_tracking(&self) {
        self.event_tracking.store(false, Ordering::Relaxed);
    }

    pub fn is_managing_stream_synchronization(&self) -> bool {
        self.nstreams.load(Ordering::Relaxed) > 0 && self.is_event_tracking()
    }

    pub fn load_module(self: &Arc<Self>, text: Ptx) -> Result<Arc<CudaModule>, DriverError> {
        self.bound()?;
        let code = match ptx::instead_of(&text.0)? {
            Some(ptx) => Code::Ptx(ptx::Module::load(self.gpu, &ptx)?),
            None => Code::Pack(text.0),
        };
        Ok(Arc::new(CudaModule {
            code,
            context: self.clone(),
        }))
    }
}

#[derive(Debug)]
enum Code {
    /// The name of a module of the pack.
    Pack(String),
    Ptx(ptx::Module),
}

#[derive(Debug)]
pub struct CudaModule {
    code: Code,
    context: Arc<CudaContext>,
}

/// A kernel, and how many of a launch's arguments it takes: CUDA's driver
/// ignores more than there are, and candle counts on it (q5_k by FORCE_DMMV).
#[derive(Clone, Debug)]
pub struct CudaFunction {
    pub(super) entry: Entry,
    _module: Arc<CudaModule>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Pack(Kernel, usize),
    Ptx(ptx::Function),
}

impl CudaModule {
    pub fn load_function(self: &Arc<Self>, name: &str) -> Result<CudaFunction, DriverError> {
        let gpu = self.context.bound()?;
        let entry = match &self.code {
            Code::Pack(module) => {
                let kernel = gpu.kernel(module, name)?;
                Entry::Pack(kernel, kernel.nargs()?)
            }
            Code::Ptx(module) => Entry::Ptx(module.function(name)?),
        };
        Ok(CudaFunction {
            entry,
            _module: self.clone(),
        })
    }
}
