//! Who else is on a conversation: pages say what their person does there, and ask who is where. It is a hint that
//! ends by itself; the crossing of two answers is stopped elsewhere.

use std::collections::BTreeMap;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::inbox::reading::is_looked_at;
use crate::respond;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::live::presence::{Doing, Here};
use rookery_base::store::db::Handle;
use rookery_core::conversations::conversation::{self, Conversation};
use rookery_core::conversations::{notifications, unread};

/// `POST /conversations/{id}/presence`: the person is looking or writing there, or has left. With `seen` they have also
/// read what came meanwhile and what they were told of it.
pub async fn say(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let doing = match form.text("doing")? {
        "looking" => Doing::Looking,
        "writing" => Doing::Writing,
        "gone" => Doing::Gone,
        _ => return Err(Error::problem("doing", "must be looking, writing or gone")),
    };
    let mut reading = asked.reading().await?;
    let (id, now) = (asked.param("id").unwrap_or_default(), reading.now());
    let found = conversation::find_visible(&mut reading, &asked.person, now, id).await?;
    drop(reading);
    if form.flag("seen") {
        let mut tx = asked.tx().await?;
        unread::seen(&mut tx, &asked.person, &found).await?;
        notifications::read(&mut tx, &asked.person, Some(found.id), now).await?;
        tx.commit().await?;
    }
    asked.app().feed.is_here(asked.person.workspace, here(&asked, &found, doing), now);
    Ok(respond::nothing())
}

fn here(asked: &MemberRequest, conversation: &Conversation, doing: Doing) -> Here {
    let person = &asked.person;
    let (id, audience) = (conversation.id, conversation.audience);
    Here { conversation: id, audience, person: person.id, doing, name: person.name.clone() }
}

/// Opening a conversation says that the person looks at it, and no longer at the one that the window showed before
/// (`x-left`). So the page needs no request beside it.
pub fn opened(asked: &MemberRequest, conversation: &Conversation) {
    if !is_looked_at(asked) {
        return;
    }
    let (feed, person, now) = (&asked.app().feed, &asked.person, asked.times().now);
    if let Some(left) = asked.header("x-left").filter(|left| *left != conversation.id.to_string()) {
        let known = feed.who_is_where(person.workspace, &person.audiences(), now);
        let own = known.into_iter().find(|at| at.person == person.id && at.conversation.to_string() == left);
        if let Some(own) = own {
            feed.is_here(person.workspace, Here { doing: Doing::Gone, ..own }, now);
        }
    }
    feed.is_here(person.workspace, here(asked, conversation, Doing::Looking), now);
}

#[derive(Serialize)]
struct PresenceLine {
    text: String,
    writing: bool,
}

/// `GET /presence`: who else is where, of what this person can see, by conversation.
pub async fn show(asked: MemberRequest) -> Result<Response> {
    let (app, person) = (asked.app(), &asked.person);
    let others = app.feed.who_is_where(person.workspace, &person.audiences(), app.clock.now());
    let mut by_conversation: BTreeMap<String, Vec<Here>> = BTreeMap::new();
    for here in others.into_iter().filter(|here| here.person != person.id) {
        by_conversation.entry(here.conversation.to_string()).or_default().push(here);
    }
    let shown: BTreeMap<String, PresenceLine> = by_conversation
        .into_iter()
        .map(|(id, there)| {
            let writing = there.iter().any(|here| here.doing == Doing::Writing);
            (id, PresenceLine { text: sentence(&there), writing })
        })
        .collect();
    let json = serde_json::to_string(&shown).map_err(Error::internal)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// `Ada is writing`, `Ada and Tom are looking`; writers count before those who only look.
fn sentence(there: &[Here]) -> String {
    let of = |doing| there.iter().filter(move |here| here.doing == doing).map(|here| first_name(&here.name));
    let writing: Vec<&str> = of(Doing::Writing).collect();
    let looking: Vec<&str> = of(Doing::Looking).collect();
    match (writing.as_slice(), looking.as_slice()) {
        ([], names) => describe_people(names, "looking"),
        (names, _) => describe_people(names, "writing"),
    }
}

fn describe_people(names: &[&str], doing: &str) -> String {
    match names {
        [] => String::new(),
        [one] => format!("{one} is {doing}"),
        [one, other] => format!("{one} and {other} are {doing}"),
        [one, rest @ ..] => format!("{one} and {} others are {doing}", rest.len()),
    }
}

fn first_name(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_told_before_those_who_look() {
        let here = |name: &str, doing| Here {
            conversation: rookery_base::ids::ConversationId(1),
            audience: 0,
            person: rookery_base::ids::PersonId(1),
            doing,
            name: name.into(),
        };
        let (ada, tom) = (here("Ada Berg", Doing::Writing), here("Tom", Doing::Looking));
        assert_eq!(sentence(&[ada.clone(), tom.clone()]), "Ada is writing");
        assert_eq!(sentence(&[tom.clone(), tom.clone()]), "Tom and Tom are looking");
        assert_eq!(sentence(&[tom.clone(), tom.clone(), tom]), "Tom and 2 others are looking");
        assert_eq!(sentence(&[]), "");
    }
}
