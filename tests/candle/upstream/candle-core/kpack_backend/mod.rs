//! Backend on kpack: GPUs of AMD and NVIDIA by one code
//!
//! kpack's kernels have the names and arguments of candle's, compiled ahead of time for both vendors.
//! HIP or CUDA's driver is found when the program runs.

use crate::backend::{BackendDevice, BackendStorage};
use crate::conv;
use crate::op::{BinaryOpT, CmpOp, ReduceOp, UnaryOpT};
use crate::scalar::Scalar;
use crate::{CpuStorage, DType, Error, Layout, Result, Shape, WithDType};
pub use kpack;
use kpack::Buffer;
use std::mem::ManuallyDrop;
use std::sync::Arc;

mod attention;
mod attention_plan;
mod comm;
mod device;
mod gemm;
mod gemm_plan;
mod graph;
#[cfg(test)]
mod tests;
pub use crate::kpack_launch as launch;
pub use attention::{Attention, Sequences};
pub use comm::{Comm, Gather};
pub use device::{Argument, Info, KpackDevice};
pub use graph::KpackGraph;

use kpack::sys as k; // for attention_plan.rs, comm.rs and gemm_plan.rs

impl From<kpack::Error> for Error {
    fn from(error: kpack::Error) -> Self {
        Error::Kpack(Box::new(error)).bt()
    }
}

fn check(status: k::kpk_status) -> Result<()> {
    if status == k::KPK_OK {
        return Ok(());
    }
    // SAFETY: a NUL-terminated string of this thread, copied before its next call.
    let message = unsafe { std::ffi::CStr::from_ptr(k::kpk_error_message()) };
    Err(crate::Error::Kpack(message.to_string_lossy().into()).bt())
}

/// A number of a type.
pub fn scalar(dtype: DType, x: f64) -> Result<Scalar> {
    Ok(match dtype {
        DType::U8 => u8::from_f64(x).into(),
        DType::U32 => u32::from_f64(x).into(),
        DType::I16 => i16::from_f64(x).into(),
        DType::I32 => i32::from_f64(x).into(),
        DType::I64 => i64::from_f64(x).into(),
        DType::BF16 => half::bf16::from_f64(x).into(),
        DType::F16 => half::f16::from_f64(x).into(),
        DType::F32 => f32::from_f64(x).into(),
        DType::F64 => x.into(),
        DType::F8E4M3 => float8::F8E4M3::from_f64(x).into(),
        DType::F6E2M3 | DType::F6E3M2 | DType::F4 | DType::F8E8M0 => {
            return Err(Error::UnsupportedDTypeForOp(dtype, "number").bt())
        }
    })
}

/// Memory of a GPU, and what lies in it.
pub struct KpackStorage {
    data: ManuallyDrop<Buffer<u8>>,
    dtype: DType,
    device: KpackDevice,
    arena: Option<Arc<graph::Arena>>, // where the memory goes back to, instead of the pool
}

impl std::fmt::Debug for KpackStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KpackStorage({:?}, {:?})", self.dtype, self.data)
    }
}

impl Drop for KpackStorage {
    fn drop(&mut self) {
        // SAFETY: nobody has the memory after this.
        let data = unsafe { ManuallyDrop::take(&mut self.data) };
        if let Some(arena) = &self.arena {
            arena.give_back(data);
        }
    }
}

impl KpackDevice {
    pub(crate) fn zeros_of(&self, count: usize, dtype: DType) -> Result<KpackStorage> {
        self.zeros_impl(&Shape::from(count), dtype)
    }
}

impl KpackStorage {
    pub fn new(data: Buffer<u8>, dtype: DType, device: &KpackDevice) -> Self {
        Self::of(data, dtype, device, None)
    }

    fn of(
        data: Buffer<u8>,
        dtype: DType,
        device: &KpackDevice,
        arena: Option<Arc<graph::Arena>>,
    ) -> Self {
        KpackStorage {
            data: ManuallyDrop::new(data),
            dtype,
            device: device.clone(),
            arena,
        }
    }

