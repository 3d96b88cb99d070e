//! Products of matrices by module `gemm`

use super::gemm_plan::*;
use super::{check, KpackStorage};
use crate::backend::BackendStorage;
use crate::{DType, Layout, Result};

/// How a matrix of rows x columns lies: whether it is the transpose of the one that lies there, the
/// distance of its rows there, and that of the matrices of a batch. None if no product reads it so.
fn lies(l: &Layout, rows: usize, columns: usize) -> Option<(bool, usize, usize)> {
    let (strides, dims) = (l.stride(), l.dims());
    let [before @ .., s2, s1] = strides else {
        return None;
    };
    let (transposed, distance) = if (*s1 == 1 || columns == 1) && (*s2 == columns || rows == 1) {
        (false, columns)
    } else if (*s1 == rows || columns == 1) && (*s2 == 1 || rows == 1) {
        (true, rows)
    } else if *s1 == 1 && *s2 > columns {
        (false, *s2)
    } else if *s2 == 1 && *s1 > rows {
        (true, *s1)
    } else {
        return None;
    };
    let stride = match before {
        [] => rows * columns,
        [stride] => *stride,
        [_, stride] if dims[0] == 1 => *stride,
        [stride, _] if dims[1] == 1 => *stride,
        [outer, stride] if *outer == stride * dims[1] => *stride,
        _ if l.is_contiguous() => rows * columns,
        _ => return None,
    };
    Some((transposed, distance, stride))
}

/// c = a b, for each matrix of a batch.
pub fn matmul(
    a: &KpackStorage,
    b: &KpackStorage,
    (batch, m, n, inner): (usize, usize, usize, usize),
    a_l: &Layout,
    b_l: &Layout,
) -> Result<KpackStorage> {
    let dtype = a.dtype();
    let kind = match (dtype, b.dtype()) {
        (DType::F16, DType::F16) => KPK_GEMM_F16,
        (DType::BF16, DType::BF16) => KPK_GEMM_BF16,
        (DType::F32, DType::F32) => KPK_GEMM_F32,
        (DType::F64, DType::F64) => KPK_GEMM_F64,
        _ => return Err(crate::Error::UnsupportedDTypeForOp(dtype, "matmul").bt()),
    };
    let device = a.device();

    if batch * m * n == 0 || inner == 0 {
        return device.zeros_of(batch * m * n, dtype);
    }
    let (Some(a_lies), Some(b_lies)) = (lies(a_l, m, inner), lies(b_l, inner, n)) else {
        let (a_copy, b_copy) = (a.contiguous(a_l)?, b.contiguous(b_l)?);
        let (a_l, b_l) = (
            Layout::contiguous(a_l.shape()),
            Layout::contiguous(b_l.shape()),
        );
        return matmul(&a_copy, &b_copy, (batch, m, n, inner), &a_l, &b_l);
    };
    let out = device.alloc(batch * m * n, dtype)?;
    let product = kpk_gemm_product {
        kind,
        trans_a: a_lies.0.into(),
        trans_b: b_lies.0.into(),
        m: u32::try_from(m)?,
        n: u32::try_from(n)?,
        k: u32::try_from(inner)?,
        batch: u32::try_from(batch)?,
    };
    let operands = kpk_gemm_operands {
        a: a.ptr(a_l.start_offset()).cast(),
        b: b.ptr(b_l.start_offset()).cast(),
        c: out.ptr(0).cast(),
        bias: std::ptr::null(),
        lda: u32::try_from(a_lies.1)?,
        ldb: u32::try_from(b_lies.1)?,
        ldc: product.n,
        stride_a: a_lies.2 as i64,
        stride_b: b_lies.2 as i64,
        stride_c: (m * n) as i64,
        alpha: 1.,
        beta: 0.,
    };
    let instance = device.instance().raw();

    // SAFETY: the matrices have the extent that their layouts say; the workspace is the plan's, and is
    // given back in the order of the stream.
    unsafe {
        let mut plan: kpk_gemm_plan = std::mem::zeroed();
        let module = &kpk_module_candle__gemm;
        check(kpk_gemm_choose(
            instance,
            module,
            &product,
            u64::MAX,
            &mut plan,
        ))?;
        let workspace = device.alloc(plan.workspace_nbytes as usize, DType::U8)?;
        let _recording = device.recording()?;
        check(kpk_gemm_launch(
            instance,
            &product,
            &plan,
            &operands,
            workspace.ptr(0).cast(),
            device.stream().raw(),
        ))?;
    }
    Ok(out)
}
