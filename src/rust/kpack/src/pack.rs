//! pack.rs - packs and modules: constant data of the program

use crate::error::{check, text, Result};
use crate::Shape;
use kpack_sys as sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::MaybeUninit;

/// A set of modules that is linked into the program. Looking into it needs no device.
#[derive(Clone, Copy)]
pub struct Pack(&'static sys::kpk_pack);

/// One kernel source: its kernels, and its code objects for all targets.
#[derive(Clone, Copy)]
pub struct Module(&'static sys::kpk_module);

/// A kernel of a module, without a device.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// The exported name, as [`crate::Instance::kernel`] takes it.
    pub name: &'static str,
    /// Its number in the module.
    pub index: usize,
    /// Its arguments.
    pub args: Vec<ArgInfo>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgInfo {
    /// As in the source; empty if the build did not record it.
    pub name: &'static str,
    /// Bytes from the start of the argument segment.
    pub offset: usize,
    /// Its size in bytes.
    pub nbytes: usize,
    /// True if it is a pointer to device memory.
    pub is_pointer: bool,
    /// True for an entry that takes no argument.
    pub is_padding: bool,
}

/// A module compiled for one target.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// The target ID, `gfx942` or `sm_90`.
    pub target: &'static str,
    /// Bytes of the code object; 0 if `kpack prune` took it out.
    pub nbytes: usize,
    /// Bytes in the program: fewer if the pack is compressed.
    pub stored_nbytes: usize,
    /// SHA-256 of the code object.
    pub sha256: [u8; 32],
}

/// Which code object of a module a device runs, and why.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The code object's target ID.
    pub target: String,
    /// In words.
    pub why: String,
}

/// A name for kpack: up to its first NUL, since no name of a pack has one.
pub(crate) fn c_string(name: &str) -> CString {
    let bytes = name.bytes().take_while(|byte| *byte != 0).collect::<Vec<_>>();
    // SAFETY: no byte is a NUL.
    unsafe { CString::from_vec_unchecked(bytes) }
}

pub(crate) fn selection(raw: &sys::kpk_selection) -> Selection {
    // SAFETY: kpack ends both texts; they are copied.
    let (target, why) = unsafe { (text(raw.target), CStr::from_ptr(raw.why.as_ptr())) };
    Selection { target: target.into(), why: why.to_string_lossy().into_owned() }
}

impl Pack {
    /// A pack by its symbol, which its header declares:
    ///
    /// ```ignore
    /// extern "C" {
    ///     static kpk_mine: kpack::sys::kpk_pack;
    /// }
    /// // SAFETY: constant data of the archive that is linked.
    /// let mine = kpack::Pack::new(unsafe { &kpk_mine });
    /// ```
    pub const fn new(symbol: &'static sys::kpk_pack) -> Pack {
        Pack(symbol)
    }

    /// For calls of `kpack-sys`.
    pub fn raw(self) -> *const sys::kpk_pack {
        self.0
    }

    /// The pack's name.
    pub fn name(self) -> &'static str {
        // SAFETY: a pack is constant data, and so is its name.
        unsafe { text(sys::kpk_pack_name(self.0)) }
    }

    /// Its modules, sorted by name.
    pub fn modules(self) -> impl ExactSizeIterator<Item = Module> {
        // SAFETY: as above; numbers below the count have a module.
        let n = unsafe { sys::kpk_pack_module_count(self.0) };
        (0..n).map(move |i| Module(unsafe { &*sys::kpk_pack_module(self.0, i) }))
    }

    /// The module of that name.
    pub fn module(self, name: &str) -> Option<Module> {
        // SAFETY: constant data, or NULL if there is none.
        unsafe { sys::kpk_pack_find(self.0, c_string(name).as_ptr()).as_ref() }.map(Module)
    }
}

impl Module {
    /// A module by its symbol, `kpk_module_PACK__MODULE`. A program that names modules instead of
    /// their pack links no others.
    pub const fn new(symbol: &'static sys::kpk_module) -> Module {
        Module(symbol)
    }

    /// For calls of `kpack-sys`.
    pub fn raw(self) -> *const sys::kpk_module {
        self.0
    }

