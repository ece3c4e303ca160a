//! The envelope sender of our mail (VERP), where bounces go: the inbox's address with a tag that names the message
//! and proves that we made it. The `=` keeps it apart from an app's reference (specification 4.13.1).
//!
//! `help+r=0mk3c5w9ab1cd=f3k0x…@acme.example`: the message's number, then a MAC. Lower case, because some servers
//! change case. The tag follows the whole local part of the inbox, which may have a `+` of its own.

use aws_lc_rs::constant_time::verify_slices_are_equal;

use rookery_base::ids::{Id, MessageId, NoticeId, WorkspaceId};
use rookery_base::relay::mailer::on_the_wire;
use rookery_base::secrets::key_ring::KeyRing;
use rookery_base::secrets::link_tokens;
use rookery_base::secrets::secret::SecretKey;

const MARK: &str = "r=";
const SERVICE: &str = "n=";
/// Characters of the MAC: 67 bits cannot be guessed, and leave room for names of up to 34 characters.
const PROOF: usize = 13;
/// The longest local part of an address (RFC 5321).
const LOCAL: usize = 64;

/// The plain inbox address when the tag does not fit or would not survive; then bounces cannot be proven.
pub fn make(key: &SecretKey, workspace: WorkspaceId, message: MessageId, inbox: &str) -> String {
    let inbox = on_the_wire(inbox);
    let Some((local, domain)) = inbox.rsplit_once('@') else { return inbox };
    let number = message.to_string();
    let number = number.trim_start_matches(MessageId::PREFIX);
    let tagged = format!("{local}+{MARK}{number}={}", proof(key, workspace, message));
    if tagged.len() <= LOCAL && !local.contains('"') { format!("{tagged}@{domain}") } else { inbox }
}

/// The message that an address was made for, if we made it.
pub fn read(key: &SecretKey, workspace: WorkspaceId, address: &str, inbox: &str) -> Option<MessageId> {
    let (address, inbox) =
        (on_the_wire(address).to_ascii_lowercase(), on_the_wire(inbox).to_ascii_lowercase());
    let (local, domain) = address.rsplit_once('@')?;
    let (name, tag) = local.rsplit_once('+')?;
    if inbox.rsplit_once('@')? != (name, domain) {
        return None;
    }
    let (number, given) = tag.strip_prefix(MARK)?.split_once('=')?;
    let message: MessageId = format!("{}{number}", MessageId::PREFIX).parse().ok()?;
    let wanted = proof(key, workspace, message);
    verify_slices_are_equal(given.as_bytes(), wanted.as_bytes()).is_ok().then_some(message)
}

/// The inbox's local part in that of a return path.
pub fn inbox_of(local: &str) -> Option<&str> {
    local.rsplit_once('+').filter(|(_, tag)| tag.starts_with(MARK)).map(|(inbox, _)| inbox)
}

/// Where what comes back of the service's own mail goes: an address that nobody can guess and nobody reads.
pub fn make_for_service(key: &SecretKey, sender: &str, notice: NoticeId) -> String {
    let sender = on_the_wire(sender);
    let number = notice.to_string();
    let number = number.trim_start_matches(NoticeId::PREFIX);
    match sender.rsplit_once('@') {
        Some((local, domain)) => format!("{local}+{SERVICE}{number}={}@{domain}", service_proof(key, notice)),
        None => sender,
    }
}

/// Whether we made this address for mail of the service, with any key that we had.
pub fn is_for_service(keys: &KeyRing, address: &str) -> bool {
    let local = address.rsplit_once('@').map_or("", |(local, _)| local).to_ascii_lowercase();
    let tag = local.rsplit_once('+').and_then(|(_, tag)| tag.strip_prefix(SERVICE));
    let Some((number, given)) = tag.and_then(|tag| tag.split_once('=')) else { return false };
    let Ok(notice) = format!("{}{number}", NoticeId::PREFIX).parse::<NoticeId>() else { return false };
    keys.all().any(|(_, key)| {
        verify_slices_are_equal(given.as_bytes(), service_proof(key, notice).as_bytes()).is_ok()
    })
}

fn service_proof(key: &SecretKey, notice: NoticeId) -> String {
    let token = link_tokens::token(key, "return path of the service", &notice.to_string());
    token.chars().take(PROOF).collect::<String>().to_ascii_lowercase()
}

fn proof(key: &SecretKey, workspace: WorkspaceId, message: MessageId) -> String {
    let token = link_tokens::token(key, "return path", &format!("{workspace} {message}"));
    token.chars().take(PROOF).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_reading::mail::plus_tag::{self, tag_of};

    const KEY: SecretKey = SecretKey([7; 32]);
    const HERE: WorkspaceId = WorkspaceId(1);
    const INBOX: &str = "help@acme.example";

    #[test]
    fn it_names_its_message_and_comes_back_in_any_letter_case() {
        let message = MessageId(i64::MAX);
        let made = make(&KEY, HERE, message, INBOX);
        assert_eq!(made, make(&KEY, HERE, message, INBOX), "the same on every try");
        assert!(made.starts_with("help+r=1y2p0ij32e8e7=") && made.ends_with("@acme.example"), "{made}");
        assert_eq!(read(&KEY, HERE, &made, INBOX), Some(message));
        assert_eq!(read(&KEY, HERE, &made.to_uppercase(), INBOX), Some(message));
    }

    #[test]
    fn a_return_path_cannot_be_forged() {
        let made = make(&KEY, HERE, MessageId(1), INBOX);
        let other = make(&KEY, HERE, MessageId(2), INBOX);
        assert_eq!(read(&SecretKey([8; 32]), HERE, &made, INBOX), None);
        assert_eq!(read(&KEY, WorkspaceId(2), &made, INBOX), None);
        assert_eq!(read(&KEY, HERE, &made, "sales@acme.example"), None);
        let swapped = format!("{}={}", made.rsplit_once('=').unwrap().0, other.rsplit_once('=').unwrap().1);
        assert_eq!(read(&KEY, HERE, &swapped, INBOX), None);
        for tag in ["r=", "r==", "r=1=2", "inv-1042", "r=0000000000001", "r=0000000000001="] {
            assert_eq!(read(&KEY, HERE, &format!("help+{tag}@acme.example"), INBOX), None, "{tag}");
        }
    }

    #[test]
    fn its_tag_is_never_an_apps_reference() {
        let made = make(&KEY, HERE, MessageId(5), INBOX);
        assert_eq!(tag_of(&made, INBOX).and_then(plus_tag::parse), None);
    }

    #[test]
    fn a_name_with_a_plus_keeps_it() {
        let inbox = "help+vip@acme.example";
        let made = make(&KEY, HERE, MessageId(1), inbox);
        assert!(made.starts_with("help+vip+r="), "{made}");
        assert_eq!(inbox_of(made.split_once('@').unwrap().0), Some("help+vip"));
        assert_eq!(read(&KEY, HERE, &made, inbox), Some(MessageId(1)));
        assert_eq!(read(&KEY, HERE, &made, INBOX), None, "the bounces of another inbox");
    }

    #[test]
    fn an_inbox_without_room_for_a_tag_keeps_its_address() {
        let long = format!("{}@acme.example", "x".repeat(35));
        assert_eq!(make(&KEY, HERE, MessageId(1), &long), long);
        let longest = format!("{}@acme.example", "x".repeat(34));
        let made = make(&KEY, HERE, MessageId(1), &longest);
        assert_eq!(read(&KEY, HERE, &made, &longest), Some(MessageId(1)));
    }
}
