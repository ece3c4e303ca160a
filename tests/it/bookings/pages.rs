//! Bookings in the browser: a type from nothing to its page, hours, days that are otherwise, other calendars, what is booked and
//! cancelling it, offering times in a reply. Nobody changes what is not theirs.

use rookery_core::workspace::people::Role;
use rookery_product::bookings::types::settings::Settings;

use rookery_world::pages::writing::Composer;
use rookery_world::story;

const FIELDS: &[(&str, &str)] = &[
    ("name", "First <call>"),
    ("slug", ""),
    ("about", "We look at it\r\ntogether."),
    ("place", "We call you"),
    ("minutes", "30"),
    ("step", "30"),
    ("before", ""),
    ("after", "15"),
    ("notice", "60"),
    ("horizon", "14"),
    ("limit", "3"),
    ("remind", "1440"),
    ("question-0", "Your order?"),
    ("required-0", "on"),
    ("origins", "https://www.example.com/\r\n"),
];

fn with<'a>(fields: &[(&'a str, &'a str)], change: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = fields.iter().filter(|(name, _)| !change.iter().any(|(own, _)| own == name));
    kept.chain(change).copied().collect()
}

#[tokio::test]
async fn an_owner_makes_a_type_and_sees_what_it_offers() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let empty = owner.get("/settings/bookings").await.page();
        assert!(empty.contains("Nothing can be booked yet"), "{empty}");
        assert!(owner.get("/settings").await.page().contains("/settings/bookings"));
        let form = owner.get("/settings/bookings/new").await.page();
        assert!(form.contains("https://rookery.example/book/acme/"), "{form}");

        let id = acme.owner.to_string();
        let fields = with(FIELDS, &[("host", &id)]);
        for (change, says) in [
            (&[("minutes", "soon")][..], "Length: must be a whole number"),
            (&[("minutes", "1")][..], "Length: must be 5 to 480 minutes"),
            (&[("slug", "Not good")][..], "Address: must be lower-case"),
            (&[("origins", "https://*.example.com")][..], "Embedding: takes origins"),
        ] {
            let refused = owner.post("/settings/bookings/new", &with(&fields, change)).await;
            assert!(refused.status == 400 && refused.html.contains(says), "{says}: {}", refused.html);
            assert!(refused.html.contains("First &#60;call&#62;"), "what was typed stays");
        }
        let made = owner.post("/settings/bookings/new", &fields).await;
        let page = made.location().split('?').next().unwrap().to_owned();
        assert!(page.starts_with("/settings/bookings/bkt_"), "{} {}", made.status, made.html);
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("https://rookery.example/book/acme/first-call"), "{shown}");
        // It is Monday, nine o'clock, with an hour's notice.
        assert!(shown.contains("Next free times") && shown.contains("Mon 6 Jan, 10:00"), "{shown}");
        assert!(
            shown.contains("&#60;iframe src=&#34;https://rookery.example/book/acme/first-call"),
            "{shown}"
        );
        assert!(shown.contains(r#"value="Your order?""#), "{shown}");

        let taken = owner.post("/settings/bookings/new", &fields).await;
        assert!(taken.html.contains("Address: is taken"), "{}", taken.html);
        let changed =
            owner.post(&page, &with(&fields, &[("name", "A call"), ("slug", "call"), ("origins", "")])).await;
        assert_eq!(changed.status, 303, "{}", changed.html);
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("/book/acme/call") && !shown.contains("iframe"), "{shown}");

        assert_eq!(owner.post(&format!("{page}/pause"), &[]).await.status, 303);
        assert!(owner.get(&page).await.page().contains("its page offers no times"));
        assert_eq!(owner.post(&format!("{page}/resume"), &[]).await.status, 303);
        assert!(owner.get(&format!("{page}/remove")).await.page().contains("Existing bookings stay"));
        assert_eq!(owner.post(&format!("{page}/remove"), &[]).await.status, 303);
        assert_eq!(owner.get(&page).await.status, 404);
        assert_eq!(
            world.scalar("select count(*) from audit_entries where did like 'booking_type.%'").await,
            5
        );
    })
    .await;
}

