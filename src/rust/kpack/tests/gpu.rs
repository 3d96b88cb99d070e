//! Kernels on GPUs: the machine's, or simulated ones. Wants modules affine and vector_add.
#![cfg(feature = "candle")]

use kpack::candle::{affine, vector_add};
use kpack::{
    bf16, f16, launch, CaptureMode, Device, Error, Event, Instance, Platform, Result, Shape, Status, NULL,
};
use std::sync::{Barrier, RwLock};
use std::thread;

/// While a thread captures, HIP refuses copies that wait, on any device. Tests that capture
/// therefore hold the write lock, all other tests the read lock.
static CAPTURES: RwLock<()> = RwLock::new(());

/// Both modules, on each device.
fn on_each_device(test: impl Fn(&Instance) -> Result<()>) -> Result<()> {
    let _no_capture = CAPTURES.read();
    on_devices(test)
}

fn on_devices(test: impl Fn(&Instance) -> Result<()>) -> Result<()> {
    let devices = Device::all()?;
    assert!(!devices.is_empty(), "no GPU: the tests want LD_LIBRARY_PATH=build/sim");
    for device in devices {
        let gpu = Instance::open_modules_on(&[affine::module(), vector_add::module()], device.ordinal)?;
        assert_eq!(gpu.device(), &device);
        test(&gpu)?;
        gpu.close()?; // nothing is left
    }
    Ok(())
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn launch_checks_and_runs() -> Result<()> {
    on_each_device(|gpu| {
        let n = 1003u32;
        let a = gpu.upload(&numbers(n as usize))?;
        let b = gpu.upload(&vec![0.5f32; n as usize])?;
        let mut c = gpu.zeros::<f32>(n as usize)?;
        let kernel = gpu.kernel("vector_add")?;
        let (shape, stream) = (Shape::d1(n.into(), 256), gpu.default_stream());
        assert_eq!((kernel.name(), kernel.module().name()), ("vector_add", "vector_add"));
        assert!(kernel.attrs()?.max_block >= 256);
        // SAFETY: vector_add(a, b, c, u32 n) touches n elements of each.
        unsafe { launch!(kernel, shape, stream; &a, &b, &mut c, n) }?;
        let sums = c.to_vec()?;
        assert!(sums.iter().enumerate().all(|(i, x)| *x == i as f32 + 0.5), "{:?}", sums);

        // SAFETY: refused before anything starts.
        let error = unsafe { launch!(kernel, shape, stream; &a, &b, &mut c) }.unwrap_err();
        assert_eq!(error.status(), Status::KernelArgs);
        assert!(error.message().contains("vector_add"), "{}", error);
        let error = unsafe { launch!(kernel, shape, stream; &a, &b, &mut c, 5u64) }.unwrap_err();
        assert_eq!(error.status(), Status::KernelArgs);
        let error = unsafe { launch!(kernel, Shape::d1(1, 0), stream; &a, &b, &mut c, n) }.unwrap_err();
        assert_eq!(error.status(), Status::Shape);
        let error = gpu.kernel("vector_sub").unwrap_err();
        assert_eq!(error.status(), Status::NoKernel);
        assert!(error.message().contains("vector_sub"), "{}", error);
        Ok(())
    })
}

#[test]
fn typed_kernels_take_views_and_small_floats() -> Result<()> {
    on_each_device(|gpu| {
        let kernels = affine::Kernels::get(gpu)?;
        let stream = gpu.new_stream()?;
        let shape = Shape::d1(6, 64);
        // a 2 x 3 matrix, transposed: dims 3, 2 and strides 1, 3
        let info = stream.upload(&[3usize, 2, 1, 3])?;
        let x = stream.upload(&numbers(6))?;
        let mut y = stream.zeros::<f32>(8)?;
        // SAFETY: 6 elements of x by dims and strides, and the 6 of y from 1 on.
        unsafe { kernels.affine_f32(&shape, &stream, 6, 2, &info, &x, y.slice_mut(1..7), 2.0, 1.0) }?;
        assert_eq!(y.to_vec()?, [0.0, 1.0, 7.0, 3.0, 9.0, 5.0, 11.0, 0.0]);

        let mut h = stream.upload(&numbers(6).into_iter().map(f16::from_f32).collect::<Vec<_>>())?;
        // SAFETY: in place: no input.
        unsafe {
            kernels.affine_f16(
                &shape,
                &stream,
                6,
                1,
                NULL,
                NULL,
                &mut h,
                f16::from_f32(2.0),
                f16::from_f32(0.5),
            )
        }?;
        let h: Vec<f32> = h.to_vec()?.into_iter().map(f32::from).collect();
        assert_eq!(h, [0.5, 2.5, 4.5, 6.5, 8.5, 10.5]);

        let b = stream.upload(&[bf16::from_f32(3.0)])?;
        let mut c = stream.alloc::<bf16>(1)?;
        let (two, one) = (bf16::from_f32(2.0), bf16::from_f32(1.0));
        // SAFETY: one element.
        unsafe {
            kernels.affine_bf16(&shape, &stream, 1, 0, None::<&kpack::Buffer<usize>>, &b, &mut c, two, one)
        }?;
        assert_eq!(c.to_vec()?, [bf16::from_f32(7.0)]);

        let error = kpack::Kernels::get(gpu, "affine", "affine_f32", 1).unwrap_err();
        assert_eq!(error.status(), Status::Format);
        Ok(())
    })
}

#[test]
fn memory_is_cut_copied_and_compared() -> Result<()> {
    on_each_device(|gpu| {
        let mut memory = gpu.upload(&[1u8, 2, 3, 4, 5])?;
        assert_eq!((memory.len(), memory.slice(1..=2).len(), memory.is_empty()), (5, 2, false));
        assert_eq!(memory.slice(3..).to_vec()?, [4, 5]);
        let (mut left, right) = memory.split_at_mut(2);
        left.copy_from(right.as_view().slice(1..))?;
        assert_eq!(memory.to_vec()?, [4, 5, 3, 4, 5]);
        memory.slice_mut(..2).fill_bytes(9)?;
        let copy = memory.try_clone()?;
        let mut host = [0; 5];
        copy.copy_to_slice(&mut host)?;
        assert_eq!(host, [9, 9, 3, 4, 5]);

        let error = memory.copy_from_slice(&[1]).unwrap_err();
        assert_eq!(error.message(), "a copy of 1 elements to 5: both must have as many");
        let none = gpu.zeros::<f64>(0)?;
        assert_eq!(none.to_vec()?, []);
        assert!(none.as_ptr().is_null());
        assert_eq!(gpu.alloc::<u64>(usize::MAX / 4).unwrap_err().status(), Status::Arg);

        let stream = gpu.default_stream();
        let raw = copy.into_raw();
        // SAFETY: what into_raw() gave.
        let again = unsafe { kpack::Buffer::from_raw(raw, 5, &stream) };
        assert_eq!(again.to_vec()?, host);
        Ok(())
    })
}

#[test]
fn streams_wait_for_each_other() -> Result<()> {
    on_each_device(|gpu| {
        let kernels = affine::Kernels::get(gpu)?;
        let (one, two) = (gpu.new_stream()?, gpu.new_stream()?);
        let n = 4096;
        let start = one.record()?;
        let mut x = one.upload(&numbers(n))?;
        for _ in 0..8 {
            // SAFETY: n elements, in place.
            unsafe {
                kernels.affine_f32(&Shape::d1(n as u64, 256), &one, n, 1, NULL, NULL, &mut x, 1.0, 1.0)
            }?;
        }
        // The copy waits for stream one; x goes back when the copy is done.
        let mut y = two.zeros::<f32>(n)?;
        y.copy_from(x.as_view())?;
        drop(x);
        let z = one.zeros::<f32>(n)?; // may be x's memory
        assert!(y.to_vec()?.iter().enumerate().all(|(i, x)| *x == i as f32 + 8.0));
        assert!(z.to_vec()?.iter().all(|x| *x == 0.0));

        let stop = one.record()?;
        stop.sync()?;
        assert!(stop.has_passed()? && one.is_idle()?);
        assert!(stop.elapsed_ms(&start)? >= 0.0);
        let quiet = Event::with_flags(gpu, kpack::sys::KPK_EVENT_NO_TIMING)?;
        assert!(quiet.elapsed_ms(&start).is_err());
        two.wait(&stop)?;
        two.sync()
    })
}

#[test]
fn memory_may_be_dropped_while_a_kernel_runs() -> Result<()> {
    on_each_device(|gpu| {
        let kernels = affine::Kernels::get(gpu)?;
        let stream = gpu.new_stream()?;
        let n = 10_000;
        let mut sum = stream.upload(&vec![0f32; n])?;
        for round in 0..20 {
            let mut part = stream.zeros::<f32>(n)?;
            // SAFETY: n elements of both. `part` goes back while its kernels may still run.
            unsafe {
                kernels.affine_f32(
                    &Shape::d1(n as u64, 256),
                    &stream,
                    n,
                    1,
                    NULL,
                    &sum,
                    &mut part,
                    1.0,
                    1.0,
                )?;
                kernels.affine_f32(
                    &Shape::d1(n as u64, 256),
                    &stream,
                    n,
                    1,
                    NULL,
                    &part,
                    &mut sum,
                    1.0,
                    0.0,
                )?;
            }
            drop(part);
            assert!(gpu.pool()?.used_nbytes < 2 * n * 4, "round {}: {:?}", round, gpu.pool());
        }
        assert!(sum.to_vec()?.iter().all(|x| *x == 20.0));
        drop(sum);
        assert_eq!(gpu.pool()?.used_nbytes, 0);
        gpu.trim_pool()?;
        assert_eq!(gpu.pool()?.idle_nbytes, 0);
        let (free, total) = gpu.memory_info()?;
        assert!(0 < free && free <= total);
        Ok(())
    })
}

#[test]
fn a_graph_is_launched_again_and_again() -> Result<()> {
    let _alone = CAPTURES.write();
    on_devices(|gpu| {
        let kernels = affine::Kernels::get(gpu)?;
        let stream = gpu.new_stream()?;
        let mut x = stream.zeros::<f32>(100)?;
        let mut graph = stream.capture(CaptureMode::Thread, |stream| {
            assert!(stream.is_capturing()?);
            // SAFETY: 100 elements, in place.
            unsafe { kernels.affine_f32(&Shape::d1(100, 64), stream, 100, 1, NULL, NULL, &mut x, 1.0, 1.0) }
        })?;
        assert!(!stream.is_capturing()?);
        assert_eq!(x.to_vec()?, vec![0.0; 100]);
        let other = gpu.new_stream()?;
        for _ in 0..5 {
            // SAFETY: x is still there; copies below wait for both streams.
            unsafe {
                graph.launch(&stream)?;
                graph.launch(&other)?;
            }
        }
        stream.wait_for(&other)?;
        assert_eq!(x.to_vec()?, vec![10.0; 100]);

        let failed = stream.capture(CaptureMode::Thread, |_| gpu.kernel("none").map(|_| ()));
        assert_eq!(failed.unwrap_err().status(), Status::NoKernel);
        assert!(!stream.is_capturing()?);
        x.fill_bytes(0)?;
        assert_eq!(x.to_vec()?, vec![0.0; 100]);
        assert!(gpu.default_stream().capture(CaptureMode::Thread, |_| Ok(())).is_err());
        Ok(())
    })
}

#[test]
fn threads_share_an_instance_and_keep_their_errors() -> Result<()> {
    on_each_device(|gpu| {
        let ready = Barrier::new(4);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|t| {
                    let (gpu, ready) = (gpu.clone(), &ready);
                    scope.spawn(move || -> Result<Error> {
                        ready.wait();
                        let (kernels, stream) = (affine::Kernels::get(&gpu)?, gpu.new_stream()?);
                        for round in 0..10 {
                            let n = 500 + 100 * t;
                            let x = stream.upload(&numbers(n))?;
                            let mut y = stream.alloc::<f32>(n)?;
                            let (mul, shape) = (t as f32, Shape::d1(n as u64, 64));
                            // SAFETY: n elements of both.
                            unsafe {
                                kernels.affine_f32(&shape, &stream, n, 1, NULL, &x, &mut y, mul, round as f32)
                            }?;
                            let good = |(i, y): (usize, &f32)| *y == mul * i as f32 + round as f32;
                            assert!(y.to_vec()?.iter().enumerate().all(good));
                        }
                        Ok(gpu.kernel(&format!("none_{}", t)).unwrap_err())
                    })
                })
                .collect();
            for (t, thread) in threads.into_iter().enumerate() {
                let error = thread.join().expect("no panic")?;
                assert!(error.message().contains(&format!("none_{}", t)), "{}", error);
            }
            Ok(())
        })
    })
}

