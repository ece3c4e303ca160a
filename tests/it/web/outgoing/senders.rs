//! The address that a mail leaves from: an answer begins with the one that was written to, its writer may choose another of the same
//! inbox and none of anybody else's, and one that was removed meanwhile is not used. Who could be meant by a recipient is told of
//! what somebody can see.

use rookery_base::ids::{ConversationId, MailboxId, MessageId};
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::workspace::access::By;
use rookery_core::workspace::people::Role;
use rookery_mail::outgoing::domain;
use serde_json::Value;

use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, inbox, leaves, mail, reply, write};
use rookery_world::{Mode, Workspace, World, story};

const OWN: &str = "help@acme.example";
const SALES: &str = "sales@acme.example";

async fn changes(browser: &Browser<'_>, inbox: MailboxId, how: &str, address: &str) {
    let path = format!("/settings/inboxes/{inbox}/aliases{how}");
    assert_eq!(browser.post(&path, &[("alias", address)]).await.status, 303, "{address}");
}

async fn written_to(acme: &Workspace<'_>, inbox: MailboxId, to: &str, subject: &str) -> ConversationId {
    let headers = format!(
        "Message-ID: <{subject}@customer.example>\nFrom: Ada <ada@customer.example>\nTo: {to}\nSubject: {subject}"
    );
    mail(acme, inbox, &headers, "Hello?").await
}

async fn sends(browser: &Browser<'_>, id: ConversationId, composer: Composer) -> Shown {
    composer.set("body", "Ten.").press(browser, &write(id), ("do", "send")).await
}

/// Where everything left from that left until now.
async fn left_from(world: &World) -> Vec<String> {
    leaves(world).await;
    world.outbox.letters().into_iter().map(|letter| letter.from).collect()
}

#[tokio::test]
async fn an_answer_leaves_from_the_address_that_was_written_to_and_is_answered_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let olga = world.browser(acme.id, acme.owner).await;
        let before = written_to(&acme, help, SALES, "Before").await;
        assert!(!Composer::open(&olga, &reply(before)).await.has("from"), "there is no choice");
        changes(&olga, help, "", SALES).await;
        let id = written_to(&acme, help, "bob@customer.example, Sales+7@ACME.example", "Price").await;
        let composer = Composer::open(&olga, &reply(id)).await;
        assert_eq!(composer.get("from"), SALES);
        let sent = sends(&olga, id, composer).await;
        assert!(sent.location().contains("done=sends"), "{}", sent.location());
        let page = olga.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("&lt;sales@acme.example&gt;"), "{page}");
        assert_eq!(left_from(world).await, [SALES]);
        let gone = &world.outbox.mails()[0];
        let raw = String::from_utf8(gone.raw.clone()).unwrap();
        assert!(raw.contains("<sales@acme.example>") && !raw.contains(OWN), "{raw}");
        assert!(gone.return_path.starts_with("sales+r="), "{}", gone.return_path);
        // What comes back belongs to it: the customer's answer, and a bounce.
        let headers = format!(
            "From: ada@customer.example\nTo: {SALES}\nSubject: Re: Price\nIn-Reply-To: <{}>",
            world.outbox.letters()[0].rfc_message_id
        );
        assert_eq!(mail(&acme, help, &headers, "Thanks.").await, id);
        let bounce = "From: MAILER-DAEMON@mx.example\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n\
                      --b\n\nFailed.\n--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n\
                      Final-Recipient: rfc822; ada@customer.example\nAction: failed\nStatus: 5.1.1\n--b--\n";
        acme.receives_returned(&gone.return_path, bounce).await;
        assert_eq!(world.scalar("select count(*) from messages where status = 'failed'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn another_address_of_the_inbox_can_be_chosen_and_programs_begin_with_the_same() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let olga = world.browser(acme.id, acme.owner).await;
        changes(&olga, help, "", SALES).await;
        let id = written_to(&acme, help, SALES, "Price").await;
        let own = Composer::open(&olga, &reply(id)).await.set("from", OWN);
        sends(&olga, id, own).await;
        assert_eq!(left_from(world).await, [OWN]);

        let other = written_to(&acme, help, SALES, "Another").await;
        let bot = acme.key("bot", "draft,send,read", Mode::Live).await;
        bot.sends(other, "By a program.").await;
        assert_eq!(left_from(world).await, [OWN, SALES]);
        let draft = bot.drafts(other, "For approval.").await;
        let shown = olga.get(&format!("/approvals/{draft}")).await.page();
        assert!(shown.contains("&#60;sales@acme.example&#62;"), "{shown}");

        let new = Composer::open(&olga, "/compose").await;
        assert_eq!(new.get("mailbox"), help.to_string());
        let new = new.set("mailbox", &format!("{help} {SALES}")).set("to", "bob@customer.example");
        let new = new.set("subject", "An offer").set("body", "Ten.");
        let saved = new.press(&olga, "/compose", ("do", "save")).await;
        let new = Composer::open(&olga, saved.location()).await;
        assert_eq!(new.get("mailbox"), format!("{help} {SALES}"), "the draft keeps it");
        new.press(&olga, "/compose", ("do", "send")).await;
        assert_eq!(left_from(world).await, [OWN, SALES, SALES]);
    })
    .await;
}

