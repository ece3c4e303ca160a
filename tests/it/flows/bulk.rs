//! Changes of many conversations as one job: what is done, what fails, nodes that die, stopping and taking back.

use std::collections::HashSet;
use std::time::Duration;

use chrono::TimeDelta;
use rookery_base::error::Result;
use rookery_base::ids::{BulkJobId, ConversationId, MailboxId, PersonId};
use rookery_core::conversations::bulk::action::Action;
use rookery_core::conversations::bulk::work::{self, Due};
use rookery_core::conversations::bulk::{self, BulkState, Job};
use rookery_core::conversations::filter::{ConversationFilter, View};
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::unread;
use rookery_core::conversations::views::rows;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::people::{self, Person, Role};
use serde_json::json;

use rookery_world::{Mode, Workspace, World, story, story_with};

const OPEN: ConversationFilter = ConversationFilter {
    view: View::Open,
    mailbox: None,
    assigned: None,
    reference: None,
    words: None,
    before: None,
    since: None,
    limit: 200_000,
};

async fn person(acme: &Workspace<'_>, id: PersonId) -> Person {
    people::teammate(&mut acme.world.app.connection().await.unwrap(), acme.id, id).await.unwrap()
}

async fn desk(world: &World) -> (Workspace<'_>, MailboxId, Person) {
    let acme = world.workspace("Acme").await;
    let help = acme.mailbox("help@acme.example", "Help").await;
    let olga = person(&acme, acme.owner).await;
    (acme, help, olga)
}

async fn starts(
    world: &World,
    person: &Person,
    action: Action,
    picked: &[ConversationId],
) -> Result<BulkJobId> {
    let mut tx = world.app.begin(person.workspace).await?;
    let job = bulk::start(&mut tx, person, &action, picked).await?;
    tx.commit().await?;
    Ok(job)
}

async fn starts_with_all(
    world: &World,
    person: &Person,
    action: Action,
    filter: &ConversationFilter,
) -> Result<BulkJobId> {
    let found = rows::all(&mut *world.app.connection().await?, person, world.now(), filter).await?;
    starts(world, person, action, &found.into_iter().map(ConversationId).collect::<Vec<_>>()).await
}

async fn found(world: &World, person: &Person, job: BulkJobId) -> Result<Job> {
    bulk::find(&mut *world.app.connection().await?, person, job).await
}

async fn undoes(world: &World, person: &Person, job: BulkJobId) -> Result<()> {
    let mut tx = world.app.begin(person.workspace).await?;
    bulk::undo(&mut tx, person, job).await?;
    tx.commit().await
}

async fn statuses(acme: &Workspace<'_>) -> Vec<(String, i64)> {
    sqlx::query_as("select view, count(*) from conversations where workspace_id = $1 group by 1 order by 1")
        .bind(acme.id.0)
        .fetch_all(&acme.world.app.pool)
        .await
        .unwrap()
}

fn counted(view: &str, n: i64) -> (String, i64) {
    (view.to_owned(), n)
}

/// Several batches of the job, and not a whole one at the end.
#[tokio::test]
async fn as_many_conversations_as_match_are_closed_in_one_action() {
    close_in_one_action(1_010).await;
}

#[tokio::test]
#[ignore = "half a minute of PostgreSQL: just bulk"]
async fn ten_thousand_conversations_are_closed_in_one_action() {
    close_in_one_action(10_000).await;
}

async fn close_in_one_action(many: i32) {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        acme.many(help, many.into(), "word").await;
        let began = std::time::Instant::now();
        let job = starts_with_all(world, &olga, Action::Close, &OPEN).await.unwrap();
        let settled = began.elapsed();
        world.work().await;
        let done = found(world, &olga, job).await.unwrap();
        assert_eq!((done.state, done.total, done.done, done.failed), (BulkState::Done, many, many, 0));
        assert_eq!(statuses(&acme).await, [counted("closed", many.into())]);
        println!("{many} conversations: settled in {settled:?}, closed in {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(600), "{:?}", began.elapsed());
    })
    .await;
}

