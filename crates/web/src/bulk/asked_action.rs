//! What a form wants done, on the page of a conversation and on a list alike: `act` and its argument. Also where the
//! person goes next, and what is told there.

use crate::toast::Done;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_core::conversations::bulk::action::Action;
use rookery_core::conversations::snooze::times;

/// The action that the form asks for. None if its argument, such as the tag, is still to be chosen.
pub fn read(asked: &MemberRequest, form: &FormFields) -> Result<Option<Action>> {
    let given = |name| form.get(name).map(str::trim).filter(|text| !text.is_empty());
    Ok(match form.text("act")? {
        "close" => Some(Action::Close),
        "open" => Some(Action::Open),
        "waiting" => Some(Action::Waiting),
        "read" => Some(Action::Read),
        "assign" => match given("to") {
            Some("me") => Some(Action::Assign(asked.person.member)),
            Some("none") => Some(Action::Unassign),
            Some(member) => {
                let unknown = |_| Error::problem("to", "is nobody who can be chosen");
                Some(Action::Assign(member.parse().map_err(unknown)?))
            }
            None => None,
        },
        "tag" => given("tag").map(Action::tag).transpose()?,
        "untag" => given("tag").map(Action::untag).transpose()?,
        "snooze" => until(asked, form)?.map(Action::Snooze),
        _ => return Err(Error::problem("act", "is nothing that can be done")),
    })
}

/// The end of a snooze: one of the times with a name, or a date and time that the person typed.
fn until(asked: &MemberRequest, form: &FormFields) -> Result<Option<chrono::DateTime<chrono::Utc>>> {
    let zone = asked.zone();
    match form.get("until").unwrap_or_default() {
        "" => Ok(None),
        "own" => {
            let (date, time) = (form.text("date")?, form.get("time").unwrap_or_default());
            times::own(date, time, &zone).map(Some)
        }
        named => times::named(named.parse()?, asked.app().clock.now(), &zone).map(Some),
    }
}

/// The message that the next page shows.
pub fn toast_for(action: &Action) -> Done {
    match action {
        Action::Close => Done::Closed,
        Action::Open => Done::Opened,
        Action::Waiting => Done::Waiting,
        Action::Assign(_) => Done::Assigned,
        Action::Unassign => Done::Unassigned,
        Action::Tag(_) => Done::Tagged,
        Action::Untag(_) => Done::Untagged,
        Action::Snooze(_) => Done::Snoozed,
        Action::Read => Done::ManyRead,
    }
}

/// A field that holds a path of this service. Other addresses are ignored.
pub fn path_in<'f>(form: &'f FormFields, name: &str) -> Option<&'f str> {
    form.get(name).filter(|named| is_path(named))
}

/// The page of this service that the form was on, without the message it showed (`done` and `of`).
pub fn where_from(asked: &MemberRequest) -> Option<String> {
    let came = asked.header("referer").and_then(|referer| url::Url::parse(referer).ok())?;
    let own = asked.app().config.public_url.origin();
    Some(untold(came.path(), came.query())).filter(|path| came.origin() == own && is_path(path))
}

/// Whether it is a path of this service. Two slashes at the start would name another host.
fn is_path(text: &str) -> bool {
    let sound = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/?=&._:-%+*".contains(&byte));
    sound && text.starts_with('/') && !text.starts_with("//")
}

/// The address of this page, without the message it showed.
pub fn here(asked: &MemberRequest) -> String {
    untold(asked.parts.uri.path(), asked.parts.uri.query())
}

fn untold(path: &str, query: Option<&str>) -> String {
    let parts = query.unwrap_or_default().split('&');
    let kept: Vec<&str> = parts
        .filter(|part| !part.is_empty() && !part.starts_with("done=") && !part.starts_with("of="))
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_ours_is_one() {
        assert!(is_path("/inbox?view=open&before=1.cnv_2") && is_path("/search?q=a+b%C3%A9"));
        for other in ["//evil.example", "https://evil.example", "inbox", "", "/a\r\nb: c", "/\\evil.example"]
        {
            assert!(!is_path(other), "{other:?}");
        }
    }

    #[test]
    fn what_a_page_told_is_not_told_again() {
        assert_eq!(untold("/inbox", Some("view=open&done=closed&of=blk_1")), "/inbox?view=open");
        assert_eq!(untold("/inbox", Some("done=closed&of=blk_1")), "/inbox");
        assert_eq!(untold("/inbox", None), "/inbox");
    }
}
