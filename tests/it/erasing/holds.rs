//! Holds: they cover every conversation that somebody is in, against an erasure of anybody, against time, and against an
//! erasure that is under way already.

use chrono::TimeDelta;
use rookery_base::error::Error;
use rookery_base::ids::HoldId;
use rookery_core::conversations::keeping::holds::{self, Covers};
use rookery_core::conversations::keeping::retention::leaving;
use rookery_mail::incoming::delivery::Received;
use rookery_product::replies::merge::merge;
use rookery_upkeep::erasures::ask;

use super::retention::{ALL, TRASH, subjects};
use rookery_world::canary::CANARY;
use rookery_world::verbs::erasing::{closes, erases, keeps, olga};
use rookery_world::{Message, Mode, Workspace, story};

const ADA: &str = "ada.zanzibarcanary@customer.example";
const BOB: &str = "bob@other.example";

async fn holds(acme: &Workspace<'_>, covers: Covers<'_>) -> HoldId {
    let olga = olga(acme).await;
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let id = holds::place(&mut tx, &olga, "Case 7", covers).await.unwrap();
    tx.commit().await.unwrap();
    id
}

async fn ends(acme: &Workspace<'_>, id: HoldId) {
    let olga = olga(acme).await;
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    holds::end(&mut tx, &olga, id).await.unwrap();
    tx.commit().await.unwrap();
}

/// A mail of somebody with somebody else in copy.
fn with_copy(from: &str, copy: &str, subject: &str) -> String {
    format!(
        "Message-ID: <{}@x.example>\nFrom: {from}\nTo: help@acme.example\nCc: {copy}\nSubject: {subject}\n\nHello.\n",
        subject.replace(' ', "-")
    )
}

/// proves: APP-12
#[tokio::test]
async fn a_hold_on_somebody_keeps_every_conversation_they_are_in_from_time() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let olga = olga(&acme).await;
        // Bob's became part of Ada's; Bob writes in Eve's; Bob is in copy; and one that only Ann is in.
        let (took_in, bobs) =
            (acme.mail(help, ADA, "took in", "Hello.").await, acme.mail(help, BOB, "gone", "Hello.").await);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        merge(&mut tx, &olga, took_in, bobs).await.unwrap();
        tx.commit().await.unwrap();
        let Received::Stored(copied) = acme.receives(help, &with_copy("eve@x.example", BOB, "in copy")).await
        else {
            panic!("stored")
        };
        let free = acme.mail(help, "ann@x.example", "free", "Hello.").await;
        // Mail that is still to leave, and a draft of an agent that nobody approved.
        let scheduled = acme.mail(help, "sue@x.example", "scheduled", "Hello.").await;
        acme.outbound(scheduled, Message { status: "scheduled", text: "Later.", rfc_message_id: None }).await;
        let drafted = acme.mail(help, "dan@x.example", "drafted", "Hello.").await;
        key.drafts(drafted, "Shall I?").await;
        for id in [took_in, copied.conversation, free, scheduled, drafted] {
            closes(&acme, id).await;
        }
        holds(&acme, Covers::Contact(BOB)).await;
        keeps(&acme, help, Some(30)).await;
        world.wait(TimeDelta::days(25));
        let counted = leaving(&mut world.app.connection().await.unwrap(), &olga, world.now()).await.unwrap();
        assert_eq!(
            counted.iter().map(|inbox| inbox.soon.n).collect::<Vec<_>>(),
            [1],
            "what stays is not counted"
        );
        world.wait(TimeDelta::days(7));
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, ["free"]);
        // A hold takes out what lies there already.
        let late = holds(&acme, Covers::Contact("ann@x.example")).await;
        world.wait(TimeDelta::days(9));
        world.work().await;
        assert_eq!(subjects(world, ALL).await, ["drafted", "free", "in copy", "scheduled", "took in"]);
        ends(&acme, late).await;
        world.work().await;
        world.wait(TimeDelta::days(8));
        world.work().await;
        assert_eq!(subjects(world, ALL).await, ["drafted", "in copy", "scheduled", "took in"]);
        let mail = world.scalar("select count(*) from messages where from_email = 'bob@other.example'").await;
        assert_eq!(mail, 1, "what Bob wrote is there");
        world.sql("update messages set due_at = null, status = 'failed' where status = 'scheduled'").await;
    })
    .await;
}

