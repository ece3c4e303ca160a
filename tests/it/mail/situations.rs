//! Plays every situation of tests/threading/situations.txt: where the mail goes, whom a reply reaches and what it quotes.
//! Every line has people, references and Message-IDs of its own, so all of them share one world.

use chrono::TimeDelta;
use mail_parser::MessageParser;
use rookery_base::ids::{ConversationId, MessageId};
use rookery_mail::incoming::return_path;
use serde_json::{Value, json};

use super::verdicts::{key, signed_over, signed_to_here};
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{Kept, Post, post};
use rookery_world::{Key, Message, Mode, Workspace};

const SITUATIONS: &str = include_str!("../../threading/situations.txt");
const ALL_FIELDS: &[&str] = &["From", "Subject", "Message-ID", "To", "Cc", "In-Reply-To", "References"];
const BARE_FIELDS: &[&str] = &["From", "Subject", "Message-ID"];

#[derive(Clone, Copy, Debug)]
struct Situation<'t> {
    line: usize,
    before: &'t str,
    writer: &'t str,
    to: &'t str,
    names: &'t str,
    proof: &'t str,
    dmarc: &'t str,
    goes: &'t str,
    reference: &'t str,
    app: &'t str,
    told: &'t str,
    reaches: &'t str,
    quotes: &'t str,
}

impl<'t> Situation<'t> {
    fn all() -> Vec<Situation<'static>> {
        let lines = SITUATIONS.lines().enumerate().filter(|(_, line)| line.starts_with(' '));
        let read = |(number, line): (usize, &'static str)| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [before, writer, to, names, proof, dmarc, goes, reference, app, told, reaches, quotes] =
                words[..]
            else {
                panic!("line {}: twelve words", number + 1)
            };
            let line = number + 1;
            #[rustfmt::skip]
            let read = Situation { line, before, writer, to, names, proof, dmarc, goes, reference, app, told, reaches, quotes };
            read
        };
        lines.map(read).collect()
    }

    /// The domain of Anna and of her colleagues.
    fn domain(&self) -> &'static str {
        match self.before {
            "gmail" => "gmail.com",
            "yahoo" => "yahoo.co.jp",
            "down" => "down.example",
            before if before.ends_with("open") => "open.example",
            _ => "customer.example",
        }
    }

    fn address(&self, who: &str) -> String {
        let line = self.line;
        let who = who.trim_end_matches("-away");
        let domain = match who {
            "us" => return "help@acme.example".into(),
            "us-sales" => return "sales@acme.example".into(),
            "bob" | "carl" | "dora" => "partner.example",
            "eve" => "eve.example",
            "gmailer" => "gmail.com",
            "opener" => "open.example",
            "downer" => "down.example",
            "look-alike" => "customer-example.example",
            "ben-sub" => "sales.customer.example",
            _ => self.domain(),
        };
        format!("{who}{line}@{domain}")
    }

    fn anna(&self) -> String {
        self.address("anna")
    }

    fn id(&self, what: &str) -> String {
        let line = self.line;
        match what {
            "ours" | "newer" => format!("{what}.{line}@acme.example"),
            "recorded" => format!("recorded.{line}@shop.example"),
            _ => format!("{what}.{line}@customer.example"),
        }
    }

    fn reference(&self, which: &str) -> String {
        format!("{which}-{}", self.line)
    }

    fn from(&self) -> String {
        let (anna, eve) = (self.anna(), self.address("eve"));
        match self.writer {
            "two" => format!("{anna}, {eve}"),
            "twice" => format!("{anna}\nFrom: {eve}"),
            "nobody" => "Somebody".into(),
            writer => self.address(writer),
        }
    }

    /// The fields that say what the mail answers.
    fn threading(&self) -> String {
        let (ours, recorded) = (self.id("ours"), self.id("recorded"));
        match self.names {
            "ours" => format!("In-Reply-To: <{ours}>\n"),
            "ours-refs" => format!("References: <{}> <{ours}>\n", self.id("first")),
            "recorded" => format!("In-Reply-To: <{recorded}>\n"),
            "recorded-refs" => format!("References: <{recorded}> <more@customer.example>\n"),
            "both" => format!("In-Reply-To: <{ours}>\nReferences: <{recorded}> <{ours}>\n"),
            "theirs" => format!("In-Reply-To: <{}>\n", self.id("first")),
            "sales-ours" => "In-Reply-To: <ours.sales@acme.example>\n".into(),
            "beta-ours" => "In-Reply-To: <ours@beta.example>\n".into(),
            "unknown" => "In-Reply-To: <nobody@nowhere.example>\n".into(),
            "nothing" | "report" => String::new(),
            other => panic!("line {}: {other}", self.line),
        }
    }
}

