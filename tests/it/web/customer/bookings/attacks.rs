//! Against the pages of bookings: programs that open mail and press everything, guessed codes, mail bombs, links for something
//! else, and visitors who book without end.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;

use super::{AT, LATER, PAGE, books, long_offer, offer, open, short};
use rookery_world::pages::customer::Customer;
use rookery_world::{World, story};

const ADA: &str = "ada@customer.example";

fn attributes(html: &str, name: &str) -> Vec<String> {
    let mark = format!(" {name}=\"");
    let rest = html.split(&mark).skip(1);
    rest.map(|rest| rest[..rest.find('"').unwrap_or(0)].replace("&#38;", "&").replace("&amp;", "&")).collect()
}

/// Opens and heads a page and all that it links to, and presses every button as the page has it, choosing and typing nothing.
async fn robot(ada: &Customer<'_>, start: &str) -> usize {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![start.to_owned()]);
    let mut pressed = 0;
    while let Some(path) = waiting.pop() {
        if seen.len() > 60
            || path.starts_with("/static")
            || !path.starts_with('/')
            || !seen.insert(path.clone())
        {
            continue;
        }
        ada.heads(&path).await;
        let html = ada.opens(&path).await.html;
        waiting.extend(
            attributes(&html, "href")
                .into_iter()
                .filter(|to| !to.contains("lang=") && to.starts_with("/book")),
        );
        for form in html.split("<form").skip(1) {
            let form = &form[..form.find("</form>").unwrap()];
            let action = attributes(form, "action").remove(0);
            let hidden: Vec<(String, String)> = form
                .split("<input type=\"hidden\"")
                .skip(1)
                .map(|field| (attributes(field, "name").remove(0), attributes(field, "value").remove(0)))
                .collect();
            let buttons: Vec<String> = form
                .split("<button")
                .skip(1)
                .map(|button| button[..button.find('>').unwrap()].to_owned())
                .collect();
            for button in buttons.iter().take(3) {
                let mut fields: Vec<(String, String)> = hidden.clone();
                if let (Some(name), Some(value)) =
                    (attributes(button, "name").pop(), attributes(button, "value").pop())
                {
                    fields.push((name, value));
                }
                pressed += 1;
                let pairs: Vec<(&str, &str)> =
                    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                if form.contains("method=\"post\"") {
                    ada.submits(&action, &pairs).await;
                } else {
                    let query =
                        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
                    waiting.push(format!("{}?{query}", action.split('?').next().unwrap()));
                }
            }
        }
    }
    pressed
}

#[tokio::test]
async fn a_program_that_opens_and_presses_everything_books_moves_and_cancels_nothing() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let private = books(&ada, ADA, AT).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, "Kim <kim@customer.example>", "Lease", "Hello").await;
        let all = short(&acme, id, conversation, None).await;
        let one = short(&acme, id, conversation, Some(LATER)).await;
        world.work().await;
        let before = world.outbox.letters().len();
        for (start, least) in [(private.as_str(), 4), (all.as_str(), 4), (one.as_str(), 0)] {
            assert!(robot(&ada, start).await > least, "{start}");
        }
        world.work().await;
        assert_eq!(world.scalar("select count(*) from bookings").await, 1);
        assert_eq!(world.scalar("select count(*) from bookings where state = 'booked'").await, 1);
        assert_eq!(world.outbox.letters().len(), before, "no mail");
        assert_eq!(world.events("booking.cancelled").await.len(), 0);
    })
    .await;
}

fn form<'a>(address: &'a str, at: &'a str, code: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("at", at), ("name", "Ada"), ("email", address), ("q0", "1"), ("code", code)]
}

#[tokio::test]
async fn a_code_cannot_be_guessed_and_nobody_is_bombed_with_codes() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        for hour in 0..2 {
            for _ in 0..12 {
                ada.submits(PAGE, &form(ADA, AT, "")).await;
                world.wait(TimeDelta::minutes(2));
                world.work().await;
            }
            let sent = world.outbox.letters().iter().filter(|letter| letter.to == ADA).count();
            assert!(sent <= 3 * (hour + 1), "{sent} codes in {} hours", hour + 1);
            world.wait(TimeDelta::minutes(61));
        }
        ada.submits(PAGE, &form(ADA, AT, "")).await;
        world.work().await;
        let right = super::code(world, ADA);
        let guesses = (0..10).map(|n| format!("{n:06}")).filter(|guess| *guess != right);
        for guess in guesses.take(5) {
            assert_eq!(ada.submits(PAGE, &form(ADA, AT, &guess)).await.status, 422);
        }
        let late = ada.submits(PAGE, &form(ADA, AT, &right)).await;
        assert!(late.status != 303, "five tries are all: {}", late.html);
        assert_eq!(world.scalar("select count(*) from bookings").await, 0);
    })
    .await;
}

