#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
// The features `half` and `float8` are not in every manifest of this crate: registry.toml.
#![allow(unknown_lints, unexpected_cfgs)]

// Typed kernels, which are written for other crates, name this one.
extern crate self as kpack;

mod args;
mod device;
mod error;
mod graph;
mod instance;
mod kernel;
mod memory;
mod pack;
mod stream;
pub mod types;

/// The pack `candle` of libkpack.a: its modules, with typed kernels.
///
/// What is here depends on the libkpack.a that is linked.
#[cfg(feature = "candle")]
pub mod candle {
    include!(concat!(env!("OUT_DIR"), "/candle.rs"));
}

pub use args::{Arg, ByValue, DevicePtr, Input, KernelArg, Null, Output, NULL};
pub use device::{Device, Driver, Platform};
pub use error::{Error, Result, Status};
pub use graph::{CaptureMode, Graph};
pub use instance::{Instance, Pool};
pub use kernel::{Attrs, Kernel, Kernels, LaunchOptions, Shape};
pub use kpack_sys as sys;
pub use memory::{Buffer, Pinned, View, ViewMut};
pub use pack::{ArgInfo, KernelInfo, Module, Object, Pack, Selection};
pub use stream::{Event, Stream};
pub use types::{bf16, f16, f8_e4m3, f8_e5m2, As, Pod};
