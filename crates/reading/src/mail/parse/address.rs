//! Reads address headers into clean addresses. An address that could be mistaken for another
//! one, or could carry a second header line, is not an address. Specification 2.3.

use mail_parser::parsers::MessageStream;
use mail_parser::{Address as Parsed, HeaderValue};

use super::line::{is_deceptive, one_line};
use super::mime::Head;

/// Characters with a meaning in address headers: an address that contains one could be read as another address
/// when we write it. The last one stands for undecodable bytes.
const SPECIAL: &str = "<>(),;:\\\"\u{fffd}";
/// The start of an encoded word. It is not allowed in an address, yet some readers decode it there.
const ENCODED: &str = "=?";
const MAX_EMAIL_CHARS: usize = 254;
const MAX_NAME_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub name: Option<String>,
    /// Lower case, with one `@` and something on both sides.
    pub email: String,
}

impl Address {
    pub fn domain(&self) -> &str {
        self.email.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

#[derive(Default)]
pub(super) struct Addresses {
    pub addresses: Vec<Address>,
    /// How many were named, usable or not.
    pub entries: usize,
    headers: usize,
    has_group: bool,
}

impl Addresses {
    pub fn is_single(&self) -> bool {
        self.headers == 1 && self.entries == 1 && self.addresses.len() == 1 && !self.has_group
    }
}

pub(super) fn read(head: &Head, names: &[&str]) -> Addresses {
    let mut list = Addresses::default();
    for name in names {
        for value in head.all(name) {
            list.headers += 1;
            let mut value = value.to_vec();
            value.push(b'\n');
            if let HeaderValue::Address(parsed) = MessageStream::new(&value).parse_address() {
                list.has_group |= matches!(parsed, Parsed::Group(_));
                for entry in parsed.iter() {
                    list.entries += 1;
                    let email = entry.address.as_deref().and_then(clean_email);
                    if let Some(email) = email {
                        let name = entry.name.as_deref().and_then(clean_name);
                        list.addresses.push(Address { name, email });
                    }
                }
            }
        }
    }
    list
}

pub(super) fn clean_email(email: &str) -> Option<String> {
    let email = email.trim().to_lowercase();
    let (local, domain) = email.split_once('@')?;
    let usable = !local.is_empty()
        && !domain.is_empty()
        && !domain.contains('@')
        && !email.contains(ENCODED)
        && email.chars().count() <= MAX_EMAIL_CHARS
        && !email
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || is_deceptive(c) || SPECIAL.contains(c));
    usable.then_some(email)
}

fn clean_name(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|c| !is_deceptive(*c)).collect();
    let name = one_line(&name, MAX_NAME_CHARS);
    (!name.is_empty()).then_some(name)
}
