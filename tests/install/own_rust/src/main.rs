//! main.rs - y = 2 x + y on the GPU

mod kpack;
use kpack::{Arg, Gpu, Shape};

fn run() -> Result<f32, String> {
    const N: usize = 1000;
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let mut y = vec![0.5f32; N];

    // SAFETY: constant data of the archive that build.rs made.
    let gpu = Gpu::open(unsafe { &kpack::kpk_mine }, 0)?;
    let saxpy = gpu.kernel("saxpy")?;
    let dx = gpu.upload(&x)?;
    let dy = gpu.upload(&y)?;
    let shape = Shape { grid: [(N as u32 + 255) / 256, 1, 1], block: [256, 1, 1], shared_nbytes: 0 };

    gpu.launch(saxpy, &shape, &[Arg::of(&(N as u32)), Arg::of(&dx), Arg::of(&dy)])?;
    gpu.download(dy, &mut y)?;
    gpu.free(dx)?;
    gpu.free(dy)?;
    Ok(y[N - 1])
}

fn main() {
    match run() {
        Ok(last) => println!("y[999] = {last}"),
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(1);
        }
    }
}
