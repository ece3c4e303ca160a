//! Out of office: the automatic reply of an inbox in a period only, and the text of a person who is away
//! (docs/decisions/out-of-office.md).

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use rookery_base::ids::{ConversationId, MailboxId, PersonId};
use rookery_core::conversations::assign::{To, assign};
use rookery_core::conversations::lock::lock_any;
use rookery_core::workspace::access::MemberId;
use rookery_core::workspace::inbox_settings::auto_reply::AutoReply;
use rookery_core::workspace::inbox_settings::period::ReplyPeriod;
use rookery_core::workspace::people::{self, Role, away};
use rookery_mail::incoming::delivery::Received;
use rookery_mail::incoming::receive::receive;

use super::{TEXT, always, arrives, delivered, left, raw, set};
use rookery_world::mail::post::mail;
use rookery_world::{Workspace, World, story};

const AWAY: &str = "Mia is away until the third.";
const MORE_THAN_A_DAY: TimeDelta = TimeDelta::hours(25);

/// From the beginning on, or from now.
async fn leaves(
    acme: &Workspace<'_>,
    person: PersonId,
    from: Option<DateTime<Utc>>,
    until: DateTime<Utc>,
    text: &str,
) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let person = people::teammate(&mut tx, acme.id, person).await.unwrap();
    away::set(&mut tx, &person, ReplyPeriod { from, until: Some(until) }, text).await.unwrap();
    tx.commit().await.unwrap();
}

async fn gives(acme: &Workspace<'_>, conversation: ConversationId, to: PersonId) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let owner = people::teammate(&mut tx, acme.id, acme.owner).await.unwrap();
    let locked = lock_any(&mut tx, conversation).await.unwrap();
    assign(&mut tx, &locked, &owner, To::Member(MemberId::Person(to))).await.unwrap();
    tx.commit().await.unwrap();
}

/// A customer's mail that is a conversation of its own, assigned to somebody.
async fn asks(
    acme: &Workspace<'_>,
    inbox: MailboxId,
    from: &str,
    subject: &str,
    assignee: PersonId,
) -> ConversationId {
    let conversation = arrives(acme, inbox, &mail(from, subject, "", "Hello")).await.conversation;
    gives(acme, conversation, assignee).await;
    conversation
}

async fn replies(
    acme: &Workspace<'_>,
    inbox: MailboxId,
    to: ConversationId,
    from: &str,
    subject: &str,
    header: &str,
) {
    let mut delivery = delivered(acme, inbox, &mail(from, subject, header, "And now?")).await;
    delivery.joins = Some(to);
    let received = receive(&acme.world.app, acme.id, delivery).await.unwrap();
    assert!(matches!(received, Received::Stored(_)), "{received:?}");
}

/// What left for customers since it was asked last; the team has mail of its own.
async fn answers(world: &World, seen: &mut usize) -> Vec<String> {
    let mails = left(world, seen).await;
    mails.iter().filter(|mail| mail.to.ends_with("@x.example")).map(raw).collect()
}

#[tokio::test]
async fn a_reply_to_somebody_who_is_away_gets_their_text_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        set(&acme, help, &always()).await;
        let mia = acme.person("Mia", Role::Member).await;
        let ada = "ada@x.example";
        let parcel = asks(&acme, help, ada, "Parcel", mia).await;
        let order = asks(&acme, help, "bob@x.example", "Order", mia).await;
        let mut seen = 0;
        assert_eq!(answers(world, &mut seen).await.len(), 2, "from the inbox");
        world.wait(MORE_THAN_A_DAY);
        leaves(&acme, mia, None, world.now() + TimeDelta::days(10), AWAY).await;

        replies(&acme, help, parcel, ada, "Machine", "Auto-Submitted: auto-replied").await;
        assert!(answers(world, &mut seen).await.is_empty(), "a machine");
        replies(&acme, help, parcel, ada, "Second", "").await;
        let said = answers(world, &mut seen).await;
        let [said] = &said[..] else { panic!("one: {said:?}") };
        assert!(said.contains(AWAY) && !said.contains(TEXT), "instead of the inbox's: {said}");
        for line in ["Auto-Submitted: auto-replied\r\n", "In-Reply-To: <Second@customer.example>\r\n"] {
            assert!(said.contains(line), "{line}: {said}");
        }
        assert!(said.contains("help@acme.example") && !said.contains("mia@rookery.example"), "{said}");
        let mias = "select count(*) from conversations where assignee_type = 'user' and status = 'open'";
        assert_eq!(world.scalar(mias).await, 2, "nothing is reassigned");
        let kept = "select count(*) from notifications join people on people.id = person_id
                    where people.name = 'Mia' and reason = 'replied'";
        assert_eq!(world.scalar(kept).await, 1, "she is notified as ever");

        world.wait(MORE_THAN_A_DAY);
        replies(&acme, help, parcel, ada, "Third", "").await;
        assert!(answers(world, &mut seen).await.is_empty(), "neither she nor the inbox says more");
        replies(&acme, help, order, "bob@x.example", "Fourth", "").await;
        assert!(answers(world, &mut seen).await[0].contains(AWAY), "another sender");
        arrives(&acme, help, &mail(ada, "New", "", "Something else")).await;
        assert!(answers(world, &mut seen).await[0].contains(TEXT), "what is not hers has the inbox's");

        world.wait(TimeDelta::days(9));
        replies(&acme, help, parcel, ada, "Fifth", "").await;
        assert!(answers(world, &mut seen).await[0].contains(TEXT), "she is back");
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from away_replied").await, 0, "forgotten");
    })
    .await;
}

