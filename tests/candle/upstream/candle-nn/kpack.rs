//! Operations of this crate on kpack's backend

pub(crate) mod moe;

use candle::backend::BackendStorage;
use candle::kpack_backend::launch;
use candle::{KpackStorage, Layout, Result, Shape};

type Operand<'a> = (&'a KpackStorage, &'a Layout);

fn name(family: &str, x: &KpackStorage) -> String {
    format!("{family}_{}", x.dtype().as_str())
}

/// The address of a tensor of the same type as `like`, without gaps.
fn address((x, l): Operand<'_>, like: &KpackStorage, op: &'static str) -> Result<*mut u8> {
    like.same_dtype(x, op)?;
    match l.contiguous_offsets() {
        Some((start, _)) => Ok(x.ptr(start)),
        None => Err(candle::Error::RequiresContiguous { op }.bt()),
    }
}

pub(crate) fn sigmoid((x, l): Operand<'_>) -> Result<(KpackStorage, Shape)> {
    let out = x.map("unary", &name("usigmoid", x), l, x.dtype(), &[], &[])?;
    Ok((out, l.shape().clone()))
}

/// A kernel of module `reduce` on the rows of x: softmax, or a norm with its weights and epsilon.
fn rows(
    family: &'static str,
    x: Operand<'_>,
    weights: &[Operand<'_>],
    eps: Option<f32>,
) -> Result<(KpackStorage, Shape)> {
    let (n, columns) = (x.1.shape().elem_count(), x.1.dims()[x.1.dims().len() - 1]);
    let (device, out) = (x.0.device(), x.0.alloc(n, x.0.dtype())?);
    if n == 0 {
        return Ok((out, x.1.shape().clone()));
    }
    let kernel = device.kernel("reduce", &name(family, x.0))?;
    let shape = kernel.shape((n / columns) as u64, columns as u64)?;
    let (from, to, width) = (address(x, x.0, family)?, out.ptr(0), columns as i32);
    let block = shape.block[0] as i32;
    let weights = weights
        .iter()
        .map(|w| address(*w, x.0, family))
        .collect::<Result<Vec<_>>>()?;
    let (weights, block, eps) = (weights.as_slice(), eps.map(|_| block), eps.as_slice());

    // SAFETY: x and `out` have rows of so many columns, as the weights have; candle has compared them.
    unsafe { launch!(device, kernel, shape; from, to, weights, width, block.as_slice(), eps)? }
    Ok((out, x.1.shape().clone()))
}

pub(crate) fn softmax_last_dim(x: Operand<'_>) -> Result<(KpackStorage, Shape)> {
    rows("softmax", x, &[], None)
}

pub(crate) fn rms_norm(
    x: Operand<'_>,
    alpha: Operand<'_>,
    eps: f32,
) -> Result<(KpackStorage, Shape)> {
    rows("rmsnorm", x, &[alpha], Some(eps))
}

pub(crate) fn layer_norm(
    x: Operand<'_>,
    alpha: Operand<'_>,
    beta: Operand<'_>,
    eps: f32,
) -> Result<(KpackStorage, Shape)> {
    rows("layernorm", x, &[alpha, beta], Some(eps))
}

/// Turns pairs of numbers by angles; `sizes` are the kernel's own.
fn turned(
    family: &'static str,
    x: Operand<'_>,
    cos: Operand<'_>,
    sin: Operand<'_>,
    sizes: &[usize],
) -> Result<(KpackStorage, Shape)> {
    let n = x.1.shape().elem_count();
    let out = x.0.alloc(n, x.0.dtype())?;
    let pointers = [
        address(x, x.0, family)?,
        address(cos, x.0, family)?,
        address(sin, x.0, family)?,
        out.ptr(0),
    ];
    // Angles of their own for each of a batch.
    let own = cos.1.dims().len() == 3 && sin.1.dims().len() == 3;
    let stride = if own { n / x.1.dims()[0].max(1) } else { 0 };
    let sizes: Vec<_> = sizes
        .iter()
        .chain([&stride])
        .map(|size| *size as u32)
        .collect();
    let (device, name) = (x.0.device(), name(family, x.0));

    // SAFETY: candle has compared the dimensions.
    unsafe {
        launch!(device, "reduce", name, (n / 2, 0); pointers.as_slice(), sizes.as_slice())?
    }
    Ok((out, x.1.shape().clone()))
}

pub(crate) fn rope_i(
    x: Operand<'_>,
    cos: Operand<'_>,
    sin: Operand<'_>,
) -> Result<(KpackStorage, Shape)> {
    let (b, h, t, d) = x.1.shape().dims4()?;
    turned("rope_i", x, cos, sin, &[b * h, t * d])
}

pub(crate) fn rope(
    x: Operand<'_>,
    cos: Operand<'_>,
    sin: Operand<'_>,
) -> Result<(KpackStorage, Shape)> {
    let (b, h, t, d) = x.1.shape().dims4()?;
    turned("rope", x, cos, sin, &[b * h, t * d, d])
}

pub(crate) fn rope_thd(
    x: Operand<'_>,
    cos: Operand<'_>,
    sin: Operand<'_>,
) -> Result<(KpackStorage, Shape)> {
    let (b, t, h, d) = x.1.shape().dims4()?;
    turned("rope_thd", x, cos, sin, &[b, t, h, d])
}

#[cfg(test)]
mod tests {
    use crate::ops::{layer_norm, rms_norm};
    use crate::rotary_emb::{rope, rope_i, rope_thd};
    use candle::{DType, Device, Result, Tensor};

    #[test]
    fn other_types_are_refused_on_a_gpu() -> Result<()> {
        let gpu = Device::new_kpack(0)?;
        let x = Tensor::ones((1, 4, 4, 8), DType::F32, &gpu)?;
        let weights = Tensor::ones(8, DType::F32, &gpu)?;
        let angles = Tensor::ones((4, 4), DType::F32, &gpu)?;
        let half = |tensor: &Tensor| tensor.to_dtype(DType::F16);
        let refused = |name: &str, result: Result<Tensor>| {
            let error = result.expect_err(name).to_string();
            let wanted = format!("dtype mismatch in {name}, lhs: F32, rhs: F16");
            assert!(error.contains(&wanted), "{error}");
        };

        refused("rmsnorm", rms_norm(&x, &half(&weights)?, 1e-5));
        for (alpha, beta) in [
            (half(&weights)?, weights.clone()),
            (weights.clone(), half(&weights)?),
        ] {
            refused("layernorm", layer_norm(&x, &alpha, &beta, 1e-5));
        }
        for (cos, sin) in [
            (half(&angles)?, angles.clone()),
            (angles.clone(), half(&angles)?),
        ] {
            refused("rope", rope(&x, &cos, &sin));
            refused("rope_i", rope_i(&x, &cos, &sin));
            refused("rope_thd", rope_thd(&x, &cos, &sin));
        }
        Ok(())
    }
}
