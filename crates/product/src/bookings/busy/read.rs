//! Reads hosts' other calendars every five minutes, through the client that goes to no private address and follows nobody
//! elsewhere. What comes back is a stranger's file: it is parsed in a confined child, up to 5 MB and for moments only.
//!
//! What was read last stays until it is read again. A host whose calendar could not be read for an hour is told, once; its
//! page says why.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use sqlx::PgConnection;
use url::{Position, Url};

use crate::bookings::busy::{CalendarAccess, CalendarKind, Owner, STALE, open};
use rookery_base::app::App;
use rookery_base::confined::job::Job;
use rookery_base::confined::run::RunOutcome;
use rookery_base::due::lease::{self, Claim, Lease, TriedRow, Work};
use rookery_base::due::turns::claim_by_turns;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{BusySourceId, PersonId, WorkspaceId};
use rookery_base::store::db::Tx;
use rookery_base::zone::Zone;
use rookery_core::workspace::notices::{self, Notice};
use rookery_reading::calendar::Busy;

/// The worker's loop.
pub const LOOP: &str = "read calendars";

const EVERY: TimeDelta = TimeDelta::minutes(5);
const MOST_BYTES: usize = 5 << 20;
/// What is kept: from yesterday to behind the farthest time that can be booked.
const BEHIND: TimeDelta = TimeDelta::days(1);
const AHEAD: TimeDelta = TimeDelta::days(367);
/// What is told of a calendar of which only a part was walked over.
const CUT: &str = "it has more events than are read, so only some of them count";

/// Works off everything that is due now.
pub async fn read_due(app: &App, at_once: usize) -> Result<()> {
    lease::work_off(app, &Calendars, at_once).await
}

/// When the next calendar is due.
pub async fn next(conn: &mut PgConnection) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("select min(due_at) from busy_sources").fetch_one(conn).await?)
}

struct Calendars;

struct ClaimedCalendar {
    owner: Owner,
    claim: i32,
    kind: CalendarKind,
    sealed: Vec<u8>,
    zone: String,
}

/// As its row has it.
struct DueSource {
    workspace: WorkspaceId,
    person: PersonId,
    id: BusySourceId,
    claim: i32,
    kind: CalendarKind,
    sealed: Vec<u8>,
    zone: String,
}

impl Work for Calendars {
    const WHAT: &'static str = "calendar";

