//! What each service reports: mail comes on record, bounces silence whom the mail went to and nobody else, in whatever order
//! and however often it is told; and nothing that is not the service's own is believed.

use chrono::TimeDelta;
use rookery_product::app_mail::adapters::Provider;
use serde_json::{Value, json};

use rookery_world::mail::post::{mail, post_with};
use rookery_world::mail::services::{ANNA, SIGNING, Service, log, records, suppressed};
use rookery_world::webhooks::receiver::{Answering, Receiver};
use rookery_world::{Mode, story};

const ZONE: &[(&str, &str)] =
    &[("customer.example", "v=spf1 ip4:127.0.0.1 -all"), ("_dmarc.customer.example", "v=DMARC1; p=reject")];

/// proves: MAIL-23
#[tokio::test]
async fn a_bounce_counts_once_its_mail_is_on_record_and_only_once() {
    for provider in SIGNING {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let service = Service::of(&acme, provider).await;
            let early = service.tells("n1", &service.bounced()).await;
            assert_eq!((early.status, early.json()), (200, json!({ "ok": true, "taken": 1, "unread": 0 })));
            assert_eq!(suppressed(world).await, [] as [&str; 0], "{provider:?}: no mail to her is known");
            let first = service.tells("n2", &service.sent()).await;
            assert_eq!((first.status, records(world).await), (200, 1), "{provider:?}: {}", first.text);
            assert_eq!(suppressed(world).await, [format!("{ANNA} bounce")], "{provider:?}");

            // Told again, nothing changes: neither what is on record, nor what is over by now.
            world.sql("delete from suppressed_addresses").await;
            for (id, event) in [("n1", service.bounced()), ("n3", service.sent())] {
                assert_eq!(service.tells(id, &event).await.status, 200);
            }
            assert_eq!((suppressed(world).await.len(), records(world).await), (0, 1), "{provider:?}");
            let told = log(world, service.id).await;
            assert_eq!(told[0], format!("bounced {ANNA} suppressed"), "{provider:?}");
            assert!(told[1].ends_with(" noted"), "{told:?}");
        })
        .await;
    }
}

/// proves: MAIL-23
#[tokio::test]
async fn a_service_silences_nobody_it_did_not_write_to() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (mailgun, other) =
            (Service::of(&acme, Provider::Mailgun).await, Service::of(&acme, Provider::Mailgun).await);
        assert_eq!(mailgun.tells("t1", &mailgun.sent()).await.status, 200);
        let mut victim = mailgun.bounced();
        victim["recipient"] = json!("victim@customer.example");
        victim["id"] = json!("another");
        assert_eq!(mailgun.tells("t2", &victim).await.status, 200);
        // Another connection of the same workspace, and the same mail.
        assert_eq!(other.tells("t3", &other.bounced()).await.status, 200);
        let mut complained = other.bounced();
        (complained["event"], complained["id"]) = (json!("complained"), json!("c1"));
        assert_eq!(other.tells("t4", &complained).await.status, 200);
        assert_eq!(suppressed(world).await, [] as [&str; 0]);
        assert_eq!(log(world, mailgun.id).await[1], "bounced victim@customer.example unknown");
        assert_eq!(
            log(world, other.id).await,
            [format!("bounced {ANNA} unknown"), format!("complained {ANNA} unknown")]
        );
        // The one who sent it is heard, and a complaint weighs more than a bounce.
        assert_eq!(mailgun.tells("t5", &mailgun.bounced()).await.status, 200);
        assert_eq!(suppressed(world).await, [format!("{ANNA} bounce")]);
        assert_eq!(mailgun.tells("t6", &complained).await.status, 200);
        assert_eq!(suppressed(world).await, [format!("{ANNA} complaint")]);
    })
    .await;
}

