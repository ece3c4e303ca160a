//! `GET /documents`: the library, its search and its limits.

use chrono::TimeDelta;
use rookery_base::ids::DocumentId;
use rookery_base::search_terms;
use serde_json::{Value, json};

use super::parameter;
use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Workspace, story, story_with};

const KINDS: [&str; 8] = ["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"];

async fn documents(key: &Key<'_>, query: &str) -> (u16, Value) {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let value = |name: &str, text: &str| match text.parse::<i64>() {
        Ok(number) if name == "limit" => json!(number),
        _ => json!(text),
    };
    let arguments: serde_json::Map<String, Value> =
        pairs.map(|(name, text)| (name.clone().into_owned(), value(&name, &text))).collect();
    key.read(&format!("/documents?{query}"), "search_documents", Value::Object(arguments)).await
}

async fn filenames(key: &Key<'_>, query: &str) -> Vec<String> {
    let (status, list) = documents(key, query).await;
    assert_eq!(status, 200, "{query}: {list}");
    let names = list.as_array().expect("an array").iter().map(|item| item["filename"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// A mail with files: (name, content type, disposition, content).
fn mail_with(id: &str, files: &[(&str, &str, &str, &str)]) -> String {
    let mut raw = format!(
        "Message-ID: <{id}@c>\nFrom: anna@customer.example\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n"
    );
    for (name, content_type, disposition, content) in files {
        raw += &format!(
            "--b\nContent-Type: {content_type}\n\
             Content-Disposition: {disposition}; filename=\"{name}\"\n\n{content}\n"
        );
    }
    raw + "--b--\n"
}

/// A document as the reading helper and uploads will leave it.
async fn seed(acme: &Workspace<'_>, filename: &str, title: &str, kind: Option<&str>, fields: Value) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let (id, now): (DocumentId, _) = (tx.mint(), tx.now());
    let values: Vec<String> = fields
        .as_object()
        .unwrap()
        .values()
        .map(|value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => format!("{:.2}", number.as_f64().unwrap()),
            _ => String::new(),
        })
        .collect();
    let searched = search_terms::fold(&format!("{title} {filename} {}", values.join(" ")));
    sqlx::query(
        "insert into documents (workspace_id, id, audience, kind, title, filename, fields, content_type, size,
             content_hash, blob, created_at, searched, pieces)
         values ($1, $2, 0, $3, $4, $5, $6, 'application/pdf', 1, sha256($5::bytea), 'x', $7, $8, $9)",
    )
    .bind(acme.id)
    .bind(id)
    .bind(kind)
    .bind(title)
    .bind(filename)
    .bind(fields)
    .bind(now)
    .bind(&searched)
    .bind(search_terms::pieces(acme.id, &searched))
    .execute(&mut *tx)
    .await
    .expect("a document");
    tx.commit().await.unwrap();
}

/// proves: DOC-2, DOC-8, DOC-9, DOC-10
#[tokio::test]
async fn attachments_of_mail_become_documents_of_its_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let large = "x".repeat(10 * 1024);
        let raw = mail_with(
            "m",
            &[
                ("Invoice 7.pdf", "application/pdf", "attachment", "pdf"),
                ("copy of it.pdf", "application/pdf", "attachment", "pdf"),
                ("", "application/pdf", "attachment", "nameless"),
                ("../../etc/\u{202e}passwd", "text/plain", "attachment", "path"),
                ("logo.png", "image/png", "inline", "small"),
                ("scan.png", "image/png", "inline", &large),
                ("smime.p7s", "application/pkcs7-signature", "attachment", "signature"),
                ("meeting.ics", "text/calendar", "attachment", "calendar"),
            ],
        );
        acme.receives(support, &raw).await;
        let conversation = key.listed("").await.pop().unwrap();
        let mut names = filenames(&key, "").await;
        names.sort();
        assert_eq!(names, ["Invoice 7.pdf", "attachment.pdf", "passwd", "scan.png"]);
        let (_, list) = documents(&key, "q=invoice").await;
        let id = list[0]["id"].as_str().unwrap();
        assert!(id.starts_with("doc_"), "{id}");
        assert_eq!(
            list,
            json!([{
                "id": id,
                "title": "Invoice 7.pdf",
                "filename": "Invoice 7.pdf",
                "kind": null,
                "fields": {},
                "conversationId": conversation,
                "createdAt": "2031-01-06T09:00:00.000Z",
            }])
        );
        let shown = key.conversation(&conversation).await;
        assert_eq!(shown["timeline"][0]["attachments"].as_array().unwrap().len(), 8, "all of them are shown");
    })
    .await;
}

/// proves: DOC-1, DOC-7
#[tokio::test]
async fn documents_come_newest_first_25_or_as_many_as_asked_up_to_100() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut names = Vec::new();
        for number in 0..101 {
            let name = format!("{number}.pdf");
            seed(&acme, &name, &name, None, json!({})).await;
            names.push(name);
            world.wait(TimeDelta::milliseconds(1));
        }
        names.reverse();
        for (query, length) in [("", 25), ("limit=1", 1), ("limit=100", 100), ("q=pdf&limit=99", 99)] {
            assert_eq!(filenames(&key, query).await, names[..length], "{query}");
        }
        let error = json!({ "error": "limit: must be a whole number from 1 to 100" });
        for limit in ["0", "101", "-1", "2.5", "ten"] {
            assert_eq!(documents(&key, &format!("limit={limit}")).await, (400, error.clone()), "{limit}");
        }
        for name in ["a.txt", "b.txt", "c.txt"] {
            seed(&acme, name, name, None, json!({})).await;
        }
        let (_, tied) = documents(&key, "limit=3").await;
        let ids: Vec<_> = tied.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert!(ids.is_sorted_by(|one, other| one > other), "of one instant the greater id first: {ids:?}");
    })
    .await;
}

