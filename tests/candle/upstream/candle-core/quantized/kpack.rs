//! Quantized tensors on kpack's backend

use super::{GgmlDType, QStorage, QuantizedType};
use crate::backend::BackendStorage;
use crate::kpack_backend::kpack::{Buffer, Shape as Launch};
use crate::kpack_backend::{launch, KpackDevice, KpackStorage};
use crate::{CpuStorage, DType, Layout, Result, Shape};

/// Rows of Q8_1 are as long as the next multiple of this.
const ROW_PADDING: usize = 512;
const Q8_1_BLOCK: usize = 32;
const Q8_1_BYTES: usize = 36;
/// The most rows that a matrix is multiplied by as vectors.
const MOST_VECTORS: usize = 8;
/// The most blocks of a grid in y.
const MOST_ROWS: usize = 65535;

pub struct QKpackStorage {
    data: Buffer<u8>,
    dtype: GgmlDType,
    device: KpackDevice,
}

/// The format in kernels' names, if there are kernels for its products.
fn format(dtype: GgmlDType) -> Option<&'static str> {
    Some(match dtype {
        GgmlDType::Q4_0 => "q4_0",
        GgmlDType::Q4_1 => "q4_1",
        GgmlDType::Q5_0 => "q5_0",
        GgmlDType::Q5_1 => "q5_1",
        GgmlDType::Q8_0 => "q8_0",
        GgmlDType::Q2K => "q2_K",
        GgmlDType::Q3K => "q3_K",
        GgmlDType::Q4K => "q4_K",
        GgmlDType::Q5K => "q5_K",
        GgmlDType::Q6K => "q6_K",
        GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 | GgmlDType::Q8_1 | GgmlDType::Q8K => {
            return None
        }
    })
}

fn bytes(blocks: &dyn QuantizedType) -> &[u8] {
    // SAFETY: blocks of numbers.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr(), blocks.storage_size_in_bytes()) }
}

/// Rows of k f32 as rows of padded Q8_1 blocks, whose sums are of the rounded numbers: as the CPU
/// backend multiplies, and nearer to products of f32 than sums of the numbers themselves.
pub fn quantize_rows(
    device: &KpackDevice,
    from: *mut u8,
    rows: usize,
    k: usize,
) -> Result<Buffer<u8>> {
    let padded = k.next_multiple_of(ROW_PADDING);
    let row_nbytes = padded / Q8_1_BLOCK * Q8_1_BYTES;
    let mut out = device.stream().alloc::<u8>(rows * row_nbytes)?;
    let kernel = device.kernel("quantized", "quantize_q8_1_quants")?;

    for first in (0..rows).step_by(MOST_ROWS) {
        let some = MOST_ROWS.min(rows - first);
        let shape = Launch {
            grid: [padded.div_ceil(256) as u32, some as u32, 1],
            block: [256, 1, 1],
            shared_nbytes: 0,
        };
        let x = from.wrapping_add(first * k * std::mem::size_of::<f32>());
        let y = out.as_mut_ptr().wrapping_add(first * row_nbytes);
        let (k, padded) = (k as i32, padded as i32);
        // SAFETY: so many rows of both.
        unsafe { launch!(device, kernel, shape; x, y, k, padded)? }
    }
    Ok(out)
}

impl QKpackStorage {
    fn from_bytes(device: &KpackDevice, data: &[u8], dtype: GgmlDType) -> Result<Self> {
        Ok(QKpackStorage {
            data: device.stream().upload(data)?,
            dtype,
            device: device.clone(),
        })
    }

    pub fn zeros(device: &KpackDevice, count: usize, dtype: GgmlDType) -> Result<Self> {
        let nbytes = count.div_ceil(dtype.block_size()) * dtype.type_size();
        Ok(QKpackStorage {
            data: device.stream().zeros(nbytes)?,
            dtype,
            device: device.clone(),
        })
    }

    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    pub fn device(&self) -> &KpackDevice {
        &self.device
    }

    pub fn storage_size_in_bytes(&self) -> usize {
        self.data.len()
    }

    pub fn device_ptr(&self) -> Result<*const u8> {
        Ok(self.data.as_ptr())
    }

    pub fn data(&self) -> Result<Vec<u8>> {
        Ok(self.data.to_vec()?)
    }

    fn ptr(&self) -> *mut u8 {
        self.data.as_ptr().cast_mut()
    }

    // ---- quantizing is the host's ----

    fn quantize_by(
        &mut self,
        from: &CpuStorage,
        quantize: impl FnOnce(&mut dyn QuantizedType, &[f32]),
    ) -> Result<()> {
        let from = from.as_slice::<f32>()?;
        let mut blocks = self.dtype.cpu_zeros(from.len());
        quantize(blocks.as_mut(), from);
        *self = Self::from_bytes(&self.device, bytes(blocks.as_ref()), self.dtype)?;
        Ok(())
    }

    pub fn quantize(&mut self, from: &KpackStorage) -> Result<()> {
        self.quantize_onto(&from.to_cpu_storage()?)
    }

