//! Launches

use super::context::Entry;
use super::{CudaEvent, CudaFunction, CudaSlice, CudaStream, CudaView, CudaViewMut};
use super::{DeviceRepr, DriverError};
use crate::kpack;
use kpack::Arg;

#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    pub grid_dim: (u32, u32, u32),
    pub block_dim: (u32, u32, u32),
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// A thread for each element, in blocks of 1024.
    pub fn for_num_elems(n: u32) -> Self {
        LaunchConfig {
            grid_dim: (n.div_ceil(1024), 1, 1),
            block_dim: (1024, 1, 1),
            shared_mem_bytes: 0,
        }
    }
}

/// A launch that is being put together.
pub struct LaunchArgs<'a> {
    stream: &'a CudaStream,
    function: &'a CudaFunction,
    waits: Vec<&'a CudaEvent>,
    records: Vec<&'a CudaEvent>,
    args: Vec<Arg>,
}

impl CudaStream {
    pub fn launch_builder<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a> {
        LaunchArgs {
            stream: self,
            function,
            waits: Vec::new(),
            records: Vec::new(),
            args: Vec::new(),
        }
    }
}

/// # Safety
/// The pushed argument has the type of the kernel's parameter.
pub unsafe trait PushKernelArg<T> {
    fn arg(&mut self, arg: T) -> &mut Self;
}

unsafe impl<'a, 'b: 'a, T: DeviceRepr> PushKernelArg<&'b T> for LaunchArgs<'a> {
    fn arg(&mut self, arg: &'b T) -> &mut Self {
        self.args.push(kpack::arg(arg));
        self
    }
}

/// How kernels use memory that is an argument: `&` is read, `&mut` is written.
macro_rules! push_memory {
    ([$($lifetime:lifetime)?] $type:ty, $arg:ident, $place:expr, $ptr:expr) => {
        unsafe impl<'a, 'b: 'a, $($lifetime: 'b,)? T> PushKernelArg<&'b $type> for LaunchArgs<'a> {
            fn arg(&mut self, $arg: &'b $type) -> &mut Self {
                if self.stream.context().is_managing_stream_synchronization() {
                    self.waits.extend($place.write.as_ref());
                    self.records.extend($place.read.as_ref());
                }
                self.args.push(kpack::arg($ptr));
                self
            }
        }
    };
    (mut [$($lifetime:lifetime)?] $type:ty, $arg:ident, $place:expr, $ptr:expr) => {
        unsafe impl<'a, 'b: 'a, $($lifetime: 'b,)? T> PushKernelArg<&'b mut $type>
            for LaunchArgs<'a>
        {
            fn arg(&mut self, $arg: &'b mut $type) -> &mut Self {
                if self.stream.context().is_managing_stream_synchronization() {
                    self.waits.extend($place.read.as_ref());
                    self.waits.extend($place.write.as_ref());
                    self.records.extend($place.write.as_ref());
                }
                self.args.push(kpack::arg($ptr));
                self
            }
        }
    };
}
push_memory!([] CudaSlice<T>, arg, arg.place(), arg.ptr());
push_memory!(mut [] CudaSlice<T>, arg, arg.place(), arg.ptr());
push_memory!(['c] CudaView<'c, T>, arg, arg.place, &arg.place.ptr);
push_memory!(mut ['c] CudaViewMut<'c, T>, arg, arg.place, &arg.place.ptr);

impl LaunchArgs<'_> {
    /// Gives the kernel to the stream.
    ///
    /// # Safety
    /// The arguments are what the kernel takes, and its memory has their extent.
    pub unsafe fn launch(&mut self, config: LaunchConfig) -> Result<(), DriverError> {
        let stream = self.stream.cu_stream();
        let shape = kpack::shape(
            config.grid_dim.into(),
            config.block_dim.into(),
            config.shared_mem_bytes,
        );

        self.stream.context().bound()?;
        for event in &self.waits {
            self.stream.wait(event)?;
        }
        match self.function.entry {
            Entry::Pack(kernel, nargs) => {
                self.args.truncate(nargs);
                kernel.launch(&shape, stream, &self.args)?;
            }
            Entry::Ptx(function) => function.launch(&shape, stream, &self.args)?,
        }
        for event in &self.records {
            event.record(self.stream)?;
        }
        Ok(())
    }
}
