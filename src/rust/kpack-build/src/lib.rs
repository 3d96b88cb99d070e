#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A pack to be made: GNU Make does it, by kpack's kpack.mk, whose head lists the settings.
#[derive(Clone, Debug)]
pub struct Pack {
    name: String,
    sources: Vec<PathBuf>,
    settings: Vec<(String, String)>,
    makefile: Option<PathBuf>,
}

/// A pack that was made, and that the crate links.
#[derive(Clone, Debug)]
pub struct Built {
    /// `libNAME.a`.
    pub archive: PathBuf,
    /// What to `include!`: the pack and its typed kernels. An imported pack has none.
    pub rust: PathBuf,
    /// The folder of its C headers.
    pub include: PathBuf,
}

impl Pack {
    /// A pack of that name, for the default targets.
    pub fn new(name: &str) -> Pack {
        Pack { name: name.into(), sources: Vec::new(), settings: Vec::new(), makefile: None }
    }

    /// A source, which becomes a module of its file's name. Paths are relative to the crate.
    pub fn source(mut self, path: impl AsRef<Path>) -> Pack {
        self.sources.push(path.as_ref().to_path_buf());
        self
    }

    /// Targets to compile for, as words: `"gfx942 gfx1100"`. The environment variable `KPACK_ARCHS` wins.
    pub fn archs(self, targets: &str) -> Pack {
        self.setting("ARCHS", targets)
    }

    /// A flag of the device compiler, for all modules.
    pub fn flag(mut self, flag: &str) -> Pack {
        match self.settings.iter_mut().find(|(name, _)| name == "HIPFLAGS") {
            Some((_, flags)) => *flags = format!("{} {}", flags, flag),
            None => self.settings.push(("HIPFLAGS".into(), flag.into())),
        }
        self
    }

    /// A folder of compiled code objects that becomes the pack, in place of sources.
    pub fn import(self, folder: impl AsRef<Path>) -> Pack {
        let folder = folder.as_ref().to_path_buf();
        self.setting("IMPORT", &folder.to_string_lossy())
    }

    /// Any other setting of kpack.mk: `COMPRESS`, `COV`, `HIPFLAGS_saxpy` ...
    pub fn setting(mut self, name: &str, value: &str) -> Pack {
        self.settings.retain(|(other, _)| other != name);
        self.settings.push((name.into(), value.into()));
        self
    }

    /// kpack.mk, where it is not to be looked for.
    pub fn makefile(mut self, path: impl AsRef<Path>) -> Pack {
        self.makefile = Some(path.as_ref().to_path_buf());
        self
    }

    /// Makes the pack in OUT_DIR, and has Cargo link it. Panics with the compiler's words if it cannot:
    /// in a build script they are the build's failure.
    pub fn compile(&self) -> Built {
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("OUT_DIR: called from a build script"));
        let makefile = self.makefile.clone().or_else(find_makefile).unwrap_or_else(|| {
            panic!(
                "kpack.mk was not found: depend on the crate kpack of an installed kpack, set KPACK_DIR to \
                 the PREFIX of its `make install`, or set PKG_CONFIG_PATH"
            )
        });
        let mut make = Command::new(env::var_os("MAKE").unwrap_or_else(|| "make".into()));
        // Cargo's job server is not GNU Make's to use here.
        make.env_remove("MAKEFLAGS").env_remove("CARGO_MAKEFLAGS");
        make.arg(format!("-j{}", env::var("NUM_JOBS").unwrap_or_else(|_| "1".into())));
        make.arg("-f").arg(&makefile).args(["kpack-pack", &format!("PACK={}", self.name)]);
        make.args(self.arguments(&out, env::var("KPACK_ARCHS").ok()));
        run(&mut make);

        println!("cargo:rustc-link-search=native={}", out.display());
        println!("cargo:rustc-link-lib=static:-bundle={}", self.name);
        for folder in self.folders() {
            println!("cargo:rerun-if-changed={}", folder.display());
        }
        println!("cargo:rerun-if-changed={}", makefile.display());
        for name in ["KPACK_DIR", "KPACK_ARCHS", "PKG_CONFIG_PATH"] {
            println!("cargo:rerun-if-env-changed={}", name);
        }
        Built {
            archive: out.join(format!("lib{}.a", self.name)),
            rust: out.join(format!("rust/{}.rs", self.name)),
            include: out.join("include"),
        }
    }

    /// Settings as make takes them.
    fn arguments(&self, out: &Path, archs: Option<String>) -> Vec<String> {
        let mut all = vec![format!("B={}", out.display())];
        if !self.sources.is_empty() {
            let words: Vec<_> = self.sources.iter().map(|path| path.to_string_lossy()).collect();
            all.push(format!("SOURCES={}", words.join(" ")));
        }
        all.extend(self.settings.iter().map(|(name, value)| format!("{}={}", name, value)));
        all.extend(archs.map(|words| format!("ARCHS={}", words))); // make takes the last one
        all
    }

    /// The folders of sources and of the headers beside them.
    fn folders(&self) -> Vec<PathBuf> {
        let of = |path: &PathBuf| path.parent().map(Path::to_path_buf);
        let mut all: Vec<_> = self.sources.iter().filter_map(of).collect();
        all.extend(
            self.settings.iter().filter(|(name, _)| name == "IMPORT").map(|(_, folder)| folder.into()),
        );
        all.sort();
        all.dedup();
        // An empty path is the crate itself, where target/ may be: its sources alone.
        let (here, mut all): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| path.as_os_str().is_empty());
        if !here.is_empty() {
            all.extend(self.sources.iter().cloned());
        }
        all
    }
}

/// kpack.mk: of the crate kpack that the caller depends on, of `KPACK_DIR`, beside this crate, or of
/// pkg-config.
fn find_makefile() -> Option<PathBuf> {
    let existing = |path: PathBuf| Some(path).filter(|path| path.exists());
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(|share| share.join("kpack.mk"));
    variable("DEP_KPACK_CRATE_MAKEFILE")
        .or_else(|| variable("DEP_KPACK_MAKEFILE"))
        .or_else(|| variable("KPACK_DIR").and_then(|prefix| existing(prefix.join("share/kpack/kpack.mk"))))
        .or_else(|| beside.and_then(existing))
        .or_else(|| {
            let asked = Command::new("pkg-config").args(["--variable=makefile", "kpack"]).output().ok()?;
            existing(PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim_end()))
        })
}

/// Starts a program. Its failure is the build's.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_makes() {
        let pack =
            Pack::new("mine").source("k/a.hip").source("k/b.hip").archs("gfx942").flag("-DA").flag("-DB");
        let pack = pack.setting("COV", "4").setting("COV", "6");
        let expected = ["B=/out", "SOURCES=k/a.hip k/b.hip", "ARCHS=gfx942", "HIPFLAGS=-DA -DB", "COV=6"];
        assert_eq!(pack.arguments(Path::new("/out"), None), expected);
        assert_eq!(pack.arguments(Path::new("/out"), Some("gfx90a".into())).last().unwrap(), "ARCHS=gfx90a");
        assert_eq!(pack.folders(), [Path::new("k")]);
        assert_eq!(Pack::new("a").source("a.hip").folders(), [Path::new("a.hip")]);
        assert_eq!(Pack::new("a").import("hsa").folders(), [Path::new("hsa")]);
    }
}