/// A mail that could not be delivered now, or was refused for its sender's sake, says nothing of the address.
/// Its word is all there is for what it sent: first that a mail was delivered, then that it bounced.
#[tokio::test]
async fn a_service_silences_nobody_who_wrote_to_us_whenever_they_did() {
    for kind in ["bounced", "complained"] {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let help = acme.mailbox("help@acme.example", "Help").await;
            let key = acme.key("bot", "send", Mode::Live).await;
            let mailgun = Service::of(&acme, Provider::Mailgun).await;
            let mut trouble = mailgun.bounced();
            if kind == "complained" {
                (trouble["event"], trouble["id"]) = (json!("complained"), json!("c1"));
            }
            // She wrote, and then the service speaks of her.
            let id = acme.mail(help, ANNA, "Refund", "Where is it?").await;
            assert_eq!(mailgun.tells("t1", &mailgun.sent()).await.status, 200);
            assert_eq!(mailgun.tells("t2", &trouble).await.status, 200);
            assert_eq!(suppressed(world).await, [] as [&str; 0], "{kind}");
            assert_eq!(log(world, mailgun.id).await[1], format!("{kind} {ANNA} matched"));
            key.sends(id, "Here it is.").await;
            world.wait(TimeDelta::minutes(11));
            world.work().await;
            assert_eq!(world.outbox.letters().len(), 1, "{kind}: she is answered");

            // The service spoke of her before she wrote: nobody knew that she would.
            world.sql("delete from messages; delete from conversations; delete from app_mail; delete from seen_reports").await;
            assert_eq!(mailgun.tells("t3", &mailgun.sent()).await.status, 200);
            assert_eq!(mailgun.tells("t4", &trouble).await.status, 200);
            let reason = if kind == "bounced" { "bounce" } else { "complaint" };
            assert_eq!(suppressed(world).await, [format!("{ANNA} {reason}")]);
            let id = acme.mail(help, ANNA, "Hello", "A question.").await;
            assert_eq!(suppressed(world).await, [] as [&str; 0], "{kind}");
            assert_eq!(key.told(id, "suppression-lifted").await.len(), 1);
        })
        .await;
    }
}

/// Mail that was simulated is no mail of theirs, and however much there is of it hides none that is.
#[tokio::test]
async fn simulated_mail_of_an_address_hides_no_mail_that_came() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let test = acme.key("bot", "write", Mode::Test).await;
        test.simulate(json!({ "from": "anna@customer.test", "text": "Hello" })).await;
        let mailgun = Service::of(&acme, Provider::Mailgun).await;
        assert_eq!(mailgun.tells("t1", &mailgun.sent()).await.status, 200);
        world
            .sql(&format!(
                "insert into messages
                 select (jsonb_populate_record(m, jsonb_build_object(
                            'id', m.id + n, 'message_id', 'x' || n, 'id_hash', m.id_hash + n, 'from_email', '{ANNA}'))).*
                 from messages m, generate_series(1, 1500) n where direction = 'inbound'"
            ))
            .await;
        acme.mail(help, ANNA, "Refund", "Where is it?").await;
        assert_eq!(mailgun.tells("t2", &mailgun.bounced()).await.status, 200);
        assert_eq!(suppressed(world).await, [] as [&str; 0]);
    })
    .await;
}

/// A colleague who answered within somebody else's conversation, or whose own was merged into it.
#[tokio::test]
async fn a_service_silences_nobody_who_wrote_in_a_conversation_of_somebody_else() {
    for kind in ["bounced", "complained"] {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let help = acme.mailbox("help@acme.example", "Help").await;
            let mailgun = Service::of(&acme, Provider::Mailgun).await;
            let mut trouble = mailgun.bounced();
            if kind == "complained" {
                (trouble["event"], trouble["id"]) = (json!("complained"), json!("c1"));
            }
            acme.mail(help, ANNA, "Refund", "Where is it?").await;
            world
                .sql("update conversations set contact_email = 'ada@customer.example', contact_name = 'Ada'")
                .await;
            assert_eq!(mailgun.tells("t1", &mailgun.sent()).await.status, 200);
            assert_eq!(mailgun.tells("t2", &trouble).await.status, 200);
            assert_eq!(suppressed(world).await, [] as [&str; 0], "{kind}");
            // What a machine sent in her name is no word of hers.
            world.sql("update messages set automatic = true where direction = 'inbound'").await;
            world.sql("delete from seen_reports").await;
            assert_eq!(mailgun.tells("t3", &trouble).await.status, 200);
            assert_eq!(suppressed(world).await.len(), 1, "{kind}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_says_nothing_of_an_address_is_noted_and_silences_nobody() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Sendgrid).await;
        let all: Vec<Value> =
            serde_json::from_str(include_str!("../../sending/sendgrid-events.json")).unwrap();
        let mild: Vec<&Value> =
            all.iter().filter(|event| event["type"] != "bounce" && event["event"] != "spamreport").collect();
        let answer = service.tells("", &json!(mild)).await;
        assert_eq!(answer.json(), json!({ "ok": true, "taken": 5, "unread": 0 }));
        assert_eq!(suppressed(world).await, [] as [&str; 0]);
        // A spam report has no Message-ID, and is known by the service's own name of the mail.
        let answer = service.tells("", &all[8]).await;
        assert_eq!((answer.status, suppressed(world).await), (200, vec![format!("{ANNA} complaint")]));
    })
    .await;
}

