//! Products of tokens and the experts that they chose

use candle::kpack_backend::{launch, KpackDevice};
use candle::op::BackpropOp;
use candle::quantized::kpack::quantize_rows;
use candle::quantized::{GgmlDType, QTensor};
use candle::{DType, Result, Storage, Tensor};

/// What all three products take.
struct Experts<'a> {
    device: &'a KpackDevice,
    /// Rows of the output, sorted by their experts.
    rows: *mut u8,
    /// Their experts.
    ids: *mut u8,
    /// By which rows of the output are multiplied.
    factors: *mut u8,
    experts: usize,
    topk: usize,
    m: usize,
    n: usize,
    k: usize,
}

impl<'a> Experts<'a> {
    fn new(
        input: &'a Tensor,
        weights: (usize, usize, usize),
        factors: &Option<Tensor>,
        rows: &Tensor,
        ids: &Tensor,
        topk: usize,
    ) -> Result<Self> {
        let ((tokens, k), (experts, n, weights_k)) = (input.dims2()?, weights);
        // Without factors the rows of a token's experts are the token's own.
        let m = if factors.is_some() {
            tokens
        } else {
            tokens * topk
        };
        let counts = [rows.elem_count(), ids.elem_count()];
        let of_factors = factors.as_ref().map_or(m, |factors| factors.elem_count());
        if k != weights_k || counts != [m; 2] || of_factors != m {
            candle::bail!("{tokens} tokens of {k}, {counts:?} rows, experts of {weights_k}")
        }
        let device = input.device().as_kpack_device()?;
        Ok(Experts {
            device,
            rows: device.address(rows, DType::U32)?,
            ids: device.address(ids, DType::U32)?,
            factors: match factors {
                Some(factors) => device.address(factors, DType::F32)?,
                None => std::ptr::null_mut(),
            },
            experts,
            topk,
            m,
            n,
            k,
        })
    }

    /// Launches a kernel that takes these addresses, by the experts' or by where their rows begin.
    fn product(
        &self,
        name: &str,
        shape: (usize, usize),
        (first, second): (*const u8, *const u8),
        ids: *const u8,
        dtype: DType,
        padded: Option<usize>,
    ) -> Result<Tensor> {
        let out = self.device.alloc(self.m * self.n, dtype)?;
        let (device, rows, factors, to) = (self.device, self.rows, self.factors, out.ptr(0));
        let sizes = [self.experts, self.topk, self.m, self.n, self.k];
        let sizes: Vec<_> = sizes
            .into_iter()
            .chain(padded)
            .map(|size| size as i32)
            .collect();

        // SAFETY: the sizes have been compared; the kernel passes over experts that there are not.
        unsafe {
            launch!(device, "moe", name, shape;
                first, second, rows, ids, factors, to, sizes.as_slice())?
        }
        let shape = (self.m, self.n);
        Ok(Tensor::from_storage(
            Storage::Kpack(out),
            shape,
            BackpropOp::none(),
            false,
        ))
    }

    /// The same, of rows that are sorted by experts.
    fn product_by_offsets(
        &self,
        name: &str,
        operands: (*const u8, *const u8),
        dtype: DType,
    ) -> Result<Tensor> {
        let count = self.experts + 1;
        let offsets = self.device.stream().alloc::<u8>(count * 4)?;
        let at = offsets.as_ptr();
        let (ids, m, experts) = (self.ids, self.m as i32, self.experts as i32);
        // SAFETY: an offset for each expert, and the end.
        unsafe {
            launch!(self.device, "moe", "moe_expert_offsets", (count, 0); ids, at, m, experts)?
        }
        self.product(name, (self.experts, self.n), operands, at, dtype, None)
    }
}

pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
) -> Result<Tensor> {
    let dtype = input.dtype();
    if !matches!(dtype, DType::F16 | DType::BF16) {
        candle::bail!("moe_gemm takes f16 and bf16, not {dtype:?}")
    }
    let (sizes, rows) = (weights.dims3()?, sorted_token_ids);
    let experts = Experts::new(input, sizes, topk_weights, rows, experts_ids, topk)?;
    let operands = (
        experts.device.address(input, dtype)?.cast_const(),
        experts.device.address(weights, dtype)?.cast_const(),
    );
    experts.product_by_offsets(&format!("moe_gemm_{}", dtype.as_str()), operands, dtype)
}