    /// All bytes.
    pub fn data(&self) -> &Buffer<u8> {
        &self.data
    }

    pub fn data_mut(&mut self) -> &mut Buffer<u8> {
        &mut self.data
    }

    /// The address of an element. A kernel may write there what is borrowed mutably, or new.
    pub fn ptr(&self, element: usize) -> *mut u8 {
        let at = element * self.dtype.size_in_bytes();
        self.data.as_ptr().cast_mut().wrapping_add(at)
    }

    /// The address of a view's first element.
    pub fn start(&self, l: &Layout) -> *mut u8 {
        self.ptr(l.start_offset())
    }

    /// An uninitialised tensor of the same device.
    pub fn alloc(&self, count: usize, dtype: DType) -> Result<Self> {
        self.device.alloc(count, dtype)
    }

    /// The elements of a view one after the other, in memory of their own.
    pub fn contiguous(&self, l: &Layout) -> Result<Self> {
        let mut out = self.alloc(l.shape().elem_count(), self.dtype)?;
        self.copy_strided_src(&mut out, 0, l)?;
        Ok(out)
    }

    pub fn transfer_to_device(&self, to: &KpackDevice) -> Result<Self> {
        drop(self.device.refuse_to_record("copies to another GPU")?);
        drop(to.refuse_to_record("copies from another GPU")?);
        let mut data = to.stream().alloc(self.data.len())?;
        data.copy_from(self.data.as_view())?;
        Ok(Self::new(data, self.dtype, to))
    }

    /// The numbers of the smallest to the largest of each row of the last dimension, or backwards.
    pub(crate) fn arg_sort(&self, l: &Layout, asc: bool) -> Result<(Self, Shape)> {
        let (start, _) = l
            .contiguous_offsets()
            .ok_or(Error::RequiresContiguous { op: "arg-sort" })?;
        let n = l.shape().elem_count();
        let out = self.alloc(n, DType::U32)?;
        let columns = l.dims().last().copied().unwrap_or(1);

        if n > 0 {
            let name = self.name(if asc { "asort_asc" } else { "asort_desc" });
            let (size, from) = ((n / columns, columns), self.ptr(start));
            let (columns, padded) = (columns as i32, columns.next_power_of_two() as i32);
            // SAFETY: n elements of both.
            unsafe { launch!(self.device, "sort", name, size; from, out.ptr(0), columns, padded)? }
        }
        Ok((out, l.shape().clone()))
    }

    /// A kernel's name for the storage's type.
    fn name(&self, family: &str) -> String {
        format!("{family}_{}", self.dtype.as_str())
    }

    /// An operation on each element, with numbers before or after the memory.
    pub fn map(
        &self,
        module: &str,
        name: &str,
        l: &Layout,
        dtype: DType,
        before: &[Scalar],
        after: &[Scalar],
    ) -> Result<Self> {
        let n = l.shape().elem_count();
        let (rank, info) = (l.dims().len(), self.device.info_of(&[l])?);
        let (from, out) = (self.start(l), self.alloc(n, dtype)?);

        // SAFETY: the layout stays within the memory, `out` has n elements.
        unsafe { launch!(self.device, module, name, (n, 0); n, rank, info, before, from, out.ptr(0), after)? }
        Ok(out)
    }

    /// An operation on the elements of two tensors.
    fn zip(
        &self,
        name: &str,
        l: &Layout,
        other: &Self,
        other_l: &Layout,
        dtype: DType,
    ) -> Result<Self> {
        let n = l.shape().elem_count();
        let (rank, info) = (l.dims().len(), self.device.info_of(&[l, other_l])?);
        let (name, out) = (self.name(name), self.alloc(n, dtype)?);
        let (a, b) = (self.start(l), other.start(other_l));

        // SAFETY: as for map().
        unsafe { launch!(self.device, "binary", name, (n, 0); n, rank, info, a, b, out.ptr(0))? }
        Ok(out)
    }

