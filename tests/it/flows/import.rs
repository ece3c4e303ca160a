//! `rookery admin import-mail`, the real program on real files.

use std::path::{Path, PathBuf};
use std::process::Output;

use rookery_base::ids::{MailboxId, WorkspaceId};
use serde_json::{Value, json};

use rookery_world::{Mode, World, story};

/// A folder of mail files that goes with the test.
struct Mails(PathBuf);

impl Mails {
    fn new(world: &World) -> Self {
        let blobs = world.app.config.blobs.to_file_path().expect("a folder");
        let folder = blobs.with_extension("mails");
        std::fs::create_dir_all(&folder).expect("a new folder");
        Self(folder)
    }

    fn write(&self, name: &str, raw: &str) -> PathBuf {
        let file = self.0.join(name);
        std::fs::write(&file, raw.replace('\n', "\r\n")).expect("a file can be written");
        file
    }
}

impl Drop for Mails {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Nothing else runs meanwhile: the program has the database to itself.
fn import(
    world: &World,
    more: &[&str],
    workspace: WorkspaceId,
    mailbox: MailboxId,
    files: &[PathBuf],
) -> Output {
    std::process::Command::new(rookery_world::program())
        .args(["admin", "import-mail"])
        .args(more)
        .args(["--workspace", &workspace.to_string(), "--mailbox", &mailbox.to_string()])
        .args(files)
        .env("ROOKERY_DATABASE_URL", &world.app.config.database_url.0)
        .env("ROOKERY_BLOBS", world.app.config.blobs.as_str())
        .output()
        .expect("the program starts")
}

fn counts(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[tokio::test]
async fn mail_files_are_imported_once_and_what_cannot_be_read_is_named() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let mails = Mails::new(world);
        let one = mails
            .write("one.eml", "Message-ID: <1@c>\nFrom: anna@customer.example\nSubject: Parcel\n\nHello\n");
        let two = mails
            .write("two.eml", "Message-ID: <2@c>\nFrom: ben@customer.example\nSubject: Letter\n\nHello\n");
        let copy = mails.write(
            "copy.eml",
            "Received: by x\nMessage-ID: <1@c>\nFrom: anna@customer.example\nSubject: Parcel\n\nHello\n",
        );
        let broken = mails.write("broken.eml", "this is no mail");
        let missing = mails.0.join("missing.eml");
        let files = [one, broken.clone(), two, copy, missing.clone()];
        let output = import(world, &["--json"], acme.id, support, &files);
        assert_eq!(counts(&output), json!({ "imported": 2, "duplicates": 1, "failed": 2 }));
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        for (file, why) in [(&broken, "This is not an email"), (&missing, "No such file")] {
            let line = complaints.lines().find(|line| line.contains(&*file.to_string_lossy()));
            assert!(line.is_some_and(|line| line.contains(why)), "{complaints}");
        }
        let again = import(world, &["--json"], acme.id, support, &files[..1]);
        assert_eq!(counts(&again), json!({ "imported": 0, "duplicates": 1, "failed": 0 }));
        let in_words = import(world, &[], acme.id, support, &files[..1]);
        assert_eq!(String::from_utf8_lossy(&in_words.stdout), "0 imported, 1 there already, 0 failed.\n");

        let key = acme.key("bot", "read", Mode::Live).await;
        let (_, list) = key.list("q=hello").await;
        let mut subjects: Vec<_> =
            list.as_array().unwrap().iter().map(|item| item["subject"].as_str().unwrap()).collect();
        subjects.sort();
        assert_eq!(subjects, ["Letter", "Parcel"]);
        assert_eq!(world.events("turn.changed").await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn mail_is_imported_into_live_inboxes_of_that_workspace_only() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.example", "Support").await;
        let tester = acme.key("tester", "read", Mode::Test).await;
        let (_, inboxes) = tester.read("/mailboxes", "list_mailboxes", json!({})).await;
        let sandbox: MailboxId = inboxes[0]["id"].as_str().unwrap().parse().unwrap();
        let mails = Mails::new(world);
        let file = mails.write("one.eml", "Message-ID: <1@c>\nFrom: anna@customer.example\n\nHello\n");
        for inbox in [sandbox, theirs, MailboxId(1)] {
            let output = import(world, &[], acme.id, inbox, std::slice::from_ref(&file));
            assert!(!output.status.success());
            assert_eq!(String::from_utf8_lossy(&output.stderr), "rookery: No such inbox.\n");
        }
        let stored: i64 =
            sqlx::query_scalar("select count(*) from messages").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(stored, 0);
        assert!(Path::new(&file).exists(), "an import only reads");
    })
    .await;
}
