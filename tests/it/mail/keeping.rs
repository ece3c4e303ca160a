//! Raw mail is kept to be read anew for 30 days; then only what was read out of it stays.

use std::process::{Command, Output};

use chrono::TimeDelta;
use serde_json::{Value, json};

use rookery_world::mail::post::{Post, mail, post};

/// The real program on the story's database.
pub fn admin(post: &Post<'_>, arguments: &[&str]) -> Output {
    let config = &post.world.app.config;
    let workspace = post.acme.id.to_string();
    Command::new(rookery_world::program())
        .arg("admin")
        .args(arguments)
        .args(["--workspace", &workspace])
        .env("ROOKERY_DATABASE_URL", &config.database_url.0)
        .env("ROOKERY_BLOBS", config.blobs.as_str())
        .envs(config.blobs_access_key.as_ref().map(|key| ("ROOKERY_BLOBS_ACCESS_KEY", &key.0)))
        .envs(config.blobs_secret_key.as_ref().map(|key| ("ROOKERY_BLOBS_SECRET_KEY", &key.0)))
        .output()
        .expect("the program starts")
}

pub fn says(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn object(output: &Output) -> Value {
    serde_json::from_str(&says(output)).unwrap()
}

/// With a file of this many bytes.
fn with_file(subject: &str, bytes: usize) -> String {
    let header = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b";
    let line = format!("{}\n", "x".repeat(70));
    let file = line.repeat(bytes / line.len() + 1);
    let parts = format!(
        "--b\nContent-Type: text/plain\n\nWords of {subject}\n--b\nContent-Type: text/csv\n\
         Content-Disposition: attachment; filename={subject}.csv\n\n{file}\n--b--"
    );
    mail("anna@customer.example", subject, header, &parts)
}

async fn column(post: &Post<'_>, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(&post.world.app.pool).await.unwrap()
}

const RAW_FILES: &str = "select raw_blob from messages where raw_blob is not null";

#[tokio::test]
async fn the_bytes_of_small_mail_are_stored_compressed_and_come_back_as_they_were() {
    post(&[], async |post| {
        let sent = with_file("orders", 20_000);
        post.takes("anna@customer.example", "help@acme.example", &sent).await;
        let (raw, size): (Vec<u8>, i32) =
            sqlx::query_as("select raw, pg_column_size(raw) from messages where raw is not null")
                .fetch_one(&post.world.app.pool)
                .await
                .unwrap();
        assert!(raw.ends_with(sent.replace('\n', "\r\n").as_bytes()));
        assert!((size as usize) < raw.len() / 10, "{size} of {} bytes", raw.len());
    })
    .await;
}

#[tokio::test]
async fn raw_mail_is_dropped_after_thirty_days_and_what_was_read_out_of_it_stays() {
    post(&[], async |post| {
        let (world, to) = (post.world, "help@acme.example");
        for (subject, bytes) in [("small", 100), ("large", 100_000)] {
            post.takes("anna@customer.example", to, &with_file(subject, bytes)).await;
        }
        let large = column(post, RAW_FILES).await;
        assert_eq!(large.len(), 1, "the large one is a file");
        // A word of the past, as an older version would have read it.
        world.sql("update messages set text = 'misread' where text = 'Words of large'").await;
        assert_eq!(says(&admin(post, &["replay-mail"])), "1 changed, 1 as before, 0 failed.\n");
        world.sql("update messages set text = 'misread' where text = 'Words of large'").await;

        world.wait(TimeDelta::days(30));
        world.work().await;
        assert_eq!(column(post, RAW_FILES).await, large, "thirty days are not over");
        let late = post.takes("anna@customer.example", to, &with_file("late", 100)).await;
        let files = column(post, "select blob from documents").await;
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(column(post, RAW_FILES).await, [""; 0]);
        assert!(world.app.blobs.get(&large[0]).await.is_err(), "its file is gone too");
        assert_eq!(post.newest().await.raw, late.raw, "younger mail is kept");
        assert_eq!(files.len(), 3);
        for file in &files {
            world.app.blobs.get(file).await.expect("the files that came with mail stay");
        }
        let texts = column(post, "select text from messages order by id").await;
        assert_eq!(texts, ["Words of small", "misread", "Words of late"]);

        let told = "0 changed, 1 as before, 0 failed. 2 stay as they are: their raw form was dropped after 30 days.\n";
        assert_eq!(says(&admin(post, &["replay-mail"])), told);
        let counted = json!({ "changed": 0, "same": 1, "failed": 0, "dropped": 2 });
        assert_eq!(object(&admin(post, &["replay-mail", "--json"])), counted);
        // The next day has nothing left to do.
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(post.newest().await.raw, late.raw);
    })
    .await;
}

#[tokio::test]
async fn an_operator_is_told_where_a_message_came_from_and_why_it_stands_there() {
    let zone = [
        ("customer.example", "v=spf1 ip4:127.0.0.1 -all"),
        ("_dmarc.customer.example", "v=DMARC1; p=reject"),
    ];
    post(&zone, async |post| {
        let (world, to) = (post.world, "help@acme.example");
        let raw = mail("anna@customer.example", "One", "", "Hello there");
        let kept = post.takes("anna@customer.example", to, &raw).await;
        let conversation = post.key.conversation(kept.conversation).await;
        let message = conversation["timeline"][0]["id"].as_str().unwrap().to_owned();
        let explain = |more: &[&str]| admin(post, &[&["explain-mail", "--message", &message], more].concat());
        let line = says(&explain(&[]));
        let placed = "started: it answers no mail of this inbox";
        assert!(
            line.starts_with(&format!("In {}: {placed}.\nWho wrote it: {{", kept.conversation)),
            "{line}"
        );
        assert!(line.contains("\"dmarc\":\"pass\"") && line.contains("\n\nHello there"), "{line}");
        let told = object(&explain(&["--json"]));
        assert_eq!((&told["conversation"], &told["placed"]), (&json!(kept.conversation), &json!(placed)));
        assert_eq!((&told["verdict"]["spf"], &told["raw"]), (&json!("pass"), &json!(kept.raw)));

        world.wait(TimeDelta::days(31));
        world.work().await;
        assert!(says(&explain(&[])).ends_with("\nRaw mail:\nnot kept any more\n"));
        assert_eq!(object(&explain(&["--json"]))["raw"], Value::Null);
        let nothing = admin(post, &["explain-mail", "--message", "msg_0000000000000"]);
        assert_eq!(String::from_utf8_lossy(&nothing.stderr), "rookery: No such received message.\n");
    })
    .await;
}

/// A terminal obeys escape sequences, and bidirectional controls show a text in another order than it has.
#[tokio::test]
async fn what_a_stranger_wrote_cannot_speak_to_the_operators_terminal() {
    post(&[], async |post| {
        let words =
            "\u{1b}[2J\u{1b}]0;owned\u{7} safe\u{202e}gnp.exe\u{9b}31m\u{2066}\u{200b}\u{7f} end\rDone";
        let raw = mail("anna@customer.example", "Nasty", "", "Hello");
        post.takes("anna@customer.example", "help@acme.example", &raw).await;
        let replaced = raw.replace("Hello", words);
        sqlx::query("update messages set raw = $1")
            .bind(replaced.as_bytes())
            .execute(&post.world.app.pool)
            .await
            .unwrap();
        let id: i64 =
            sqlx::query_scalar("select id from messages").fetch_one(&post.world.app.pool).await.unwrap();
        let message = rookery_base::ids::MessageId(id).to_string();
        let is_safe = |letter: char| {
            letter == '\n'
                || letter == '\t'
                || !(letter.is_control() || "\u{202e}\u{2066}\u{200b}".contains(letter))
        };
        let shown = says(&admin(post, &["explain-mail", "--message", &message]));
        assert!(shown.chars().all(is_safe), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J") && shown.contains("safe\\u{202e}gnp.exe"), "{shown}");
        assert!(shown.contains("Subject: Nasty\n"), "lines stay lines: {shown}");
        let json = admin(post, &["explain-mail", "--json", "--message", &message]);
        assert!(says(&json).chars().all(is_safe), "{json:?}");
        assert!(object(&json)["raw"].as_str().unwrap().contains(words), "the same words to a program");
    })
    .await;
}

/// Other users of the machine have nothing to look for in customers' mail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_for_the_service_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    if rookery_world::s3().is_some() {
        return;
    }
    post(&[], async |post| {
        post.takes("anna@customer.example", "help@acme.example", &with_file("orders", 100_000)).await;
        let folder = post.world.app.config.blobs.to_file_path().unwrap();
        assert_eq!(mode(&folder.join("ws")), 0o700);
        let keys = column(post, RAW_FILES).await;
        assert_eq!(keys.len(), 1);
        assert_eq!(mode(&folder.join(&keys[0])), 0o600);
    })
    .await;
    // One that is there already is closed at the start, and what is around it is not ours to change.
    let site = rookery_world::site::Site::migrated().await;
    let folder = site.folder.join("blobs");
    for open in [&folder, &folder.join("ws")] {
        std::fs::create_dir_all(open).unwrap();
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (workspace, _) = site.workspace();
    site.admin(&["list-webhooks", "--workspace", &workspace]);
    assert_eq!((mode(&folder), mode(&folder.join("ws"))), (0o755, 0o700));
}
