//! The stories of APP-9: a visitor books with a code, or by the link of a conversation; moves; cancels; takes it back. Apps hear
//! of each with thin data.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{AT, LATER, PAGE, books, code, hidden, long_offer, offer, open, private, short};
use rookery_world::verbs::bookings;
use rookery_world::{Mode, story};

const ADA: &str = "ada@customer.example";

/// proves: APP-9, EVT-13
#[tokio::test]
async fn a_visitor_books_with_a_code_and_nothing_is_stored_before_it_came_back() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let page = ada.page().await;
        assert!(page.contains("First free time") && page.contains(&format!("value=\"{AT}\"")), "{page}");
        let details = ada.opens(&format!("{PAGE}?at={AT}&zone=Europe/Berlin")).await.page();
        assert!(
            details.contains("Thursday, 9 January, 10:30 to 11:00") && details.contains("Berlin"),
            "{details}"
        );
        let press = hidden(&details, "press");
        let missing =
            ada.submits(PAGE, &[("at", AT), ("name", ""), ("email", "ada"), ("press", &press)]).await;
        assert_eq!(missing.status, 422);
        assert_eq!(missing.html.matches("Please fill this in.").count(), 2, "name and question");
        assert!(missing.html.contains("This is not a whole address."));
        let mut fields = vec![
            ("at", AT),
            ("name", "Ada <script>"),
            ("email", "Ada@Customer.example"),
            ("q0", "030 1234"),
            ("note", "The lease"),
            ("press", press.as_str()),
        ];
        let asked = ada.submits(PAGE, &fields).await;
        assert!(asked.status == 200 && asked.html.contains(ADA), "{}", asked.html);
        world.work().await;
        let mail = world.outbox.letters().pop().unwrap();
        assert_eq!(mail.to, ADA);
        for typed in ["script", "030 1234", "lease"] {
            assert!(!mail.text.contains(typed) && !mail.subject.contains(typed), "{}", mail.text);
        }
        assert_eq!(world.scalar("select count(*) from bookings").await, 0);
        let right = code(world, ADA);
        let wrong = if right == "000000" { "111111" } else { "000000" };
        fields.push(("code", wrong));
        let refused = ada.submits(PAGE, &fields).await;
        assert!(refused.status == 422 && refused.html.contains("This is not the code."), "{}", refused.html);
        fields.pop();
        fields.push(("code", &right));
        let booked = ada.submits(PAGE, &fields).await;
        let to = booked.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(booked.status, 303);
        let again = ada.submits(PAGE, &fields).await;
        assert_eq!(
            (again.status, again.headers["location"].to_str().unwrap()),
            (303, to.as_str()),
            "a double click"
        );
        let page = ada.opens(&to).await;
        assert!(!page.headers.contains_key("set-cookie"));
        assert!(page.page().contains("a…@customer.example"));
        assert_eq!(world.scalar("select count(*) from bookings").await, 1);
        let events = world.events("booking.created").await;
        let data = &events[0]["data"];
        assert_eq!(
            (&data["booking_type_id"], &data["host_user_id"], &data["conversation_id"]),
            (&json!(id), &json!(acme.owner), &Value::Null)
        );
        assert_eq!(
            (&data["starts_at"], &data["ends_at"]),
            (&json!("2031-01-09T09:30:00.000Z"), &json!("2031-01-09T10:00:00.000Z"))
        );
        assert_eq!(data["summary"], "A time with Olga Owner was booked.");
        assert_eq!(events.len(), 1);
        assert!(
            !events[0].to_string().contains("ada") && !events[0].to_string().contains("lease"),
            "{events:?}"
        );
        let taken = ada.opens(&format!("{PAGE}?at={AT}")).await;
        assert!(taken.status == 409 && taken.html.contains("That time was just booked"), "{}", taken.html);
        let private = private(&ada, &to).await;
        let file = ada.opens(&format!("{private}/calendar")).await;
        assert!(
            file.html.contains("DTSTART:20310109T093000Z") && file.html.contains("METHOD:PUBLISH"),
            "{}",
            file.html
        );
    })
    .await;
}

