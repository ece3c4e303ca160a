//! Erasing a contact: nothing of them is left in any table or file, what others wrote stays, and a ban outlives the name.

use rookery_core::workspace::people;
use rookery_product::replies::suppress::{self, Reason};
use serde_json::json;

use rookery_world::canary::CANARY;
use rookery_world::verbs::erasing::erases;
use rookery_world::{Mode, story};

const ADA: &str = "ada.zanzibarcanary@customer.example";

fn with_file(from: &str, to: &str, subject: &str, id: &str) -> String {
    format!(
        "Message-ID: <{id}@customer.example>\nFrom: {from}\nTo: {to}\nSubject: {subject}\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nI am {CANARY}.\n\
         --b\nContent-Type: text/plain; name=\"{CANARY}.txt\"\nContent-Disposition: attachment; filename=\"{CANARY}.txt\"\n\n\
         This file is of {CANARY}.\n--b--\n"
    )
}

/// proves: APP-12
#[tokio::test]
async fn nothing_of_an_erased_contact_is_left_and_what_others_wrote_stays() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send,record", Mode::Live).await;
        let ada = format!("Ada {CANARY} <{ADA}>");
        let first = acme.mail(help, &ada, &format!("About {CANARY}"), &format!("Hello from {CANARY}.")).await;
        acme.receives(help, &with_file(&ada, "help@acme.example", "A file", "file-1")).await;
        acme.note(first, "Olga Owner", &format!("She is {CANARY}.")).await;
        acme.tag(first, "vip").await;
        key.sends(first, &format!("Dear {CANARY}, yes.")).await;
        let asked = json!({ "documents": [{ "label": format!("Passport of {CANARY}") }], "message": "Please.", "send": true });
        assert_eq!(key.post(&format!("/conversations/{first}/document-requests"), asked).await.status, 201);
        let sent = json!({ "messageId": "one@app.example", "reference": "inv-7", "to": [ADA], "subject": CANARY, "text": CANARY });
        assert_eq!(key.post("/app-mail", sent).await.status, 201);
        // Bob wrote, with Ada in copy; she answered there, and he quoted her.
        let bobs = acme.mail(help, "bob@other.example", "Bob's parcel", "Where is it?").await;
        let raw = format!(
            "Message-ID: <copy@customer.example>\nFrom: bob@other.example\nTo: help@acme.example\nCc: {ADA}\n\
             Subject: Re: Bob's parcel\nIn-Reply-To: <nothing@x>\n\nBob speaks here.\n\n> {CANARY} said so\n"
        );
        acme.receives_confirmed(help, &raw).await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        assert!(world.left_of_canary().await.len() > 8, "there is something to erase");

        let id = erases(&acme, ADA).await;
        world.work().await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        let row: (String, i32, i32, i32) = sqlx::query_as(
            "select step, conversations, messages, documents from erasures where id = $1")
            .bind(id.0).fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(row.0, "done");
        assert!(row.1 >= 2 && row.2 >= 3 && row.3 >= 1, "{row:?}");

        let shell = key.conversation(first).await;
        assert_eq!(shell["contact"], json!({ "name": null, "email": null }), "{shell}");
        assert_eq!((shell["subject"].as_str(), shell["status"].as_str()), (Some("Erased"), Some("closed")), "{shell}");
        let of_bob = key.conversation(bobs).await;
        assert_eq!(of_bob["contact"]["email"], "bob@other.example");
        assert!(of_bob.to_string().contains("Where is it?"), "{of_bob}");
        let all: i64 = world.scalar("select count(*) from messages where text like '%Bob speaks here%'").await;
        assert_eq!(all, 1, "what Bob wrote stays");
        let told: Vec<(String, String)> = sqlx::query_as(
            "select did, subject_name from audit_entries where did like 'erasure.%' order by n")
            .fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(told.iter().map(|(did, _)| did.as_str()).collect::<Vec<_>>(), ["erasure.asked", "erasure.done"]);
        assert!(told.iter().all(|(_, name)| name.starts_with("contact ")), "{told:?}");

        // She writes again: somebody new.
        let anew = acme.mail(help, ADA, "Hello again", "It is me.").await;
        assert_ne!(anew, first);
        assert_eq!(key.conversation(anew).await["contact"]["email"], ADA);
    })
    .await;
}

#[tokio::test]
async fn a_ban_outlives_the_name_and_can_be_lifted_by_whoever_has_the_address() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "write,draft,send", Mode::Live).await;
        let first = acme.mail(help, ADA, "Hello", "Stop writing.").await;
        let message = key.sends(first, "Sorry.").await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        suppress::suppress(&mut tx, true, ADA, Reason::Complaint, Some(message.parse().unwrap()))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        erases(&acme, ADA).await;
        world.work().await;
        assert_eq!(acme.suppressed().await, [] as [String; 0]);
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);

        let anew = acme.mail(help, ADA, "Hello again", "It is me.").await;
        let message = key.sends(anew, "You must not get this.").await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        assert_eq!(key.message(anew, &message).await["status"], "failed");

        let mut tx = world.app.begin(acme.id).await.unwrap();
        assert!(suppress::unsuppress(&mut tx, ADA).await.unwrap());
        assert!(!suppress::unsuppress(&mut tx, ADA).await.unwrap());
        tx.commit().await.unwrap();
        let message = key.sends(anew, "Now you may.").await;
        world.wait(chrono::TimeDelta::hours(1));
        world.work().await;
        assert_eq!(key.message(anew, &message).await["status"], "sent");
    })
    .await;
}

/// Private inboxes and another workspace: what is private is erased too, what is not ours is not touched.
#[tokio::test]
async fn every_inbox_of_the_workspace_is_searched_and_no_other_workspace() {
    story(async |world| {
        let (acme, globex) = (world.workspace("Acme").await, world.workspace("Globex").await);
        let mia = acme.person("Mia", people::Role::Member).await;
        let own = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let theirs = globex.mailbox("help@globex.example", "Help").await;
        acme.mail(own, ADA, "Private", "Hello.").await;
        globex.mail(theirs, ADA, "Other", "Hello.").await;
        acme.mail(own, &format!("x{ADA}"), "Longer", "Another person.").await;
        erases(&acme, ADA).await;
        world.work().await;
        let contacts: Vec<(i64, String)> = sqlx::query_as(
            "select workspace_id, contact_email from conversations where contact_email is not null order by 2")
            .fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(contacts, [(globex.id.0, ADA.to_owned()), (acme.id.0, format!("x{ADA}"))]);
    })
    .await;
}
