//! Documents: finding them, reading them, and their files. What is in them was written outside the team, so each answer is
//! hostile to whoever opens it.

pub mod get_document;
pub mod get_document_content;
pub mod get_document_download;
pub mod search_documents;