/// proves: MAIL-23
#[tokio::test]
async fn only_what_the_service_itself_has_just_signed_is_believed() {
    for provider in SIGNING {
        story(async |world| {
            let (acme, beta) = (world.workspace("Acme").await, world.workspace("Beta").await);
            let (service, foreign) = (Service::of(&acme, provider).await, Service::of(&beta, provider).await);
            let (headers, body) = service.signed("n1", &service.sent());
            let mut answers = vec![
                service.posts(&service.path, &[], "{}").await,
                service
                    .posts(&service.path.replace(&acme.id.to_string(), &beta.id.to_string()), &headers, &body)
                    .await,
                service
                    .posts(
                        &service.path.replace(&service.id.to_string(), "svc_0000000000000"),
                        &headers,
                        &body,
                    )
                    .await,
                service.posts("/hooks/sent-mail/x/y", &headers, &body).await,
            ];
            // Signed by somebody else's key: where the keys are the same, only the address tells them apart.
            if matches!(provider, Provider::Postmark | Provider::Sendgrid) {
                let (headers, body) = foreign.signed("n1", &service.sent());
                answers.push(service.posts(&service.path, &headers, &body).await);
            }
            if provider != Provider::Postmark {
                for seconds in [world.now().timestamp() - 86_401, world.now().timestamp() + 302] {
                    let (headers, body) = service.signed_at(seconds, "n1", &service.sent());
                    answers.push(service.posts(&service.path, &headers, &body).await);
                }
            }
            if matches!(provider, Provider::Resend | Provider::Sendgrid) {
                answers.push(service.posts(&service.path, &headers, &body.replace("anna@", "eve@")).await);
            }
            for answer in &answers {
                assert_eq!(
                    (answer.status, answer.text.as_str()),
                    (401, answers[0].text.as_str()),
                    "{provider:?}"
                );
            }
            assert_eq!(records(world).await, 0);
            // People are told once a minute, however often it happens.
            assert_eq!(log(world, service.id).await, ["none - refused"], "{provider:?}");
            assert_eq!(log(world, foreign.id).await, [] as [&str; 0]);
            assert_eq!(service.tells("n1", &service.sent()).await.status, 200, "{provider:?}");
            assert_eq!(records(world).await, 1);
        })
        .await;
    }
}

/// Mailgun signs a token and not the event: whoever overhears one request must not be able to say anything else with it.
#[tokio::test]
async fn a_token_of_mailgun_is_good_for_one_event() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Mailgun).await;
        assert_eq!(service.tells("t1", &service.sent()).await.json()["taken"], 1);
        let mut forged = service.bounced();
        forged["id"] = json!("forged");
        assert_eq!(service.tells("t1", &forged).await.json()["taken"], 0);
        let mut other = service.sent();
        other["message"]["headers"]["message-id"] = json!("other@shop.example");
        (other["id"], other["recipient"]) = (json!("forged-too"), json!("eve@eve.example"));
        assert_eq!(service.tells("t1", &other).await.json()["taken"], 0);
        assert_eq!((records(world).await, suppressed(world).await.len()), (1, 0));
        // A day later the token is too old; until then it was remembered.
        world.wait(TimeDelta::hours(23));
        world.work().await;
        let (headers, body) = service.signed_at(world.now().timestamp() - 23 * 3600, "t1", &forged);
        assert_eq!(service.posts(&service.path, &headers, &body).await.json()["taken"], 0);
        assert_eq!(suppressed(world).await.len(), 0);
    })
    .await;
}

#[tokio::test]
async fn one_event_that_cannot_be_read_takes_no_other_with_it_and_is_counted() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let service = Service::of(&acme, Provider::Sendgrid).await;
        let mut bad = service.sent();
        bad["email"] = json!("<script>alert(1)</script>");
        bad["sg_event_id"] = json!("bad");
        let answer = service.tells("", &json!([bad, 7, null, service.sent()])).await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "ok": true, "taken": 1, "unread": 3 })));
        assert_eq!(records(world).await, 1);
        let why: String = sqlx::query_scalar("select last_error from sending_services")
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(why, "3 reports. The first: The address of a recipient cannot be read.");
        for body in [json!({}), json!("text"), json!([])] {
            let (headers, body) = service.signed("", &json!([body]));
            assert_eq!(service.posts(&service.path, &headers, &body).await.status, 200);
        }
    })
    .await;
}

