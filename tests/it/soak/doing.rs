//! Everybody who is at work in a soak, and the reckoning. Each takes its turn, writes down what was acknowledged, and goes on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, EventId, WebhookId};
use rookery_core::workspace::access::By;
use rookery_webhooks::redeliver_failed::{self, RedeliveryRequest};
use serde_json::{Value, json};

use super::ledger::{Ledger, hash, number_in};
use rookery_world::browser::Browser;
use rookery_world::mail::client::Client;
use rookery_world::mail::post::Post;
use rookery_world::pages::approvals::field;
use rookery_world::pages::writing::{Composer, reply, write};
use rookery_world::sink::Sink;
use rookery_world::{Key, Mode, ToolAnswer};

/// Conversations that people and agents look at: the newest.
const RECENT: usize = 50;
const CUSTOMERS: usize = 400;
/// How long one signs in for. The clock has gone on for half a day by then.
const SESSION: Duration = Duration::from_secs(120);

/// A receiver of webhooks that is away at times and fails now and then.
#[derive(Clone)]
pub struct Hook {
    pub url: String,
    away: Arc<AtomicBool>,
    asked: Arc<AtomicU32>,
    /// By event: the hash of its bytes, and how often it came.
    got: Arc<Mutex<BTreeMap<String, (u64, u32)>>>,
}

impl Hook {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let hook = Self { url, away: Arc::default(), asked: Arc::default(), got: Arc::default() };
        let router = Router::new().fallback(receive).with_state(hook.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        hook
    }

    pub fn falls(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }
}

async fn receive(State(hook): State<Hook>, request: Request) -> StatusCode {
    let asked = hook.asked.fetch_add(1, Ordering::Relaxed);
    if hook.away.load(Ordering::Relaxed) || asked % 20 == 19 {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let (parts, body) = request.into_parts();
    let id = parts.headers["webhook-id"].to_str().expect("an id").to_owned();
    let bytes = hash(to_bytes(body, 1 << 20).await.expect("a body"));
    let mut got = hook.got.lock().unwrap();
    let (first, times) = got.entry(id).or_insert((bytes, 0));
    assert_eq!(*first, bytes, "an event came again with other bytes");
    *times += 1;
    StatusCode::OK
}

pub struct Doing<'w> {
    post: &'w Post<'w>,
    hook: Hook,
    webhook: WebhookId,
    /// Events that were given up after nine tries and sent again by hand.
    again: AtomicU32,
    pub until: Instant,
    agent: Key<'w>,
    tester: Key<'w>,
    ledger: Mutex<Ledger>,
    number: AtomicU32,
    recent: Mutex<VecDeque<ConversationId>>,
    /// Messages of agents that a person stops, and drafts that a person approves.
    to_undo: Mutex<Vec<String>>,
    to_approve: Mutex<Vec<String>>,
}

impl<'w> Doing<'w> {
    pub async fn begin(post: &'w Post<'w>, hook: Hook, until: Instant) -> Self {
        let webhook = post.acme.webhook(&hook.url, Mode::Live).await.webhook;
        Self {
            post,
            hook,
            webhook,
            again: AtomicU32::new(0),
            until,
            agent: post.acme.key("helper", "read,write,draft,send", Mode::Live).await,
            tester: post.acme.key("tester", "read,write,draft,send", Mode::Test).await,
            ledger: Mutex::default(),
            number: AtomicU32::new(1),
            recent: Mutex::default(),
            to_undo: Mutex::default(),
            to_approve: Mutex::default(),
        }
    }