#[tokio::test]
async fn what_is_taken_back_and_what_is_sent_again_keep_their_address() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let olga = world.browser(acme.id, acme.owner).await;
        changes(&olga, help, "", SALES).await;
        let id = written_to(&acme, help, OWN, "Price").await;
        let chosen = Composer::open(&olga, &reply(id)).await;
        assert_eq!(chosen.get("from"), OWN);
        let sent = sends(&olga, id, chosen.set("from", SALES)).await;
        let message = sent.location().split("of=").nth(1).unwrap().split('#').next().unwrap().to_owned();
        olga.post(&format!("/messages/{message}/undo"), &[]).await;
        let back = Composer::open(&olga, &reply(id)).await;
        assert_eq!((back.get("from"), back.get("body")), (SALES, "Ten."));
        sends(&olga, id, back).await;
        world.outbox.answers(Handover::Refused(Refusal::Rejected));
        leaves(world).await;
        world.outbox.answers(Handover::Accepted);
        let failed = MessageId(world.scalar("select id from messages where status = 'failed'").await);
        let question = olga.get(&format!("/messages/{failed}/again")).await.page();
        assert!(question.contains("&#60;sales@acme.example&#62;"), "{question}");
        let seen =
            question.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        olga.post(&format!("/messages/{failed}/again"), &[("seen", &seen)]).await;
        assert_eq!(left_from(world).await, [SALES, SALES]);
    })
    .await;
}

#[tokio::test]
async fn an_address_that_was_removed_meanwhile_is_refused_before_the_click_and_not_used_after_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let olga = world.browser(acme.id, acme.owner).await;
        changes(&olga, help, "", SALES).await;
        let id = written_to(&acme, help, SALES, "Price").await;
        let waits = written_to(&acme, help, SALES, "Waiting").await;
        let composer = Composer::open(&olga, &reply(waits)).await;
        sends(&olga, waits, composer).await;
        let composer = Composer::open(&olga, &reply(id)).await;
        changes(&olga, help, "/remove", SALES).await;
        assert_eq!(left_from(world).await, [OWN], "what waited leaves from the inbox's own");

        let stopped = sends(&olga, id, composer).await;
        assert!(stopped.location().contains("check=send"), "{}", stopped.location());
        let page = Composer::open(&olga, stopped.location()).await;
        assert!(page.html.contains("You can’t write from sales@acme.example any more"), "{}", page.html);
        assert_eq!(left_from(world).await, [OWN]);
        sends(&olga, id, page).await;
        assert_eq!(left_from(world).await, [OWN, OWN]);
    })
    .await;
}