#[tokio::test]
async fn what_matches_later_is_not_touched() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let before = acme.mail(help, "ada@x.example", "Before", "Hello.").await;
        let job = starts_with_all(world, &olga, Action::Close, &OPEN).await.unwrap();
        let after = acme.mail(help, "ada@x.example", "After", "Hello.").await;
        world.work().await;
        assert_eq!(found(world, &olga, job).await.unwrap().total, 1);
        let key = acme.key("bot", "read", Mode::Live).await;
        assert_eq!(key.listed("view=open").await, [after.to_string()]);
        assert_eq!(key.listed("view=closed").await, [before.to_string()]);
    })
    .await;
}

#[tokio::test]
async fn all_that_a_search_finds_in_an_inbox_can_be_changed() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        acme.mail(help, "ada@x.example", "Lantern", "One.").await;
        acme.mail(help, "ada@x.example", "Umbrella", "Two.").await;
        acme.mail(sales, "ada@x.example", "Lantern", "Three.").await;
        world.work().await;
        let words = Some(rookery_base::search_terms::hash_terms(acme.id, ["lantern"]).into());
        let filter = ConversationFilter { mailbox: Some(help), words, ..OPEN };
        starts_with_all(world, &olga, Action::tag(" Light ").unwrap(), &filter).await.unwrap();
        world.work().await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let tags = key.get("/tags").await.json();
        assert_eq!((&tags[0]["name"], &tags[0]["count"]), (&json!("Light"), &json!(1)));
    })
    .await;
}

#[tokio::test]
async fn each_action_does_what_it_does_alone_and_is_taken_back_as_it_was() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let id = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        key.write(&id.to_string(), "status", "set_status", json!({ "status": "waiting" }), 200).await;
        key.write(&id.to_string(), "tags", "tag_conversation", json!({ "add": ["old"] }), 200).await;
        let later = world.now() + TimeDelta::days(3);
        let state = async || {
            let read = key.conversation(id).await;
            let assignee = read["assignee"]["name"].clone();
            json!([read["status"], read["snoozedUntil"], assignee, read["tags"]])
        };
        let before = state().await;
        let until = rookery_base::clock::written(later);
        for (action, after) in [
            (Action::Close, json!(["closed", null, null, ["old"]])),
            (Action::Open, json!(["open", null, null, ["old"]])),
            (Action::Snooze(later), json!(["waiting", until, null, ["old"]])),
            (Action::Assign(MemberId::Person(mia)), json!(["waiting", null, "Mia", ["old"]])),
            (Action::tag("new").unwrap(), json!(["waiting", null, null, ["new", "old"]])),
            (Action::untag("OLD").unwrap(), json!(["waiting", null, null, []])),
        ] {
            let job = starts(world, &olga, action.clone(), &[id]).await.unwrap();
            world.work().await;
            assert_eq!(state().await, after, "{action:?}");
            undoes(world, &olga, job).await.unwrap();
            world.work().await;
            assert_eq!(state().await, before, "{action:?}");
            assert_eq!(found(world, &olga, job).await.unwrap().state, BulkState::Undone);
        }
        let job = starts(world, &olga, Action::Waiting, &[id]).await.unwrap();
        world.work().await;
        let same = found(world, &olga, job).await.unwrap();
        assert_eq!((same.done, same.failed), (1, 0), "what is so already is done");
    })
    .await;
}

#[tokio::test]
async fn one_that_cannot_be_changed_says_why_and_stops_no_other() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let picked = acme.many(help, 5, "word").await;
        acme.set(picked[2], "status = 'closed', announced_turn = 'done'").await;
        let later = world.now() + TimeDelta::days(1);
        let job = starts(world, &olga, Action::Snooze(later), &picked).await.unwrap();
        world.work().await;
        let done = found(world, &olga, job).await.unwrap();
        assert_eq!((done.state, done.done, done.failed), (BulkState::Done, 4, 1));
        let mut conn = world.app.connection().await.unwrap();
        let failures = bulk::failures(&mut conn, &olga, job).await.unwrap();
        assert_eq!(failures[0].conversation, picked[2]);
        assert_eq!(failures[0].problem, "a closed conversation cannot be snoozed");
    })
    .await;
}

