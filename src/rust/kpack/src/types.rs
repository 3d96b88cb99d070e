//! types.rs - what lies in device memory: plain data, and types that Rust does not have

#![allow(non_camel_case_types)]

use std::fmt;

/// A type of which device memory can hold a slice: any bytes are a value of it.
///
/// # Safety
///
/// Every pattern of bits is a value of the type, it has no padding, and copying it is all that
/// there is to it. `bool` and references are not of the kind; `u8` stands for C's `bool`.
pub unsafe trait Pod: Copy + Send + Sync + 'static {}

macro_rules! pod {
    ($($type:ty)*) => { $(
        // SAFETY: a number, or a struct of numbers of one size: no padding, any bits will do.
        unsafe impl Pod for $type {}
    )* };
}
pod!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);
// SAFETY: as its elements, which follow one another without gaps.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}

/// What a kernel's `void *` points to: memory of any type.
pub enum Void {}

/// A type whose memory a kernel reads or writes as `T`.
///
/// # Safety
///
/// `Self` and `T` have the same size and alignment, and the same bits mean the same.
pub unsafe trait As<T> {}
// SAFETY: a type is like itself.
unsafe impl<T: Pod> As<T> for T {}
// SAFETY: a kernel that takes `void *` says itself what it reads there.
unsafe impl<T: Pod> As<Void> for T {}
// SAFETY: C's bool is a byte; a kernel takes each value but 0 as true.
unsafe impl As<bool> for u8 {}

macro_rules! small_float {
    ($name:ident, $bits:ty, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $bits);
        pod!($name);

        impl $name {
            /// The value with these bits.
            pub const fn from_bits(bits: $bits) -> Self {
                $name(bits)
            }
            /// The bits.
            pub const fn to_bits(self) -> $bits {
                self.0
            }
        }
        impl From<$name> for f32 {
            fn from(x: $name) -> f32 {
                x.to_f32()
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_f32().fmt(f)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_f32().fmt(f)
            }
        }
    };
}
small_float!(f16, u16, "IEEE binary16: 1 sign, 5 exponent, 10 fraction bits.");
small_float!(bf16, u16, "bfloat16: the upper half of an `f32`.");
small_float!(f8_e4m3, u8, "OCP's 8-bit float E4M3: no infinity, NaN is 0x7f and 0xff.");
small_float!(f8_e5m2, u8, "OCP's 8-bit float E5M2.");

/// A magnitude as a number of `fraction` bits and exponent bias `bias`, rounded to nearest, ties to
/// even. See kpk_i_round() in kpack/types.h.
fn round(magnitude: u32, fraction: u32, bias: i32) -> u32 {
    let exponent = (magnitude >> 23) as i32 - 127 + bias;
    let (mut shift, low) = (23 - fraction, magnitude & 0x7f_ffff);
    let value = if exponent > 0 {
        (exponent as u32) << 23 | low
    } else {
        shift += 1 + exponent.unsigned_abs();
        if shift > 25 {
            return 0;
        }
        low | 0x80_0000
    };
    (value + ((1 << (shift - 1)) - 1) + (value >> shift & 1)) >> shift
}

/// The inverse, exact: sign apart, no special values.
fn widen(bits: u32, fraction: u32, bias: i32) -> f32 {
    let (exponent, low) = (bits >> fraction, bits & ((1 << fraction) - 1));
    if exponent != 0 {
        return f32::from_bits(((exponent as i32 + 127 - bias) as u32) << 23 | low << (23 - fraction));
    }
    low as f32 * f32::from_bits(((127 + 1 - bias - fraction as i32) as u32) << 23)
}

fn with_sign(x: f32, negative: bool) -> f32 {
    f32::from_bits(x.to_bits() | (negative as u32) << 31)
}