    /// The module's name.
    pub fn name(self) -> &'static str {
        // SAFETY: a module is constant data, and so is its name.
        unsafe { text(sys::kpk_module_name(self.0)) }
    }

    /// Its kernels, sorted by name.
    pub fn kernels(self) -> impl ExactSizeIterator<Item = KernelInfo> {
        // SAFETY: the module is constant data.
        let n = unsafe { sys::kpk_module_kernel_count(self.0) };
        (0..n).map(move |i| self.kernel_info(i))
    }

    /// The kernel of that name.
    pub fn kernel(self, name: &str) -> Result<KernelInfo> {
        let mut index = 0;
        // SAFETY: the name is read during the call only.
        check(unsafe { sys::kpk_module_find_kernel(self.0, c_string(name).as_ptr(), &mut index) })?;
        Ok(self.kernel_info(index))
    }

    fn kernel_info(self, index: usize) -> KernelInfo {
        let mut kernel = MaybeUninit::<sys::kpk_kernel_decl>::zeroed();
        // SAFETY: numbers below the count have a kernel, and its arguments are numbered likewise: the
        // calls cannot fail. All zeros are a value of both structs.
        unsafe {
            sys::kpk_module_kernel(self.0, index, kernel.as_mut_ptr());
            let kernel = kernel.assume_init();
            let args = (0..kernel.nargs).map(|i| {
                let mut arg = MaybeUninit::<sys::kpk_arg_decl>::zeroed();
                sys::kpk_module_arg(self.0, index, i, arg.as_mut_ptr());
                let arg = arg.assume_init();
                ArgInfo {
                    name: text(arg.name),
                    offset: arg.offset,
                    nbytes: arg.nbytes,
                    is_pointer: arg.kind == sys::KPK_KIND_BUFFER,
                    is_padding: arg.is_padding != 0,
                }
            });
            KernelInfo { name: text(kernel.name), index, args: args.collect() }
        }
    }

    /// Its code objects, sorted by target ID. One whose head is damaged is left out.
    pub fn objects(self) -> impl Iterator<Item = Object> {
        // SAFETY: the module is constant data.
        let n = unsafe { sys::kpk_module_object_count(self.0) };
        (0..n).filter_map(move |i| {
            let mut object = MaybeUninit::<sys::kpk_object>::zeroed();
            // SAFETY: on success all members are set; the hash has 32 bytes.
            unsafe {
                check(sys::kpk_module_object_info(self.0, i, object.as_mut_ptr())).ok()?;
                let object = object.assume_init();
                Some(Object {
                    target: text(object.target),
                    nbytes: object.nbytes,
                    stored_nbytes: object.stored_nbytes,
                    sha256: *object.sha256.cast::<[u8; 32]>(),
                })
            }
        })
    }

    /// The code object for exactly this target ID.
    pub fn object_data(self, target: &str) -> Result<&'static [u8]> {
        let (mut number, mut object) = (0, MaybeUninit::<sys::kpk_object>::zeroed());
        // SAFETY: on success the bytes are there for the life of the program.
        unsafe {
            check(sys::kpk_module_find_object(self.0, c_string(target).as_ptr(), &mut number))?;
            check(sys::kpk_module_object(self.0, number, object.as_mut_ptr()))?;
            let object = object.assume_init();
            if object.nbytes == 0 {
                return Ok(&[]);
            }
            Ok(std::slice::from_raw_parts(object.data.cast::<u8>(), object.nbytes))
        }
    }

    /// The code object that a device of that target ID would run.
    pub fn select(self, target: &str) -> Result<Selection> {
        let mut out = MaybeUninit::<sys::kpk_selection>::zeroed();
        // SAFETY: on success all members are set.
        unsafe {
            check(sys::kpk_select(self.0, c_string(target).as_ptr(), out.as_mut_ptr()))?;
            Ok(selection(&out.assume_init()))
        }
    }

    /// The launch shape that the module's table recommends on a target; see [`crate::Kernel::shape`].
    pub fn shape(self, kernel: &str, target: Option<&str>, n: u64, columns: u64) -> Result<Shape> {
        let index = self.kernel(kernel)?.index;
        let target = target.map(c_string);
        let target = target.as_ref().map_or(std::ptr::null(), |target| target.as_ptr());
        let mut out = Shape::default().raw();
        // SAFETY: texts are read during the call only.
        check(unsafe { sys::kpk_module_shape(self.0, index, target, n, columns, &mut out) })?;
        Ok(Shape::from(out))
    }
}

/// Two handles are equal if they are of the same data.
impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Module {}
impl PartialEq for Pack {
    fn eq(&self, other: &Pack) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Pack {}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pack({})", self.name())
    }
}
impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.name())
    }
}

// Handles are pointers to constant data.
const _: fn() = || {
    fn crosses<T: Send + Sync>() {}
    crosses::<Pack>();
    crosses::<Module>();
};
