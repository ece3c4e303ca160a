//! People, programs and customers of a workspace while it moves: they write, read, send, attach, listen and book without a pause,
//! and remember what they were promised. In the end everything is there, each thing once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rookery_base::ids::{BookingId, DocumentId, MessageId, NoticeId};
use serde_json::json;
use sqlx::{AssertSqlSafe, PgPool};
use tokio::task::JoinHandle;

use super::fleet::{Fleet, Tenant};
use rookery_world::Reply;
use rookery_world::sink::Sink;
use rookery_world::site::{Node, text};
use rookery_world::webhooks::receiver::{Answering, Receiver};

/// Somebody who writes, reads and sends without a pause, and remembers what they were promised.
pub struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<Written>>,
    readers: Vec<JoinHandle<Refused>>,
}

#[derive(Default)]
pub struct Written {
    pub notes: BTreeSet<String>,
    pub replies: BTreeSet<String>,
    pub refused: Refused,
}

#[derive(Default)]
pub struct Refused {
    pub times: usize,
    since: Option<Instant>,
    pub longest: Duration,
}

impl Refused {
    fn saw(&mut self, fine: bool) {
        match (fine, self.since) {
            (true, Some(since)) => {
                self.longest = self.longest.max(since.elapsed());
                self.since = None;
            }
            (false, None) => self.since = Some(Instant::now()),
            _ => {}
        }
        self.times += usize::from(!fine);
    }
}

