//! People act through the verbs that agents act through: what they see, what they write and how it is told. A page of
//! the app calls these very functions.

use chrono::TimeDelta;
use rookery_base::error::{NO_CONVERSATION, Result};
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_base::store::db::{Handle, Snapshot, Tx};
use rookery_core::conversations::assign::{self, To};
use rookery_core::conversations::conversation::{Locked, find_visible};
use rookery_core::conversations::filter::{Assigned, ConversationFilter, View};
use rookery_core::conversations::list::list;
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::timeline::TimelinePiece;
use rookery_core::conversations::{inboxes, notes, read, snooze, tags, transitions};
use rookery_core::workspace::access::{Actor, MemberId, Scope};
use rookery_core::workspace::mailboxes;
use rookery_core::workspace::people::{self, Person, Role};
use rookery_product::documents::items;
use rookery_product::documents::library;
use rookery_product::documents::request::RequestForm;
use rookery_product::replies::write::{NewReply, WrittenReply, ask, write};
use serde_json::{Value, json};

use rookery_world::{Mode, Workspace, World, story};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

async fn person(acme: &Workspace<'_>, id: PersonId) -> Person {
    people::teammate(&mut acme.world.app.connection().await.unwrap(), acme.id, id).await.unwrap()
}

/// What a page does with a form: locks the conversation as this person, calls a verb, commits.
async fn act<T>(
    world: &World,
    actor: &Actor,
    conversation: ConversationId,
    verb: impl AsyncFnOnce(&mut Tx<'static>, &Locked) -> Result<T>,
) -> Result<T> {
    let mut tx = world.app.begin(actor.workspace).await?;
    let locked = lock_visible(&mut tx, actor, &conversation.to_string()).await?;
    let done = verb(&mut tx, &locked).await?;
    tx.commit().await?;
    Ok(done)
}

async fn answers(world: &World, actor: &Actor, id: ConversationId, body: &str, send: bool) -> WrittenReply {
    let reply = NewReply { body, summary: None, asks: None, send };
    act(world, actor, id, async |tx, locked| write(&world.app, tx, locked, actor, reply, Vec::new()).await)
        .await
        .unwrap()
}

/// What a page shows of a conversation.
async fn reads(world: &World, actor: &Actor, id: ConversationId) -> Result<read::WholeConversation> {
    let conn = world.app.connection().await?;
    let mut snapshot = Snapshot::begin(conn, world.app.frame(actor.workspace)).await?;
    let now = snapshot.now();
    let found = find_visible(&mut snapshot, actor, now, &id.to_string()).await?;
    read::whole(&mut snapshot, found, None).await
}

async fn listed(world: &World, actor: &Actor, assigned: Option<Assigned>) -> Vec<ConversationId> {
    let filter = ConversationFilter {
        view: View::Open,
        mailbox: None,
        assigned,
        reference: None,
        words: None,
        before: None,
        since: None,
        limit: 25,
    };
    let mut conn = world.app.connection().await.unwrap();
    let page = list(&mut conn, actor, world.now(), &filter).await.unwrap();
    page.into_iter().map(|summary| summary.id).collect()
}

/// A mail with a file, which is filed as a document.
async fn with_file(acme: &Workspace<'_>, inbox: MailboxId, name: &str) -> ConversationId {
    let raw = format!(
        "From: ada@customer.example\nSubject: {name}\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\n\nHello\n--b\nContent-Type: application/pdf\n\
         Content-Disposition: attachment; filename={name}.pdf\n\n%PDF {name}\n--b--\n"
    );
    match acme.receives(inbox, &raw).await {
        rookery_mail::incoming::delivery::Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_person_sees_the_teams_inboxes_and_their_own_and_never_the_sandbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let team = acme.mailbox("help@acme.example", "Help").await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let mias = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let bot = acme.key("bot", "write", Mode::Test).await;
        let simulated = bot.simulate(json!({ "from": "x@y.test", "text": "Hello" })).await.parse().unwrap();
        let mut conversations = Vec::new();
        for (inbox, name) in [(team, "team"), (olgas, "olgas"), (mias, "mias")] {
            conversations.push(with_file(&acme, inbox, name).await);
            acme.tag(*conversations.last().unwrap(), name).await;
            world.wait(TimeDelta::seconds(1));
        }
        let [for_team, for_olga, for_mia] = conversations[..] else { panic!("three") };

        for (id, private, own, hidden) in
            [(acme.owner, olgas, for_olga, [for_mia, simulated]), (mia, mias, for_mia, [for_olga, simulated])]
        {
            let who = person(&acme, id).await;
            let mut conn = world.app.connection().await.unwrap();
            let mut seen = listed(world, &who, None).await;
            seen.sort();
            assert_eq!(seen, [for_team.min(own), for_team.max(own)]);
            let boxes = inboxes::list(&mut conn, &who, world.now()).await.unwrap();
            let mut boxes: Vec<_> = boxes.iter().map(|inbox| (inbox.id, inbox.open)).collect();
            boxes.sort();
            assert_eq!(boxes, [(team, 1), (private, 1)]);
            let filter = library::DocumentFilter { words: None, kind: None, before: None, limit: 25 };
            let documents = library::search(&mut conn, &who, &filter).await.unwrap();
            let mut of: Vec<_> = documents.iter().filter_map(|document| document.conversation_id).collect();
            of.sort();
            assert_eq!(of, seen);
            let named = tags::list(&mut conn, &who).await.unwrap();
            let counted: i64 = named.iter().map(|tag| tag.count).sum();
            assert_eq!((named.len(), counted), (2, 2));
            for hidden in hidden {
                let unseen =
                    find_visible(&mut conn, &who, world.now(), &hidden.to_string()).await.unwrap_err();
                assert_eq!(unseen.sentence(), NO_CONVERSATION.sentence());
                let unlocked = act(world, &who, hidden, async |_, _| Ok(())).await.unwrap_err();
                assert_eq!(unlocked.sentence(), NO_CONVERSATION.sentence());
            }
            let sandbox = mailboxes::sandbox(&mut conn, acme.id).await.unwrap();
            assert!(mailboxes::find_visible(&mut conn, &who, &sandbox.id.to_string()).await.is_err());
        }
    })
    .await;
}