#[test]
fn what_is_in_use_is_not_closed() -> Result<()> {
    on_each_device(|gpu| {
        let modules = [affine::module()];
        let alone = Instance::open_modules_on(&modules, gpu.device().ordinal)?;
        assert_eq!(alone.kernel("vector_add").unwrap_err().status(), Status::NoKernel);
        assert_eq!(alone.kernel_in("none", "affine_f32").unwrap_err().status(), Status::NoModule);
        assert!(gpu.device().target.starts_with(&alone.selection("affine")?.target));
        alone.load(None)?;
        let kernel = alone.kernel_in("affine", "affine_f32")?;
        let (module, function) = kernel.driver_handles()?;
        assert!(!module.is_null() && !function.is_null());
        // SAFETY: nobody launches.
        unsafe { alone.unload(Some("affine")) }?;
        assert_eq!(kernel.driver_handles().unwrap_err().status(), Status::Unloaded);
        let error = alone.close().unwrap_err();
        assert_eq!(error.message(), "the instance is still in use: 1 owners beside this one");
        drop(kernel); // closes it
        Ok(())
    })
}

#[test]
fn pinned_memory_is_a_slice() -> Result<()> {
    on_each_device(|gpu| {
        let stream = gpu.new_stream()?;
        let mut host = gpu.pinned::<u32>(1000)?;
        assert!(host.iter().all(|x| *x == 0));
        host.iter_mut().enumerate().for_each(|(i, x)| *x = i as u32);
        let mut memory = stream.zeros::<u32>(1000)?;
        let mut back = gpu.pinned::<u32>(1000)?;
        // SAFETY: both stay until the stream is done.
        unsafe {
            memory.as_view_mut().copy_from_slice_async(&host)?;
            memory.as_view().copy_to_slice_async(&mut back)?;
        }
        stream.sync()?;
        assert_eq!(host[..], back[..]);
        assert!(gpu.pinned::<u32>(0)?.is_empty());
        Ok(())
    })
}

