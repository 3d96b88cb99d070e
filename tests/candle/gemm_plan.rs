//! <kpack/candle/gemm_plan.h> in Rust. `super::k` is the crate kpack-sys.

use super::k;
use std::ffi::c_void;

pub const KPK_GEMM_F16: u32 = 0;
pub const KPK_GEMM_BF16: u32 = 1;
pub const KPK_GEMM_F32: u32 = 2;
pub const KPK_GEMM_F64: u32 = 3;

#[allow(non_camel_case_types)]
#[repr(C)]
pub struct kpk_gemm_product {
    pub kind: u32,
    pub trans_a: u32,
    pub trans_b: u32,
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub batch: u32,
}

#[allow(non_camel_case_types)]
#[repr(C)]
pub struct kpk_gemm_plan {
    pub kernel: [u8; 24],
    pub join: [u8; 16],
    pub shape: k::kpk_shape,
    pub join_shape: k::kpk_shape,
    pub splits: u32,
    pub cluster: u32,
    pub workspace_nbytes: u64,
    pub align: [u8; 20],
    pub aligned_a: u64,
    pub aligned_b: u64,
}

#[allow(non_camel_case_types)]
#[repr(C)]
pub struct kpk_gemm_operands {
    pub a: *const c_void,
    pub b: *const c_void,
    pub c: *mut c_void,
    pub bias: *const c_void,
    pub lda: u32,
    pub ldb: u32,
    pub ldc: u32,
    pub stride_a: i64,
    pub stride_b: i64,
    pub stride_c: i64,
    pub alpha: f64,
    pub beta: f64,
}

extern "C" {
    #[allow(non_upper_case_globals)]
    pub static kpk_module_candle__gemm: k::kpk_module;
    pub fn kpk_gemm_choose(
        inst: *const k::kpk_instance,
        module: *const k::kpk_module,
        product: *const kpk_gemm_product,
        workspace_nbytes: u64,
        out: *mut kpk_gemm_plan,
    ) -> k::kpk_status;
    pub fn kpk_gemm_launch(
        inst: *mut k::kpk_instance,
        product: *const kpk_gemm_product,
        plan: *const kpk_gemm_plan,
        operands: *const kpk_gemm_operands,
        workspace: *mut c_void,
        stream: *mut c_void,
    ) -> k::kpk_status;
}
