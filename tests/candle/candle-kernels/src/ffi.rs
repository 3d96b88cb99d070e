//! candle's C functions, of which each launches kernels of kpack's
//!
//! They are given a stream and no device: it is the one that the thread used last.
//! They return nothing: a failure is reported by the next call of cudarc's that
//! can.

#![allow(non_snake_case)] // candle's names

use crate::own::by_candle;
use core::ffi::c_void;
use cudarc::kpack::{arg, current, shape, Arg, Error, Gpu, Kernel};

const QUANTS_OF_Q8_1: i32 = 32;
const BYTES_OF_Q8_1: usize = 36;
const PADDING: i32 = 512;
/// The most blocks of a grid in y.
const MOST_ROWS: i32 = 65535;

fn padded(k: i32) -> i32 {
    (k + PADDING - 1) / PADDING * PADDING
}

pub(crate) fn on_current_device(work: impl FnOnce(&Gpu) -> Result<(), Error>) {
    let gpu = current().expect("cudarc is used on this thread before candle's C functions");

    gpu.record(work(gpu));
}

/// By the kernel's recommended shape for n rows and so many columns.
unsafe fn launch(
    kernel: Kernel,
    n: i32,
    columns: i32,
    stream: *mut c_void,
    args: &[Arg],
) -> Result<(), Error> {
    kernel.launch(&kernel.shape(n as usize, columns as usize)?, stream, args)
}

/// Rows of k numbers to rows of padded Q8_1 blocks.
#[allow(clippy::too_many_arguments)]
unsafe fn quantize(
    gpu: &Gpu,
    (module, name): (&str, &str),
    mut x: *const c_void,
    bytes_of_x: usize,
    mut y: *mut c_void,
    k: i32,
    k_padded: i32,
    rows: i32,
    stream: *mut c_void,
) -> Result<(), Error> {
    let kernel = gpu.kernel(module, name)?;
    let bytes_of_y = (k_padded / QUANTS_OF_Q8_1) as usize * BYTES_OF_Q8_1;
    let mut left = rows;

    while left > 0 {
        let some = left.min(MOST_ROWS);
        let grid = [(k_padded as u32).div_ceil(256), some as u32, 1];

        kernel.launch(
            &shape(grid, [256, 1, 1], 0),
            stream,
            &[arg(&x), arg(&y), arg(&k), arg(&k_padded)],
        )?;
        x = x.byte_add(some as usize * k as usize * bytes_of_x);
        y = y.byte_add(some as usize * bytes_of_y);
        left -= some;
    }
    Ok(())
}

const QUANTIZE_Q8_1: (&str, &str) = ("quantized", "quantize_q8_1");

// ---- one to eight rows -------------------------------------------------------

macro_rules! quantize_q8_1 {
    ($($name:ident $kernel:literal $bytes:literal)*) => { $(
        /// # Safety
        /// x is [num_rows, kx], vy has room for num_rows rows of kx_padded.
        pub unsafe extern "C" fn $name(
            x: *const c_void,
            vy: *mut c_void,
            kx: i32,
            kx_padded: i32,
            num_rows: i32,
            stream: *mut c_void,
        ) {
            by_candle!($name(
                x: *const c_void,
                vy: *mut c_void,
                kx: i32,
                kx_padded: i32,
                num_rows: i32,
                stream: *mut c_void,
            ));
            on_current_device(|gpu| {
                quantize(
                    gpu, ("mmvq_gguf", $kernel), x, $bytes, vy, kx, kx_padded, num_rows, stream,
                )
            })
        }
    )* };
}
quantize_q8_1! {
    launch_mmvq_gguf_quantize_q8_1_f32 "mmvq_gguf_quantize_q8_1_f32" 4
    launch_mmvq_gguf_quantize_q8_1_f16 "mmvq_gguf_quantize_q8_1_f16" 2
    launch_mmvq_gguf_quantize_q8_1_bf16 "mmvq_gguf_quantize_q8_1_bf16" 2
}

