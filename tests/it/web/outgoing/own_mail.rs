//! A mail that a person wrote and sent: it waits as long as they chose, undo puts their words back before them, and only they
//! send it at once. What agents send and what was approved waits for the whole window, whatever anybody chose.

use chrono::TimeDelta;
use rookery_base::relay::mailer::{Handover, Refusal};
use rookery_core::workspace::people::Role;
use serde_json::json;

use crate::web::writing_attacks::upload;
use rookery_world::browser::{Browser, Shown};
use rookery_world::pages::writing::{Composer, inbox, reply, write};
use rookery_world::{Mode, story, story_with};

fn message_of(shown: &Shown) -> String {
    let location = shown.location();
    location.split("of=").nth(1).expect("a message").split('#').next().unwrap_or_default().to_owned()
}

async fn chooses(browser: &Browser<'_>, seconds: &str) -> u16 {
    let fields = [("name", "Mia"), ("zone", "UTC"), ("theme", "auto"), ("keys", "on"), ("undo", seconds)];
    browser.post("/profile", &fields).await.status
}

/// The time that the button "Send now" was shown with.
fn shown_time(page: &str) -> String {
    let form = page.split("/send-now\"").nth(1).expect("a way to send it now");
    form.split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn own_mail_waits_as_long_as_its_writer_chose_and_the_rest_for_the_whole_window() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let mia = acme.person("Mia", Role::Member).await;
        let bot = acme.key("bot", "draft,send", Mode::Live).await;
        let mia = world.browser(acme.id, mia).await;
        let answered = async |who: &str, body: &str| {
            let id = acme.mail(help, &format!("{who}@customer.example"), "Hi", "Hello?").await;
            let composer = Composer::open(&mia, &reply(id)).await.set("body", body);
            (composer.html.clone(), composer.press(&mia, &write(id), ("do", "send")).await)
        };
        let left = async || {
            world.work().await;
            world.outbox.letters().len()
        };
        let agents = acme.mail(help, "agents@customer.example", "Hi", "Hello?").await;
        bot.sends(agents, "From the agent.").await;
        let approved = acme.mail(help, "approved@customer.example", "Hi", "Hello?").await;
        let draft = bot.replies(approved, json!({ "body": "Approved." })).await;
        mia.post(&format!("/messages/{draft}/approve"), &[("version", "")]).await;

        let (page, sent) = answered("default", "Twenty.").await;
        assert!(page.contains("Sends in 20 seconds"), "{page}");
        assert!(sent.location().contains("done=sends"), "{}", sent.location());
        world.wait(TimeDelta::milliseconds(19_999));
        assert_eq!(left().await, 0);
        world.wait(TimeDelta::milliseconds(1));
        assert_eq!(left().await, 1);

        assert_eq!(chooses(&mia, "60").await, 303);
        let (page, _) = answered("minute", "A minute.").await;
        assert!(page.contains("Sends in 1 minute"), "{page}");
        world.wait(TimeDelta::seconds(59));
        assert_eq!(left().await, 1);
        world.wait(TimeDelta::seconds(1));
        assert_eq!(left().await, 2);

        assert_eq!(chooses(&mia, "0").await, 303);
        let (page, _) = answered("nothing", "At once.").await;
        assert!(page.contains("Sends immediately"), "{page}");
        assert_eq!(left().await, 3);

        for wrong in ["5", "-1", "601", "soon"] {
            assert_eq!(chooses(&mia, wrong).await, 400, "{wrong}");
        }
        // Agents' mail and the approved draft left no sooner for all that.
        let texts: Vec<String> = world.outbox.letters().into_iter().map(|letter| letter.text).collect();
        assert_eq!(texts, ["Twenty.", "A minute.", "At once."]);
        world.wait(TimeDelta::minutes(9));
        assert_eq!(left().await, 5);
    })
    .await;
}

#[tokio::test]
async fn no_choice_is_longer_than_the_service_lets_mail_wait() {
    story_with(&[("UNDO_WINDOW_SECONDS", "5")], async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Five.");
        assert!(composer.html.contains("Sends in 5 seconds"), "{}", composer.html);
        composer.press(&mia, &write(id), ("do", "send")).await;
        world.wait(TimeDelta::seconds(5));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn undo_puts_the_words_back_before_their_writer_and_a_colleague_gets_a_draft() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "Ada <ada@customer.example>", "Lease", "The lease?").await;
        let tom = acme.person("Tom", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let key = acme.key("bot", "read", Mode::Live).await;
        let sends =
            async |composer: Composer| message_of(&composer.press(&mia, &write(id), ("do", "send")).await);
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Here it is.\n\nReally.");
        let composer = composer.set("cc", "bob@customer.example");
        let files = format!("{}/files", write(id));
        let shown = upload(&mia, &files, &composer, &[("lease.pdf", "application/pdf", b"lease")]).await;
        let message = sends(Composer::open(&mia, shown.location()).await).await;

        let undone = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        let back = format!("/conversations/{id}?compose=reply&back={message}&done=taken-back");
        assert!(undone.location().starts_with(&back), "{}", undone.location());
        let composer = Composer::open(&mia, undone.location()).await;
        assert_eq!(composer.get("body"), "Here it is.\n\nReally.");
        assert_eq!(composer.get("cc"), "bob@customer.example");
        assert!(composer.html.contains("lease.pdf"), "{}", composer.html);
        assert!(!key.conversation(id).await.to_string().contains("Here it is."), "it is nobody else's draft");
        let again = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        assert_eq!(again.status, 404, "it is not there any more");

        // A colleague stops it: then it is a draft for everybody, as before.
        let message = sends(composer).await;
        let stopped = tom.post(&format!("/messages/{message}/undo"), &[]).await;
        assert!(stopped.location().contains("done=stopped"), "{}", stopped.location());
        assert_eq!(key.message(id, &message).await["status"], "draft");
        // Approved by the colleague it is not only its writer's any more.
        tom.post(&format!("/messages/{message}/approve"), &[("version", "")]).await;
        let stopped = mia.post(&format!("/messages/{message}/undo"), &[]).await;
        assert!(stopped.location().contains("done=stopped"), "{}", stopped.location());
        world.wait(TimeDelta::minutes(20));
        world.work().await;
        assert!(world.outbox.letters().is_empty());
    })
    .await;
}