/// proves: APP-9, EVT-13
#[tokio::test]
async fn a_customer_books_by_the_link_of_their_conversation_without_a_code() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, "Ada <Ada@customer.example>", "Lease", "Hello").await;
        let link = offer(&acme, id, conversation).await;
        let page = ada.opens(&link).await.page();
        assert!(page.contains("Reply to our mail"), "{page}");
        let details = ada.opens(&format!("{link}&at={AT}")).await.page();
        assert!(
            details.contains("a…@customer.example") && !details.contains("ada@customer.example"),
            "{details}"
        );
        let press = hidden(&details, "press");
        let fields = [
            ("at", AT),
            ("name", "Ada"),
            ("q0", "030"),
            ("press", &press),
            ("email", "mallory@evil.example"),
        ];
        let booked = ada.submits(&link, &fields).await;
        assert_eq!(booked.status, 303, "{}", booked.html);
        world.work().await;
        let mut to: Vec<String> = world.outbox.letters().into_iter().map(|letter| letter.to).collect();
        to.sort_unstable();
        assert_eq!(to, [ADA, "olga@rookery.example"], "no code, and the address of the conversation");
        let event = &world.events("booking.created").await[0]["data"];
        assert_eq!(event["conversation_id"], json!(conversation));
        let key = acme.key("bot", "read", Mode::Live).await;
        let told = key.told(conversation, "booking-created").await;
        assert_eq!((told.len(), &told[0]["startsAt"]), (1, &json!("2031-01-09T09:30:00.000Z")));
        let old = long_offer(&acme, id, conversation, ADA);
        assert!(ada.opens(&old).await.page().contains("Reply to our mail"), "older addresses go on working");
        let altered = old.replace("until=1", "until=2");
        let asks = ada.opens(&format!("{altered}&at={LATER}")).await.page();
        assert!(asks.contains("We send a code to this address"), "an altered link is no link: {asks}");
        world.wait(TimeDelta::days(31));
        for link in [link, old] {
            let ended = ada.opens(&link).await.page();
            assert!(!ended.contains("Reply to our mail"), "it has ended");
        }
    })
    .await;
}

/// proves: APP-9
#[tokio::test]
async fn one_of_several_offered_times_is_booked_and_the_other_links_say_so() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(inbox, "Ada <ada@customer.example>", "Lease", "Hello").await;
        let links = [
            short(&acme, id, conversation, Some(AT)).await,
            short(&acme, id, conversation, Some(LATER)).await,
            short(&acme, id, conversation, None).await,
        ];
        assert!(links.iter().all(|link| link.starts_with("/b/") && link.len() <= 60), "{links:?}");
        let all = ada.opens(&links[2]).await.page();
        assert!(all.contains("Reply to our mail") && !all.contains("already booked"), "{all}");
        let details = ada.opens(&links[0]).await.page();
        assert!(
            details.contains("Thursday, 9 January, 10:30 to 11:00")
                && details.contains("a…@customer.example"),
            "{details}"
        );
        assert_eq!(hidden(&details, "at"), AT);
        assert_eq!(world.scalar("select count(*) from bookings").await, 0, "to open it books nothing");
        // Somebody else was faster: others are shown.
        let bookable = bookings::bookable(&world.app, acme.id, id).await;
        let theirs = bookings::at("2031-01-10T13:00:00Z");
        bookings::books(&world.app, &bookable, "eve@other.example", theirs, None).await.unwrap().unwrap();
        let taken = ada.opens(&links[1]).await;
        assert!(taken.status == 409 && taken.html.contains("That time was just booked"), "{}", taken.html);
        // One press books what the link offered, in its conversation.
        let action = details.split("method=\"post\" action=\"").nth(1).unwrap().split('"').next().unwrap();
        let action = action.replace("&#38;", "&");
        let press = hidden(&details, "press");
        let fields = [("at", AT), ("name", "Ada"), ("q0", "030"), ("press", press.as_str())];
        let booked = ada.submits(&action, &fields).await;
        assert_eq!(booked.status, 303, "{}", booked.html);
        let event = &world.events("booking.created").await[1]["data"];
        assert_eq!(event["conversation_id"], json!(conversation));
        for link in &links {
            let shown = ada.opens(link).await;
            assert_eq!(shown.status, 200, "{}", shown.html);
            let page = shown.page();
            assert!(page.contains("You’ve already booked Thursday, 9 January, 10:30."), "{page}");
            assert!(page.contains("First free time"), "another can still be chosen: {page}");
        }
        let other = acme.mail(inbox, "Ada <ada@customer.example>", "Other", "Hello").await;
        let free = short(&acme, id, other, Some("2031-01-10T09:30Z")).await;
        let details = ada.opens(&free).await.page();
        assert_eq!(hidden(&details, "at"), "2031-01-10T09:30Z", "another conversation, another offer");
        world.sql("update booking_types set state = 'removed'").await;
        assert_eq!(ada.opens(&free).await.status, 404);
    })
    .await;
}