macro_rules! mat_vec {
    ($($name:ident $kernel:literal)*) => { $(
        /// # Safety
        /// vx has nrows_x rows of ncols_x, vy b_size rows of stride_col_y blocks,
        /// dst b_size rows of stride_col_dst.
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name(
            vx: *const c_void,
            vy: *const c_void,
            dst: *mut c_void,
            ncols_x: i32,
            nrows_x: i32,
            stride_col_y: i32,
            stride_col_dst: i32,
            b_size: i32,
            stream: *mut c_void,
        ) {
            by_candle!($name(
                vx: *const c_void,
                vy: *const c_void,
                dst: *mut c_void,
                ncols_x: i32,
                nrows_x: i32,
                stride_col_y: i32,
                stride_col_dst: i32,
                b_size: i32,
                stream: *mut c_void,
            ));
            on_current_device(|gpu| {
                let kernel = gpu.kernel("mmvq_gguf", &format!("{}_cuda{b_size}", $kernel))?;
                let args = [
                    arg(&vx),
                    arg(&vy),
                    arg(&dst),
                    arg(&ncols_x),
                    arg(&nrows_x),
                    arg(&stride_col_y),
                    arg(&stride_col_dst),
                ];

                launch(kernel, nrows_x, 0, stream, &args)
            })
        }
    )* };
}
mat_vec! {
    launch_mmvq_gguf_q4_0_f32_plain "mmvq_gguf_q4_0_f32_plain"
    launch_mmvq_gguf_q4_1_f32_plain "mmvq_gguf_q4_1_f32_plain"
    launch_mmvq_gguf_q5_0_f32_plain "mmvq_gguf_q5_0_f32_plain"
    launch_mmvq_gguf_q5_1_f32_plain "mmvq_gguf_q5_1_f32_plain"
    launch_mmvq_gguf_q8_0_f32_plain "mmvq_gguf_q8_0_f32_plain"
    launch_mmvq_gguf_q2_k_f32_plain "mmvq_gguf_q2_k_f32_plain"
    launch_mmvq_gguf_q3_k_f32_plain "mmvq_gguf_q3_k_f32_plain"
    launch_mmvq_gguf_q4_k_f32_plain "mmvq_gguf_q4_k_f32_plain"
    launch_mmvq_gguf_q5_k_f32_plain "mmvq_gguf_q5_k_f32_plain"
    launch_mmvq_gguf_q6_k_f32_plain "mmvq_gguf_q6_k_f32_plain"
    launch_mmvq_gguf_q4_0_f16_plain "mmvq_gguf_q4_0_f16_plain"
    launch_mmvq_gguf_q4_1_f16_plain "mmvq_gguf_q4_1_f16_plain"
    launch_mmvq_gguf_q5_0_f16_plain "mmvq_gguf_q5_0_f16_plain"
    launch_mmvq_gguf_q5_1_f16_plain "mmvq_gguf_q5_1_f16_plain"
    launch_mmvq_gguf_q8_0_f16_plain "mmvq_gguf_q8_0_f16_plain"
    launch_mmvq_gguf_q2_k_f16_plain "mmvq_gguf_q2_k_f16_plain"
    launch_mmvq_gguf_q3_k_f16_plain "mmvq_gguf_q3_k_f16_plain"
    launch_mmvq_gguf_q4_k_f16_plain "mmvq_gguf_q4_k_f16_plain"
    launch_mmvq_gguf_q5_k_f16_plain "mmvq_gguf_q5_k_f16_plain"
    launch_mmvq_gguf_q6_k_f16_plain "mmvq_gguf_q6_k_f16_plain"
    launch_mmvq_gguf_q4_0_bf16_plain "mmvq_gguf_q4_0_bf16_plain"
    launch_mmvq_gguf_q4_1_bf16_plain "mmvq_gguf_q4_1_bf16_plain"
    launch_mmvq_gguf_q5_0_bf16_plain "mmvq_gguf_q5_0_bf16_plain"
    launch_mmvq_gguf_q5_1_bf16_plain "mmvq_gguf_q5_1_bf16_plain"
    launch_mmvq_gguf_q8_0_bf16_plain "mmvq_gguf_q8_0_bf16_plain"
    launch_mmvq_gguf_q2_k_bf16_plain "mmvq_gguf_q2_k_bf16_plain"
    launch_mmvq_gguf_q3_k_bf16_plain "mmvq_gguf_q3_k_bf16_plain"
    launch_mmvq_gguf_q4_k_bf16_plain "mmvq_gguf_q4_k_bf16_plain"
    launch_mmvq_gguf_q5_k_bf16_plain "mmvq_gguf_q5_k_bf16_plain"
    launch_mmvq_gguf_q6_k_bf16_plain "mmvq_gguf_q6_k_bf16_plain"
}

// ---- more rows ---------------------------------------------------------------