/// proves: DOC-3, DOC-4, DOC-6
#[tokio::test]
async fn a_kind_filters_and_fields_are_shown_as_they_were_read() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let fields = json!({
            "vendor": "Nordwind GmbH", "amount": 1_234.5, "currency": "EUR", "date": "2031-01-02",
            "dueDate": null, "reference": "R-77",
        });
        for kind in KINDS {
            let fields = if kind == "invoice" { fields.clone() } else { json!({}) };
            seed(&acme, &format!("{kind}.pdf"), "A title", Some(kind), fields).await;
        }
        seed(&acme, "unread.pdf", "unread.pdf", None, json!({})).await;
        for kind in KINDS {
            let (_, list) = documents(&key, &format!("kind={kind}")).await;
            assert_eq!(list.as_array().unwrap().len(), 1, "{kind}");
            assert_eq!(
                (&list[0]["kind"], &list[0]["filename"]),
                (&json!(kind), &json!(format!("{kind}.pdf")))
            );
        }
        let (_, list) = documents(&key, "kind=invoice&q=title").await;
        assert_eq!(list[0]["fields"], fields);
        assert_eq!(list[0]["conversationId"], json!(null));
        assert_eq!(filenames(&key, "kind=receipt&q=nordwind").await, [""; 0], "both must hold");
        let (_, list) = documents(&key, "q=unread").await;
        assert_eq!((&list[0]["kind"], &list[0]["fields"]), (&json!(null), &json!({})));
        let sentence = "kind: must be one of invoice, receipt, statement, contract, id, tax, photo, other";
        assert_eq!(documents(&key, "kind=bill").await, (400, json!({ "error": sentence })));
        let (_, both) =
            documents(&key, &format!("kind=Invoice&limit=0&{}", parameter("q", &"x".repeat(201)))).await;
        let sentence = format!(
            "q: must be at most 200 characters; {sentence}; limit: must be a whole number from 1 to 100"
        );
        assert_eq!(both["error"], *sentence);
    })
    .await;
}

#[tokio::test]
async fn every_word_must_be_part_of_title_file_name_or_a_field() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let raw = mail_with("m", &[("Übersicht_100% final.PDF", "application/pdf", "attachment", "x")]);
        acme.receives(support, &raw).await;
        world.wait(TimeDelta::seconds(1));
        let fields =
            json!({ "vendor": "Nordwind GmbH", "amount": 1_234.5, "currency": "EUR", "reference": "R-77" });
        seed(&acme, "scan0001.pdf", "Electricity, January", Some("invoice"), fields).await;
        let (overview, invoice) = ("Übersicht_100% final.PDF", "scan0001.pdf");
        for (query, wanted) in [
            ("pdf", vec![invoice, overview]),
            ("PDF 0", vec![invoice, overview]),
            ("übersicht", vec![overview]),
            ("UBERSICHT final", vec![overview]),
            ("sicht_100%", vec![overview]),
            ("t_1", vec![overview]),
            ("%", vec![overview]),
            ("_", vec![overview]),
            ("f", vec![invoice, overview]),
            ("electricity scan", vec![invoice]),
            ("nordwind 1234.50 eur", vec![invoice]),
            ("r-77", vec![invoice]),
            ("1234.5 receipt", vec![]),
            ("a%n", vec![]),
            ("\\", vec![]),
            ("  ", vec![invoice, overview]),
        ] {
            let found = filenames(&key, &parameter("q", query)).await;
            assert_eq!(found, wanted, "{query}");
        }
        assert_eq!(filenames(&key, &parameter("q", &"🐦".repeat(200))).await, [""; 0]);
        let (status, _) = documents(&key, &parameter("q", &"🐦".repeat(201))).await;
        assert_eq!(status, 400);
    })
    .await;
}

#[tokio::test]
async fn the_newest_hits_come_first_even_below_thousands_of_newer_documents() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let key = acme.key("bot", "read", Mode::Live).await;
        acme.receives(
            private,
            &mail_with("m", &[("old contract.pdf", "application/pdf", "attachment", "x")]),
        )
        .await;
        world.wait(TimeDelta::hours(1));
        seed(&acme, "contract.pdf", "contract.pdf", None, json!({})).await;
        world.wait(TimeDelta::hours(3));
        fill(&acme, 4_100).await;
        for (query, wanted) in [
            ("q=contract&limit=1", &["contract.pdf"][..]),
            ("q=contract&limit=2", &["contract.pdf", "old contract.pdf"]),
            ("q=contract", &["contract.pdf", "old contract.pdf"]),
            ("q=old", &["old contract.pdf"]),
            ("limit=1", &["photo 1.jpg"]),
            ("q=photo&limit=1", &["photo 1.jpg"]),
        ] {
            assert_eq!(filenames(&key, query).await, wanted, "{query}");
        }
    })
    .await;
}

/// Photos of the team, a second apart, the first the newest.
async fn fill(acme: &Workspace<'_>, count: i32) {
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let (base, now): (DocumentId, _) = (tx.mint(), tx.now());
    sqlx::query(
        "insert into documents (workspace_id, id, audience, title, filename, content_type, size, content_hash,
             blob, created_at, searched, pieces)
         select $1, $2 + n, 0, name, name, 'image/jpeg', 1, sha256(name::bytea), 'x', $4 - n * interval '1 second',
             name, $5
         from generate_series(1, $3) n, lateral (select 'photo ' || n || '.jpg' as name) named",
    )
    .bind(acme.id)
    .bind(base)
    .bind(count)
    .bind(now)
    .bind(search_terms::pieces(acme.id, "photo .jpg"))
    .execute(&mut *tx)
    .await
    .expect("documents");
    tx.commit().await.unwrap();
}
