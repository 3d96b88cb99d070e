//! The C functions of candle-flash-attn and candle-flash-attn-v3, by module
//! `attention`

use core::ffi::{c_int, c_void};

use crate::ffi::on_current_device;
use attention_plan::*;
use cudarc::kpack::check;
use kpack_sys as k; // for attention_plan.rs

#[path = "../../attention_plan.rs"]
mod attention_plan;

/// One of the two functions: its name, the arguments that it has beside those of both, in four places,
/// and what they are in kpack's arguments.
macro_rules! run_mha {
    ($name:ident, ($($first:tt)*) ($($second:tt)*) ($($third:tt)*) ($($fourth:tt)*), $($field:tt)*) => {
        /// # Safety
        /// Pointers are to memory of the sizes given.
        #[no_mangle]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name(
            q: *const c_void,
            k: *const c_void,
            v: *const c_void,
            o: *mut c_void,
            lse: *mut f32,
            alibi_slopes: *const f32,
            $($first)*
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
            $($second)*
            is_bf16: c_int,
            _is_causal: c_int,
            unpadded_lse: c_int,
            $($third)*
            window_left: c_int,
            window_right: c_int,
            $($fourth)*
            stream: *mut c_void,
        ) {
            let args = kpk_attention_args {
                q,
                k,
                v,
                o,
                lse,
                alibi_slopes,
                cu_seqlens_q,
                cu_seqlens_k,
                q_batch: q_batch.into(),
                k_batch: k_batch.into(),
                v_batch: v_batch.into(),
                o_batch: o_batch.into(),
                alibi_batch,
                q_row: q_row.into(),
                k_row: k_row.into(),
                v_row: v_row.into(),
                o_row: o_row.into(),
                q_head: q_head.into(),
                k_head: k_head.into(),
                v_head: v_head.into(),
                o_head: o_head.into(),
                b,
                h,
                h_k,
                d,
                scale,
                seqlen_q,
                seqlen_k,
                unpadded_lse: unpadded_lse as u32,
                window_left,
                window_right,
                $($field)*
                ..core::mem::zeroed()
            };
            attention(&args, is_bf16, stream)
        }
    };
}

run_mha! {
    run_mha,
    ()
    (total_q: u32,)
    ()
    (
        softcap: f32,
        block_table: *const i32,
        block_table_batch: u32,
        page_size: c_int,
        prefix_ranges: *const i32,
        prefix_batch: u32,
        max_prefix_ranges: c_int,
    ),
    total_q,
    softcap,
    block_table,
    block_table_batch,
    page_size: page_size.max(0) as u32,
    prefix_ranges,
    prefix_batch,
    max_prefix_ranges: max_prefix_ranges as u32,
}

run_mha! {
    run_mha_v3,
    (_tile_count_semaphore: *const i32,)
    ()
    (_use_gqa_packing: c_int,)
    (total_q: u32, _total_k: u32,),
    total_q,
}

unsafe fn attention(args: &kpk_attention_args, is_bf16: c_int, stream: *mut c_void) {
    let kind = if is_bf16 != 0 { KPK_ATTENTION_BF16 } else { KPK_ATTENTION_F16 };

    on_current_device(|gpu| {
        let mut plan: kpk_attention_plan = core::mem::zeroed();

        check(kpk_attention_choose(
            gpu.inst,
            &kpk_module_candle__attention,
            kind,
            KPK_ATTENTION_SAME,
            args,
            u64::MAX,
            &mut plan,
        ))?;
        let workspace = gpu.alloc(plan.workspace_nbytes as usize, stream)?;
        let launched = check(kpk_attention_launch(
            gpu.inst, args, &plan, workspace, stream,
        ));
        launched.and(gpu.free(workspace, stream))
    })
}
