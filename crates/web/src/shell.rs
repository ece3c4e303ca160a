//! What every page of the app shows around itself: the side bar with its counts, what was just done, the person's
//! choices of look. No count grows with the workspace.

use sqlx::PgConnection;

use crate::outgoing::strip::Strip;
use crate::show::{Times, capped_of, grouped_of};
use crate::toast::Toast;
use crate::visit::{FormFields, MemberRequest};
use rookery_base::error::Result;
use rookery_base::ids::{MailboxId, SavedViewId};
use rookery_core::conversations::conversation::Member;
use rookery_core::conversations::inboxes::{self, CountedMailbox};
use rookery_core::conversations::team;
use rookery_core::conversations::views::counts::{self, Counts};
use rookery_core::conversations::views::saved::{Saved, SavedViewKind};
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::agents::stop::Stopped;
use rookery_core::workspace::people::Role;

/// Which link of the side bar is the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Here {
    View(&'static str),
    Inbox(MailboxId),
    Member(MemberId),
    Compose,
    Drafts,
    Approvals,
    Outgoing,
    Search,
    Settings,
    Notices,
    Library,
    Bookings,
    /// A view that the person saved.
    Saved(SavedViewId),
}

impl Here {
    /// For templates: `{% if shell.here.is("open") %}`
    pub fn is(&self, name: &str) -> bool {
        match self {
            Self::View(view) => *view == name,
            Self::Inbox(_) => name == "inbox",
            Self::Member(_) => name == "member",
            Self::Compose => name == "compose",
            Self::Drafts => name == "drafts",
            Self::Approvals => name == "approvals",
            Self::Outgoing => name == "outgoing",
            Self::Search => name == "search",
            Self::Settings => name == "settings",
            Self::Notices => name == "notices",
            Self::Library => name == "documents",
            Self::Bookings => name == "bookings",
            Self::Saved(_) => name == "saved",
        }
    }

    pub fn is_saved(&self, id: &SavedViewId) -> bool {
        matches!(self, Self::Saved(here) if here == id)
    }

    pub fn is_inbox(&self, id: &MailboxId) -> bool {
        matches!(self, Self::Inbox(here) if here == id)
    }

    pub fn is_member(&self, id: &MemberId) -> bool {
        matches!(self, Self::Member(here) if here == id)
    }

    /// Anything that is a list of conversations.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::View(_) | Self::Inbox(_) | Self::Member(_) | Self::Saved(_))
    }
}

/// A link of the side bar.
pub struct SideBarLink {
    pub name: &'static str,
    pub title: &'static str,
    pub icon: &'static str,
    pub path: String,
    /// The keys that lead there.
    pub key: &'static str,
    pub count: i64,
}

pub struct Shell {
    pub here: Here,
    pub workspace: String,
    pub person: String,
    /// The person's id, under which the browser stores what only it keeps, such as recent searches.
    pub whose: String,
    pub administers: bool,
    pub owns: bool,
    pub times: Times,
    /// `auto`, `light` or `dark`.
    pub theme: &'static str,
    /// Whether single keys do something.
    pub keys: bool,
    /// Rows of lists take one line each.
    pub compact: bool,
    pub inboxes: Vec<CountedMailbox>,
    pub team: Vec<Member>,
    /// Views of the person's own.
    pub saved: Vec<Saved>,
    pub counts: Counts,
    /// What leaves next.
    pub leaving: Option<Strip>,
    pub toast: Option<Toast>,
    /// Seconds in which a person can take back their own mail.
    pub undo_seconds: i64,
    /// Every agent of the workspace is stopped, since when and by whom.
    pub agents_stopped: Option<Stopped>,
}

impl Shell {
    pub async fn load(conn: &mut PgConnection, asked: &MemberRequest, here: Here) -> Result<Self> {
        let mut shell = Self::frame(asked, here);
        let now = shell.times.now;
        shell.inboxes = inboxes::list(conn, &asked.person, now).await?;
        shell.team = team::everybody(conn, asked.person.workspace).await?;
        (shell.counts, shell.saved) = counts::with_saved(conn, &asked.person, now).await?;
        if let Some(view) = shell.saved.iter().find(|view| is_at(asked, view)) {
            shell.here = Here::Saved(view.id);
        }
        if shell.counts.outgoing > 0 {
            shell.leaving = Strip::load(conn, asked).await?;
        }
        Ok(shell)
    }