    pub fn quantize_onto(&mut self, from: &CpuStorage) -> Result<()> {
        self.quantize_by(from, |blocks, from| blocks.from_float(from))
    }

    pub fn quantize_imatrix(
        &mut self,
        from: &KpackStorage,
        weights: &[f32],
        row: usize,
    ) -> Result<()> {
        self.quantize_imatrix_onto(&from.to_cpu_storage()?, weights, row)
    }

    pub fn quantize_imatrix_onto(
        &mut self,
        from: &CpuStorage,
        weights: &[f32],
        row: usize,
    ) -> Result<()> {
        self.quantize_by(from, |blocks, from| {
            blocks.from_float_imatrix(from, weights, row)
        })
    }

    // ---- and back ----

    fn dequantize_to(&self, count: usize, dtype: DType) -> Result<KpackStorage> {
        let name = match (self.dtype, format(self.dtype)) {
            (GgmlDType::Q8K, _) => "q8_K",
            (_, Some(name)) => name,
            _ => {
                let host = self
                    .dtype
                    .from_data(self.data()?.into())
                    .dequantize(count)?;
                let out =
                    crate::backend::BackendDevice::storage_from_cpu_storage(&self.device, &host)?;
                return out.to_dtype(&Layout::contiguous(count), dtype);
            }
        };
        let out = self.device.alloc(count, dtype)?;
        let (from, to) = (self.ptr(), out.ptr(0));
        let numbers = match self.dtype {
            GgmlDType::Q5_0 | GgmlDType::Q5_1 => Some(count as i32),
            GgmlDType::Q4_0 | GgmlDType::Q4_1 | GgmlDType::Q8_0 => Some((count / 32) as i32),
            _ => None,
        };
        let name = format!("dequantize_block_{name}_{}", dtype.as_str());
        // SAFETY: `count` numbers of both.
        unsafe { launch!(self.device, "quantized", name, (count, 0); from, to, numbers.as_slice())? }
        Ok(out)
    }

    pub fn dequantize(&self, count: usize) -> Result<KpackStorage> {
        self.dequantize_to(count, DType::F32)
    }

    pub fn dequantize_f16(&self, count: usize) -> Result<KpackStorage> {
        self.dequantize_to(count, DType::F16)
    }

    pub fn embedding(
        &self,
        rows: usize,
        hidden: usize,
        ids: &KpackStorage,
        ids_l: &Layout,
    ) -> Result<KpackStorage> {
        let (start, end) = ids_l
            .contiguous_offsets()
            .ok_or(crate::Error::RequiresContiguous { op: "embedding" })?;
        let name = match (self.dtype, format(self.dtype)) {
            (GgmlDType::F32, _) => "f32",
            (GgmlDType::F16, _) => "f16",
            (GgmlDType::BF16, _) => "bf16",
            (_, Some(name)) => name,
            (dtype, None) => crate::bail!("no embedding of {dtype:?}"),
        };
        let row_nbytes = hidden / self.dtype.block_size() * self.dtype.type_size();
        if rows * row_nbytes > self.data.len() {
            crate::bail!("{rows} rows of {row_nbytes} bytes in {}", self.data.len())
        }
        let out = self.device.alloc((end - start) * hidden, DType::F32)?;
        let name = format!("get_rows_{name}");
        let (ids, to, columns) = (ids.ptr(start), out.ptr(0), hidden as i64);
        // SAFETY: a row of `out` for each index; candle looks at no index, as its other backends.
        unsafe {
            launch!(self.device, "quantized", name, (end - start, hidden);
                self.ptr(), ids, to, columns, row_nbytes)?
        }
        Ok(out)
    }

    // ---- products ----

    /// x w', for a matrix of weights w: [n, k].
    pub fn fwd(&self, w: &Shape, x: &KpackStorage, l: &Layout) -> Result<(KpackStorage, Shape)> {
        let (n, k) = w.dims2()?;
        let (rows, mut dims) = (l.shape().elem_count() / k.max(1), l.dims().to_vec());
        if dims.pop() != Some(k) {
            crate::bail!("{:?} times the transpose of {w:?}", l.shape())
        }
        dims.push(n);
        let copy;
        let (x, start) = match l.contiguous_offsets() {
            Some((start, _)) => (x, start),
            None => {
                copy = x.contiguous(l)?;
                (&copy, 0)
            }
        };
        let out = match format(self.dtype) {
            None => {
                let weights = self.dequantize(n * k)?;
                let weights = weights.to_dtype(&Layout::contiguous(n * k), x.dtype())?;
                let l = Layout::contiguous_with_offset((rows, k), start);
                let weights_l = Layout::contiguous((n, k)).transpose(0, 1)?;
                x.matmul(&weights, (1, rows, n, k), &l, &weights_l)?
            }
            Some(format) => {
                let l = Layout::contiguous_with_offset((rows, k), start);
                let x_f32 = match x.dtype() {
                    DType::F32 => None,
                    _ => Some(x.to_dtype(&l, DType::F32)?),
                };
                let from = x_f32.as_ref().map_or_else(|| x.ptr(start), |x| x.ptr(0));
                let quants = quantize_rows(&self.device, from, rows, k)?;
                if (1..=MOST_VECTORS).contains(&rows) {
                    self.times_vectors(format, (n, k), &quants, x.dtype(), rows)?
                } else {
                    let out = self.times_rows(format, (n, k), &quants, rows)?;
                    match x.dtype() {
                        DType::F32 => out,
                        dtype => out.to_dtype(&Layout::contiguous(rows * n), dtype)?,
                    }
                }
            }
        };
        Ok((out, dims.into()))
    }

