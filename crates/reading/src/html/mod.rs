//! The HTML of mail, made safe to show: `bound` holds what a stranger wrote to a size that a parser can take, `sanitise`
//! keeps what is on a list, `style` keeps harmless declarations of CSS. docs/decisions/mail-html.md says why in this order.

pub mod bound;
pub mod paragraphs;
pub mod sanitise;
mod style;
pub mod written;
