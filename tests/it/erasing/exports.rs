//! Exports: a sound ZIP of what the person who asked can see, for them alone and only when they have just signed in, for
//! seven days; and gone when a contact is erased.

use chrono::{DateTime, TimeDelta, Utc};
use rookery_core::workspace::people::Role;
use rookery_upkeep::exports::make;

use rookery_world::pages::sign_in::{PASSWORD, set_password, with_cookie_of};
use rookery_world::verbs::erasing::{erases, made, unpacked};
use rookery_world::{Mode, World, story};

const PATH: &str = "/settings/data";
const ADA: &str = "ada@customer.example";

#[tokio::test]
async fn an_export_has_what_the_asker_sees_and_is_theirs_alone_for_seven_days() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let adam = acme.person("Adam", Role::Admin).await;
        let own = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let raw = "Message-ID: <one@customer.example>\nFrom: Ada <ada@customer.example>\nTo: help@acme.example\nSubject: A file\n\
                   MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nThe parcel is late.\n\
                   --b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=\"../../etc/passwd\"\n\nThe bytes of the file.\n--b--\n";
        acme.receives(help, raw).await;
        acme.mail(help, "bob@customer.example", "Of Bob", "Bob's words.").await;
        acme.mail(own, ADA, "Private", "Adam's secret.").await;
        let (owner, admin) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, adam).await);
        assert_eq!(owner.post("/settings/data/exports", &[("what", "contact"), ("who", "nobody")]).await.status, 400);
        assert_eq!(owner.post("/settings/data/exports", &[("what", "contact"), ("who", "Ada@customer.example")]).await.status, 303);
        assert!(owner.get(PATH).await.page().contains("0 percent done"));
        world.work().await;
        let id = made(&owner.get(PATH).await.page());
        let path = format!("/settings/data/exports/{id}/download");
        let (names, text) = unpacked(world, &owner, &path, &[]).await;
        assert!(text.contains("The parcel is late") && text.contains("The bytes of the file"), "{text}");
        assert!(text.contains("\"topic\"") && text.contains("\"urgency\"") && text.contains("\"riskReasons\""), "{text}");
        assert!(!text.contains("Bob's words") && !text.contains("Adam's secret"), "{text}");
        assert!(names.iter().all(|name| !name.split('/').any(|part| part == "..")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with(".eml")) && names.iter().any(|name| name.ends_with("conversation.json")), "{names:?}");

        // Of another there is nothing to see.
        assert_eq!(admin.get(&format!("/settings/data/exports/{id}")).await.status, 404);
        assert_eq!(admin.post(&path, &[]).await.status, 404);
        assert_eq!(admin.post(&format!("/settings/data/exports/{id}/end"), &[]).await.status, 404);

        // Somebody whose session is a while old has to show who they are.
        world.wait(TimeDelta::minutes(61));
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        let asks = owner.post(&path, &[("password", PASSWORD)]).await;
        assert!(asks.status == 403 && asks.html.contains("type=\"password\""), "{}", asks.html);
        assert_eq!(owner.post("/sign-in/again", &[("password", "wrong wrong wrong")]).await.status, 401);
        assert_eq!(owner.post(&path, &[]).await.status, 403);
        let owner = with_cookie_of(world, &owner.post("/sign-in/again", &[("password", PASSWORD)]).await);
        unpacked(world, &owner, &path, &[]).await;

        // The whole workspace, as Adam sees it.
        let admin = world.browser(acme.id, adam).await;
        assert_eq!(admin.post("/settings/data/exports", &[("what", "workspace")]).await.status, 303);
        world.work().await;
        let whole = made(&admin.get(PATH).await.page());
        let (_, text) = unpacked(world, &admin, &format!("/settings/data/exports/{whole}/download"), &[]).await;
        assert!(text.contains("Bob's words") && text.contains("Adam's secret"), "{text}");

        let told: Vec<String> = sqlx::query_scalar("select did from audit_entries where did like 'export.%' order by n")
            .fetch_all(&world.app.pool).await.unwrap();
        assert_eq!(told, ["export.asked", "export.made", "export.taken", "export.taken", "export.asked", "export.made", "export.taken"]);
        world.wait(TimeDelta::days(8));
        world.work().await;
        assert_eq!(world.scalar("select count(*) from exports where ended_at is null or blob is not null or address is not null").await, 0);
        assert!(!world.files().iter().any(|file| file.to_string_lossy().contains("/export/")), "its file is gone");
    })
    .await;
}

