//! build.rs - makes the kernels a pack

fn main() {
    kpack_build::Pack::new("mine").source("kernels/saxpy.hip").archs("gfx942 gfx1100").compile();
}
