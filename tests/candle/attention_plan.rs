//! <kpack/candle/attention_plan.h> in Rust. `super::k` is the crate kpack-sys.

use super::k;
use std::ffi::c_void;

pub const KPK_ATTENTION_F16: u32 = 0;
pub const KPK_ATTENTION_BF16: u32 = 1;
pub const KPK_ATTENTION_SAME: u32 = 0; // K and V are as Q

#[allow(non_camel_case_types)]
#[repr(C)]
pub struct kpk_attention_args {
    pub q: *const c_void,
    pub k: *const c_void,
    pub v: *const c_void,
    pub o: *mut c_void,
    pub lse: *mut f32,
    pub partial: *mut f32,
    pub alibi_slopes: *const f32,
    pub cu_seqlens_q: *const i32,
    pub cu_seqlens_k: *const i32,
    pub block_table: *const i32,
    pub prefix_ranges: *const i32,
    pub q_batch: i64,
    pub k_batch: i64,
    pub v_batch: i64,
    pub o_batch: i64,
    pub q_row: i64,
    pub k_row: i64,
    pub v_row: i64,
    pub o_row: i64,
    pub q_head: i64,
    pub k_head: i64,
    pub v_head: i64,
    pub o_head: i64,
    pub alibi_batch: u32,
    pub block_table_batch: u32,
    pub prefix_batch: u32,
    pub page_size: u32,
    pub max_prefix_ranges: u32,
    pub b: u32,
    pub h: u32,
    pub h_k: u32,
    pub d: u32,
    pub seqlen_q: u32,
    pub seqlen_k: u32,
    pub total_q: u32,
    pub splits: u32,
    pub unpadded_lse: u32,
    pub scale: f32,
    pub softcap: f32,
    pub window_left: i32,
    pub window_right: i32,
    pub o_q8_1: *mut c_void,
}

#[allow(non_camel_case_types)]
#[repr(C)]
pub struct kpk_attention_plan {
    pub kernel: [u8; 32],
    pub join: [u8; 24],
    pub shape: k::kpk_shape,
    pub join_shape: k::kpk_shape,
    pub splits: u32,
    pub cluster: u32,
    pub quantizes: u32,
    pub workspace_nbytes: u64,
}

extern "C" {
    #[allow(non_upper_case_globals)]
    pub static kpk_module_candle__attention: k::kpk_module;
    pub fn kpk_attention_choose(
        inst: *const k::kpk_instance,
        module: *const k::kpk_module,
        kind: u32,
        cache: u32,
        args: *const kpk_attention_args,
        workspace_nbytes: u64,
        out: *mut kpk_attention_plan,
    ) -> k::kpk_status;
    pub fn kpk_attention_launch(
        inst: *mut k::kpk_instance,
        args: *const kpk_attention_args,
        plan: *const kpk_attention_plan,
        workspace: *mut c_void,
        stream: *mut c_void,
    ) -> k::kpk_status;
}