#[tokio::test]
async fn an_erasure_ends_every_export_and_one_that_is_stopped_is_not_made() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.mail(help, ADA, "Parcel", "Hello.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        world.work().await;
        assert!(world.files().iter().any(|file| file.to_string_lossy().contains("/export/")));
        erases(&acme, ADA).await;
        world.work().await;
        world.work().await;
        assert!(!world.files().iter().any(|file| file.to_string_lossy().contains("/export/")));
        assert_eq!(world.scalar("select count(*) from exports where ended_at is null").await, 0);

        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        let page = owner.get(PATH).await.page();
        let end = page
            .split("action=\"/settings/data/exports/")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap()
            .to_owned();
        assert_eq!(owner.post(&format!("/settings/data/exports/{end}"), &[]).await.status, 303);
        world.work().await;
        assert_eq!(
            world.scalar("select count(*) from exports where made_at is not null and ended_at is null").await,
            0
        );
    })
    .await;
}

/// A mail with a file, which stands in the blob store.
fn with_file(n: u32, from: &str) -> String {
    format!(
        "Message-ID: <file{n}@customer.example>\nFrom: {from}\nTo: help@acme.example\nSubject: File {n}\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nSee the file.\n\
         --b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=\"bill{n}.txt\"\n\nThe bytes of bill {n}.\n--b--\n"
    )
}

/// The path of the file that the blob store has of a mail's attachment.
async fn stored_file(world: &World, subject: &str) -> std::path::PathBuf {
    let key: String = sqlx::query_scalar(
        "select attachments -> 0 ->> 'blob' from messages m join conversations c on c.id = m.conversation_id where c.subject = $1",
    )
    .bind(subject)
    .fetch_one(&world.app.pool)
    .await
    .unwrap();
    world.files().into_iter().find(|file| file.ends_with(&key)).expect("the file is there")
}

/// A store that does not answer is no file that is gone: nothing is left out without a word.
#[tokio::test]
async fn a_file_that_is_gone_is_named_and_one_that_cannot_be_read_is_waited_for() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        for n in 0..2 {
            acme.receives(help, &with_file(n, ADA)).await;
        }
        let (gone, away) = (stored_file(world, "File 0").await, stored_file(world, "File 1").await);
        let bytes = std::fs::read(&away).unwrap();
        std::fs::remove_file(&gone).unwrap();
        std::fs::remove_file(&away).unwrap();
        std::os::unix::fs::symlink(&away, &away).expect("a link to itself opens nothing");
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        assert!(world.works().await.is_err(), "it is put off");
        assert!(
            !owner.get(PATH).await.page().contains("href=\"/settings/data/exports/"),
            "half an export is none"
        );
        assert!(!world.files().iter().any(|file| file.to_string_lossy().contains("/export/")));
        std::fs::remove_file(&away).unwrap();
        std::fs::write(&away, bytes).unwrap();
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        let id = made(&owner.get(PATH).await.page());
        let (names, text) =
            unpacked(world, &owner, &format!("/settings/data/exports/{id}/download"), &[]).await;
        let has = |file: &str| names.iter().any(|name| name.ends_with(file));
        assert!(has("bill1.txt") && !has("bill0.txt") && has("missing.txt"), "{names:?}");
        let missing = text.split("does not have these files any more:").nth(1).expect("it says so");
        assert!(missing.contains("bill0.txt") && !missing.contains("bill1.txt"), "{missing}");
    })
    .await;
}

