//! The C functions of candle-flash-attn and candle-flash-attn-v3, by module
//! `attention`
#![allow(non_camel_case_types)] // kpack's names

use core::ffi::{c_int, c_void};

use crate::ffi::on_current_device;
use cudarc::kpack::{check, Shape};
use kpack_sys as k;

/// # Safety
/// Pointers are to memory of the sizes given.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn run_mha(
    q: *const c_void,
    k: *const c_void,
    v: *const c_void,
    o: *mut c_void,
    lse: *mut f32,
    alibi_slopes: *const f32,
    cu_seqlens_q: *const i32,
    cu_seqlens_k: *const i32,
    q_batch: u32,
    k_batch: u32,
    v_batch: u32,
    o_batch: u32,
    alibi_batch: u32,
    q_row: u32,
    k_row: u32,
    v_row: u32,
    o_row: u32,
    q_head: u32,
    k_head: u32,
    v_head: u32,
    o_head: u32,
    b: u32,
    h: u32,
    h_k: u32,
    d: u32,
    _d_rounded: u32,
    scale: f32,
    seqlen_q: u32,
    seqlen_k: u32,
    _seqlen_q_rounded: u32,
    _seqlen_k_rounded: u32,
    total_q: u32,
    is_bf16: c_int,
    _is_causal: c_int,
    unpadded_lse: c_int,
    window_left: c_int,
    window_right: c_int,
    softcap: f32,
    block_table: *const i32,
    block_table_batch: u32,
    page_size: c_int,
    prefix_ranges: *const i32,
    prefix_batch: u32,
    max_prefix_ranges: c_int,
    stream: *mut c_void,
) {
    let base = kpk_attention_args {
        q,
        k,
        v,
        o,
        lse,
        partial: core::ptr::null_mut(),
        alibi_slopes,
        cu_seqlens_q,
        cu_seqlens_k,
        block_table,
        prefix_ranges,
        q_batch: q_batch.into(),
        k_batch: k_batch.into(),
        v_batch: v_batch.into(),
        o_batch: o_batch.into(),
        q_row: q_row.into(),
        k_row: k_row.into(),
        v_row: v_row.into(),
        o_row: o_row.into(),
        q_head: q_head.into(),
        k_head: k_head.into(),
        v_head: v_head.into(),
        o_head: o_head.into(),
        alibi_batch,
        block_table_batch,
        prefix_batch,
        page_size: page_size.max(0) as u32,
        max_prefix_ranges: max_prefix_ranges as u32,
        b,
        h,
        h_k,
        d,
        seqlen_q,
        seqlen_k,
        total_q,
        splits: 0,
        unpadded_lse: unpadded_lse as u32,
        scale,
        softcap,
        window_left,
        window_right,
        o_q8_1: core::ptr::null_mut(),
    };
    attention(base, is_bf16 as u32, stream)
}

/// # Safety
/// Pointers are to memory of the sizes given.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn run_mha_v3(
    q: *const c_void,
    k: *const c_void,
    v: *const c_void,
    o: *mut c_void,
    lse: *mut f32,
    alibi_slopes: *const f32,
    _tile_count_semaphore: *const i32,
    cu_seqlens_q: *const i32,
    cu_seqlens_k: *const i32,
    q_batch: u32,
    k_batch: u32,
    v_batch: u32,
    o_batch: u32,
    alibi_batch: u32,
    q_row: u32,
    k_row: u32,
    v_row: u32,
    o_row: u32,
    q_head: u32,
    k_head: u32,
    v_head: u32,
    o_head: u32,
    b: u32,
    h: u32,
    h_k: u32,
    d: u32,
    d_rounded: u32,
    scale: f32,
    seqlen_q: u32,
    seqlen_k: u32,
    seqlen_q_rounded: u32,
    seqlen_k_rounded: u32,
    is_bf16: c_int,
    is_causal: c_int,
    unpadded_lse: c_int,
    _use_gqa_packing: c_int,
    window_left: c_int,
    window_right: c_int,
    total_q: u32,
    _total_k: u32,
    stream: *mut c_void,
) {
    run_mha(
        q,
        k,
        v,
        o,
        lse,
        alibi_slopes,
        cu_seqlens_q,
        cu_seqlens_k,
        q_batch,
        k_batch,
        v_batch,
        o_batch,
        alibi_batch,
        q_row,
        k_row,
        v_row,
        o_row,
        q_head,
        k_head,
        v_head,
        o_head,
        b,
        h,
        h_k,
        d,
        d_rounded,
        scale,
        seqlen_q,
        seqlen_k,
        seqlen_q_rounded,
        seqlen_k_rounded,
        total_q,
        is_bf16,
        is_causal,
        unpadded_lse,
        window_left,
        window_right,
        0.0,
        core::ptr::null(),
        0,
        0,
        core::ptr::null(),
        0,
        0,
        stream,
    )
}

