//! The middle column: a page of a view, beside an empty pane or beside a conversation. What is shown stands in the
//! query (`view`, `inbox`, `assignee`, `tag`, `unread`, `order`, `before`), and every link of a row carries it on, so that the
//! list stays where it was.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::inbox::held_list::HeldList;
use crate::inbox::item::InboxItem;
use crate::inbox::reading;
use crate::search::beside::FoundColumn;
use crate::shell::{Here, Shell};
use crate::show::{capped_of, grouped_of};
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::{NO_ENDPOINT, Result};
use rookery_base::ids::{ConversationId, TagId};
use rookery_core::conversations::filter::ConversationCursor;
use rookery_core::conversations::mentions;
use rookery_core::conversations::tags;
use rookery_core::conversations::views::rows::{self, RowsPage, UNREAD_WALK};
use rookery_core::conversations::views::tagged;
use rookery_core::conversations::views::view::{self, InboxView, Order};
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::mailboxes::{self, Mailbox};
use rookery_core::workspace::people::Person;

/// Rows of a page.
pub const PAGE: i64 = 50;

/// Templates that include `inbox/_list.html` have one of these as `column`, beside `shell`.
pub struct ListColumn {
    pub asked: view::AskedView,
    /// The results that are shown instead of a view, when the conversation was opened from a search.
    pub found: Option<FoundColumn>,
    /// Whether its rows were read. A page that is brought up to date may not want them.
    pub is_shown: bool,
    /// The browser has this very page of it, so that none of it is read or sent.
    pub is_held: bool,
    /// The inbox it is narrowed to.
    pub inbox: Option<Mailbox>,
    /// The name of the tag it is narrowed to.
    pub tag: Option<String>,
    /// Tags it can be narrowed to.
    pub tags: Vec<(TagId, String)>,
    pub rows: Vec<InboxItem>,
    /// The query of the next page.
    pub next: Option<String>,
    /// Whether this is a later page of the list.
    pub further: bool,
    /// The query of this very page.
    pub query: String,
    /// The conversation in the pane beside it.
    pub current: Option<ConversationId>,
    /// The conversations in the rows before (`previous`) and after (`following`) the current one.
    pub previous: Option<ConversationId>,
    pub following: Option<ConversationId>,
}

/// What is shown instead of an empty list.
pub struct Empty {
    pub title: String,
    pub text: String,
    pub actions: Vec<(String, String)>,
}

