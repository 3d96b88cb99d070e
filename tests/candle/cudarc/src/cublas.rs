//! Products of matrices by module `gemm`

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::Arc;

use crate::driver::{CudaStream, DevicePtr, DevicePtrMut};
use crate::kpack::{check, Error};
use gemm_plan::*;
use kpack_sys as k;

#[path = "../../gemm_plan.rs"]
mod gemm_plan;

/// What of cuBLAS's own interface candle names.
#[allow(non_camel_case_types)]
pub mod sys {
    use std::sync::Arc;

    /// The stream that products run in.
    pub type cublasHandle_t = *const Arc<super::CudaStream>;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum cublasOperation_t {
        CUBLAS_OP_N,
        CUBLAS_OP_T,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum cublasComputeType_t {
        CUBLAS_COMPUTE_16F,
        CUBLAS_COMPUTE_32F,
        CUBLAS_COMPUTE_32F_FAST_16BF,
        CUBLAS_COMPUTE_32F_FAST_TF32,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum cudaDataType_t {
        CUDA_R_16F,
        CUDA_R_16BF,
        CUDA_R_32F,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum cublasGemmAlgo_t {
        CUBLAS_GEMM_DEFAULT_TENSOR_OP,
    }
}

use sys::cublasOperation_t as Operation;

#[derive(Clone, Copy, Debug)]
pub struct GemmConfig<T> {
    pub transa: Operation,
    pub transb: Operation,
    pub m: c_int,
    pub n: c_int,
    pub k: c_int,
    pub alpha: T,
    pub lda: c_int,
    pub ldb: c_int,
    pub beta: T,
    pub ldc: c_int,
}

#[derive(Clone, Copy, Debug)]
pub struct StridedBatchedConfig<T> {
    pub gemm: GemmConfig<T>,
    pub batch_size: c_int,
    pub stride_a: c_longlong,
    pub stride_b: c_longlong,
    pub stride_c: c_longlong,
}

#[derive(Debug)]
pub struct CudaBlas {
    stream: Box<Arc<CudaStream>>,
    handle: sys::cublasHandle_t,
}

// SAFETY: a stream, and its address.
unsafe impl Send for CudaBlas {}
unsafe impl Sync for CudaBlas {}

impl CudaBlas {
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, result::CublasError> {
        let stream = Box::new(stream);
        let handle = &*stream as *const _;

        Ok(CudaBlas { stream, handle })
    }

    pub fn handle(&self) -> &sys::cublasHandle_t {
        &self.handle
    }
}

pub trait Gemm<T> {
    /// # Safety
    /// The matrices have the extent that `config` says.
    unsafe fn gemm_strided_batched<A: DevicePtr<T>, B: DevicePtr<T>, C: DevicePtrMut<T>>(
        &self,
        config: StridedBatchedConfig<T>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), result::CublasError>;
}

impl Gemm<f64> for CudaBlas {
    unsafe fn gemm_strided_batched<A: DevicePtr<f64>, B: DevicePtr<f64>, C: DevicePtrMut<f64>>(
        &self,
        config: StridedBatchedConfig<f64>,
        a: &A,
        b: &B,
        c: &mut C,
    ) -> Result<(), result::CublasError> {
        let (a, _record_a) = a.device_ptr(&self.stream);
        let (b, _record_b) = b.device_ptr(&self.stream);
        let (c, _record_c) = c.device_ptr_mut(&self.stream);

        Ok(product(
            &self.stream,
            KPK_GEMM_F64,
            &config,
            a as _,
            b as _,
            c as _,
        )?)
    }
}

pub mod result {
    use super::sys::{self, cublasComputeType_t as Compute, cudaDataType_t as Type};
    use super::*;

    crate::kpack::error_type!(CublasError);

    /// cublasGemmStridedBatchedEx() of three matrices of one type. Sums are of f32
    /// whatever the compute type.
    ///
    /// # Safety
    /// The handle is a CudaBlas's, numbers and matrices have the types' extent.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn gemm_strided_batched_ex(
        handle: sys::cublasHandle_t,
        transa: Operation,
        transb: Operation,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: *const c_void,
        a_type: Type,
        lda: c_int,
        stride_a: c_longlong,
        b: *const c_void,
        b_type: Type,
        ldb: c_int,
        stride_b: c_longlong,
        beta: *const c_void,
        c: *mut c_void,
        c_type: Type,
        ldc: c_int,
        stride_c: c_longlong,
        batch_size: c_int,
        compute: Compute,
        _algorithm: sys::cublasGemmAlgo_t,
    ) -> Result<(), CublasError> {
        if a_type != b_type || a_type != c_type {
            return Err(Error::new(k::KPK_ERR_UNSUPPORTED, "matrices of several types").into());
        }
        let number = |at: *const c_void| match compute {
            Compute::CUBLAS_COMPUTE_16F => (*at.cast::<half::f16>()).to_f64(),
            _ => f64::from(*at.cast::<f32>()),
        };
        let config = StridedBatchedConfig {
            gemm: GemmConfig {
                transa,
                transb,
                m,
                n,
                k,
                alpha: number(alpha),
                lda,
                ldb,
                beta: number(beta),
                ldc,
            },
            batch_size,
            stride_a,
            stride_b,
            stride_c,
        };
        let kind = match a_type {
            Type::CUDA_R_16F => KPK_GEMM_F16,
            Type::CUDA_R_16BF => KPK_GEMM_BF16,
            Type::CUDA_R_32F => KPK_GEMM_F32,
        };
        Ok(product(&*handle, kind, &config, a, b, c)?)
    }
}

/// cuBLAS's matrices lie by columns. The same memory by rows is the product of
/// their transposes: C' = B' A'.
unsafe fn product(
    stream: &CudaStream,
    kind: u32,
    config: &StridedBatchedConfig<f64>,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
) -> Result<(), Error> {
    let gpu = stream.context().gpu();
    let gemm = &config.gemm;
    let product = kpk_gemm_product {
        kind,
        trans_a: (gemm.transb == Operation::CUBLAS_OP_T) as u32,
        trans_b: (gemm.transa == Operation::CUBLAS_OP_T) as u32,
        m: gemm.n as u32,
        n: gemm.m as u32,
        k: gemm.k as u32,
        batch: config.batch_size as u32,
    };
    let operands = kpk_gemm_operands {
        a: b,
        b: a,
        c,
        bias: std::ptr::null(),
        lda: gemm.ldb as u32,
        ldb: gemm.lda as u32,
        ldc: gemm.ldc as u32,
        stride_a: config.stride_b,
        stride_b: config.stride_a,
        stride_c: config.stride_c,
        alpha: gemm.alpha,
        beta: gemm.beta,
    };
    let mut plan: kpk_gemm_plan = std::mem::zeroed();

    gpu.bind()?;
    check(kpk_gemm_choose(
        gpu.inst,
        &kpk_module_candle__gemm,
        &product,
        u64::MAX,
        &mut plan,
    ))?;
    let workspace = gpu.alloc(plan.workspace_nbytes as usize, stream.cu_stream())?;
    let launched = check(kpk_gemm_launch(
        gpu.inst,
        &product,
        &plan,
        &operands,
        workspace,
        stream.cu_stream(),
    ));
    launched.and(gpu.free(workspace, stream.cu_stream()))
}
