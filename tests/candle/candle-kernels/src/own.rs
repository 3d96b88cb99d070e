//! candle's own C functions instead of kpack's, to compare them: with the
//! environment variable CANDLE_LIBRARY, a shared library made of their sources

use core::ffi::{c_char, c_int, c_void, CStr};
use std::sync::OnceLock;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// The library's function, as an address; None without a library.
pub(crate) fn address(name: &CStr) -> Option<usize> {
    static LIBRARY: OnceLock<Option<usize>> = OnceLock::new();
    let found = |at: *mut c_void| {
        // SAFETY: dlerror() gives a string that lives until its next call.
        assert!(!at.is_null(), "CANDLE_LIBRARY: {:?}", unsafe {
            CStr::from_ptr(dlerror())
        });
        at as usize
    };
    let library = *LIBRARY.get_or_init(|| {
        let path = std::env::var("CANDLE_LIBRARY").ok()?;
        let path = std::ffi::CString::new(path).expect("a path has no NUL");
        // SAFETY: the path ends with a NUL.
        Some(found(unsafe { dlopen(path.as_ptr(), 2) }))
    });
    // SAFETY: the library stays open; the name ends with a NUL.
    library.map(|library| found(unsafe { dlsym(library as *mut c_void, name.as_ptr()) }))
}

/// Returns from the function around with candle's own of that name, if it is to.
macro_rules! by_candle {
    ($name:ident($($arg:ident: $type:ty),* $(,)?)) => {
        static OWN: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
        let own = OWN.get_or_init(|| {
            let name = concat!(stringify!($name), "\0").as_bytes();
            crate::own::address(core::ffi::CStr::from_bytes_with_nul(name).expect("one NUL"))
        });
        if let Some(own) = *own {
            let own: unsafe extern "C" fn($($type),*) = core::mem::transmute(own);
            return own($($arg),*);
        }
    };
}
pub(crate) use by_candle;