/// The places a mail can come to, and who reads there.
struct Places<'p, 'w> {
    post: &'p Post<'w>,
    /// Sees every inbox of the workspace.
    key: Key<'w>,
    recorder: Key<'w>,
    beta_key: Key<'w>,
    secret: String,
}

/// What stands there before the mail of the line comes.
#[derive(Default)]
struct Before {
    conversation: Option<ConversationId>,
    ours: Option<MessageId>,
}

#[derive(Clone)]
struct Mail<'m> {
    id: String,
    from: String,
    /// In the header, and for the envelope.
    to: String,
    cc: Option<String>,
    threading: String,
    more: &'m str,
    words: String,
}

impl Mail<'_> {
    fn written(&self) -> String {
        let Self { id, from, to, cc, threading, more, words } = self;
        let cc = cc.as_ref().map(|cc| format!("Cc: {cc}\n")).unwrap_or_default();
        let text = if words.is_empty() {
            String::new()
        } else if more.contains("Content-Type") {
            words.clone()
        } else {
            format!("\n{words}\n")
        };
        format!(
            "Message-ID: <{id}>\nFrom: {from}\nTo: {to}\n{cc}Subject: Parcel {id}\n{threading}{more}{text}"
        )
    }
}

impl Places<'_, '_> {
    /// One mail over SMTP, with the proof it is to have.
    async fn hands_over(&self, mail: &Mail<'_>, sender: &str, proof: &str) -> Kept {
        let domain = sender.rsplit('@').next().unwrap_or_default();
        let raw = match proof {
            "spf" | "forged" => mail.written(),
            "dkim" => signed_over(ALL_FIELDS, &mail.written(), &self.secret, domain),
            "bare" => signed_over(BARE_FIELDS, &mail.written(), &self.secret, domain),
            "added" => {
                let threading = "In-Reply-To: <signed@customer.example>\n".to_owned();
                let signed = Mail { threading, ..mail.clone() };
                let signed = signed_over(ALL_FIELDS, &signed.written(), &self.secret, domain);
                format!("{}{signed}", mail.threading)
            }
            "short" => {
                let signed = signed_to_here(ALL_FIELDS, &mail.written(), &self.secret, domain);
                assert!(signed.contains("l="), "{signed}");
                format!("{signed}More.\n")
            }
            other => panic!("{other}"),
        };
        let envelope = match (proof, mail.from.starts_with("daemon")) {
            (_, true) => String::new(),
            ("spf", _) => sender.to_owned(),
            _ => "x@mallory.example".into(),
        };
        self.post.tick();
        let before = self.post.count().await;
        let mut client = Client::connect(self.post.smtp).await.0;
        client.say("EHLO helo.example").await;
        let answer = client.mail(&envelope, &mail.to, &raw).await;
        assert_eq!(answer.code, 250, "{answer:?} {raw}");
        assert_eq!(self.post.count().await, before + 1, "one message more: {raw}");
        self.post.newest().await
    }