    fn worked_by(&self) -> &'static str {
        LOOP
    }

    type Row = ClaimedCalendar;
    type Outcome = Busy;

    async fn claim(&self, conn: &mut PgConnection, lease: &Lease) -> Result<Vec<ClaimedCalendar>> {
        let rows = claim_by_turns!(
            DueSource, conn, lease.began, lease.ends, most "20", from "busy_sources", due "due_at", claim "claim",
            only "true", with ", booking_hosts h",
            " and h.workspace_id = t.workspace_id and h.person_id = t.person_id",
            returning r#"t.workspace_id as "workspace: WorkspaceId", t.person_id as "person: PersonId",
                t.id as "id: BusySourceId", t.claim, t.kind as "kind: CalendarKind", t.url as sealed, h.time_zone as zone"#
        );
        let each = rows.into_iter().map(|row| ClaimedCalendar {
            owner: Owner { workspace: row.workspace, person: row.person, id: row.id },
            claim: row.claim,
            kind: row.kind,
            sealed: row.sealed,
            zone: row.zone,
        });
        Ok(each.collect())
    }

    fn claim_of(&self, row: &ClaimedCalendar) -> Claim {
        Claim { workspace: row.owner.workspace, number: row.claim, tries: 0 }
    }

    async fn act(&self, app: &App, row: &ClaimedCalendar) -> Result<TriedRow<Busy>> {
        let Owner { workspace, id, .. } = row.owner;
        let place = open(app.config.needs_secret_key()?, workspace, id, &row.sealed)?;
        match read(app, row, &place).await? {
            Ok(busy) => Ok(TriedRow::Done(busy)),
            Err(why) => {
                // Somebody else's server, and not an error of ours.
                tracing::info!(%workspace, calendar = %id, why, "a calendar was not read");
                let mut tx = app.begin(workspace).await?;
                note(&mut tx, row, &why).await?;
                tx.commit().await?;
                Ok(TriedRow::Later)
            }
        }
    }

    async fn finish(&self, tx: &mut Tx<'_>, row: &ClaimedCalendar, busy: Busy) -> Result<bool> {
        let (now, due_at) = (tx.now(), tx.now() + EVERY);
        let Owner { workspace, person, id } = row.owner;
        // What was read of one that is too large counts, but nobody may take it for the whole.
        let source = sqlx::query!(
            "update busy_sources set due_at = $5, read_at = $6, problem = $7,
                 failing_since = case when $7::text is null then null else coalesce(failing_since, $6) end,
                 told_at = case when $7::text is null then null else told_at end
             where workspace_id = $1 and person_id = $2 and id = $3 and claim = $4
             returning failing_since, told_at",
            workspace.0,
            person.0,
            id.0,
            row.claim,
            due_at,
            now,
            busy.is_cut.then_some(CUT)
        )
        .fetch_optional(&mut **tx)
        .await?;
        let Some(source) = source else { return Ok(false) };
        if source.told_at.is_none() && source.failing_since.is_some_and(|since| since + STALE <= now) {
            tell(tx, row).await?;
        }
        sqlx::query!(
            "delete from busy_times where workspace_id = $1 and person_id = $2 and source_id = $3",
            workspace.0,
            person.0,
            id.0
        )
        .execute(&mut **tx)
        .await?;
        let moment = |at: i64| DateTime::from_timestamp(at, 0).unwrap_or_default();
        let starts: Vec<DateTime<Utc>> = busy.spans.iter().map(|span| moment(span.0)).collect();
        let ends: Vec<DateTime<Utc>> = busy.spans.iter().map(|span| moment(span.1)).collect();
        sqlx::query!(
            "insert into busy_times (workspace_id, person_id, source_id, starts_at, ends_at)
             select $1, $2, $3, starts_at, ends_at
             from unnest($4::timestamptz[], $5::timestamptz[]) as span (starts_at, ends_at) where ends_at > starts_at",
            workspace.0,
            person.0,
            id.0,
            &starts,
            &ends
        )
        .execute(&mut **tx)
        .await?;
        Ok(true)
    }

    async fn again(
        &self,
        tx: &mut Tx<'_>,
        row: &ClaimedCalendar,
        due_at: DateTime<Utc>,
        tried: bool,
    ) -> Result<bool> {
        let now = tx.now();
        let Owner { workspace, person, id } = row.owner;
        let source = sqlx::query!(
            "update busy_sources set due_at = $5, failing_since = case when $6 then coalesce(failing_since, $7) else failing_since end
             where workspace_id = $1 and person_id = $2 and id = $3 and claim = $4
             returning failing_since, told_at",
            workspace.0,
            person.0,
            id.0,
            row.claim,
            due_at,
            tried,
            now
        )
        .fetch_optional(&mut **tx)
        .await?;
        let Some(source) = source else { return Ok(false) };
        if source.told_at.is_none() && source.failing_since.is_some_and(|since| since + STALE <= now) {
            tell(tx, row).await?;
        }
        Ok(true)
    }

    /// Nobody gives up: a calendar may come back, and its host can disconnect it.
    async fn give_up(&self, tx: &mut Tx<'_>, row: &ClaimedCalendar) -> Result<bool> {
        let due_at = tx.now() + EVERY;
        self.again(tx, row, due_at, true).await
    }

    fn pause(&self, _: &ClaimedCalendar, _: DateTime<Utc>) -> Option<TimeDelta> {
        Some(EVERY)
    }
}