    /// A module's kernel from views of one or two tensors to a new tensor, with sizes before.
    fn fill(
        &self,
        name: &str,
        n: usize,
        sizes: &[usize],
        l: &Layout,
        rank: usize,
        kernel: Option<(&Self, &Layout)>,
    ) -> Result<Self> {
        if l.dims().len() != rank {
            crate::bail!("{name} takes {rank} dimensions, not {:?}", l.dims())
        }
        let mut lists = vec![l.dims(), l.stride()];
        if let Some((_, kernel_l)) = kernel {
            lists.extend([kernel_l.dims(), kernel_l.stride()]);
        }
        let info = self.device.info(&lists)?;
        let (name, out) = (self.name(name), self.alloc(n, self.dtype)?);
        let weights = kernel.map(|(weights, l)| weights.start(l));
        let (from, weights) = (self.start(l), weights.as_slice());

        // SAFETY: the layouts stay within the memory, `out` has the n elements that the sizes make.
        unsafe { launch!(self.device, "conv", name, (n, 0); sizes, info, from, weights, out.ptr(0))? }
        Ok(out)
    }

    fn pool(
        &self,
        name: &str,
        l: &Layout,
        k: (usize, usize),
        stride: (usize, usize),
    ) -> Result<Self> {
        let (b, c, w, h) = l.shape().dims4()?;
        let n = b * c * ((w - k.0) / stride.0 + 1) * ((h - k.1) / stride.1 + 1);
        let sizes = [l.shape().elem_count(), k.0, k.1, stride.0, stride.1];
        self.fill(name, n, &sizes, l, 4, None)
    }

    /// Elements before and after a dimension, and its own length.
    fn around(l: &Layout, dim: usize, op: &'static str) -> Result<(usize, usize, usize, usize)> {
        let (start, _) = l
            .contiguous_offsets()
            .ok_or(Error::RequiresContiguous { op })?;
        let dims = l.dims();
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        Ok((
            start,
            product(&dims[..dim]),
            dims[dim],
            product(&dims[dim + 1..]),
        ))
    }

    /// Refuses another type than this storage's.
    pub fn same_dtype(&self, other: &Self, op: &'static str) -> Result<()> {
        if self.dtype == other.dtype {
            return Ok(());
        }
        Err(Error::DTypeMismatchBinaryOp {
            lhs: self.dtype,
            rhs: other.dtype,
            op,
        }
        .bt())
    }

    /// The kernel of a family for indices of this type.
    fn name_of_ids(&self, family: &str, ids: &Self) -> Result<String> {
        match ids.dtype {
            DType::U8 | DType::U32 | DType::I64 => {
                Ok(self.name(&format!("{family}_{}", ids.dtype.as_str())))
            }
            dtype => Err(Error::UnexpectedDType {
                msg: "indices are u8, u32 or i64",
                expected: DType::U32,
                got: dtype,
            }
            .bt()),
        }
    }

    /// scatter and scatter_add.
    fn scatter(
        &mut self,
        family: &str,
        l: &Layout,
        (ids, ids_l): (&Self, &Layout),
        (from, from_l): (&Self, &Layout),
        dim: usize,
    ) -> Result<()> {
        self.same_dtype(from, "scatter")?;
        let name = self.name_of_ids(family, ids)?;
        let (start, _, to_dim, _) = Self::around(l, dim, "scatter")?;
        let (ids_start, ..) = Self::around(ids_l, dim, "scatter")?;
        let (from_start, left, from_dim, right) = Self::around(from_l, dim, "scatter")?;

        let (ids, from, to) = (ids.ptr(ids_start), from.ptr(from_start), self.ptr(start));

        // SAFETY: candle has compared the dimensions; the kernel refuses indices outside.
        unsafe {
            launch!(self.device, "indexing", name, (left * right, 0);
                ids, from, to, left, from_dim, to_dim, right)
        }
    }
}