#[tokio::test]
async fn an_export_that_cannot_be_made_says_so_and_keeps_no_other_waiting() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        let help = acme.mailbox("help@acme.example", "Help").await;
        acme.receives(help, &with_file(0, ADA)).await;
        let away = stored_file(world, "File 0").await;
        std::fs::remove_file(&away).unwrap();
        std::os::unix::fs::symlink(&away, &away).unwrap();
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        let others = world.browser(other.id, other.owner).await;
        others.post("/settings/data/exports", &[("what", "workspace")]).await;
        // Somebody holds the row of the first: the second is made meanwhile.
        #[expect(clippy::disallowed_methods, reason = "the lock is the test's own")]
        let mut held = world.app.pool.begin().await.unwrap();
        sqlx::query("select from exports where workspace_id = $1 for update")
            .bind(acme.id.0)
            .execute(&mut *held)
            .await
            .unwrap();
        let made_meanwhile = async {
            let made = "select count(*) from exports where made_at is not null";
            while world.scalar(made).await == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            held.rollback().await.unwrap();
        };
        let (worked, waited) = futures::join!(
            world.works(),
            tokio::time::timeout(std::time::Duration::from_secs(20), made_meanwhile)
        );
        waited.expect("one export does not wait for another");
        assert!(worked.is_err());
        for _ in 0..6 {
            world.wait(TimeDelta::minutes(11));
            let _ = world.works().await;
        }
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(PATH).await.page();
        assert!(page.contains("It could not be made"), "{page}");
        let why: String = sqlx::query_scalar(
            "select data from audit_entries where workspace_id = $1 and did = 'export.ended'",
        )
        .bind(acme.id.0)
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
        assert!(why.contains("five tries"), "{why}");
        std::fs::remove_file(&away).unwrap();
    })
    .await;
}

/// Whoever makes an export says so as time passes, not after so many conversations: one may be larger than the rest together.
#[tokio::test]
async fn a_long_conversation_does_not_cost_the_one_who_exports_it_its_claim() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        for n in 0..60 {
            acme.receives(help, &with_file(n, &format!("{n}@customer.example"))).await;
        }
        // All in one conversation.
        world.sql("update messages set item = -item, conversation_id = (select min(id) from conversations); delete from documents;
                   delete from unindexed_messages;
                   delete from conversations c where not exists (select from messages m where m.conversation_id = c.id)").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        let made = "select count(*) from exports where made_at is not null";
        let put_off = world.app.loops.backoff_of(make::LOOP);
        // Time goes on whenever the claim is good for a while.
        let clock = async {
            while world.scalar(made).await == 0 {
                let until: Option<DateTime<Utc>> =
                    sqlx::query_scalar("select due_at from exports").fetch_one(&world.app.pool).await.unwrap();
                if until.is_some_and(|until| until - world.now() > TimeDelta::minutes(8)) {
                    world.wait(TimeDelta::minutes(7));
                }
            }
        };
        let began = world.now();
        let (worked, ()) = futures::join!(make::work_off(&world.app, &put_off, 3), clock);
        worked.unwrap();
        assert!(world.now() - began > TimeDelta::minutes(12), "a lease is not renewed: {}", world.now() - began);
        assert_eq!(world.scalar("select tries::bigint from exports").await, 1);
        world.sql("delete from messages; delete from conversations; delete from count_changes; delete from counts").await;
    })
    .await;
}

