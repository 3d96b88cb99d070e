//! main.rs - y = 2 x + y on the GPU

use kpack::{launch, Instance, Shape};

mod mine {
    include!(concat!(env!("OUT_DIR"), "/rust/mine.rs"));
}

fn main() -> kpack::Result<()> {
    const N: usize = 1000;
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let shape = Shape::d1(N as u64, 256);

    let gpu = Instance::open(mine::pack())?;
    let stream = gpu.new_stream()?;
    let x = stream.upload(&x)?;
    let mut y = stream.upload(&[0.5f32; N])?;

    // By a typed method: what is no saxpy(u32, const float *, float *) does not compile.
    let kernels = mine::saxpy::Kernels::get(&gpu)?;
    // SAFETY: the kernel touches N elements of both.
    unsafe { kernels.saxpy(&shape, &stream, N as u32, &x, &mut y)? };
    println!("y[999] = {}", y.to_vec()?[N - 1]);

    // The same by name: kpack checks the number and sizes of arguments.
    let saxpy = gpu.kernel("saxpy")?;
    // SAFETY: likewise.
    unsafe { launch!(saxpy, shape, stream; N as u32, &x, &mut y)? };
    println!("y[999] = {}", y.to_vec()?[N - 1]);
    Ok(())
}
