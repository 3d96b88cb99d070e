//! What candle's own tests of GPUs leave out, or ask CUDA for

use crate::quantized::{GgmlDType, QMatMul, QTensor};
use crate::{DType, Device, Module, Result, Storage, Tensor};

fn address(tensor: &Tensor) -> *mut u8 {
    match &*tensor.storage_and_layout().0 {
        Storage::Kpack(storage) => storage.ptr(0),
        _ => panic!("not on a device of kpack's"),
    }
}

fn numbers(n: u32, device: &Device) -> Result<Tensor> {
    Tensor::arange(0u32, n, device)?.to_dtype(DType::F32)? / 64.
}

/// The largest difference, as a part of the largest number.
fn difference(a: &Tensor, b: &Tensor) -> Result<f32> {
    let (a, b) = (a.to_device(&Device::Cpu)?, b.to_device(&Device::Cpu)?);
    let largest = |x: &Tensor| x.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>();
    Ok(largest(&(a - &b)?)? / largest(&b)?)
}

#[test]
fn a_tensor_goes_to_another_gpu() -> Result<()> {
    if super::kpack::Device::count()? < 2 {
        return Ok(());
    }
    let (first, second) = (Device::new_kpack(0)?, Device::new_kpack(1)?);
    assert_ne!(first.location(), second.location());
    let here = numbers(262144, &first)?;
    let there = here.to_device(&second)?;
    assert_eq!(there.device().location(), second.location());
    assert_eq!(here.to_vec1::<f32>()?, there.to_vec1::<f32>()?);
    assert!((&here + &there).is_err());
    Ok(())
}

#[test]
fn devices_of_one_gpu_share_work_but_no_memory() -> Result<()> {
    let (first, second) = (Device::new_kpack(0)?, Device::new_kpack(0)?);
    assert!(!first.same_device(&second));
    let here = numbers(1000, &first)?;
    let there = here.to_device(&second)?;
    assert_ne!(address(&here), address(&there));
    let sum = (&here + &there)?.to_vec1::<f32>()?;
    assert_eq!(sum, (&here * 2.)?.to_vec1::<f32>()?);
    Ok(())
}

#[test]
fn threads_share_a_gpu() -> Result<()> {
    let work = |i: u32| {
        let x = numbers(1000 + i, &Device::new_kpack(0)?)?;
        x.reshape((1, ()))?
            .t()?
            .contiguous()?
            .sqr()?
            .sum_all()?
            .to_scalar::<f32>()
    };
    let threads: Vec<_> = (0..4)
        .map(|i| std::thread::spawn(move || work(i)))
        .collect();
    for (i, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap()?, work(i as u32)?);
    }
    Ok(())
}

#[test]
fn matrices_with_gaps_are_multiplied_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let product = |device: &Device| {
        let a = numbers(2 * 3 * 40, device)?.reshape((2, 3, 40))?;
        let b = numbers(2 * 40 * 7, device)?.reshape((2, 40, 7))?;
        // Part of each row, every other row, and one matrix for both of a batch.
        let a = a.narrow(2, 3, 20)?;
        let b = b.reshape((2, 20, 2, 7))?.narrow(2, 1, 1)?.squeeze(2)?;
        let b = b.narrow(0, 1, 1)?.broadcast_as((2, 20, 7))?;
        a.matmul(&b)
    };
    // The host multiplies what lies one after the other.
    let host = {
        let a = numbers(2 * 3 * 40, &Device::Cpu)?.reshape((2, 3, 40))?;
        let b = numbers(2 * 40 * 7, &Device::Cpu)?.reshape((2, 20, 2, 7))?;
        let a = a.narrow(2, 3, 20)?.contiguous()?;
        let b = b.narrow(2, 1, 1)?.squeeze(2)?.narrow(0, 1, 1)?;
        a.matmul(&b.broadcast_as((2, 20, 7))?.contiguous()?)?
    };
    assert!(difference(&product(&gpu)?, &host)? < 1e-6);
    Ok(())
}

#[test]
fn rows_are_upsampled_on_a_gpu() -> Result<()> {
    let gpu = numbers(12, &Device::new_kpack(0)?)?.reshape((1, 2, 6))?;
    let host = gpu.to_device(&Device::Cpu)?;
    for size in [3, 6, 15] {
        let (gpu, host) = (
            gpu.upsample_nearest1d(size)?,
            host.upsample_nearest1d(size)?,
        );
        assert_eq!(gpu.to_vec3::<f32>()?, host.to_vec3::<f32>()?);
    }
    Ok(())
}

const FORMATS: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Weights in each format, on the GPU, and what they are in f32 there.
fn weights(shape: &[usize], gpu: &Device) -> Result<Vec<(QTensor, Tensor)>> {
    let n = shape.iter().product::<usize>() as u32;
    let x = (numbers(n, gpu)?.reshape(shape)?.sin()? * 2.)?;
    FORMATS
        .iter()
        .map(|format| {
            let weights = QTensor::quantize(&x, *format)?;
            let plain = weights.dequantize(gpu)?;
            Ok((weights, plain))
        })
        .collect()
}

#[test]
fn quantized_rows_of_all_floats_are_multiplied_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    for (weights, plain) in weights(&[5, 512], &gpu)? {
        let weights = QMatMul::from_qtensor(weights)?;
        for (rows, dtype) in [
            (1, DType::F16),
            (8, DType::BF16),
            (9, DType::F16),
            (17, DType::F32),
        ] {
            let x = numbers(rows * 512, &gpu)?
                .cos()?
                .reshape((rows as usize, 512))?;
            let product = weights.forward(&x.to_dtype(dtype)?)?;
            assert_eq!(product.dtype(), dtype);
            let wanted = x.matmul(&plain.t()?)?;
            assert!(
                difference(&product.to_dtype(DType::F32)?, &wanted)? < 0.02,
                "{dtype:?} {rows}"
            );
        }
    }
    Ok(())
}

#[test]
fn experts_are_chosen_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let ids = Tensor::new(&[[2u32, 0], [1, 2], [0, 1]], &gpu)?;
    let x = numbers(3 * 256, &gpu)?.cos()?.reshape((3, 1, 256))?;
    for (weights, plain) in weights(&[3, 4, 256], &gpu)? {
        if !matches!(
            weights.dtype(),
            GgmlDType::Q8_0 | GgmlDType::Q4K | GgmlDType::Q6K
        ) {
            continue;
        }
        let out = weights.indexed_moe_forward(&x, &ids)?;
        assert_eq!(out.dims(), [3, 2, 4]);
        let chosen = plain
            .index_select(&ids.flatten_all()?, 0)?
            .reshape((3, 2, 4, 256))?;
        let wanted = chosen.broadcast_mul(&x.unsqueeze(1)?)?.sum(3)?;
        assert!(difference(&out, &wanted)? < 0.02, "{:?}", weights.dtype());
    }
    Ok(())
}

#[test]
fn a_missing_kernel_is_named_on_a_gpu() -> Result<()> {
    let x = Tensor::new(&[1i16, 2], &Device::new_kpack(0)?)?;
    let error = x.sqr().unwrap_err().to_string();
    assert!(error.contains("usqr_i16"), "{error}");
    Ok(())
}
