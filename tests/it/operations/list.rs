//! `GET /conversations`: views, order, limits and the form of a summary.

use chrono::TimeDelta;
use serde_json::json;

use super::{parameter, written};
use rookery_world::UNHURRIED;
use rookery_world::{Message, Mode, story, story_with};

/// proves: LIST-1, LIST-18, LIST-19, LIST-20
#[tokio::test]
async fn a_summary_has_every_field_and_names_the_inbox() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let text = "Where  is\n\n my\tparcel?";
        let id = acme.mail(support, "Anna Berg <Anna@Customer.Example>", "Late parcel", text).await;
        assert_eq!(
            key.list("").await,
            (
                200,
                json!([{
                    "id": id.to_string(),
                    "subject": "Late parcel",
                    "snippet": "Where is my parcel?",
                    "status": "open",
                    "contact": { "name": "Anna Berg", "email": "anna@customer.example" },
                    "mailbox": "Support",
                    "lastMessageAt": "2031-01-06T09:00:00.000Z",
                    "messageCount": 1,
                    "assignee": null,
                    "tags": [],
                    "topic": null,
                    "urgency": null,
                    "risk": null,
                }])
            )
        );
        acme.set(id, "contact_name = null, contact_email = null").await;
        assert_eq!(key.list("").await.1[0]["contact"], json!({ "name": null, "email": null }));
        acme.receives(support, "Subject: who?\n\nNobody says who wrote this.\n").await;
        let (_, list) = key.list("q=nobody").await;
        assert_eq!(list[0]["contact"], json!({ "name": null, "email": null }));
    })
    .await;
}

/// proves: LIST-22, LIST-23, LIST-24, LIST-28
#[tokio::test]
async fn a_worked_on_conversation_shows_assignee_tags_helpers_words_and_reference() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let plain = acme.mail(support, "ben@customer.example", "Plain", "Hello").await;
        let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        for name in ["vip", "Billing", "late"] {
            acme.tag(id, name).await;
        }
        let owner = acme.owner;
        acme.set(id, &format!("assignee_type = 'user', assignee_id = {}", owner.0)).await;
        acme.set(id, "topic = 'shipping', risk = 'phishing', reference = 'inv-7'").await;
        for urgency in ["low", "normal", "high"] {
            acme.set(id, &format!("urgency = '{urgency}'")).await;
            let (_, list) = key.list("reference=inv-7").await;
            assert_eq!(list[0]["urgency"], urgency);
            assert_eq!(
                (&list[0]["topic"], &list[0]["risk"], &list[0]["reference"]),
                (&json!("shipping"), &json!("phishing"), &json!("inv-7"))
            );
            let assignee = json!({ "id": owner.to_string(), "name": "Olga Owner", "type": "user" });
            assert_eq!(list[0]["assignee"], assignee);
            assert_eq!(list[0]["tags"], json!(["Billing", "late", "vip"]), "in the order of the alphabet");
        }
        acme.set(id, &format!("assignee_type = 'agent', assignee_id = {}", key.agent.0)).await;
        let (_, list) = key.list("").await;
        let of = |id: String| {
            list.as_array().unwrap().iter().find(|item| item["id"] == *id).expect("it is listed").clone()
        };
        let agent = json!({ "id": key.agent.to_string(), "name": "bot", "type": "agent" });
        assert_eq!(of(id.to_string())["assignee"], agent);
        assert_eq!(of(plain.to_string()).get("reference"), None, "no reference, no field");
    })
    .await;
}

