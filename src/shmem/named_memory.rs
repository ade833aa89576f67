//! Segments of PostgreSQL's registry of named shared memory (17 and later), for servers that do not
//! preload the library.
//!
//! A segment stays until the postmaster ends or sets its memory up again after a crash.

use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, c_void};

/// Returns the segment of this name, and lets `set_up` set it up if it is new. The registry calls
/// that once, under its lock, before another process gets the segment.
///
/// # Safety
/// `set_up` must be sound for memory of this size.
pub unsafe fn named_memory<T>(name: &CStr, size: usize, set_up: unsafe fn(*mut T)) -> *mut T {
    /// Sets a segment up. The registry of PostgreSQL 17 and 18 passes no argument on.
    static mut SET_UP: Option<unsafe fn(*mut c_void)> = None;
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    #[pg_guard]
    unsafe extern "C-unwind" fn init(memory: *mut c_void) {
        // SAFETY: the registry calls this with the segment that this process asks for.
        unsafe {
            if let Some(set_up) = SET_UP {
                set_up(memory);
            }
        }
    }
    // From PostgreSQL 19 on the registry passes on an argument.
    #[cfg(not(any(feature = "pg17", feature = "pg18")))]
    #[pg_guard]
    unsafe extern "C-unwind" fn init(memory: *mut c_void, _argument: *mut c_void) {
        // SAFETY: the registry calls this with the segment that this process asks for.
        unsafe {
            if let Some(set_up) = SET_UP {
                set_up(memory);
            }
        }
    }
    let mut found = false;
    // SAFETY: this process has one thread. The two types of functions differ in what their argument
    // points to.
    unsafe {
        SET_UP = Some(std::mem::transmute::<unsafe fn(*mut T), unsafe fn(*mut c_void)>(set_up));
        pg_sys::GetNamedDSMSegment(
            name.as_ptr(),
            size,
            Some(init),
            &mut found,
            #[cfg(not(any(feature = "pg17", feature = "pg18")))]
            std::ptr::null_mut(),
        )
        .cast()
    }
}
