//! What happens at the edges: forms that are none, mail that was stopped or waits, links that had ended, days as they are
//! elsewhere, and files that somebody else sent too.

use std::fmt::Write;

use chrono::TimeDelta;
use rookery_base::ids::{MailboxId, MessageId};
use rookery_base::relay::mailer::Handover;
use serde_json::json;

use rookery_world::browser::Browser;
use rookery_world::pages::customer::{Customer, asked, leaves, link_in, pdf};
use rookery_world::verbs::erasing::erases;
use rookery_world::{Message, story};

fn request_of(link: &str) -> &str {
    link.split('/').nth(3).unwrap()
}

async fn does(browser: &Browser<'_>, link: &str, item: &str, act: &str) -> u16 {
    let answer = browser.post(&format!("/requests/{}/items/{item}", request_of(link)), &[("do", act)]).await;
    if answer.status == 303 {
        assert!(answer.location().contains("done="), "{}", answer.location());
    }
    answer.status
}

/// Asks again, and gives the mail that does.
async fn asks_again(browser: &Browser<'_>, ada: &Customer<'_>, item: &str) -> String {
    let path = format!("/requests/{}/items/{item}/again", request_of(&ada.link));
    let done = browser.post(&path, &[("why", "unreadable")]).await;
    assert!(done.status == 303 && done.location().contains("done=asked-again"), "{}", done.html);
    let message: i64 = ada.world.scalar("select max(again_message_id) from document_request_items").await;
    MessageId(message).to_string()
}

/// What has no end must not fill the memory: heads of parts, words before the first part, parts without number.
#[tokio::test]
async fn a_form_that_is_none_is_given_up_soon() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let url = format!("{}{}/{item}", world.address, ada.link);
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let post = async |body: Vec<u8>| {
            let request =
                http.post(&url).header("content-type", "multipart/form-data; boundary=edge").body(body);
            match request.send().await {
                Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
                // It was cut off while it went on sending.
                Err(_) => (0, String::new()),
            }
        };
        for begins in ["--edge\r\nX: ", ""] {
            let mut body = begins.as_bytes().to_vec();
            body.resize(8 << 20, b'a');
            let (status, _) = post(body).await;
            assert!([0, 404, 422].contains(&status), "{status}");
        }
        let mut many = String::new();
        for n in 0..5000 {
            let head = "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=";
            write!(many, "{head}\"{n}.zip\"\r\n\r\nPK\u{3}\u{4}\r\n").unwrap();
        }
        let (status, page) = post(format!("{many}--edge--\r\n").into_bytes()).await;
        assert!(status == 0 || page.matches("role=\"alert\"").count() == 11, "{status}");
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        ada.gives(&item, "sound").await;
    })
    .await;
}

/// proves: DREQ-7
#[tokio::test]
async fn asking_again_that_was_stopped_has_no_link_as_a_draft_and_its_link_when_it_leaves() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        ada.gives(&item, "dark").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let message = asks_again(&owner, &ada, &item).await;
        acme.undo(acme.owner, &message).await.unwrap();
        let draft = key.message(id, &message).await["text"].as_str().unwrap().to_owned();
        assert!(draft.contains("we couldn’t read it") && !draft.contains("/upload/"), "{draft}");
        acme.approve(acme.owner, &message, None).await.unwrap();
        leaves(world).await;
        let letter = world.outbox.letters().pop().unwrap().text;
        assert_eq!(link_in(&letter), ada.link);
        ada.page().await;
    })
    .await;
}

/// proves: DREQ-18
#[tokio::test]
async fn a_link_that_is_mailed_again_is_good_and_one_that_ended_stays_so_otherwise() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let documents =
            json!([{ "label": "Passport" }, { "label": "Payslip" }, { "label": "Photo", "required": false }]);
        let (_, _, ada) = asked(&acme, documents).await;
        let items = ada.items().await;
        ada.gives(&items[0], "passport").await;
        ada.gives(&items[2], "photo").await;
        world.wait(TimeDelta::days(61));
        world.work().await;
        assert_eq!(world.requests().await, ["expired"]);
        let owner = world.browser(acme.id, acme.owner).await;
        asks_again(&owner, &ada, &items[0]).await;
        assert_eq!(world.requests().await, ["open"]);
        ada.gives(&items[0], "sharper").await;
        ada.gives(&items[1], "payslip").await;
        assert_eq!(world.requests().await, ["completed"]);
        world.wait(TimeDelta::days(15));
        assert_eq!(ada.opens(&ada.link).await.status, 410);
        // Nothing that is required: it stays complete, and its link is good once more.
        let owner = world.browser(acme.id, acme.owner).await;
        asks_again(&owner, &ada, &items[2]).await;
        assert_eq!(world.requests().await, ["completed"]);
        ada.gives(&items[2], "another photo").await;
        assert_eq!(world.events("ask.completed").await.len(), 1);
    })
    .await;
}