#[tokio::test]
async fn only_its_writer_sends_a_mail_now_and_only_as_it_was_shown() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello?").await;
        let tom = acme.person("Tom", Role::Member).await;
        let (mia, tom) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, tom).await);
        let other = world.workspace("Other").await;
        let stranger = world.browser(other.id, other.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Yes.");
        let message = message_of(&composer.press(&mia, &write(id), ("do", "send")).await);
        let conversation = format!("/conversations/{id}");
        let shown = shown_time(&mia.get(&conversation).await.page());
        let theirs = tom.get(&conversation).await.page();
        assert!(theirs.contains(&format!("/messages/{message}/undo")) && !theirs.contains("/send-now"));
        let path = format!("/messages/{message}/send-now");
        assert_eq!(tom.post(&path, &[("shown", &shown)]).await.status, 403);
        assert_eq!(stranger.post(&path, &[("shown", &shown)]).await.status, 404);
        assert_eq!(mia.post(&path, &[]).await.status, 400);
        assert!(mia.post(&path, &[("shown", "7")]).await.location().contains("done=time-crossed"));
        world.work().await;
        assert!(world.outbox.letters().is_empty());

        // Twice at once it leaves once.
        let fields = [("shown", shown.as_str())];
        let (one, two) = tokio::join!(mia.post(&path, &fields), mia.post(&path, &fields));
        let mut codes = [&one, &two].map(|shown| shown.location().split("done=").nth(1).unwrap().to_owned());
        codes.sort_unstable();
        assert!(codes.iter().all(|code| code.starts_with("sent-now")), "{codes:?}");
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        assert!(mia.post(&path, &fields).await.location().contains("done=on-its-way"));

        // What an agent sends and what was approved cannot be hurried by anybody.
        let bot = acme.key("bot", "draft,send", Mode::Live).await;
        let sent = bot.sends(id, "By itself.").await;
        let draft = bot.replies(id, json!({ "body": "Approved." })).await;
        mia.post(&format!("/messages/{draft}/approve"), &[("version", ""), ("seen", "1")]).await;
        for message in [sent, draft] {
            assert_eq!(mia.post(&format!("/messages/{message}/send-now"), &fields).await.status, 403);
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_sent_again_is_nobodys_own_and_two_mails_are_never_mixed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Hi", "Hello?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let bot = acme.key("bot", "read,send", Mode::Live).await;
        // An agent's mail fails, and Mia sends it again: its words are the agent's still.
        let failed = bot.sends(id, "From the agent.").await;
        world.outbox.answers(Handover::Refused(Refusal::Rejected));
        world.wait(TimeDelta::minutes(10));
        world.work().await;
        let question = mia.get(&format!("/messages/{failed}/again")).await.page();
        let seen = question.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let again = message_of(&mia.post(&format!("/messages/{failed}/again"), &[("seen", seen)]).await);
        let page = mia.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains(&format!("/messages/{again}/undo")) && !page.contains("/send-now"), "{page}");
        assert_eq!(mia.post(&format!("/messages/{again}/send-now"), &[("shown", "1")]).await.status, 403);
        let stopped = mia.post(&format!("/messages/{again}/undo"), &[]).await;
        assert!(stopped.location().contains("done=stopped"), "{}", stopped.location());

        // She answers, begins another reply with a file, and takes the first back: nothing of the one gets into the other.
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "The first.");
        let first = message_of(&composer.press(&mia, &write(id), ("do", "send")).await);
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "The second.");
        let files = format!("{}/files", write(id));
        upload(&mia, &files, &composer, &[("internal.pdf", "application/pdf", b"internal")]).await;
        let stopped = mia.post(&format!("/messages/{first}/undo"), &[]).await;
        assert!(stopped.location().contains("done=stopped"), "{}", stopped.location());
        assert_eq!(bot.message(id, &first).await["status"], "draft");
        let composer = Composer::open(&mia, &reply(id)).await;
        assert_eq!(composer.get("body"), "The second.");
        assert!(composer.html.contains("internal.pdf"));
    })
    .await;
}