/// A row that the database refuses is tried three times, at the end, and named.
#[tokio::test]
async fn one_that_the_database_refuses_is_given_up_and_the_others_are_done() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let picked = acme.many(help, 4, "word").await;
        let refuse = format!(
            "create function refuse() returns trigger language plpgsql as
                 $$ begin raise exception 'poison' using errcode = '22000'; end $$;
             create trigger refuse before update on conversations for each row when (new.id = {})
                 execute function refuse()",
            picked[0].0
        );
        world.sql(&refuse).await;
        let job = starts(world, &olga, Action::Close, &picked).await.unwrap();
        let _ = world.works().await;
        let done = found(world, &olga, job).await.unwrap();
        assert_eq!((done.state, done.done, done.failed), (BulkState::Done, 3, 1));
        world.sql("drop function refuse cascade").await;
    })
    .await;
}

/// Undo takes back what nothing happened to since; mail and colleagues are not overruled.
#[tokio::test]
async fn taking_back_leaves_alone_what_was_touched_since() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let key = acme.key("bot", "write", Mode::Live).await;
        let picked = acme.many(help, 3, "word").await;
        let job = starts(world, &olga, Action::Close, &picked).await.unwrap();
        world.work().await;
        world.wait(TimeDelta::minutes(1));
        key.post(&format!("/conversations/{}/notes", picked[0]), json!({ "body": "Really done." })).await;
        world.wait(TimeDelta::minutes(58));
        undoes(world, &olga, job).await.unwrap();
        world.work().await;
        let undone = found(world, &olga, job).await.unwrap();
        assert_eq!((undone.state, undone.undone), (BulkState::Undone, 2));
        assert_eq!(key.listed("view=closed").await, [picked[0].to_string()]);
        assert_eq!(key.listed("view=open").await.len(), 2);

        let job = starts(world, &olga, Action::Close, &picked[1..]).await.unwrap();
        world.work().await;
        world.wait(TimeDelta::minutes(61));
        assert!(undoes(world, &olga, job).await.unwrap_err().sentence().contains("for an hour"));
        world.wait(TimeDelta::days(3));
        world.work().await;
        assert!(found(world, &olga, job).await.is_err(), "it is forgotten");
    })
    .await;
}

#[tokio::test]
async fn a_job_that_is_stopped_does_no_more_and_what_it_did_can_be_taken_back() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let picked = acme.many(help, 120, "word").await;
        let job = starts(world, &olga, Action::Close, &picked).await.unwrap();
        let due = Due { workspace: acme.id, job, person: olga.id };
        work::some_of(&world.app, due, 2).await.unwrap();
        let mut tx = world.app.begin(acme.id).await.unwrap();
        bulk::cancel(&mut tx, &olga, job).await.unwrap();
        tx.commit().await.unwrap();
        world.work().await;
        let stopped = found(world, &olga, job).await.unwrap();
        assert_eq!((stopped.state, stopped.done), (BulkState::Cancelled, 50));
        assert_eq!(statuses(&acme).await, [counted("closed", 50), counted("open", 70)]);
        undoes(world, &olga, job).await.unwrap();
        world.work().await;
        assert_eq!(statuses(&acme).await, [counted("open", 120)]);
    })
    .await;
}

/// Nodes are cut off in the middle of a part, again and again, while another works on the same job: each conversation is
/// changed once.
#[tokio::test]
async fn nodes_that_die_and_nodes_that_work_at_once_do_nothing_twice() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (acme, help, olga) = desk(world).await;
        let picked = acme.many(help, 400, "word").await;
        let job = starts(world, &olga, Action::Close, &picked).await.unwrap();
        let due = Due { workspace: acme.id, job, person: olga.id };
        for killed in 0..12 {
            let part = work::some_of(&world.app, due, 3);
            let _ = tokio::time::timeout(Duration::from_millis(5 + killed * 7), part).await;
        }
        let (one, other) =
            tokio::join!(work::some_of(&world.app, due, 3), work::some_of(&world.app, due, 3));
        assert!(one.is_ok() && other.is_ok());
        world.work().await;
        let done = found(world, &olga, job).await.unwrap();
        assert_eq!((done.state, done.done, done.failed), (BulkState::Done, 400, 0));
        let entries: Vec<i64> = sqlx::query_scalar(
            "select count(*) from timeline_events where workspace_id = $1 and event = 'status' group by conversation_id",
        )
        .bind(acme.id.0)
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(entries.len(), 400);
        assert!(entries.iter().all(|count| *count == 1), "each was closed once");
    })
    .await;
}