#[allow(clippy::too_many_arguments)]
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    is_prefill: bool,
    dtype: DType,
) -> Result<Tensor> {
    let format = match weights.dtype() {
        GgmlDType::Q8_0 => "q8_0",
        GgmlDType::Q2K => "q2_k",
        GgmlDType::Q3K => "q3_k",
        GgmlDType::Q4K => "q4_k",
        GgmlDType::Q5K => "q5_k",
        GgmlDType::Q6K => "q6_k",
        format => candle::bail!("no experts of {format:?}"),
    };
    let (sizes, rows) = (weights.shape().dims3()?, sorted_token_ids);
    let experts = Experts::new(input, sizes, topk_weights, rows, experts_ids, topk)?;
    let weights = weights.device_ptr()?;
    if is_prefill {
        let dtype = if dtype == DType::F16 {
            dtype
        } else {
            DType::BF16
        };
        let input = input.to_dtype(dtype)?;
        let name = format!("moe_gemm_gguf_prefill_{}_{format}", dtype.as_str());
        let operands = (experts.device.address(&input, dtype)?.cast_const(), weights);
        return experts.product_by_offsets(&name, operands, DType::F32);
    }
    let (from, k) = (experts.device.address(input, DType::F32)?, experts.k);
    let quants = quantize_rows(experts.device, from, input.dim(0)?, k)?;
    let padded = Some(k.next_multiple_of(512));
    let operands = (weights, quants.as_ptr());
    let name = format!("moe_gemm_gguf_{format}");
    let shape = (experts.n, experts.m);
    experts.product(&name, shape, operands, experts.ids, DType::F32, padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle::Device;

    const EXPERTS: usize = 3;
    const TOPK: usize = 2;
    const N: usize = 8;
    const K: usize = 256;

    /// Five tokens, and the rows of the output by their experts.
    fn choice(gpu: &Device) -> Result<(Vec<u32>, Tensor, Tensor)> {
        let chosen = vec![2u32, 0, 1, 2, 0, 1, 2, 1, 0, 2];
        let mut rows: Vec<u32> = (0..chosen.len() as u32).collect();
        rows.sort_by_key(|row| chosen[*row as usize]);
        let ids: Vec<u32> = rows.iter().map(|row| chosen[*row as usize]).collect();
        let n = rows.len();
        let (rows, ids) = (
            Tensor::from_vec(rows, n, gpu)?,
            Tensor::from_vec(ids, n, gpu)?,
        );
        Ok((chosen, rows, ids))
    }

    fn numbers(shape: &[usize], gpu: &Device) -> Result<Tensor> {
        let n = shape.iter().product::<usize>() as u32;
        (Tensor::arange(0u32, n, gpu)?.to_dtype(DType::F32)? / 64.)?
            .cos()?
            .reshape(shape)
    }

    /// Row by row: x [rows, k] by the chosen experts of w.
    fn wanted(x: &Tensor, w: &Tensor, chosen: &[u32], factors: &Option<Tensor>) -> Result<Tensor> {
        let rows = chosen.iter().enumerate().map(|(row, expert)| {
            let from = if factors.is_some() { row } else { row / TOPK };
            x.get(from)?
                .unsqueeze(0)?
                .matmul(&w.get(*expert as usize)?.t()?)
        });
        let rows = Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 0)?;
        match factors {
            Some(factors) => rows.broadcast_mul(&factors.unsqueeze(1)?),
            None => Ok(rows),
        }
    }

    fn near(out: &Tensor, wanted: &Tensor) -> Result<bool> {
        let largest = |x: &Tensor| x.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>();
        let apart = (out.to_dtype(DType::F32)? - wanted)?;
        Ok(largest(&apart)? < 0.02 * largest(wanted)?)
    }

    #[test]
    fn experts_of_halves_on_a_gpu() -> Result<()> {
        let gpu = Device::new_kpack(0)?;
        let (chosen, rows, ids) = choice(&gpu)?;
        let weights = numbers(&[EXPERTS, N, K], &gpu)?;
        for dtype in [DType::F16, DType::BF16] {
            let w = weights.to_dtype(dtype)?;
            for factors in [None, Some(numbers(&[chosen.len()], &gpu)?)] {
                let tokens = chosen.len() / if factors.is_some() { 1 } else { TOPK };
                let x = numbers(&[tokens, K], &gpu)?;
                let out = moe_gemm(&x.to_dtype(dtype)?, &w, &factors, &rows, &ids, TOPK, true)?;
                assert_eq!(out.dtype(), dtype);
                assert!(
                    near(&out, &wanted(&x, &weights, &chosen, &factors)?)?,
                    "{dtype:?}"
                );
            }
        }
        let x = numbers(&[4, K], &gpu)?.to_dtype(DType::F16)?;
        let w = weights.to_dtype(DType::F16)?;
        assert!(moe_gemm(&x, &w, &None, &rows, &ids, TOPK, true).is_err());
        Ok(())
    }

    #[test]
    fn quantized_experts_on_a_gpu() -> Result<()> {
        let gpu = Device::new_kpack(0)?;
        let (chosen, rows, ids) = choice(&gpu)?;
        let x = numbers(&[chosen.len() / TOPK, K], &gpu)?;
        for format in [
            GgmlDType::Q8_0,
            GgmlDType::Q2K,
            GgmlDType::Q4K,
            GgmlDType::Q6K,
        ] {
            let w = QTensor::quantize(&numbers(&[EXPERTS, N, K], &gpu)?, format)?;
            let wanted = wanted(&x, &w.dequantize(&gpu)?, &chosen, &None)?;
            for (prefill, dtype) in [(false, DType::F32), (true, DType::F16), (true, DType::BF16)] {
                let out = moe_gemm_gguf(&x, &w, &None, &rows, &ids, TOPK, prefill, dtype)?;
                assert!(near(&out, &wanted)?, "{format:?} {prefill} {dtype:?}");
            }
        }
        Ok(())
    }
}