macro_rules! quantize_tiles {
    ($($name:ident)*) => { $(
        /// Plain Q8_1 rows, which kpack's products take: they have as many bytes as
        /// candle's blocks of 128.
        ///
        /// # Safety
        /// x is [ne1, ne00], vy has room for ne1 rows of ne0.
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name(
            x: *const c_void,
            ids: *const i32,
            vy: *mut c_void,
            type_x: i32,
            ne00: i64,
            s01: i64,
            s02: i64,
            s03: i64,
            ne0: i64,
            ne1: i64,
            ne2: i64,
            ne3: i64,
            stream: *mut c_void,
        ) {
            by_candle!($name(
                x: *const c_void,
                ids: *const i32,
                vy: *mut c_void,
                type_x: i32,
                ne00: i64,
                s01: i64,
                s02: i64,
                s03: i64,
                ne0: i64,
                ne1: i64,
                ne2: i64,
                ne3: i64,
                stream: *mut c_void,
            ));
            on_current_device(|gpu| {
                let (k, k_padded, rows) = (ne00 as i32, ne0 as i32, ne1 as i32);

                quantize(gpu, QUANTIZE_Q8_1, x, 4, vy, k, k_padded, rows, stream)
            })
        }
    )* };
}
quantize_tiles! {
    launch_mmq_quantize_q8_1_D4
    launch_mmq_quantize_q8_1_DS4
    launch_mmq_quantize_q8_1_D2S6
}

macro_rules! mat_mul {
    ($($name:ident $kernel:literal)*) => { $(
        /// # Safety
        /// x has nrows_x rows of ncols_x, y is what a quantizer above wrote, dst has
        /// ncols_y rows of stride_col_dst.
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name(
            tmp_fixup: *mut c_void,
            x: *const c_void,
            y: *const c_void,
            dst: *mut c_void,
            ncols_x: i64,
            nrows_x: i64,
            ncols_y: i64,
            stride_row_x: i64,
            stride_col_dst: i64,
            cc: i32,
            nsm: i32,
            smpbo: i64,
            warp_size: i32,
            stream: *mut c_void,
        ) {
            by_candle!($name(
                tmp_fixup: *mut c_void,
                x: *const c_void,
                y: *const c_void,
                dst: *mut c_void,
                ncols_x: i64,
                nrows_x: i64,
                ncols_y: i64,
                stride_row_x: i64,
                stride_col_dst: i64,
                cc: i32,
                nsm: i32,
                smpbo: i64,
                warp_size: i32,
                stream: *mut c_void,
            ));
            on_current_device(|gpu| {
                let kernel = gpu.kernel("quantized", $kernel)?;
                let (k, rows, columns) = (ncols_x as i32, nrows_x as i32, ncols_y as i32);
                let (k_padded, stride) = (padded(k), stride_col_dst as i32);
                let args = [
                    arg(&x),
                    arg(&y),
                    arg(&dst),
                    arg(&k),
                    arg(&rows),
                    arg(&columns),
                    arg(&k_padded),
                    arg(&stride),
                ];

                launch(kernel, rows, columns, stream, &args)
            })
        }
    )* };
}
mat_mul! {
    launch_mmq_gguf_q4_0 "mul_mat_q4_0"
    launch_mmq_gguf_q4_1 "mul_mat_q4_1"
    launch_mmq_gguf_q5_0 "mul_mat_q5_0"
    launch_mmq_gguf_q5_1 "mul_mat_q5_1"
    launch_mmq_gguf_q8_0 "mul_mat_q8_0"
    launch_mmq_gguf_q2_k "mul_mat_q2_K"
    launch_mmq_gguf_q3_k "mul_mat_q3_K"
    launch_mmq_gguf_q4_k "mul_mat_q4_K"
    launch_mmq_gguf_q5_k "mul_mat_q5_K"
    launch_mmq_gguf_q6_k "mul_mat_q6_K"
}

// ---- mixtures of experts -----------------------------------------------------

/// By candle's numbers.
const NUMBERS: [&str; 2] = ["f16", "bf16"];
const FORMATS: [&str; 6] = ["q8_0", "q4_k", "q2_k", "q3_k", "q5_k", "q6_k"];

#[derive(Clone, Copy)]
struct Sizes {
    experts: i32,
    topk: i32,
    m: i32,
    n: i32,
    k: i32,
}

impl Sizes {
    fn args(&self) -> [Arg; 5] {
        [
            arg(&self.experts),
            arg(&self.topk),
            arg(&self.m),
            arg(&self.n),
            arg(&self.k),
        ]
    }
}

unsafe fn find_offsets(
    gpu: &Gpu,
    expert_ids: *const i32,
    offsets: *mut i32,
    sizes: Sizes,
    stream: *mut c_void,
) -> Result<(), Error> {
    let kernel = gpu.kernel("moe", "moe_expert_offsets")?;
    let args = [
        arg(&expert_ids),
        arg(&offsets),
        arg(&sizes.m),
        arg(&sizes.experts),
    ];

    launch(kernel, sizes.experts + 1, 0, stream, &args)
}

/// Memory of the stream for the work that is given to it meanwhile.
unsafe fn with_scratch(
    gpu: &Gpu,
    nbytes: usize,
    stream: *mut c_void,
    work: impl FnOnce(*mut c_void) -> Result<(), Error>,
) -> Result<(), Error> {
    let scratch = gpu.alloc(nbytes, stream)?;

    work(scratch).and(gpu.free(scratch, stream))
}