/// proves: LIST-2, LIST-4, LIST-5, LIST-21
#[tokio::test]
async fn each_view_shows_its_own_and_a_snooze_that_has_run_out_is_open() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for assignment in [
            "status = 'open'",
            "status = 'waiting'",
            "status = 'closed'",
            "status = 'open', snoozed_until = '2031-01-06T10:00:00Z'",
            "status = 'waiting', snoozed_until = '2031-01-06T11:00:00Z'",
        ] {
            let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
            acme.set(id, assignment).await;
            ids.push(id.to_string());
            world.wait(TimeDelta::seconds(1));
        }
        let [open, waiting, closed, until_ten, until_eleven] = &ids[..] else { unreachable!() };
        let views = async |filters: &str| {
            let mut seen = Vec::new();
            for view in ["", "view=open", "view=waiting", "view=snoozed", "view=closed"] {
                seen.push(key.listed(&format!("{view}{filters}")).await);
            }
            assert_eq!(seen[0], seen[1], "open is what is shown without a view");
            seen.remove(0);
            seen
        };
        let narrowed = format!("&mailbox={support}");
        let unassigned = "&assigned=unassigned";
        for filters in ["", &narrowed, unassigned] {
            assert_eq!(
                views(filters).await,
                [
                    vec![open.clone()],
                    vec![waiting.clone()],
                    vec![until_eleven.clone(), until_ten.clone()],
                    vec![closed.clone()]
                ]
            );
        }
        let statuses = async |query: &str| -> Vec<String> {
            let (_, list) = key.list(query).await;
            list.as_array().unwrap().iter().map(|item| item["status"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(statuses("view=snoozed").await, ["waiting", "open"], "a snooze is no status");
        assert_eq!(key.conversation(until_eleven).await["snoozedUntil"], "2031-01-06T11:00:00.000Z");
        world.wait(TimeDelta::hours(2));
        for filters in ["", &narrowed, unassigned] {
            assert_eq!(
                views(filters).await,
                [
                    vec![until_eleven.clone(), until_ten.clone(), open.clone()],
                    vec![waiting.clone()],
                    vec![],
                    vec![closed.clone()]
                ]
            );
        }
        assert_eq!(statuses("").await, ["open", "open", "open"]);
        let read = key.conversation(until_eleven).await;
        assert_eq!((&read["status"], &read["snoozedUntil"]), (&json!("open"), &json!(null)));
    })
    .await;
}

/// proves: LIST-6, LIST-8
#[tokio::test]
async fn a_reference_filters_exactly_in_any_letter_case_and_with_all_in_every_status() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut ids = Vec::new();
        for assignment in [
            "reference = 'inv-10'",
            "reference = 'inv-1', status = 'open'",
            "reference = 'inv-1', status = 'waiting'",
            "reference = 'inv-1', status = 'closed'",
            "reference = 'inv-1', snoozed_until = '2031-01-07T09:00:00Z'",
            "reference = null",
        ] {
            let id = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
            acme.set(id, assignment).await;
            ids.push(id.to_string());
            world.wait(TimeDelta::seconds(1));
        }
        let all: Vec<_> = ids[1..5].iter().rev().cloned().collect();
        assert_eq!(key.listed("view=all&reference=inv-1").await, all);
        assert_eq!(key.listed("view=all&reference=%20INV-1%20").await, all, "trimmed, in any letter case");
        assert_eq!(key.listed("reference=Inv-1").await, [ids[1].clone()], "inside the default view");
        assert_eq!(key.listed("reference=inv-1&view=closed").await, [ids[3].clone()]);
        assert_eq!(key.listed("reference=inv-1&view=snoozed").await, [ids[4].clone()]);
        assert_eq!(key.listed("view=all&reference=inv").await, [""; 0], "a part of it is not it");
        assert_eq!(key.listed("view=all&reference=inv_1%25").await, [""; 0], "no wild cards");
        let longest = format!("view=all&reference={}", "1".repeat(40));
        assert_eq!(key.listed(&longest).await, [""; 0]);
    })
    .await;
}

/// proves: LIST-3, LIST-7, LIST-17
#[tokio::test]
async fn every_wrong_parameter_is_named_at_once() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let limit = "limit: must be a whole number from 1 to 100";
        let view = "view: must be one of open, waiting, snoozed, closed, all";
        let long = format!("reference={}", "1".repeat(41));
        for (query, sentence) in [
            ("view=all", "view: all needs reference"),
            ("view=any", view),
            ("view=Open", view),
            ("assigned=olga", "assigned: must be one of me, unassigned"),
            (&long, "reference: must be at most 40 characters"),
            ("limit=0&view=any", &format!("{view}; {limit}")),
            (
                "limit=word&assigned=all&view=all",
                &format!("view: all needs reference; assigned: must be one of me, unassigned; {limit}"),
            ),
        ] {
            assert_eq!(key.list(query).await, (400, json!({ "error": sentence })), "{query}");
        }
        let reply = key.get("/conversations?view=open&view=open").await;
        assert_eq!((reply.status, reply.error().as_str()), (400, "view: is given more than once"));
    })
    .await;
}