unsafe fn attention(base: kpk_attention_args, kind: u32, stream: *mut c_void) {
    const AS_Q: u32 = 0; // the format of K and V
    let args = kpk_attention2_args {
        base,
        sinks: core::ptr::null(),
        mask: core::ptr::null(),
        mask_strides: [0; 3],
        d_v: 0,
        reserved_types: [0; 3],
        reserved: [0; 4],
    };

    on_current_device(|gpu| {
        let inst = gpu.inst;
        let mut plan: kpk_attention_plan = core::mem::zeroed();

        check(kpk_attention2_choose(
            inst,
            &kpk_module_candle__attention,
            kind,
            AS_Q,
            &args,
            u64::MAX,
            &mut plan,
        ))?;
        let workspace = gpu.alloc(plan.workspace_nbytes as usize, stream)?;
        let launched = check(kpk_attention2_launch(inst, &args, &plan, workspace, stream));
        launched.and(gpu.free(workspace, stream))
    })
}

// ---- <kpack/candle/attention_plan.h> ----------------------------------------

#[repr(C)]
struct kpk_attention_args {
    q: *const c_void,
    k: *const c_void,
    v: *const c_void,
    o: *mut c_void,
    lse: *mut f32,
    partial: *mut f32,
    alibi_slopes: *const f32,
    cu_seqlens_q: *const i32,
    cu_seqlens_k: *const i32,
    block_table: *const i32,
    prefix_ranges: *const i32,
    q_batch: i64,
    k_batch: i64,
    v_batch: i64,
    o_batch: i64,
    q_row: i64,
    k_row: i64,
    v_row: i64,
    o_row: i64,
    q_head: i64,
    k_head: i64,
    v_head: i64,
    o_head: i64,
    alibi_batch: u32,
    block_table_batch: u32,
    prefix_batch: u32,
    page_size: u32,
    max_prefix_ranges: u32,
    b: u32,
    h: u32,
    h_k: u32,
    d: u32,
    seqlen_q: u32,
    seqlen_k: u32,
    total_q: u32,
    splits: u32,
    unpadded_lse: u32,
    scale: f32,
    softcap: f32,
    window_left: i32,
    window_right: i32,
    o_q8_1: *mut c_void,
}

#[repr(C)]
struct kpk_attention2_args {
    base: kpk_attention_args,
    sinks: *const f32,
    mask: *const c_void,
    mask_strides: [i64; 3],
    d_v: u32,
    reserved_types: [u32; 3],
    reserved: [u64; 4],
}

#[repr(C)]
struct kpk_attention_plan {
    kernel: [u8; 32],
    join: [u8; 24],
    shape: Shape,
    join_shape: Shape,
    splits: u32,
    cluster: u32,
    quantizes: u32,
    workspace_nbytes: u64,
}

extern "C" {
    #[allow(non_upper_case_globals)]
    static kpk_module_candle__attention: k::kpk_module;
    fn kpk_attention2_choose(
        inst: *const k::kpk_instance,
        module: *const k::kpk_module,
        kind: u32,
        cache: u32,
        args: *const kpk_attention2_args,
        workspace_nbytes: u64,
        out: *mut kpk_attention_plan,
    ) -> k::kpk_status;
    fn kpk_attention2_launch(
        inst: *mut k::kpk_instance,
        args: *const kpk_attention2_args,
        plan: *const kpk_attention_plan,
        workspace: *mut c_void,
        stream: *mut c_void,
    ) -> k::kpk_status;
}