/// Each recipient is told of by itself, in any order; after a reply nobody is added, because they could join.
#[tokio::test]
async fn recipients_come_one_by_one_until_somebody_replies() {
    post_with(&[], ZONE, async |post| {
        let service = Service::of(&post.acme, Provider::Mailgun).await;
        let to = |address: &str, id: &str| {
            let mut event = service.sent();
            (event["recipient"], event["id"]) = (json!(address), json!(id));
            event
        };
        for (address, id) in [(ANNA, "a"), ("ben@customer.example", "b")] {
            assert_eq!(service.tells(id, &to(address, id)).await.json()["taken"], 1);
        }
        let about = "In-Reply-To: <20260203192030.3ca5ff0e3b8d2e9a@shop.example>";
        let kept =
            post.takes(ANNA, "help@acme.example", &mail(ANNA, "Re: Your order", about, "Thanks")).await;
        assert_eq!(kept.placed, "started: the first reply to the app's mail");
        service.tells("c", &to("eve@eve.example", "c")).await;
        let read = post.key.conversation(kept.conversation).await;
        assert_eq!(read["appSent"]["to"], json!([ANNA, "ben@customer.example"]));
        assert_eq!(read["appSent"]["subject"], "Your order");
        // Mailgun gives no words, so nobody waits for them.
        post.world.work().await;
        assert_eq!(post.key.told(kept.conversation, "app-mail-unread").await, [] as [Value; 0]);
    })
    .await;
}

/// Postmark and Resend give the words by their own name of the mail, each to a token in its own place.
///
/// proves: MAIL-23, MAIL-24
#[tokio::test]
async fn words_are_asked_for_as_the_service_wants_it() {
    for (provider, id, header, value) in [
        (
            Provider::Postmark,
            "883953f4-6105-42a2-a16a-77a8eac79483",
            "x-postmark-server-token",
            "server-token",
        ),
        (Provider::Resend, "56761188-7520-42d8-8898-ff6fc54ce618", "authorization", "Bearer server-token"),
    ] {
        post_with(&[("WEBHOOK_ALLOW", "127.0.0.0/8")], ZONE, async |post| {
            let server = Receiver::start().await;
            let body = json!({ "TextBody": "Please pay.", "Subject": "Your order" }).to_string();
            let body = if provider == Provider::Resend { body.replace("TextBody", "text") } else { body };
            server.answers_with(Answering { body, ..Answering::with(200) });
            let mut service = Service::of(&post.acme, provider).await;
            let wanted = rookery_product::app_mail::connect::WantedService {
                person: post.acme.owner,
                name: "With words",
                provider,
                content_url: "",
                token: "server-token",
                key: if provider == Provider::Resend {
                    rookery_world::mail::services::RESEND_KEY
                } else {
                    ""
                },
            };
            let made = rookery_product::app_mail::connect::connect(&post.world.app, post.acme.id, wanted)
                .await
                .unwrap();
            (service.id, service.path, service.secret) =
                (made.id, made.hook.replace("https://rookery.example", ""), made.secret);
            // The service's address stands in the program; here its server is elsewhere.
            sqlx::query("update sending_services set content_url = $1 where content_url <> ''")
                .bind(format!("{}/{{id}}/details", server.url))
                .execute(&post.world.app.pool)
                .await
                .unwrap();
            assert_eq!(service.tells("n1", &service.sent()).await.status, 200);
            post.world.work().await;
            assert_eq!(server.count(), 0, "nobody has replied");
            let name: String = sqlx::query_scalar("select message_id from app_mail")
                .fetch_one(&post.world.app.pool)
                .await
                .unwrap();
            let reply = mail(ANNA, "Re: Your order", &format!("In-Reply-To: <{name}>"), "Thanks");
            let kept = post.takes(ANNA, "help@acme.example", &reply).await;
            post.world.work().await;
            let asked = server.only();
            assert_eq!(asked.path, format!("/hook/{id}/details"));
            assert_eq!(asked.header(header), value);
            assert_eq!(post.key.conversation(kept.conversation).await["appSent"]["text"], "Please pay.");
        })
        .await;
    }
}