/// All elements on the host.
macro_rules! download {
    ($storage:expr, $($dtype:ident: $type:ty = $zero:expr;)*) => {
        match $storage.dtype {
            $(DType::$dtype => {
                let size = std::mem::size_of::<$type>();
                let mut out: Vec<$type> = vec![$zero; $storage.data.len() / size];
                // SAFETY: numbers, of which any bytes are values.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<u8>(), out.len() * size)
                };
                $storage.data.copy_to_slice(bytes)?;
                CpuStorage::$dtype(out)
            })*
        }
    };
}

impl BackendStorage for KpackStorage {
    type Device = KpackDevice;

    fn try_clone(&self, _: &Layout) -> Result<Self> {
        self.transfer_to_device(&self.device)
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> &KpackDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        drop(self.device.refuse_to_record("gives numbers to the host")?); // others may go on
        Ok(download! { self,
            U8: u8 = 0;
            U32: u32 = 0;
            I16: i16 = 0;
            I32: i32 = 0;
            I64: i64 = 0;
            BF16: half::bf16 = half::bf16::ZERO;
            F16: half::f16 = half::f16::ZERO;
            F32: f32 = 0.;
            F64: f64 = 0.;
            F8E4M3: float8::F8E4M3 = float8::F8E4M3::ZERO;
            F6E2M3: u8 = 0;
            F6E3M2: u8 = 0;
            F4: u8 = 0;
            F8E8M0: u8 = 0;
        })
    }

    fn affine(&self, l: &Layout, mul: f64, add: f64) -> Result<Self> {
        let numbers = [scalar(self.dtype, mul)?, scalar(self.dtype, add)?];
        self.map("affine", &self.name("affine"), l, self.dtype, &[], &numbers)
    }

    fn powf(&self, l: &Layout, e: f64) -> Result<Self> {
        self.map(
            "unary",
            &self.name("upowf"),
            l,
            self.dtype,
            &[scalar(self.dtype, e)?],
            &[],
        )
    }

    fn elu(&self, l: &Layout, alpha: f64) -> Result<Self> {
        self.map(
            "unary",
            &self.name("uelu"),
            l,
            self.dtype,
            &[scalar(self.dtype, alpha)?],
            &[],
        )
    }

    fn unary_impl<U: UnaryOpT>(&self, l: &Layout) -> Result<Self> {
        self.map("unary", &self.name(U::KERNEL), l, self.dtype, &[], &[])
    }

    fn to_dtype(&self, l: &Layout, dtype: DType) -> Result<Self> {
        let name = format!("cast_{}_{}", self.dtype.as_str(), dtype.as_str());
        self.map("cast", &name, l, dtype, &[], &[])
    }

    fn binary_impl<B: BinaryOpT>(
        &self,
        other: &Self,
        l: &Layout,
        other_l: &Layout,
    ) -> Result<Self> {
        self.zip(B::KERNEL, l, other, other_l, self.dtype)
    }

    fn cmp(&self, op: CmpOp, other: &Self, l: &Layout, other_l: &Layout) -> Result<Self> {
        let name = match op {
            CmpOp::Eq => "eq",
            CmpOp::Ne => "ne",
            CmpOp::Lt => "lt",
            CmpOp::Le => "le",
            CmpOp::Gt => "gt",
            CmpOp::Ge => "ge",
        };
        self.zip(name, l, other, other_l, DType::U8)
    }

    fn where_cond(
        &self,
        l: &Layout,
        t: &Self,
        t_l: &Layout,
        f: &Self,
        f_l: &Layout,
    ) -> Result<Self> {
        let n = l.shape().elem_count();
        let (rank, info) = (l.dims().len(), self.device.info_always(&[l, t_l, f_l])?);
        let (name, out) = (t.name_of_ids("where", self)?, self.alloc(n, t.dtype)?);
        let (ids, t, f) = (self.start(l), t.start(t_l), f.start(f_l));

        // SAFETY: as for map().
        unsafe { launch!(self.device, "ternary", name, (n, 0); n, rank, info, ids, t, f, out.ptr(0))? }
        Ok(out)
    }

