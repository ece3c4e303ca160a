//! Mail from outside, over real sockets: the conversation, who wrote it, where it is filed, what it survives.

mod attacks;
mod auto_replies;
mod bursts;
mod captures;
mod corpus;
mod filing;
mod floods;
mod keeping;
mod kills;
mod limits;
mod many_words;
mod outages;
mod protocol;
mod reports;
mod s3;
mod sending_services;
mod silencing;
mod situations;
mod verdicts;
