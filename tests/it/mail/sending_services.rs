//! A connected sending service: it tells what it sent, over real HTTP and signed; its words are asked for when a
//! recipient replies, over real HTTP again, and never before.

use chrono::TimeDelta;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, PersonId};
use rookery_core::workspace::people::Role;
use rookery_product::app_mail::adapters::Provider;
use rookery_product::app_mail::body_fetch;
use rookery_product::app_mail::connect::{Connected, WantedService, connect, disconnect};
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use rookery_world::Reply;
use rookery_world::mail::post::{Kept, Post, mail, post_with};
use rookery_world::webhooks::receiver::{Answering, Receiver};

/// Loopback opened, as a developer would; and an answer that takes a second is too late.
const LOCAL: &[(&str, &str)] = &[("WEBHOOK_ALLOW", "127.0.0.0/8"), ("WEBHOOK_ANSWER_SECONDS", "1")];
/// Both domains confirm mail from this machine, and ask others to refuse the rest.
const ZONE: &[(&str, &str)] = &[
    ("customer.example", "v=spf1 ip4:127.0.0.1 -all"),
    ("_dmarc.customer.example", "v=DMARC1; p=reject"),
    ("eve.example", "v=spf1 ip4:127.0.0.1 -all"),
    ("_dmarc.eve.example", "v=DMARC1; p=reject"),
];
const TOKEN: &str = "token-of-the-service-4711";
const WORDS: &str = "zanzibarwords";
const TO: &str = "help@acme.example";

/// The service: a real server that gives words, and what it tells us with.
struct Mailer<'p, 'w> {
    post: &'p Post<'w>,
    server: Receiver,
    connection: Connected,
}

async fn with_service(tell: impl AsyncFnOnce(&Mailer)) {
    with_service_and(&[], tell).await;
}

async fn with_service_and(settings: &[(&str, &str)], tell: impl AsyncFnOnce(&Mailer)) {
    post_with(&[LOCAL, settings].concat(), ZONE, async |post| {
        let server = Receiver::start().await;
        let content_url = format!("{}/emails/{{id}}/content?full=1", server.url);
        let connection = connects(post, post.acme.owner, &content_url).await.expect("a connection");
        let mailer = Mailer { post, server, connection };
        mailer.gives(json!({ "text": format!("Please pay. {WORDS}"), "html": "<p>Not this</p>" }));
        tell(&mailer).await;
    })
    .await;
}

async fn connects(post: &Post<'_>, person: PersonId, content_url: &str) -> Result<Connected> {
    let wanted =
        WantedService { person, name: "Mailer", provider: Provider::Own, content_url, token: TOKEN, key: "" };
    connect(&post.world.app, post.acme.id, wanted).await
}

fn sent(id: &str) -> Value {
    json!({
        "messageId": format!("<{id}@shop.example>"),
        "to": ["Anna <ANNA@customer.example>", "ben@customer.example"],
        "subject": "Your order",
        "sentAt": "2031-01-06T08:30:00Z",
    })
}

impl Mailer<'_, '_> {
    fn gives(&self, content: Value) {
        self.server.answers_with(Answering { body: content.to_string(), ..Answering::with(200) });
    }

    fn path(&self) -> String {
        self.connection.hook.replace("https://rookery.example", "")
    }

    /// Signed by a foreign library, as the service would.
    fn signature(&self, id: &str, seconds: i64, body: &str) -> String {
        let webhook = Webhook::new(&self.connection.secret).expect("a secret");
        webhook.sign(id, seconds, body.as_bytes()).expect("a signature")
    }

