//! The list of people, and of invitations that wait. What somebody may not change is shown as text.
//! Every form of the page that was refused comes back here with what was typed.

use askama::Template;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::respond;
use crate::settings::people::PATH;
use crate::shell::{Here, Shell};
use crate::show::filters;
use crate::visit::MemberRequest;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{InvitationId, PersonId};
use rookery_core::workspace::people::away::Absence;
use rookery_core::workspace::people::invitations::{self, WaitingInvitation};
use rookery_core::workspace::people::list::{self, ListedPerson};
use rookery_core::workspace::people::{Role, roles};
use rookery_core::workspace::{second_factor, single_sign_on};
use rookery_upkeep::departures::hand_over;

#[derive(Template)]
#[template(path = "settings/people/list.html")]
struct PeoplePage {
    shell: Shell,
    page: &'static str,
    people: Vec<PersonRow>,
    invitations: Vec<Invitation>,
    /// What somebody can be invited as, and made.
    offered: Vec<Role>,
    /// What was typed and refused.
    typed: TypedInvitation,
    problem: Option<String>,
    required: bool,
    is_owner: bool,
    /// People who left, whose work is being handed over.
    leaving: Vec<String>,
}

struct PersonRow {
    id: PersonId,
    name: String,
    email: String,
    role: Role,
    /// Whether the visitor may give another role, and remove them.
    can_change: bool,
    can_remove: bool,
    can_turn_off: bool,
    is_you: bool,
    is_only_owner: bool,
    signs_in_with: String,
    has_second_factor: bool,
    private_inboxes: i64,
    seen_at: Option<DateTime<Utc>>,
    away: Option<Absence>,
}

struct Invitation {
    id: InvitationId,
    email: String,
    role: Role,
    invited_by: String,
    created_at: DateTime<Utc>,
    ends_at: DateTime<Utc>,
    has_ended: bool,
    can_change: bool,
}

/// An invitation as it was typed.
#[derive(Default)]
pub struct TypedInvitation {
    pub emails: String,
    pub role: Option<Role>,
}

impl TypedInvitation {
    fn wants(&self, role: &Role) -> bool {
        *role == self.role.unwrap_or(Role::Member)
    }
}

pub async fn show(asked: MemberRequest) -> Result<Response> {
    respond::page(&page(&asked, TypedInvitation::default(), None).await?)
}

/// The page again, with what is wrong.
pub async fn refused(asked: &MemberRequest, typed: TypedInvitation, error: Error) -> Result<Response> {
    let sentence = match &error {
        Error::Problems(problems) => {
            let what: Vec<_> = problems.iter().map(|problem| problem.what.clone()).collect();
            format!("{}.", what.join(". "))
        }
        Error::Forbidden(_) | Error::SlowDown { .. } => error.sentence(),
        _ => return Err(error),
    };
    let page = page(asked, typed, Some(sentence)).await?;
    let mut response = respond::page_with(respond::status_of(&error), &page)?;
    respond::retry_after(&mut response, &error);
    Ok(response)
}

async fn page(asked: &MemberRequest, typed: TypedInvitation, problem: Option<String>) -> Result<PeoplePage> {
    let mut reading = asked.reading().await?;
    let shell = Shell::frame(asked, Here::Settings);
    let (workspace, mine) = (asked.person.workspace, asked.person.role);
    let people = list::list(&mut reading, workspace).await?;
    let owners = people.iter().filter(|person| person.role == Role::Owner).count();
    let waiting = invitations::waiting(&mut reading, workspace).await?;
    let now = shell.times.now;
    let sso_only = single_sign_on::is_required(&mut reading, workspace).await?;
    Ok(PeoplePage {
        page: PATH,
        people: people.into_iter().map(|person| row(asked, person, owners, sso_only, now)).collect(),
        invitations: waiting.into_iter().map(|waiting| invitation(mine, waiting, now)).collect(),
        offered: Role::ALL.into_iter().rev().filter(|role| roles::manages(mine, *role)).collect(),
        required: second_factor::standing(&mut reading, workspace, asked.person.id).await?.required,
        is_owner: mine == Role::Owner,
        leaving: hand_over::waiting(&mut reading, workspace).await?,
        typed,
        problem,
        shell,
    })
}

fn row(
    asked: &MemberRequest,
    person: ListedPerson,
    owners: usize,
    sso_only: bool,
    now: DateTime<Utc>,
) -> PersonRow {
    let absence = Absence::stored(person.away_from, person.away_until);
    let is_you = person.id == asked.person.id;
    let is_only_owner = person.role == Role::Owner && owners == 1;
    let manages = roles::manages(asked.person.role, person.role);
    PersonRow {
        can_change: manages && !is_only_owner,
        can_remove: manages && !is_only_owner && !is_you,
        can_turn_off: manages && !is_you && person.has_second_factor,
        is_you,
        is_only_owner,
        signs_in_with: ways(&person, sso_only),
        id: person.id,
        name: person.name,
        email: person.email,
        role: person.role,
        has_second_factor: person.has_second_factor,
        private_inboxes: person.private_inboxes,
        seen_at: person.seen_at,
        away: absence.filter(|absence| absence.holds(now)),
    }
}

/// The ways in which somebody can sign in.
fn ways(person: &ListedPerson, sso_only: bool) -> String {
    if sso_only {
        return "Single sign-on only".to_owned();
    }
    let ways = [
        ("Single sign-on", person.has_sso),
        ("Passkey", person.has_passkey),
        ("Password", person.has_password),
        ("Link by mail", true),
    ];
    let ways: Vec<&str> = ways.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
    let (first, others) = ways.split_first().expect("a link is always there");
    others.iter().fold((*first).to_owned(), |told, way| format!("{told}, {}", way.to_lowercase()))
}

fn invitation(mine: Role, waiting: WaitingInvitation, now: DateTime<Utc>) -> Invitation {
    Invitation {
        can_change: roles::manages(mine, waiting.role),
        has_ended: waiting.ends_at <= now,
        id: waiting.id,
        email: waiting.email,
        role: waiting.role,
        invited_by: waiting.invited_by,
        created_at: waiting.created_at,
        ends_at: waiting.ends_at,
    }
}
