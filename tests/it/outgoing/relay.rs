//! Live mail handed to a relay over real SMTP: taken, refused, put off, and every way a connection can break.

use chrono::TimeDelta;
use rookery_base::ids::MailboxId;
use rookery_base::relay::Relay;
use rookery_base::secrets::secret::Secret;
use rookery_mail::incoming::delivery::Received;
use rookery_mail::incoming::return_path;
use serde_json::{Value, json};

use rookery_world::sink::{Does, Sink, Step};
use rookery_world::{Key, Mode, Workspace, World, story_with};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

/// A story with a sink as its relay.
async fn relayed(tell: impl AsyncFnOnce(&World, &Sink)) {
    relayed_with(&[], tell).await;
}

/// With a lease that is short enough to wait until a relay that hangs is given up.
const HASTY: &[(&str, &str)] = &[("LEASE_SECONDS", "8")];

async fn relayed_with(settings: &[(&str, &str)], tell: impl AsyncFnOnce(&World, &Sink)) {
    let sink = Sink::start().await;
    let relay = sink.relay();
    let settings = [&[("RELAY", relay.as_str())], settings].concat();
    story_with(&settings, async |world| tell(world, &sink).await).await;
}

/// A live conversation, and a message on it whose time has come.
async fn due<'w>(acme: &Workspace<'w>) -> (Key<'w>, String, String) {
    let inbox = acme.mailbox("help@acme.example", "Help").await;
    due_in(acme, inbox).await
}

async fn due_in<'w>(acme: &Workspace<'w>, inbox: MailboxId) -> (Key<'w>, String, String) {
    let name = format!("bot {}", acme.world.app.random.hex(8));
    let key = acme.key(&name, "write,draft,send", Mode::Live).await;
    let id = acme.mail(inbox, "Ada <ada@customer.example>", "Parcel", "Where is it?").await.to_string();
    let message = key.sends(&id, "It is on its way.\n.\n..two dots").await;
    acme.world.wait(WINDOW);
    (key, id, message)
}

async fn status(key: &Key<'_>, id: &str, message: &str) -> Value {
    key.message(id, message).await["status"].clone()
}

/// proves: MSG-3, MSG-11
#[tokio::test]
async fn a_message_leaves_through_the_relay_with_a_return_path_of_its_own() {
    relayed(async |world, sink| {
        let acme = world.workspace("Acme").await;
        let (key, id, message) = due(&acme).await;
        world.work().await;
        assert_eq!(status(&key, &id, &message).await, "sent");
        let [taken] = &sink.taken()[..] else { panic!("one mail") };
        assert_eq!(taken.to, "ada@customer.example");
        assert_eq!(taken.field("From").unwrap(), "\"Help\" <help@acme.example>");
        assert_eq!(taken.field("Subject").unwrap(), "Re: Parcel");
        assert!(taken.raw.contains("It is on its way.\r\n.\r\n..two dots\r\n"), "{}", taken.raw);
        let secret = world.app.config.needs_secret_key().unwrap().newest();
        let about = return_path::read(secret, acme.id, &taken.from, "help@acme.example");
        assert_eq!(about.map(|id| id.to_string()), Some(message), "{}", taken.from);
    })
    .await;
}

/// proves: MSG-8
#[tokio::test]
async fn what_the_relay_refuses_for_good_has_failed_and_what_it_puts_off_is_tried_again() {
    let cases = [
        (Step::Sender, "451 4.7.1 Later", "sending"),
        (Step::Sender, "530 5.7.0 Authentication required", "sending"),
        (Step::Sender, "553 5.1.8 Not from here", "failed"),
        (Step::Recipient, "450 4.2.0 Greylisted", "sending"),
        (Step::Recipient, "550 5.7.1 Not wanted", "failed"),
        (Step::Data, "250 What", "sending"),
        (Step::Data, "452 4.3.1 Full", "sending"),
        (Step::Dot, "451 4.3.0 Later", "sending"),
        (Step::Dot, "354 What", "sending"),
        (Step::Dot, "554 5.6.0 Not this", "failed"),
        (Step::Greeting, "554 No", "sending"),
        (Step::Hello, "421 4.3.2 Going away", "sending"),
    ];
    relayed(async |world, sink| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        for (step, said, becomes) in cases {
            let (key, id, message) = due_in(&acme, inbox).await;
            let before = sink.taken().len();
            sink.does(step, Does::Says(said));
            world.work().await;
            assert_eq!(status(&key, &id, &message).await, becomes, "{said} at {step:?}");
            assert_eq!(sink.taken().len(), before);
            sink.behaves();
            world.wait(TimeDelta::minutes(1));
            world.work().await;
            let ends = if becomes == "failed" { "failed" } else { "sent" };
            assert_eq!(status(&key, &id, &message).await, ends, "after {said} at {step:?}");
            assert_eq!(sink.taken().len(), before + usize::from(ends == "sent"));
            let told = key.told(&id, "delivery-failed").await;
            assert_eq!(told.len(), usize::from(ends == "failed"), "{told:?}");
            // On a connection that is kept nobody would say hello again.
            sink.hangs_up();
        }
        assert_eq!(acme.suppressed().await, [] as [&str; 0]);
    })
    .await;
}