#[tokio::test]
async fn two_replies_of_one_sender_at_once_get_one_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        leaves(&acme, mia, None, world.now() + TimeDelta::days(3), AWAY).await;
        let mut conversations = Vec::new();
        for n in 0..6 {
            conversations.push(asks(&acme, help, "ada@x.example", &format!("First {n}"), mia).await);
        }
        let acme = &acme;
        join_all(conversations.iter().enumerate().map(|(n, conversation)| async move {
            replies(acme, help, *conversation, "Ada@x.example", &format!("Then {n}"), "").await;
        }))
        .await;
        assert_eq!(answers(world, &mut 0).await.len(), 1, "and the inbox needs no reply of its own for that");
    })
    .await;
}

#[tokio::test]
async fn a_later_end_is_said_when_the_earlier_one_is_over() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (began, mut seen) = (world.now(), 0);
        let conversation = asks(&acme, help, "ada@x.example", "Parcel", mia).await;
        leaves(&acme, mia, Some(began), began + TimeDelta::days(2), AWAY).await;
        replies(&acme, help, conversation, "ada@x.example", "One", "").await;
        assert_eq!(answers(world, &mut seen).await.len(), 1);
        leaves(&acme, mia, Some(began), began + TimeDelta::days(6), "Until the seventh.").await;
        world.wait(MORE_THAN_A_DAY);
        replies(&acme, help, conversation, "ada@x.example", "Two", "").await;
        assert!(answers(world, &mut seen).await.is_empty());
        world.wait(MORE_THAN_A_DAY);
        replies(&acme, help, conversation, "ada@x.example", "Three", "").await;
        assert!(answers(world, &mut seen).await[0].contains("Until the seventh."));
    })
    .await;
}

/// Without a text, before the first day, without an assignee, and after they left the team.
#[tokio::test]
async fn otherwise_the_inbox_answers_as_ever() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        set(&acme, help, &always()).await;
        let mia = acme.person("Mia", Role::Member).await;
        let parcel = asks(&acme, help, "ada@x.example", "Parcel", mia).await;
        let free = arrives(&acme, help, &mail("bob@x.example", "Order", "", "Hello")).await.conversation;
        let mut seen = 0;
        answers(world, &mut seen).await;
        let is_the_inbox = async |seen: &mut usize, conversation, from: &str, subject: &str| {
            world.wait(MORE_THAN_A_DAY);
            replies(&acme, help, conversation, from, subject, "").await;
            let said = answers(world, seen).await;
            assert!(said.len() == 1 && said[0].contains(TEXT), "{subject}: {said:?}");
        };
        let in_days = |days| world.now() + TimeDelta::days(days);
        leaves(&acme, mia, None, in_days(30), " \n").await;
        is_the_inbox(&mut seen, parcel, "ada@x.example", "No text").await;
        leaves(&acme, mia, Some(in_days(5)), in_days(30), AWAY).await;
        is_the_inbox(&mut seen, parcel, "ada@x.example", "Not yet").await;
        leaves(&acme, mia, None, in_days(30), AWAY).await;
        is_the_inbox(&mut seen, free, "bob@x.example", "Nobody has it").await;

        let mut tx = world.app.begin(acme.id).await.unwrap();
        people::remove(&mut tx, mia).await.unwrap();
        tx.commit().await.unwrap();
        let kept = "select count(*) from people where away_until is not null or away_text <> ''";
        assert_eq!(world.scalar(kept).await, 0, "it ends with who left");
        is_the_inbox(&mut seen, parcel, "ada@x.example", "She left").await;
    })
    .await;
}

#[tokio::test]
async fn an_inbox_answers_in_its_period_only() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let day = |n| Some(world.now() + TimeDelta::days(n));
        let dated = AutoReply { period: ReplyPeriod { from: day(1), until: day(3) }, ..always() };
        set(&acme, help, &dated).await;
        let off = "select count(*) from auto_replies where not is_on";
        assert_eq!(world.scalar(off).await, 1, "the version before sends nothing, whatever the day");
        let mut seen = 0;
        for (n, wanted) in [0, 1, 1, 0].into_iter().enumerate() {
            arrives(&acme, help, &mail(&format!("c{n}@x.example"), &format!("Day {n}"), "", "Hello")).await;
            assert_eq!(answers(world, &mut seen).await.len(), wanted, "day {n}");
            world.wait(TimeDelta::days(1));
        }

        // The version before saves the form: what it showed holds, which is off, or on without a period.
        set(&acme, help, &AutoReply { period: ReplyPeriod { from: None, until: day(3) }, ..always() }).await;
        for (saved, subject, wanted) in [("is_on", "Off", 0), ("true", "On", 1)] {
            let save =
                format!("update auto_replies set is_on = {saved}, changed_at = changed_at + interval '1 s'");
            world.sql(&save).await;
            arrives(&acme, help, &mail(&format!("{subject}@x.example"), subject, "", "Hello")).await;
            assert_eq!(answers(world, &mut seen).await.len(), wanted, "{subject}");
        }
    })
    .await;
}
