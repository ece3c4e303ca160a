//! Retention: closed mail whose time is over goes to the trash, can be brought back for a week, and is then gone with its
//! files. What is open, held or touched stays.

use chrono::TimeDelta;
use rookery_core::conversations::keeping::holds::{self, Covers};
use rookery_core::conversations::keeping::retention;
use rookery_mail::incoming::delivery::Received;

use rookery_world::verbs::erasing::{closes, keeps, olga};
use rookery_world::{Message, World, story};

pub async fn subjects(world: &World, select: &'static str) -> Vec<String> {
    sqlx::query_scalar(select).fetch_all(&world.app.pool).await.unwrap()
}

pub const ALL: &str = "select subject from conversations order by subject";
pub const TRASH: &str =
    "select subject from trash join conversations c on c.id = conversation_id order by subject";

#[tokio::test]
async fn closed_mail_goes_to_the_trash_and_a_week_later_for_good() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let other = acme.mailbox("other@acme.example", "Other").await;
        let names = ["brought back", "closed", "held", "held person", "reopened"];
        let mut made = Vec::new();
        for name in names {
            let from = format!("{}@customer.example", name.replace(' ', "-"));
            let id = acme.mail(help, &from, name, "Hello.").await;
            if name == "reopened" {
                let ours = Message { status: "sent", text: "Yes.", rfc_message_id: Some("ours@acme.example") };
                acme.outbound(id, ours).await;
            }
            closes(&acme, id).await;
            made.push(id);
        }
        acme.mail(help, "open@customer.example", "open", "Hello.").await;
        let elsewhere = acme.mail(other, "else@customer.example", "elsewhere", "Hello.").await;
        closes(&acme, elsewhere).await;
        let olga = olga(&acme).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        holds::place(&mut tx, &olga, "Case 7", Covers::Conversation(&made[2].to_string())).await.unwrap();
        holds::place(&mut tx, &olga, "Case 8", Covers::Contact("Held-Person@customer.example")).await.unwrap();
        tx.commit().await.unwrap();
        keeps(&acme, help, Some(30)).await;

        world.wait(TimeDelta::days(29));
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, [] as [String; 0]);
        world.wait(TimeDelta::days(2));
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, ["brought back", "closed", "reopened"]);

        let mut tx = world.app.begin(acme.id).await.unwrap();
        retention::bring_back(&mut tx, &olga, &made[0].to_string()).await.unwrap();
        tx.commit().await.unwrap();
        // New mail opens it again: it answers ours.
        let raw = "Message-ID: <again@customer.example>\nFrom: reopened@customer.example\nTo: help@acme.example\n\
                   Subject: Re: reopened\nIn-Reply-To: <ours@acme.example>\n\nOne more thing.\n";
        let Received::Stored(stored) = acme.receives(help, raw).await else { panic!("it is new") };
        assert_eq!(stored.conversation, made[4]);
        world.wait(TimeDelta::days(8));
        world.work().await;
        let left = subjects(world, ALL).await;
        assert!(!left.contains(&"closed".to_owned()), "{left:?}");
        for stays in ["brought back", "elsewhere", "held", "held person", "open", "reopened"] {
            assert!(left.contains(&stays.to_owned()), "{stays}: {left:?}");
        }
        let told: Vec<String> = subjects(world, "select subject_name || ' ' || data from audit_entries where did = 'retention.removed'").await;
        assert_eq!(told, [r#"Help {"conversations":1,"keepDays":30}"#]);
        let missing: i64 = world.scalar("select count(*) from messages where not exists (select from conversations c where c.id = conversation_id)").await;
        assert_eq!(missing, 0);
    })
    .await;
}

#[tokio::test]
async fn a_shorter_time_waits_a_day_and_a_longer_one_empties_the_trash() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let id = acme.mail(help, "ada@customer.example", "old", "Hello.").await;
        closes(&acme, id).await;
        world.wait(TimeDelta::days(10));
        world.work().await;
        keeps(&acme, help, Some(5)).await;
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, [] as [String; 0], "a slip of the hand takes nothing");
        world.wait(TimeDelta::hours(25));
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, ["old"]);
        keeps(&acme, help, None).await;
        world.work().await;
        assert_eq!(subjects(world, TRASH).await, [] as [String; 0]);
        world.wait(TimeDelta::days(20));
        world.work().await;
        assert_eq!(subjects(world, ALL).await, ["old"]);
    })
    .await;
}
