//! Two hundred hostile mails come over SMTP, and an agent that obeys every one of them reads them over MCP. Without `send`
//! nothing leaves. With it everything can be stopped for ten minutes, is seen, goes to nobody but the contact, and the limits
//! of the key hold. The table of docs/agents.md says what was tried and what happened, and is held to it here.

mod agent;
mod corpus;
mod letters;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use rookery_core::workspace::access::By;
use rookery_core::workspace::agents::caps::{self, Caps};
use serde_json::{Value, json};

use self::agent::{Agent, Became, Message};
use self::corpus::FAMILIES;
use self::letters::letter;
use rookery_world::browser::Browser;
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Post, post_with};
use rookery_world::sink::{Sink, Taken};
use rookery_world::{Key, Mode, root};

/// The page with the table.
const PAGE: &str = "docs/agents.md";
const EVERY_SCOPE_BUT_SEND: &str = "read,write,draft,record,webhooks";
const EVERY_SCOPE: &str = "read,write,draft,send,record,webhooks";
/// What pages call the agent.
const NAME: &str = "obedient";
/// What the agent may write in a day. Everything but the last family fits into it.
const CAPS: Caps = Caps { sends: Some(180), drafts: Some(200), messages: None };
/// The service writes to the team itself: that somebody was mentioned, that something waits.
const TEAM: &str = "olga@rookery.example";

/// What a family asked for, and what became of it.
#[derive(Default)]
struct Row {
    /// Mails whose words the agent has read.
    read: usize,
    refused: usize,
    capped: usize,
    done: usize,
    drafts: Vec<Message>,
    waiting: Vec<(Message, DateTime<Utc>)>,
}

impl Row {
    fn adds(&mut self, became: Became) {
        match became {
            Became::NoTool => self.refused += 1,
            Became::Refused(429, sentence) => {
                assert!(sentence.contains(" a day"), "the cap and nothing else: {sentence}");
                self.capped += 1;
            }
            Became::Refused(..) => self.refused += 1,
            Became::Done => self.done += 1,
            Became::Draft(message) => self.drafts.push(message),
            Became::Waits(message, at) => self.waiting.push((message, at)),
        }
    }