    pub async fn all(&self) {
        futures::join!(
            self.customers(0),
            self.customers(1),
            self.agents(),
            self.tools(),
            self.people(),
            self.streams(),
            self.feed(),
            self.sandbox(),
        );
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    fn next(&self) -> u32 {
        self.number.fetch_add(1, Ordering::Relaxed)
    }

    fn somewhere(&self) -> Option<ConversationId> {
        let recent = self.recent.lock().unwrap();
        (!recent.is_empty()).then(|| recent[self.number.load(Ordering::Relaxed) as usize % recent.len()])
    }

    /// Turn after turn until the end.
    async fn repeat(&self, pause: u64, turn: impl AsyncFn(u32)) {
        for number in 0.. {
            if Instant::now() >= self.until {
                return;
            }
            turn(number).await;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    /// One in three answers an earlier mail of the same customer, one in twenty brings a file.
    async fn customers(&self, which: u32) {
        // The number of everybody's last mail.
        let last = Mutex::new([0; CUSTOMERS]);
        self.repeat(150, async |turn| {
            let (number, customer) = (self.next(), turn as usize % CUSTOMERS);
            let from = format!("c{customer}-{which}@customer.example");
            let earlier = match std::mem::replace(&mut last.lock().unwrap()[customer], number) {
                before if turn % 3 == 0 && before > 0 => format!("In-Reply-To: <w{before}@customer.example>\n"),
                _ => String::new(),
            };
            let words = format!("Words of mail w{number}. {}", "The parcel has not come and I want to know. ".repeat(12));
            let body = match turn % 20 {
                7 => format!(
                    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\n{words}\n--b\nContent-Type: \
                     text/csv\nContent-Disposition: attachment; filename=list.csv\n\n{}\n--b--",
                    format!("{number},a row\n").repeat(3_000)
                ),
                _ => format!("\n{words}"),
            };
            let raw = format!(
                "Message-ID: <w{number}@customer.example>\nFrom: {from}\nTo: help@acme.example\nSubject: Parcel {number}\n{earlier}{body}\n"
            );
            let (mut client, greeting) = Client::connect(self.post.smtp).await;
            let answer = match greeting.code {
                220 => {
                    client.say("EHLO customer.example").await;
                    client.mail(&from, "help@acme.example", &raw).await
                }
                _ => greeting,
            };
            match answer.code {
                250 => _ = self.ledger().mails.insert(number),
                code => {
                    self.ledger().uncertain.insert(number);
                    self.ledger().refuse("mail", code);
                }
            }
        })
        .await;
    }

    async fn agents(&self) {
        self.repeat(100, async |turn| {
            let Some(id) = self.somewhere().filter(|_| turn % 6 != 0) else { return self.looks().await };
            let path = |end: &str| format!("/conversations/{id}/{end}");
            let number = self.next();
            let words = format!("An answer w{number}. It is on its way.");
            match turn % 6 {
                1 => {
                    let answer = self.agent.post(&path("notes"), json!({ "body": words })).await;
                    self.noted(number, "note", answer.status);
                }
                2 => {
                    let answer =
                        self.agent.post(&path("replies"), json!({ "body": words, "send": true })).await;
                    self.replied(number, "send", answer.status);
                    if answer.status == 201 && turn % 4 == 0 {
                        self.to_undo.lock().unwrap().push(message(&answer.json()));
                    }
                }
                3 => {
                    let answer = self.agent.post(&path("replies"), json!({ "body": words })).await;
                    self.replied(number, "draft", answer.status);
                    if answer.status == 201 {
                        self.to_approve.lock().unwrap().push(message(&answer.json()));
                    }
                }
                4 => {
                    let status = ["open", "waiting", "closed"][turn as usize / 6 % 3];
                    let answer = self.agent.post(&path("status"), json!({ "status": status })).await;
                    self.counted("status", answer.status, 200);
                }
                _ => {
                    let answer = self.agent.get("/conversations?q=parcel&view=open").await;
                    self.counted("search", answer.status, 200);
                    let answer =
                        self.agent.post(&path("tags"), json!({ "add": [format!("t{}", turn % 30)] })).await;
                    self.counted("tags", answer.status, 200);
                }
            }
        })
        .await;
    }

    async fn looks(&self) {
        let listed = self.agent.get("/conversations?limit=50").await;
        self.counted("list", listed.status, 200);
        let mut recent = self.recent.lock().unwrap();
        recent.clear();
        let ids = listed.json();
        let ids = ids
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["id"].as_str()?.parse::<ConversationId>().ok());
        recent.extend(ids.take(RECENT));
    }

    async fn tools(&self) {
        self.repeat(400, async |_| {
            let Some(id) = self.somewhere() else { return };
            let number = self.next();
            let arguments = json!({ "id": id.to_string(), "body": format!("A note by a tool w{number}.") });
            let status = match self.agent.tool("add_note", arguments).await {
                ToolAnswer::Done { .. } => 201,
                ToolAnswer::Failed { status, .. } => status,
            };
            self.noted(number, "tool", status);
            if let ToolAnswer::Failed { status, .. } =
                self.agent.tool("get_conversation", json!({ "id": id.to_string() })).await
            {
                self.ledger().refuse("tool read", status);
            }
        })
        .await;
    }

    /// Reads, answers, approves what agents drafted and stops what they send.
    async fn people(&self) {
        let (world, acme) = (self.post.world, &self.post.acme);
        while Instant::now() < self.until {
            let browser = world.browser(acme.id, acme.owner).await;
            let session = Instant::now();
            while session.elapsed() < SESSION && Instant::now() < self.until {
                tokio::time::sleep(Duration::from_millis(250)).await;
                let page = browser.get("/inbox").await;
                self.counted("page", page.status, 200);
                let undone = self.to_undo.lock().unwrap().pop();
                if let Some(message) = undone {
                    let shown = browser.post(&format!("/messages/{message}/undo"), &[]).await;
                    self.counted("undo", shown.status, 303);
                }
                let draft = self.to_approve.lock().unwrap().pop();
                if let Some(draft) = draft {
                    self.approves(&browser, &draft).await;
                }
                if let Some(id) = self.somewhere() {
                    self.answers(&browser, id).await;
                }
                self.ledger().pages += 1;
            }
        }
    }

    async fn approves(&self, browser: &Browser<'_>, draft: &str) {
        let page = browser.get(&format!("/approvals/{draft}")).await;
        if page.status != 200 || !page.html.contains(r#"id="review""#) {
            return;
        }
        let (version, place) = (field(&page.html, "version"), field(&page.html, "place"));
        let body = page.html.split("<textarea").nth(1).and_then(|text| number_in(text.split_once('>')?.1));
        let Some(number) = body else { return };
        let words = format!("An approved answer w{number}.");
        let fields = [("body", words.as_str()), ("version", &version), ("place", &place)];
        let shown = browser.post(&format!("/messages/{draft}/approve"), &fields).await;
        self.counted("approve", shown.status, 303);
        self.ledger().approved += u32::from(shown.location().contains("done=approved"));
    }

    async fn answers(&self, browser: &Browser<'_>, id: ConversationId) {
        let page = browser.get(&reply(id)).await;
        self.counted("conversation page", page.status, 200);
        let number = self.next();
        if !number.is_multiple_of(4) || !page.html.contains("id=\"composer-form\"") {
            return;
        }
        let composer = Composer::of(page.html).set("body", &format!("A person's answer w{number}."));
        let shown = composer.press(browser, &write(id), ("do", "send")).await;
        let sends = shown.location().contains("done=sends");
        self.replied(number, "person", if sends { 201 } else { shown.status });
    }

    async fn streams(&self) {
        let (world, acme) = (self.post.world, &self.post.acme);
        while Instant::now() < self.until {
            let browser = world.browser(acme.id, acme.owner).await;
            let request = browser.request(reqwest::Method::GET, "/live?topics=inbox").send();
            let mut open = request.await.expect("the service answers");
            self.counted("stream", open.status().as_u16(), 200);
            let reading = async { while let Ok(Some(_)) = open.chunk().await {} };
            let _ = tokio::time::timeout(SESSION / 4, reading).await;
        }
    }

    async fn feed(&self) {
        let after = Mutex::new("0".to_owned());
        self.repeat(500, async |_| self.follows(&after).await).await;
        // The rest.
        let ended = Instant::now();
        while ended.elapsed() < Duration::from_secs(5) {
            self.follows(&after).await;
        }
    }

    async fn follows(&self, after: &Mutex<String>) {
        let path = format!("/events?after={}&wait=1", after.lock().unwrap());
        let answer = self.agent.get(&path).await;
        self.counted("feed", answer.status, 200);
        if answer.status == 200 {
            let answer = answer.json();
            let ids = answer["events"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str());
            self.ledger().fed.extend(ids.map(str::to_owned));
            *after.lock().unwrap() = answer["next"].as_str().expect("a place").to_owned();
        }
    }

    async fn sandbox(&self) {
        self.repeat(1_000, async |turn| {
            let mail =
                json!({ "from": format!("s{}@customer.test", turn % 50), "subject": "Try", "text": "Hello" });
            let made = self.tester.post("/sandbox/inbound", mail).await;
            self.counted("sandbox", made.status, 201);
            if let Some(id) = made.json()["conversationId"].as_str() {
                let body = json!({ "body": "Tried.", "send": true });
                let answer = self.tester.post(&format!("/conversations/{id}/replies"), body).await;
                self.counted("sandbox reply", answer.status, 201);
            }
        })
        .await;
    }

    fn counted(&self, door: &str, status: u16, hoped: u16) {
        if status != hoped {
            self.ledger().refuse(door, status);
        }
    }

    fn noted(&self, number: u32, door: &str, status: u16) {
        let mut ledger = self.ledger();
        if status == 201 {
            ledger.notes.insert(number);
        } else {
            ledger.uncertain.insert(number);
            ledger.refuse(door, status);
        }
    }

    fn replied(&self, number: u32, door: &str, status: u16) {
        let mut ledger = self.ledger();
        if status == 201 {
            ledger.replies.insert(number);
        } else {
            ledger.uncertain.insert(number);
            ledger.refuse(door, status);
        }
    }

    /// Takes down what the relay got, and forgets its bytes.
    pub fn clear(&self, sink: &Sink) {
        let taken = std::mem::take(&mut *sink.ledger.lock().unwrap());
        let mut ledger = self.ledger();
        for mail in taken {
            let id = hash(mail.field("Message-ID").expect("every mail has one"));
            // Mail to people, such as digests, is no answer.
            if let Some(number) = mail.raw.split_once("answer ").and_then(|(_, words)| number_in(words)) {
                ledger.left.entry(number).or_default().push(id);
            }
        }
    }

    /// The first columns of a sample.
    pub fn told(&self) -> String {
        let ledger = self.ledger();
        let events = self.hook.got.lock().unwrap().len();
        let (mails, replies, left) = (ledger.mails.len(), ledger.replies.len(), ledger.left.len());
        format!("{mails} | {replies} | {left} | {events} | {}", ledger.pages)
    }

    /// Waits until everything that was begun has come to its end.
    pub async fn ends(&self, sink: &Sink, most: Duration) {
        let began = Instant::now();
        loop {
            self.sends_again().await;
            let waiting = self.post.world.scalar(
                "select (select count(*) from messages where status in ('scheduled', 'sending'))
                      + (select count(*) from unfanned_events)",
            );
            let (waiting, delivered): (i64, _) = (waiting.await, self.delivered());
            let missing: Vec<String> = self.events().await.difference(&delivered).cloned().collect();
            if waiting == 0 && missing.is_empty() {
                break;
            }
            if began.elapsed() > most {
                let log = self.became_of(&missing).await;
                panic!(
                    "not at their end: {waiting} mails and notes of events, {} events: {log:#?}",
                    missing.len()
                );
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.clear(sink);
    }

    /// What a person does about events that failed for a day. Of a hundred thousand there is about one: it came as the
    /// receiver went away, and by chance it was there again for none of the last three tries.
    async fn sends_again(&self) {
        let (app, workspace) = (&self.post.world.app, self.post.acme.id);
        let again = RedeliveryRequest { since: app.clock.now() - TimeDelta::days(30), skipped: false };
        let asked = redeliver_failed::ask(app, workspace, &By::System, self.webhook, again).await;
        asked.expect("what failed can be sent again");
        self.again.fetch_add(1, Ordering::Relaxed);
    }

    /// The first few of these events, with every try to deliver them.
    async fn became_of(&self, events: &[String]) -> Vec<String> {
        let ids: Vec<i64> =
            events.iter().take(5).map(|event| event.parse::<EventId>().expect("an event's id").0).collect();
        sqlx::query_scalar(
            "select concat_ws(' ', event, 'waits', d.due_at, 'run', d.run, d.tries, l.state, l.tries)
             from unnest($1::bigint[]) event
             left join deliveries d on d.event_id = event left join delivery_log l on l.event_id = event",
        )
        .bind(ids)
        .fetch_all(&self.post.world.app.pool)
        .await
        .expect("the log")
    }

    async fn events(&self) -> BTreeSet<String> {
        let ids: Vec<i64> = sqlx::query_scalar("select id from events where livemode")
            .fetch_all(&self.post.world.app.pool)
            .await
            .expect("events");
        ids.into_iter().map(|id| EventId(id).to_string()).collect()
    }

    fn delivered(&self) -> BTreeSet<String> {
        self.hook.got.lock().unwrap().keys().cloned().collect()
    }

    pub async fn reckon(&self, sink: &Sink) {
        self.clear(sink);
        let pool = &self.post.world.app.pool;
        let column = async |query: &'static str| -> Vec<String> {
            sqlx::query_scalar(query).fetch_all(pool).await.expect("the query is sound")
        };
        let mails = column("select rfc_message_id from messages where direction = 'inbound'").await;
        let notes = column("select body from notes").await;
        let sent = column("select text from messages where direction = 'outbound' and status = 'sent'").await;
        let other =
            column("select text from messages where direction = 'outbound' and status <> 'sent'").await;
        let (events, delivered) = (self.events().await, self.delivered());
        let ledger = self.ledger();
        let once = |what: &str, texts: &[String]| -> BTreeSet<u32> {
            let mut found = BTreeSet::new();
            for number in texts.iter().filter_map(|text| number_in(text)) {
                assert!(found.insert(number), "{what} {number} is there twice");
            }
            found
        };
        let (mails, notes) = (once("mail", &mails), once("note", &notes));
        let (sent, other) = (once("reply", &sent), once("reply", &other));
        println!(
            "soak: {} mails, {} notes and {} replies acknowledged, {} pages; {} replies left, {} did not, {} approved; \
             {} events by webhook (what failed was sent again {} times), {} by feed; not done: {:?}",
            ledger.mails.len(),
            ledger.notes.len(),
            ledger.replies.len(),
            ledger.pages,
            sent.len(),
            other.len(),
            ledger.approved,
            self.hook.got.lock().unwrap().len(),
            self.again.load(Ordering::Relaxed),
            ledger.fed.len(),
            ledger.refused
        );
        let replies: BTreeSet<u32> = sent.union(&other).copied().collect();
        for (what, acknowledged, stored) in [
            ("mail", &ledger.mails, &mails),
            ("note", &ledger.notes, &notes),
            ("reply", &ledger.replies, &replies),
        ] {
            let lost: Vec<_> = acknowledged.difference(stored).take(5).collect();
            assert!(lost.is_empty(), "{what} lost: {lost:?}");
            let strange = stored.difference(acknowledged).find(|number| !ledger.uncertain.contains(number));
            assert_eq!(strange, None, "a {what} that nobody asked for");
        }
        let gone: BTreeSet<u32> = ledger.left.keys().copied().collect();
        assert_eq!(gone.symmetric_difference(&sent).next(), None, "what left is what is called sent");
        let again: usize = ledger.left.values().map(|ids| ids.len() - 1).sum();
        for (number, ids) in &ledger.left {
            assert!(ids.iter().all(|id| *id == ids[0]), "reply {number} left under two Message-IDs");
        }
        assert_eq!(events.symmetric_difference(&delivered).next(), None, "every event came, and no other");
        let unfed = events.difference(&ledger.fed).count();
        println!(
            "soak: {again} mails came again under the same id; {unfed} events not read from the feed before its end"
        );
        assert_eq!(ledger.fed.difference(&events).next(), None, "the feed tells what happened and no more");
        let failed = ledger.refused.iter().find(|(door, _)| door.ends_with(" 500") || door.ends_with(" 503"));
        assert_eq!(failed, None, "a calm service fails nobody");
    }
}

fn message(answer: &Value) -> String {
    answer["messageId"].as_str().expect("a message id").to_owned()
}
