//! Addresses: what is read from a header is one clean line each, and comes back unchanged when we write to it.
//! A plus tag is a reference only in the form the specification gives it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address as Written;
use rookery_fuzz::{is_unseen, let_panics_unwind, quickly, with_line_ends};
use rookery_reading::mail::parse::{Address, parse};
use rookery_reading::mail::plus_tag;

fuzz_target!(init: let_panics_unwind(), |value: &[u8]| {
    // Folded, so that all of it stays in its field.
    let value = with_line_ends(value, b"\n ");
    let raw = [b"From: ", &value[..], b"\nTo: ", &value, b"\nDelivered-To: ", &value, b"\n\nHello\n"].concat();
    let Ok(mail) = quickly(|| parse(&raw)) else { return };
    assert!(!mail.single_from || mail.to.len() == 1, "one mailbox, or {:?}", mail.to);
    assert_eq!(mail.from.as_ref(), mail.to.first());
    for address in mail.from.iter().chain(&mail.to).chain(&mail.delivered_to).take(20) {
        is_clean(address);
        comes_back(address);
        tag_is_a_reference_or_nothing(address);
    }
});

fn is_clean(address: &Address) {
    let Address { name, email } = address;
    let (local, domain) = email.split_once('@').expect("an @");
    assert!(!local.is_empty() && !domain.is_empty() && !domain.contains('@'), "{email:?}");
    assert!(!email.chars().any(|c| c.is_control() || is_unseen(c) || "<>,;\"".contains(c)), "{email:?}");
    assert!(email.chars().count() <= 254 && *email == email.to_lowercase(), "{email:?}");
    if let Some(name) = name {
        assert!(!name.is_empty() && name.chars().count() <= 200, "{name:?}");
        assert!(!name.chars().any(|c| c.is_control() || (c != ' ' && is_unseen(c))), "{name:?}");
    }
}

/// Written as `compose` does it.
fn comes_back(address: &Address) {
    let mut address = address.clone();
    // An encoded word that was hidden from our reader would be decoded the second time: it is read even in quotes.
    address.name = address.name.filter(|name| !name.contains("=?"));
    let written = Written::new_address(address.name.as_deref(), address.email.as_str());
    let raw = MessageBuilder::new().from(written).text_body("Hello").write_to_vec().expect("it is written");
    let header = raw.windows(4).position(|window| window == b"\r\n\r\n").expect("a header");
    let fields = raw[..header]
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.starts_with(b" ") && !line.starts_with(b"\t"));
    let names: Vec<&[u8]> =
        fields.map(|line| line.split(|byte| *byte == b':').next().unwrap_or(line)).collect();
    let usual: [&[u8]; 6] =
        [b"From", b"Message-ID", b"Date", b"MIME-Version", b"Content-Type", b"Content-Transfer-Encoding"];
    assert!(
        names.iter().all(|name| usual.contains(name)),
        "{address:?} became a field of its own: {names:?}"
    );
    let mail = parse(&raw).expect("what we write can be read");
    assert!(mail.single_from, "{address:?} became several: {:?}", String::from_utf8_lossy(&raw));
    assert_eq!(mail.from.as_ref(), Some(&address), "{:?}", String::from_utf8_lossy(&raw));
}

fn tag_is_a_reference_or_nothing(address: &Address) {
    let (local, domain) = address.email.split_once('@').expect("an @");
    let inbox = format!("{}@{domain}", local.split('+').next().unwrap_or(local));
    if let Some(reference) = plus_tag::tag_of(&address.email, &inbox).and_then(plus_tag::parse) {
        assert!((1..=40).contains(&reference.len()) && reference.bytes().any(|byte| byte.is_ascii_digit()));
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        assert!(reference.bytes().all(is_plain), "{reference:?}");
    }
}
