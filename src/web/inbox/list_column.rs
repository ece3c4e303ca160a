//! The middle column: a page of a view, beside an empty pane or beside a conversation. What is shown stands in the
//! query (`view`, `inbox`, `assignee`, `tag`, `unread`, `order`, `before`), and every link of a row carries it on, so that the
//! list stays where it was.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::conversations::filter::Cursor;
use crate::conversations::mentions;
use crate::conversations::tags;
use crate::conversations::views::rows::{self, Page, UNREAD_WALK};
use crate::conversations::views::tagged;
use crate::conversations::views::view::{self, Name, Order};
use crate::error::{NO_ENDPOINT, Result};
use crate::ids::{ConversationId, TagId};
use crate::web::inbox::item::Item;
use crate::web::shell::{Here, Shell};
use crate::web::show::{capped_of, grouped_of};
use crate::web::visit::{Asked, Fields};
use crate::workspace::access::MemberId;
use crate::workspace::mailboxes::{self, Mailbox};
use crate::workspace::people::Person;

/// Rows of a page.
pub const PAGE: i64 = 50;

/// Templates that include `inbox/_list.html` have one of these as `column`, beside `shell`.
pub struct ListColumn {
    pub asked: view::Asked,
    /// Whether its rows were read. A page that is brought up to date may not want them.
    pub is_shown: bool,
    /// The inbox it is narrowed to.
    pub inbox: Option<Mailbox>,
    /// The name of the tag it is narrowed to.
    pub tag: Option<String>,
    /// Tags it can be narrowed to.
    pub tags: Vec<(TagId, String)>,
    pub rows: Vec<Item>,
    /// The query of the next page.
    pub next: Option<String>,
    /// It does not begin at the top.
    pub further: bool,
    /// The query of this very page.
    pub query: String,
    /// The conversation in the pane beside it.
    pub current: Option<ConversationId>,
    /// Where a conversation of this page leads when it is done with: the rows before and behind the current one.
    pub previous: Option<ConversationId>,
    pub following: Option<ConversationId>,
}

/// What to do when there is nothing.
pub struct Empty {
    pub title: String,
    pub text: String,
    pub actions: Vec<(String, String)>,
}

/// The page of the list that the query of a request names, or only what is known of it without its rows. A view, an
/// inbox or a place that is none is the same 404.
pub async fn load(conn: &mut PgConnection, asked: &Asked, is_shown: bool) -> Result<ListColumn> {
    let (wanted, inbox, tag) = wanted(conn, asked, asked.queries()).await?;
    let before: Option<Cursor> = parsed(asked.queries(), "before")?;
    let (person, now) = (&asked.person, asked.times().now);
    let page = match (wanted.filter(person, before, PAGE), wanted.tag) {
        _ if !is_shown => Page::default(),
        (None, _) => mentioned(conn, person, now, &wanted, before).await?,
        (Some(filter), Some(tag)) => {
            tagged::page(conn, person, now, &filter, wanted.order, (&[tag], wanted.unread)).await?
        }
        (Some(filter), None) if wanted.unread => {
            rows::unread_page(conn, person, now, &filter, wanted.order).await?
        }
        (Some(filter), None) => rows::page(conn, person, now, &filter, wanted.order).await?,
    };
    Ok(ListColumn {
        next: page.next.map(|place| query(&wanted, Some(place))),
        further: before.is_some(),
        query: query(&wanted, before),
        rows: page.rows.into_iter().map(Item).collect(),
        tags: if is_shown { tags::offered(conn, person).await? } else { Vec::new() },
        inbox,
        tag,
        asked: wanted,
        is_shown,
        current: None,
        previous: None,
        following: None,
    })
}

/// Where notes mention the person, newest mention first. Narrowed to an inbox or to what is unread, a page has fewer rows.
async fn mentioned(
    conn: &mut PgConnection,
    person: &Person,
    now: DateTime<Utc>,
    wanted: &view::Asked,
    before: Option<Cursor>,
) -> Result<Page> {
    let mut places = mentions::list(conn, person, before, PAGE + 1).await?;
    let more = places.len() as i64 > PAGE;
    places.truncate(PAGE as usize);
    let ids: Vec<i64> = places.iter().map(|place| place.id.0).collect();
    let mut rows = rows::of(conn, person, now, &ids).await?;
    if let Some(tag) = wanted.tag {
        let tagged = tagged::among(conn, person, tag, &ids).await?;
        rows.retain(|row| tagged.contains(&row.id));
    }
    rows.retain(|row| {
        wanted.mailbox.is_none_or(|inbox| row.mailbox == inbox) && (row.unread || !wanted.unread)
    });
    Ok(Page { rows, next: places.last().copied().filter(|_| more) })
}