    fn reduce_op(&self, op: ReduceOp, l: &Layout, reduced: &[usize]) -> Result<Self> {
        let (name, dtype) = match op {
            ReduceOp::Sum => ("fast_sum", self.dtype),
            ReduceOp::Min => ("fast_min", self.dtype),
            ReduceOp::Max => ("fast_max", self.dtype),
            ReduceOp::ArgMin => ("fast_argmin", DType::U32),
            ReduceOp::ArgMax => ("fast_argmax", DType::U32),
        };
        // The dimensions that are left, then those that go.
        let left = (0..l.dims().len()).filter(|dim| !reduced.contains(dim));
        let order: Vec<_> = left.chain(reduced.iter().copied()).collect();
        let of = |list: &[usize]| order.iter().map(|dim| list[*dim]).collect::<Vec<_>>();
        let (dims, strides) = (of(l.dims()), of(l.stride()));
        let kept = dims.len() - reduced.len();
        let (rows, columns): (usize, usize) =
            (dims[..kept].iter().product(), dims[kept..].iter().product());

        if columns == 0 {
            return match op {
                ReduceOp::Sum => self.device.zeros_of(rows, dtype),
                _ => Err(Error::EmptyTensor { op: "reduce" }.bt()),
            };
        }
        let info = self.device.info(&[&dims, &strides])?;
        let (name, out) = (self.name(name), self.alloc(rows, dtype)?);
        let (n, rank, from) = (rows * columns, dims.len(), self.start(l));

        // SAFETY: the layout stays within the memory, `out` has an element for each row.
        unsafe {
            launch!(self.device, "reduce", name, (rows, columns);
                n, columns, rank, info, from, out.ptr(0))?
        }
        Ok(out)
    }

    fn conv1d(&self, l: &Layout, k: &Self, k_l: &Layout, p: &conv::ParamsConv1D) -> Result<Self> {
        let (el, l_out) = (l.shape().elem_count(), p.l_out());
        let sizes = [el, l_out, p.stride, p.padding, p.dilation];
        self.fill(
            "conv1d",
            p.b_size * p.c_out * l_out,
            &sizes,
            l,
            3,
            Some((k, k_l)),
        )
    }

    fn conv_transpose1d(
        &self,
        l: &Layout,
        k: &Self,
        k_l: &Layout,
        p: &conv::ParamsConvTranspose1D,
    ) -> Result<Self> {
        let (el, l_out) = (l.shape().elem_count(), p.l_out());
        let sizes = [el, l_out, p.stride, p.padding, p.output_padding, p.dilation];
        self.fill(
            "conv_transpose1d",
            p.b_size * p.c_out * l_out,
            &sizes,
            l,
            3,
            Some((k, k_l)),
        )
    }

    fn conv2d(&self, l: &Layout, k: &Self, k_l: &Layout, p: &conv::ParamsConv2D) -> Result<Self> {
        let (el, w, h) = (l.shape().elem_count(), p.out_w(), p.out_h());
        let sizes = [el, w, h, p.stride, p.padding, p.dilation];
        self.fill(
            "conv2d",
            p.b_size * p.c_out * w * h,
            &sizes,
            l,
            4,
            Some((k, k_l)),
        )
    }

    fn conv_transpose2d(
        &self,
        l: &Layout,
        k: &Self,
        k_l: &Layout,
        p: &conv::ParamsConvTranspose2D,
    ) -> Result<Self> {
        let (el, w, h) = (l.shape().elem_count(), p.out_w(), p.out_h());
        let sizes = [el, w, h, p.stride, p.padding, p.output_padding, p.dilation];
        self.fill(
            "conv_transpose2d",
            p.b_size * p.c_out * w * h,
            &sizes,
            l,
            4,
            Some((k, k_l)),
        )
    }

