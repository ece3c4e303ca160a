//! Status, snooze and turn: the table in docs/states.md, the table in code and what really happens agree.

use chrono::TimeDelta;
use rookery_base::error::Error;
use rookery_base::ids::ConversationId;
use rookery_core::conversations::lock::lock_in;
use rookery_core::conversations::snooze;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::transitions::{Next, Snooze, Trigger, apply};
use rookery_core::events::event::Turn;
use rookery_core::workspace::access::By;
use rookery_core::workspace::{mailboxes, people};
use serde_json::{Value, json};

use rookery_world::UNHURRIED;
use rookery_world::{Mode, Workspace, World, story, story_with};

const STATUSES: [Status; 3] = [Status::Open, Status::Waiting, Status::Closed];

#[test]
fn the_table_in_code_is_the_table_in_the_documents() {
    let page = include_str!("../../../docs/states.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| trigger"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let triggers = triggers();
    assert_eq!(rows.len(), triggers.len());
    for (row, (name, trigger)) in rows.iter().zip(triggers) {
        assert_eq!(*row, described(name, trigger));
    }
}

/// proves: STAT-9, STAT-14, STAT-15
#[tokio::test]
async fn every_trigger_does_in_every_status_what_the_table_says() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        for (name, trigger) in triggers() {
            for status in STATUSES {
                for snoozed in [false, true] {
                    if snoozed && status == Status::Closed {
                        continue;
                    }
                    let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
                    key.post(&format!("/conversations/{id}/status"), json!({ "status": status.as_str() }))
                        .await;
                    let conversation: ConversationId = id.parse().unwrap();
                    if snoozed {
                        acme.set(conversation, "snoozed_until = '2032-01-01'").await;
                    }
                    let (told, at) =
                        (world.events("turn.changed").await.len(), format!("{name}, {status:?}, {snoozed}"));
                    world.wait(TimeDelta::seconds(1)); // events are told in the order of their time
                    let applied = act(world, &acme, conversation, trigger).await;
                    let read = key.get(&format!("/conversations/{id}")).await.json();
                    let told = world.events("turn.changed").await.split_off(told);

                    let unchosen = trigger == Trigger::StatusChosen(status);
                    let expected = match next(trigger, status) {
                        Next::Refused => {
                            assert!(matches!(applied, Err(Error::Problems(_))), "{at}");
                            status
                        }
                        Next::Same => status,
                        Next::Becomes(becomes) => becomes,
                    };
                    assert_eq!(read["status"], expected.as_str(), "{at}");
                    let keeps = match trigger.row().snooze {
                        Snooze::Same => snoozed,
                        Snooze::Ended(_) => snoozed && unchosen,
                        Snooze::Set(_) => expected != Status::Closed,
                    };
                    assert_eq!(!read["snoozedUntil"].is_null(), keeps, "{at}");
                    let turns: Vec<&Value> = told.iter().map(|event| &event["data"]["turn"]).collect();
                    let wanted = (expected != status).then(|| json!(expected.turn()));
                    assert_eq!(turns, wanted.iter().collect::<Vec<_>>(), "{at}");
                    for event in &told {
                        assert_eq!(event["data"]["previous"], json!(status.turn()), "{at}");
                    }
                }
            }
        }
    })
    .await;
}

/// proves: STAT-12, STAT-13, LIST-4, LIST-5
#[tokio::test]
async fn a_snooze_hides_a_conversation_until_its_time_has_passed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        key.write(&id, "status", "set_status", json!({ "status": "waiting" }), 200).await;
        let until = world.now() + TimeDelta::hours(3);
        sleep(world, &acme, id.parse().unwrap(), until).await.expect("a sound time");
        assert_eq!(key.conversation(&id).await["snoozedUntil"], rookery_base::clock::written(until));
        assert_eq!(key.listed("view=snoozed").await, [id.as_str()]);
        assert!(key.listed("view=open").await.is_empty() && key.listed("view=waiting").await.is_empty());
        world.work().await;
        assert_eq!(key.listed("view=snoozed").await, [id.as_str()], "not before its time");

        world.wait(TimeDelta::hours(3));
        assert_eq!(key.listed("view=open").await, [id.as_str()], "no worker is needed to see it");
        world.work().await;
        let read = key.conversation(&id).await;
        assert_eq!((&read["status"], &read["snoozedUntil"]), (&json!("open"), &Value::Null));
        let entries: Vec<_> = read["timeline"].as_array().unwrap().iter().rev().take(2).cloned().collect();
        assert_eq!(entries[1]["data"], json!({ "reason": "time" }));
        assert_eq!(entries[0]["data"], json!({ "from": "waiting", "to": "open", "reason": "unsnoozed" }));
        assert_eq!(entries[0]["actor"], "System");
        let told = world.events("turn.changed").await;
        assert_eq!(told.last().unwrap()["data"]["previous"], "theirs");
        assert_eq!(told.last().unwrap()["data"]["turn"], "ours");
    })
    .await;
}

