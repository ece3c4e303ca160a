//! Whom mail went to, what somebody has not read and what they are writing stays true when two conversations become one,
//! also when others do something at the same moment.

use std::time::Duration;

use chrono::TimeDelta;
use rookery_base::error::Result;
use rookery_base::ids::{ConversationId, DraftId, PersonId};
use rookery_base::store::db::Tx;
use rookery_core::conversations::conversation::find_visible;
use rookery_core::conversations::lock::{lock_any, lock_visible};
use rookery_core::conversations::messages::sending;
use rookery_core::conversations::notifications::follows;
use rookery_core::conversations::unread;
use rookery_core::workspace::people::{self, Person, Role};
use rookery_product::replies::drafts::{self, DraftKind, DraftWords, Save, Saved};
use rookery_product::replies::merge::merge;
use rookery_product::replies::ready;
use serde_json::json;

use super::{desk, merges, refusal, with_file};
use rookery_world::{Workspace, World, story, story_with};

const A_MOMENT: Duration = Duration::from_millis(300);

async fn teammate(tx: &mut Tx<'_>, id: PersonId) -> Person {
    let workspace = tx.workspace();
    people::teammate(tx, workspace, id).await.unwrap()
}

async fn after(world: &World, time: TimeDelta) {
    world.wait(time);
    world.work().await;
}

#[tokio::test]
async fn a_reminder_goes_to_whom_the_request_went_and_never_to_the_contact_of_the_one_that_stays() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept = acme.mail(help, "bob@y.example", "Question", "Hello.").await;
        let gone = acme.mail(help, "ada@x.example", "Loan", "Hello.").await;
        let documents = json!([{ "label": "Passport" }]);
        key.replies(gone, json!({ "body": "Please.", "documents": documents, "send": true })).await;
        after(world, TimeDelta::minutes(11)).await;
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        for days in [2, 2, 3] {
            after(world, TimeDelta::days(days)).await;
        }
        let letters = world.outbox.letters();
        let reached: Vec<&str> = letters.iter().map(|letter| letter.to.as_str()).collect();
        assert_eq!(reached, ["ada@x.example"; 4], "the request and three reminders");
        assert!(letters[3].text.contains("/upload/") && letters[3].copies.all().next().is_none());
        let read = key.conversation(kept).await;
        let named: Vec<_> = read["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["direction"] == "outbound")
            .collect();
        assert_eq!(named.len(), 4);
        assert!(named.iter().all(|message| message["to"] == json!(["ada@x.example"])), "{read}");

        // Nobody knows any more whom it went to: nobody is reminded.
        key.replies(kept, json!({ "body": "Please.", "documents": documents, "send": true })).await;
        after(world, TimeDelta::minutes(11)).await;
        world.sql("update document_requests set message_id = null where state = 'open'").await;
        after(world, TimeDelta::days(3)).await;
        assert_eq!(world.outbox.letters().len(), 5);
    })
    .await;
}

#[tokio::test]
async fn mail_of_ours_names_who_got_it_when_the_contact_is_another_from_now_on() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let first = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let second = acme.mail(help, "bob@y.example", "Two", "Hello.").await;
        let third = acme.mail(help, "carl@z.example", "Three", "Hello.").await;
        let mut sent = Vec::new();
        for (id, to) in [(first, "ada@x.example"), (second, "bob@y.example"), (third, "carl@z.example")] {
            sent.push((key.sends(id, "Soon.").await, to));
        }
        after(world, TimeDelta::minutes(11)).await;
        merges(&acme, acme.owner, second, first).await.unwrap();
        merges(&acme, acme.owner, third, second).await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let locked = lock_any(&mut tx, third).await.unwrap();
        for (message, to) in sent {
            assert_eq!(key.message(third, &message).await["to"], json!([to]), "by REST");
            let id = message.parse().unwrap();
            let told = sending::recipients(&mut tx, &locked, id).await.unwrap();
            assert_eq!(told.iter().map(|one| one.address.as_str()).collect::<Vec<_>>(), [to], "a bounce");
            let answered = ready::answered(&mut tx, acme.id, &locked, Some(id)).await.unwrap().unwrap();
            assert_eq!(answered.headed.to, [to], "writing once more");
        }
    })
    .await;
}