    fn avg_pool2d(&self, l: &Layout, k: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        self.pool("avg_pool2d", l, k, stride)
    }

    fn max_pool2d(&self, l: &Layout, k: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        self.pool("max_pool2d", l, k, stride)
    }

    /// A row of an image is an image of one column.
    fn upsample_nearest1d(&self, l: &Layout, size: usize) -> Result<Self> {
        let (b, c, length) = l.shape().dims3()?;
        let strides = [l.stride(), &[1]].concat();
        let l = Layout::new((b, c, length, 1).into(), strides, l.start_offset());
        self.upsample_nearest2d(&l, size, 1)
    }

    fn upsample_nearest2d(&self, l: &Layout, w: usize, h: usize) -> Result<Self> {
        let (b, c, from_w, from_h) = l.shape().dims4()?;
        let (scale_w, scale_h) = (from_w as f64 / w as f64, from_h as f64 / h as f64);
        let info = self.device.info_always(&[l])?;
        let (n, name) = (b * c * w * h, self.name("upsample_nearest2d"));
        let (from, out) = (self.start(l), self.alloc(n, self.dtype)?);

        // SAFETY: the layout stays within the memory, `out` has n elements.
        unsafe {
            launch!(self.device, "conv", name, (n, 0);
                w, h, scale_w, scale_h, info, from, out.ptr(0))?
        }
        Ok(out)
    }

    fn upsample_bilinear2d(
        &self,
        l: &Layout,
        h: usize,
        w: usize,
        align_corners: bool,
        scale_h: Option<f64>,
        scale_w: Option<f64>,
    ) -> Result<Self> {
        let (b, c, _, _) = l.shape().dims4()?;
        let info = self.device.info_always(&[l])?;
        let (n, name) = (b * c * w * h, self.name("upsample_bilinear2d"));
        let (from, out) = (self.start(l), self.alloc(n, self.dtype)?);
        let given = |scale: Option<f64>| (scale.is_some(), scale.unwrap_or(0.));
        let ((has_h, scale_h), (has_w, scale_w)) = (given(scale_h), given(scale_w));

        // SAFETY: as above.
        unsafe {
            launch!(self.device, "conv", name, (n, 0);
                w, h, align_corners, has_h, scale_h, has_w, scale_w, info, from, out.ptr(0))?
        }
        Ok(out)
    }

    fn index_select(&self, ids: &Self, l: &Layout, ids_l: &Layout, dim: usize) -> Result<Self> {
        let (start, left, from_dim, right) = Self::around(l, dim, "index-select")?;
        let (rank, n_ids) = (ids_l.dims().len(), ids_l.shape().elem_count());
        let info = self.device.info_always(&[ids_l])?;
        let (n, name) = (left * n_ids * right, self.name_of_ids("is", ids)?);
        let out = self.alloc(n, self.dtype)?;
        let (ids, from, to) = (ids.start(ids_l), self.ptr(start), out.ptr(0));

        // SAFETY: `out` has n elements; the kernel reads nothing for indices outside.
        unsafe {
            launch!(self.device, "indexing", name, (n, 0);
                n, rank, info, ids, from, to, left, from_dim, n_ids, right)?
        }
        Ok(out)
    }

    fn gather(&self, l: &Layout, ids: &Self, ids_l: &Layout, dim: usize) -> Result<Self> {
        let (start, left, from_dim, right) = Self::around(l, dim, "gather")?;
        let (ids_start, _, ids_dim, _) = Self::around(ids_l, dim, "gather")?;
        let (n, name) = (ids_l.shape().elem_count(), self.name_of_ids("gather", ids)?);
        let out = self.alloc(n, self.dtype)?;
        let (ids, from, to) = (ids.ptr(ids_start), self.ptr(start), out.ptr(0));

        // SAFETY: as above.
        unsafe {
            launch!(self.device, "indexing", name, (n, 0);
                n, ids, from, to, left, from_dim, ids_dim, right)?
        }
        Ok(out)
    }

