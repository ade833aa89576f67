//! The form that all errors of this extension take on their way to a session ([`Report`]):
//! SQLSTATE, message, detail and hint, in PostgreSQL's style. Each module owns its errors and turns
//! them into this form. This module knows none of them.

mod raise;
mod report;
mod wording;

pub use raise::{OrRaise, WITHHELD, log, log_withheld_with, may_see_details};
pub use report::{Code, Report};
#[cfg(feature = "etcd")]
pub use wording::excerpt;
pub use wording::{instant, moment, os_reason, quoted, span, text_detail, timestamp};
