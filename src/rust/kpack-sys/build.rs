//! build.rs - finds or makes libkpack.a and links it
//!
//! The first of these that there is:
//!
//! 1. `KPACK_DIR`: where `make install` put kpack, or a build folder of kpack's tree;
//! 2. the installation or tree that this crate is part of;
//! 3. `pkg-config kpack`;
//! 4. with feature `vendored`: kpack's sources, compiled by GNU Make and a device compiler for the
//!    targets and modules of `KPACK_ARCHS` and `KPACK_MODULES`;
//! 5. with feature `prebuilt`: kpack's runtime alone, compiled by `cc`. The kernels come from crates
//!    such as `kpack-candle-gfx942`.
//!
//! A crate that depends on this one directly reads in its own build script DEP_KPACK_LIBDIR,
//! DEP_KPACK_INCLUDE (folders, as PATH has them), DEP_KPACK_MAKEFILE (kpack.mk, for packs of its own)
//! and DEP_KPACK_RUST (typed kernels).

use std::env;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kpack that is ready to be linked.
struct Kpack {
    libdir: PathBuf,
    include: Vec<PathBuf>,
    /// kpack.mk; a build folder has none.
    makefile: Option<PathBuf>,
    /// What kpack-gen wrote for Rust; a pack without launchers has none.
    rust: Option<PathBuf>,
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    if path.exists() {
        Some(path)
    } else {
        None
    }
}

/// The installation below a prefix.
fn installed(prefix: &Path) -> Option<Kpack> {
    // Debian's packages have a folder for each machine.
    let machine = format!("lib/{}-linux-gnu", env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default());
    let folders = ["lib", &machine, "lib64"];
    let archive = folders.iter().find_map(|lib| existing(prefix.join(lib).join("libkpack.a")))?;
    Some(Kpack {
        libdir: archive.parent()?.to_path_buf(),
        include: vec![prefix.join("include")],
        makefile: existing(prefix.join("share/kpack/kpack.mk")),
        rust: existing(prefix.join("share/kpack/rust/packs")),
    })
}

/// The build folder of a tree, whose include/ has kpack.h.
fn built(folder: &Path, tree: &Path) -> Option<Kpack> {
    existing(folder.join("libkpack.a"))?;
    Some(Kpack {
        libdir: folder.to_path_buf(),
        include: vec![tree.join("include"), folder.join("include")],
        makefile: None,
        rust: existing(folder.join("rust")),
    })
}

fn run(command: &mut Command) {
    let output =
        command.output().unwrap_or_else(|error| panic!("{:?} cannot be started: {}", command, error));
    assert!(
        output.status.success(),
        "{:?} failed:\n{}{}",
        command,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn from_environment() -> Option<Kpack> {
    let folder = PathBuf::from(env::var_os("KPACK_DIR").filter(|dir| !dir.is_empty())?);
    let found = installed(&folder).or_else(|| built(&folder, folder.parent().unwrap_or(&folder)));
    assert!(
        found.is_some(),
        "KPACK_DIR={}: neither lib/libkpack.a nor libkpack.a is there: \
         name the PREFIX of `make install`, or kpack's build folder",
        folder.display()
    );
    found
}

/// PREFIX/share/kpack/rust/kpack-sys, or src/rust/kpack-sys of a tree.
fn around(crate_folder: &Path) -> Option<Kpack> {
    let share = crate_folder.ancestors().nth(2)?;
    if share.join("kpack.mk").exists() {
        return installed(share.ancestors().nth(2)?);
    }
    let tree = crate_folder.ancestors().nth(3)?;
    existing(tree.join("include/kpack.h"))?;
    built(&tree.join("build"), tree)
}

fn pkg_config() -> Option<Kpack> {
    let ask = |words: &[&str]| {
        let output = Command::new("pkg-config").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(PathBuf::from(text.trim_end())).filter(|_| output.status.success())
    };
    ask(&["--exists", "kpack >= 0.1 kpack < 0.2"])?;
    let makefile = ask(&["--variable=makefile", "kpack"])?;
    Some(Kpack {
        libdir: ask(&["--variable=libdir", "kpack"])?,
        include: vec![ask(&["--variable=includedir", "kpack"])?],
        rust: makefile.parent().and_then(|share| existing(share.join("rust/packs"))),
        makefile: existing(makefile),
    })
}

/// kpack's sources: in the packaged crate, or the tree around it.
fn sources(crate_folder: &Path) -> PathBuf {
    let tree = crate_folder.ancestors().nth(3);
    existing(crate_folder.join("kpack/include/kpack.h"))
        .and_then(|header| Some(header.ancestors().nth(2)?.to_path_buf()))
        .or_else(|| tree.filter(|tree| tree.join("Makefile").exists()).map(Path::to_path_buf))
        .expect("this copy of kpack-sys is without kpack's sources: set KPACK_DIR instead")
}

/// Feature `vendored`: all of it, by GNU Make and a device compiler.
fn vendored(crate_folder: &Path, out: &Path) -> Option<Kpack> {
    let (tree, prefix) = (sources(crate_folder), out.join("kpack"));
    let mut make = Command::new("make");
    // Cargo's job server is not GNU Make's to use here.
    make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS").arg("-C").arg(&tree);
    make.arg(format!("-j{}", env::var("NUM_JOBS").unwrap_or_else(|_| "1".into())));
    make.arg("install").arg(format!("B={}", out.join("build").display()));
    make.arg(format!("PREFIX={}", prefix.display()));
    for setting in ["ARCHS", "MODULES"] {
        if let Ok(words) = env::var(format!("KPACK_{}", setting)) {
            make.arg(format!("{}={}", setting, words));
        }
    }
    run(&mut make);
    println!("cargo:rerun-if-changed={}", tree.join("kernels").display());
    println!("cargo:rerun-if-changed={}", tree.join("src").display());
    installed(&prefix)
}

/// Feature `prebuilt`: the runtime alone, by the C compiler.
fn runtime(crate_folder: &Path, out: &Path) -> Option<Kpack> {
    let (tree, folder) = (sources(crate_folder), out.join("kpack"));
    let tool = |name: &str, default: &str| {
        let words = env::var(name).unwrap_or_else(|_| default.into());
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(default));
        command.args(words);
        command
    };
    std::fs::create_dir_all(&folder).expect("OUT_DIR is writable");
    let mut archive = tool("AR", "ar");
    archive.arg("rcs").arg(folder.join("libkpack.a"));
    // What asks the system for locks and libraries is a file for each system.
    let windows = env::var_os("CARGO_CFG_WINDOWS").is_some();
    let other_system = if windows { "os_posix.c" } else { "os_windows.c" };
    let mut files: Vec<PathBuf> = std::fs::read_dir(tree.join("src"))
        .expect("kpack's sources have a folder src")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().map_or(false, |extension| extension == "c"))
        .filter(|path| !path.ends_with(other_system))
        .collect();
    files.sort();
    for file in files {
        let object = folder.join(file.file_name().expect("a file")).with_extension("o");
        run(tool("CC", "cc")
            .args(["-std=c11", "-O2", "-D_DEFAULT_SOURCE=", "-fPIC", "-fvisibility=hidden", "-pthread"])
            .arg("-I")
            .arg(tree.join("include"))
            .arg("-I")
            .arg(tree.join("src"))
            .arg("-c")
            .arg(&file)
            .arg("-o")
            .arg(&object));
        archive.arg(object);
    }
    let _ = std::fs::remove_file(folder.join("libkpack.a"));
    run(&mut archive);
    println!("cargo:rerun-if-changed={}", tree.join("src").display());
    built(&folder, &tree)
}

