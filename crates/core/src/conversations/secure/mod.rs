//! Secure messages (6.2): the mail holds a link and no word. Words and files are kept sealed, and are read and answered on
//! a page behind the link, by whoever proves to be meant. It is no end-to-end encryption: the team reads them, and so can
//! whoever has both the database and the server's key.

pub mod answer;
pub mod files;
pub mod page;
pub mod proof;
pub mod thread;
pub mod vault;
pub mod visits;
pub mod words;

/// All that a secure message says in the open: in lists, to apps, in the column that search, quotes and exports read.
pub const SHOWN: &str = "Secure message";