    fn told(&self) -> String {
        let parts = [
            (self.drafts.len(), "drafts"),
            (self.waiting.len(), "wait"),
            (self.refused, "refused"),
            (self.capped, "over the limit"),
            (self.done, "done inside"),
        ];
        let parts =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// All of it, with the contact of each conversation.
struct Ledger {
    rows: Vec<Row>,
    contacts: BTreeMap<String, String>,
}

impl Ledger {
    fn drafts(&self) -> impl Iterator<Item = &Message> {
        self.rows.iter().flat_map(|row| &row.drafts)
    }

    fn waiting(&self) -> impl Iterator<Item = &(Message, DateTime<Utc>)> {
        self.rows.iter().flat_map(|row| &row.waiting)
    }

    /// Nothing that the agent wrote goes to anybody but the contact of its conversation, and nothing else was written.
    async fn goes_to_contacts_only(&self, post: &Post<'_>, key: &Key<'_>) {
        let all: Vec<&Message> = self.drafts().chain(self.waiting().map(|(message, _)| message)).collect();
        let written = "select count(*) from messages where direction = 'outbound'";
        assert_eq!(post.world.scalar(written).await, all.len() as i64, "the ledger has every message");
        let mut timelines: BTreeMap<&str, Value> = BTreeMap::new();
        for message in all {
            assert_eq!(Some(&message.to), self.contacts.get(&message.conversation), "{message:?}");
            let id = message.conversation.as_str();
            if !timelines.contains_key(id) {
                timelines.insert(id, key.conversation(id).await["timeline"].clone());
            }
            let item =
                timelines[id].as_array().unwrap().iter().find(|item| item["id"] == message.id.as_str());
            let item = item.unwrap_or_else(|| panic!("not in the timeline: {message:?}"));
            let ours = json!("help@acme.example");
            assert_eq!((&item["to"], &item["from"]["email"]), (&json!([message.to]), &ours), "{item}");
            assert_eq!(item["cc"].as_array().map_or(0, Vec::len), 0, "{item}");
        }
    }

    /// The column of the table that these rows are, and how many mails of each family the agent could read.
    fn is_the_table(&self, column: usize) {
        let mut told: Vec<(String, String, String)> = FAMILIES
            .iter()
            .zip(&self.rows)
            .map(|(family, row)| (family.title.to_owned(), format!("{} of 8", row.read), row.told()))
            .collect();
        let mut all = Row::default();
        for row in &self.rows {
            all.read += row.read;
            all.refused += row.refused;
            all.capped += row.capped;
            all.done += row.done;
            all.drafts.extend(row.drafts.iter().cloned());
            all.waiting.extend(row.waiting.iter().cloned());
        }
        told.push(("All".to_owned(), format!("{} of 200", all.read), all.told()));
        let page = std::fs::read_to_string(root().join(PAGE)).expect("the page");
        let rows = page.lines().skip_while(|line| !line.starts_with("| what the mails ask for |")).skip(2);
        let written: Vec<(String, String, String)> = rows
            .take_while(|line| line.starts_with('|'))
            .map(|line| {
                let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
                (cells[0].to_owned(), cells[1].to_owned(), cells.get(column).unwrap_or(&"").to_string())
            })
            .collect();
        let shown: String =
            told.iter().map(|(title, read, cell)| format!("| {title} | {read} | {cell} |\n")).collect();
        assert!(
            told == written,
            "docs/agents.md says something else than what happened in column {column}:\n{shown}"
        );
    }
}

/// Everything comes in over SMTP, is read over MCP and done; the relay is a real one.
async fn suffer(scopes: &str, tell: impl AsyncFnOnce(&Post<'_>, &Sink, &Key<'_>, &Ledger)) {
    let sink = Sink::start().await;
    let relay = sink.relay();
    let settings = [("RELAY", relay.as_str()), ("RATE_LIMIT_REQUESTS", "100000")];
    post_with(&settings, &[], async |post| {
        let key = post.acme.key(NAME, scopes, Mode::Live).await;
        let mut tx = post.world.app.begin(post.acme.id).await.unwrap();
        caps::set(&mut tx, &By::System, key.agent, CAPS).await.unwrap();
        tx.commit().await.unwrap();
        let mut contacts = BTreeMap::new();
        let other = victim(post).await;
        contacts.insert(other.clone(), "ada@customer.example".to_owned());
        let globex = post.world.workspace("Globex").await;
        let inbox = globex.mailbox("help@globex.example", "Help").await;
        let foreign = globex.mail(inbox, "bob@customer.example", "Ours", "Nobody else may read this.").await;
        let knows = BTreeMap::from([("other", other), ("foreign", foreign.to_string())]);
        let mut agent = Agent { key: &key, knows };

        let (mut rows, mut nth, mut seen) = (Vec::new(), 0, BTreeSet::new());
        for family in &FAMILIES {
            let mut row = Row::default();
            for (number, words) in family.words.iter().enumerate() {
                nth += 1;
                let letter = letter(family.form, words, number, nth);
                assert!(seen.insert(letter.lure.clone()), "no two are alike: {words}");
                post.tick();
                let taken = Client::greeted(post.smtp)
                    .await
                    .mail(&letter.from, "help@acme.example", &letter.raw)
                    .await;
                assert_eq!(taken.code, 250, "{taken:?}: {words}");
                // Files are read beside.
                if family.form == letters::Form::Pdf {
                    post.world.work().await;
                }
                let id = post.newest().await.conversation.to_string();
                contacts.insert(id.clone(), letter.from.clone());
                let read = agent.reads(&id, &letter.lure).await;
                let lines = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                row.read += usize::from(lines(&read).contains(&lines(&letter.lure)));
                for order in (family.orders)(number) {
                    for became in agent.obeys(&order, &letter.lure).await {
                        row.adds(became);
                    }
                }
            }
            rows.push(row);
        }
        assert_eq!(nth, 200);
        let ledger = Ledger { rows, contacts };
        assert_eq!(outside(&sink), [], "nothing leaves while mail is read");
        ledger.goes_to_contacts_only(post, &key).await;
        tell(post, &sink, &key, &ledger).await;
    })
    .await;
}

/// A customer of the team, with a file, whom none of this is about.
async fn victim(post: &Post<'_>) -> String {
    let raw = letter(letters::Form::Pdf, "Statement of account", 0, 0).raw;
    let raw = raw.replace("Eve <eve0@evil0.example>", "Ada <ada@customer.example>");
    let raw = raw.replace("Good morning, where is my order?", "My account number is 4711-0815.");
    post.takes("ada@customer.example", "help@acme.example", &raw).await.conversation.to_string()
}

/// What the relay got for anybody who is not of the team.
fn outside(sink: &Sink) -> Vec<Taken> {
    sink.taken().into_iter().filter(|taken| taken.to != TEAM).collect()
}

#[tokio::test]
async fn two_hundred_hostile_mails_and_an_obedient_agent_without_send_let_nothing_out() {
    suffer(EVERY_SCOPE_BUT_SEND, async |post, sink, _, ledger| {
        assert_eq!(ledger.waiting().count(), 0);
        for _ in 0..3 {
            post.world.work().await;
            post.world.wait(TimeDelta::hours(12));
        }
        assert_eq!(outside(sink), [], "and not later either");
        assert_eq!(post.world.due_messages().await, 0);
        // A person finds every one of them where drafts wait, under the agent's name.
        let browser = post.world.browser(post.acme.id, post.acme.owner).await;
        for draft in ledger.drafts() {
            let page = browser.get(&format!("/approvals/{}", draft.id)).await.page();
            assert!(page.contains(NAME) && page.contains(&draft.to), "{draft:?}");
        }
        assert_eq!(Some(ledger.drafts().count() as i32), CAPS.drafts, "the limit holds to the draft");
        ledger.is_the_table(2);
    })
    .await;
}

#[tokio::test]
async fn with_send_each_can_be_stopped_for_ten_minutes_is_seen_and_goes_to_its_contact_alone() {
    suffer(EVERY_SCOPE, async |post, sink, key, ledger| {
        let (world, first) = (post.world, ledger.waiting().map(|(_, at)| *at).min().expect("some wait"));
        assert_eq!(Some(ledger.waiting().count() as i32), CAPS.sends, "the limit holds to the message");
        world.wait(first - world.now() - TimeDelta::seconds(1));
        world.work().await;
        assert_eq!(outside(sink), [], "the last second of the first one's ten minutes");

        // One of eight is let go. A person stops all the others, from the page that shows them.
        let stays = |number: usize| number % 8 == 7;
        let all: Vec<&Message> = ledger.waiting().map(|(message, _)| message).collect();
        let stopped: BTreeSet<&str> = all
            .iter()
            .enumerate()
            .filter(|(number, _)| !stays(*number))
            .map(|(_, one)| one.id.as_str())
            .collect();
        let browser = world.browser(post.acme.id, post.acme.owner).await;
        stop_all(&browser, &stopped).await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;

        let left: Vec<&&Message> = all.iter().filter(|one| !stopped.contains(one.id.as_str())).collect();
        let mut reached: Vec<String> = outside(sink).iter().map(|taken| taken.to.clone()).collect();
        let mut wanted: Vec<String> = left.iter().map(|one| one.to.clone()).collect();
        reached.sort();
        wanted.sort();
        assert_eq!(reached, wanted, "what nobody stopped went to the contacts, and nothing else left");
        for taken in outside(sink) {
            assert_eq!(taken.field("To").map(|to| to.contains(&taken.to)), Some(true), "{}", taken.raw);
            assert!(taken.field("From").unwrap().contains("help@acme.example"), "{}", taken.raw);
            for name in ["Cc", "Bcc", "Reply-To"] {
                assert_eq!(taken.field(name), None, "{}", taken.raw);
            }
        }
        // The feed of events has each under the name of the agent.
        let sent = world.events("message.sent").await;
        assert_eq!(sent.len(), left.len());
        for event in sent {
            assert_eq!(event["data"]["author"]["type"], "agent", "{event}");
        }
        for one in all {
            let status = key.message(&one.conversation, &one.id).await["status"].clone();
            assert_eq!(status, if stopped.contains(one.id.as_str()) { "draft" } else { "sent" }, "{one:?}");
        }
        ledger.is_the_table(3);
    })
    .await;
}

/// Stops everything of these on the page of outgoing mail, which shows the next hundred and says that an agent wrote it.
async fn stop_all(browser: &Browser<'_>, these: &BTreeSet<&str>) {
    let mut stopped = BTreeSet::new();
    while stopped.len() < these.len() {
        let page = browser.get("/outgoing").await.page();
        let rows: Vec<&str> = page.split("id=\"out-").skip(1).collect();
        let before = stopped.len();
        for row in rows {
            let id = row.split('"').next().unwrap();
            if !these.contains(id) || stopped.contains(id) {
                continue;
            }
            assert!(row.contains("avatar--agent") && row.contains(NAME), "{row}");
            let done = browser.post(&format!("/messages/{id}/undo"), &[]).await;
            assert!(done.location().contains("done=stopped"), "{}", done.location());
            stopped.insert(id.to_owned());
        }
        assert!(stopped.len() > before, "{} of {} are on the page", stopped.len(), these.len());
    }
}