/// proves: DREQ-18
#[tokio::test]
async fn ticking_off_the_rest_does_not_open_an_ended_link() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        world.wait(TimeDelta::days(61));
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(does(&owner, &ada.link, &item, "tick").await, 303);
        assert_eq!(world.requests().await, ["completed"]);
        assert_eq!(ada.opens(&ada.link).await.status, 410);
        assert_eq!(ada.sends(&item, &[("a.pdf", &pdf("a"))]).await.status, 410);
    })
    .await;
}

/// proves: DREQ-14
#[tokio::test]
async fn a_reminder_that_waits_for_the_relay_does_not_leave_when_everything_came_meanwhile() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (key, id, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        world.outbox.answers(Handover::Later);
        world.wait(TimeDelta::days(2));
        world.work().await;
        let tried = world.outbox.letters().len();
        assert_eq!(tried, 2, "the reminder is tried");
        let before = key.conversation(id).await["messageCount"].clone();
        ada.gives(&item, "passport").await;
        world.outbox.answers(Handover::Accepted);
        world.wait(TimeDelta::hours(2));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), tried, "it does not leave any more");
        assert_eq!(world.scalar("select count(*) from messages where status = 'sending'").await, 0);
        let reminders = world.scalar("select count(*) from messages where origin = 'service'").await;
        assert_eq!(reminders, 0, "and stands nowhere: {before}");
    })
    .await;
}

/// proves: DREQ-13
#[tokio::test]
async fn reminders_go_on_when_an_ended_request_gets_more_time() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let path = format!("/requests/{}/extend", request_of(&ada.link));
        assert_eq!(owner.post(&path, &[("due", ""), ("ends", "2031-01-06")]).await.status, 303);
        world.wait(TimeDelta::days(1));
        world.work().await;
        assert_eq!(world.requests().await, ["expired"]);
        let letters = world.outbox.letters().len();
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(owner.post(&path, &[("due", ""), ("ends", "2031-02-06")]).await.status, 303);
        for (days, mails) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
            world.wait(TimeDelta::days(days));
            world.work().await;
            assert_eq!(world.outbox.letters().len(), letters + mails);
        }
    })
    .await;
}

#[tokio::test]
async fn after_a_refusal_there_is_room_for_as_many_files_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        for n in 0..10 {
            ada.gives(&item, &format!("dark page {n}")).await;
        }
        assert_eq!(ada.sends(&item, &[("a.pdf", &pdf("eleven"))]).await.status, 422);
        let owner = world.browser(acme.id, acme.owner).await;
        world.wait(TimeDelta::minutes(1));
        asks_again(&owner, &ada, &item).await;
        let page = ada.page().await;
        assert!(page.contains(&format!("{}/{item}?", ada.link)), "there is a form: {page}");
        world.wait(TimeDelta::minutes(1));
        ada.gives(&item, "sharp").await;
        assert_eq!(world.requests().await, ["completed"]);
    })
    .await;
}

#[tokio::test]
async fn what_comes_after_a_person_accepted_is_to_be_looked_at() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        ada.gives(&item, "mine").await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(does(&owner, &ada.link, &item, "accept").await, 303);
        ada.gives(&item, "another").await;
        let state: (String, bool) =
            sqlx::query_as("select state, decided_by is null from document_request_items")
                .fetch_one(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(state, ("received".to_owned(), true));
        assert_eq!(world.requests().await, ["completed"]);
    })
    .await;
}