impl f16 {
    /// Rounds to nearest, ties to even; what is beyond 65504 becomes infinity.
    pub fn from_f32(x: f32) -> f16 {
        let (bits, a) = (x.to_bits(), x.to_bits() & 0x7fff_ffff);
        let r = match a {
            0x7f80_0001.. => 0x7e00,
            0x477f_f000.. => 0x7c00,
            _ => round(a, 10, 15),
        };
        f16((r | bits >> 16 & 0x8000) as u16)
    }
    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        let a = self.0 as u32 & 0x7fff;
        let x = if a >= 0x7c00 { f32::from_bits(0x7f80_0000 | a << 13) } else { widen(a, 10, 15) };
        with_sign(x, self.0 as u32 & 0x8000 != 0)
    }
}

impl bf16 {
    /// Rounds to nearest, ties to even; what is too large becomes infinity.
    pub fn from_f32(x: f32) -> bf16 {
        let bits = x.to_bits();
        if x.is_nan() {
            return bf16((bits >> 16) as u16 | 0x40);
        }
        bf16(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }
}

impl f8_e4m3 {
    /// Rounds to nearest, ties to even; what is too large becomes 448, the largest number.
    pub fn from_f32(x: f32) -> f8_e4m3 {
        let (bits, a) = (x.to_bits(), x.to_bits() & 0x7fff_ffff);
        let r = match a {
            0x7f80_0001.. => 0x7f,
            0x43e0_0000.. => 0x7e,
            _ => round(a, 3, 7),
        };
        f8_e4m3((r | bits >> 24 & 0x80) as u8)
    }
    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        let a = self.0 as u32 & 0x7f;
        let x = if a == 0x7f { f32::from_bits(0x7fc0_0000) } else { widen(a, 3, 7) };
        with_sign(x, self.0 as u32 & 0x80 != 0)
    }
}

impl f8_e5m2 {
    /// Rounds to nearest, ties to even; what is beyond 57344 becomes infinity.
    pub fn from_f32(x: f32) -> f8_e5m2 {
        let (bits, a) = (x.to_bits(), x.to_bits() & 0x7fff_ffff);
        let r = match a {
            0x7f80_0001.. => 0x7e,
            0x4770_0000.. => 0x7c,
            _ => round(a, 2, 15),
        };
        f8_e5m2((r | bits >> 24 & 0x80) as u8)
    }
    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        f16((self.0 as u16) << 8).to_f32()
    }
}

macro_rules! vectors {
    ($($type:ty: $one:ident $two:ident $three:ident $four:ident;)*) => { $(
        vectors!(@one $type, $one, x);
        vectors!(@one $type, $two, x y);
        vectors!(@one $type, $three, x y z);
        vectors!(@one $type, $four, x y z w);
    )* };
    (@one $type:ty, $name:ident, $($member:ident)*) => {
        #[doc = concat!("HIP's vector `", stringify!($name), "`.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct $name {
            $(#[allow(missing_docs)] pub $member: $type,)*
        }
        pod!($name);
    };
}
vectors! {
    i8: char1 char2 char3 char4;
    u8: uchar1 uchar2 uchar3 uchar4;
    i16: short1 short2 short3 short4;
    u16: ushort1 ushort2 ushort3 ushort4;
    i32: int1 int2 int3 int4;
    u32: uint1 uint2 uint3 uint4;
    i64: long1 long2 long3 long4;
    u64: ulong1 ulong2 ulong3 ulong4;
    i64: longlong1 longlong2 longlong3 longlong4;
    u64: ulonglong1 ulonglong2 ulonglong3 ulonglong4;
    f32: float1 float2 float3 float4;
    f64: double1 double2 double3 double4;
}