#[tokio::test]
async fn what_somebody_has_not_read_of_either_is_unread_in_the_whole_and_nothing_else_is() {
    story(async |world| {
        let (acme, help, _) = desk(world).await;
        let [mia, noa, pia] = [
            acme.person("Mia", Role::Member).await,
            acme.person("Noa", Role::Member).await,
            acme.person("Pia", Role::Member).await,
        ];
        let gone = acme.mail(help, "ada@x.example", "One", "Half past nine.").await;
        world.wait(TimeDelta::minutes(30));
        let kept = acme.mail(help, "ada@x.example", "Two", "Ten.").await;
        world.wait(TimeDelta::minutes(1));
        let opens = async |person: PersonId, id: ConversationId| {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let (person, now) = (teammate(&mut tx, person).await, tx.now());
            let found = find_visible(&mut tx, &person, now, &id.to_string()).await.unwrap();
            unread::seen(&mut tx, &person, &found).await.unwrap();
            tx.commit().await.unwrap();
        };
        // Mia knows one of them, Noa both, Pia the one that goes.
        opens(mia, kept).await;
        for id in [kept, gone] {
            opens(noa, id).await;
        }
        opens(pia, gone).await;
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        for (person, expected) in [(mia, true), (noa, false), (pia, true), (acme.owner, true)] {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let person = teammate(&mut tx, person).await;
            let found = unread::among(&mut tx, &person, world.now(), &[kept.0]).await.unwrap();
            assert_eq!(!found.is_empty(), expected, "{}", person.name);
        }
    })
    .await;
}

fn writes<'a>(draft: i64, kind: DraftKind, body: &str) -> Save<'a> {
    let words = DraftWords { body: body.into(), seen: 1, ..DraftWords::default() };
    Save { draft: DraftId(draft), kind, base: 0, page: "page", save: 1, over: false, words }
}

/// Somebody saves what they write in a conversation that they found before.
async fn saves(tx: &mut Tx<'_>, person: &Person, found: ConversationId, save: &Save<'_>) -> Result<Saved> {
    let now = tx.now();
    let conversation = find_visible(tx, person, now, &found.to_string()).await?;
    drafts::save(tx, person, Some(&conversation), save).await
}

#[tokio::test]
async fn what_people_write_and_follow_moves_with_it() {
    story(async |world| {
        let (acme, help, _) = desk(world).await;
        let [mia, noa] = [acme.person("Mia", Role::Member).await, acme.person("Noa", Role::Member).await];
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let gone = acme.mail(help, "ada@x.example", "Two", "Hello.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let (mia, noa) = (teammate(&mut tx, mia).await, teammate(&mut tx, noa).await);
        saves(&mut tx, &mia, gone, &writes(1, DraftKind::Reply, "Dear Ada")).await.unwrap();
        for (person, id, following) in [(&mia, gone, true), (&noa, kept, false), (&noa, gone, true)] {
            let locked = lock_visible(&mut tx, person, &id.to_string()).await.unwrap();
            follows::follow(&mut tx, &locked, person, following).await.unwrap();
        }
        tx.commit().await.unwrap();
        merges(&acme, acme.owner, kept, gone).await.unwrap();

        let mut tx = world.app.begin(acme.id).await.unwrap();
        let now = tx.now();
        let found = find_visible(&mut tx, &mia, now, &kept.to_string()).await.unwrap();
        let draft =
            drafts::of_conversation(&mut tx, None, &mia, &found, DraftKind::Reply).await.unwrap().unwrap();
        assert_eq!((draft.id, draft.words.body.as_str()), (DraftId(1), "Dear Ada"));
        assert_eq!(draft.words.seen, 0, "nobody has seen the whole yet");
        assert!(unread::standing(&mut tx, &mia, &found).await.unwrap().is_following);
        let stopped = unread::standing(&mut tx, &noa, &found).await.unwrap();
        assert!(!stopped.is_following, "who stopped has stopped");
    })
    .await;
}

#[tokio::test]
async fn somebody_who_begins_to_write_while_two_are_merged_loses_nothing_and_sees_no_error() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, _) = desk(world).await;
        let kept = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        let gone = acme.mail(help, "ada@x.example", "Two", "Hello.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let olga = teammate(&mut tx, acme.owner).await;
        let now = tx.now();
        let found = find_visible(&mut tx, &olga, now, &gone.to_string()).await.unwrap();
        merge(&mut tx, &olga, kept, gone).await.unwrap();
        let saving = async {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let save = writes(1, DraftKind::Reply, "Dear Ada");
            drafts::save(&mut tx, &olga, Some(&found), &save).await.unwrap();
            tx.commit().await.unwrap();
        };
        let committing = async {
            tokio::time::sleep(A_MOMENT).await;
            tx.commit().await.unwrap();
        };
        tokio::join!(saving, committing);
        assert_eq!(written(&acme).await, [(kept.0, "Dear Ada".to_owned())]);

        // In both, the second of them after it was looked at.
        let third = acme.mail(help, "ada@x.example", "Three", "Hello.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        saves(&mut tx, &olga, third, &writes(2, DraftKind::Reply, "Dear A.")).await.unwrap();
        let merging = refusal(&acme, third, kept);
        let committing = async {
            tokio::time::sleep(A_MOMENT).await;
            tx.commit().await.unwrap();
        };
        let (refused, ()) = tokio::join!(merging, committing);
        assert!(refused.contains("begun to write in both"), "{refused}");
    })
    .await;
}