/// # Safety
/// Pointers are to memory of the sizes given; expert_offsets has an element more
/// than there are experts.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn moe_gemm_wmma(
    input: *const c_void,
    weights: *const c_void,
    sorted_token_ids: *const i32,
    expert_ids: *const i32,
    topk_weights: *const f32,
    output: *mut c_void,
    _expert_counts: *mut i32,
    expert_offsets: *mut i32,
    num_experts: i32,
    topk: i32,
    size_m: i32,
    size_n: i32,
    size_k: i32,
    dtype: i32,
    _is_prefill: bool,
    stream: i64,
) {
    let sizes = Sizes {
        experts: num_experts,
        topk,
        m: size_m,
        n: size_n,
        k: size_k,
    };
    let stream = stream as *mut c_void;

    on_current_device(|gpu| {
        let kernel = gpu.kernel("moe", &format!("moe_gemm_{}", NUMBERS[dtype as usize]))?;
        let mut args = vec![
            arg(&input),
            arg(&weights),
            arg(&sorted_token_ids),
            arg(&expert_offsets),
            arg(&topk_weights),
            arg(&output),
        ];

        args.extend(sizes.args());
        find_offsets(gpu, expert_ids, expert_offsets, sizes, stream)?;
        launch(kernel, num_experts, size_n, stream, &args)
    })
}

/// # Safety
/// Pointers are to memory of the sizes given.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn moe_gemm_gguf(
    input: *const f32,
    weights: *const c_void,
    sorted_token_ids: *const i32,
    expert_ids: *const i32,
    topk_weights: *const f32,
    output: *mut c_void,
    num_experts: i32,
    topk: i32,
    size_m: i32,
    size_n: i32,
    size_k: i32,
    gguf_dtype: i32,
    stream: i64,
) {
    let sizes = Sizes {
        experts: num_experts,
        topk,
        m: size_m,
        n: size_n,
        k: size_k,
    };
    let stream = stream as *mut c_void;
    let k_padded = padded(size_k);
    // Without weights, a token's experts share its row.
    let rows = if topk_weights.is_null() {
        size_m / topk
    } else {
        size_m
    };
    let nbytes = rows as usize * (k_padded / QUANTS_OF_Q8_1) as usize * BYTES_OF_Q8_1;

    on_current_device(|gpu| {
        let name = format!("moe_gemm_gguf_{}", FORMATS[gguf_dtype as usize]);
        let kernel = gpu.kernel("moe", &name)?;

        with_scratch(gpu, nbytes, stream, |q8_1| {
            let mut args = vec![
                arg(&weights),
                arg(&q8_1),
                arg(&sorted_token_ids),
                arg(&expert_ids),
                arg(&topk_weights),
                arg(&output),
            ];

            args.extend(sizes.args());
            args.push(arg(&k_padded));
            quantize(
                gpu,
                QUANTIZE_Q8_1,
                input.cast(),
                4,
                q8_1,
                size_k,
                k_padded,
                rows,
                stream,
            )?;
            launch(kernel, size_n, size_m, stream, &args)
        })
    })
}

/// # Safety
/// Pointers are to memory of the sizes given.
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn moe_gemm_gguf_prefill(
    input: *const c_void,
    weights: *const u8,
    sorted_token_ids: *const i32,
    expert_ids: *const i32,
    topk_weights: *const f32,
    output: *mut c_void,
    num_experts: i32,
    topk: i32,
    size_m: i32,
    size_n: i32,
    size_k: i32,
    input_dtype: i32,
    gguf_dtype: i32,
    stream: i64,
) {
    let sizes = Sizes {
        experts: num_experts,
        topk,
        m: size_m,
        n: size_n,
        k: size_k,
    };
    let stream = stream as *mut c_void;
    let (numbers, format) = (NUMBERS[input_dtype as usize], FORMATS[gguf_dtype as usize]);

    on_current_device(|gpu| {
        let kernel = gpu.kernel("moe", &format!("moe_gemm_gguf_prefill_{numbers}_{format}"))?;

        with_scratch(gpu, (num_experts as usize + 1) * 4, stream, |offsets| {
            let mut args = vec![
                arg(&input),
                arg(&weights),
                arg(&sorted_token_ids),
                arg(&offsets),
                arg(&topk_weights),
                arg(&output),
            ];

            args.extend(sizes.args());
            find_offsets(gpu, expert_ids, offsets.cast(), sizes, stream)?;
            launch(kernel, num_experts, size_n, stream, &args)
        })
    })
}