/// proves: APP-12
#[tokio::test]
async fn a_hold_on_one_contact_stands_against_erasing_another_who_shares_mail_with_them() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = olga(&acme).await;
        let Received::Stored(shared) = acme.receives(help, &with_copy(BOB, ADA, "shared")).await else {
            panic!("stored")
        };
        let own = acme.mail(help, ADA, "hers", "Hello.").await.to_string();
        let shared = shared.conversation.to_string();
        let asks = async || {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            ask::erase(&mut tx, &olga, ADA, "").await
        };
        for covers in [
            Covers::Contact(BOB),
            Covers::Conversation(&shared),
            Covers::Conversation(&own),
            Covers::Everything,
        ] {
            let id = holds(&acme, covers).await;
            assert!(matches!(asks().await, Err(Error::Conflict(_))), "{covers:?}");
            ends(&acme, id).await;
            assert!(asks().await.is_ok(), "{covers:?}");
        }
        // Somebody who has nothing to do with her.
        holds(&acme, Covers::Contact("eve@x.example")).await;
        assert!(asks().await.is_ok());
        // Bob can be neither deleted with a conversation of his.
        holds(&acme, Covers::Contact(BOB)).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let deleted = rookery_upkeep::erasures::conversation::delete(&mut tx, &olga, &shared).await;
        assert!(matches!(deleted, Err(Error::Conflict(_))), "{deleted:?}");
    })
    .await;
}

/// proves: APP-12
#[tokio::test]
async fn a_hold_that_is_placed_while_an_erasure_is_under_way_stops_it_and_stands() {
    for what in ["ada", "bob", "conversation", "everything"] {
        story(async |world| {
            let acme = world.workspace("Acme").await;
            let help = acme.mailbox("help@acme.example", "Help").await;
            let owner = world.browser(acme.id, acme.owner).await;
            acme.receives(help, &with_copy(BOB, ADA, "shared")).await;
            let own = acme.mail(help, ADA, "hers", &format!("I am {CANARY}.")).await.to_string();
            erases(&acme, ADA).await;
            let id = match what {
                "ada" => holds(&acme, Covers::Contact(ADA)).await,
                "bob" => holds(&acme, Covers::Contact(BOB)).await,
                "conversation" => holds(&acme, Covers::Conversation(&own)).await,
                _ => holds(&acme, Covers::Everything).await,
            };
            world.works().await.ok();
            let hers = world.scalar("select count(*) from messages where text like 'I am%'").await;
            let bobs = world
                .scalar("select count(*) from messages where from_email like 'bob@%' and raw is not null")
                .await;
            // A hold on Bob keeps what Bob is in; what Ada alone is in goes.
            assert_eq!((hers, bobs), (i64::from(what != "bob"), 1), "{what}");
            let page = owner.get("/settings/data").await.page();
            assert!(page.contains("stopped by a hold") && page.contains("Case 7"), "{what}: {page}");
            assert_eq!(world.scalar("select count(*) from holds where ended_at is null").await, 1, "{what}");
            ends(&acme, id).await;
            world.wait(TimeDelta::minutes(20));
            world.work().await;
            world.work().await;
            assert_eq!(world.left_of_canary().await, [] as [String; 0], "{what}");
            assert_eq!(world.scalar("select count(*) from erasures where done_at is not null").await, 1);
        })
        .await;
    }
}

/// Whoever removes what is over waits for a hold that is being placed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_takes_nothing_while_a_hold_is_being_placed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let olga = olga(&acme).await;
        let id = acme.mail(help, BOB, "over", "Hello.").await;
        closes(&acme, id).await;
        keeps(&acme, help, Some(30)).await;
        world.wait(TimeDelta::days(32));
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, ["over"]);
        world.wait(TimeDelta::days(8));
        let mut placing = world.app.begin(acme.id).await.unwrap();
        holds::place(&mut placing, &olga, "Case 7", Covers::Contact(BOB)).await.unwrap();
        let placed = async {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            placing.commit().await.unwrap();
        };
        tokio::join!(world.work(), placed);
        assert_eq!(subjects(world, ALL).await, ["over"]);
    })
    .await;
}