async fn written(acme: &Workspace<'_>) -> Vec<(i64, String)> {
    let select = "select conversation_id, body from written_drafts order by id";
    sqlx::query_as(select).fetch_all(&acme.world.app.pool).await.unwrap()
}

/// What one of them asks for leads, by then, to a conversation that comes later in the order.
#[tokio::test]
async fn merges_of_what_is_merged_meanwhile_block_nobody() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, key) = desk(world).await;
        let mut ids = Vec::new();
        for number in 0..3 {
            ids.push(acme.mail(help, "ada@x.example", &format!("Mail {number}"), "Hello.").await);
        }
        let [low, middle, high] = [ids[0], ids[1], ids[2]];
        let mut first = world.app.begin(acme.id).await.unwrap();
        let olga = teammate(&mut first, acme.owner).await;
        merge(&mut first, &olga, high, low).await.unwrap();
        let mut third = world.app.begin(acme.id).await.unwrap();
        lock_visible(&mut third, &olga, &middle.to_string()).await.unwrap();
        let second = merges(&acme, acme.owner, middle, low);
        let others = async {
            tokio::time::sleep(A_MOMENT).await;
            first.commit().await.unwrap();
            tokio::time::sleep(A_MOMENT).await;
            lock_visible(&mut third, &olga, &high.to_string()).await.expect("nobody holds it");
            third.commit().await.unwrap();
        };
        let (second, ()) = tokio::join!(second, others);
        assert_eq!(second.unwrap(), middle);
        for id in ids {
            assert_eq!(key.conversation(id).await["id"], middle.to_string());
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_that_both_have_is_there_once_under_the_id_of_the_one_that_stays() {
    story(async |world| {
        let (acme, help, key) = desk(world).await;
        let kept =
            super::stored(acme.receives(help, &with_file("ada@x.example", "first", "%PDF same")).await);
        let gone =
            super::stored(acme.receives(help, &with_file("ada@x.example", "second", "%PDF same")).await);
        let listed = async || -> Vec<(String, String)> {
            let files = key.get("/documents").await.json();
            let field = |file: &serde_json::Value, name: &str| file[name].as_str().unwrap().to_owned();
            files
                .as_array()
                .unwrap()
                .iter()
                .map(|file| (field(file, "conversationId"), field(file, "id")))
                .collect()
        };
        let before = listed().await;
        let own = before.iter().find(|(of, _)| *of == kept.to_string()).unwrap().clone();
        assert_eq!(before.len(), 2);
        merges(&acme, acme.owner, kept, gone).await.unwrap();
        assert_eq!(listed().await, [own]);
    })
    .await;
}
