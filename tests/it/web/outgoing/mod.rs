//! `/outgoing` and the strip: what leaves when, what failed and why, what was stopped; stopping in time, twice and too
//! late.

mod own_mail;
mod senders;

use chrono::TimeDelta;
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::workspace::people::Role;

use rookery_world::{Mode, story};

/// proves: APP-3
#[tokio::test]
async fn scheduled_mail_is_seen_with_its_remaining_time_and_stopped_by_anybody_of_the_team() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        let first = acme.mail(help, "ada@customer.example", "First", "Hello").await;
        let second = acme.mail(help, "ben@customer.example", "Second", "Hello").await;
        let early = bot.sends(first, "On its way.").await;
        world.wait(TimeDelta::seconds(90));
        let late = bot.sends(second, "Also on its way.").await;
        let mia = world.browser(acme.id, mia).await;
        let page = mia.get("/outgoing").await.page();
        assert!(page.contains(">8:30</time>") && page.contains(">10:00</time>"), "{page}");
        assert!(page.find(&format!("out-{early}")) < page.find(&format!("out-{late}")), "the next one first");
        let strip = mia.get("/approvals").await.page();
        assert!(strip.contains("1 more") && strip.contains("ada@customer.example"), "{strip}");

        let stopped = mia.post(&format!("/messages/{early}/undo"), &[]).await;
        assert_eq!(stopped.location(), format!("/conversations/{first}?done=stopped&of={early}"));
        let again = mia.post(&format!("/messages/{early}/undo"), &[]).await;
        assert!(again.location().contains("done=stopped-already"), "{}", again.location());
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        let too_late = mia.post(&format!("/messages/{late}/undo"), &[]).await;
        assert_eq!((too_late.status, too_late.location().contains("done=too-late")), (303, true));
        assert!(mia.get(too_late.location()).await.page().contains("Too late to stop."));
        let letters = world.outbox.letters();
        assert_eq!(letters.iter().map(|letter| letter.message.to_string()).collect::<Vec<_>>(), [late]);
        assert_eq!(bot.message(first, &early).await["text"], "On its way.");
        let page = mia.get("/outgoing").await.page();
        assert!(!page.contains("leaving__box"), "nothing leaves any more: {page}");
    })
    .await;
}

#[tokio::test]
async fn a_stopped_answer_of_a_person_stays_in_sight_and_can_be_sent_after_all() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        let message = bot.sends(id, "Hello Ada.").await;
        // As if she had written it.
        world.sql(&format!("update messages set author_type = 'user', author_id = {}, origin = 'person' where status = 'scheduled'", mia.0)).await;
        let mia = world.browser(acme.id, mia).await;
        acme.undo(acme.owner, &message).await.unwrap();
        assert!(mia.get("/approvals").await.page().contains("No drafts to review"), "it is no draft of an agent");
        let page = mia.get("/outgoing").await.page();
        assert!(page.contains("Stopped") && page.contains(&format!("/approvals/{message}")), "{page}");
        let review = mia.get(&format!("/approvals/{message}")).await.page();
        assert!(review.contains("Hello Ada.") && review.contains("Mia Member"), "{review}");
        let sent = mia.post(&format!("/messages/{message}/approve"), &[("version", "")]).await;
        assert!(sent.location().contains("done=approved"), "{}", sent.location());
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_is_on_its_way_what_failed_and_what_leaves_later_are_told_apart() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(olga.get("/outgoing").await.page().contains("Nothing scheduled"));
        let sends = async |name: &str| {
            let id = acme.mail(help, &format!("{name}@customer.example"), name, "Hello").await;
            bot.sends(id, "Hello").await
        };
        let refused = sends("refused").await;
        world.outbox.answers(Handover::Refused(Refusal::Rejected));
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        let delayed = sends("delayed").await;
        world.outbox.answers(Handover::Later);
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        let later = sends("later").await;
        world
            .sql("update messages set sends_at = sends_at + interval '2 days', due_at = due_at + interval '2 days' where status = 'scheduled'")
            .await;
        let page = olga.get("/outgoing").await.page();
        let section = |name: &str| {
            let from = page.find(&format!(r#"id="{name}""#)).unwrap_or_else(|| panic!("no {name}: {page}"));
            let rest = &page[from..];
            rest[..rest.find("</section>").unwrap_or(rest.len())].to_owned()
        };
        assert!(section("o-failed").contains(&refused) && section("o-failed").contains("refused it."));
        assert!(section("o-way").contains(&delayed) && section("o-way").contains("Tried once"));
        assert!(section("o-later").contains(&later) && section("o-later").contains("8 Jan"));
        assert!(!page.contains(r#"id="o-soon""#) && !page.contains("leaving__box"), "two days are no undo time");
        // What leaves later is stopped like anything else; what failed is forgotten here after a week.
        assert!(olga.post(&format!("/messages/{later}/undo"), &[]).await.location().contains("done=stopped"));
        world.wait(TimeDelta::days(8));
        let page = world.browser(acme.id, acme.owner).await.get("/outgoing").await.page();
        assert!(!page.contains(&refused), "{page}");
    })
    .await;
}