/// Crates' own small floats, which have the same bits.
#[cfg(any(feature = "half", feature = "float8"))]
macro_rules! foreign {
    ($other:ty => $ours:ident) => {
        pod!($other);
        // SAFETY: both are these bits, in a struct of one member.
        unsafe impl As<$ours> for $other {}
        impl From<$other> for $ours {
            fn from(x: $other) -> $ours {
                $ours(x.to_bits())
            }
        }
        impl From<$ours> for $other {
            fn from(x: $ours) -> $other {
                <$other>::from_bits(x.0)
            }
        }
        impl crate::KernelArg for $other {
            type Value = $other;
            fn into_value(self) -> $other {
                self
            }
        }
    };
}
#[cfg(feature = "half")]
foreign!(half::f16 => f16);
#[cfg(feature = "half")]
foreign!(half::bf16 => bf16);
#[cfg(feature = "float8")]
foreign!(float8::F8E4M3 => f8_e4m3);
#[cfg(feature = "float8")]
foreign!(float8::F8E5M2 => f8_e5m2);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value goes to f32 and back; halves between neighbours go to the even one.
    #[test]
    fn small_floats_round_to_nearest_even() {
        let step = if cfg!(miri) { 97 } else { 1 }; // Miri takes its time
        for bits in (0..=0xffffu16).step_by(step) {
            let (half, brain) = (f16(bits), bf16(bits));
            if !half.to_f32().is_nan() {
                assert_eq!(f16::from_f32(half.to_f32()), half);
            }
            if !brain.to_f32().is_nan() {
                assert_eq!(bf16::from_f32(brain.to_f32()), brain);
            }
            if bits < 0x7bff {
                let between = (half.to_f32() + f16(bits + 1).to_f32()) / 2.0;
                assert_eq!(f16::from_f32(between).0, bits + (bits & 1), "{:#x}", bits);
            }
        }
        for bits in 0..=0xffu8 {
            let (e4m3, e5m2) = (f8_e4m3(bits), f8_e5m2(bits));
            if !e4m3.to_f32().is_nan() {
                assert_eq!(f8_e4m3::from_f32(e4m3.to_f32()), e4m3);
            }
            if !e5m2.to_f32().is_nan() {
                assert_eq!(f8_e5m2::from_f32(e5m2.to_f32()), e5m2);
            }
            if bits < 0x7e {
                let between = (e4m3.to_f32() + f8_e4m3(bits + 1).to_f32()) / 2.0;
                assert_eq!(f8_e4m3::from_f32(between).0, bits + (bits & 1), "{:#x}", bits);
            }
            if bits < 0x7b {
                let between = (e5m2.to_f32() + f8_e5m2(bits + 1).to_f32()) / 2.0;
                assert_eq!(f8_e5m2::from_f32(between).0, bits + (bits & 1), "{:#x}", bits);
            }
        }
    }

    #[test]
    fn small_floats_have_their_known_values() {
        assert_eq!(f16::from_f32(1.0).0, 0x3c00);
        assert_eq!(f16::from_f32(-65504.0).0, 0xfbff);
        assert_eq!(f16::from_f32(65520.0).0, 0x7c00);
        assert_eq!(f16::from_f32(6e-8).0, 1);
        assert_eq!(f16::from_f32(1e-9).0, 0);
        assert_eq!(bf16::from_f32(1.0).0, 0x3f80);
        assert_eq!(bf16::from_f32(f32::MAX).0, 0x7f80);
        assert_eq!(f8_e4m3::from_f32(1.0).0, 0x38);
        assert_eq!(f8_e4m3::from_f32(f32::INFINITY).0, 0x7e);
        assert_eq!(f8_e4m3::from_f32(-1e9).0, 0xfe);
        assert_eq!(f8_e5m2::from_f32(1.0).0, 0x3c);
        assert_eq!(f8_e5m2::from_f32(1e9).0, 0x7c);
        for nan in [f32::NAN, -f32::NAN] {
            assert!(f16::from_f32(nan).to_f32().is_nan());
            assert!(bf16::from_f32(nan).to_f32().is_nan());
            assert!(f8_e4m3::from_f32(nan).to_f32().is_nan());
            assert!(f8_e5m2::from_f32(nan).to_f32().is_nan());
        }
        assert_eq!(format!("{} {:?}", f16::from_f32(0.5), bf16::from_f32(-2.0)), "0.5 -2.0");
    }
}
