//! How much mail the service sends to people who are not on the team: codes for customers' pages, invitations, mail about
//! bookings. Whoever has it sent chooses who gets it, so it is counted by workspace, page, address and network, in rows that all
//! nodes share and that outlive a restart. What is refused takes nothing from anybody.
//! The last third of the codes of a page, and of a workspace, is for networks that asked for none yet: who floods pages has to come
//! from as many places as there are codes, and most of those who come honestly do. An address is counted without its tag and
//! whatever the spelling of its domain: it is one person.

use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::ids::WorkspaceId;
use crate::net::ip_ranges;
use crate::secrets::hashes::{number, sha256};
use crate::store::addresses::key;
use crate::store::db::Tx;
use crate::store::forget::forget;

const HOUR: TimeDelta = TimeDelta::hours(1);
const DAY: TimeDelta = TimeDelta::days(1);

/// A mail that is about to be written.
#[derive(Clone, Copy, Debug)]
pub enum StrangerMail<'a> {
    /// Anybody can have one sent to any address.
    BookingCode {
        page: i64,
        address: &'a str,
        network: IpAddr,
    },
    /// Whoever has the private link can have one sent to its own address. Counted apart from codes for bookings, so that nobody
    /// at a public page uses up what readers need.
    SecureCode {
        page: i64,
        address: &'a str,
        network: IpAddr,
    },
    Invitation {
        address: &'a str,
    },
    /// That a time is booked or has moved. Its cancellation and its reminder follow from it.
    Booking {
        page: i64,
        address: &'a str,
    },
}

/// Of what there was too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Address,
    Network,
    Page,
    Workspace,
}

/// Why a mail is not written, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    pub whose: Whose,
    pub until: DateTime<Utc>,
}

impl TooMuch {
    pub fn error(self, sentence: &str, now: DateTime<Utc>) -> Error {
        let retry_after = (self.until - now).to_std().unwrap_or_default();
        Error::SlowDown { sentence: sentence.to_owned(), retry_after }
    }
}

#[derive(Clone, Copy, Debug)]
struct Cap {
    whose: Whose,
    what: &'static str,
    subject: i64,
    most: i32,
    window: TimeDelta,
}

impl StrangerMail<'_> {
    fn caps(&self, workspace: WorkspaceId) -> Vec<Cap> {
        let cap = |whose, what, subject, most, window| Cap { whose, what, subject, most, window };
        let hashed = |text: &str| number(sha256(format!("{workspace} {text}")));
        let person = |address: &str| hashed(&key(address));
        let of_network = |network: IpAddr, (narrow, wide), (most, most_wide)| {
            let near = ip_ranges::neighbourhood(network);
            let near = cap(Whose::Network, narrow, hashed(&near.to_string()), most, HOUR);
            let site = ip_ranges::site(network);
            let site = site.map(|site| cap(Whose::Network, wide, hashed(&site.to_string()), most_wide, HOUR));
            [Some(near), site].into_iter().flatten()
        };
        let mut caps = match *self {
            Self::BookingCode { page, address, network } => {
                let mut caps = vec![
                    cap(Whose::Address, "booking codes of an address", person(address), 3, HOUR),
                    cap(Whose::Page, "booking codes of a page", page, 100, HOUR),
                    cap(Whose::Workspace, "booking codes", 0, 300, HOUR),
                ];
                let names = ("booking codes of a network", "booking codes of a /48");
                caps.extend(of_network(network, names, (20, 40)));
                caps
            }
            Self::SecureCode { page, address, network } => {
                let mut caps = vec![
                    cap(Whose::Address, "secure codes of an address", person(address), 6, HOUR),
                    cap(Whose::Page, "secure codes of a link", page, 6, HOUR),
                    cap(Whose::Workspace, "secure codes", 0, 600, HOUR),
                ];
                let names = ("secure codes of a network", "secure codes of a /48");
                caps.extend(of_network(network, names, (20, 40)));
                caps
            }
            Self::Invitation { address } => vec![
                cap(Whose::Address, "invitations of an address", person(address), 5, DAY),
                cap(Whose::Workspace, "invitations", 0, 100, DAY),
            ],
            Self::Booking { page, address } => vec![
                cap(Whose::Address, "booking mail of an address", person(address), 40, DAY),
                cap(Whose::Page, "booking mail of a page", page, 200, HOUR),
                cap(Whose::Workspace, "booking mail", 0, 500, HOUR),
            ],
        };
        // Rows are locked in one order.
        caps.sort_unstable_by_key(|cap| (cap.what, cap.subject));
        caps
    }

    /// Whether pages keep what is left for networks that asked for none.
    fn is_thrifty(&self) -> bool {
        matches!(self, Self::BookingCode { .. })
    }
}

