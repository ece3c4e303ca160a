//! Much mail, and mail of many words, against search: what it costs is bounded, and nobody else pays for it.

use rookery_base::ids::{ConversationId, MailboxId};
use rookery_core::conversations::search::index::{self, Indexed};

use rookery_world::{Key, Message, Mode, Workspace, World, story_with};

const UNHURRIED: &[(&str, &str)] =
    &[("RATE_LIMIT_REQUESTS", "100000"), ("SEARCH_PATIENCE_MILLISECONDS", "300")];

/// Many mails of one sender into one conversation, each with its own words.
struct Flood<'w> {
    acme: Workspace<'w>,
    support: MailboxId,
    conversation: ConversationId,
}

impl<'w> Flood<'w> {
    async fn of(world: &'w World) -> Self {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let conversation = acme.mail(support, "anna@customer.example", "Parcel", "firstword").await;
        let sent = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(conversation, sent).await;
        world.work().await;
        Self { acme, support, conversation }
    }

    async fn mail(&self, number: usize, text: &str) {
        let raw = format!(
            "Message-ID: <flood{number}@customer.example>\nFrom: anna@customer.example\n\
             References: <ours@acme.example>\n\nmail{number} {text}\n"
        );
        self.acme.receives(self.support, &raw).await;
    }
}

/// Words that no other number gives, in lines as mail has them.
fn words(number: usize, many: usize) -> String {
    let each =
        (0..many).map(|place| format!("w{number}x{place}{}", if place % 10 == 9 { "\n" } else { " " }));
    each.collect()
}

async fn status(key: &Key<'_>, query: &str) -> u16 {
    key.get(&format!("/conversations?q={query}")).await.status
}

async fn waiting(world: &World, workspace: &Workspace<'_>) -> i64 {
    let query = "select (select count(*) from unindexed_messages where workspace_id = $1)
                      + (select count(*) from unindexed_conversations where workspace_id = $1)";
    sqlx::query_scalar(query).bind(workspace.id).fetch_one(&world.app.pool).await.expect("a count")
}

/// What the worker does in one transaction.
async fn in_one_batch(workspace: &Workspace<'_>) -> Indexed {
    let mut tx = workspace.world.app.begin(workspace.id).await.expect("a transaction");
    let indexed = index::index(&mut tx, index::OF_THE_WORKER).await.expect("words can be indexed");
    tx.commit().await.expect("a commit");
    indexed
}

/// Searches of the flooded workspace and of another one, while the flood is worked off.
async fn every_search_answers(flood: &Flood<'_>, last: &str) {
    let world = flood.acme.world;
    let beta = world.workspace("Beta").await;
    let inbox = beta.mailbox("help@beta.example", "Support").await;
    let theirs = beta.mail(inbox, "ben@customer.example", "Hello", "betaword").await;
    let key = flood.acme.key("bot", "read", Mode::Live).await;
    let beta_key = beta.key("bot", "read", Mode::Live).await;
    let batch = in_one_batch(&flood.acme).await;
    assert!(batch.messages > 0 && batch.more, "{batch:?}");
    assert!(batch.bytes <= 1_100_000, "what is held in memory at once: {batch:?}");
    assert!(batch.words <= 30_000, "what is written at once: {batch:?}");
    let search = async {
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(status(&key, "firstword").await);
            answers.push(status(&beta_key, "betaword").await);
        }
        answers
    };
    let (answers, ()) = futures::join!(search, world.work());
    assert_eq!(answers, [200; 10]);
    assert_eq!(waiting(world, &beta).await, 0, "the other workspace was indexed");
    assert_eq!(beta_key.listed("q=betaword").await, [theirs.to_string()]);
    world.work().await;
    assert_eq!(waiting(world, &flood.acme).await, 0);
    for query in ["firstword", last] {
        let found = key.listed(&format!("q={query}")).await;
        assert_eq!(found, [flood.conversation.to_string()], "{query}");
    }
}