    async fn posts(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let request = self.post.world.ask("POST", path).body(body.to_owned());
        Reply::of(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
    }

    async fn tells(&self, told: &Value) -> Reply {
        let (body, seconds) = (told.to_string(), self.post.world.now().timestamp());
        let signature = self.signature("n1", seconds, &body);
        let seconds = seconds.to_string();
        let headers = [
            ("webhook-id", "n1"),
            ("webhook-timestamp", seconds.as_str()),
            ("webhook-signature", signature.as_str()),
        ];
        self.posts(&self.path(), &headers, &body).await
    }

    /// Mail from a sender that answers what the service sent.
    async fn replies(&self, from: &str, envelope: &str, id: &str, header: &str) -> Kept {
        let subject = format!("Re {id} {}", self.post.count().await);
        let header = format!("In-Reply-To: <{id}@shop.example>{header}");
        self.post.takes(envelope, TO, &mail(from, &subject, &header, "Thanks")).await
    }

    async fn anna_replies(&self, id: &str) -> ConversationId {
        self.replies("anna@customer.example", "anna@customer.example", id, "").await.conversation
    }

    async fn app_sent(&self, conversation: ConversationId) -> Value {
        self.post.key.conversation(conversation).await["appSent"].clone()
    }

    /// Whether a text stands anywhere in the database, in whatever column of whatever table.
    async fn is_stored(&self, text: &str) -> bool {
        let rows = self.post.world.rows().await;
        rows.values().flatten().any(|row| row.contains(text) || row.contains(&hex(text)))
    }

    async fn records(&self) -> i64 {
        sqlx::query_scalar("select count(*) from app_mail")
            .fetch_one(&self.post.world.app.pool)
            .await
            .unwrap()
    }

    async fn after(&self, time: TimeDelta) {
        self.post.world.wait(time);
        self.post.world.work().await;
    }
}

/// As PostgreSQL shows bytes.
fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// proves: MAIL-23, MAIL-24
#[tokio::test]
async fn words_are_stored_nowhere_before_a_recipient_replies_and_are_read_once_then() {
    with_service(async |mailer| {
        let world = mailer.post.world;
        let mut told = sent("order-1");
        told["text"] = json!(WORDS);
        told["html"] = json!(WORDS);
        let first = mailer.tells(&told).await;
        assert_eq!((first.status, first.json()), (201, json!({ "ok": true })));
        world.work().await;
        assert!(!mailer.is_stored(WORDS).await, "not even words that it tells unasked");
        assert!(mailer.is_stored("order-1@shop.example").await);

        // A stranger, a recipient whom nobody confirms, and a machine: none of them is someone who replies.
        for (from, envelope, header, placed) in [
            (
                "eve@eve.example",
                "eve@eve.example",
                "",
                "refused to join: the sender is not on the app's mail",
            ),
            ("anna@customer.example", "eve@eve.example", "", "refused to join: DMARC fail"),
            (
                "ben@customer.example",
                "ben@customer.example",
                "\nAuto-Submitted: auto-replied",
                "started: the first reply to the app's mail",
            ),
        ] {
            let kept = mailer.replies(from, envelope, "order-1", header).await;
            assert_eq!(kept.placed, placed);
            world.work().await;
        }
        assert_eq!(mailer.server.count(), 0, "nothing was asked");
        assert!(!mailer.is_stored(WORDS).await);
        assert_eq!(world.events("client.replied").await.len(), 0);

        let id = mailer.anna_replies("order-1").await;
        assert_eq!(mailer.app_sent(id).await["text"], Value::Null, "the mail was taken without waiting");
        assert_eq!((mailer.server.count(), world.events("client.replied").await.len()), (0, 1));
        world.work().await;
        let asked = mailer.server.only();
        assert_eq!(asked.method, "GET");
        assert_eq!(asked.path, "/hook/emails/order-1%40shop.example/content?full=1");
        assert_eq!(asked.header("authorization"), format!("Bearer {TOKEN}"));
        assert_eq!(
            mailer.app_sent(id).await,
            json!({
                "messageId": "order-1@shop.example",
                "to": ["anna@customer.example", "ben@customer.example"],
                "subject": "Your order",
                "sentAt": "2031-01-06T08:30:00.000Z",
                "text": format!("Please pay. {WORDS}"),
            })
        );
        assert!(mailer.is_stored(WORDS).await);

        assert_eq!(mailer.anna_replies("order-1").await, id);
        assert_eq!(mailer.tells(&sent("order-1")).await.status, 200);
        world.work().await;
        assert_eq!(mailer.server.count(), 0, "words are read once");
    })
    .await;
}

/// proves: MAIL-23
#[tokio::test]
async fn the_first_reply_to_a_services_mail_is_announced_with_the_reference_if_there_is_one() {
    with_service(async |mailer| {
        for id in ["order-1", "order-2"] {
            let mut told = sent(id);
            if id == "order-2" {
                told["reference"] = json!("ORDER-2");
            }
            for status in [201, 200, 200] {
                assert_eq!(mailer.tells(&told).await.status, status);
            }
        }
        assert_eq!(mailer.records().await, 2, "telling it again makes no second record");
        let plain = mailer.anna_replies("order-1").await;
        let named = mailer.anna_replies("order-2").await;
        let replied = mailer.post.world.events("client.replied").await;
        let references: Vec<_> = replied.iter().map(|event| event["data"].get("reference")).collect();
        assert_eq!(references, [None, Some(&json!("order-2"))]);
        assert_eq!(mailer.post.key.conversation(plain).await.get("reference"), None);
        assert_eq!(mailer.app_sent(named).await["reference"], "order-2");
        // The tag of the address it was written to counts where the service knows no reference.
        mailer.tells(&sent("order-3")).await;
        let answer = mail("anna@customer.example", "Tagged", "In-Reply-To: <order-3@shop.example>", "Hi");
        let kept = mailer.post.takes("anna@customer.example", "help+INV-3@acme.example", &answer).await;
        let read = mailer.post.key.conversation(kept.conversation).await;
        assert_eq!(
            (&read["reference"], &read["appSent"]["messageId"]),
            (&json!("inv-3"), &json!("order-3@shop.example"))
        );
    })
    .await;
}

/// proves: MAIL-23
#[tokio::test]
async fn only_what_a_connected_service_has_just_signed_is_believed() {
    with_service(async |mailer| {
        let world = mailer.post.world;
        let other = connects(mailer.post, mailer.post.acme.owner, "http://127.0.0.1:9").await.unwrap();
        let (body, now) = (sent("order-1").to_string(), world.now().timestamp());
        let right = mailer.signature("n1", now, &body);
        let foreign = Webhook::new(&other.secret).unwrap().sign("n1", now, body.as_bytes()).unwrap();
        let old = now - 301;
        let unknown = mailer.path().replace(&mailer.connection.id.to_string(), "svc_0000000000000");
        let nowhere = mailer.path().replace(&mailer.post.acme.id.to_string(), "wsp_0000000000000");
        let altered = body.replace("Your order", "My order");
        let tries = [
            (mailer.path(), "n1", now, right.clone(), altered.as_str()),
            (mailer.path(), "n2", now, right.clone(), &body),
            (mailer.path(), "n1", now - 1, right.clone(), &body),
            (mailer.path(), "n1", old, mailer.signature("n1", old, &body), &body),
            (mailer.path(), "n1", now + 301, mailer.signature("n1", now + 301, &body), &body),
            (mailer.path(), "n1", now, foreign, &body),
            (mailer.path(), "n1", now, String::new(), &body),
            (unknown, "n1", now, right.clone(), &body),
            (nowhere, "n1", now, right.clone(), &body),
            ("/hooks/sent-mail/x/y".into(), "n1", now, right.clone(), &body),
        ];
        let mut answers = Vec::new();
        for (path, id, seconds, signature, body) in tries {
            let seconds = seconds.to_string();
            let headers = [
                ("webhook-id", id),
                ("webhook-timestamp", seconds.as_str()),
                ("webhook-signature", signature.as_str()),
            ];
            answers.push(mailer.posts(&path, &headers, body).await);
        }
        answers.push(mailer.posts(&mailer.path(), &[], &body).await);
        for answer in &answers {
            assert_eq!((answer.status, answer.text.as_str()), (401, answers[0].text.as_str()));
        }
        let whole = "x".repeat((256 << 10) + 1);
        assert_eq!(mailer.posts(&mailer.path(), &[], &whole).await.status, 413);
        assert_eq!(mailer.records().await, 0);

        // One that is signed and wrong is told what is wrong.
        for (field, value) in [
            ("messageId", json!("no id")),
            ("to", json!([])),
            ("to", json!(["nobody"])),
            ("subject", json!("x".repeat(999))),
            ("sentAt", json!("2031-02-06T09:00:00Z")),
            ("reference", json!("no digit")),
        ] {
            let mut told = sent("order-1");
            told[field] = value;
            let answer = mailer.tells(&told).await;
            assert_eq!(
                (answer.status, answer.error().starts_with(&format!("{field}: "))),
                (400, true),
                "{field}"
            );
        }
        assert_eq!(mailer.tells(&json!({ "to": [] })).await.status, 400);
        assert_eq!(mailer.records().await, 0);
        assert_eq!(mailer.tells(&sent("order-1")).await.status, 201);
    })
    .await;
}

/// proves: MAIL-23
#[tokio::test]
async fn owners_and_admins_connect_and_disconnect_a_service_and_members_do_not() {
    with_service(async |mailer| {
        let (post, acme) = (mailer.post, &mailer.post.acme);
        let admin = acme.person("Adam Admin", Role::Admin).await;
        let member = acme.person("Mia Member", Role::Member).await;
        let url = mailer.server.url.clone();
        let refused = |made: Result<Connected>| made.err().expect("it is refused").to_string();
        let only = "Only owners and admins can connect a sending service.";
        assert_eq!(refused(connects(post, member, &url).await), only);
        let made = connects(post, admin, &url).await.expect("an admin may");
        let ended = disconnect(&post.world.app, acme.id, member, made.id).await;
        assert_eq!(ended.unwrap_err().to_string(), only);
        for (content_url, why) in [
            ("http://10.0.0.1/emails", "content url: must lead to a public address, by https"),
            ("https://{id}.mailer.example", "content url: must have {id} in its path or query"),
            ("https://mailer.example{id}/x", "content url: must have {id} in its path or query"),
            ("ftp://mailer.example/x", "content url: must be an https address"),
        ] {
            assert_eq!(refused(connects(post, admin, content_url).await), why);
        }
        let bytes = made.secret.strip_prefix("whsec_").unwrap();
        for secret in [TOKEN, bytes] {
            assert!(!mailer.is_stored(secret).await, "secrets are kept sealed");
        }

        // Words that are still to come are not asked for any more, and the conversation says so.
        mailer.tells(&sent("order-1")).await;
        let id = mailer.anna_replies("order-1").await;
        disconnect(&post.world.app, acme.id, admin, mailer.connection.id).await.expect("an admin may");
        post.world.work().await;
        assert_eq!(mailer.server.count(), 0);
        assert_eq!(
            post.key.told(id, "app-mail-unread").await,
            [json!({ "messageId": "order-1@shop.example" })]
        );
        assert_eq!(mailer.tells(&sent("order-2")).await.status, 401);
        let again = disconnect(&post.world.app, acme.id, admin, mailer.connection.id).await;
        assert_eq!(again.unwrap_err().to_string(), "No such connection in this workspace.");
    })
    .await;
}

/// proves: MAIL-23
#[tokio::test]
async fn a_service_that_gives_no_words_is_asked_again_for_a_day_and_then_the_conversation_says_so() {
    with_service(async |mailer| {
        let world = mailer.post.world;
        mailer.tells(&sent("order-1")).await;
        let id = mailer.anna_replies("order-1").await;
        mailer.server.answers(500);
        world.work().await;
        assert_eq!((mailer.server.take().len(), &mailer.app_sent(id).await["text"]), (1, &Value::Null));
        mailer.gives(json!({ "html": "<p>Dear <b>Anna</b>,</p><p>please pay.</p>" }));
        mailer.after(TimeDelta::seconds(59)).await;
        assert_eq!(mailer.server.count(), 0, "not before its minute");
        mailer.after(TimeDelta::seconds(1)).await;
        assert_eq!(mailer.server.take().len(), 1);
        assert_eq!(mailer.app_sent(id).await["text"], "Dear Anna,\n\nplease pay.");

        mailer.tells(&sent("order-2")).await;
        let id = mailer.anna_replies("order-2").await;
        let elsewhere = Some(format!("{}/elsewhere", mailer.server.url));
        let useless = [
            Answering { location: elsewhere, ..Answering::with(302) },
            Answering { body: "no JSON".into(), ..Answering::with(200) },
            Answering { body: "{}".into(), ..Answering::with(200) },
            Answering { body: json!({ "text": "x".repeat(9 << 20) }).to_string(), ..Answering::with(200) },
            Answering::with(404),
            Answering::with(429),
            Answering::with(503),
            Answering::with(500),
        ];
        let waits = [0, 1, 5, 15, 60, 3 * 60, 6 * 60, 12 * 60].map(TimeDelta::minutes);
        for (wait, answer) in waits.into_iter().zip(useless) {
            mailer.server.answers_with(answer);
            assert_eq!(mailer.post.key.told(id, "app-mail-unread").await, [] as [Value; 0]);
            mailer.after(wait).await;
            let asked = mailer.server.take();
            assert_eq!(asked.len(), 1, "after {wait}");
            assert!(!asked[0].path.contains("elsewhere"));
        }
        assert_eq!(mailer.post.key.told(id, "app-mail-unread").await.len(), 1);
        mailer.gives(json!({ "text": WORDS }));
        mailer.anna_replies("order-2").await;
        mailer.after(TimeDelta::days(2)).await;
        assert_eq!((mailer.server.count(), &mailer.app_sent(id).await["text"]), (0, &Value::Null));
        assert!(mailer.post.key.conversation(id).await["timeline"].as_array().unwrap().len() > 2);
    })
    .await;
}

#[tokio::test]
async fn a_node_that_dies_while_it_asks_loses_nothing_and_one_that_is_late_writes_nothing() {
    with_service(async |mailer| {
        let (world, lease) = (mailer.post.world, TimeDelta::minutes(3));
        mailer.tells(&sent("order-1")).await;
        let id = mailer.anna_replies("order-1").await;
        let mut conn = world.app.connection().await.unwrap();
        let dead = body_fetch::claim(&mut conn, world.now(), world.now() + lease).await.unwrap();
        mailer.after(lease - TimeDelta::milliseconds(1)).await;
        assert_eq!((dead.len(), mailer.server.count()), (1, 0), "it is that node's until its lease ends");
        world.wait(TimeDelta::milliseconds(1));
        let next = body_fetch::claim(&mut conn, world.now(), world.now() + lease).await.unwrap();
        assert_eq!(next.len(), 1);
        let mut tx = world.app.begin(mailer.post.acme.id).await.unwrap();
        assert!(!body_fetch::store(&mut tx, &dead[0], "Late words").await.unwrap());
        assert!(!body_fetch::give_up(&mut tx, &dead[0]).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(mailer.app_sent(id).await["text"], Value::Null);
        assert_eq!(mailer.post.key.told(id, "app-mail-unread").await, [] as [Value; 0]);
        mailer.after(lease).await;
        assert_eq!(mailer.app_sent(id).await["text"], format!("Please pay. {WORDS}"));
    })
    .await;
}

/// The database refuses them: an error of ours, which counts like a service that does not answer.
#[tokio::test]
async fn words_that_cannot_be_stored_are_given_up_after_a_day_and_others_are_not() {
    with_service(async |mailer| {
        let world = mailer.post.world;
        for order in ["order-1", "order-2"] {
            mailer.tells(&sent(order)).await;
        }
        world
            .sql(
                "create function refuse() returns trigger language plpgsql as $$ begin raise 'on purpose'; end $$;
                 create trigger refuse before update on app_mail for each row
                     when (new.body_text is not null and new.message_id like 'order-1@%') execute function refuse()",
            )
            .await;
        let (refused, fine) = (mailer.anna_replies("order-1").await, mailer.anna_replies("order-2").await);
        for minutes in [0, 1, 5, 15, 60, 3 * 60, 6 * 60, 12 * 60] {
            assert_eq!(mailer.post.key.told(refused, "app-mail-unread").await, [] as [Value; 0]);
            mailer.after(TimeDelta::minutes(minutes)).await;
        }
        assert_eq!(mailer.post.key.told(refused, "app-mail-unread").await.len(), 1);
        assert_eq!(mailer.app_sent(fine).await["text"], format!("Please pay. {WORDS}"));
        mailer.server.take();
        mailer.after(TimeDelta::days(2)).await;
        assert_eq!(mailer.server.count(), 0, "it is not asked again");
        world.sql("drop trigger refuse on app_mail").await;
    })
    .await;
}

/// What the app records itself is the app's: its words are there at once, and the service is not asked.
#[tokio::test]
async fn words_that_the_app_records_itself_are_not_asked_for() {
    with_service(async |mailer| {
        let app = mailer.post.acme.key("app", "record", rookery_world::Mode::Live).await;
        let recorded = json!({
            "messageId": "order-1@shop.example", "reference": "order-1", "to": ["anna@customer.example"],
            "subject": "Your order", "text": "By the app.",
        });
        // Before the service tells, after it, and after the reply.
        assert_eq!(app.post("/app-mail", recorded.clone()).await.status, 201);
        assert_eq!(mailer.tells(&sent("order-1")).await.status, 200);
        let mut second = recorded.clone();
        second["messageId"] = json!("order-2@shop.example");
        mailer.tells(&sent("order-2")).await;
        assert_eq!(app.post("/app-mail", second).await.status, 200);
        let mut third = recorded;
        third["messageId"] = json!("order-3@shop.example");
        mailer.tells(&sent("order-3")).await;
        let mut ids = Vec::new();
        for order in ["order-1", "order-2", "order-3"] {
            ids.push(mailer.anna_replies(order).await);
        }
        assert_eq!(app.post("/app-mail", third).await.status, 200);
        mailer.post.world.work().await;
        assert_eq!(mailer.server.count(), 0);
        for id in ids {
            assert_eq!(mailer.app_sent(id).await["text"], "By the app.");
        }
    })
    .await;
}

/// proves: MAIL-20, MAIL-21, MAIL-22
#[tokio::test]
async fn what_a_service_told_is_forgotten_like_every_record() {
    with_service_and(&[("APP_MAIL_MOST", "2")], async |mailer| {
        let world = mailer.post.world;
        mailer.tells(&sent("order-0")).await;
        mailer.anna_replies("order-0").await;
        for number in 1..=4 {
            world.wait(TimeDelta::seconds(1));
            mailer.tells(&sent(&format!("order-{number}"))).await;
        }
        let left = async || {
            let ids = sqlx::query_scalar::<_, String>("select message_id from app_mail order by 1");
            ids.fetch_all(&world.app.pool).await.unwrap()
        };
        assert_eq!(
            left().await,
            ["order-0@shop.example", "order-3@shop.example", "order-4@shop.example"],
            "over the cap the oldest go"
        );
        mailer.after(TimeDelta::days(30)).await;
        assert_eq!(left().await, ["order-0@shop.example"], "what was answered stays");
    })
    .await;
}
