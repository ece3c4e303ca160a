//! `POST /bulk`: something is done with the picked conversations of a list, or with all that match. A few are done before
//! the answer; of many there is a page that shows how far it is. Without an argument that is needed, it is asked for.

use askama::Template;
use axum::response::Response;

use crate::conversations::bulk::{self, MOST, work};
use crate::conversations::conversation::Member;
use crate::conversations::snooze::times::{self, Choice};
use crate::conversations::views::rows;
use crate::conversations::{tags, team, unread};
use crate::error::{Error, Result};
use crate::ids::ConversationId;
use crate::search_terms;
use crate::store::db::Tx;
use crate::web::bulk::asked_action::{self, path_in, told, where_from};
use crate::web::inbox::list_column;
use crate::web::respond;
use crate::web::shell::{Here, Shell};
use crate::web::show::filters;
use crate::web::toast::Toast;
use crate::web::visit::{Asked, Fields};
use crate::workspace::access::MemberId;

#[derive(Template)]
#[template(path = "bulk/choose.html")]
struct ChoosePage {
    shell: Shell,
    act: String,
    /// How many were picked; not known of all that match.
    picked: Option<i64>,
    /// What the list's form said, to be said again.
    fields: Vec<(String, String)>,
    back: String,
    team: Vec<Member>,
    tags: Vec<String>,
    choices: Vec<Choice>,
}

impl ChoosePage {
    fn is_agent(&self, member: &Member) -> bool {
        matches!(member.id, MemberId::Agent(_))
    }

    fn title(&self) -> &'static str {
        match self.act.as_str() {
            "assign" => "Assign",
            "snooze" => "Snooze",
            "untag" => "Remove a tag",
            _ => "Tag",
        }
    }
}

pub async fn start(asked: Asked) -> Result<Response> {
    let form = asked.form().await?;
    let back = path_in(&form, "back").map_or_else(|| where_from(&asked), str::to_owned);
    let Some(action) = asked_action::read(&asked, &form)? else { return choose(&asked, &form, back).await };
    let mut tx = asked.tx().await?;
    let picked: Vec<ConversationId> = match form.flag("all") {
        true => matching(&mut tx, &asked, &form).await?,
        false => form.all("c").filter_map(|id| id.parse().ok()).collect(),
    };
    if picked.is_empty() {
        return Err(Error::problem("c", "pick at least one conversation"));
    }
    let job = bulk::start(&mut tx, &asked.person, &action, &picked).await?;
    tx.commit().await?;
    let job = work::begin_now(asked.app(), &asked.person, job).await?;
    if job.is_at_work() || job.failed > 0 {
        return Ok(respond::see_other(&format!("/bulk/{}", job.id)));
    }
    Ok(respond::see_other_with(&back, Toast::new(told(&action), job.id)))
}

/// All of what the list showed: a view, an inbox, whoever it is assigned to, what is unread; or all that has words.
async fn matching(tx: &mut Tx<'_>, asked: &Asked, form: &Fields) -> Result<Vec<ConversationId>> {
    let (person, now) = (&asked.person, tx.now());
    let (wanted, _) = list_column::read(tx, asked, form).await?;
    let unlisted = || Error::problem("view", "is none of which all can be changed at once");
    let mut filter = wanted.filter(person, None, MOST + 1).ok_or_else(unlisted)?;
    if let Some(words) = form.get("q").map(str::trim).filter(|words| !words.is_empty()) {
        filter.words = Some(search_terms::hash_terms(person.workspace, [words]));
    }
    let found = rows::all(tx, person, now, &filter).await?;
    if !wanted.unread {
        return Ok(found.into_iter().map(ConversationId).collect());
    }
    let unread = unread::among(tx, person, now, &found).await?;
    Ok(found.into_iter().map(ConversationId).filter(|id| unread.contains(id)).collect())
}

async fn choose(asked: &Asked, form: &Fields, back: String) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::load(&mut reading, asked, Here::View("open")).await?;
    let names = ["all", "view", "inbox", "assignee", "unread", "q", "c"];
    let said = |name: &'static str| form.all(name).map(move |value| (name.to_owned(), value.to_owned()));
    let fields: Vec<_> = names.into_iter().flat_map(said).collect();
    let picked = form.all("c").count() as i64;
    if picked == 0 && !form.flag("all") {
        return Err(Error::problem("c", "pick at least one conversation"));
    }
    let page = ChoosePage {
        act: form.text("act")?.to_owned(),
        picked: (!form.flag("all")).then_some(picked),
        fields,
        back,
        team: team::everybody(&mut reading, asked.person.workspace).await?,
        tags: tags::names(&mut reading, &asked.person).await?,
        choices: times::choices(shell.times.now, &asked.zone()),
        shell,
    };
    respond::page(&page)
}