pub async fn conversation(fleet: &Fleet, node: &Node, key: &str) -> String {
    let mail = json!({ "from": "carla@customer.test", "subject": "Order", "text": "Hello" });
    let request = fleet.site.http.post(format!("{}/api/v1/sandbox/inbound", node.address));
    let answer = Reply::of(request.bearer_auth(key).json(&mail)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["conversationId"].as_str().unwrap().to_owned()
}

impl Load {
    /// On every node: one who writes notes and replies that leave, one who reads.
    pub async fn begin(fleet: &Fleet, nodes: &[Node], tenant: &Tenant) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for (number, node) in nodes.iter().enumerate() {
            let conversation = conversation(fleet, node, &tenant.test).await;
            let at = format!("{}/api/v1/conversations/{conversation}", node.address);
            let (http, key, ended) = (fleet.site.http.clone(), tenant.test.clone(), stop.clone());
            let address = at.clone();
            writers.push(tokio::spawn(async move {
                let mut written = Written::default();
                for turn in 0.. {
                    if ended.load(Ordering::Relaxed) {
                        break;
                    }
                    let words = format!("note {number} {turn}");
                    let note = http.post(format!("{address}/notes")).bearer_auth(&key);
                    let done = Reply::try_of(note.json(&json!({ "body": words }))).await;
                    let fine = done.is_ok_and(|answer| answer.status == 201);
                    written.refused.saw(fine);
                    if fine {
                        written.notes.insert(words);
                    }
                    if turn % 5 == 0 {
                        let reply = http.post(format!("{address}/replies")).bearer_auth(&key);
                        let reply = reply.json(&json!({ "body": format!("reply {turn}"), "send": true }));
                        if let Ok(answer) = Reply::try_of(reply).await
                            && answer.status == 201
                        {
                            written.replies.insert(answer.json()["messageId"].as_str().unwrap().to_owned());
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                written
            }));
            let (http, key, ended) = (fleet.site.http.clone(), tenant.test.clone(), stop.clone());
            readers.push(tokio::spawn(async move {
                let mut refused = Refused::default();
                while !ended.load(Ordering::Relaxed) {
                    let read = Reply::try_of(http.get(&at).bearer_auth(&key)).await;
                    refused.saw(read.is_ok_and(|answer| answer.status == 200));
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                refused
            }));
        }
        Self { stop, writers, readers }
    }

    pub async fn end(self) -> (Written, Refused) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut all, mut reading) = (Written::default(), Refused::default());
        for writer in self.writers {
            let written = writer.await.expect("a writer ends");
            all.notes.extend(written.notes);
            all.replies.extend(written.replies);
            all.refused.times += written.refused.times;
            all.refused.longest = all.refused.longest.max(written.refused.longest);
        }
        for reader in self.readers {
            let refused = reader.await.expect("a reader ends");
            reading.times += refused.times;
            reading.longest = reading.longest.max(refused.longest);
        }
        (all, reading)
    }
}

/// What was promised is there, each once; what was to leave has left, each once.
pub async fn ledger(fleet: &Fleet, tenant: &Tenant, written: &Written) {
    let pool = fleet.pool(&fleet.lives_in(tenant).await).await;
    let id = tenant.number();
    let notes = format!("select body from notes where workspace_id = {id} and body like 'note %'");
    let notes: Vec<String> = sqlx::query_scalar(AssertSqlSafe(notes)).fetch_all(&pool).await.unwrap();
    let kept: BTreeSet<String> = notes.iter().cloned().collect();
    assert_eq!(kept.len(), notes.len(), "a note is there twice");
    let lost: Vec<&String> = written.notes.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");

    let unsent = format!(
        "select count(*) from messages where workspace_id = {id} and direction = 'outbound' and status <> 'sent'"
    );
    for _ in 0..300 {
        if sqlx::query_scalar::<_, i64>(AssertSqlSafe(unsent.clone())).fetch_one(&pool).await.unwrap() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let sent: Vec<(i64, i64)> = sqlx::query_as(AssertSqlSafe(format!(
        "select m.id, (select count(*) from sandbox_mail s where s.workspace_id = m.workspace_id and s.message_id = m.id)
         from messages m where workspace_id = {id} and direction = 'outbound'"
    )))
    .fetch_all(&pool)
    .await
    .unwrap();
    let promised: BTreeSet<i64> =
        written.replies.iter().map(|text| text.parse::<MessageId>().unwrap().0).collect();
    let there: BTreeSet<i64> = sent.iter().map(|(message, _)| *message).collect();
    assert!(promised.is_subset(&there), "a reply was promised and is not there");
    let wrong: Vec<_> = sent.iter().filter(|(_, times)| *times != 1).collect();
    assert!(wrong.is_empty(), "message and how often it left: {wrong:?}");
    let drifted: i64 = sqlx::query_scalar(AssertSqlSafe(format!(
        "select count(*) from (select mailbox_id, audience, count(*) as n from conversations
             where workspace_id = {id} and view = 'open' group by 1, 2) counted
         join counts on workspace_id = {id} and what = 'open' and subject_id = mailbox_id
              and counts.audience = counted.audience
         where counts.n + coalesce((select sum(c.change) from count_changes c where c.workspace_id = {id} and c.what = 'open'
              and c.subject_id = mailbox_id and c.audience = counted.audience), 0) <> counted.n"
    )))
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(drifted, 0, "counts have moved twice or not at all");
}

/// What leaves and comes in from outside: notices and mail about bookings by a relay that takes its time, events to a webhook that
/// does too, and customers' files.
pub struct Outside {
    sink: Sink,
    receiver: Receiver,
    stop: Arc<AtomicBool>,
    writing: JoinHandle<BTreeSet<i64>>,
    filing: JoinHandle<usize>,
}

/// Where it went, the ids of what has to leave, and how many files came.
pub struct Ended {
    sink: Sink,
    receiver: Receiver,
    written: BTreeSet<i64>,
    files: usize,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Settled {
    pub mails: usize,
    pub events: usize,
    pub files: usize,
    /// Left or heard more than once, under the same name each time.
    pub twice: Vec<String>,
}

impl Outside {
    /// Settings of nodes whose mail leaves here.
    pub fn settings(relay: &str) -> [(&str, &str); 3] {
        [
            ("ROOKERY_RELAY", relay),
            ("ROOKERY_MAIL_NAME", "mx.acme.example"),
            ("ROOKERY_WEBHOOK_ALLOW", "127.0.0.0/8"),
        ]
    }

    pub async fn sink() -> Sink {
        let sink = Sink::start().await;
        sink.takes(Duration::from_millis(300));
        sink
    }

    pub async fn begin(fleet: &Fleet, node: &Node, tenant: &Tenant, sink: Sink) -> Self {
        let own = ["--workspace", &tenant.id];
        let inbox = [&["create-mailbox"], &own[..], &["--address", "help@acme.example", "--name", "Help"]];
        fleet.admin(&inbox.concat());
        let kind = ["--host", &tenant.owner, "--name", "Call", "--slug", "call", "--minutes", "30"];
        fleet.admin(&[&["create-booking-type"], &own[..], &kind].concat());
        let listens =
            ["--maker", &tenant.owner, "--name", "ear", "--scopes", "read,webhooks", "--mode", "test"];
        let key = text(&fleet.admin(&[&["create-key"], &own[..], &listens].concat()), "key");
        let receiver = Receiver::start().await;
        receiver.answers_with(Answering { after: Duration::from_millis(200), ..Answering::with(200) });
        let hook = fleet.site.http.post(format!("{}/api/v1/webhooks", node.address)).bearer_auth(&key);
        let made = Reply::of(hook.json(&json!({ "url": receiver.url }))).await;
        assert_eq!(made.status, 201, "{}", made.text);

        let stop = Arc::new(AtomicBool::new(false));
        let cells = [fleet.pool("main").await, fleet.pool("west").await];
        let writing = tokio::spawn(write_to_people(cells, tenant.number(), stop.clone()));
        let (http, key, ended) = (fleet.site.http.clone(), tenant.test.clone(), stop.clone());
        let at = format!("{}/api/v1/sandbox/inbound", node.address);
        let filing = tokio::spawn(async move {
            let mut files = 0;
            while !ended.load(Ordering::Relaxed) {
                let content = STANDARD.encode(format!("File {files}"));
                let file = json!({ "filename": "a.txt", "contentType": "text/plain", "content": content });
                let mail = json!({ "from": "fay@customer.test", "text": "Here", "attachments": [file] });
                let sent = Reply::try_of(http.post(&at).bearer_auth(&key).json(&mail)).await;
                files += usize::from(sent.is_ok_and(|answer| answer.status == 201));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            files
        });
        Self { sink, receiver, stop, writing, filing }
    }

    /// Nobody writes any more.
    pub async fn end(self) -> Ended {
        self.stop.store(true, Ordering::Relaxed);
        let written = self.writing.await.expect("it ends");
        let files = self.filing.await.expect("it ends");
        Ended { sink: self.sink, receiver: self.receiver, written, files }
    }
}

/// As any part of the service does it: in a transaction that enters the workspace, wherever that lives.
async fn write_to_people(cells: [PgPool; 2], workspace: i64, stop: Arc<AtomicBool>) -> BTreeSet<i64> {
    let mut written = BTreeSet::new();
    for number in 1_000.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let statements = format!(
            "begin; select enter_workspace({workspace});
             insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
             values ({workspace}, {number}, 'olga@acme.example', 'webhook-paused', 'Notice {number}', 'words', now(), now());
             insert into bookings (workspace_id, id, type_id, host_id, series_id, starts_at, ends_at, held, name, email,
                                   time_zone, created_at)
             select {workspace}, {number}, type_id, person_id, {number}, at, at + interval '30 min',
                    tstzrange(at, at + interval '30 min'), 'Vera', 'vera@customer.example', 'UTC', now()
             from booking_type_hosts, lateral (select now() + {number} * interval '1 hour' as at) times
             where workspace_id = {workspace};
             insert into booking_mail (workspace_id, booking_id, recipient, kind, due_at)
             values ({workspace}, {number}, 'visitor', 'invitation', now());
             commit"
        );
        for cell in &cells {
            let mut conn = cell.acquire().await.expect("a connection");
            match sqlx::raw_sql(AssertSqlSafe(statements.clone())).execute(&mut *conn).await {
                Ok(_) => written.insert(number),
                Err(_) => {
                    sqlx::raw_sql("rollback").execute(&mut *conn).await.expect("nothing was done");
                    continue;
                }
            };
            break;
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    written
}

/// Waits until everything has left and compares it with what was promised.
pub async fn settle(fleet: &Fleet, node: &Node, tenant: &Tenant, ended: &Ended) -> Settled {
    let Ended { sink, receiver, written, files } = ended;
    let pool = fleet.pool(&fleet.lives_in(tenant).await).await;
    let id = tenant.number();
    let waiting = format!(
        "select (select count(*) from notices where workspace_id = {id} and due_at is not null)
              + (select count(*) from booking_mail where workspace_id = {id} and due_at is not null)
              + (select count(*) from deliveries where workspace_id = {id})
              + (select count(*) from unfanned_events where workspace_id = {id})"
    );
    let mut left = -1;
    for _ in 0..600 {
        left = sqlx::query_scalar::<_, i64>(AssertSqlSafe(waiting.clone())).fetch_one(&pool).await.unwrap();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(left, 0, "something never leaves");
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for mail in sink.taken() {
        *names.entry(mail.field("Message-ID").expect("it has a name")).or_default() += 1;
    }
    let mails = names.len();
    let left: BTreeSet<&str> =
        names.keys().filter_map(|name| name.trim_start_matches('<').split('.').next()).collect();
    for number in written {
        let (notice, booking) = (NoticeId(*number).to_string(), BookingId(*number).to_string());
        assert!(left.contains(notice.as_str()) && left.contains(booking.as_str()), "{number} has not left");
    }
    for got in receiver.got() {
        *names.entry(got.header("webhook-id").to_owned()).or_default() += 1;
    }
    let unheard = format!(
        "select count(*) from events e where workspace_id = {id} and not livemode
           and id > (select min(event_id) from delivery_log where workspace_id = {id})
           and not exists (select from delivery_log l where l.workspace_id = {id} and l.event_id = e.id and state = 'delivered')"
    );
    let unheard: i64 = sqlx::query_scalar(AssertSqlSafe(unheard)).fetch_one(&pool).await.unwrap();
    assert_eq!(unheard, 0, "events that nobody heard");
    let documents = format!("select id from documents where workspace_id = {id} and filename = 'a.txt'");
    let documents: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(documents)).fetch_all(&pool).await.unwrap();
    assert!(documents.len() >= *files, "{} of {files} files", documents.len());
    for document in &documents {
        let path = format!("/api/v1/documents/{}/content", DocumentId(*document));
        let content = fleet.site.get(node, &path, &tenant.test).await;
        assert!(content.status == 200 && content.text.starts_with("File "), "{}", content.text);
    }
    let twice = names.iter().filter(|(_, times)| **times > 1).map(|(name, _)| name.clone()).collect();
    Settled { mails, events: names.len() - mails, files: documents.len(), twice }
}