/// A subject access request has what is stored, also when the bytes of mail are gone after 30 days.
#[tokio::test]
async fn an_export_of_a_contact_has_whole_texts_copies_documents_and_mail_in_conversations_with_others() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let adam = acme.person("Adam", Role::Admin).await;
        let own = acme.private_mailbox("adam@acme.example", "Adam", adam).await;
        let raw = "Message-ID: <one@customer.example>\nFrom: Ada <ada@customer.example>\nTo: help@acme.example\n\
                   Cc: cleo@customer.example\nReply-To: office@customer.example\nSubject: Parcel\nMIME-Version: 1.0\n\
                   Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\nThe parcel is late.\n\n\
                   On Monday somebody wrote:\n> The words that are quoted.\n\n--b\nContent-Type: text/html\n\n\
                   <table><tr><td>The <b>laid out</b> parcel.</td></tr></table>\n--b--\n";
        acme.receives(help, raw).await;
        let of_bob = |n: u32, to: &str, words: &str| format!(
            "Message-ID: <bob{n}@customer.example>\nFrom: bob@customer.example\nTo: help@acme.example\nCc: {to}\nSubject: Bob {n}\n\n{words}\n");
        acme.receives(help, &of_bob(1, ADA, "To both of you.")).await;
        acme.receives(help, &of_bob(2, "cleo@customer.example", "Not for the other.")).await;
        acme.receives(own, &of_bob(3, ADA, "Private to Adam.")).await;
        let bot = acme.key("bot", "write,draft,send", Mode::Live).await;
        let id: i64 = world.scalar("select id from conversations where subject = 'Parcel'").await;
        let asks = serde_json::json!({ "documents": [{ "label": "Passport of Ada" }] });
        let path = format!("/conversations/{}/document-requests", rookery_base::ids::ConversationId(id));
        assert_eq!(bot.post(&path, asks).await.status, 201);
        world.wait(TimeDelta::days(32));
        world.work().await;
        world.work().await;
        world.sql(&format!(
            "insert into app_mail (workspace_id, livemode, message_id, recipients, subject, recorded_at)
             values ({0}, true, 'a@app', '{{ada@customer.example}}', 'Your ticket', '{1}'),
                    ({0}, true, 'b@app', '{{bob@customer.example}}', 'Ticket of another', '{1}')", acme.id.0, world.now())).await;
        assert_eq!(world.scalar("select count(*) from messages where raw is not null or raw_blob is not null").await, 0);
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "contact"), ("who", ADA)]).await;
        world.work().await;
        let made = made(&owner.get(PATH).await.page());
        let (names, text) = unpacked(world, &owner, &format!("/settings/data/exports/{made}/download"), &[]).await;
        for told in ["The words that are quoted", "<b>laid out</b>", "cleo@customer.example", "office@customer.example",
                     "Passport of Ada", "To both of you.", "Your ticket", "Cc: "] {
            assert!(text.contains(told), "{told}: {text}");
        }
        for hidden in ["Not for the other", "Private to Adam", "Ticket of another"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        assert!(names.iter().any(|name| name.starts_with("elsewhere/") && name.ends_with(".eml")), "{names:?}");
        world.sql("delete from app_mail").await;
    })
    .await;
}

/// A password opens an export only where it opens the door.
#[tokio::test]
async fn a_password_is_not_enough_with_a_second_factor_nor_where_only_single_sign_on_counts() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post("/settings/data/exports", &[("what", "workspace")]).await;
        world.work().await;
        let id = made(&owner.get(PATH).await.page());
        let path = format!("/settings/data/exports/{id}/download");
        set_password(world, acme.id, acme.owner, PASSWORD).await;
        world.wait(TimeDelta::minutes(61));
        let sso = format!(
            "insert into sso_connections (workspace_id, issuer, client_id, client_secret, required, changed_at)
             values ({}, 'https://id.example', 'x', '\\x00', true, now())", acme.id.0);
        let factor = format!(
            "insert into second_factors (workspace_id, person_id, secret, created_at) values ({}, {}, '\\x00', now())",
            acme.id.0, acme.owner.0);
        for (has, undo, asks_code) in
            [(&sso, "delete from sso_connections", false), (&factor, "delete from second_factors", true)]
        {
            world.sql(has).await;
            let asks = owner.post(&path, &[]).await;
            assert_eq!(asks.status, 403, "{has}");
            assert_eq!(asks.html.contains("name=\"password\""), asks_code, "{}", asks.html);
            assert_eq!(asks.html.contains("name=\"code\""), asks_code, "{}", asks.html);
            assert_ne!(owner.post("/sign-in/again", &[("password", PASSWORD)]).await.status, 303, "{has}");
            assert_eq!(owner.post(&path, &[]).await.status, 403, "{has}");
            world.sql(undo).await;
        }
        let owner = with_cookie_of(world, &owner.post("/sign-in/again", &[("password", PASSWORD)]).await);
        unpacked(world, &owner, &path, &[]).await;
    })
    .await;
}