#[tokio::test]
async fn nobody_writes_from_an_address_that_is_not_the_inboxs() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let help = inbox(&acme).await;
        let mia = acme.person("Mia", Role::Member).await;
        acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let billing = acme.mailbox("billing@acme.example", "Billing").await;
        other.mailbox("help@other.example", "Other").await;
        let olga = world.browser(acme.id, acme.owner).await;
        changes(&olga, help, "", SALES).await;
        changes(&olga, billing, "", "invoices@acme.example").await;
        let id = written_to(&acme, help, OWN, "Price").await;
        let foreign = [
            "mia@acme.example",
            "billing@acme.example",
            "invoices@acme.example",
            "help@other.example",
            "ceo@bank.example",
            "sales@acme.example\r\nBcc: eve@x.example",
            "; drop",
        ];
        for address in foreign {
            let composer = Composer::open(&olga, &reply(id)).await.set("from", address);
            let stopped = sends(&olga, id, composer).await;
            assert!(stopped.location().contains("check=send"), "{address}: {}", stopped.location());
            let new = Composer::open(&olga, "/compose").await.set("mailbox", &format!("{help} {address}"));
            let new = new.set("to", "bob@customer.example").set("subject", "Hi").set("body", "Ten.");
            let stopped = new.press(&olga, "/compose", ("do", "send")).await;
            assert!(stopped.location().contains("check=send"), "{address}: {}", stopped.location());
        }
        assert!(left_from(world).await.is_empty());
    })
    .await;
}

/// DKIM alignment: receivers would not trust an address of a domain that signs nothing.
#[tokio::test]
async fn an_address_of_another_domain_sends_once_its_dkim_record_was_found_and_is_signed_by_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let olga = world.browser(acme.id, acme.owner).await;
        changes(&olga, help, "", "sales@globex.example").await;
        let id = written_to(&acme, help, "sales@globex.example", "Price").await;
        for findings in [None, Some(r#"[{"purpose": "DKIM", "ok": false}]"#)] {
            if let Some(findings) = findings {
                domain::add(&world.app, acme.id, &By::System, "globex.example").await.unwrap();
                world.sql(&format!("update sending_domains set findings = '{findings}'")).await;
            }
            assert!(!Composer::open(&olga, &reply(id)).await.has("from"), "{findings:?}");
        }
        world.sql(r#"update sending_domains set findings = '[{"purpose": "DKIM", "ok": true}]'"#).await;
        let composer = Composer::open(&olga, &reply(id)).await;
        assert_eq!(composer.get("from"), "sales@globex.example");
        sends(&olga, id, composer).await;
        assert_eq!(left_from(world).await, ["sales@globex.example"]);
        let raw = String::from_utf8(world.outbox.mails()[0].raw.clone()).unwrap();
        assert!(raw.contains("d=globex.example"), "{raw}");
    })
    .await;
}

#[tokio::test]
async fn who_could_be_meant_is_whom_one_can_see_and_no_more_than_eight() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let help = inbox(&acme).await;
        let adele = acme.person("Adele Member", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", adele).await;
        let others = other.mailbox("help@other.example", "Other").await;
        written_to(&acme, help, OWN, "Hi").await;
        mail(&acme, help, "From: \"Bob \\\"The\\\" Adams\" <bob@customer.example>\nSubject: Hi", "Hello")
            .await;
        mail(&acme, private, "From: adsecret@customer.example\nSubject: Hi", "Hello").await;
        mail(&other, others, "From: adforeign@customer.example\nSubject: Hi", "Hello").await;
        let olga = world.browser(acme.id, acme.owner).await;
        let found = async |typed: &str| -> Vec<String> {
            let shown = olga.get(&format!("/compose/people?q={typed}")).await;
            let found: Vec<Value> =
                serde_json::from_str(&shown.html).unwrap_or_else(|_| panic!("{}", shown.html));
            found.iter().map(|one| one["email"].as_str().unwrap().to_owned()).collect()
        };
        let ad = found("Ad").await;
        assert!(ad.contains(&"ada@customer.example".to_owned()), "{ad:?}");
        assert!(ad.contains(&"bob@customer.example".to_owned()), "by a word of the name: {ad:?}");
        assert!(ad.iter().any(|email| email.ends_with("@rookery.example")), "of the team: {ad:?}");
        assert!(!ad.iter().any(|email| email.contains("secret") || email.contains("foreign")), "{ad:?}");
        assert!(found("customer.ex").await.contains(&"ada@customer.example".to_owned()), "by its domain");
        for nothing in ["", "%25", "_", "%20", "zzz", "%27%3B--"] {
            assert_eq!(found(nothing).await, [""; 0], "{nothing}");
        }
        for n in 0..12 {
            acme.mail(help, &format!("many{n}@customer.example"), "Hi", "Hello").await;
        }
        assert_eq!(found("many").await.len(), 8);
    })
    .await;
}
