//! Raw mail is kept to be read anew for 30 days; then only what was read out of it stays.

use std::process::{Command, Output};

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::post::{Post, mail, post};

/// The real program on the story's database.
fn admin(post: &Post<'_>, arguments: &[&str]) -> Output {
    let config = &post.world.app.config;
    let workspace = post.acme.id.to_string();
    Command::new(env!("CARGO_BIN_EXE_rookery"))
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

fn says(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn object(output: &Output) -> Value {
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
        assert!(line.contains("\"dmarc\":\"pass\"") && line.contains("\r\n\r\nHello there"), "{line}");
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
