//! `GET /contacts`, `GET /contacts/{id}` and their tools: who is there for whom, and that rows follow the conversations.

mod kept;

use chrono::TimeDelta;
use rookery_base::ids::{ContactId, MailboxId};
use rookery_core::workspace::people::Role;
use rookery_mail::incoming::delivery::Received;
use serde_json::{Value, json};

use crate::operations::parameter;
use rookery_world::UNHURRIED;
use rookery_world::{Key, Mode, Workspace, story, story_with};

/// The list by REST and by MCP.
async fn contacts(key: &Key<'_>, query: &[(&str, &str)]) -> Value {
    let written: Vec<String> = query.iter().map(|(name, value)| parameter(name, value)).collect();
    let arguments = query.iter().map(|(name, value)| match value.parse::<i64>() {
        Ok(number) if *name == "limit" => ((*name).to_owned(), json!(number)),
        _ => ((*name).to_owned(), json!(value)),
    });
    let path = format!("/contacts?{}", written.join("&"));
    let (status, list) = key.read(&path, "list_contacts", Value::Object(arguments.collect())).await;
    assert_eq!(status, 200, "{list}");
    list
}

async fn emails(key: &Key<'_>, query: &[(&str, &str)]) -> Vec<String> {
    let list = contacts(key, query).await;
    list.as_array().unwrap().iter().map(|contact| contact["email"].as_str().unwrap().to_owned()).collect()
}

async fn id_of(key: &Key<'_>, email: &str) -> String {
    contacts(key, &[("email", email)]).await[0]["id"].as_str().expect("a contact").to_owned()
}

async fn contact(key: &Key<'_>, id: &str) -> (u16, Value) {
    key.read(&format!("/contacts/{id}"), "get_contact", json!({ "id": id })).await
}

async fn writes(acme: &Workspace<'_>, inbox: MailboxId, from: &str, subject: &str) -> String {
    let raw = format!("From: {from}\nTo: help@acme.example\nSubject: {subject}\n\nHello.\n");
    match acme.receives(inbox, &raw).await {
        rookery_mail::incoming::delivery::Received::Stored(stored) => stored.conversation.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_wrote_where_a_key_sees_is_there_and_nobody_else() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let anna = acme.person("Anna Berg", Role::Admin).await;
        let private = acme.private_mailbox("anna@acme.example", "Anna", anna).await;
        let other = world.workspace("Other").await;
        let theirs = other.mailbox("help@other.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let annas = acme.key_of(anna, "hers", "read", Mode::Live).await;
        let test = acme.key("tester", "read,write", Mode::Test).await;
        let foreign = other.key("bot", "read", Mode::Live).await;

        writes(&acme, help, "Ada Lovelace <ada@customer.example>", "One").await;
        writes(&acme, private, "Ada L <ada@customer.example>", "Private").await;
        writes(&acme, private, "Bob <bob@secret.example>", "Secret").await;
        writes(&other, theirs, "Carl <carl@customer.example>", "Elsewhere").await;
        test.simulate(json!({ "from": "dora@customer.test", "text": "Hello" })).await;

        assert_eq!(emails(&key, &[]).await, ["ada@customer.example"]);
        assert_eq!(
            emails(&annas, &[]).await,
            ["bob@secret.example", "ada@customer.example"],
            "she is there once"
        );
        assert_eq!(emails(&test, &[]).await, ["dora@customer.test"]);
        assert_eq!(emails(&foreign, &[]).await, ["carl@customer.example"]);
        // The same contact has the same id for everybody, and everybody sees their own conversations.
        let ada = id_of(&key, "ada@customer.example").await;
        assert_eq!(ada, id_of(&annas, " ADA@customer.example ").await);
        let subjects = async |key: &Key<'_>, name: &str| -> Vec<String> {
            let (status, read) = contact(key, &ada).await;
            assert_eq!(
                (status, &read["email"], &read["name"]),
                (200, &json!("ada@customer.example"), &json!(name))
            );
            let all = read["conversations"].as_array().unwrap().iter();
            all.map(|one| one["subject"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(subjects(&key, "Ada Lovelace").await, ["One"]);
        assert_eq!(subjects(&annas, "Ada L").await, ["Private", "One"], "each as they know them");
        for key in [&key, &annas] {
            assert_eq!(emails(key, &[("q", "lovelace")]).await, ["ada@customer.example"]);
        }
        assert_eq!(emails(&key, &[("q", "ada l")]).await, [""; 0]);
        // What cannot be seen answers like what is not there, by every way to ask.
        let bob = id_of(&annas, "bob@secret.example").await;
        let carl = id_of(&foreign, "carl@customer.example").await;
        let dora = id_of(&test, "dora@customer.test").await;
        let missing = (404, json!({ "error": "No such contact." }));
        for id in [&*bob, &carl, &dora, &ContactId(1).to_string(), "nonsense", "cnv_0000000000001"] {
            assert_eq!(contact(&key, id).await, missing, "{id}");
        }
        for query in
            [("email", "bob@secret.example"), ("q", "bob"), ("q", "secret"), ("email", "nobody@x.example")]
        {
            assert_eq!(contacts(&key, &[query]).await, json!([]), "{query:?}");
        }
    })
    .await;
}

/// Mail that only claims to be somebody's calls them what it likes: a colleague's name, or words of whoever wrote it.
#[tokio::test]
async fn mail_that_its_domain_does_not_confirm_takes_no_confirmed_name_away() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let name = async || contacts(&key, &[("email", "ada@customer.example")]).await[0]["name"].clone();
        for (called, confirmed, then) in [
            ("Eve", false, "Eve"),
            ("Eva", false, "Eva"),
            ("Ada", true, "Ada"),
            ("Your bank", false, "Ada"),
            ("Ada Lovelace", true, "Ada Lovelace"),
            ("Ada", false, "Ada Lovelace"),
        ] {
            let raw = format!(
                "From: {called} <ada@customer.example>\nTo: help@acme.example\nSubject: {called} {confirmed}\n\nHi.\n"
            );
            let received = if confirmed {
                acme.receives_confirmed(help, &raw).await
            } else {
                acme.receives(help, &raw).await
            };
            assert!(matches!(received, Received::Stored(_)), "{received:?}");
            assert_eq!(name().await, then, "{called} {confirmed}");
            world.wait(TimeDelta::minutes(1));
        }
        // Names of before this was kept are marked once, as often as it is done.
        world.sql("update contacts set name_confirmed = false").await;
        let marking = include_str!("../../../../migrations/0075_names_that_were_confirmed.sql");
        for _ in 0..2 {
            world.sql(marking).await;
        }
        assert_eq!(world.scalar("select count(*) from contacts where name_confirmed").await, 1);
    })
    .await;
}

