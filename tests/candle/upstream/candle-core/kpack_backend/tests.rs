//! What candle's own tests of GPUs leave out, or ask CUDA for

use super::Comm;
use crate::quantized::{GgmlDType, QMatMul, QTensor};
use crate::{DType, Device, Module, Result, Storage, Tensor};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

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
fn batches_of_three_dimensions_are_multiplied_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let a = numbers(2 * 3 * 2 * 3 * 4, &gpu)?.reshape((2, 3, 2, 3, 4))?;
    let b = numbers(2 * 3 * 2 * 4 * 5, &gpu)?.reshape((2, 3, 2, 4, 5))?;
    let host = {
        let (a, b) = (a.to_device(&Device::Cpu)?, b.to_device(&Device::Cpu)?);
        a.reshape((12, 3, 4))?.matmul(&b.reshape((12, 4, 5))?)?
    };
    // As they lie; matrices of another order; and columns as rows.
    let turned = (a.transpose(0, 2)?, b.transpose(0, 2)?);
    let columns = b.t()?.contiguous()?.t()?;
    for product in [
        a.matmul(&b)?,
        turned.0.matmul(&turned.1)?.transpose(0, 2)?,
        a.matmul(&columns)?,
    ] {
        assert_eq!(product.dims(), [2, 3, 2, 3, 5]);
        assert!(difference(&product.reshape((12, 3, 5))?, &host)? < 1e-6);
    }
    let one = (a.narrow(1, 1, 1)?, b.narrow(1, 1, 1)?);
    let host = host.reshape((2, 3, 2, 3, 5))?.narrow(1, 1, 1)?;
    assert!(difference(&one.0.matmul(&one.1)?, &host)? < 1e-6);
    Ok(())
}

