//! build.rs - makes the kernels a pack and links it; the recipe for any crate
//!
//! Wants pkg-config and GNU Make, and PKG_CONFIG_PATH where kpack is installed
//! in a place of its own.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const PACK: &str = "mine";
const SOURCES: &[&str] = &["kernels/saxpy.hip"];
const ARCHS: &str = "gfx942 gfx1100";

/// What a program prints, without the line's end; its failure is the build's.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    assert!(
        output.status.success(),
        "{:?} failed:\n{}{}",
        command,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().to_string()
}

fn pkg_config(variable: &str) -> String {
    run(Command::new("pkg-config").args([&format!("--variable={variable}"), "kpack"]))
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));

    // make knows the kernels' headers and does what is to do. Cargo's own job
    // server is not GNU Make's to use here.
    run(Command::new("make")
        .env_remove("MAKEFLAGS")
        .env_remove("CARGO_MAKEFLAGS")
        .arg(format!("-j{}", env::var("NUM_JOBS").unwrap_or_else(|_| "1".into())))
        .args(["-f", &pkg_config("makefile"), "kpack-pack"])
        .arg(format!("PACK={PACK}"))
        .arg(format!("SOURCES={}", SOURCES.join(" ")))
        .arg(format!("ARCHS={ARCHS}"))
        .arg(format!("B={}", out.display())));

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-search=native={}", pkg_config("libdir"));
    println!("cargo:rustc-link-lib=static={PACK}");
    println!("cargo:rustc-link-lib=static=kpack");
    println!("cargo:rustc-link-lib=dylib=dl");
    println!("cargo:rustc-link-lib=dylib=pthread");
    // The folder: sources and the headers beside them.
    println!("cargo:rerun-if-changed=kernels");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
}
