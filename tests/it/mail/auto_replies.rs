//! What an inbox answers by itself: once a day to each person, by its hours, and never to a machine (RFC 3834).

mod away;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use rookery_base::ids::MailboxId;
use rookery_base::relay::mailer::FinalMail;
use rookery_core::conversations::messages::inbound::Stored;
use rookery_core::workspace::access::By;
use rookery_core::workspace::inbox_settings::auto_reply::{self, AutoReply};
use rookery_core::workspace::inbox_settings::hours::Hours;
use rookery_core::workspace::people::Role;
use rookery_core::workspace::{mailboxes, people};
use rookery_mail::incoming::authenticate::Dmarc;
use rookery_mail::incoming::delivery::{Delivery, Received};
use rookery_mail::incoming::receive::receive;

use rookery_world::mail::client::Client;
use rookery_world::mail::post::{mail, post_with};
use rookery_world::{Workspace, World, story};

const TEXT: &str = "Thank you. We are back at nine.";

fn always() -> AutoReply {
    AutoReply { is_on: true, outside: false, text: TEXT.into(), ..AutoReply::default() }
}

async fn set(acme: &Workspace<'_>, inbox: MailboxId, reply: &AutoReply) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let owner = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
    auto_reply::set(&mut tx, &owner, inbox, reply).await.unwrap();
    tx.commit().await.unwrap();
}

/// A mail that has just been written.
async fn arrives(acme: &Workspace<'_>, inbox: MailboxId, raw: &str) -> Stored {
    arrives_as(acme, inbox, raw, Dmarc::Pass).await
}

async fn delivered(acme: &Workspace<'_>, inbox: MailboxId, raw: &str) -> Delivery {
    delivered_as(acme, inbox, raw, Dmarc::Pass).await
}

async fn delivered_as(acme: &Workspace<'_>, inbox: MailboxId, raw: &str, dmarc: Dmarc) -> Delivery {
    let app = &acme.world.app;
    let mailbox = mailboxes::live(&mut app.connection().await.unwrap(), acme.id, inbox).await.unwrap();
    let raw = raw.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes();
    Delivery { may_be_answered: true, ..Delivery::from_raw(mailbox, raw, dmarc) }
}

async fn arrives_as(acme: &Workspace<'_>, inbox: MailboxId, raw: &str, dmarc: Dmarc) -> Stored {
    let delivery = delivered_as(acme, inbox, raw, dmarc).await;
    match receive(&acme.world.app, acme.id, delivery).await.unwrap() {
        Received::Stored(stored) => stored,
        other => panic!("{other:?}"),
    }
}

/// What left since it was asked last, to whom.
async fn left(world: &World, seen: &mut usize) -> Vec<FinalMail> {
    world.work().await;
    let mails = world.outbox.mails();
    let new = mails[*seen..].to_vec();
    *seen = mails.len();
    new
}

fn raw(mail: &FinalMail) -> String {
    String::from_utf8(mail.raw.clone()).unwrap()
}

#[tokio::test]
async fn an_automatic_reply_threads_says_what_it_is_and_changes_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        set(&acme, help, &always()).await;
        let stored = arrives(&acme, help, &mail("Ada <ada@x.example>", "Parcel", "", "Where is it?")).await;
        let mut seen = 0;
        let mails = left(world, &mut seen).await;
        let [reply] = &mails[..] else { panic!("one: {mails:?}") };
        let raw = raw(reply);
        assert_eq!(reply.to, "ada@x.example");
        for line in [
            "Auto-Submitted: auto-replied\r\n",
            "In-Reply-To: <Parcel@customer.example>\r\n",
            "Subject: Re: Parcel\r\n",
        ] {
            assert!(raw.contains(line), "{line}: {raw}");
        }
        assert!(raw.contains("We are back at nine.") && !raw.contains("Where is it?"), "{raw}");

        let row: (String, String, i32) =
            sqlx::query_as("select status, snippet, message_count from conversations where id = $1")
                .bind(stored.conversation.0)
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(row, ("open".into(), "Where is it?".into(), 2), "lists show the customer's words");
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{}", stored.conversation)).await.page();
        assert!(page.contains("Automatic reply") && page.contains("We are back at nine."), "{page}");
        assert_eq!(world.events("message.sent").await.len(), 1);
        assert_eq!(world.events("turn.changed").await.len(), 1, "it is still ours");

        // Its own subject is as it was written.
        let custom = AutoReply { subject: "We got it".into(), ..always() };
        set(&acme, help, &custom).await;
        arrives(&acme, help, &mail("bob@x.example", "Order", "", "Hello")).await;
        let mails = left(world, &mut seen).await;
        assert!(String::from_utf8_lossy(&mails[0].raw).contains("Subject: We got it\r\n"));
    })
    .await;
}

