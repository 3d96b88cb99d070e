//! Each call of HIP fails in turn, in a process of its own. Wants simulated GPUs and module affine.
#![cfg(feature = "candle")]

use kpack::candle::affine;
use kpack::{launch, CaptureMode, Device, Event, Instance, Result, Shape, Status, NULL};
use std::env;
use std::process::Command;

/// A bit of everything that calls HIP.
fn work(ordinal: i32) -> Result<()> {
    let gpu = Instance::open_modules_on(&[affine::module()], ordinal)?;
    let kernels = affine::Kernels::get(&gpu)?;
    let (stream, other) = (gpu.new_stream()?, gpu.new_stream()?);
    let start = stream.record()?;
    let mut x = stream.upload(&[1f32, 2.0, 3.0])?;
    let shape = Shape::d1(3, 64);
    // SAFETY: three elements, in place.
    unsafe { kernels.affine_f32(&shape, &stream, 3, 1, NULL, NULL, &mut x, 2.0, 0.0) }?;
    let mut y = other.zeros::<f32>(3)?;
    y.copy_from(x.as_view())?;
    assert_eq!(y.to_vec()?, [2.0, 4.0, 6.0]);
    drop(y);

    let kernel = gpu.kernel("affine_f32")?;
    let mut graph = stream.capture(CaptureMode::Thread, |stream| {
        assert!(stream.is_capturing()?);
        // SAFETY: as above.
        unsafe { launch!(kernel, shape, *stream; 3usize, 1usize, NULL, NULL, &mut x, 1f32, 1f32) }
    })?;
    // SAFETY: x stays until the graph is dropped.
    unsafe { graph.launch(&stream) }?;
    drop(graph);
    assert_eq!(x.to_vec()?, [3.0, 5.0, 7.0]);

    let mut host = gpu.pinned::<f32>(3)?;
    // SAFETY: the host's memory stays until the stream is done, which the next line waits for.
    unsafe { x.as_view().copy_to_slice_async(&mut host) }.and(stream.sync())?;
    assert_eq!(host[..], [3.0, 5.0, 7.0]);
    // SAFETY: likewise.
    unsafe { x.as_view_mut().copy_from_slice_async(&host) }.and(stream.sync())?;
    let stop = Event::new(&gpu).and_then(|mut event| event.record(&stream).map(|()| event))?;
    stop.sync()?;
    assert!(stop.has_passed()? && stream.is_idle()? && stop.elapsed_ms(&start)? >= 0.0);
    let (free, total) = gpu.memory_info()?;
    assert!(free <= total);
    assert!(kernel.occupancy(64, 0)? > 0);
    let made = (x, host, start, stop, kernel, kernels, stream, other);
    drop(made);
    // What a destructor could not give back stays until the instance is closed.
    let may_stay = env::var("KPK_SIM_FAULTS").map_or(false, |faults| !faults.is_empty());
    assert!(may_stay || gpu.pool()?.used_nbytes == 0);
    gpu.trim_pool()?;
    gpu.close()
}

const ORDINAL: &str = "KPACK_TEST_FAULTS_ON";

/// The child process, with one fault. Its last line says how it ended.
#[test]
fn child() {
    let ordinal = match env::var(ORDINAL) {
        Ok(ordinal) => ordinal.parse().unwrap(),
        Err(_) => return, // not asked
    };
    match work(ordinal) {
        Ok(()) => println!("\nchild: fine"),
        Err(error) => {
            assert!(!error.message().is_empty());
            assert!(error.status() != Status::Driver || error.driver() != 0, "{:?}", error);
            println!("\nchild: {:?}", error);
            // The fault has been; what is there serves again.
            work(ordinal).unwrap_or_else(|error| panic!("after the fault: {:?}", error));
        }
    }
}

/// Runs the child; its line.
fn child_with(faults: &str, ordinal: i32) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(ORDINAL, ordinal.to_string())
        .env("KPK_SIM_FAULTS", faults)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {}\n{}{}", faults, output.status, text, errors);
    let line = text.lines().find_map(|line| line.strip_prefix("child: "));
    line.unwrap_or_else(|| panic!("{}: {}{}", faults, text, errors)).to_string()
}

/// HIP's functions that work() calls.
const FUNCTIONS: &[&str] = &[
    "hipGetDeviceCount",
    "hipSetDevice",
    "hipGetDevice",
    "hipModuleLoadData",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipMalloc",
    "hipFree",
    "hipMemcpy",
    "hipMemcpyAsync",
    "hipMemsetAsync",
    "hipStreamCreateWithFlags",
    "hipStreamDestroy",
    "hipStreamSynchronize",
    "hipStreamQuery",
    "hipStreamWaitEvent",
    "hipStreamBeginCapture",
    "hipStreamEndCapture",
    "hipStreamIsCapturing",
    "hipGraphInstantiate",
    "hipGraphLaunch",
    "hipGraphDestroy",
    "hipGraphExecDestroy",
    "hipEventCreateWithFlags",
    "hipEventRecord",
    "hipEventQuery",
    "hipEventSynchronize",
    "hipEventElapsedTime",
    "hipEventDestroy",
    "hipHostMalloc",
    "hipHostFree",
    "hipMemGetInfo",
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
];

#[test]
fn each_call_fails_in_turn() {
    if env::var_os("KPK_SIM_DEVICES").is_none() || env::var_os(ORDINAL).is_some() {
        return; // a real GPU's calls do not fail on demand
    }
    let n = Device::count().unwrap() as i32;
    assert_eq!(child_with("", 0), "fine");
    let most = if env::var_os("FULL").is_some() { 12 } else { 2 };
    let mut fine = Vec::new(); // functions whose failure nothing shows
    for (i, function) in FUNCTIONS.iter().enumerate() {
        let mut shown = 0;
        for call in 1..=most {
            let line = child_with(&format!("{}:{}=hipErrorUnknown", function, call), i as i32 % n);
            shown += (line != "fine") as u32;
        }
        if shown == 0 {
            fine.push(*function);
        }
    }
    // Destructors cannot report an error.
    fine.retain(|function| {
        !["hipStreamDestroy", "hipGraphExecDestroy", "hipEventDestroy", "hipHostFree"].contains(function)
    });
    assert_eq!(fine, Vec::<&str>::new(), "their failures were seen by nobody");
}