#[test]
fn other_types_are_refused_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let x = numbers(12, &gpu)?.reshape((3, 4))?;
    let (half, ids) = (
        x.to_dtype(DType::F16)?,
        x.zeros_like()?.to_dtype(DType::U32)?,
    );
    let row = ids.narrow(0, 0, 1)?.flatten_all()?.narrow(0, 0, 3)?;
    let refused = |name: &str, result: Result<()>| {
        let error = result.expect_err(name).to_string();
        assert!(
            error.contains(&format!("dtype mismatch in {name}, lhs: F32, rhs: F16")),
            "{error}"
        );
    };
    refused("scatter", x.scatter(&ids, &half, 0).map(|_| ()));
    refused("scatter", x.scatter_add(&ids, &half, 0).map(|_| ()));
    refused("scatter", x.scatter_set(&ids, &half, 0));
    refused("scatter", x.scatter_add_set(&ids, &half, 0));
    refused("index-add", x.index_add(&row, &half, 0).map(|_| ()));

    // The same with one type is done.
    x.scatter_add(&ids, &x, 0)?;
    x.index_add(&row, &x, 0)?;
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
fn experts_of_other_types_and_shapes_are_refused_on_a_gpu() -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let weights = QTensor::quantize(
        &numbers(3 * 4 * 256, &gpu)?.reshape((3, 4, 256))?,
        GgmlDType::Q8_0,
    )?;
    let ids = Tensor::new(&[[2u32, 0], [1, 2], [0, 1]], &gpu)?;
    let x = |tokens: usize, per_token: usize, k: usize| {
        numbers((tokens * per_token * k) as u32, &gpu)?.reshape((tokens, per_token, k))
    };
    for per_token in [1, 2] {
        assert_eq!(
            weights
                .indexed_moe_forward(&x(3, per_token, 256)?, &ids)?
                .dims(),
            [3, 2, 4]
        );
    }
    for (x, ids, why) in [
        (
            x(3, 1, 256)?.to_dtype(DType::F16)?,
            ids.clone(),
            "not F16 and U32",
        ),
        (x(3, 1, 256)?, ids.to_dtype(DType::I64)?, "not F32 and I64"),
        (x(3, 1, 128)?, ids.clone(), "[3, 1, 128] times experts"),
        (x(2, 1, 256)?, ids.clone(), "[2, 1, 256] times experts"),
        (x(3, 3, 256)?, ids.clone(), "[3, 3, 256] times experts"),
    ] {
        let error = weights
            .indexed_moe_forward(&x, &ids)
            .expect_err(why)
            .to_string();
        assert!(error.contains(why), "{error}");
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

const INTEGERS_OF_FEW: [DType; 2] = [DType::I16, DType::I32];
const NUMBERS: [DType; 7] = [
    DType::U8,
    DType::U32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
];

/// What a tensor holds, as its type prints it.
fn held(tensor: Tensor) -> Result<String> {
    let tensor = tensor.contiguous()?.to_device(&Device::Cpu)?;
    let (storage, layout) = tensor.storage_and_layout();
    assert_eq!(layout.start_offset(), 0);
    match &*storage {
        Storage::Cpu(storage) => Ok(format!("{storage:?}")),
        _ => panic!("not on the host"),
    }
}

type Operation = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// Operations on small whole numbers [3, 4] of these types, and indices [2], are the host's.
fn same_as_host(types: &[DType], operations: &[(&str, Operation)]) -> Result<()> {
    let gpu = Device::new_kpack(0)?;
    let ids = Tensor::new(&[2u32, 0], &Device::Cpu)?;
    for dtype in types {
        let x = Tensor::new(&[[3u32, 0, 1, 2], [1, 4, 0, 2], [2, 2, 3, 1]], &Device::Cpu)?;
        let x = x.to_dtype(*dtype)?;
        for (name, operation) in operations {
            let host = operation(&x, &ids)?;
            let there = operation(&x.to_device(&gpu)?, &ids.to_device(&gpu)?)?;
            assert_eq!(host.dims(), there.dims(), "{name} {dtype:?}");
            assert_eq!(held(there)?, held(host)?, "{name} {dtype:?}");
        }
    }
    Ok(())
}

#[test]
fn all_types_are_copied_and_calculated_with_on_a_gpu() -> Result<()> {
    let types = [&NUMBERS[..], &INTEGERS_OF_FEW, &[DType::F8E4M3]].concat();
    same_as_host(
        &types,
        &[
            ("affine", |x, _| x.affine(2., 1.)),
            ("add", |x, _| x + x),
            ("add of views", |x, _| x.t()? + x.t()?.contiguous()?),
            ("maximum", |x, _| {
                x.maximum(&x.narrow(0, 1, 1)?.broadcast_as((3, 4))?)
            }),
            ("lt", |x, _| {
                x.lt(&x.narrow(0, 1, 1)?.broadcast_as((3, 4))?)
            }),
            ("copy", |x, _| x.t()?.contiguous()),
            ("copy2d", |x, _| Tensor::cat(&[x, &x.narrow(1, 1, 2)?], 1)),
            ("const_set", |x, _| x.ones_like()),
            ("cast", |x, _| x.to_dtype(DType::F32)),
            ("cast to itself", |x, _| {
                x.to_dtype(DType::U8)?.to_dtype(x.dtype())
            }),
        ],
    )
}

#[test]
fn numbers_are_chosen_on_a_gpu() -> Result<()> {
    let types = [&NUMBERS[..], &[DType::F8E4M3]].concat();
    same_as_host(
        &types,
        &[
            ("where", |x, ids| {
                let condition = ids.narrow(0, 1, 1)?.broadcast_as((3, 4))?;
                condition.where_cond(x, &x.t()?.contiguous()?.reshape((3, 4))?)
            }),
            ("index_select", |x, ids| x.index_select(ids, 1)),
            ("gather", |x, ids| {
                x.gather(&ids.reshape((2, 1))?.broadcast_as((2, 4))?.contiguous()?, 0)
            }),
        ],
    )?;
    same_as_host(
        &NUMBERS,
        &[
            ("index_add", |x, ids| {
                x.index_add(ids, &x.narrow(0, 1, 2)?.contiguous()?, 0)
            }),
            ("index_add to a view", |x, ids| {
                let part = x.narrow(0, 1, 2)?;
                part.index_add(&(ids / 2.)?.to_dtype(DType::U32)?, &part.contiguous()?, 0)
            }),
        ],
    )
}

#[test]
fn numbers_are_reduced_on_a_gpu() -> Result<()> {
    same_as_host(
        &NUMBERS,
        &[
            ("sum", |x, _| x.sum_keepdim(0)),
            ("sum of all", |x, _| x.t()?.sum_all()),
            ("max", |x, _| x.max(1)),
            ("min", |x, _| x.t()?.min(1)),
            ("argmax", |x, _| x.argmax(1)),
            ("argmin", |x, _| x.t()?.argmin(0)),
            ("sum of nothing", |x, _| {
                x.narrow(0, 0, 0)?.contiguous()?.sum(0)
            }),
        ],
    )
}

// ---- sums over GPUs ----

/// Sums of two ranks. The longest takes two parts.
fn add_up(comm: &Comm, device: &Device) -> Result<()> {
    let of_rank = |rank: usize, n: u32, dtype| {
        let x = (Tensor::arange(0u32, n, device)?.to_dtype(DType::F32)? / 64.)?;
        (x * (rank as f64 + 1.))?.to_dtype(dtype)
    };
    assert_eq!(comm.world_size(), 2);
    for (n, dtype) in [
        (1, DType::F32),
        (1000, DType::F16),
        (77, DType::BF16),
        ((1 << 20) + 4, DType::F32),
    ] {
        let sum = of_rank(comm.rank(), n, dtype)?.apply_op1_no_bwd(comm)?;
        comm.synchronize()?;
        let f32_of = |rank| of_rank(rank, n, dtype)?.to_dtype(DType::F32);
        let wanted = (f32_of(0)? + f32_of(1)?)?.to_dtype(dtype)?;
        let different = sum.ne(&wanted)?.to_dtype(DType::F32)?.sum_all()?;
        assert_eq!(different.to_scalar::<f32>()?, 0., "{n} {dtype:?}");
    }
    let integers = Tensor::ones(4, DType::U32, device)?;
    assert!(integers.apply_op1_no_bwd(comm).is_err());
    Ok(())
}

#[test]
fn gpus_of_one_process_add_up() -> Result<()> {
    if super::kpack::Device::count()? < 2 {
        return Ok(());
    }
    let devices = [Device::new_kpack(0)?, Device::new_kpack(1)?];
    let of = |i: usize| devices[i].as_kpack_device().cloned();
    assert!(Comm::open_all(&[of(0)?, of(0)?]).is_err());
    let comms = Comm::open_all(&[of(0)?, of(1)?])?;
    std::thread::scope(|scope| {
        let ranks = comms.iter().zip(&devices);
        let threads: Vec<_> = ranks
            .map(|(comm, device)| scope.spawn(|| add_up(comm, device)))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

/// Rank 1 is the same test in a process of its own.
#[test]
fn gpus_of_two_processes_add_up() -> Result<()> {
    const PORT: &str = "CANDLE_TEST_PORT";
    const NAME: &str = "kpack_backend::tests::gpus_of_two_processes_add_up";
    if super::kpack::Device::count()? < 2 {
        return Ok(());
    }
    let mut other = None;
    let (rank, mut peer) = match std::env::var(PORT) {
        Ok(port) => (1, TcpStream::connect(("127.0.0.1", port.parse().unwrap()))?),
        Err(_) => {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            other = Some(
                Command::new(std::env::current_exe()?)
                    .args([NAME, "--exact"])
                    .env(PORT, listener.local_addr()?.port().to_string())
                    .stdout(Stdio::null())
                    .spawn()?,
            );
            (0, listener.accept()?.0)
        }
    };
    let gather = move |mine: &[u8], all: &mut [u8]| {
        peer.write_all(mine)?;
        let (first, second) = all.split_at_mut(mine.len());
        let (ours, theirs) = if rank == 0 { (first, second) } else { (second, first) };
        ours.copy_from_slice(mine);
        peer.read_exact(theirs)
    };
    let device = Device::new_kpack(rank)?;
    let comm = Comm::open(device.as_kpack_device()?, rank, 2, Box::new(gather))?;
    add_up(&comm, &device)?;
    drop(comm);
    if let Some(mut other) = other {
        assert!(other.wait()?.success());
    }
    Ok(())
}

/// A test by itself in a process: no other one uses the GPU meanwhile.
fn alone(name: &str, work: impl FnOnce(&Device) -> Result<()>) -> Result<()> {
    const ALONE: &str = "KPACK_TEST_ALONE";

    if std::env::var_os(ALONE).is_some() {
        return work(&Device::new_kpack(0)?);
    }
    let ran = Command::new(std::env::current_exe()?)
        .args(["--exact", &format!("kpack_backend::tests::{name}")])
        .env(ALONE, "1")
        .output()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{ran:?}");
    Ok(())
}

#[test]
fn recorded_work_is_launched_again_on_a_gpu() -> Result<()> {
    alone("recorded_work_is_launched_again_on_a_gpu", |gpu| {
        let x = numbers(60, gpu)?.reshape((3, 20))?;
        let w = numbers(20 * 8, gpu)?.reshape((8, 20))?.t()?;
        let work = |x: &Tensor| {
            let y = (x.matmul(&w)?.affine(0.5, -1.)?.tanh()? + 1.)?;
            let most = y.max_keepdim(1)?;
            y.broadcast_div(&most)?.t()?.contiguous()
        };
        let (mut graph, y) = gpu.as_kpack_device()?.record(|| work(&x))?;
        for round in 0..3 {
            let next = (numbers(60, gpu)?.reshape((3, 20))? * (0.1 + round as f64))?;
            x.slice_set(&next, 0, 0)?;
            // SAFETY: x and w are there.
            unsafe { graph.launch()? };
            assert_eq!(held(y.clone())?, held(work(&next)?)?);
        }
        // Its memory is its own.
        let before = held(y.clone())?;
        let others: Vec<_> = (0..8)
            .map(|_| y.ones_like())
            .collect::<Result<_>>()?;
        assert_eq!(held(y.clone())?, before);
        drop((graph, others));
        assert_eq!(held(y)?, before);
        Ok(())
    })
}

#[test]
fn what_is_not_recorded_is_refused_on_a_gpu() -> Result<()> {
    alone("what_is_not_recorded_is_refused_on_a_gpu", |gpu| {
        let device = gpu.as_kpack_device()?;
        let x = numbers(60, gpu)?;
        let refused = |said: Result<()>, why: &str| {
            let said = said.unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        };
        let recorded = |work: &dyn Fn() -> Result<Tensor>| device.record(work).map(|_| ());
        refused(recorded(&|| Tensor::new(1f32, gpu)), "from the host");
        refused(
            recorded(&|| {
                x.to_vec1::<f32>()?;
                Ok(x.clone())
            }),
            "to the host",
        );
        refused(recorded(&|| device.record(|| x.exp()).map(|it| it.1)), "records already");
        let of_others = || std::thread::scope(|s| s.spawn(|| x.exp()).join().unwrap());
        refused(recorded(&of_others), "another thread records");
        let mut rows = 0;
        let other = device.record(|| {
            rows += 1;
            x.narrow(0, 0, rows)?.exp()
        });
        refused(other.map(|_| ()), "the same work");
        let mut lines = 0;
        let other = device.record(|| {
            lines += 2;
            x.reshape((lines, 60 / lines))?.t()?.exp()
        });
        refused(other.map(|_| ()), "dimensions and strides");
        // After all that it records.
        let (mut graph, y) = device.record(|| x.exp())?;
        // SAFETY: x is there.
        unsafe { graph.launch()? };
        assert_eq!(held(y)?, held(x.exp()?)?);
        Ok(())
    })
}