    /// The shell of a page without counts and lists, such as the settings. It needs no query.
    pub fn frame(asked: &MemberRequest, here: Here) -> Self {
        Self {
            here,
            workspace: asked.session.workspace_name.clone(),
            person: asked.person.name.clone(),
            whose: asked.person.id.to_string(),
            administers: asked.person.role.administers(),
            owns: asked.person.role == Role::Owner,
            inboxes: Vec::new(),
            team: Vec::new(),
            saved: Vec::new(),
            counts: Counts::default(),
            leaving: None,
            theme: asked.session.theme.as_str(),
            keys: asked.session.keys,
            compact: asked.cookie(DENSITY) == Some("compact"),
            toast: Toast::read(asked.queries()),
            undo_seconds: asked.undo_window().num_seconds(),
            agents_stopped: asked.session.agents_stopped.clone(),
            times: asked.times(),
        }
    }

    /// The saved view that is shown, or that the conversation is one of.
    pub fn current_view(&self) -> Option<&Saved> {
        self.saved.iter().find(|view| self.here.is_saved(&view.id))
    }

    /// Open conversations of all inboxes that the person sees.
    pub fn open(&self) -> i64 {
        self.inboxes.iter().map(|inbox| inbox.open).sum()
    }

    /// The other inboxes that the same people see as this one: of the team, or the person's own.
    pub fn inboxes_beside(&self, inbox: &MailboxId) -> Vec<&CountedMailbox> {
        let own = self.inboxes.iter().find(|one| one.id == *inbox);
        let alike =
            |one: &&CountedMailbox| one.id != *inbox && own.is_some_and(|own| own.private == one.private);
        self.inboxes.iter().filter(alike).collect()
    }

    /// What is the person's own.
    pub fn own_links(&self) -> Vec<SideBarLink> {
        let counts = &self.counts;
        vec![
            view("mine", "Mine", "user", "g m", counts.mine),
            view("mentioned", "Mentioned", "at-sign", "g n", counts.mentioned),
            page("drafts", "Drafts", "file-pen-line", "g d", 0),
        ]
    }

    /// What the team works through.
    pub fn team_links(&self) -> Vec<SideBarLink> {
        let counts = &self.counts;
        vec![
            view("open", "Open", "inbox", "g o", self.open()),
            view("unassigned", "Unassigned", "user-round-x", "g u", counts.unassigned),
            page("approvals", "To approve", "list-checks", "g a", counts.to_approve),
            view("waiting", "Waiting", "hourglass", "g w", counts.waiting),
            view("snoozed", "Snoozed", "alarm-clock", "g h", counts.snoozed),
            page("outgoing", "Outgoing", "send", "g t", counts.outgoing),
            view("closed", "Closed", "archive", "g c", 0),
        ]
    }

    pub fn workspace_links(&self) -> Vec<SideBarLink> {
        vec![
            page("documents", "Library", "file-text", "g l", 0),
            page("bookings", "Bookings", "calendar", "g k", 0),
        ]
    }
}

fn view(
    name: &'static str,
    title: &'static str,
    icon: &'static str,
    key: &'static str,
    count: i64,
) -> SideBarLink {
    SideBarLink { name, title, icon, path: format!("/inbox?view={name}"), key, count }
}

fn page(
    name: &'static str,
    title: &'static str,
    icon: &'static str,
    key: &'static str,
    count: i64,
) -> SideBarLink {
    SideBarLink { path: format!("/{name}"), ..view(name, title, icon, key, count) }
}

/// Whether the address is that of a saved view, wherever in its list.
fn is_at(asked: &MemberRequest, view: &Saved) -> bool {
    let path = asked.parts.uri.path();
    let (kind, keys): (SavedViewKind, &[&str]) = match path {
        "/search" => (SavedViewKind::Search, &["q", "kind", "status", "inbox", "assigned", "tag"]),
        path if path == "/inbox" || path.starts_with("/conversations/") => {
            (SavedViewKind::List, &["view", "inbox", "assignee", "tag", "unread", "order"])
        }
        _ => return false,
    };
    let saved = FormFields::of_query(&view.query);
    let same = |key: &&str| {
        asked.query(key).filter(|own| !own.is_empty()) == saved.get(key).filter(|own| !own.is_empty())
    };
    view.kind == kind && keys.iter().all(same)
}

/// The cookie that keeps how dense lists are, by browser: it goes with the screen, not with the person.
pub const DENSITY: &str = "density";

impl SideBarLink {
    /// `42`, `1,204`; what is counted only so far ends with `99+`.
    pub fn counted(&self) -> String {
        match self.name {
            "open" => grouped_of(self.count),
            _ => capped_of(self.count),
        }
    }
}