#[tokio::test]
async fn a_person_notes_tags_assigns_sets_the_status_and_snoozes_under_their_own_name() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let other = acme.mail(inbox, "bob@customer.example", "Hi", "Hello").await;
        let bot = acme.key("bot", "write", Mode::Live).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let who = person(&acme, mia).await;

        act(world, &who, id, async |tx, on| notes::add(tx, on, &who, "Ask @Olga.").await).await.unwrap();
        let (urgent, none) = (["urgent".to_owned()], []);
        act(world, &who, id, async |tx, on| tags::change(tx, on, &who, &urgent, &none).await).await.unwrap();
        for to in [To::Me, To::Member(MemberId::Agent(bot.agent)), To::Nobody, To::Me] {
            act(world, &who, id, async |tx, on| assign::assign(tx, on, &who, to).await).await.unwrap();
        }
        let tomorrow = world.now() + TimeDelta::days(1);
        act(world, &who, id, async |tx, on| snooze::until(tx, on, &who, tomorrow).await).await.unwrap();
        act(world, &who, id, async |tx, on| snooze::wake(tx, on, &who).await).await.unwrap();
        act(world, &who, id, async |tx, on| transitions::set_status(tx, on, &who, Status::Closed).await)
            .await
            .unwrap();
        act(world, &who, id, async |tx, on| transitions::set_status(tx, on, &who, Status::Open).await)
            .await
            .unwrap();

        let read = bot.conversation(id).await;
        let told: Vec<(&str, &str)> = read["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|item| match item["type"].as_str()? {
                "note" => Some(("note", item["author"].as_str()?)),
                "event" => Some((item["event"].as_str()?, item["actor"].as_str()?)),
                _ => None,
            })
            .collect();
        let verbs = ["note", "tags", "assigned", "assigned", "assigned", "assigned", "snoozed", "unsnoozed"];
        let verbs = verbs.into_iter().chain(["status", "status"]);
        assert_eq!(told, verbs.map(|verb| (verb, "Mia Member")).collect::<Vec<_>>());
        assert_eq!(read["assignee"], json!({ "type": "user", "id": mia.to_string(), "name": "Mia Member" }));
        assert_eq!(world.mentioned().await, [acme.owner]);
        let assigned = world.events("conversation.assigned").await;
        assert_eq!(assigned.len(), 4);
        for event in assigned {
            let by = json!({ "type": "user", "id": mia.to_string(), "name": "Mia Member" });
            assert_eq!(event["data"]["assigned_by"], by);
        }
        assert_eq!(listed(world, &who, Some(Assigned::To(who.member))).await, [id]);
        assert_eq!(listed(world, &who, Some(Assigned::ToNobody)).await, [other]);

        let stranger = To::Member(MemberId::Person(PersonId(7)));
        let refused = act(world, &who, id, async |tx, on| assign::assign(tx, on, &who, stranger).await).await;
        assert_eq!(refused.unwrap_err().sentence(), "to: nobody of that id can be given this conversation");
    })
    .await;
}

