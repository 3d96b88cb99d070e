//! Bindings to kpack: GPU kernels that travel inside a program.
//!
//! Everything here is `kpack.h` as it stands; its comments are the documentation. The crate
//! `kpack` is the safe layer. `build.rs` tells where `libkpack.a` is looked for.
//!
//! A pack's own symbols are declared where they are used, so that a program links the kernels
//! that it names and no others:
//!
//! ```no_run
//! extern "C" {
//!     static kpk_candle: kpack_sys::kpk_pack; // the whole pack
//!     static kpk_module_candle__affine: kpack_sys::kpk_module; // one module
//! }
//! ```
#![allow(non_camel_case_types)]

#[cfg(test)]
#[macro_use]
mod layout;
#[rustfmt::skip] // as bindings.py writes it
mod bindings;
mod inline;

pub use bindings::*;
pub use inline::*;

// SAFETY: a pack is constant data of the program; every thread may read it.
unsafe impl Sync for kpk_pack {}
// SAFETY: likewise.
unsafe impl Sync for kpk_module {}