/// proves: LIST-13
#[tokio::test]
async fn a_page_has_25_items_or_as_many_as_asked_up_to_100() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let ids = written(&acme.many(support, 101, "").await);
        let key = acme.key("bot", "read", Mode::Live).await;
        for (query, length) in
            [("", 25), ("limit=", 25), ("limit=1", 1), ("limit=99", 99), ("limit=100", 100)]
        {
            assert_eq!(key.listed(query).await, ids[..length], "{query}");
        }
        let error = json!({ "error": "limit: must be a whole number from 1 to 100" });
        for limit in ["0", "101", "-1", "2.5", "1e1", "ten", "0x10", "99999999999999999999"] {
            assert_eq!(key.list(&format!("limit={limit}")).await, (400, error.clone()), "{limit}");
        }
    })
    .await;
}

/// proves: LIST-11
#[tokio::test]
async fn a_query_has_at_most_200_characters_however_many_bytes_they_take() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        for letter in ["a", "🐦"] {
            assert_eq!(key.listed(&parameter("q", &letter.repeat(200))).await, [""; 0]);
            let (status, error) = key.list(&parameter("q", &letter.repeat(201))).await;
            assert_eq!((status, error), (400, json!({ "error": "q: must be at most 200 characters" })));
        }
    })
    .await;
}

/// proves: LIST-14
#[tokio::test]
async fn the_newest_mail_comes_first_and_of_one_instant_the_greater_id() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mut tied = Vec::new();
        for number in 0..12 {
            let inbox = if number % 2 == 0 { support } else { sales };
            tied.push(acme.mail(inbox, "anna@customer.example", "Parcel", "Hello").await.to_string());
        }
        world.wait(TimeDelta::milliseconds(1));
        let late = acme.mail(support, "anna@customer.example", "Parcel", "Hello").await;
        let message = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours@acme.example") };
        acme.outbound(late, message).await;
        tied.sort_by(|one, other| other.cmp(one));
        let sorted = [vec![late.to_string()], tied.clone()].concat();
        for query in ["", "assigned=unassigned", "q=parcel"] {
            assert_eq!(key.listed(query).await, sorted, "{query}");
        }
        // A customer's mail on an old conversation moves it to the front.
        world.wait(TimeDelta::hours(1));
        let oldest = tied.pop().unwrap();
        let answer =
            "Message-ID: <a@c>\nFrom: anna@customer.example\nIn-Reply-To: <ours2@acme.example>\n\nYes.\n";
        let message = Message { status: "sent", text: "Hi", rfc_message_id: Some("ours2@acme.example") };
        acme.outbound(oldest.parse().unwrap(), message).await;
        acme.receives(support, answer).await;
        acme.receives(sales, &answer.replace("a@c", "b@c")).await;
        assert!(key.listed("limit=2").await.contains(&oldest));
    })
    .await;
}

/// proves: LIST-16
#[tokio::test]
async fn a_page_is_an_array_as_before_and_only_a_link_leads_on() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        acme.many(support, 30, "").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let plain = key.get("/conversations?limit=5").await;
        for extra in ["after=3&page=2", "offset=5", "cursor="] {
            let reply = key.get(&format!("/conversations?limit=5&{extra}")).await;
            assert_eq!((reply.status, &reply.text), (200, &plain.text), "{extra}");
        }
        assert!(plain.json().is_array());
        let paging = |name: &str| {
            ["link", "cursor", "next", "total", "page", "range"].iter().any(|word| name.contains(word))
        };
        let names: Vec<_> = plain.headers.keys().filter(|name| paging(name.as_str())).collect();
        assert_eq!(names, ["link"]);
    })
    .await;
}