#[tokio::test]
async fn a_persons_reply_is_theirs_and_leaves_after_the_undo_window_like_an_agents() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let bot = acme.key("bot", "read", Mode::Live).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let who = person(&acme, mia).await;

        let stopped = answers(world, &who, id, "Not yet.", true).await;
        acme.undo(acme.owner, &stopped.message.to_string()).await.unwrap();
        acme.discard(acme.owner, &stopped.message.to_string()).await.unwrap();
        let sent = answers(world, &who, id, "Hello Ada.", true).await;
        assert_eq!(sent.sends_at, Some(world.now() + WINDOW));
        world.wait(WINDOW);
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        assert_eq!(bot.message(id, &sent.message.to_string()).await["status"], "sent");
        let event = world.events("message.sent").await.pop().unwrap();
        assert_eq!(event["data"]["author"], json!({ "type": "user", "id": mia.to_string() }));
        assert_eq!(bot.conversation(id).await["status"], "waiting");
    })
    .await;
}

#[tokio::test]
async fn a_person_asks_for_documents_and_a_colleague_approves_a_persons_draft() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let who = person(&acme, mia).await;
        let item = items::ChecklistItem { label: "Passport".into(), description: None, required: true };
        let asked = RequestForm { items: vec![item], due: None, language: None };
        let written = act(world, &who, id, async |tx, locked| {
            ask(&world.app, tx, locked, &who, asked, None, false).await
        })
        .await
        .unwrap();
        assert_eq!((written.sends_at, world.requests().await), (None, vec!["draft".to_owned()]));
        acme.approve(acme.owner, &written.message.to_string(), None).await.unwrap();
        let approved = world.events("draft.approved").await.pop().unwrap();
        assert_eq!(approved["data"]["drafted_by"], json!({ "type": "user", "id": mia.to_string() }));
        world.wait(WINDOW);
        world.work().await;
        let letter = world.outbox.letters().pop().unwrap();
        assert!(letter.text.contains("- Passport") && letter.text.contains("/upload/"), "{}", letter.text);
        assert_eq!(world.requests().await, ["open"]);
    })
    .await;
}

#[tokio::test]
async fn a_page_reads_the_same_whole_conversation_that_a_key_reads() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(inbox, "ada@customer.example", "Hi", "Hello").await;
        let bot = acme.key("bot", "write,draft", Mode::Live).await;
        let olga = person(&acme, acme.owner).await;
        answers(world, &olga, id, "Hello Ada.", false).await;
        act(world, &olga, id, async |tx, on| notes::add(tx, on, &olga, "A note.").await).await.unwrap();
        act(world, &olga, id, async |tx, on| assign::assign(tx, on, &olga, To::Me).await).await.unwrap();

        let whole = reads(world, &olga, id).await.unwrap();
        let by_key = bot.conversation(id).await;
        let kinds: Vec<Value> = whole
            .timeline
            .items
            .iter()
            .map(|item| match item {
                TimelinePiece::Message(message) => json!(message.id),
                TimelinePiece::Note { id, .. } => json!(id),
                TimelinePiece::Event { event, .. } => json!(event),
            })
            .collect();
        let theirs: Vec<Value> = by_key["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| if item["type"] == "event" { item["event"].clone() } else { item["id"].clone() })
            .collect();
        assert_eq!((kinds.len(), &kinds), (4, &theirs));
        assert_eq!(json!(whole.conversation.id), by_key["id"]);
        let team: Vec<String> = whole.team.iter().map(|member| member.id.to_string()).collect();
        let (people, agents) = (&by_key["team"]["people"], &by_key["team"]["agents"]);
        assert_eq!(json!(team), json!([agents[0]["id"], people[0]["id"]]));
        assert!(whole.app_sent.is_none());
    })
    .await;
}

#[tokio::test]
async fn every_role_works_on_mail_and_only_keys_record_app_mail() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let member = person(&acme, acme.person("Mia Member", Role::Member).await).await;
        let owner = person(&acme, acme.owner).await;
        for who in [&member, &owner] {
            for scope in [Scope::Read, Scope::Write, Scope::Draft, Scope::Send] {
                who.needs(scope).unwrap();
            }
            let refused = who.needs(Scope::Record).unwrap_err();
            assert_eq!(refused.sentence(), "Only keys have the record scope.");
        }
        assert!(owner.role.administers() && !member.role.administers());
    })
    .await;
}