/// proves: MSG-8
#[tokio::test]
async fn an_address_that_does_not_exist_is_not_written_to_again() {
    for step in [Step::Recipient, Step::Dot] {
        relayed(async |world, sink| {
            let acme = world.workspace("Acme").await;
            let (key, id, message) = due(&acme).await;
            sink.does(step, Does::Says("550 5.1.1 <ada@customer.example>: no such user"));
            world.work().await;
            assert_eq!(status(&key, &id, &message).await, "failed");
            assert_eq!(key.told(&id, "delivery-failed").await[0]["reason"], "rejected");
            assert_eq!(acme.suppressed().await, ["ada@customer.example"]);
            sink.behaves();
            let again = key.sends(&id, "Hello?").await;
            world.wait(WINDOW);
            world.work().await;
            assert_eq!(status(&key, &id, &again).await, "failed");
            assert_eq!(sink.taken().len(), 0, "nothing leaves for an address that is suppressed");
        })
        .await;
    }
}

/// proves: MSG-8, MSG-9
#[tokio::test]
async fn a_relay_that_hangs_or_breaks_off_anywhere_gets_the_same_mail_again() {
    let steps = [Step::Greeting, Step::Hello, Step::Sender, Step::Recipient, Step::Data, Step::Dot];
    // Each hanging step takes two seconds; all behave alike, so two of them are enough.
    let hanging = [(Step::Hello, Does::Hangs), (Step::Dot, Does::Hangs)];
    relayed_with(HASTY, async |world, sink| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        for (step, does) in steps.map(|step| (step, Does::Drops)).into_iter().chain(hanging) {
            let (key, id, message) = due_in(&acme, inbox).await;
            let before = sink.taken().len();
            sink.does(step, does);
            world.work().await;
            assert_eq!(status(&key, &id, &message).await, "sending", "{does:?} at {step:?}");
            let took = usize::from(step == Step::Dot);
            assert_eq!(sink.taken().len(), before + took, "{does:?} at {step:?}");
            sink.behaves();
            // A customer's mail in between changes nothing about the one that is on its way.
            let ids = world.rfc_message_ids().await;
            let raw = format!(
                "Message-ID: <again@{id}>\nReferences: <{}>\nFrom: ada@customer.example\n\nHello?\n",
                ids.iter().find(|id| id.starts_with(&message)).expect("it has a Message-ID")
            );
            let Received::Stored(stored) = acme.receives(inbox, &raw).await else { panic!("not stored") };
            assert_eq!(stored.conversation.to_string(), id);
            let events = world.events("message.sent").await.len();
            world.wait(TimeDelta::minutes(1));
            world.work().await;
            assert_eq!(status(&key, &id, &message).await, "sent");
            let taken = &sink.taken()[before..];
            assert_eq!(taken.len(), took + 1);
            assert!(taken.windows(2).all(|two| (&two[0].raw, &two[0].from) == (&two[1].raw, &two[1].from)));
            assert_eq!(world.events("message.sent").await.len(), events + 1);
            sink.hangs_up();
        }
    })
    .await;
}