/// True if an archive has a member: the decoder of a compressed pack is one.
fn has_member(archive: &Path, name: &str) -> std::io::Result<bool> {
    let mut file = File::open(archive)?;
    let mut head = [0u8; 60];
    file.seek(SeekFrom::Start(8))?;
    while file.read_exact(&mut head).is_ok() {
        if String::from_utf8_lossy(&head[..16]).trim_end().trim_end_matches('/') == name {
            return Ok(true);
        }
        let nbytes: i64 = String::from_utf8_lossy(&head[48..58]).trim().parse().unwrap_or(0);
        file.seek(SeekFrom::Current(nbytes + nbytes % 2))?;
    }
    Ok(false)
}

fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));

    println!("cargo:rerun-if-changed=build.rs");
    for name in ["KPACK_DIR", "KPACK_ARCHS", "KPACK_MODULES", "PKG_CONFIG_PATH", "CC", "AR"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    if env::var_os("DOCS_RS").is_some() {
        return; // nothing is linked to make documentation
    }
    let feature = |name: &str| env::var_os(format!("CARGO_FEATURE_{}", name)).is_some();
    let kpack = from_environment()
        .or_else(|| around(&crate_folder))
        .or_else(pkg_config)
        .or_else(|| if feature("VENDORED") { vendored(&crate_folder, &out) } else { None })
        .or_else(|| if feature("PREBUILT") { runtime(&crate_folder, &out) } else { None })
        .expect(
            "libkpack.a was not found: set KPACK_DIR to the PREFIX of kpack's `make install` or to its \
             build folder, set PKG_CONFIG_PATH, or enable the feature `vendored` or `prebuilt`",
        );

    let archive = kpack.libdir.join("libkpack.a");
    println!("cargo:rerun-if-changed={}", archive.display());
    println!("cargo:rustc-link-search=native={}", kpack.libdir.display());
    // Not copied into the rlib: the whole pack has 100 MB. The linker takes what is named.
    println!("cargo:rustc-link-lib=static:-bundle=kpack");
    if has_member(&archive, "pack.kpk-zstd.o").unwrap_or(false) {
        println!("cargo:rustc-link-lib=dylib=zstd");
    }
    if env::var_os("CARGO_CFG_WINDOWS").is_none() {
        println!("cargo:rustc-link-lib=dylib=dl");
        println!("cargo:rustc-link-lib=dylib=pthread");
    }

    let include = env::join_paths(&kpack.include).expect("a path with ':'");
    println!("cargo:include={}", include.to_string_lossy());
    println!("cargo:rustc-env=KPACK_SYS_INCLUDE={}", include.to_string_lossy()); // for layout.rs
    println!("cargo:libdir={}", kpack.libdir.display());
    if let Some(makefile) = kpack.makefile {
        println!("cargo:makefile={}", makefile.display());
    }
    if let Some(rust) = kpack.rust {
        println!("cargo:rust={}", rust.display());
    }
}
