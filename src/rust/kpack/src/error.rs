//! error.rs - what went wrong, in kpack's own sentence

use kpack_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

/// The kind of a failure: `kpk_status` of kpack.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Bad argument to a call.
    Arg,
    /// Out of host memory.
    NoMemory,
    /// No usable HIP runtime or CUDA driver on this machine.
    NoDriver,
    /// No such GPU.
    NoDevice,
    /// No such module in the pack.
    NoModule,
    /// No such kernel in the pack.
    NoKernel,
    /// Several modules have a kernel of that name.
    Ambiguous,
    /// No code object in the pack fits the GPU.
    NoTarget,
    /// The pack's data is damaged or of another version of kpack.
    Format,
    /// The launch's grid, block or shared memory is impossible.
    Shape,
    /// The kernel takes other arguments.
    KernelArgs,
    /// The kernel's module has been unloaded.
    Unloaded,
    /// This driver or GPU cannot do that.
    Unsupported,
    /// A call of HIP or CUDA failed; [`Error::driver`] has its number.
    Driver,
    /// No such device variable in the module.
    NoGlobal,
    /// No row of the configuration table fits.
    NoRow,
    /// Another GPU did not answer in time.
    Timeout,
    /// A number that this release of the crate does not know.
    Other(u32),
}

/// Each status with its number.
const STATUSES: [(sys::kpk_status, Status); 17] = [
    (sys::KPK_ERR_ARG, Status::Arg),
    (sys::KPK_ERR_NOMEM, Status::NoMemory),
    (sys::KPK_ERR_NO_DRIVER, Status::NoDriver),
    (sys::KPK_ERR_NO_DEVICE, Status::NoDevice),
    (sys::KPK_ERR_NO_MODULE, Status::NoModule),
    (sys::KPK_ERR_NO_KERNEL, Status::NoKernel),
    (sys::KPK_ERR_AMBIGUOUS, Status::Ambiguous),
    (sys::KPK_ERR_NO_TARGET, Status::NoTarget),
    (sys::KPK_ERR_FORMAT, Status::Format),
    (sys::KPK_ERR_SHAPE, Status::Shape),
    (sys::KPK_ERR_KERNEL_ARGS, Status::KernelArgs),
    (sys::KPK_ERR_UNLOADED, Status::Unloaded),
    (sys::KPK_ERR_UNSUPPORTED, Status::Unsupported),
    (sys::KPK_ERR_DRIVER, Status::Driver),
    (sys::KPK_ERR_NO_GLOBAL, Status::NoGlobal),
    (sys::KPK_ERR_NO_ROW, Status::NoRow),
    (sys::KPK_ERR_TIMEOUT, Status::Timeout),
];

impl Status {
    fn of(number: sys::kpk_status) -> Status {
        let known = STATUSES.iter().find(|(other, _)| *other == number);
        known.map_or(Status::Other(number), |(_, status)| *status)
    }

    /// The status as a number of `kpk_status`.
    pub fn number(self) -> u32 {
        let known = STATUSES.iter().find(|(_, other)| *other == self);
        match (self, known) {
            (Status::Other(number), _) => number,
            (_, Some((number, _))) => *number,
            (_, None) => unreachable!("the table has every status"),
        }
    }
}

/// A failure: its kind, the driver's number, and a sentence that says what was asked, what was
/// found and what to do.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    status: Status,
    driver: i32,
    message: Box<str>,
}

/// What calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The kind of the failure.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The `hipError_t` or `CUresult` behind it; 0 if no call of a driver failed.
    pub fn driver(&self) -> i32 {
        self.driver
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A failure that the crate itself finds.
    pub(crate) fn new(status: Status, message: String) -> Error {
        Error { status, driver: 0, message: message.into() }
    }

    /// The calling thread's last failure.
    fn last(status: sys::kpk_status) -> Error {
        // SAFETY: both cannot fail. The string is this thread's own, and is copied before the
        // thread's next call can overwrite it.
        let (message, driver) = unsafe { (text(sys::kpk_error_message()), sys::kpk_error_driver()) };
        Error { status: Status::of(status), driver, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The sentence first: it is what `main() -> Result` and `unwrap()` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}", self.message, self.status)?;
        if self.driver != 0 {
            write!(f, ", driver's error {}", self.driver)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {}

/// A status as a result. It must be the one of the calling thread's last call.
pub(crate) fn check(status: sys::kpk_status) -> Result<()> {
    if status == sys::KPK_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

/// A string of kpack's.
///
/// # Safety
///
/// `string` is NUL-terminated, and stays as it is for `'a`.
pub(crate) unsafe fn text<'a>(string: *const c_char) -> &'a str {
    // SAFETY: as above. kpack's strings are UTF-8; one that is not, is shown as such.
    CStr::from_ptr(string).to_str().unwrap_or("(no UTF-8)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_number() {
        for number in 1..=sys::KPK_ERR_NO_ROW {
            assert!(!matches!(Status::of(number), Status::Other(_)), "{}", number);
            assert_eq!(Status::of(number).number(), number);
        }
        assert_eq!(Status::of(99), Status::Other(99));
        assert_eq!(Status::Other(99).number(), 99);
    }

    #[test]
    fn an_error_shows_its_sentence() {
        let error = Error { status: Status::Driver, driver: 2, message: "it is full".into() };
        assert_eq!(error.to_string(), "it is full");
        assert_eq!(format!("{:?}", error), "it is full (Driver, driver's error 2)");
        assert_eq!(format!("{:?}", Error::new(Status::Arg, "no".into())), "no (Arg)");
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Error>();
    }
}