/// Keeps why a calendar could not be read, for its host.
async fn note(tx: &mut Tx<'_>, row: &ClaimedCalendar, why: &str) -> Result<()> {
    let Owner { workspace, person, id } = row.owner;
    sqlx::query!(
        "update busy_sources set problem = $5 where workspace_id = $1 and person_id = $2 and id = $3 and claim = $4",
        workspace.0,
        person.0,
        id.0,
        row.claim,
        why
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Tells the host that their calendar may be out of date.
async fn tell(tx: &mut Tx<'_>, row: &ClaimedCalendar) -> Result<()> {
    let (now, random) = (tx.now(), tx.frame().random.clone());
    let Owner { workspace, person, id } = row.owner;
    sqlx::query!(
        "update busy_sources set told_at = $4 where workspace_id = $1 and person_id = $2 and id = $3",
        workspace.0,
        person.0,
        id.0,
        now
    )
    .execute(&mut **tx)
    .await?;
    let place = open(tx.frame().needs_keys()?, workspace, id, &row.sealed).ok();
    let at = place.and_then(|place| Some(place.url.parse::<Url>().ok()?.host_str()?.to_owned()));
    let page = tx.frame().public_url.join("settings/bookings/hours#calendars").map_err(Error::internal)?;
    let body = format!(
        "Your calendar at {} could not be read as a whole for an hour. Times are offered by what it said last, so somebody may book \
         a time that is taken there by now.\n\nLook after it, or disconnect it:\n{page}\n",
        at.as_deref().unwrap_or("an address that cannot be opened")
    );
    let notice =
        Notice { to: person, kind: "calendar", subject: "One of your calendars cannot be read", body: &body };
    notices::write(tx, workspace, now, &random, notice).await
}

/// When its owner is busy, or why nobody knows. Nothing of the address or the file is in the words.
async fn read(app: &App, row: &ClaimedCalendar, place: &CalendarAccess) -> Result<Result<Busy, String>> {
    let now = app.clock.now();
    let (from, to) = (now - BEHIND, now + AHEAD);
    let file = match fetch(app, row.kind, place, from, to).await? {
        Ok(file) => file,
        Err(why) => return Ok(Err(why)),
    };
    let zone = Zone::named(&row.zone).name().to_owned();
    let job = Job::Busy { from: from.timestamp(), to: to.timestamp(), zone };
    let said = match app.confined.run(&job, file).await? {
        RunOutcome::Said(said) => said,
        RunOutcome::Broken(why) => return Ok(Err(format!("its file could not be parsed: {why:?}"))),
    };
    let busy: Busy = serde_json::from_slice(&said)?;
    Ok(if busy.is_none { Err("it is no calendar".to_owned()) } else { Ok(busy) })
}

/// One request, to an address that is judged anew, without redirects.
async fn fetch(
    app: &App,
    kind: CalendarKind,
    place: &CalendarAccess,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<Result<Bytes, String>> {
    // What a parser says of an address could repeat it.
    let url: Url = place.url.parse().map_err(|_| Error::internal("the address of a calendar is none"))?;
    let mut request = Request::builder()
        .uri(&url[Position::BeforePath..Position::AfterQuery])
        .header(ACCEPT, HeaderValue::from_static("text/calendar"))
        .header(USER_AGENT, HeaderValue::from_static("Rookery/1"));
    if let Some((name, password)) = &place.sign_in {
        let basic = format!("Basic {}", STANDARD.encode(format!("{name}:{password}")));
        let mut basic = HeaderValue::from_str(&basic).map_err(Error::internal)?;
        basic.set_sensitive(true);
        request = request.header(AUTHORIZATION, basic);
    }
    let body = match kind {
        CalendarKind::Feed => String::new(),
        CalendarKind::Caldav => {
            request = request
                .method(Method::from_bytes(b"REPORT").map_err(Error::internal)?)
                .header("depth", HeaderValue::from_static("1"))
                .header(CONTENT_TYPE, HeaderValue::from_static("application/xml; charset=utf-8"));
            question(from, to)
        }
    };
    let request = request.body(Full::new(Bytes::from(body))).map_err(Error::internal)?;
    let asking = async {
        let to = app.outside.check(&url).await?;
        app.outside.send(&to, request, MOST_BYTES).await
    };
    Ok(match asking.await {
        Err(failure) => Err(failure.to_string()),
        Ok(answer) if !(200..300).contains(&answer.status) => Err(format!("it answered {}", answer.status)),
        Ok(answer) if !answer.whole => Err("it is larger than 5 MB, or was cut off".to_owned()),
        Ok(answer) => Ok(answer.body.into()),
    })
}

/// RFC 4791, 7.10.
fn question(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    let written = |at: DateTime<Utc>| at.format("%Y%m%dT%H%M%SZ");
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?><C:free-busy-query xmlns:C="urn:ietf:params:xml:ns:caldav"><C:time-range start="{}" end="{}"/></C:free-busy-query>"#,
        written(from),
        written(to)
    )
}