/// By SMTP, all at one moment, as a burst that is stored in batches elsewhere.
#[tokio::test]
async fn a_flood_of_one_sender_gets_one_reply_a_day() {
    let spf = [
        ("customer.example", "v=spf1 ip4:127.0.0.1 -all"),
        ("_dmarc.customer.example", "v=DMARC1; p=reject"),
    ];
    post_with(&[("SMTP_PEER_CONNECTIONS", "200")], &spf, async |post| {
        set(&post.acme, post.support, &always()).await;
        let smtp = post.smtp;
        let sent = (0..100).map(|n| async move {
            let raw = mail("Anna <anna@customer.example>", &format!("First {n}"), "", "Hello?");
            let mut client = Client::greeted(smtp).await;
            client.mail("anna@customer.example", "help@acme.example", &raw).await.code
        });
        assert!(join_all(sent).await.iter().all(|code| *code == 250));
        let mut seen = 0;
        assert_eq!(left(post.world, &mut seen).await.len(), 1);
        assert_eq!(post.count().await, 100, "every mail was taken");
        // Another inbox answers for itself, and so does the next day.
        let sales = post.acme.mailbox("sales@acme.example", "Sales").await;
        set(&post.acme, sales, &always()).await;
        arrives(&post.acme, sales, &mail("anna@customer.example", "Sales", "", "Hi")).await;
        assert_eq!(left(post.world, &mut seen).await.len(), 1);
        post.world.wait(TimeDelta::hours(23));
        arrives(&post.acme, post.support, &mail("anna@customer.example", "Late", "", "Hi")).await;
        assert_eq!(left(post.world, &mut seen).await.len(), 0, "not a day yet");
        post.world.wait(TimeDelta::hours(1));
        arrives(&post.acme, post.support, &mail("ANNA@customer.example", "Next", "", "Hi")).await;
        assert_eq!(left(post.world, &mut seen).await.len(), 1);
        let kept = "select count(*) from auto_replied";
        assert_eq!(post.world.scalar(kept).await, 1, "whose day is over is forgotten");
        post.world.wait(TimeDelta::days(2));
        post.world.work().await;
        assert_eq!(post.world.scalar(kept).await, 0);
    })
    .await;
}

#[tokio::test]
async fn two_that_answer_by_themselves_end_after_one_mail() {
    story(async |world| {
        let (acme, beta) = (world.workspace("Acme").await, world.workspace("Beta").await);
        let help = acme.mailbox("help@acme.example", "Help").await;
        let desk = beta.mailbox("desk@beta.example", "Desk").await;
        set(&acme, help, &always()).await;
        set(&beta, desk, &always()).await;
        arrives(&acme, help, &mail("desk@beta.example", "Hello", "", "Are you there?")).await;
        let mut seen = 0;
        let mails = left(world, &mut seen).await;
        let [reply] = &mails[..] else { panic!("one: {mails:?}") };
        assert_eq!(reply.to, "desk@beta.example");
        arrives(&beta, desk, &raw(reply)).await;
        assert!(left(world, &mut seen).await.is_empty(), "it says that a machine wrote it");

        // A program that knows no RFC answers each of ours, and whatever answers it.
        for n in 0..20 {
            let away = mail("away@old.example", &format!("Away {n}"), "", "I am on holiday.");
            arrives(&acme, help, &away).await;
            world.wait(TimeDelta::minutes(5));
        }
        assert_eq!(left(world, &mut seen).await.len(), 1);
    })
    .await;
}