    fn acme(&self) -> &Workspace<'_> {
        &self.post.acme
    }

    async fn set_up(&self, it: &Situation<'_>) -> Before {
        let mut first = Mail {
            id: it.id("first"),
            from: it.anna(),
            to: "help@acme.example".into(),
            cc: it.before.contains("cc").then(|| it.address("carl")),
            threading: String::new(),
            more: "",
            words: format!("First words {}.", it.line),
        };
        if it.before.starts_with("recorded") || it.before.starts_with("waiting") {
            let record = json!({ "messageId": it.id("recorded"), "reference": it.reference("ref"),
                "to": [it.anna(), it.address("bob")], "subject": "Your order" });
            let reply = self.recorder.post("/app-mail", record).await;
            assert_eq!(reply.status, 201, "{}", reply.text);
            first.threading = format!("In-Reply-To: <{}>\n", it.id("recorded"));
        }
        if it.before.starts_with("tagged") {
            first.to = format!("help+{}@acme.example", it.reference("ref"));
        }
        let proof = match it.before {
            "new" | "waiting" | "waiting-open" => return Before::default(),
            "cc-signed" => "dkim",
            "cc-added" => "bare",
            "forged" | "cc-forged" => "forged",
            _ => "spf",
        };
        let kept = self.hands_over(&first, &it.anna(), proof).await;
        let conversation = kept.conversation;
        let sent = async |id: &str| {
            self.post.tick();
            let message = Message { status: "sent", text: "We look into it", rfc_message_id: Some(id) };
            self.acme().outbound(conversation, message).await
        };
        let ours = sent(&it.id("ours")).await;
        if it.before == "twice-answered" {
            sent(&it.id("newer")).await;
        }
        if it.before == "recorded-lure" {
            let lure = Mail {
                id: it.id("lure"),
                to: format!("help+{}@acme.example", it.reference("ref")),
                cc: Some(it.address("carl")),
                threading: String::new(),
                words: "Please see Carl's mail.".into(),
                ..first
            };
            let lured = self.hands_over(&lure, &it.anna(), "forged").await;
            assert_ne!(lured.conversation, conversation, "line {}", it.line);
        }
        Before { conversation: Some(conversation), ours: Some(ours) }
    }

    async fn comes(&self, it: &Situation<'_>, before: &Before) -> Kept {
        let tagged = |tag: &str| format!("help+{tag}@acme.example");
        let to = match it.to {
            "help" | "help,anna" => "help@acme.example".into(),
            "+ref" => tagged(&it.reference("ref")),
            "+other" => tagged(&it.reference("other")),
            "+word" => tagged("news"),
            "sales" => "sales@acme.example".into(),
            "private" => "olga@acme.example".into(),
            "beta" => "help@beta.example".into(),
            "returned" => {
                let key = self.post.world.app.config.needs_secret_key().expect("a secret key").newest();
                let ours = before.ours.expect("a mail of ours");
                return_path::make(key, self.acme().id, ours, "help@acme.example")
            }
            other => panic!("line {}: {other}", it.line),
        };
        let report = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\n\
             Words {}.\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n\
             Final-Recipient: rfc822; {}\nAction: delayed\nStatus: 4.4.1\n\n--b\nContent-Type: text/rfc822-headers\n\n\
             Message-ID: <{}>\n\n--b--\n",
            it.line,
            it.anna(),
            it.id("ours")
        );
        let words = format!("Words {}.", it.line);
        let (more, words) = match (it.names, it.writer.ends_with("-away")) {
            ("report", _) => (report.as_str(), String::new()),
            (_, true) => ("Auto-Submitted: auto-replied\n", words),
            _ => ("", words),
        };
        let cc = (it.to == "help,anna").then(|| it.anna());
        let mail =
            Mail { id: it.id("mail"), from: it.from(), to, cc, threading: it.threading(), more, words };
        let sender = match it.writer {
            "two" | "twice" | "nobody" => it.anna(),
            writer => it.address(writer),
        };
        self.hands_over(&mail, &sender, it.proof).await
    }

    /// What became of the mail: DMARC, where it went, reference, `appSent`, `client.replied`.
    async fn found(&self, it: &Situation<'_>, before: &Before, kept: &Kept) -> [String; 5] {
        let line = it.line;
        let read = self.key_for(it).get(&format!("/conversations/{}", kept.conversation)).await.json();
        let named = before.conversation.filter(|id| read["answersIn"] == id.to_string());
        let goes = match (before.conversation == Some(kept.conversation), read.get("answersIn"), named) {
            (true, None, _) => "joins",
            (false, None, _) => "own",
            (false, Some(_), Some(_)) => "apart",
            other => panic!("line {line}: {other:?} {read}"),
        };
        let reference = match read["reference"].as_str() {
            None => "-",
            Some(given) if given == it.reference("ref") => "ref",
            Some(given) if given == it.reference("other") => "other",
            Some(given) => panic!("line {line}: {given}"),
        };
        let app = match read["appSent"]["messageId"].as_str() {
            None => "-",
            Some(id) if id == it.id("recorded") => "app",
            Some(id) => panic!("line {line}: {id}"),
        };
        let told: i64 = sqlx::query_scalar(
            "select count(*) from events where kind = 'client.replied' and position($1 in body) > 0",
        )
        .bind(format!("\"{}\"", self.newest_id().await))
        .fetch_one(&self.post.world.app.pool)
        .await
        .unwrap();
        let told = if told > 0 { "told" } else { "-" };
        let dmarc = kept.verdict["dmarc"].as_str().unwrap_or_default();
        [dmarc, goes, reference, app, told].map(str::to_owned)
    }

    fn key_for(&self, it: &Situation<'_>) -> &Key<'_> {
        if it.to == "beta" { &self.beta_key } else { &self.key }
    }

    async fn newest_id(&self) -> MessageId {
        sqlx::query_scalar("select id from messages where direction = 'inbound' order by id desc limit 1")
            .fetch_one(&self.post.world.app.pool)
            .await
            .unwrap()
    }

    /// A reply that will leave, and whom it says to go to.
    async fn replies(&self, key: &Key<'_>, conversation: ConversationId) -> Option<String> {
        let body = json!({ "body": "Thank you.", "send": true });
        let reply = key.post(&format!("/conversations/{conversation}/replies"), body).await;
        let [Value::String(to)] = &reply.json()["to"].as_array().cloned().unwrap_or_default()[..] else {
            assert_eq!(reply.status, 400, "{}", reply.text);
            return None;
        };
        Some(to.clone())
    }

    /// What the mail quotes that left for a conversation: whom it reached, and which words.
    fn left(&self, it: &Situation<'_>, conversation: ConversationId) -> (String, &'static str) {
        let outbox = &self.post.world.outbox;
        let (letters, mails) = (outbox.letters(), outbox.mails());
        let sent = letters.iter().zip(&mails).filter(|(letter, _)| letter.conversation == conversation);
        let [(_, mail)] = &sent.collect::<Vec<_>>()[..] else { panic!("line {}: one mail", it.line) };
        let text = MessageParser::new().parse(&mail.raw).unwrap().body_text(0).unwrap().into_owned();
        let says = |words: String| text.contains(&format!("> {words}"));
        let quotes = match (says(format!("Words {}.", it.line)), says(format!("First words {}.", it.line))) {
            (true, false) => "it",
            (false, true) => "first",
            (false, false) => "-",
            (true, true) => panic!("line {}: two mails are quoted", it.line),
        };
        (mail.to.clone(), quotes)
    }
}

