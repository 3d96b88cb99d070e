//! The library is linked, and answers.

use kpack_sys::*;
use std::ffi::CStr;

#[test]
fn version_is_the_headers() {
    // SAFETY: takes nothing and cannot fail.
    let version = unsafe { kpk_version() };
    assert_eq!(version, KPK_VERSION_MAJOR * 10000 + KPK_VERSION_MINOR * 100 + KPK_VERSION_PATCH);
}

#[test]
fn every_status_has_its_name() {
    // SAFETY: any number will do; the strings live for ever.
    let name = |status| unsafe { CStr::from_ptr(kpk_status_name(status)) }.to_str().unwrap();
    assert_eq!(name(KPK_ERR_TIMEOUT), "KPK_ERR_TIMEOUT");
    assert_eq!(name(KPK_ERR_TIMEOUT + 1), "KPK_ERR_UNKNOWN");
}
