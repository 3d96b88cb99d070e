//! The part of cudarc that candle uses, over kpack: candle's CUDA backend runs
//! unchanged on AMD's GPUs, simulated ones too, and on NVIDIA's.
//!
//! Names, arguments and the order of work are cudarc's (0.19). The differences:
//!
//! - A module's text is the name of a kpack module.
//! - An error has kpack's sentence.
//! - Memory comes from kpack's pool, products from its module `gemm`, random
//!   numbers from its module `random`.

pub mod cublas;
pub mod curand;
pub mod driver;
pub mod kpack;
pub mod nvrtc;
mod ptx;
