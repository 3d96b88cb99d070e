//! The functions that kpack.h has as `static inline`.

use crate::{kpk_arg, kpk_shape, kpk_value};
use core::ffi::c_void;
use core::mem::size_of;
use core::ptr::null;

/// A shape of enough blocks in x to give every one of n elements a thread: at least 1 block, at
/// most 2^31 - 1, and fewer than 2^32 threads. A block of 0 gives a shape that every launch refuses.
pub const fn kpk_shape_1d(n: u64, block: u32) -> kpk_shape {
    let mut blocks = 1;
    if block != 0 {
        let mut most = 0xffff_ffff / block as u64;
        if most > 0x7fff_ffff {
            most = 0x7fff_ffff;
        }
        blocks = n / block as u64 + (n % block as u64 != 0) as u64;
        if blocks > most {
            blocks = most;
        }
        if blocks == 0 {
            blocks = 1;
        }
    }
    kpk_shape { grid: [blocks as u32, 1, 1], block: [block, 1, 1], shared_nbytes: 0 }
}

/// `KPK_ARG`: one argument of a launch, by the address of its value.
pub const fn kpk_arg_of<T>(value: &T) -> kpk_arg {
    kpk_arg { value: value as *const T as *const c_void, nbytes: size_of::<T>() }
}

/// A value of `nbytes` at `at`, which is read when the list is laid out.
pub fn kpk_bytes(at: *const c_void, nbytes: usize, align: usize) -> kpk_value {
    kpk_value { at, bits: 0, nbytes: if at.is_null() { 0 } else { nbytes }, align }
}

const fn number(bits: u64, nbytes: usize) -> kpk_value {
    kpk_value { at: null(), bits, nbytes, align: nbytes }
}
/// A device pointer as a value.
pub fn kpk_ptr(device: *const c_void) -> kpk_value {
    number(device as usize as u64, 8)
}
/// A number as a value.
pub const fn kpk_u32(value: u32) -> kpk_value {
    number(value as u64, 4)
}
/// A number as a value.
pub const fn kpk_i32(value: i32) -> kpk_value {
    number(value as u32 as u64, 4)
}
/// A number as a value.
pub const fn kpk_u64(value: u64) -> kpk_value {
    number(value, 8)
}
/// A number as a value.
pub const fn kpk_i64(value: i64) -> kpk_value {
    number(value as u64, 8)
}
/// A number as a value.
pub fn kpk_f32(value: f32) -> kpk_value {
    number(value.to_bits() as u64, 4)
}
/// A number as a value.
pub fn kpk_f64(value: f64) -> kpk_value {
    number(value.to_bits(), 8)
}
