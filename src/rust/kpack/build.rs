//! build.rs - finds what kpack-gen wrote of pack candle

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Without kpack-gen's files, as on docs.rs, there are no typed kernels.
const PACK_ALONE: &str = "
/// Pack candle: a program that calls this links all of it.
pub fn pack() -> ::kpack::Pack {
    #[allow(non_upper_case_globals)]
    extern \"C\" {
        static kpk_candle: ::kpack::sys::kpk_pack;
    }
    // SAFETY: constant data of libkpack.a.
    ::kpack::Pack::new(unsafe { &kpk_candle })
}
";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("candle.rs");
    // kpack-sys tells where: its build.rs.
    let file = env::var_os("DEP_KPACK_RUST").map(|folder| Path::new(&folder).join("candle.rs"));
    let text = match file.filter(|file| file.exists()) {
        Some(file) => {
            println!("cargo:rerun-if-changed={}", file.display());
            format!("include!({:?});\n", file)
        }
        None => PACK_ALONE.into(),
    };
    fs::write(out, text).expect("OUT_DIR is writable");
    // Crates that depend on this one read it as DEP_KPACK_CRATE_...: kpack-build does.
    for name in ["INCLUDE", "LIBDIR", "MAKEFILE", "RUST"] {
        if let Ok(value) = env::var(format!("DEP_KPACK_{}", name)) {
            println!("cargo:{}={}", name.to_lowercase(), value);
        }
    }
}
