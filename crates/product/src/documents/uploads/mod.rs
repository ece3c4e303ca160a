//! Documents that customers send over the private page of a request (specification 4.9): who may open it (`link`), what
//! came (`receive`), when everything is in (`complete`), what people make of it (`decide`), the mail that asks `again`, and its end (`expire`).

pub mod again;
pub mod complete;
pub mod decide;
pub mod expire;
pub mod kinds;
pub mod link;
pub mod locked;
pub mod receive;
pub mod view;