#[tokio::test]
async fn a_job_knows_only_what_its_person_sees_and_only_that_person_knows_of_it() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let mia = person(&acme, mia).await;
        let (team, private) = (
            acme.mail(help, "ada@x.example", "Team", "Hello.").await,
            acme.mail(own, "ada@x.example", "Private", "Hello.").await,
        );
        let bot = acme.key("sand", "write", Mode::Test).await;
        let simulated = bot.simulate(json!({ "from": "x@y.test", "text": "Hello" })).await.parse().unwrap();
        let job = starts(world, &olga, Action::Close, &[private, team, simulated]).await.unwrap();
        assert_eq!(found(world, &olga, job).await.unwrap().total, 1);
        assert!(starts(world, &olga, Action::Close, &[private, simulated]).await.is_err());
        let hers = starts_with_all(world, &mia, Action::Close, &OPEN).await.unwrap();
        assert_eq!(found(world, &mia, hers).await.unwrap().total, 2);
        let strange = found(world, &olga, hers).await.unwrap_err();
        let none = found(world, &olga, BulkJobId(1)).await.unwrap_err();
        assert_eq!((strange.status(), strange.sentence()), (404, none.sentence()));
        assert!(undoes(world, &olga, hers).await.is_err());

        // Whoever leaves the team changes nothing any more.
        world.sql(&format!("update people set removed_at = now() where id = {}", mia.id.0)).await;
        world.work().await;
        let left: String = sqlx::query_scalar("select view from conversations where id = $1")
            .bind(private.0)
            .fetch_one(&world.app.pool)
            .await
            .unwrap();
        assert_eq!(left, "open");
    })
    .await;
}

#[tokio::test]
async fn jobs_are_forgotten_after_two_days_except_of_a_workspace_that_is_fenced() {
    story(async |world| {
        let left = async || -> i64 {
            let all = sqlx::query_scalar("select count(*) from bulk_jobs");
            all.fetch_one(&world.app.pool).await.unwrap()
        };
        let (acme, help, olga) = desk(world).await;
        let other = world.workspace("Other").await;
        let otto = person(&other, other.owner).await;
        let (one, far) = (
            acme.mail(help, "ada@x.example", "Hi", "Hello.").await,
            other.mailbox("help@other.example", "Help").await,
        );
        let two = other.mail(far, "bob@x.example", "Hi", "Hello.").await;
        // More of them than one statement deletes.
        for _ in 0..12 {
            starts(world, &olga, Action::Close, &[one]).await.unwrap();
            world.work().await;
        }
        starts(world, &otto, Action::Close, &[two]).await.unwrap();
        world.work().await;
        assert_eq!(left().await, 13);

        world.sql("update workspaces set fenced_at = now() where name = 'Other'").await;
        world.wait(TimeDelta::hours(49));
        world.work().await;
        assert_eq!(left().await, 1, "the one that may not be touched now");
        world.sql("update workspaces set fenced_at = null").await;
        world.wait(TimeDelta::hours(2));
        world.work().await;
        assert_eq!(left().await, 0);
    })
    .await;
}