/// Each of these may come from somebody who never wrote to us, or answers whatever it gets.
#[tokio::test]
async fn machines_lists_bounces_and_forgers_get_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mailbox("sales@acme.example", "Sales").await;
        set(&acme, help, &always()).await;
        let person = "ada@x.example";
        for (n, (from, header)) in [
            (person, "Auto-Submitted: auto-replied"),
            (person, "Auto-Submitted: auto-generated"),
            (person, "Precedence: bulk"),
            (person, "Precedence: list"),
            (person, "List-Id: <news.x.example>"),
            (person, "List-Unsubscribe: <https://x.example/>"),
            (person, "X-Auto-Response-Suppress: OOF, AutoReply"),
            (person, "X-Auto-Response-Suppress: All"),
            (person, "X-Autoreply: yes"),
            (person, "Return-Path: <>"),
            (person, "Content-Type: multipart/report; report-type=delivery-status; boundary=x"),
            (person, "From: second@x.example"),
            ("mailer-daemon@x.example", ""),
            ("no-reply@x.example", ""),
            ("news-request@x.example", ""),
            ("sales@acme.example", ""),
            ("help@acme.example", ""),
        ]
        .into_iter()
        .enumerate()
        {
            arrives(&acme, help, &mail(from, &format!("Machine {n}"), header, "Hello")).await;
            let mut seen = 0;
            assert!(left(world, &mut seen).await.is_empty(), "{from} {header}");
        }
        let plain = |subject: &str| mail(person, subject, "", "Hello");
        arrives_as(&acme, help, &plain("Forged"), Dmarc::Fail).await;
        // An old mail that is brought in, and one that names nobody.
        acme.receives_confirmed(help, &plain("Imported")).await;
        arrives(&acme, help, "Message-ID: <n@x.example>\nSubject: Nobody\n\nHello\n").await;
        let scam =
            "Your mailbox password expires today. Verify your password now: http://login.x-verify.example/";
        // Its domain vouches for it: only what it says is wrong with it.
        let risky = mail("Acme <ceo@x.example>", "URGENT: verify your password", "", scam);
        let risky = arrives(&acme, help, &risky).await;
        let risk = "select count(*) from conversations where subject like 'URGENT%' and risk is not null";
        assert_eq!(world.scalar(risk).await, 1, "it looks like a scam");
        world
            .sql(
                "insert into suppressed_addresses (workspace_id, livemode, address, reason, message_id, at)
                   select workspace_id, true, 'gone@x.example', 'complaint', id, at from messages limit 1",
            )
            .await;
        arrives(&acme, help, &mail("Gone@x.example", "Gone", "", "Hello")).await;
        let mut seen = 0;
        assert!(left(world, &mut seen).await.is_empty(), "{risky:?}");
        // And the very same person, by hand.
        arrives(&acme, help, &plain("Written")).await;
        assert_eq!(left(world, &mut seen).await.len(), 1);
    })
    .await;
}

/// The envelope of a bounce has no sender, whatever its header says.
#[tokio::test]
async fn a_bounce_over_smtp_gets_none() {
    post_with(&[], &[], async |post| {
        set(&post.acme, post.support, &always()).await;
        post.takes(
            "",
            "help@acme.example",
            &mail("Postfix <mailer@x.example>", "Undelivered", "", "It bounced."),
        )
        .await;
        let mut seen = 0;
        assert!(left(post.world, &mut seen).await.is_empty());
        post.takes("ada@x.example", "help@acme.example", &mail("ada@x.example", "Hi", "", "Hello")).await;
        assert!(left(post.world, &mut seen).await.is_empty(), "nobody vouches for her");
    })
    .await;
}

/// SPF speaks for the envelope, and the answer goes to the header: whoever owns a domain could have us write to anybody,
/// with a subject of theirs.
#[tokio::test]
async fn only_whom_their_own_domain_vouches_for_is_answered() {
    let zone = [
        ("evil.example", "v=spf1 ip4:127.0.0.1 -all"),
        ("soft.example", "v=spf1 ~all"),
        ("hard.example", "v=spf1 -all"),
        ("shop.example", "v=spf1 ip4:127.0.0.1 -all"),
        ("bounces.shop.example", "v=spf1 ip4:127.0.0.1 -all"),
    ];
    post_with(&[], &zone, async |post| {
        set(&post.acme, post.support, &always()).await;
        let mut seen = 0;
        for (n, (envelope, header, wanted)) in [
            ("x@evil.example", "victim@nodmarc.example", 0),
            ("ada@soft.example", "ada@soft.example", 0),
            ("ada@hard.example", "ada@hard.example", 0),
            ("ada@nothing.example", "ada@nothing.example", 0),
            ("ada@shop.example", "ada@shop.example", 1),
            ("b77@bounces.shop.example", "eva@shop.example", 1),
        ]
        .into_iter()
        .enumerate()
        {
            let raw = mail(header, &format!("Mail {n}"), "", "Hello");
            post.takes(envelope, "help@acme.example", &raw).await;
            assert_eq!(left(post.world, &mut seen).await.len(), wanted, "{envelope} {header}");
        }
    })
    .await;
}

/// Mails that nobody answers are stored together, whatever the inbox is set to; of one sender one leaves the lot.
#[tokio::test]
async fn an_inbox_that_answers_takes_no_lot_apart() {
    let spf = [("customer.example", "v=spf1 ip4:127.0.0.1 -all")];
    post_with(&[("SMTP_PEER_CONNECTIONS", "200")], &spf, async |post| {
        set(&post.acme, post.support, &always()).await;
        let smtp = post.smtp;
        let sent = (0..60).map(|n| async move {
            let from = if n % 2 == 0 { "anna@customer.example" } else { "news@list.example" };
            let raw = mail(from, &format!("One {n}"), "", "Hello?");
            Client::greeted(smtp).await.mail(from, "help@acme.example", &raw).await.code
        });
        assert!(join_all(sent).await.iter().all(|code| *code == 250));
        // A row keeps the transaction that wrote it.
        let together = "select coalesce(max(n), 0) from (select count(*) as n from messages
                        where direction = 'inbound' group by xmin::text) lots";
        assert!(post.world.scalar(together).await > 1, "each was stored alone");
        assert_eq!(post.count().await, 60);
        let mut seen = 0;
        assert_eq!(left(post.world, &mut seen).await.len(), 1);
    })
    .await;
}