/// What an address asks the list for, and the names of the inbox and of the tag it is narrowed to.
pub async fn wanted(
    conn: &mut PgConnection,
    asked: &Asked,
    query: &Fields,
) -> Result<(view::Asked, Option<Mailbox>, Option<String>)> {
    let (mut wanted, inbox) = read(conn, asked, query).await?;
    wanted.tag = parsed(query, "tag")?;
    let tag = match wanted.tag {
        Some(tag) => Some(tags::find_visible(conn, &asked.person, tag).await?),
        None => None,
    };
    Ok((wanted, inbox, tag))
}

/// What the fields of a query or a form ask the list for; the inbox is one that the person sees.
pub async fn read(
    conn: &mut PgConnection,
    asked: &Asked,
    fields: &Fields,
) -> Result<(view::Asked, Option<Mailbox>)> {
    let view = match fields.get("view").filter(|view| !view.is_empty()) {
        Some(view) => Name::parse(view).ok_or(NO_ENDPOINT)?,
        None => Name::default(),
    };
    let inbox = match fields.get("inbox").filter(|inbox| !inbox.is_empty()) {
        Some(inbox) => Some(mailboxes::find_visible(conn, &asked.person, inbox).await?),
        None => None,
    };
    let wanted = view::Asked {
        view,
        mailbox: inbox.as_ref().map(|inbox| inbox.id),
        assignee: parsed::<MemberId>(fields, "assignee")?,
        // In a form, `tag` is a tag to put on.
        tag: parsed(fields, "tagged")?,
        unread: fields.flag("unread"),
        order: if fields.get("order") == Some("oldest") { Order::Oldest } else { Order::Newest },
    };
    Ok((wanted, inbox))
}

fn parsed<T: std::str::FromStr>(fields: &Fields, name: &str) -> Result<Option<T>> {
    let given = fields.get(name).filter(|text| !text.is_empty());
    given.map(|text| text.parse().map_err(|_| NO_ENDPOINT)).transpose()
}

/// As addresses have it. Nothing in it needs escaping.
pub fn query(wanted: &view::Asked, before: Option<Cursor>) -> String {
    let mut query = format!("view={}", wanted.view.as_str());
    if let Some(inbox) = wanted.mailbox {
        let _ = write!(query, "&inbox={inbox}");
    }
    if let Some(assignee) = wanted.assignee {
        let _ = write!(query, "&assignee={assignee}");
    }
    if let Some(tag) = wanted.tag {
        let _ = write!(query, "&tag={tag}");
    }
    if wanted.unread {
        query.push_str("&unread=1");
    }
    if wanted.order == Order::Oldest {
        query.push_str("&order=oldest");
    }
    if let Some(before) = before {
        let _ = write!(query, "&before={before}");
    }
    query
}

impl ListColumn {
    /// Beside this conversation.
    pub fn beside(mut self, conversation: ConversationId) -> Self {
        self.current = Some(conversation);
        if let Some(at) = self.rows.iter().position(|row| row.id == conversation) {
            // It is being read.
            self.rows[at].0.unread = false;
            self.previous = at.checked_sub(1).and_then(|at| self.rows.get(at)).map(|row| row.id);
            self.following = self.rows.get(at + 1).map(|row| row.id);
        }
        self
    }

    /// Where somebody goes who is done with the current one: to the next, or to the list.
    pub fn onward(&self) -> String {
        match self.following.or(self.previous) {
            Some(id) => format!("/conversations/{id}?{}", self.query),
            None => format!("/inbox?{}", self.query),
        }
    }

    pub fn is_current(&self, id: &ConversationId) -> bool {
        self.current.as_ref() == Some(id)
    }

    /// The link of the side bar that leads here.
    pub fn here(&self) -> Here {
        match (self.asked.assignee, self.asked.mailbox) {
            (Some(member), _) => Here::Member(member),
            (None, Some(inbox)) => Here::Inbox(inbox),
            (None, None) => Here::View(self.asked.view.as_str()),
        }
    }