#[tokio::test]
async fn connections_are_used_again_but_never_one_that_went_wrong() {
    relayed_with(HASTY, async |world, sink| {
        let acme = world.workspace("Acme").await;
        let (key, id, _) = due(&acme).await;
        world.work().await;
        for n in 0..3 {
            key.sends(&id, &format!("More {n}")).await;
            world.wait(WINDOW);
            world.work().await;
        }
        assert_eq!((sink.taken().len(), sink.connections()), (4, 1), "one connection carried them all");
        key.sends(&id, "Refused").await;
        world.wait(WINDOW);
        sink.does(Step::Dot, Does::Hangs);
        world.work().await;
        sink.behaves();
        let before = sink.taken().len();
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        assert_eq!((sink.taken().len(), sink.connections()), (before + 1, 2), "the hung one was left");
    })
    .await;
}

#[tokio::test]
async fn the_password_is_said_once_per_connection_and_a_wrong_one_loses_no_mail() {
    let sink = Sink::start().await;
    let relay = format!("smtp://me%40acme:p%2Fw%20d@127.0.0.1:{}?tls=none", sink.port);
    story_with(&[("RELAY", &relay)], async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, message) = due(&acme).await;
        sink.does(Step::Password, Does::Says("535 5.7.8 Wrong"));
        world.work().await;
        assert_eq!(status(&key, &id, &message).await, "sending");
        sink.behaves();
        world.wait(TimeDelta::minutes(1));
        world.work().await;
        assert_eq!(status(&key, &id, &message).await, "sent");
        assert_eq!(sink.passwords(), [" me@acme p/w d", " me@acme p/w d"]);
    })
    .await;
}

/// A relay that hides STARTTLS, or somebody in between who does, gets neither mail nor password.
#[tokio::test]
async fn without_tls_nothing_is_said_when_tls_is_required() {
    let sink = Sink::start().await;
    let relay = format!("smtp://me:secret@127.0.0.1:{}?tls=required", sink.port);
    story_with(&[("RELAY", &relay)], async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, message) = due(&acme).await;
        world.work().await;
        assert_eq!(status(&key, &id, &message).await, "sending");
        assert_eq!((sink.connections(), sink.taken().len(), sink.passwords().len()), (1, 0, 0));
    })
    .await;
}

/// Whoever sits in between could take the word STARTTLS out and read along.
#[tokio::test]
async fn a_password_is_never_said_in_clear_beyond_this_machine() {
    let sink = Sink::start().await;
    let opportunistic = format!("smtp://me:secret@127.0.0.1:{}?tls=opportunistic", sink.port);
    let refused = [
        opportunistic.as_str(),
        "smtp://me:secret@relay.example?tls=opportunistic",
        "smtp://me:secret@relay.example?tls=none",
        "smtp://me:secret@192.0.2.7:25?tls=none",
        "smtp://me:secret@[2001:db8::7]:25?tls=none",
        "smtp://me:secret@localhost.example:25?tls=none",
    ];
    let taken = [
        "smtp://me:secret@127.0.0.1:25?tls=none",
        "smtp://me:secret@[::1]:25?tls=none",
        "smtp://me:secret@localhost:25?tls=none",
        "smtp://me:secret@relay.example",
        "smtps://me:secret@relay.example",
        "smtp://relay.example?tls=opportunistic",
        "smtp://relay.example?tls=none",
    ];
    let relay = |address: &str| {
        let address = Secret(address.to_owned());
        Relay::new(&address, "desk.example".into(), None, TimeDelta::seconds(8))
    };
    for address in refused {
        let error = relay(address).err().unwrap_or_else(|| panic!("{address} was taken")).to_string();
        assert!(error.contains("tls=required") && !error.contains("secret"), "{error}");
    }
    for address in taken {
        assert!(relay(address).is_ok(), "{address}");
    }
    assert_eq!(sink.connections(), 0);
}

/// proves: MSG-2
#[tokio::test]
async fn what_was_stopped_is_zero_bytes_at_the_relay() {
    relayed(async |world, sink| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Parcel", "Where?").await;
        let stopped = key.sends(id, "Wrong words").await;
        acme.undo(acme.owner, &stopped).await.unwrap();
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!((sink.connections(), sink.taken().len()), (0, 0));
        assert_eq!(key.told(id, "send-stopped").await, [json!({ "messageId": stopped, "reason": "undo" })]);
    })
    .await;
}