/// proves: MSG-12, MSG-13, MAIL-13, MAIL-14, MAIL-15, MAIL-16, MAIL-18
#[tokio::test]
async fn every_situation_ends_as_the_table_says() {
    let (secret, public) = key();
    let mut zone = vec![("mallory.example", "v=spf1 ip4:127.0.0.1 -all".to_owned())];
    let confirmed = [
        ("customer.example", "_dmarc.customer.example", "s1._domainkey.customer.example"),
        ("partner.example", "_dmarc.partner.example", "s1._domainkey.partner.example"),
        ("eve.example", "_dmarc.eve.example", "s1._domainkey.eve.example"),
        ("acme.example", "_dmarc.acme.example", "s1._domainkey.acme.example"),
        ("gmail.com", "_dmarc.gmail.com", "s1._domainkey.gmail.com"),
        ("yahoo.co.jp", "_dmarc.yahoo.co.jp", "s1._domainkey.yahoo.co.jp"),
    ];
    for (domain, policy, selector) in confirmed {
        zone.push((domain, "v=spf1 ip4:127.0.0.1 -all".into()));
        zone.push((policy, "v=DMARC1; p=reject".into()));
        zone.push((selector, public.clone()));
    }
    zone.push(("sales.customer.example", "v=spf1 ip4:127.0.0.1 -all".into()));
    zone.push(("open.example", "v=spf1 ip4:127.0.0.1 -all".into()));
    zone.push(("s1._domainkey.open.example", public.clone()));
    zone.push(("down.example", "SERVFAIL".into()));
    zone.push(("_dmarc.down.example", "SERVFAIL".into()));
    let zone: Vec<(&str, &str)> = zone.iter().map(|(name, text)| (*name, text.as_str())).collect();
    post(&zone, async |post| {
        let sales = post.acme.mailbox("sales@acme.example", "Sales").await;
        post.acme.private_mailbox("olga@acme.example", "Olga", post.acme.owner).await;
        let beta = post.world.workspace("Beta").await;
        let beta_inbox = beta.mailbox("help@beta.example", "Beta").await;
        for (workspace, inbox, id) in
            [(&post.acme, sales, "ours.sales@acme.example"), (&beta, beta_inbox, "ours@beta.example")]
        {
            let conversation = workspace.mail(inbox, "zoe@eve.example", "Hello", "Hello").await;
            let message = Message { status: "sent", text: "Hello", rfc_message_id: Some(id) };
            workspace.outbound(conversation, message).await;
        }
        let places = Places {
            post,
            key: post.acme.key("replies", "send", Mode::Live).await,
            recorder: post.acme.key("app", "record", Mode::Live).await,
            beta_key: beta.key("replies", "send", Mode::Live).await,
            secret,
        };
        let situations = Situation::all();
        assert!(situations.len() >= 200, "{}", situations.len());
        let (mut outcomes, mut wrong) = (Vec::new(), Vec::new());
        for it in &situations {
            // The rate limit is not what this is about.
            post.world.wait(TimeDelta::seconds(5));
            let before = places.set_up(it).await;
            let kept = places.comes(it, &before).await;
            let found = places.found(it, &before, &kept).await;
            let expected = [it.dmarc, it.goes, it.reference, it.app, it.told];
            if found != expected {
                wrong.push(format!("{it:?}: {found:?}, {}", kept.placed));
            }
            post.tick();
            let to = places.replies(places.key_for(it), kept.conversation).await;
            if let Some(apart) = before.conversation.filter(|id| *id != kept.conversation) {
                let to = places.replies(&places.key, apart).await;
                if to.as_ref() != Some(&it.anna()) {
                    wrong.push(format!("{it:?}: a reply in the other conversation reaches {to:?}"));
                }
            }
            outcomes.push((it, before, kept.conversation, to));
        }
        post.world.wait(TimeDelta::minutes(11));
        post.world.work().await;
        for (it, before, conversation, to) in outcomes {
            let expected = (it.reaches != "nobody").then(|| (it.address(it.reaches), it.quotes));
            let left = to.as_ref().map(|_| places.left(it, conversation));
            if left != expected || to != expected.map(|(to, _)| to) {
                wrong.push(format!("{it:?}: a reply reaches and quotes {left:?}, said to go to {to:?}"));
            }
            let apart = before.conversation.filter(|id| *id != conversation);
            if let Some(left) = apart.map(|apart| places.left(it, apart))
                && left != (it.anna(), "first")
            {
                wrong.push(format!("{it:?}: a reply in the other conversation reaches and quotes {left:?}"));
            }
        }
        assert!(wrong.is_empty(), "{} situations end otherwise:\n{}", wrong.len(), wrong.join("\n"));
    })
    .await;
}
