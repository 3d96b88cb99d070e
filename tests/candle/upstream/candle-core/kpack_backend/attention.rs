//! Attention by module `attention`

use super::attention_plan::*;
use super::{check, KpackDevice, KpackStorage};
use crate::backend::BackendStorage;
use crate::{DType, Layout, Result, Shape, Tensor};
use std::ptr::null;

/// softmax(scale Q K') V for each head, as the crates `candle-flash-attn` and `candle-flash-attn-v3` have it.
#[derive(Default)]
pub struct Attention<'a> {
    pub scale: f32,
    /// How many keys a query sees before its own position, and behind it. `None`: all.
    pub window_left: Option<usize>,
    pub window_right: Option<usize>,
    /// Scores become softcap tanh(score / softcap).
    pub softcap: Option<f32>,
    /// One for each head: `[heads]` f32.
    pub alibi_slopes: Option<&'a Tensor>,
    /// None: Q, K and V are `[sequences, rows, heads, width]`.
    pub sequences: Option<Sequences<'a>>,
}

/// Sequences of several lengths, one behind the other: Q, K and V are `[rows, heads, width]`.
pub struct Sequences<'a> {
    /// Where each sequence begins, and where the last one ends: u32.
    pub q: &'a Tensor,
    pub k: &'a Tensor,
    pub longest_q: usize,
    pub longest_k: usize,
    /// Where K and V lie, `[sequences, pages]` u32 or i32, and the rows of a page. K and V are
    /// `[pages, rows of a page, heads, width]`.
    pub pages: Option<(&'a Tensor, usize)>,
    /// Ranges of positions that see each other, whatever the windows are: `[sequences, ranges, 2]` i32.
    pub prefix_ranges: Option<&'a Tensor>,
}

/// An absent tensor is a null pointer.
fn address<T>(device: &KpackDevice, tensor: Option<&Tensor>, dtype: DType) -> Result<*const T> {
    tensor.map_or(Ok(null()), |x| Ok(device.address(x, dtype)?.cast_const().cast()))
}