#[tokio::test]
async fn mails_of_many_different_words_break_no_search() {
    story_with(UNHURRIED, async |world| {
        let flood = Flood::of(world).await;
        for number in 0..12 {
            flood.mail(number, &words(number, 50_000)).await;
        }
        every_search_answers(&flood, "mail11").await;
    })
    .await;
}

#[tokio::test]
async fn a_conversation_of_many_large_mails_breaks_no_search() {
    story_with(UNHURRIED, async |world| {
        let flood = Flood::of(world).await;
        let text = words(0, 500).repeat(60);
        for number in 0..40 {
            flood.mail(number, &text).await;
        }
        every_search_answers(&flood, "mail39").await;

        // Half of the room is full: the rest is for mail, however much is pasted into notes.
        world.sql("update conversation_words set segments = 26").await;
        flood.acme.note(flood.conversation, "Bot", "pastedword").await;
        flood.mail(40, "laterword").await;
        world.work().await;
        let key = flood.acme.key("another", "read", Mode::Live).await;
        assert_eq!(key.listed("q=laterword").await, [flood.conversation.to_string()]);
        let olga = world.browser(flood.acme.id, flood.acme.owner).await;
        assert!(!olga.get("/search?q=pastedword").await.page().contains("id=\"hit-"));
        assert!(olga.get("/search?q=laterword").await.page().contains("id=\"hit-"));
    })
    .await;
}

/// Makes PostgreSQL refuse words.
async fn poison(world: &World, when: &str) {
    let refuse = format!(
        "create function refuse() returns trigger language plpgsql as $$
         begin raise exception 'no' using errcode = '22000'; end $$;
         create trigger refuse before insert or update on conversation_words for each row
             when (new.{when}) execute function refuse()"
    );
    world.sql(&refuse).await;
}

async fn heal(world: &World) {
    world.sql("drop trigger refuse on conversation_words").await;
}

#[tokio::test]
async fn a_workspace_that_cannot_be_indexed_is_set_aside_and_stops_nobody() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let beta = world.workspace("Beta").await;
        assert!(acme.id < beta.id, "the failing one comes first");
        let inbox = acme.mailbox("help@acme.example", "Support").await;
        let other = beta.mailbox("help@beta.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        poison(world, &format!("workspace_id = {}", acme.id.0)).await;
        let lost = acme.mail(inbox, "anna@customer.example", "Hello", "acmeword").await;
        for round in 1..=3 {
            beta.mail(other, "ben@customer.example", "Hello", "betaword").await;
            let _ = world.works().await;
            assert_eq!(waiting(world, &beta).await, 0, "round {round}");
            assert_eq!(status(&key, "acmeword").await, 200, "its search still answers");
        }
        assert_eq!(waiting(world, &acme).await, 1, "nothing is forgotten");
        heal(world).await;
        world.work().await;
        assert_eq!(waiting(world, &acme).await, 1, "its time has not come");
        world.wait(chrono::TimeDelta::hours(2));
        world.work().await;
        assert_eq!(key.listed("q=acmeword").await, [lost.to_string()]);
    })
    .await;
}

#[tokio::test]
async fn a_mail_that_cannot_be_indexed_does_not_keep_the_rest_of_its_workspace() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let before = acme.mail(inbox, "anna@customer.example", "Hello", "beforeword").await;
        let lost = acme.mail(inbox, "anna@customer.example", "Hello", "lostword").await;
        let after = acme.mail(inbox, "anna@customer.example", "Hello", "afterword").await;
        poison(world, &format!("conversation_id = {}", lost.0)).await;
        let _ = world.works().await;
        assert_eq!(waiting(world, &acme).await, 1, "the others are indexed in the same pass");
        for _ in 0..4 {
            world.wait(chrono::TimeDelta::minutes(1));
            let _ = world.works().await;
        }
        assert_eq!(waiting(world, &acme).await, 1);
        assert_eq!(key.listed("q=beforeword").await, [before.to_string()]);
        assert_eq!(key.listed("q=afterword").await, [after.to_string()]);
        heal(world).await;
        world.wait(chrono::TimeDelta::hours(3));
        world.work().await;
        assert_eq!(key.listed("q=lostword").await, [lost.to_string()]);
    })
    .await;
}
