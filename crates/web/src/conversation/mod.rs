//! One conversation: its timeline, what people do with it, what they write. A mail's HTML, its pictures and files have
//! addresses of their own, each behind the query that knows who can see the message.

pub mod ask;
pub mod asking;
pub mod composer;
pub mod contact;
pub mod content;
pub mod doing;
pub mod explain;
pub mod files;
pub mod frame;
pub mod images;
pub mod later;
pub mod merge;
pub mod moving;
pub mod receive;
pub mod release;
pub mod request;
pub mod secure;
pub mod show;
pub mod sorting;
pub mod timeline;
pub mod words;
pub mod write;