#[tokio::test]
async fn what_was_marked_read_is_unread_again_only_where_it_was() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let mut ids = Vec::new();
        for subject in ["Never opened", "Read", "Marked unread"] {
            ids.push(acme.mail(help, "ada@x.example", subject, "Hello.").await);
        }
        for (id, marked) in [(ids[1], false), (ids[2], true)] {
            let mut tx = world.app.begin(acme.id).await.unwrap();
            let locked = lock_visible(&mut tx, &olga, &id.to_string()).await.unwrap();
            unread::seen(&mut tx, &olga, &locked).await.unwrap();
            if marked {
                unread::mark_unread(&mut tx, &olga, &locked).await.unwrap();
            }
            tx.commit().await.unwrap();
        }
        let stored = async || -> Vec<(i64, String)> {
            let select = "select conversation_id, seen_to::text from conversation_reads order by 1";
            sqlx::query_as(select).fetch_all(&world.app.pool).await.unwrap()
        };
        let numbers: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let unread = async || {
            let mut conn = world.app.connection().await.unwrap();
            unread::among(&mut conn, &olga, world.now(), &numbers).await.unwrap()
        };
        let before = stored().await;
        assert_eq!(unread().await, HashSet::from([ids[0], ids[2]]));
        let job = starts(world, &olga, Action::Read, &ids).await.unwrap();
        world.work().await;
        assert!(unread().await.is_empty());
        undoes(world, &olga, job).await.unwrap();
        world.work().await;
        assert_eq!(unread().await, HashSet::from([ids[0], ids[2]]));
        assert_eq!(stored().await, before, "as it was");
        assert_eq!(found(world, &olga, job).await.unwrap().undone, 2);
    })
    .await;
}

/// A job of fifty-one, of which fifty are done and the last has to wait for its conversation. Meanwhile it is stopped and
/// taken back. Gives the job and what stands when everything has come to its end.
async fn stopped_while_one_waits(
    world: &World,
    action: Action,
    last: &str,
    taken_back_first: bool,
) -> (Job, Vec<(String, i64)>) {
    let (acme, help, olga) = desk(world).await;
    let picked = acme.many(help, 51, "word").await;
    acme.set(picked[50], last).await;
    let job = starts(world, &olga, action, &picked).await.unwrap();
    let due = Due { workspace: acme.id, job, person: olga.id };
    work::some_of(&world.app, due, 2).await.unwrap();
    let mut busy = world.app.begin(acme.id).await.unwrap();
    lock_visible(&mut busy, &olga, &picked[50].to_string()).await.unwrap();
    let others = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        bulk::cancel(&mut tx, &olga, job).await.unwrap();
        tx.commit().await.unwrap();
        undoes(world, &olga, job).await.unwrap();
        if taken_back_first {
            world.work().await;
        }
        busy.commit().await.unwrap();
    };
    let (part, ()) = tokio::join!(work::some_of(&world.app, due, 2), others);
    part.unwrap();
    world.work().await;
    (found(world, &olga, job).await.unwrap(), statuses(&acme).await)
}

#[tokio::test]
async fn what_waits_for_its_conversation_while_a_job_is_taken_back_is_not_changed() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let (job, statuses) = stopped_while_one_waits(world, Action::Close, "topic = null", true).await;
        assert_eq!((job.state, job.undone), (BulkState::Undone, 50));
        assert_eq!(statuses, [counted("open", 51)]);
    })
    .await;
}

/// Whoever worked on it before it was stopped does not end the undo.
#[tokio::test]
async fn a_job_that_is_being_taken_back_ends_when_it_is_taken_back() {
    story_with(&[("DATABASE_CONNECTIONS", "10")], async |world| {
        let later = world.now() + TimeDelta::days(1);
        let closed = "status = 'closed', announced_turn = 'done'";
        let (job, statuses) = stopped_while_one_waits(world, Action::Snooze(later), closed, false).await;
        assert_eq!((job.state, job.undone, job.failed), (BulkState::Undone, 50, 1));
        assert_eq!(statuses, [counted("closed", 1), counted("open", 50)]);
    })
    .await;
}

#[tokio::test]
async fn taking_back_does_not_open_what_was_answered_meanwhile() {
    story(async |world| {
        let (acme, help, olga) = desk(world).await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let id = acme.mail(help, "ada@x.example", "One", "Hello.").await;
        key.sends(id, "Soon.").await;
        let job = starts(world, &olga, Action::Waiting, &[id]).await.unwrap();
        world.work().await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        undoes(world, &olga, job).await.unwrap();
        world.work().await;
        assert_eq!(key.conversation(id).await["status"], "waiting");
        assert_eq!(found(world, &olga, job).await.unwrap().undone, 0);
    })
    .await;
}
