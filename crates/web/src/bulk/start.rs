//! `POST /bulk`: something is done with the picked conversations of a list, or with all that match. A few are done before
//! the answer; of many there is a page that shows how far it is. Without an argument that is needed, it is asked for.

use askama::Template;
use axum::response::Response;

use crate::bulk::asked_action::{self, path_in, toast_for, where_from};
use crate::inbox::list_column;
use crate::respond;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::toast::Toast;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{Error, Result};
use rookery_base::ids::ConversationId;
use rookery_base::store::db::Tx;
use rookery_core::conversations::bulk::{self, MOST, work};
use rookery_core::conversations::conversation::Member;
use rookery_core::conversations::snooze::times::{self, SnoozeChoice};
use rookery_core::conversations::views::{rows, tagged};
use rookery_core::conversations::{tags, team, unread};
use rookery_core::workspace::access::MemberId;

#[derive(Template)]
#[template(path = "bulk/choose.html")]
struct ChoosePage {
    shell: Shell,
    act: String,
    /// How many conversations were picked; None if all that match are meant.
    picked: Option<i64>,
    /// The fields of the list's form, which are sent again with the argument.
    fields: Vec<(String, String)>,
    back: String,
    team: Vec<Member>,
    tags: Vec<String>,
    choices: Vec<SnoozeChoice>,
}

impl ChoosePage {
    fn is_agent(&self, member: &Member) -> bool {
        matches!(member.id, MemberId::Agent(_))
    }

    fn title(&self) -> &'static str {
        match self.act.as_str() {
            "assign" => "Assign",
            "snooze" => "Snooze",
            _ => "Tag",
        }
    }

    /// One page for both: its buttons say whether a tag is added or removed.
    fn is_of_tags(&self) -> bool {
        matches!(self.act.as_str(), "tag" | "untag")
    }
}

pub async fn start(asked: MemberRequest) -> Result<Response> {
    let form = asked.form().await?;
    let back = path_in(&form, "back").map(str::to_owned).or_else(|| where_from(&asked));
    let back = back.unwrap_or_else(|| "/inbox".into());
    let Some(action) = asked_action::read(&asked, &form)? else { return choose(&asked, &form, back).await };
    let mut tx = asked.tx().await?;
    let picked: Vec<ConversationId> = if form.flag("all") {
        matching(&mut tx, &asked, &form).await?
    } else {
        form.all("c").filter_map(|id| id.parse().ok()).collect()
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
    Ok(respond::see_other_with(&back, Toast::new(toast_for(&action), job.id)))
}

/// All of what the list showed: a view, an inbox, whoever it is assigned to, what is unread.
async fn matching(tx: &mut Tx<'_>, asked: &MemberRequest, form: &FormFields) -> Result<Vec<ConversationId>> {
    let (person, now) = (&asked.person, tx.now());
    let (wanted, _) = list_column::read(tx, asked, form).await?;
    let unlisted = || Error::problem("view", "is none of which all can be changed at once");
    let filter = wanted.filter(person, None, MOST + 1).ok_or_else(unlisted)?;
    let mut found = rows::all(tx, person, now, &filter).await?;
    if let Some(tag) = wanted.tag {
        // Those beyond the limit were not looked at.
        if found.len() as i64 > MOST {
            return Err(Error::problem(
                "all",
                "are too many to look through. Narrow the list to an inbox first",
            ));
        }
        let tagged = tagged::among(tx, person, tag, &found).await?;
        found.retain(|id| tagged.contains(&ConversationId(*id)));
    }
    if !wanted.unread {
        return Ok(found.into_iter().map(ConversationId).collect());
    }
    let unread = unread::among(tx, person, now, &found).await?;
    Ok(found.into_iter().map(ConversationId).filter(|id| unread.contains(id)).collect())
}

async fn choose(asked: &MemberRequest, form: &FormFields, back: String) -> Result<Response> {
    let mut reading = asked.reading().await?;
    let shell = Shell::load(&mut reading, asked, Here::View("open")).await?;
    let names = ["all", "view", "inbox", "assignee", "tagged", "unread", "c"];
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
