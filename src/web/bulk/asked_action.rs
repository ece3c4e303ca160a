//! What a form wants done, on the page of a conversation and on a list alike: `act` and its argument. Also where the
//! person goes next, and what is told there.

use crate::conversations::bulk::action::Action;
use crate::conversations::snooze::times;
use crate::error::{Error, Result};
use crate::web::toast::Done;
use crate::web::visit::{Asked, Fields};

/// What is asked for. Nothing when the argument is still to be chosen.
pub fn read(asked: &Asked, form: &Fields) -> Result<Option<Action>> {
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

/// A time with a name, or a day and an hour of the person's own.
fn until(asked: &Asked, form: &Fields) -> Result<Option<chrono::DateTime<chrono::Utc>>> {
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

/// What the next page tells of it.
pub fn told(action: &Action) -> Done {
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

/// A path of ours that a form names, and no other place.
pub fn path_in<'f>(form: &'f Fields, name: &str) -> Option<&'f str> {
    form.get(name).filter(|named| is_path(named))
}

/// The page of ours that the form was on, without what it told.
pub fn where_from(asked: &Asked) -> Option<String> {
    let came = asked.header("referer").and_then(|referer| url::Url::parse(referer).ok())?;
    let own = asked.app().config.public_url.origin();
    Some(untold(came.path(), came.query())).filter(|path| came.origin() == own && is_path(path))
}

/// Two slashes at the start would be another host.
fn is_path(text: &str) -> bool {
    let sound = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/?=&._:-%+".contains(&byte));
    sound && text.starts_with('/') && !text.starts_with("//")
}

/// This page, without what it told.
pub fn here(asked: &Asked) -> String {
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