/// A ticket system without manners: a new address for each mail, in one conversation or in a new one each time.
#[tokio::test]
async fn ever_new_addresses_do_not_keep_a_loop_going() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        set(&acme, help, &always()).await;
        let first = mail("reply+0@tickets.example", "Ticket", "", "We got your mail.");
        let stored = arrives(&acme, help, &first).await;
        for n in 1..6 {
            let mut delivery =
                delivered(&acme, help, &mail(&format!("n{n}@tickets.example"), &format!("In {n}"), "", "Hi"))
                    .await;
            delivery.joins = Some(stored.conversation);
            receive(&world.app, acme.id, delivery).await.unwrap();
            let tagged =
                mail(&format!("reply+{n}@tickets.example"), &format!("New {n}"), "", "We got your mail.");
            arrives(&acme, help, &tagged).await;
        }
        let mut seen = 0;
        assert_eq!(left(world, &mut seen).await.len(), 1);
        // The next day, and somebody who only begins alike.
        world.wait(TimeDelta::hours(25));
        for from in ["reply+9@tickets.example", "replyto+1@tickets.example", "reply+1@other.example"] {
            arrives(&acme, help, &mail(from, from, "", "Hello")).await;
        }
        assert_eq!(left(world, &mut seen).await.len(), 3);
    })
    .await;
}

/// Nobody goes on answering in the words of who left.
#[tokio::test]
async fn a_private_inbox_that_is_handed_over_answers_nobody() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (mia, ada) = (acme.person("Mia", Role::Member).await, acme.person("Ada", Role::Member).await);
        let by = By::System;
        let inbox = mailboxes::create(&world.app, acme.id, &by, "mia@acme.example", "Mia", Some(mia)).await.unwrap();
        world
            .sql(
                "insert into auto_replies (workspace_id, mailbox_id, is_on, outside, subject, body, hours, changed_at)
                 select workspace_id, id, true, false, '', 'Mia is away.', '[null,null,null,null,null,null,null]', now()
                 from mailboxes where address = 'mia@acme.example'",
            )
            .await;
        let mut seen = 0;
        arrives(&acme, inbox, &mail("ada@x.example", "Before", "", "Hello")).await;
        assert_eq!(left(world, &mut seen).await.len(), 1);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        mailboxes::hand_over(&mut tx, mia, Some(ada)).await.unwrap();
        tx.commit().await.unwrap();
        arrives(&acme, inbox, &mail("bob@x.example", "After", "", "Hello")).await;
        assert!(left(world, &mut seen).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_hours_are_those_of_the_workspaces_clock() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let hours = AutoReply { outside: true, hours: Hours::usual(), ..always() };
        set(&acme, help, &hours).await;
        world.sql("update workspaces set time_zone = 'Europe/Berlin'").await;
        let mut seen = 0;
        // The clocks go forward on Sunday 30 March 2031: nine on Friday is 08:00 UTC, on Monday 07:00.
        for (n, (now, wanted)) in [
            ("2031-03-28T07:59:00Z", 1),
            ("2031-03-28T08:01:00Z", 0),
            ("2031-03-28T16:01:00Z", 1),
            ("2031-03-30T10:00:00Z", 1),
            ("2031-03-31T06:59:00Z", 1),
            ("2031-03-31T07:01:00Z", 0),
            ("2031-03-31T15:01:00Z", 1),
        ]
        .into_iter()
        .enumerate()
        {
            let now: DateTime<Utc> = now.parse().unwrap();
            world.wait(now - world.now());
            world.work().await;
            arrives(&acme, help, &mail(&format!("c{n}@x.example"), &format!("Mail {n}"), "", "Hello")).await;
            assert_eq!(left(world, &mut seen).await.len(), wanted, "{now}");
        }
    })
    .await;
}

/// Ten mails of the service's own a day to one address, whichever inboxes they come from.
#[tokio::test]
async fn many_inboxes_do_not_make_many_mails() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for n in 0..12 {
            let inbox = acme.mailbox(&format!("i{n}@acme.example"), "Inbox").await;
            set(&acme, inbox, &always()).await;
            arrives(&acme, inbox, &mail("ada@x.example", &format!("To {n}"), "", "Hello")).await;
        }
        let mut seen = 0;
        assert_eq!(left(world, &mut seen).await.len(), 10);
    })
    .await;
}