    pub fn title(&self, shell: &Shell) -> String {
        if let Some(saved) = shell.current_view() {
            return saved.name.clone();
        }
        let view = title_of(self.asked.view);
        let member = self.asked.assignee.and_then(|id| shell.team.iter().find(|member| member.id == id));
        match (member, &self.inbox) {
            (Some(member), _) => member.name.clone(),
            (None, Some(inbox)) => inbox.name.clone(),
            (None, None) => view.to_owned(),
        }
    }

    /// What a title does not say: the view of an inbox or of somebody.
    pub fn subtitle(&self) -> Option<&'static str> {
        let narrowed = self.inbox.is_some() || self.asked.assignee.is_some();
        (narrowed && self.asked.view != Name::Open).then(|| title_of(self.asked.view))
    }

    /// How many there are, where that is known.
    pub fn count(&self, shell: &Shell) -> Option<String> {
        if self.asked.unread || self.asked.assignee.is_some() || self.asked.tag.is_some() {
            return None;
        }
        let inbox = self.asked.mailbox.map(|id| shell.inboxes.iter().find(|inbox| inbox.id == id));
        let count = match (self.asked.view, inbox) {
            (Name::Open, Some(inbox)) => inbox.map(|inbox| grouped_of(inbox.open)),
            (_, Some(_)) => None,
            (Name::Open, None) => Some(grouped_of(shell.open())),
            (Name::Mine, None) => Some(capped_of(shell.counts.mine)),
            (Name::Unassigned, None) => Some(capped_of(shell.counts.unassigned)),
            (Name::Waiting, None) => Some(capped_of(shell.counts.waiting)),
            (Name::Snoozed, None) => Some(capped_of(shell.counts.snoozed)),
            (Name::Closed | Name::Mentioned, None) => None,
        };
        count.filter(|count| count != "0")
    }

    pub fn is_oldest_first(&self) -> bool {
        self.asked.order == Order::Oldest
    }

    /// Rows of every status.
    pub fn mixed(&self) -> bool {
        self.asked.view == Name::Mentioned
    }

    /// Whether rows tell their inbox: not where all are of one.
    pub fn tells_inbox(&self, shell: &Shell) -> bool {
        self.inbox.is_none() && shell.inboxes.len() > 1
    }

    /// The same list in another order.
    pub fn ordered(&self, order: &str) -> String {
        let order = if order == "oldest" { Order::Oldest } else { Order::Newest };
        query(&view::Asked { order, ..self.asked.clone() }, None)
    }

    /// The same list with only this tag, or with any.
    pub fn of_tag(&self, tag: &TagId) -> String {
        query(&view::Asked { tag: Some(*tag), ..self.asked.clone() }, None)
    }

    pub fn of_any_tag(&self) -> String {
        query(&view::Asked { tag: None, ..self.asked.clone() }, None)
    }

    pub fn is_of_tag(&self, tag: &TagId) -> bool {
        self.asked.tag.as_ref() == Some(tag)
    }

    pub fn toggled_unread(&self) -> String {
        query(&view::Asked { unread: !self.asked.unread, ..self.asked.clone() }, None)
    }

    /// From its top.
    pub fn from_top(&self) -> String {
        query(&self.asked, None)
    }

    /// Views of the same inbox or person, for the menu: title, query, and whether it is this one.
    pub fn views(&self) -> Vec<(&'static str, String, bool)> {
        let names = match self.asked.assignee {
            Some(_) => &[Name::Open, Name::Waiting, Name::Snoozed, Name::Closed][..],
            None => &[Name::Open, Name::Unassigned, Name::Waiting, Name::Snoozed, Name::Closed],
        };
        let view = |name: &Name| {
            let asked = view::Asked { view: *name, ..self.asked.clone() };
            (title_of(*name), query(&asked, None), self.asked.view == *name)
        };
        names.iter().map(view).collect()
    }

    /// Whether everything that the list has, on every page, can be changed at once.
    pub fn can_pick_all(&self) -> bool {
        !self.asked.unread && self.asked.tag.is_none() && self.asked.view != Name::Mentioned
    }

    /// The names and values that a form of this list sends along, so that "all that match" is what is seen.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![("view", self.asked.view.as_str().to_owned())];
        fields.extend(self.asked.mailbox.map(|inbox| ("inbox", inbox.to_string())));
        fields.extend(self.asked.assignee.map(|assignee| ("assignee", assignee.to_string())));
        fields.extend(self.asked.tag.map(|tag| ("tagged", tag.to_string())));
        if self.asked.unread {
            fields.push(("unread", "1".into()));
        }
        fields
    }

    pub fn empty(&self, shell: &Shell) -> Empty {
        let to = |text: &str, path: &str| (text.to_owned(), path.to_owned());
        let say =
            |title: &str, text: &str, actions| Empty { title: title.into(), text: text.into(), actions };
        if let Some(tag) = &self.tag {
            let any = (String::from("Show all tags"), format!("/inbox?{}", self.of_any_tag()));
            return say(&format!("Nothing here is tagged {tag}"), "", vec![any]);
        }
        if self.asked.unread {
            let looked = self.next.as_ref().map(|_| format!("Looked at {UNREAD_WALK} conversations so far."));
            let all = (String::from("Show all"), format!("/inbox?{}", self.toggled_unread()));
            return say("Everything is read", &looked.unwrap_or_default(), vec![all]);
        }
        if self.further {
            let top = (String::from("Back to the top"), format!("/inbox?{}", self.from_top()));
            return say("That was all", "There is nothing further down.", vec![top]);
        }
        if shell.inboxes.is_empty() {
            return match shell.administers {
                true => say(
                    "There is no inbox yet",
                    "Make one for the address your customers write to, or try everything with mail that nobody sent.",
                    vec![to("Set up the first inbox", "/welcome")],
                ),
                false => say(
                    "There is no inbox yet",
                    "An owner or admin makes the first one. Mail to its address shows up here.",
                    vec![to("Look at your profile", "/profile")],
                ),
            };
        }
        let open = || vec![to("See what is open", "/inbox?view=open")];
        let counts = &shell.counts;
        match (self.asked.view, &self.inbox) {
            (Name::Open, Some(inbox)) => {
                let text = format!("New mail to {} shows up here.", inbox.address);
                let closed = format!("/inbox?view=closed&inbox={}", inbox.id);
                say("Nothing is open here", &text, vec![("Show closed".into(), closed)])
            }
            (Name::Open, None) => {
                let wait = many(
                    counts.waiting,
                    "conversation waits on a customer",
                    "conversations wait on customers",
                );
                let asleep = many(counts.snoozed, "is asleep", "are asleep");
                let mut actions = Vec::new();
                if counts.to_approve > 0 {
                    let drafts = many(counts.to_approve, "draft", "drafts");
                    actions.push((format!("Approve {drafts}"), "/approvals".into()));
                }
                if counts.waiting > 0 {
                    actions.push(to("See who we wait for", "/inbox?view=waiting"));
                }
                if actions.is_empty() {
                    actions.push(to("Write a mail", "/compose"));
                    if shell.administers {
                        actions.push(to("Finish the setup", "/welcome"));
                    }
                }
                let text = match (counts.waiting, counts.snoozed) {
                    (0, 0) => format!("New mail to {} shows up here.", shell.inboxes[0].address),
                    _ => format!("{wait}, and {asleep}."),
                };
                say("Nothing waits for an answer", &text, actions)
            }
            (Name::Mine, _) => {
                let mut actions = Vec::new();
                if counts.unassigned > 0 {
                    let n = capped_of(counts.unassigned);
                    actions.push((format!("Choose from {n} unassigned"), "/inbox?view=unassigned".into()));
                } else {
                    actions = open();
                }
                say("Nothing is on your desk", "What is assigned to you and open is listed here.", actions)
            }
            (Name::Unassigned, _) => {
                say("Everything open has somebody", "New mail without an assignee shows up here.", open())
            }
            (Name::Waiting, _) => say(
                "We wait for nobody",
                "Conversations in which the customer has the next word are here.",
                open(),
            ),
            (Name::Snoozed, _) => say(
                "Nothing is asleep",
                "Snooze a conversation and it comes back when its time has come.",
                open(),
            ),
            (Name::Closed, _) => say("Nothing is closed yet", "What is done is kept here.", open()),
            (Name::Mentioned, _) => say(
                "Nobody mentioned you",
                "When a note says @ and your name, its conversation is here.",
                open(),
            ),
        }
    }
}

fn title_of(view: Name) -> &'static str {
    match view {
        Name::Open => "Open",
        Name::Mine => "Mine",
        Name::Unassigned => "Unassigned",
        Name::Waiting => "Waiting",
        Name::Snoozed => "Snoozed",
        Name::Closed => "Closed",
        Name::Mentioned => "Mentioned",
    }
}

fn many(n: i64, one: &str, more: &str) -> String {
    format!("{} {}", capped_of(n), if n == 1 { one } else { more })
}
