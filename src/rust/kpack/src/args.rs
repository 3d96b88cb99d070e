//! args.rs - arguments of a launch

use crate::memory::{Buffer, View, ViewMut};
use crate::types::{self, As, Pod};
use kpack_sys as sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// An address of device memory that the program has from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePtr<T>(pub *mut T);

/// No memory, where a kernel takes a null pointer: [`NULL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Null;

/// No memory, where a kernel takes a null pointer.
pub const NULL: Null = Null;

/// A struct that a kernel takes by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByValue<T: Copy>(pub T);

/// An argument of [`launch!`](crate::launch): a number, memory, [`NULL`] or a struct [`ByValue`].
pub trait KernelArg {
    /// What the kernel gets the bytes of.
    type Value: Copy;
    /// The value, which lives during the call.
    fn into_value(self) -> Self::Value;
}

/// Memory for a typed kernel's `const T *`: a borrowed [`Buffer`], a [`View`], [`NULL`], an `Option` of
/// these, or a [`DevicePtr`].
pub trait Input<T> {
    /// The address.
    fn address(self) -> *const c_void;
}

/// Memory for a typed kernel's `T *`: a mutably borrowed [`Buffer`] or [`ViewMut`], [`NULL`], an
/// `Option` of these, or a [`DevicePtr`].
pub trait Output<T> {
    /// The address.
    fn address_mut(self) -> *mut c_void;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl KernelArg for $type {
            type Value = $type;
            fn into_value(self) -> $type {
                self
            }
        }
    )* };
}
numbers!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);
numbers!(types::f16 types::bf16 types::f8_e4m3 types::f8_e5m2);

impl<T: Copy> KernelArg for ByValue<T> {
    type Value = T;
    fn into_value(self) -> T {
        self.0
    }
}

/// Memory to be read: (what is borrowed, its lifetimes) and its address.
macro_rules! inputs {
    ($(($($life:lifetime)*) $type:ty, $memory:ident => $address:expr;)*) => { $(
        impl<$($life,)* T: Pod> KernelArg for $type {
            type Value = *const c_void;
            fn into_value(self) -> *const c_void {
                let $memory = self;
                $address as *const c_void
            }
        }
        impl<$($life,)* E, T: Pod + As<E>> Input<E> for $type {
            fn address(self) -> *const c_void {
                self.into_value()
            }
        }
    )* };
}
inputs! {
    () &Buffer<T>, memory => memory.as_ptr();
    ('a) View<'a, T>, memory => memory.as_ptr();
    ('a) &View<'a, T>, memory => memory.as_ptr();
    ('a) &ViewMut<'a, T>, memory => memory.as_view().as_ptr();
}

/// Memory to be written, likewise.
macro_rules! outputs {
    ($(($($life:lifetime)*) $type:ty, $memory:ident => $address:expr;)*) => { $(
        impl<$($life,)* T: Pod> KernelArg for $type {
            type Value = *mut c_void;
            fn into_value(self) -> *mut c_void {
                #[allow(unused_mut)]
                let mut $memory = self;
                $address as *mut c_void
            }
        }
        impl<$($life,)* E, T: Pod + As<E>> Output<E> for $type {
            fn address_mut(self) -> *mut c_void {
                self.into_value()
            }
        }
    )* };
}
outputs! {
    () &mut Buffer<T>, memory => memory.as_mut_ptr();
    ('a) ViewMut<'a, T>, memory => memory.as_mut_ptr();
    ('a) &mut ViewMut<'a, T>, memory => memory.as_mut_ptr();
}

impl<T> KernelArg for DevicePtr<T> {
    type Value = *mut c_void;
    fn into_value(self) -> *mut c_void {
        self.0.cast()
    }
}
impl<E, T: As<E>> Input<E> for DevicePtr<T> {
    fn address(self) -> *const c_void {
        self.0.cast()
    }
}
impl<E, T: As<E>> Output<E> for DevicePtr<T> {
    fn address_mut(self) -> *mut c_void {
        self.0.cast()
    }
}

impl KernelArg for Null {
    type Value = *mut c_void;
    fn into_value(self) -> *mut c_void {
        null_mut()
    }
}
impl<E> Input<E> for Null {
    fn address(self) -> *const c_void {
        null_mut()
    }
}
impl<E> Output<E> for Null {
    fn address_mut(self) -> *mut c_void {
        null_mut()
    }
}

impl<E, M: Input<E>> Input<E> for Option<M> {
    fn address(self) -> *const c_void {
        self.map_or(null_mut(), M::address)
    }
}
impl<E, M: Output<E>> Output<E> for Option<M> {
    fn address_mut(self) -> *mut c_void {
        self.map_or(null_mut(), M::address_mut)
    }
}

/// One argument: where its value is, and the value's size.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Arg<'a> {
    #[cfg_attr(not(test), allow(dead_code))] // kpack reads it
    raw: sys::kpk_arg,
    value: PhantomData<&'a ()>,
}

impl<'a> Arg<'a> {
    /// The argument with this value.
    pub fn new<T>(value: &'a T) -> Arg<'a> {
        Arg { raw: sys::kpk_arg_of(value), value: PhantomData }
    }

    pub(crate) fn list(args: &[Arg<'a>]) -> *const sys::kpk_arg {
        args.as_ptr().cast() // repr(transparent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16, f16};

    #[test]
    fn an_argument_has_the_size_of_its_value() {
        let sizes = [
            Arg::new(&1u32.into_value()),
            Arg::new(&true.into_value()),
            Arg::new(&f16::from_f32(1.0).into_value()),
            Arg::new(&NULL.into_value()),
            Arg::new(&ByValue([1u8; 24]).into_value()),
        ]
        .map(|arg| arg.raw.nbytes);
        assert_eq!(sizes, [4, 1, 2, 8, 24]);
    }

    #[test]
    fn a_list_is_kpacks_own() {
        let (a, b) = (7u32, 9u64);
        let args = [Arg::new(&a), Arg::new(&b)];
        // SAFETY: two arguments, whose values are there.
        let values = unsafe {
            let list = std::slice::from_raw_parts(Arg::list(&args), args.len());
            (*list[0].value.cast::<u32>(), *list[1].value.cast::<u64>())
        };
        assert_eq!(values, (7, 9));
    }

    #[test]
    fn memory_goes_where_its_type_fits() {
        fn input<T>(memory: impl Input<T>) -> usize {
            memory.address() as usize
        }
        fn output<T>(memory: impl Output<T>) -> usize {
            memory.address_mut() as usize
        }
        let at = std::ptr::null_mut::<u8>().wrapping_add(64).cast::<f16>(); // never followed
        assert_eq!(input::<f16>(DevicePtr(at)), 64);
        assert_eq!(input::<types::Void>(DevicePtr(at)), 64);
        assert_eq!(output::<bool>(DevicePtr(at.cast::<u8>())), 64);
        assert_eq!(input::<bf16>(NULL), 0);
        assert_eq!(output::<f32>(None::<DevicePtr<f32>>), 0);
        assert_eq!(input::<f32>(Some(DevicePtr(at.cast::<f32>()))), 64);
    }
}
