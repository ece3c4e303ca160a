//! How a customer's program finds our mail's place: In-Reply-To, References and a Message-ID nobody can guess.

use chrono::TimeDelta;
use mail_parser::{Message, MessageParser};
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::delivery::Received;
use serde_json::json;

use rookery_world::{Mode, story};

const WINDOW: TimeDelta = TimeDelta::minutes(10);

fn ids(mail: &Message<'_>) -> (Option<String>, Vec<String>) {
    let list = |value: &mail_parser::HeaderValue<'_>| {
        let list = value.as_text_list().unwrap_or_default();
        list.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    (list(mail.in_reply_to()).pop(), list(mail.references()))
}

/// proves: MSG-11, MSG-12, MSG-14
#[tokio::test]
async fn a_long_exchange_stays_one_thread_on_both_sides() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let mut known: Vec<String> = Vec::new();
        let mut conversation = None;
        for round in 0..13 {
            let theirs = format!("round-{round}@customer.example");
            let references = known.iter().map(|id| format!("<{id}>")).collect::<Vec<_>>().join(" ");
            let raw = format!(
                "Message-ID: <{theirs}>\nReferences: {references}\nFrom: Ada <ada@customer.example>\n\
                 To: help@acme.example\nSubject: Parcel\n\nRound {round}\n"
            );
            let Received::Stored(stored) = acme.receives(inbox, &raw).await else { panic!("not stored") };
            let id = *conversation.get_or_insert(stored.conversation);
            assert_eq!(stored.conversation, id, "an answer to our mail joins");
            known.push(theirs.clone());
            key.sends(id, &format!("Answer {round}")).await;
            world.wait(WINDOW);
            world.work().await;
            let mails = world.outbox.mails();
            let mail = MessageParser::new().parse(&mails.last().unwrap().raw).unwrap();
            let (answers, chain) = ids(&mail);
            assert_eq!(answers, Some(theirs));
            assert_eq!(
                chain,
                known[known.len().saturating_sub(20)..],
                "the newest twenty, the answered one last"
            );
            let text = mail.body_text(0).unwrap().replace("\r\n", "\n");
            assert!(text.starts_with(&format!("Answer {round}\n\nOn ")), "{text}");
            assert!(
                text.ends_with(&format!("Ada <ada@customer.example> wrote:\n\n> Round {round}\n")),
                "{text}"
            );
            assert!(mail.body_html(0).unwrap().contains(&format!("<p dir=\"auto\">Round {round}</p>")));
            known.push(mail.message_id().unwrap().to_owned());
        }
        let read = key.conversation(conversation.unwrap()).await;
        assert!(!read.to_string().contains("wrote:"), "the quote is mailed, never stored");
        let mut ours = world.rfc_message_ids().await;
        ours.sort();
        ours.dedup();
        assert_eq!(ours.len(), 13);
        for id in &ours {
            let (message, rest) = id.split_once('.').unwrap();
            let (chance, domain) = rest.split_once('@').unwrap();
            assert!(message.starts_with("msg_") && domain == "acme.example", "{id}");
            assert!(chance.len() == 32 && chance.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
    })
    .await;
}

/// proves: MSG-11
#[tokio::test]
async fn an_answer_names_what_its_author_had_read_and_not_what_a_machine_wrote_last() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "draft,send", Mode::Live).await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let mail = async |id: &str, more: &str, text: &str| {
            let raw = format!(
                "Message-ID: <{id}@customer.example>\n{more}From: ada@customer.example\n\
                 To: help@acme.example\nSubject: Parcel\n\n{text}\n"
            );
            match acme.receives(inbox, &raw).await {
                Received::Stored(stored) => stored.conversation,
                other => panic!("{other:?}"),
            }
        };
        let last = || {
            let mails = world.outbox.mails();
            let parsed = MessageParser::new().parse(&mails.last().unwrap().raw).unwrap().into_owned();
            (ids(&parsed).0, parsed.body_text(0).unwrap().into_owned())
        };
        let id = mail("one", "", "First words").await;
        key.sends(id, "On its way.").await;
        world.wait(WINDOW);
        world.work().await;
        let ours = format!("References: <{}>\n", world.rfc_message_ids().await[0]);

        world.wait(TimeDelta::seconds(1));
        mail("away", &format!("{ours}Auto-Submitted: auto-replied\n"), "I am away").await;
        let draft = key.drafts(id, "Anything else?").await;
        world.wait(TimeDelta::seconds(1));
        mail("two", &ours, "Second words").await;
        world.wait(TimeDelta::seconds(1));
        acme.approve(mia, &draft, None).await.unwrap();
        world.wait(TimeDelta::seconds(1));
        mail("three", &ours, "Third words").await;
        world.wait(WINDOW);
        world.work().await;
        let (answers, text) = last();
        assert_eq!(answers.as_deref(), Some("two@customer.example"), "read when it was approved");
        assert!(text.contains("> Second words") && !text.contains("Third words"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn a_reminder_says_that_a_machine_wrote_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "send", Mode::Live).await;
        let id = acme.mail(inbox, "ada@customer.example", "Loan", "I need one").await;
        let asks = json!({ "body": "Please.", "send": true, "documents": [{ "label": "Passport" }] });
        key.replies(id, asks).await;
        world.wait(WINDOW);
        world.work().await;
        world.wait(TimeDelta::days(3));
        world.work().await;
        world.work().await;
        let mails = world.outbox.mails();
        let [request, reminder] = &mails[..] else { panic!("{} mails", mails.len()) };
        let automatic = |raw: &[u8]| {
            let mail = MessageParser::new().parse(raw).unwrap();
            mail.header("Auto-Submitted").and_then(|value| value.as_text()).map(str::to_owned)
        };
        assert_eq!(automatic(&request.raw), None, "somebody wrote it");
        assert_eq!(automatic(&reminder.raw).as_deref(), Some("auto-generated"));
        let parsed = MessageParser::new().parse(&reminder.raw).unwrap();
        let text = parsed.body_text(0).unwrap();
        assert!(text.contains("Passport") && !text.contains("wrote:"), "{text}");
        assert!(ids(&parsed).0.is_some(), "it stands in the same thread");
    })
    .await;
}
