//! Changes of conversations: the status, tags and the assignee of one, and of many in one call
//! (docs/decisions/many-by-the-api.md).

pub mod assign_conversation;
pub mod change_conversations;
pub mod set_status;
pub mod tag_conversation;