    fn times_vectors(
        &self,
        format: &str,
        (n, k): (usize, usize),
        quants: &Buffer<u8>,
        dtype: DType,
        rows: usize,
    ) -> Result<KpackStorage> {
        let numbers = dtype.as_str();
        let out = self.device.alloc(rows * n, dtype)?;
        let name = format!(
            "mmvq_gguf_{}_{numbers}_plain_cuda{rows}",
            format.to_lowercase()
        );
        let blocks = k.next_multiple_of(ROW_PADDING) / Q8_1_BLOCK;
        let (from, to) = (quants.as_ptr(), out.ptr(0));
        let sizes = [k, n, blocks, n].map(|size| size as i32);
        // SAFETY: weights [n, k], so many rows of quants and of `out`.
        unsafe {
            launch!(self.device, "mmvq_gguf", name, (n, 0); self.ptr(), from, to, sizes.as_slice())?
        }
        Ok(out)
    }

    fn times_rows(
        &self,
        format: &str,
        (n, k): (usize, usize),
        quants: &Buffer<u8>,
        rows: usize,
    ) -> Result<KpackStorage> {
        let out = self.device.alloc(rows * n, DType::F32)?;
        let (name, from, to) = (format!("mul_mat_{format}"), quants.as_ptr(), out.ptr(0));
        let sizes = [k, n, rows, k.next_multiple_of(ROW_PADDING), n].map(|size| size as i32);
        // SAFETY: as above.
        unsafe {
            launch!(self.device, "quantized", name, (n, rows);
                self.ptr(), from, to, sizes.as_slice())?
        }
        Ok(out)
    }

    /// Each row of x [batch, 1 or topk, k] times the weights of experts [experts, n, k] that `ids`
    /// [batch, topk] name.
    pub fn indexed_moe_forward(
        &self,
        w: &Shape,
        x: &KpackStorage,
        l: &Layout,
        ids: &KpackStorage,
        ids_l: &Layout,
    ) -> Result<(KpackStorage, Shape)> {
        let name = match self.dtype {
            GgmlDType::Q8_0 => "q8_0",
            GgmlDType::Q2K => "q2k",
            GgmlDType::Q3K => "q3k",
            GgmlDType::Q4K => "q4k",
            GgmlDType::Q5K => "q5k",
            GgmlDType::Q6K => "q6k",
            dtype => crate::bail!("no experts of {dtype:?}"),
        };
        let ((_, n, k), (batch, per_token, x_k)) = (w.dims3()?, l.shape().dims3()?);
        let (ids_batch, topk) = ids_l.shape().dims2()?;
        if (x.dtype(), ids.dtype()) != (DType::F32, DType::U32) {
            crate::bail!(
                "experts take f32 and u32, not {:?} and {:?}",
                x.dtype(),
                ids.dtype()
            )
        }
        if x_k != k || ids_batch != batch || (per_token != 1 && per_token != topk) {
            crate::bail!("{:?} times experts {w:?} by {:?}", l.shape(), ids_l.shape())
        }
        let (x, ids) = (x.contiguous(l)?, ids.contiguous(ids_l)?);
        let quants = quantize_rows(&self.device, x.ptr(0), batch * per_token, k)?;
        let out = self.device.alloc(batch * topk * n, DType::F32)?;
        let kernel = self
            .device
            .kernel("quantized", &format!("indexed_moe_forward_{name}_q8_1"))?;
        let shape = Launch {
            grid: [n as u32, batch as u32, topk as u32],
            block: [32, 4, 1],
            shared_nbytes: 0,
        };
        let (from, ids, to) = (quants.as_ptr(), ids.ptr(0), out.ptr(0));
        let padded = k.next_multiple_of(ROW_PADDING);
        let sizes = [n, k, batch, topk, padded, per_token].map(|size| size as i32);
        // SAFETY: sizes by the shapes; indices are the caller's, as in candle's other backends.
        unsafe {
            launch!(self.device, kernel, shape; self.ptr(), from, ids, to, sizes.as_slice())?
        }
        Ok((out, (batch, topk, n).into()))
    }
}

pub fn load_quantized<T: super::GgmlType + Send + Sync + 'static>(
    device: &KpackDevice,
    data: &[T],
) -> Result<QStorage> {
    // SAFETY: blocks of numbers.
    let bytes = unsafe {
        std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), std::mem::size_of_val(data))
    };
    Ok(QStorage::Kpack(QKpackStorage::from_bytes(
        device,
        bytes,
        T::DTYPE,
    )?))
}