/// proves: LIST-25
#[tokio::test]
async fn the_snippet_starts_the_latest_mail_on_one_line_of_at_most_200_characters() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let first = acme.mail(support, "anna@customer.example", "Parcel", "Hello there").await;
        let message = Message { status: "sent", text: "We look", rfc_message_id: Some("ours@acme.example") };
        world.wait(TimeDelta::minutes(1));
        acme.outbound(first, message).await;
        world.wait(TimeDelta::minutes(1));
        let long = "ü🐦 ".repeat(150);
        let raw = format!(
            "Message-ID: <a@c>\nFrom: anna@customer.example\nIn-Reply-To: <ours@acme.example>\n\n\
             {long}\n\nOn 3/12/26 10:00, Acme wrote:\n> We look\n"
        );
        acme.receives(support, &raw).await;
        let (_, list) = key.list("").await;
        let wanted: String = long.chars().take(200).collect();
        assert_eq!(list[0]["snippet"], *wanted);
        assert_eq!(list[0]["messageCount"], 3);
        assert_eq!(list[0]["lastMessageAt"], "2031-01-06T09:02:00.000Z");
        // A draft and a note are no mail: the list does not look at them.
        world.wait(TimeDelta::minutes(1));
        let draft = Message { status: "draft", text: "Unsent words", rfc_message_id: None };
        acme.outbound(first, draft).await;
        acme.note(first, "Olga Owner", "Careful").await;
        assert_eq!(key.list("").await.1, list);
    })
    .await;
}

/// proves: LIST-9, LIST-12, LIST-15
#[tokio::test]
async fn filters_are_all_met_and_the_limit_cuts_what_is_left() {
    story_with(UNHURRIED, async |world| {
        let acme = world.workspace("Acme").await;
        let support = acme.mailbox("help@acme.example", "Support").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let other = acme.key("other", "read", Mode::Live).await;
        let mine = format!("assignee_type = 'agent', assignee_id = {}", key.agent.0);
        let theirs = format!("assignee_type = 'agent', assignee_id = {}", other.agent.0);
        let a_persons = format!("assignee_type = 'user', assignee_id = {}", acme.owner.0);
        let mut ids = Vec::new();
        for (inbox, assignment) in [
            (support, "status = 'open'"),
            (support, &mine),
            (support, &theirs),
            (support, &a_persons),
            (sales, &mine),
            (sales, "reference = 'ord-1'"),
        ] {
            let id = acme.mail(inbox, "anna@customer.example", "Parcel", "Hello").await;
            acme.set(id, assignment).await;
            ids.push(id.to_string());
            world.wait(TimeDelta::seconds(1));
        }
        let chosen = |places: &[usize]| places.iter().map(|place| ids[*place].clone()).collect::<Vec<_>>();
        let in_support = format!("mailbox={support}");
        let in_sales = format!("mailbox={sales}");
        for (query, places) in [
            (in_support.clone(), &[3, 2, 1, 0][..]),
            (in_sales.clone(), &[5, 4]),
            ("assigned=me".into(), &[4, 1]),
            ("assigned=unassigned".into(), &[5, 0]),
            (format!("{in_support}&assigned=me"), &[1]),
            (format!("{in_sales}&assigned=unassigned"), &[5]),
            (format!("{in_sales}&assigned=unassigned&reference=ord-1&q=parcel"), &[5]),
            (format!("{in_support}&reference=ord-1"), &[]),
            ("assigned=me&reference=ord-1&view=all".into(), &[]),
            ("assigned=me&view=closed".into(), &[]),
            // The newest three are not mine: a limit before the filter would lose this one.
            (format!("{in_support}&assigned=unassigned&limit=1"), &[0]),
            ("assigned=me&limit=1".into(), &[4]),
        ] {
            assert_eq!(key.listed(&query).await, chosen(places), "{query}");
        }
        assert_eq!(other.listed("assigned=me").await, chosen(&[2]), "each key has its own me");
    })
    .await;
}