impl Attention<'_> {
    pub fn forward(
        &self,
        (q, q_l): (&KpackStorage, &Layout),
        (k, k_l): (&KpackStorage, &Layout),
        (v, v_l): (&KpackStorage, &Layout),
    ) -> Result<(KpackStorage, Shape)> {
        let kind = match q.dtype() {
            DType::F16 => KPK_ATTENTION_F16,
            DType::BF16 => KPK_ATTENTION_BF16,
            dtype => return Err(crate::Error::UnsupportedDTypeForOp(dtype, "attention").bt()),
        };
        q.same_dtype(k, "attention")?;
        q.same_dtype(v, "attention")?;
        let ([.., q_rows, h, d], [.., k_rows, h_k, k_d]) = (q_l.dims(), k_l.dims()) else {
            crate::bail!("attention of {q_l:?} and {k_l:?}")
        };
        let sequences = self.sequences.as_ref();
        let pages = sequences.and_then(|sequences| sequences.pages);
        let of_all = |l: &Layout| l.dims().len() == 4; // dimension 0 is sequences or pages
        let strides = [q_l, k_l, v_l].map(|l| l.stride());
        if k_l.dims() != v_l.dims()
            || (d, of_all(q_l)) != (k_d, sequences.is_none())
            || of_all(k_l) != (sequences.is_none() || pages.is_some())
            || (sequences.is_none() && q_l.dims()[0] != k_l.dims()[0])
            || strides.iter().any(|strides| strides.last() != Some(&1))
        {
            crate::bail!("attention of {q_l:?}, {k_l:?} and {v_l:?}")
        }
        let device = q.device();
        let out = device.alloc(q_l.shape().elem_count(), q.dtype())?;
        let of = |l: &Layout, from_last: usize| l.stride()[l.dims().len() - from_last] as i64;
        let batch = |l: &Layout| if of_all(l) { l.stride()[0] as i64 } else { 0 };
        let u32_of = |n: usize| Ok::<_, crate::Error>(u32::try_from(n)?);

        // SAFETY: numbers and pointers, of which 0 means absent.
        let mut args: kpk_attention_args = unsafe { std::mem::zeroed() };
        (args.q, args.k, args.v) = (q.start(q_l).cast(), k.start(k_l).cast(), v.start(v_l).cast());
        args.o = out.ptr(0).cast();
        (args.q_batch, args.k_batch, args.v_batch) = (batch(q_l), batch(k_l), batch(v_l));
        (args.q_row, args.k_row, args.v_row) = (of(q_l, 3), of(k_l, 3), of(v_l, 3));
        (args.q_head, args.k_head, args.v_head) = (of(q_l, 2), of(k_l, 2), of(v_l, 2));
        (args.o_head, args.o_row) = (*d as i64, (h * d) as i64);
        (args.h, args.h_k, args.d) = (u32_of(*h)?, u32_of(*h_k)?, u32_of(*d)?);
        (args.scale, args.softcap) = (self.scale, self.softcap.unwrap_or(0.));
        let (b, longest_q, longest_k) = match sequences {
            None => {
                args.o_batch = (q_rows * h * d) as i64;
                (q_l.dims()[0], *q_rows, *k_rows)
            }
            Some(sequences) => {
                let (ends, k_ends) = (sequences.q.dims1()?, sequences.k.dims1()?);
                if ends < 2 || ends != k_ends {
                    crate::bail!("attention of {ends} and {k_ends} bounds of sequences")
                }
                args.total_q = u32_of(*q_rows)?;
                args.cu_seqlens_q = address(device, Some(sequences.q), DType::U32)?;
                args.cu_seqlens_k = address(device, Some(sequences.k), DType::U32)?;
                (ends - 1, sequences.longest_q, sequences.longest_k)
            }
        };
        if let Some((pages, page_rows)) = pages {
            let (pages_b, of_one) = pages.dims2()?;
            let dtype = if pages.dtype() == DType::I32 { DType::I32 } else { DType::U32 };
            if pages_b != b || page_rows != *k_rows || of_one * k_rows < longest_k {
                crate::bail!("{pages:?} for {b} sequences of {longest_k} rows in pages of {k_rows}")
            }
            args.block_table = address(device, Some(pages), dtype)?;
            (args.block_table_batch, args.page_size) = (u32_of(of_one)?, u32_of(*k_rows)?);
        }
        if let Some(ranges) = sequences.and_then(|sequences| sequences.prefix_ranges) {
            let (ranges_b, most, two) = ranges.dims3()?;
            if (ranges_b, two) != (b, 2) {
                crate::bail!("{ranges:?} for {b} sequences")
            }
            args.prefix_ranges = address(device, Some(ranges), DType::I32)?;
            (args.prefix_batch, args.max_prefix_ranges) = (u32_of(2 * most)?, u32_of(most)?);
        }
        if let Some(slopes) = self.alibi_slopes {
            if slopes.dims() != [*h] {
                crate::bail!("{slopes:?} for {h} heads")
            }
        }
        args.alibi_slopes = address(device, self.alibi_slopes, DType::F32)?;
        (args.b, args.seqlen_q, args.seqlen_k) = (u32_of(b)?, u32_of(longest_q)?, u32_of(longest_k)?);
        let window = |n: Option<usize>| n.filter(|n| *n <= longest_k).map_or(-1, |n| n as i32);
        (args.window_left, args.window_right) = (window(self.window_left), window(self.window_right));

        if q_l.shape().elem_count() > 0 {
            // SAFETY: the layouts stay within the memory; bounds of sequences, pages and ranges are the
            // caller's, as in candle's CUDA backend. The workspace is the plan's, and goes back in the
            // order of the stream.
            unsafe { launch(device, kind, &args)? }
        }
        Ok((out, q_l.shape().clone()))
    }
}

unsafe fn launch(device: &KpackDevice, kind: u32, args: &kpk_attention_args) -> Result<()> {
    let (instance, stream) = (device.instance().raw(), device.stream());
    let module = &kpk_module_candle__attention;
    let mut plan: kpk_attention_plan = std::mem::zeroed();
    let (cache, most) = (KPK_ATTENTION_SAME, u64::MAX);
    check(kpk_attention_choose(instance, module, kind, cache, args, most, &mut plan))?;
    let workspace = device.alloc(plan.workspace_nbytes as usize, DType::U8)?;
    let at = workspace.ptr(0).cast();
    let _recording = device.recording()?;
    check(kpk_attention_launch(instance, args, &plan, at, stream.raw()))
}