#[tokio::test]
async fn a_snooze_that_ran_out_is_ended_before_anything_else_is_done() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        key.write(&id, "status", "set_status", json!({ "status": "waiting" }), 200).await;
        sleep(world, &acme, id.parse().unwrap(), world.now() + TimeDelta::hours(1))
            .await
            .expect("a sound time");
        world.wait(TimeDelta::hours(1));
        // The worker has not been there yet: the call itself wakes it, and then changes the status.
        key.write(&id, "status", "set_status", json!({ "status": "waiting" }), 200).await;
        let turns: Vec<_> =
            world.events("turn.changed").await.iter().map(|event| event["data"]["turn"].clone()).collect();
        assert_eq!(turns, ["ours", "theirs", "ours", "theirs"]);
    })
    .await;
}

#[tokio::test]
async fn a_snooze_lasts_a_minute_to_a_year_and_a_closed_conversation_has_none() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        let id = key.simulate(json!({ "from": "ada@customer.test", "text": "Hello" })).await;
        let conversation = id.parse().unwrap();
        for wrong in [TimeDelta::zero(), TimeDelta::seconds(59), TimeDelta::days(-1), TimeDelta::days(367)] {
            assert!(sleep(world, &acme, conversation, world.now() + wrong).await.is_err(), "{wrong}");
        }
        key.write(&id, "status", "set_status", json!({ "status": "closed" }), 200).await;
        assert!(sleep(world, &acme, conversation, world.now() + TimeDelta::hours(1)).await.is_err());
    })
    .await;
}

/// Every row of the page, in its order, and the trigger it stands for.
fn triggers() -> Vec<(&'static str, Trigger)> {
    let year = "2032-01-01T00:00:00Z".parse().unwrap();
    vec![
        ("a person's mail, or a reply on a secure page", Trigger::CustomerWrote),
        ("automatic mail", Trigger::MachineWrote),
        ("a message left, and the customer has not written since", Trigger::Sent),
        ("a message left, but the customer wrote meanwhile", Trigger::SentAfterCustomerWrote),
        ("a reminder or other service mail left", Trigger::ServiceMailSent),
        ("a send failed", Trigger::SendFailed),
        ("the newest message bounced after it was sent", Trigger::NewestBounced),
        ("status chosen: open", Trigger::StatusChosen(Status::Open)),
        ("status chosen: waiting", Trigger::StatusChosen(Status::Waiting)),
        ("status chosen: closed", Trigger::StatusChosen(Status::Closed)),
        ("snoozed by a person", Trigger::SnoozeChosen(year)),
        ("the snooze's time passed", Trigger::SnoozeRanOut),
        ("woken by a person", Trigger::WokenByPerson),
        ("a change undone: open as before", Trigger::Undone(Status::Open, None)),
        ("a change undone: waiting as before", Trigger::Undone(Status::Waiting, None)),
        ("a change undone: closed as before", Trigger::Undone(Status::Closed, None)),
        ("a change undone: snoozed as before", Trigger::Undone(Status::Open, Some(year))),
    ]
}

/// A row of the page, as the code would write it.
fn described(name: &str, trigger: Trigger) -> Vec<String> {
    let mut turns = Vec::new();
    let mut cells = vec![name.to_owned()];
    for status in STATUSES {
        cells.push(match next(trigger, status) {
            Next::Same => "=".into(),
            Next::Refused => "refused".into(),
            Next::Becomes(becomes) if becomes == status => "=".into(),
            Next::Becomes(becomes) => {
                let turn = match becomes.turn() {
                    Turn::Ours => "ours",
                    Turn::Theirs => "theirs",
                    Turn::Done => "done",
                };
                turns.push(format!("{}: {turn}", status.as_str()));
                becomes.as_str().into()
            }
        });
    }
    cells.push(match trigger.row().snooze {
        Snooze::Same => "=".into(),
        Snooze::Set(_) => "set".into(),
        Snooze::Ended(reason) => format!("ended ({reason})"),
    });
    cells.push(turns.join(", "));
    cells
}

fn next(trigger: Trigger, status: Status) -> Next {
    let row = trigger.row();
    match status {
        Status::Open => row.open,
        Status::Waiting => row.waiting,
        Status::Closed => row.closed,
    }
}

async fn act(
    world: &World,
    acme: &Workspace<'_>,
    conversation: ConversationId,
    trigger: Trigger,
) -> Result<(), Error> {
    let mut tx = world.app.begin(acme.id).await?;
    let mailbox = mailboxes::sandbox(&mut tx, acme.id).await?;
    let locked = lock_in(&mut tx, &mailbox, conversation).await?;
    apply(&mut tx, &locked, trigger, &By::System).await?;
    tx.commit().await
}

async fn sleep(
    world: &World,
    acme: &Workspace<'_>,
    conversation: ConversationId,
    until: chrono::DateTime<chrono::Utc>,
) -> Result<(), Error> {
    let mut tx = world.app.begin(acme.id).await?;
    let mailbox = mailboxes::sandbox(&mut tx, acme.id).await?;
    let locked = lock_in(&mut tx, &mailbox, conversation).await?;
    let olga = people::teammate(&mut tx, acme.id, acme.owner).await?;
    snooze::until(&mut tx, &locked, &olga, until).await?;
    tx.commit().await
}