#[tokio::test]
async fn contacts_are_found_by_address_and_by_words_of_name_and_address() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        writes(&acme, help, "Zoé Müller <zoe@bakery.example>", "One").await;
        writes(&acme, help, "Zoe Smith <smith@mill.example>", "Two").await;
        writes(&acme, help, "plain@mill.example", "Zoe in the subject").await;
        let zoes = ["smith@mill.example", "zoe@bakery.example"];
        for (words, found) in [
            ("zoe", &zoes[..]),
            ("ZOÉ", &zoes[..]),
            ("muller zoe", &zoes[1..]),
            ("mill", &["plain@mill.example", "smith@mill.example"]),
            ("zoe@bakery.example", &zoes[1..]),
            ("zo", &[]),
            ("subject", &[]),
        ] {
            assert_eq!(emails(&key, &[("q", words)]).await, found, "{words}");
        }
        assert_eq!(emails(&key, &[("email", "smith@mill.example"), ("q", "zoe")]).await, zoes[..1]);
        assert_eq!(emails(&key, &[("email", "smith@mill.example"), ("q", "muller")]).await, [""; 0]);
        // Whoever calls themselves otherwise is found by that.
        writes(&acme, help, "Zoe Brown <smith@mill.example>", "Three").await;
        assert_eq!(emails(&key, &[("q", "brown")]).await, zoes[..1]);
        assert_eq!(contacts(&key, &[("email", "smith@mill.example")]).await[0]["name"], "Zoe Brown");
    })
    .await;
}

#[tokio::test]
async fn both_lists_are_read_page_by_page_and_a_cursor_is_for_one_list() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for number in 0..7 {
            writes(&acme, help, &format!("Ada <a{number}@customer.example>"), "Hi").await;
            writes(&acme, help, "Often <often@customer.example>", &format!("Mail {number}")).await;
        }
        let cursor_of = |reply: &rookery_world::Reply| -> Option<String> {
            let (_, rest) = reply.header("link")?.split_once("cursor=")?;
            Some(rest.split_once('>').unwrap().0.to_owned())
        };
        for query in ["limit=3", "limit=3&q=customer"] {
            let (mut met, mut cursor) = (Vec::new(), String::new());
            loop {
                let reply = key.get(&format!("/contacts?{query}{cursor}")).await;
                met.extend(reply.json().as_array().unwrap().iter().map(|one| one["email"].to_string()));
                match cursor_of(&reply) {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            assert_eq!(met.len(), 8, "{query}: {met:?}");
            assert_eq!(met.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
        }
        let often = id_of(&key, "often@customer.example").await;
        let (mut met, mut path) = (Vec::new(), format!("/contacts/{often}?limit=3"));
        let first = key.get(&path).await;
        loop {
            let reply = key.get(&path).await;
            let page = reply.json()["conversations"].as_array().unwrap().clone();
            met.extend(page.iter().map(|one| one["subject"].as_str().unwrap().to_owned()));
            match cursor_of(&reply) {
                Some(next) => path = format!("/contacts/{often}?limit=3&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(met, (0..7).rev().map(|number| format!("Mail {number}")).collect::<Vec<_>>());
        // Of another list, or of another contact.
        let cursor = cursor_of(&first).unwrap();
        let other = id_of(&key, "a0@customer.example").await;
        for (path, problem) in [
            (format!("/contacts?cursor={cursor}"), "cursor: must be the cursor of an earlier answer"),
            (format!("/contacts/{other}?cursor={cursor}"), "cursor: belongs to other parameters"),
        ] {
            assert_eq!(key.get(&path).await.error(), problem, "{path}");
        }
        for (path, problem) in [("/contacts?limit=0", "limit: "), ("/contacts?cursor=!", "cursor: ")] {
            assert!(key.get(path).await.error().starts_with(problem), "{path}");
        }
    })
    .await;
}

/// A key of the scope `read` has all of it; without a plan or with no key it is refused as ever.
#[tokio::test]
async fn reading_contacts_needs_the_scope_read_and_changes_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        writes(&acme, help, "ada@customer.example", "Hi").await;
        world.work().await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let id = id_of(&key, "ada@customer.example").await;
        let before = world.rows().await;
        contact(&key, &id).await;
        contacts(&key, &[("q", "ada")]).await;
        assert_eq!(world.rows().await, before);
    })
    .await;
}
