//! Telling people in the app while the mail about what they have not read is written: nobody blocks anybody, and nothing
//! that somebody was told of is forgotten.

use std::time::Duration;

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::notifications::{choices, digest};
use rookery_core::conversations::{lock, mentions, notes, release_held};
use rookery_core::workspace::people::{self, Person, Role};

use rookery_world::{Workspace, World, story, story_with};

const A_MOMENT: Duration = Duration::from_millis(300);

async fn desk(world: &World) -> (Workspace<'_>, MailboxId, PersonId, PersonId) {
    let acme = world.workspace("Acme").await;
    let (ann, tom) = (acme.person("Ann", Role::Member).await, acme.person("Tom", Role::Member).await);
    let help = acme.mailbox("help@acme.test", "Help").await;
    (acme, help, ann, tom)
}

async fn teammate(tx: &mut Tx<'_>, id: PersonId) -> Person {
    let workspace = tx.workspace();
    people::teammate(tx, workspace, id).await.unwrap()
}

/// The owner writes a note, in a transaction that is still open.
async fn writes(tx: &mut Tx<'_>, acme: &Workspace<'_>, conversation: ConversationId, body: &str) {
    let owner = teammate(tx, acme.owner).await;
    let locked = lock::lock_visible(tx, &owner, &conversation.to_string()).await.unwrap();
    notes::add(tx, &locked, &owner, body).await.expect("a note");
}

async fn notes(acme: &Workspace<'_>, conversation: ConversationId, body: &str) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    writes(&mut tx, acme, conversation, body).await;
    tx.commit().await.unwrap();
}

async fn writes_the_mail(acme: &Workspace<'_>, person: PersonId) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    digest::write(&mut tx, person).await.expect("the mail is written");
    tx.commit().await.unwrap();
}

/// What Tom was told by mail.
fn mails(world: &World) -> Vec<String> {
    let letters = world.outbox.letters().into_iter().filter(|letter| letter.to.starts_with("tom@"));
    letters.map(|letter| letter.text).collect()
}

#[tokio::test]
async fn a_note_and_the_mail_about_what_is_unread_do_not_block_each_other() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, ann, tom) = desk(world).await;
        let id = acme.mail(help, "kim@customer.test", "Order", "Hello.").await;
        notes(&acme, id, "@Ann @Tom look").await;
        world.wait(TimeDelta::minutes(11));
        // Ann's timer is in somebody's hands, so that the note waits before it is through.
        let mut busy = world.app.begin(acme.id).await.unwrap();
        sqlx::query("select from notification_mail where person_id = $1 for update")
            .bind(ann.0)
            .fetch_one(&mut *busy)
            .await
            .unwrap();
        let mailing = async {
            tokio::time::sleep(A_MOMENT).await;
            writes_the_mail(&acme, tom).await;
        };
        let letting_go = async {
            tokio::time::sleep(2 * A_MOMENT).await;
            busy.commit().await.unwrap();
        };
        tokio::join!(notes(&acme, id, "@Ann @Tom again"), mailing, letting_go);
        let unread: i64 = sqlx::query_scalar(
            "select count(*) from notifications where person_id = $1 and mailed_at is null",
        )
        .bind(tom.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(unread, 1, "the note came after the mail");
        world.wait(TimeDelta::hours(2));
        world.work().await;
        assert_eq!(mails(world).len(), 2, "and is told of by the next");
    })
    .await;
}

#[tokio::test]
async fn two_who_tell_the_same_people_do_not_wait_for_each_other() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, ..) = desk(world).await;
        let one = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let two = acme.mail(help, "kim@customer.test", "Two", "Hello.").await;
        notes(&acme, one, "@Tom").await;
        let mut slow = world.app.begin(acme.id).await.unwrap();
        writes(&mut slow, &acme, one, "@Ann @Tom, slowly").await;
        let quick = tokio::time::timeout(Duration::from_secs(2), notes(&acme, two, "@Tom, quickly")).await;
        assert!(quick.is_ok(), "it waited for the other");
        slow.commit().await.unwrap();
    })
    .await;
}