#[tokio::test]
async fn an_address_has_at_most_five_of_a_type_ahead() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, "Ada <ada@customer.example>", "Lease", "Hello").await;
        let link = offer(&acme, id, conversation).await;
        for n in 0..6 {
            let at = format!("2031-01-{:02}T09:30Z", 13 + n % 5);
            let at = if n == 5 { LATER.to_owned() } else { at };
            let booked = ada.submits(&link, &[("at", &at), ("name", "Ada"), ("q0", "1")]).await;
            let wanted = if n == 5 { 409 } else { 303 };
            assert_eq!(booked.status, wanted, "{n}: {}", booked.html);
        }
        assert_eq!(world.scalar("select count(*) from bookings").await, 5);
    })
    .await;
}

#[tokio::test]
async fn a_link_for_something_else_opens_nothing() {
    story(async |world: &World| {
        let (acme, id, ada) = open(world).await;
        let private = books(&ada, ADA, AT).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, "Kim <kim@customer.example>", "Lease", "Hello").await;
        let link = offer(&acme, id, conversation).await;
        let long = long_offer(&acme, id, conversation, "kim@customer.example");
        let token = private.rsplit('/').next().unwrap();
        let asks = async |path: &str| {
            let page = ada.opens(&format!("{path}&at={LATER}")).await.page();
            assert!(page.contains("We send a code to this address"), "{path}: {page}");
        };
        for (link, length) in [(&link, 56), (&long, 43)] {
            let key = link.rsplit('=').next().unwrap();
            assert_eq!((token.len(), key.len()), (43, length));
            let swapped = private.replace(token, key);
            for below in ["", "/cancel", "/move", "/calendar"] {
                assert_eq!(ada.opens(&format!("{swapped}{below}")).await.status, 404, "{below}");
            }
            assert_eq!(ada.submits(&format!("{swapped}/cancel"), &[("why", "time")]).await.status, 404);
            asks(&link.replace(key, token)).await;
        }
        let upload = private.replace("/booking/", "/upload/");
        assert_eq!(ada.opens(&upload).await.status, 404);
        // The link of one conversation is none of another.
        let other = acme.mail(inbox, "Eve <eve@customer.example>", "Mine", "Hello").await;
        asks(&long.replace(&conversation.to_string(), &other.to_string())).await;
        let mut bytes = URL_SAFE_NO_PAD.decode(link.rsplit('=').next().unwrap()).unwrap();
        bytes[8..16].copy_from_slice(&other.0.to_be_bytes());
        let stolen = URL_SAFE_NO_PAD.encode(bytes);
        asks(&format!("{PAGE}?offer={stolen}")).await;
        assert!(!ada.opens(&format!("/b/{stolen}")).await.page().contains("Reply to our mail"));
        // Whatever else the short address is, it leads nowhere; a time in a query is only a wish.
        let nowhere = ["A".repeat(56), "_".repeat(56), "A".repeat(2_000), format!("{stolen}A")];
        for nothing in nowhere {
            assert_eq!(ada.opens(&format!("/b/{nothing}")).await.status, 404, "{nothing}");
        }
        let good = link.rsplit('=').next().unwrap();
        for at in ["", "now", "2031-01-10T13:00", "9999999999", "2031-01-10T13:00Z%00", "'%3b--"] {
            assert_eq!(ada.opens(&format!("/b/{good}?at={at}")).await.status, 200, "{at}");
            assert_eq!(ada.opens(&format!("{link}&at={at}")).await.status, 200, "{at}");
        }
        assert_eq!(world.scalar("select count(*) from bookings where state = 'booked'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn whoever_books_and_lets_go_in_turn_is_stopped() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, ADA, "Lease", "Hello").await;
        let link = offer(&acme, id, conversation).await;
        let mut refused = 0;
        for n in 0..14 {
            let times = ada.opens(&link).await.page();
            let at = super::hidden(&times, "at");
            let press = format!("press{n}");
            let fields = [("at", at.as_str()), ("name", "Ada"), ("q0", "1"), ("press", &press)];
            let booked = ada.submits(&link, &fields).await;
            if booked.status == 409 {
                refused += 1;
                continue;
            }
            let private = super::private(&ada, booked.headers["location"].to_str().unwrap()).await;
            ada.submits(&format!("{private}/cancel"), &[("why", "time")]).await;
            if n == 0 {
                assert_eq!(ada.submits(&format!("{private}/back"), &[]).await.status, 303);
                ada.submits(&format!("{private}/cancel"), &[("why", "time")]).await;
                assert_eq!(ada.submits(&format!("{private}/back"), &[]).await.status, 409, "once is enough");
            }
        }
        assert_eq!(refused, 4, "ten within an hour");
    })
    .await;
}
