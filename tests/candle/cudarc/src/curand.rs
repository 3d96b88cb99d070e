//! Random numbers by module `random`: Philox, not cuRAND's XORWOW

use std::cell::Cell;
use std::sync::Arc;

use crate::driver::{CudaStream, DevicePtrMut};
use crate::kpack::arg;

pub mod result {
    crate::kpack::error_type!(CurandError);
}

/// A sequence of numbers: a seed, and how many were drawn.
pub struct CudaRng {
    stream: Arc<CudaStream>,
    seed: u64,
    drawn: Cell<u64>,
}

/// The types of which there are random numbers.
pub trait Random {
    const NAME: &'static str;
    const ZERO: Self;
    const ONE: Self;
}

impl Random for f32 {
    const NAME: &'static str = "f32";
    const ZERO: f32 = 0.;
    const ONE: f32 = 1.;
}

impl Random for f64 {
    const NAME: &'static str = "f64";
    const ZERO: f64 = 0.;
    const ONE: f64 = 1.;
}

impl CudaRng {
    pub fn new(seed: u64, stream: Arc<CudaStream>) -> Result<Self, result::CurandError> {
        Ok(CudaRng {
            stream,
            seed,
            drawn: Cell::new(0),
        })
    }

    /// Numbers from 0 up to, and without, 1.
    pub fn fill_with_uniform<T: Random, D: DevicePtrMut<T>>(
        &self,
        dst: &mut D,
    ) -> Result<(), result::CurandError> {
        self.fill("rand_uniform", dst, T::ZERO, T::ONE)
    }

    pub fn fill_with_normal<T: Random, D: DevicePtrMut<T>>(
        &self,
        dst: &mut D,
        mean: T,
        std: T,
    ) -> Result<(), result::CurandError> {
        self.fill("rand_normal", dst, mean, std)
    }

    fn fill<T: Random, D: DevicePtrMut<T>>(
        &self,
        name: &str,
        dst: &mut D,
        first: T,
        second: T,
    ) -> Result<(), result::CurandError> {
        let gpu = self.stream.context().gpu();
        let kernel = gpu.kernel("random", &format!("{name}_{}", T::NAME))?;
        let (n, offset) = (dst.len() as u64, self.drawn.get());
        let (ptr, _record) = dst.device_ptr_mut(&self.stream);
        let args = [
            arg(&ptr),
            arg(&n),
            arg(&self.seed),
            arg(&offset),
            arg(&first),
            arg(&second),
        ];

        gpu.bind()?;
        self.drawn.set(offset + n);
        // SAFETY: `ptr` has n elements of T.
        unsafe {
            kernel.launch(
                &kernel.shape(n as usize, 0)?,
                self.stream.cu_stream(),
                &args,
            )?;
        }
        Ok(())
    }
}
