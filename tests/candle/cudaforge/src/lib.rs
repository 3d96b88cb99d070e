//! A builder that compiles nothing: candle-kernels has the functions that
//! candle-flash-attn links

use std::path::Path;

pub type Result<T> = std::io::Result<T>;

#[derive(Default)]
pub struct KernelBuilder;

macro_rules! settings {
    ($($name:ident)*) => { $(
        pub fn $name<T>(self, _: T) -> Self {
            self
        }
    )* };
}

impl KernelBuilder {
    pub fn new() -> Self {
        KernelBuilder
    }

    settings! { source_files out_dir with_cutlass arg args thread_percentage }

    /// The least that candle-flash-attn-v3 builds for.
    pub fn get_compute_cap(&self) -> Option<usize> {
        Some(90)
    }

    /// An archive of nothing. Build scripts link the CUDA runtime, too.
    pub fn build_lib(self, archive: impl AsRef<Path>) -> Result<()> {
        std::fs::write(&archive, "!<arch>\n")?;
        std::fs::write(
            archive.as_ref().with_file_name("libcudart.so"),
            "/* a linker script of nothing */\n",
        )
    }
}