#[test]
fn memory_goes_to_another_device() -> Result<()> {
    let _no_capture = CAPTURES.read();
    if Device::count_of(Platform::Hip)? < 2 {
        return Ok(());
    }
    let open = |ordinal| Instance::open_modules_on(&[affine::module()], ordinal);
    let (here, there) = (open(0)?, open(1)?);
    let x = here.new_stream()?.upload(&numbers(1000))?;
    let mut y = there.new_stream()?.zeros::<f32>(1000)?;
    y.copy_from(x.as_view())?;
    drop(x);
    assert_eq!(y.to_vec()?, numbers(1000));

    // A kernel of one device in a stream of the other is refused here.
    let kernel = here.kernel("affine_f32")?;
    // SAFETY: never starts.
    let error = unsafe { launch!(kernel, Shape::default(), there.default_stream()) }.unwrap_err();
    assert_eq!(error.message(), "a kernel of device 0 in a stream of device 1");
    Ok(())
}

#[test]
fn packs_are_read_without_a_device() -> Result<()> {
    let module = affine::module();
    assert_eq!(module.name(), "affine");
    let kernel = module.kernel("affine_f32")?;
    let args: Vec<_> = kernel.args.iter().map(|arg| (arg.name, arg.nbytes, arg.is_pointer)).collect();
    let expected = [
        ("n", 8, false),
        ("rank", 8, false),
        ("info", 8, true),
        ("in", 8, true),
        ("out", 8, true),
        ("mul", 4, false),
        ("add", 4, false),
    ];
    assert_eq!(args, expected);
    assert_eq!(module.kernels().nth(kernel.index).unwrap().name, "affine_f32");
    for object in module.objects().collect::<Vec<_>>() {
        assert_eq!(module.object_data(object.target)?.len(), object.nbytes);
        assert_eq!(module.select(object.target)?.target, object.target);
        assert_eq!(module.shape("affine_f32", Some(object.target), 1 << 20, 0)?.block[1..], [1, 1]);
    }
    let error = module.select("gfx803").unwrap_err();
    assert_eq!(error.status(), Status::NoTarget);
    assert!(error.message().contains("gfx803"), "{}", error);
    Ok(())
}

const NO_GPU: &str = "KPACK_TEST_NO_GPU";

/// The child process of the test below.
#[test]
fn child_without_a_gpu() {
    if std::env::var_os(NO_GPU).is_none() {
        return;
    }
    let error = Instance::open_modules(&[affine::module()]).unwrap_err();
    // Debian's HIP may be installed, and finds no GPU.
    assert!(matches!(error.status(), Status::NoDriver | Status::NoDevice), "{:?}", error);
    assert!(error.message().contains("HIP"), "{}", error);
}

#[test]
fn without_a_gpu_there_is_an_error() {
    if ["/dev/kfd", "/opt/rocm", "/dev/nvidiactl"].iter().any(|path| std::path::Path::new(path).exists()) {
        return; // one is found wherever it is
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_without_a_gpu", "--test-threads=1"])
        .env(NO_GPU, "1")
        .env("KPK_CUDA_LIBRARY", "")
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("KPK_HIP_LIBRARY")
        .status();
    assert!(status.unwrap().success());
}