/// proves: EVT-13
#[tokio::test]
async fn a_booking_of_a_private_conversation_is_told_to_its_owner_alone() {
    story(async |world| {
        let (acme, id, ada) = open(world).await;
        let private = acme.private_mailbox("olga@acme.example", "Olga", acme.owner).await;
        let conversation = acme.mail(private, "Ada <ada@customer.example>", "Secret", "Hello").await;
        let link = offer(&acme, id, conversation).await;
        let booked = ada.submits(&link, &[("at", AT), ("name", "Ada"), ("q0", "030")]).await;
        assert_eq!(booked.status, 303, "{}", booked.html);
        let audiences: Vec<i64> =
            sqlx::query_scalar("select audience from events where kind like 'booking.%'")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(audiences, [acme.owner.0]);
    })
    .await;
}

/// proves: APP-9
#[tokio::test]
async fn a_booking_is_moved_and_stays_one_event() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let private = books(&ada, ADA, AT).await;
        world.work().await;
        let times = ada.opens(&format!("{private}/move")).await.page();
        assert!(
            times.contains(&format!("value=\"{LATER}\"")) && !times.contains(&format!("value=\"{AT}\"")),
            "{times}"
        );
        let asks = ada.opens(&format!("{private}/move?at={LATER}")).await.page();
        assert!(
            asks.contains("Nothing has changed yet.") && asks.contains("Until now: Thursday, 9 January"),
            "{asks}"
        );
        let untold = ada.submits(&format!("{private}/move"), &[("at", LATER)]).await;
        assert_eq!(untold.status, 422, "the tick is missing");
        let moved = ada.submits(&format!("{private}/move"), &[("at", LATER), ("sure", "yes")]).await;
        assert_eq!((moved.status, moved.headers["location"].to_str().unwrap()), (303, private.as_str()));
        let page = ada.opens(&private).await.page();
        assert!(page.contains("Friday, 10 January"), "the same link: {page}");
        let (created, cancelled) =
            (world.events("booking.created").await, world.events("booking.cancelled").await);
        assert_eq!((created.len(), cancelled.len()), (2, 1));
        assert_eq!(cancelled[0]["data"]["booking_id"], created[0]["data"]["booking_id"]);
        assert_ne!(created[1]["data"]["booking_id"], created[0]["data"]["booking_id"]);
        assert!(ada.page().await.contains(&format!("value=\"{AT}\"")), "the old time is free");
        world.work().await;
        let raws: Vec<String> = world
            .outbox
            .mails()
            .into_iter()
            .filter(|mail| mail.to == ADA)
            .map(|mail| String::from_utf8(mail.raw).unwrap())
            .filter(|raw| raw.contains("BEGIN:VEVENT"))
            .collect();
        let uid = |raw: &str| raw.split("UID:").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(raws.len(), 2);
        assert_eq!(uid(&raws[0]), uid(&raws[1]));
        assert!(raws[0].contains("SEQUENCE:0") && raws[1].contains("SEQUENCE:1"), "{raws:?}");
    })
    .await;
}