/// The page of the list that the query of a request names; without `is_shown`, or when the browser holds it, its rows are not
/// read. An unknown view, inbox or place is the same 404.
pub async fn load(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    is_shown: bool,
    held: Option<&HeldList>,
) -> Result<ListColumn> {
    let (wanted, inbox, tag) = wanted(conn, asked, asked.queries()).await?;
    let before: Option<ConversationCursor> = parsed(asked.queries(), "before")?;
    let here = query(&wanted, before);
    let is_held = HeldList::is_page(held, &here);
    let is_shown = is_shown && !is_held;
    let (person, now) = (&asked.person, asked.times().now);
    let page = match (wanted.filter(person, before, PAGE), wanted.tag) {
        _ if !is_shown => RowsPage::default(),
        (None, _) => mentioned(conn, person, now, &wanted, before).await?,
        (Some(filter), Some(tag)) => {
            tagged::page(conn, person, now, &filter, wanted.order, &[tag], wanted.unread).await?
        }
        (Some(filter), None) if wanted.unread => {
            rows::unread_page(conn, person, now, &filter, wanted.order).await?
        }
        (Some(filter), None) => rows::page(conn, person, now, &filter, wanted.order).await?,
    };
    Ok(ListColumn {
        next: page.next.map(|place| query(&wanted, Some(place))),
        further: before.is_some(),
        query: here,
        rows: page.rows.into_iter().map(InboxItem).collect(),
        tags: if is_shown { tags::offered(conn, person).await? } else { Vec::new() },
        inbox,
        tag,
        asked: wanted,
        found: None,
        is_shown,
        is_held,
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
    wanted: &view::AskedView,
    before: Option<ConversationCursor>,
) -> Result<RowsPage> {
    let mut places = mentions::list(conn, person, before, PAGE + 1).await?;
    let more = places.len() as i64 > PAGE;
    places.truncate(PAGE as usize);
    let ids: Vec<i64> = places.iter().map(|place| place.id.0).collect();
    let mut rows = rows::load(conn, person, now, &ids).await?;
    if let Some(tag) = wanted.tag {
        let tagged = tagged::among(conn, person, tag, &ids).await?;
        rows.retain(|row| tagged.contains(&row.id));
    }
    rows.retain(|row| {
        wanted.mailbox.is_none_or(|inbox| row.mailbox == inbox) && (row.unread || !wanted.unread)
    });
    Ok(RowsPage { rows, next: places.last().copied().filter(|_| more) })
}

/// What an address asks the list for, and the names of the inbox and of the tag it is narrowed to.
pub async fn wanted(
    conn: &mut PgConnection,
    asked: &MemberRequest,
    query: &FormFields,
) -> Result<(view::AskedView, Option<Mailbox>, Option<String>)> {
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
    asked: &MemberRequest,
    fields: &FormFields,
) -> Result<(view::AskedView, Option<Mailbox>)> {
    let view = match fields.get("view").filter(|view| !view.is_empty()) {
        Some(view) => InboxView::named(view).ok_or(NO_ENDPOINT)?,
        None => InboxView::default(),
    };
    let inbox = match fields.get("inbox").filter(|inbox| !inbox.is_empty()) {
        Some(inbox) => Some(mailboxes::find_visible(conn, &asked.person, inbox).await?),
        None => None,
    };
    let wanted = view::AskedView {
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

fn parsed<T: std::str::FromStr>(fields: &FormFields, name: &str) -> Result<Option<T>> {
    let given = fields.get(name).filter(|text| !text.is_empty());
    given.map(|text| text.parse().map_err(|_| NO_ENDPOINT)).transpose()
}

/// The query of an address that shows this list. Nothing in it needs escaping.
pub fn query(wanted: &view::AskedView, before: Option<ConversationCursor>) -> String {
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
    /// Beside this conversation, whose neighbours the browser knows if it holds the list.
    pub fn beside(mut self, conversation: ConversationId, held: Option<&HeldList>) -> Self {
        self.current = Some(conversation);
        if let Some(held) = held.filter(|_| self.is_held) {
            (self.previous, self.following) = (held.previous, held.following);
            return self;
        }
        let shown = self.shown();
        if let Some(at) = shown.iter().position(|id| *id == conversation) {
            // It is being read.
            if let Some(row) = self.rows.get_mut(at) {
                row.0.unread = false;
            }
            self.previous = at.checked_sub(1).and_then(|at| shown.get(at)).copied();
            self.following = shown.get(at + 1).copied();
        }
        self
    }

    /// Results of a search, instead of a view.
    pub fn of_search(found: FoundColumn) -> Self {
        Self {
            asked: view::AskedView::default(),
            query: found.asked.query(),
            is_shown: found.is_shown,
            is_held: found.is_held,
            found: Some(found),
            inbox: None,
            tag: None,
            tags: Vec::new(),
            rows: Vec::new(),
            next: None,
            further: false,
            current: None,
            previous: None,
            following: None,
        }
    }

    /// The conversations of its rows, from top to bottom.
    fn shown(&self) -> Vec<ConversationId> {
        match &self.found {
            Some(found) => found.hits.iter().map(|hit| hit.row.id).collect(),
            None => self.rows.iter().map(|row| row.id).collect(),
        }
    }

    /// The address of the list without a conversation beside it.
    pub fn back(&self) -> String {
        reading::list_path(&self.query)
    }

    /// The address to go to after the current conversation: the next one, or the list.
    pub fn onward(&self) -> String {
        match self.following.or(self.previous) {
            Some(id) => format!("/conversations/{id}?{}", self.query),
            None => self.back(),
        }
    }

    /// The conversation that J opens. From one that is not in the list, it is the first of the list.
    pub fn below(&self) -> Option<ConversationId> {
        if self.is_held {
            return self.following;
        }
        let shown = self.shown();
        let is_here = shown.iter().any(|id| self.is_current(id));
        if is_here { self.following } else { shown.first().copied() }
    }

    pub fn is_current(&self, id: &ConversationId) -> bool {
        self.current.as_ref() == Some(id)
    }

    /// The link of the side bar that leads here.
    pub fn here(&self) -> Here {
        if self.found.is_some() {
            return Here::Search;
        }
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

    /// The name of the view, if the title names an inbox or a person instead.
    pub fn subtitle(&self) -> Option<&'static str> {
        let narrowed = self.inbox.is_some() || self.asked.assignee.is_some();
        (narrowed && self.asked.view != InboxView::Open).then(|| title_of(self.asked.view))
    }

    /// How many there are, where that is known.
    pub fn count(&self, shell: &Shell) -> Option<String> {
        if self.asked.unread || self.asked.assignee.is_some() || self.asked.tag.is_some() {
            return None;
        }
        let inbox = self.asked.mailbox.map(|id| shell.inboxes.iter().find(|inbox| inbox.id == id));
        let count = match (self.asked.view, inbox) {
            (InboxView::Open, Some(inbox)) => inbox.map(|inbox| grouped_of(inbox.open)),
            (_, Some(_)) => None,
            (InboxView::Open, None) => Some(grouped_of(shell.open())),
            (InboxView::Mine, None) => Some(capped_of(shell.counts.mine)),
            (InboxView::Unassigned, None) => Some(capped_of(shell.counts.unassigned)),
            (InboxView::Waiting, None) => Some(capped_of(shell.counts.waiting)),
            (InboxView::Snoozed, None) => Some(capped_of(shell.counts.snoozed)),
            (InboxView::Closed | InboxView::Mentioned, None) => None,
        };
        count.filter(|count| count != "0")
    }

    pub fn is_oldest_first(&self) -> bool {
        self.asked.order == Order::Oldest
    }

    /// Whether the list holds conversations of every status.
    pub fn mixed(&self) -> bool {
        self.asked.view == InboxView::Mentioned
    }

    /// Whether rows show the name of their inbox.
    pub fn tells_inbox(&self, shell: &Shell) -> bool {
        self.inbox.is_none() && shell.inboxes.len() > 1
    }

    /// The same list in another order.
    pub fn ordered(&self, order: &str) -> String {
        let order = if order == "oldest" { Order::Oldest } else { Order::Newest };
        query(&view::AskedView { order, ..self.asked.clone() }, None)
    }

    /// The same list with only this tag, or with any.
    pub fn of_tag(&self, tag: &TagId) -> String {
        query(&view::AskedView { tag: Some(*tag), ..self.asked.clone() }, None)
    }

    pub fn of_any_tag(&self) -> String {
        query(&view::AskedView { tag: None, ..self.asked.clone() }, None)
    }

    pub fn is_of_tag(&self, tag: &TagId) -> bool {
        self.asked.tag.as_ref() == Some(tag)
    }

    pub fn toggled_unread(&self) -> String {
        query(&view::AskedView { unread: !self.asked.unread, ..self.asked.clone() }, None)
    }

    /// The query of the first page.
    pub fn from_top(&self) -> String {
        query(&self.asked, None)
    }

    /// Views of the same inbox or person, for the menu: title, query, and whether it is this one.
    pub fn views(&self) -> Vec<(&'static str, String, bool)> {
        let names = match self.asked.assignee {
            Some(_) => &[InboxView::Open, InboxView::Waiting, InboxView::Snoozed, InboxView::Closed][..],
            None => &[
                InboxView::Open,
                InboxView::Unassigned,
                InboxView::Waiting,
                InboxView::Snoozed,
                InboxView::Closed,
            ],
        };
        let view = |name: &InboxView| {
            let asked = view::AskedView { view: *name, ..self.asked.clone() };
            (title_of(*name), query(&asked, None), self.asked.view == *name)
        };
        names.iter().map(view).collect()
    }

    /// Whether everything that the list has, on every page, can be changed at once.
    pub fn can_pick_all(&self) -> bool {
        !self.asked.unread && self.asked.tag.is_none() && self.asked.view != InboxView::Mentioned
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
            let looked = self.next.as_ref().map(|_| format!("Checked {UNREAD_WALK} conversations so far."));
            let all = (String::from("Show all"), format!("/inbox?{}", self.toggled_unread()));
            return say("Everything is read", &looked.unwrap_or_default(), vec![all]);
        }
        if self.further {
            let top = (String::from("Back to the top"), format!("/inbox?{}", self.from_top()));
            return say("That’s everything", "There’s nothing more to show.", vec![top]);
        }
        if shell.inboxes.is_empty() {
            return if shell.administers {
                say(
                    "No inbox yet",
                    "Create one for the address your customers write to, or try everything with sample mail.",
                    vec![to("Set up the first inbox", "/welcome")],
                )
            } else {
                say(
                    "No inbox yet",
                    "An owner or admin creates the first one. Mail to its address appears here.",
                    vec![to("Look at your profile", "/profile")],
                )
            };
        }
        let open = || vec![to("See what is open", "/inbox?view=open")];
        let counts = &shell.counts;
        match (self.asked.view, &self.inbox) {
            (InboxView::Open, Some(inbox)) => {
                let text = format!("New mail to {} shows up here.", inbox.address);
                let closed = format!("/inbox?view=closed&inbox={}", inbox.id);
                say("Nothing open here", &text, vec![("Show closed".into(), closed)])
            }
            (InboxView::Open, None) => {
                let wait = many(
                    counts.waiting,
                    "conversation is waiting on a customer",
                    "conversations are waiting on customers",
                );
                let asleep = many(counts.snoozed, "is snoozed", "are snoozed");
                let mut actions = Vec::new();
                if counts.to_approve > 0 {
                    let drafts = many(counts.to_approve, "draft", "drafts");
                    actions.push((format!("Approve {drafts}"), "/approvals".into()));
                }
                if counts.waiting > 0 {
                    actions.push(to("See what’s waiting", "/inbox?view=waiting"));
                }
                if actions.is_empty() {
                    actions.push(to("New message", "/compose"));
                    if shell.administers {
                        actions.push(to("Finish the setup", "/welcome"));
                    }
                }
                let text = match (counts.waiting, counts.snoozed) {
                    (0, 0) => format!("New mail to {} shows up here.", shell.inboxes[0].address),
                    _ => format!("{wait}, and {asleep}."),
                };
                say("All caught up", &text, actions)
            }
            (InboxView::Mine, _) => {
                let mut actions = Vec::new();
                if counts.unassigned > 0 {
                    let n = capped_of(counts.unassigned);
                    actions.push((format!("Choose from {n} unassigned"), "/inbox?view=unassigned".into()));
                } else {
                    actions = open();
                }
                say("Nothing assigned to you", "Open conversations assigned to you appear here.", actions)
            }
            (InboxView::Unassigned, _) => {
                say("Everything is assigned", "Unassigned conversations appear here.", open())
            }
            (InboxView::Waiting, _) => say(
                "Not waiting on anyone",
                "Conversations waiting for a customer’s reply appear here.",
                open(),
            ),
            (InboxView::Snoozed, _) => say(
                "Nothing snoozed",
                "Snooze a conversation and it comes back at the time you choose.",
                open(),
            ),
            (InboxView::Closed, _) => say("Nothing closed yet", "Closed conversations appear here.", open()),
            (InboxView::Mentioned, _) => {
                say("No mentions", "Conversations where a note mentions you appear here.", open())
            }
        }
    }
}

fn title_of(view: InboxView) -> &'static str {
    match view {
        InboxView::Open => "Open",
        InboxView::Mine => "Mine",
        InboxView::Unassigned => "Unassigned",
        InboxView::Waiting => "Waiting",
        InboxView::Snoozed => "Snoozed",
        InboxView::Closed => "Closed",
        InboxView::Mentioned => "Mentioned",
    }
}

fn many(n: i64, one: &str, more: &str) -> String {
    format!("{} {}", capped_of(n), if n == 1 { one } else { more })
}