    fn scatter_set(
        &mut self,
        l: &Layout,
        ids: &Self,
        ids_l: &Layout,
        from: &Self,
        from_l: &Layout,
        dim: usize,
    ) -> Result<()> {
        self.scatter("s", l, (ids, ids_l), (from, from_l), dim)
    }

    fn scatter_add_set(
        &mut self,
        l: &Layout,
        ids: &Self,
        ids_l: &Layout,
        from: &Self,
        from_l: &Layout,
        dim: usize,
    ) -> Result<()> {
        self.scatter("sa", l, (ids, ids_l), (from, from_l), dim)
    }

    fn index_add(
        &self,
        l: &Layout,
        ids: &Self,
        ids_l: &Layout,
        from: &Self,
        from_l: &Layout,
        dim: usize,
    ) -> Result<Self> {
        self.same_dtype(from, "index-add")?;
        let out = self.contiguous(l)?;
        let (from_start, left, from_dim, right) = Self::around(from_l, dim, "index-add")?;
        let (ids_start, _) = ids_l
            .contiguous_offsets()
            .ok_or(Error::RequiresContiguous { op: "index-add" })?;
        let (name, n_ids, to_dim) = (self.name_of_ids("ia", ids)?, ids_l.dims()[0], l.dims()[dim]);
        let (ids, from, to) = (ids.ptr(ids_start), from.ptr(from_start), out.ptr(0));

        // SAFETY: candle has compared the dimensions; the kernel refuses indices outside.
        unsafe {
            launch!(self.device, "indexing", name, (left * right, 0);
                ids, n_ids, from, to, left, from_dim, to_dim, right)?
        }
        Ok(out)
    }

    fn matmul(
        &self,
        other: &Self,
        bmnk: (usize, usize, usize, usize),
        l: &Layout,
        other_l: &Layout,
    ) -> Result<Self> {
        gemm::matmul(self, other, bmnk, l, other_l)
    }

    fn copy_strided_src(&self, to: &mut Self, to_start: usize, l: &Layout) -> Result<()> {
        let n = l.shape().elem_count();
        if n == 0 {
            return Ok(());
        }
        if l.is_contiguous() {
            let size = self.dtype.size_in_bytes();
            let range = |start: usize| start * size..(start + n) * size;
            let from = self.data.slice(range(l.start_offset()));
            return Ok(to.data.slice_mut(range(to_start)).copy_from(from)?);
        }
        let (rank, info) = (l.dims().len(), self.device.info_of(&[l])?);
        let (name, from, to) = (self.name("ucopy"), self.start(l), to.ptr(to_start));
        // SAFETY: candle has made room for n elements from `to_start` on.
        unsafe { launch!(self.device, "unary", name, (n, 0); n, rank, info, from, to) }
    }

    fn copy2d(
        &self,
        to: &mut Self,
        rows: usize,
        columns: usize,
        stride: usize,
        to_stride: usize,
        start: usize,
        to_start: usize,
    ) -> Result<()> {
        let (name, from, to) = (self.name("copy2d"), self.ptr(start), to.ptr(to_start));
        let sizes = [rows, columns, stride, to_stride].map(|size| size as u32);
        // SAFETY: candle has compared the dimensions.
        unsafe {
            launch!(self.device, "fill", name, (rows * columns, 0); from, to, sizes.as_slice())
        }
    }

    fn const_set(&mut self, x: Scalar, l: &Layout) -> Result<()> {
        let n = l.shape().elem_count();
        let (rank, info) = (l.dims().len(), self.device.info_of(&[l])?);
        let (name, to) = (self.name("const_set"), self.start(l));
        // SAFETY: the layout stays within the memory.
        unsafe { launch!(self.device, "fill", name, (n, 0); n, rank, info, x, to) }
    }
}