/// The timer was running when somebody was told, and ran out before that was committed.
#[tokio::test]
async fn the_mail_waits_for_whoever_is_telling_and_forgets_nothing() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, _, tom) = desk(world).await;
        let one = acme.mail(help, "kim@customer.test", "One", "Hello.").await;
        let two = acme.mail(help, "kim@customer.test", "Two", "Hello.").await;
        notes(&acme, one, "@Tom").await;
        world.wait(TimeDelta::minutes(11));
        let mut slow = world.app.begin(acme.id).await.unwrap();
        writes(&mut slow, &acme, two, "@Tom").await;
        let committing = async {
            tokio::time::sleep(A_MOMENT).await;
            slow.commit().await.unwrap();
        };
        tokio::join!(writes_the_mail(&acme, tom), committing);
        world.work().await;
        let told = mails(world);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("One: ") && told[0].contains("Two: "), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_into_one_mail_is_in_the_next_and_what_was_held_after_its_release() {
    story(async |world| {
        let (acme, help, ..) = desk(world).await;
        for number in 0..25 {
            let id = acme.mail(help, "kim@customer.test", &format!("Order {number}."), "Hello.").await;
            world.wait(TimeDelta::seconds(1));
            notes(&acme, id, "@Tom").await;
        }
        let held = acme.mail(help, "kim@customer.test", "You have won", "Hello.").await;
        acme.set(held, "risk = 'scam', risk_reasons = '{x}', held_at = created_at").await;
        notes(&acme, held, "@Tom is this real?").await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(mails(world).len(), 1);
        world.wait(TimeDelta::minutes(61));
        world.work().await;
        let told = mails(world);
        assert_eq!(told.len(), 2);
        assert!(told[0].contains("Order 19.") && !told[0].contains("Order 20."));
        assert!(
            told[1].contains("Order 20.") && told[1].contains("Order 24.") && !told[1].contains("Order 19.")
        );
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(mails(world).len(), 2, "each once");

        let mut tx = world.app.begin(acme.id).await.unwrap();
        let owner = teammate(&mut tx, acme.owner).await;
        assert!(release_held::release(&mut tx, &owner, &held.to_string()).await.unwrap());
        tx.commit().await.unwrap();
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let told = mails(world);
        assert!(told.len() == 3 && told[2].contains("You have won"), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn where_somebody_was_mentioned_is_listed_for_them_whether_they_are_told_of_it_or_not() {
    story(async |world| {
        let (acme, help, _, tom) = desk(world).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let tom = teammate(&mut tx, tom).await;
        choices::choose(&mut tx, &tom, None, "mentioned", Some("off")).await.unwrap();
        tx.commit().await.unwrap();
        let mut ids = Vec::new();
        for number in 0..3 {
            ids.push(acme.mail(help, "kim@customer.test", &format!("Order {number}"), "Hello.").await);
        }
        for number in [0, 1, 2, 0] {
            world.wait(TimeDelta::minutes(1));
            notes(&acme, ids[number], "@Tom").await;
        }
        let mut conn = world.app.connection().await.unwrap();
        let mut listed = Vec::new();
        let mut before = None;
        // A page of one at a time: each conversation once, at its newest mention.
        while let Some(place) = mentions::list(&mut conn, &tom, before, 1).await.unwrap().pop() {
            listed.push(place.id);
            before = Some(place);
        }
        assert_eq!(listed, [ids[0], ids[2], ids[1]]);
        drop(conn);
        let page = world.browser(acme.id, tom.id).await.get("/inbox?view=mentioned").await.page();
        assert!(ids.iter().all(|id| page.contains(&format!("id=\"{id}\""))), "{page}");
        let told = world.browser(acme.id, tom.id).await.get("/notices").await.page();
        assert!(told.contains("You’re all caught up"), "{told}");
    })
    .await;
}