/// proves: APP-9, EVT-13
#[tokio::test]
async fn a_booking_is_cancelled_with_a_reason_and_taken_back_within_ten_minutes() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let private = books(&ada, ADA, AT).await;
        world.work().await;
        let asks = ada.opens(&format!("{private}/cancel")).await.page();
        assert!(
            asks.contains("Nothing has changed yet.") && !asks.contains("checked"),
            "no reason is chosen: {asks}"
        );
        let cancelled = ada.submits(&format!("{private}/cancel"), &[("why", "time")]).await;
        assert_eq!(cancelled.status, 303);
        assert_eq!(world.events("booking.cancelled").await.len(), 1);
        let page = ada.opens(&private).await.page();
        assert!(page.contains("Take it back"), "{page}");
        assert!(!ada.page().await.contains(&format!("value=\"{AT}\"")), "nobody else gets it meanwhile");
        world.wait(TimeDelta::minutes(9));
        world.work().await;
        let back = ada.submits(&format!("{private}/back"), &[]).await;
        assert_eq!(back.status, 303, "{}", back.html);
        assert!(ada.opens(&private).await.page().contains("Cancel it"));
        assert_eq!(world.events("booking.created").await.len(), 2);
        world.wait(TimeDelta::minutes(30));
        world.work().await;
        let cancellations = |world: &rookery_world::World| {
            world.outbox.letters().iter().filter(|letter| letter.subject.starts_with("Cancelled")).count()
        };
        assert_eq!(cancellations(world), 0, "nobody was told of it");
        ada.submits(&format!("{private}/cancel"), &[("why", "solved")]).await;
        world.wait(TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(cancellations(world), 2, "visitor and host");
        let late = ada.submits(&format!("{private}/back"), &[]).await;
        assert!(late.status == 409 && late.html.contains("too late"), "{}", late.html);
        assert!(ada.page().await.contains(&format!("value=\"{AT}\"")), "it is free for others");
    })
    .await;
}

#[tokio::test]
async fn a_button_that_is_pressed_twice_moves_once() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let private = books(&ada, ADA, AT).await;
        for _ in 0..2 {
            let moved = ada.submits(&format!("{private}/move"), &[("at", LATER), ("sure", "yes")]).await;
            assert_eq!(moved.status, 303, "{}", moved.html);
        }
        assert_eq!(world.scalar("select count(*) from bookings where state = 'moved'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn names_keep_what_their_script_needs_and_lose_what_turns_it_around() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let name = format!("\u{202e}علی\u{200c}رضا {}", "a".repeat(80));
        let note = "👩\u{200d}💻\r\nمی\u{200c}خواهم";
        let fields =
            [("at", AT), ("name", &*name), ("email", ADA), ("q0", "1"), ("note", note), ("press", "\0x")];
        assert_eq!(ada.submits(PAGE, &fields).await.status, 200);
        world.work().await;
        let code = code(world, ADA);
        let booked = ada.submits(PAGE, &[&fields[..], &[("code", &code)]].concat()).await;
        assert_eq!(booked.status, 303, "{}", booked.html);
        let kept: (String, String) =
            sqlx::query_as("select name, note from bookings").fetch_one(&world.app.pool).await.unwrap();
        assert_eq!(kept, (name.replace('\u{202e}', ""), note.replace("\r\n", "\n")));
        for nowhere in ["/book/%00/call", "/book/acme/%00"] {
            assert_eq!(ada.opens(nowhere).await.status, 404, "{nowhere}");
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_mistyped_their_address_gets_back_to_it_and_a_code_is_sent_again() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let wrong = [("at", AT), ("name", "Ada"), ("email", "adda@customer.example"), ("q0", "030 1234")];
        let asked = ada.submits(PAGE, &wrong).await;
        assert!(asked.html.contains("Change the address") && asked.html.contains("Send the code again"));
        let back = ada.submits(PAGE, &[&wrong[..], &[("instead", "address")]].concat()).await;
        assert_eq!(back.status, 200);
        assert!(
            back.html.contains("value=\"adda@customer.example\"") && back.html.contains("value=\"030 1234\"")
        );
        let right = [("at", AT), ("name", "Ada"), ("email", ADA), ("q0", "030 1234")];
        ada.submits(PAGE, &right).await;
        world.wait(TimeDelta::minutes(2));
        let again =
            ada.submits(PAGE, &[&right[..], &[("instead", "again"), ("code", "000000")]].concat()).await;
        assert_eq!(again.status, 200, "what was typed is no try: {}", again.html);
        world.work().await;
        assert_eq!(world.outbox.letters().iter().filter(|letter| letter.to == ADA).count(), 2);
        for _ in 0..4 {
            world.wait(TimeDelta::minutes(2));
            ada.submits(PAGE, &[&right[..], &[("instead", "again")]].concat()).await;
        }
        let slow = ada.submits(PAGE, &[&right[..], &[("instead", "again")]].concat()).await;
        assert!(
            slow.status == 429 && slow.html.contains("Enough codes were sent"),
            "{} {}",
            slow.status,
            slow.html
        );
        let code = code(world, ADA);
        assert_eq!(
            ada.submits(PAGE, &[&right[..], &[("code", &code)]].concat()).await.status,
            303,
            "the newest is good"
        );
    })
    .await;
}