/// Counts one more mail, or says why it is not written: then nothing of this transaction may be committed. Called last, because
/// the rows are everybody's.
pub async fn count(tx: &mut Tx<'_>, mail: StrangerMail<'_>) -> Result<Result<(), TooMuch>> {
    let (workspace, now) = (tx.workspace(), tx.now());
    let caps = mail.caps(workspace);
    // Most of a flood ends here, and waits for nobody.
    let there = held(tx, workspace, &caps, now).await?;
    if let Some(too_much) = refused(mail, &caps, &there, 1) {
        return Ok(Err(too_much));
    }
    let counted = add(tx, workspace, &caps, now).await?;
    Ok(refused(mail, &caps, &counted, 0).map_or(Ok(()), Err))
}

/// Deletes counts whose time is over.
pub async fn forget(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<()> {
    forget!(conn, "stranger_mail", "ends_at", now, 1000)
}

struct Count {
    what: String,
    subject: i64,
    n: i32,
    ends_at: DateTime<Utc>,
}

async fn held(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    caps: &[Cap],
    now: DateTime<Utc>,
) -> Result<Vec<Count>> {
    Ok(sqlx::query_as!(
        Count,
        "select what, subject, n, ends_at from stranger_mail
         where workspace_id = $1 and what = any($2) and subject = any($3) and ends_at > $4",
        workspace.0,
        &names(caps),
        &subjects(caps),
        now
    )
    .fetch_all(conn)
    .await?)
}

async fn add(
    conn: &mut PgConnection,
    workspace: WorkspaceId,
    caps: &[Cap],
    now: DateTime<Utc>,
) -> Result<Vec<Count>> {
    let ends: Vec<DateTime<Utc>> = caps.iter().map(|cap| now + cap.window).collect();
    Ok(sqlx::query_as!(
        Count,
        "insert into stranger_mail as kept (workspace_id, what, subject, n, ends_at)
         select $1, what, subject, 1, ends_at
         from unnest($2::text[], $3::bigint[], $4::timestamptz[]) with ordinality as t (what, subject, ends_at, place)
         order by place
         on conflict (workspace_id, what, subject) do update set
             n = case when kept.ends_at <= $5 then 1 else kept.n + 1 end,
             ends_at = case when kept.ends_at <= $5 then excluded.ends_at else kept.ends_at end
         returning what, subject, n, ends_at",
        workspace.0,
        &names(caps),
        &subjects(caps),
        &ends,
        now
    )
    .fetch_all(conn)
    .await?)
}

/// What stands against `more` than are counted.
fn refused(mail: StrangerMail<'_>, caps: &[Cap], counted: &[Count], more: i32) -> Option<TooMuch> {
    let count_of = |cap: &Cap| counted.iter().find(|own| own.what == cap.what && own.subject == cap.subject);
    let n_of = |cap: &Cap| count_of(cap).map_or(0, |own| own.n) + more;
    let over = caps.iter().filter(|cap| n_of(cap) > cap.most);
    let is_everybodys = |cap: &Cap| matches!(cap.whose, Whose::Page | Whose::Workspace);
    let is_scarce = |cap: &&Cap| is_everybodys(cap) && n_of(cap) > cap.most * 2 / 3;
    let scarce = caps.iter().find(is_scarce).filter(|_| mail.is_thrifty());
    let again = caps.iter().filter(|cap| scarce.is_some() && cap.whose == Whose::Network && n_of(cap) > 1);
    let worst = over.chain(again).filter_map(|cap| Some((cap.whose, count_of(cap)?.ends_at)));
    worst.max_by_key(|(_, until)| *until).map(|(whose, until)| TooMuch { whose, until })
}

fn names(caps: &[Cap]) -> Vec<String> {
    caps.iter().map(|cap| cap.what.to_owned()).collect()
}

fn subjects(caps: &[Cap]) -> Vec<i64> {
    caps.iter().map(|cap| cap.subject).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(network: &str) -> StrangerMail<'static> {
        StrangerMail::BookingCode { page: 7, address: "a@b.example", network: network.parse().unwrap() }
    }

    fn counted(caps: &[Cap], page: i32, network: i32) -> Vec<Count> {
        counted_in_all(caps, page, page, network)
    }

    fn counted_in_all(caps: &[Cap], page: i32, workspace: i32, network: i32) -> Vec<Count> {
        let n = |whose| match whose {
            Whose::Page => page,
            Whose::Workspace => workspace,
            Whose::Network => network,
            Whose::Address => 1,
        };
        let ends_at = DateTime::UNIX_EPOCH + HOUR;
        let count =
            |cap: &Cap| Count { what: cap.what.to_owned(), subject: cap.subject, n: n(cap.whose), ends_at };
        caps.iter().map(count).collect()
    }

    #[test]
    fn the_last_third_of_a_page_is_for_networks_that_asked_for_none() {
        for network in ["203.0.113.7", "2001:470:1:2::3"] {
            let mail = code(network);
            let caps = mail.caps(WorkspaceId(1));
            let refused = |page, network| refused(mail, &caps, &counted(&caps, page, network), 0);
            assert_eq!(refused(66, 20), None);
            assert_eq!(refused(67, 2).map(|too_much| too_much.whose), Some(Whose::Network));
            assert_eq!(refused(100, 1), None);
            assert!(refused(101, 1).is_some());
        }
        assert_eq!(
            (code("203.0.113.7").caps(WorkspaceId(1)).len(), code("2001::1").caps(WorkspaceId(1)).len()),
            (4, 5)
        );
    }

    /// Several pages of one workspace, none of them near its own end.
    #[test]
    fn the_last_third_of_a_workspace_is_for_networks_that_asked_for_none() {
        let mail = code("203.0.113.7");
        let caps = mail.caps(WorkspaceId(1));
        let refused = |all, network| refused(mail, &caps, &counted_in_all(&caps, 60, all, network), 0);
        assert_eq!(refused(200, 20), None);
        assert_eq!(refused(201, 2).map(|too_much| too_much.whose), Some(Whose::Network));
        assert_eq!(refused(300, 1), None);
        assert!(refused(301, 1).is_some());
    }

    #[test]
    fn one_person_has_one_count_whatever_tag_or_spelling_is_typed() {
        let of_address = |address| {
            let network = "203.0.113.7".parse().unwrap();
            let mails = [
                StrangerMail::BookingCode { page: 7, address, network },
                StrangerMail::SecureCode { page: 7, address, network },
                StrangerMail::Invitation { address },
                StrangerMail::Booking { page: 7, address },
            ];
            mails.map(|mail| {
                let caps = mail.caps(WorkspaceId(1));
                caps.iter().find(|cap| cap.whose == Whose::Address).unwrap().subject
            })
        };
        for typed in ["Ada+1@müller.example", "ada+2@xn--mller-kva.example", "ADA@MÜLLER.example"] {
            assert_eq!(of_address(typed), of_address("ada@müller.example"), "{typed}");
        }
        assert_ne!(of_address("eva@müller.example"), of_address("ada@müller.example"));
    }

    #[test]
    fn an_address_and_a_network_are_other_numbers_in_every_workspace() {
        let subjects = |id| subjects(&code("203.0.113.7").caps(WorkspaceId(id)));
        let same = subjects(1).iter().filter(|own| subjects(2).contains(own)).count();
        assert_eq!(same, 2, "only those of the page and of the workspace");
    }
}
