//! What people call a status, and the icon it has wherever it is shown. A conversation that is snoozed is called so,
//! whatever its status.

use rookery_core::conversations::status::Status;

pub fn name(status: Status, is_snoozed: bool) -> &'static str {
    match (is_snoozed, status) {
        (true, _) => "Snoozed",
        (_, Status::Open) => "Open",
        (_, Status::Waiting) => "Waiting",
        (_, Status::Closed) => "Closed",
    }
}

pub fn icon(status: Status, is_snoozed: bool) -> &'static str {
    match (is_snoozed, status) {
        (true, _) => "alarm-clock",
        (_, Status::Open) => "circle-dot",
        (_, Status::Waiting) => "hourglass",
        (_, Status::Closed) => "check",
    }
}