/// The day that a person chooses is the day that the customer reads, and it ends when it ends there.
#[tokio::test]
async fn a_link_is_good_through_a_day_as_days_are_where_the_workspace_is() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let path = format!("/requests/{}", request_of(&ada.link));
        for (zone, ends_at) in
            [("Europe/Berlin", "2031-01-20 23:00:00+00"), ("America/New_York", "2031-01-21 05:00:00+00")]
        {
            world.sql(&format!("update workspaces set time_zone = '{zone}'")).await;
            let form = [("due", ""), ("ends", "2031-01-20")];
            assert_eq!(owner.post(&format!("{path}/extend"), &form).await.status, 303);
            let ended: bool =
                sqlx::query_scalar("select link_ends_at = $1::text::timestamptz from document_requests")
                    .bind(ends_at)
                    .fetch_one(&world.app.pool)
                    .await
                    .unwrap();
            assert!(ended, "{zone}");
            assert!(ada.page().await.contains("Monday, 20 January"), "{zone}");
            let shown = owner.get(&path).await.page();
            assert!(shown.contains("name=\"ends\" value=\"2031-01-20\""), "{zone}: {shown}");
        }
        for odd in ["+262142-12-31", "-262143-01-01"] {
            assert_eq!(
                owner.post(&format!("{path}/extend"), &[("due", ""), ("ends", odd)]).await.status,
                400
            );
            let due = [("due", odd), ("ends", "2031-01-20")];
            assert_eq!(owner.post(&format!("{path}/extend"), &due).await.status, 400);
        }
    })
    .await;
}

#[tokio::test]
async fn the_page_calls_a_file_as_its_sender_did_and_not_as_a_mail_did() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, _, ada) = asked(&acme, json!([{ "label": "Passport" }])).await;
        let item = ada.items().await.remove(0);
        let file = pdf("the same");
        assert_eq!(ada.sends(&item, &[("mine.pdf", &file)]).await.status, 303);
        world.sql("update documents set filename = 'Ada - reject.pdf', title = 'Ada - reject.pdf'").await;
        let page = ada.page().await;
        assert!(page.contains("mine.pdf") && !page.contains("reject"), "{page}");
    })
    .await;
}

/// proves: APP-12
#[tokio::test]
async fn an_erasure_takes_what_somebody_sent_in_a_conversation_that_became_somebody_elses() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (_, id, ada) = asked(&acme, json!([{ "label": "Passport of zanzibarcanary" }])).await;
        let item = ada.items().await.remove(0);
        ada.gives(&item, "zanzibarcanary").await;
        let inbox: i64 = world.scalar("select id from mailboxes where address = 'help@acme.example'").await;
        let bobs = acme.mail(MailboxId(inbox), "bob@other.example", "Parcel", "Where is it?").await;
        acme.outbound(bobs, Message { status: "sent", text: "Here.", rfc_message_id: None }).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let merged = owner.post(&format!("/conversations/{bobs}/merge"), &[("with", &id.to_string())]).await;
        assert_eq!(merged.status, 303, "{}", merged.html);
        assert_eq!(world.scalar("select count(*) from documents").await, 1);
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        world.work().await;
        assert_eq!(world.left_of_canary().await, [] as [String; 0]);
        assert_eq!(world.scalar("select count(*) from documents").await, 0);
        assert_eq!(world.scalar("select count(*) from conversations").await, 1, "Bob's stays");
    })
    .await;
}

/// A link that lost its end in somebody's mail program is opened by a person, who reads no JSON.
#[tokio::test]
async fn a_browser_that_was_sent_nowhere_gets_a_page_and_a_program_an_error() {
    story(async |world| {
        let http = reqwest::Client::new();
        for path in ["/book/acme", "/upload", "/nowhere"] {
            let asks = async |accept: &str| {
                let request = http.get(format!("{}{path}", world.address)).header("accept", accept);
                let answer = request.header("accept-language", "de").send().await.unwrap();
                let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
                (answer.status().as_u16(), kind, answer.text().await.unwrap())
            };
            let (status, kind, page) = asks("text/html,application/xhtml+xml,*/*;q=0.8").await;
            assert_eq!((status, kind.as_str()), (404, "text/html; charset=utf-8"), "{path}");
            assert!(page.contains("Hier ist nichts"), "{path}: {page}");
            let (status, kind, error) = asks("*/*").await;
            assert_eq!((status, kind.as_str()), (404, "application/json"), "{path}");
            assert!(error.contains("No such endpoint."), "{path}: {error}");
        }
    })
    .await;
}