#[tokio::test]
async fn a_member_has_types_and_hours_of_their_own_and_no_others() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let max = acme.person("Max", Role::Member).await;
        let theirs = acme.bookable("Hers").await;
        let member = world.browser(acme.id, max).await;
        let made = member.post("/settings/bookings/new", FIELDS).await;
        assert_eq!(made.status, 303, "{}", made.html);
        let hosts: Vec<i64> =
            sqlx::query_scalar("select person_id from booking_type_hosts order by type_id desc limit 1")
                .fetch_all(&world.app.pool)
                .await
                .unwrap();
        assert_eq!(hosts, [max.0]);
        let list = member.get("/settings/bookings").await.page();
        assert!(
            list.contains("Hers") && !list.contains(&format!("href=\"/settings/bookings/{theirs}\"")),
            "{list}"
        );
        for path in [format!("/settings/bookings/{theirs}"), format!("/settings/bookings/{theirs}/remove")] {
            assert_eq!(member.get(&path).await.status, 404, "{path}");
        }
        let owner = acme.owner.to_string();
        let for_her = with(FIELDS, &[("host", owner.as_str()), ("slug", "other")]);
        assert_eq!(member.post("/settings/bookings/new", &for_her).await.status, 403);
        assert_eq!(member.post(&format!("/settings/bookings/{theirs}/pause"), &[]).await.status, 403);
        assert_eq!(member.get(&format!("/settings/bookings/hours/{}", acme.owner)).await.status, 404);
        let hours = [("zone", "Asia/Kolkata"), ("hours-0", "9:00-12, 13:00–17:00")];
        assert_eq!(
            member.post(&format!("/settings/bookings/hours/{}", acme.owner), &hours).await.status,
            404
        );
        assert_eq!(member.post("/settings/bookings/hours", &hours).await.status, 303);
        let shown = member.get("/settings/bookings/hours").await.page();
        assert!(shown.contains(r#"value="09:00-12:00, 13:00-17:00""#), "{shown}");
        assert!(shown.contains("<option selected>Asia/Kolkata"), "{shown}");
        let wrong =
            member.post("/settings/bookings/hours", &[("zone", "Asia/Kolkata"), ("hours-2", "nine")]).await;
        assert!(
            wrong.status == 400 && wrong.html.contains("Wednesday: must be hours such as"),
            "{}",
            wrong.html
        );
        assert!(wrong.html.contains(r#"value="nine""#));

        let day = [("day", "2031-01-07"), ("hours", "")];
        assert_eq!(member.post("/settings/bookings/hours/days", &day).await.status, 303);
        let shown = member.get("/settings/bookings/hours").await.page();
        assert!(shown.contains("7 Jan 2031") && shown.contains("Closed"), "{shown}");
        assert_eq!(
            member
                .post("/settings/bookings/hours/days", &[("day", "2031-01-07"), ("usual", "1")])
                .await
                .status,
            303
        );
        assert!(!member.get("/settings/bookings/hours").await.page().contains("7 Jan 2031"));
        assert_eq!(member.post("/settings/bookings/hours/days", &[("day", "x")]).await.status, 400);

        // An owner sets anybody's hours, and sees nobody's calendars.
        let hers = world.browser(acme.id, acme.owner).await;
        let his = hers.get(&format!("/settings/bookings/hours/{max}")).await.page();
        assert!(his.contains("Hours of") && !his.contains("Connect the calendar"), "{his}");
        let private = hers
            .post("/settings/bookings/calendars", &[("kind", "feed"), ("address", "https://10.1.2.3/x")])
            .await;
        assert!(
            private.status == 400 && private.html.contains("must lead to a public address"),
            "{}",
            private.html
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_booked_is_listed_and_a_host_cancels_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let max = acme.person("Max", Role::Member).await;
        let mia = acme.person("Mia", Role::Member).await;
        let private = acme.private_mailbox("mia@acme.example", "Mia", mia).await;
        let call = acme.bookable_with(Settings::new("Call", "", 30, max)).await.unwrap();
        let talk = acme.mail(help, "ada@customer.example", "A call?", "When?").await;
        let secret = acme.mail(private, "eve@customer.example", "Secret", "When?").await;
        let booked = acme.books(call, "ada@customer.example", "2031-01-07T09:00:00Z", Some(talk)).await;
        let hidden = acme.books(call, "eve@customer.example", "2031-01-07T10:00:00Z", Some(secret)).await;
        let host = world.browser(acme.id, max).await;
        let list = host.get("/bookings").await.page();
        assert!(
            list.contains("Ada") && list.contains("ada@customer.example") && list.contains("About my order"),
            "{list}"
        );
        assert!(list.contains("Tuesday, 7 Jan 2031") && list.contains("Tue 14:30 there"), "{list}");
        // What a colleague offered in private is the host's too; the conversation is not.
        assert!(list.contains("eve@customer.example") && !list.contains(&secret.to_string()), "{list}");
        assert!(host.get("/bookings?of=me").await.page().contains("ada@customer.example"));
        let conversation = host.get(&format!("/conversations/{talk}")).await.page();
        assert!(
            conversation.contains("Tue 7 Jan, 09:00") && conversation.contains("The customer booked"),
            "{conversation}"
        );

        let owner = world.browser(acme.id, acme.owner).await;
        let list = owner.get("/bookings").await.page();
        assert!(!list.contains("eve@customer.example"), "a private conversation's stays private: {list}");
        assert_eq!(owner.get(&format!("/bookings/{}/cancel", hidden.id)).await.status, 404);
        let other = world.browser(acme.id, mia).await;
        let cancel = format!("/bookings/{}/cancel", booked.id);
        assert_eq!(other.get(&cancel).await.status, 404, "neither host nor admin");
        assert_eq!(other.post(&cancel, &[]).await.status, 404);
        assert_eq!(host.get(&format!("/bookings/{}/cancel", hidden.id)).await.status, 200);
        assert!(host.get(&cancel).await.page().contains("The visitor gets an email"));
        let long = "a".repeat(501);
        assert_eq!(host.post(&cancel, &[("reason", long.as_str())]).await.status, 400);
        assert_eq!(host.post(&cancel, &[("reason", "I am ill.")]).await.status, 303);
        assert_eq!(host.post(&cancel, &[]).await.status, 409, "once");
        assert!(!host.get("/bookings").await.page().contains("ada@customer.example"));
        assert_eq!(world.events("booking.cancelled").await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn times_are_offered_by_a_button_of_the_composer() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let talk = acme.mail(help, "ada@customer.example", "A call?", "When?").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = format!("/conversations/{talk}?compose=reply");
        assert!(!owner.get(&page).await.page().contains("Offer times"), "there is nothing to offer");
        let call = acme.bookable("First call").await;
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("Offer times") && shown.contains("First call"), "{shown}");
        let draft =
            shown.split(r#"name="draft" value=""#).nth(1).unwrap().split('"').next().unwrap().to_owned();
        let call_id = call;
        let call = call.to_string();
        let fields = [
            ("draft", draft.as_str()),
            ("version", "0"),
            ("kind", "reply"),
            ("to", "ada@customer.example"),
            ("body", "Choose a time."),
            ("offer", call.as_str()),
        ];
        let write = format!("/conversations/{talk}/write");
        let saved = owner.post(&write, &fields).await;
        assert!(saved.location().contains("compose=reply"), "{} {}", saved.status, saved.html);
        let shown = owner.get(&page).await.page();
        assert!(shown.contains("Choose a time.\n\nFirst call: https://rookery.example/b/"), "{shown}");
        // The times of a type: the first of three days are ticked, and what was typed is kept.
        let composer = Composer::open(&owner, &page).await.set("body", "Hello Ada,");
        let chosen = composer.press(&owner, &write, ("times", &call)).await;
        let choosing = chosen.location().split('#').next().unwrap();
        assert!(choosing.contains(&format!("offer={call}")), "{choosing} {}", chosen.html);
        let composer = Composer::open(&owner, choosing).await;
        assert_eq!(composer.get("body"), "Hello Ada,");
        let ticked = composer.html.split("name=\"time\" value=\"").skip(1);
        let ticked = ticked.filter(|tag| tag.split('>').next().unwrap().ends_with(" checked"));
        let ticked: Vec<&str> = ticked.map(|tag| tag.split('"').next().unwrap()).collect();
        assert_eq!(ticked, ["2031-01-06T13:00Z", "2031-01-07T09:00Z", "2031-01-08T09:00Z"]);
        composer.press(&owner, &write, ("offer", &call)).await;
        let composer = Composer::open(&owner, &page).await;
        let lines: Vec<&str> = composer.get("body").trim().lines().collect();
        assert_eq!(lines[..4], ["Hello Ada,", "", "Choose a time for First call (UTC time):", ""], "{lines:?}");
        let begin = [
            "- Monday, 6 January, 13:00: https://rookery.example/b/",
            "- Tuesday, 7 January, 09:00: https://rookery.example/b/",
            "- Wednesday, 8 January, 09:00: https://rookery.example/b/",
            "",
            "See all times: https://rookery.example/b/",
        ];
        assert_eq!(lines.len(), 4 + begin.len(), "{lines:?}");
        for (line, begins) in lines[4..].iter().zip(begin) {
            let key = line.strip_prefix(begins).unwrap_or_else(|| panic!("{line}"));
            assert!(begins.is_empty() || key.len() == 56, "{line}");
        }
        // With the editor they are a list of links, in the zone in which the customer booked before.
        acme.books(call_id, "ada@customer.example", "2031-01-06T13:00:00Z", None).await;
        let composer = Composer::open(&owner, choosing).await.formatted("<div><b>Hello Ada,</b></div>");
        composer.press(&owner, &write, ("offer", &call)).await;
        let composer = Composer::open(&owner, &page).await;
        let html = composer.get("html");
        for part in [
            "<div><b>Hello Ada,</b></div><div><br></div><div>Choose a time for First call (Kolkata time):</div><ul><li>\
             <a href=\"https://rookery.example/b/",
            "\">Monday, 6 January, 19:00</a></li>",
            "\">Tuesday, 7 January, 14:30</a></li>",
            "</ul><div><a href=\"https://rookery.example/b/",
            "\">See all times</a></div>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // Too many, or one that is not free, adds nothing and says so.
        let six = [6, 7, 8, 9, 10, 13].map(|day| format!("2031-01-{day:02}T14:00Z"));
        let mut fields = vec![
            ("draft", composer.get("draft")),
            ("version", composer.get("version")),
            ("kind", "reply"),
            ("to", "ada@customer.example"),
            ("body", "Only words."),
            ("offer", call.as_str()),
        ];
        fields.extend(six.iter().map(|at| ("time", at.as_str())));
        let refused = owner.post(&write, &fields).await;
        let shown = Composer::open(&owner, refused.location().split('#').next().unwrap()).await;
        assert!(shown.html.contains("Select up to five times."), "{}", shown.html);
        assert_eq!(shown.get("body"), "Only words.");
        // What was ticked is ticked again, and nothing else.
        for (at, is_ticked) in [("2031-01-07T14:00Z", true), ("2031-01-08T14:00Z", true), ("2031-01-07T09:00Z", false)] {
            let ticked = format!("value=\"{at}\" checked");
            assert_eq!(shown.html.contains(&ticked), is_ticked, "{at}: {}", shown.html);
        }
        for at in ["2031-01-06T13:00Z", "2031-01-12T10:00Z", "2031-01-07", "2031-01-07T09:00Z'", "%"] {
            let composer = Composer::open(&owner, &page).await.set("time", at);
            let refused = composer.press(&owner, &write, ("offer", &call)).await;
            let shown = Composer::open(&owner, refused.location().split('#').next().unwrap()).await;
            assert!(shown.html.contains("One of these times is no longer available."), "{at}: {}", shown.html);
            assert_eq!(shown.get("body"), "Only words.", "{at}");
        }
        // Nothing left, and nothing of another workspace is offered.
        let other = world.workspace("Other").await;
        other.mailbox("help@other.example", "Help").await;
        let foreign = other.bookable("Foreign").await.to_string();
        let fields = [
            ("draft", draft.as_str()),
            ("version", "1"),
            ("kind", "reply"),
            ("body", ""),
            ("offer", &foreign),
        ];
        assert_eq!(owner.post(&format!("/conversations/{talk}/write"), &fields).await.status, 404);
        assert_eq!(world.scalar("select count(*) from messages where direction = 'outbound'").await, 0);
    })
    .await;
}
