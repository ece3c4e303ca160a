//! Other ways to send: and close, later, with documents asked for; saved replies with their blanks, and what inboxes sign
//! with. Through the plain forms that a browser without script has.

use chrono::TimeDelta;
use serde_json::json;

use rookery_world::pages::writing::{Composer, inbox, leaves, reply, write};
use rookery_world::{Mode, story};

#[tokio::test]
async fn send_and_close_closes_and_send_later_waits_and_can_be_stopped() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Parcel", "Where is it?").await;
        let key = acme.key("bot", "read", Mode::Live).await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Done.");
        let shown = composer.press(&mia, &write(id), ("do", "close")).await;
        assert!(shown.location().starts_with("/inbox?view=open&done=sent-closed"), "{}", shown.location());
        assert_eq!(key.conversation(id).await["status"], "closed");
        leaves(world).await;
        assert_eq!(
            (world.outbox.letters().len(), &key.conversation(id).await["status"]),
            (1, &json!("closed"))
        );

        let later = (world.now() + TimeDelta::days(2)).format("%Y-%m-%dT%H:%M").to_string();
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Later.");
        let past = composer.press(&mia, &write(id), ("later", "2001-01-01T08:00")).await;
        assert!(past.location().contains("late=1"), "{}", past.location());
        let composer = Composer::open(&mia, past.location()).await;
        let shown = composer.press(&mia, &write(id), ("later", &later)).await;
        assert!(shown.location().contains("done=later"), "{}", shown.location());
        leaves(world).await;
        assert_eq!(world.outbox.letters().len(), 1);
        let message = shown.location().split("of=").nth(1).unwrap().to_owned();
        acme.undo(acme.owner, &message).await.unwrap();
        world.wait(TimeDelta::days(3));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1, "it was stopped");
        assert_eq!(key.message(id, &message).await["status"], "draft");
        assert_eq!(key.message(id, &message).await["text"], "Later.");
    })
    .await;
}

#[tokio::test]
async fn documents_are_asked_for_from_the_composer() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "ada@customer.example", "Lease", "Hello").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Please send:");
        composer
            .set("documents", "Passport\nPayslip (optional)")
            .press(&mia, &write(id), ("do", "send"))
            .await;
        leaves(world).await;
        let [letter] = &world.outbox.letters()[..] else { panic!("one letter") };
        assert!(
            letter.text.contains("- Passport\n- Payslip (nice to have)") && letter.text.contains("/upload/")
        );
    })
    .await;
}

#[tokio::test]
async fn saved_replies_are_filled_in_where_they_are_inserted_and_inboxes_sign() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = inbox(&acme).await;
        let id = acme.mail(help, "Ada Lovelace <ada@customer.example>", "Parcel", "Where is it?").await;
        let mia = world.browser(acme.id, acme.owner).await;
        let page = "/settings/saved-replies";
        let made = mia
            .post(
                page,
                &[("name", "Where it is"), ("body", "Dear {{customer.first_name}}, it is at {{place}}.")],
            )
            .await;
        assert!(made.location().contains("done=saved"), "{}", made.html);
        let same = mia.post(page, &[("name", "where IT is"), ("body", "x")]).await.page();
        assert!(same.contains("is the name of another saved reply"));
        mia.post(&format!("/settings/signatures/{help}"), &[("signature", "Kind regards,\n{{agent.name}}")])
            .await;
        let list = mia.get(&format!("/conversations/{id}/saved-replies?kind=reply")).await.page();
        let reply_id = list.split("name=\"insert\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(list.contains("Dear Ada, it is at"));
        let composer = Composer::open(&mia, &reply(id)).await.set("body", "Hello!");
        let shown = composer.press(&mia, &write(id), ("insert", reply_id)).await;
        let composer = Composer::open(&mia, shown.location()).await;
        assert_eq!(composer.get("body"), "Hello!\n\nDear Ada, it is at {{place}}.");
        assert!(composer.html.contains("Kind regards"), "the signature is seen while writing");
        let shown = composer.press(&mia, &write(id), ("do", "send")).await;
        assert!(shown.location().contains("check=send"), "the blank stops it");
        let composer = Composer::open(&mia, shown.location()).await.set("body", "Dear Ada, it is here.");
        let shown = composer.press(&mia, &write(id), ("do", "send")).await;
        assert!(shown.location().contains("done=sends"), "{}", shown.location());
        leaves(world).await;
        let text = &world.outbox.letters()[0].text;
        assert!(text.starts_with("Dear Ada, it is here.\n\nKind regards,\n"), "{text}");

        // A formatted one is kept in the form of mail, and without pictures.
        let html = "<div class=\"x\">Dear <b>{{customer.first_name}}</b>, see \
                    <a href=\"https://inn.example/{{customer.email}}\">this</a>: <u>{{price}}</u>.</div>\
                    <div><img src=\"cid:dfl_1\" alt=\"Map\" onerror=\"x()\"></div>";
        let rich = [("name", "Formatted"), ("body", "(the words of the page)"), ("rich", "1")];
        let made = mia.post(page, &[&rich[..], &[("html", html)]].concat()).await;
        let formatted = made.location().split("of=").nth(1).unwrap();
        let editing = async || {
            let shown = mia.get(&format!("{page}?edit={formatted}")).await.page();
            Composer::of(shown.replace("id=\"edit\"", "id=\"composer-form\""))
        };
        let kept = editing().await;
        assert_eq!(
            kept.get("html"),
            "<div>Dear <b>{{customer.first_name}}</b>, see \
             <a href=\"https://inn.example/%7B%7Bcustomer.email%7D%7D\">this</a>: \
             <u>{{price}}</u>.</div><div>[Map]</div>"
        );
        assert!(kept.get("body").starts_with("Dear {{customer.first_name}}, see this <https://"));
        // The editor gets it with its formatting, and a name that is markup is words.
        let from = "=?utf-8?q?=3Cb=3EEve=3C=2Fb=3E?= <eve@customer.example>";
        let other = acme.mail(help, from, "Stay", "When can we come?").await;
        let composer = Composer::open(&mia, &reply(other)).await.formatted("<div><i>Hello!</i></div>");
        let shown = composer.press(&mia, &write(other), ("insert", formatted)).await;
        let composer = Composer::open(&mia, shown.location()).await;
        assert_eq!(
            composer.get("html"),
            "<div><i>Hello!</i></div><div><br></div><div>Dear <b>&lt;b&gt;Eve&lt;/b&gt;</b>, see \
             <a href=\"https://inn.example/eve@customer.example\">this</a>: \
             <u>{{price}}</u>.</div><div>[Map]</div>"
        );
        let shown = composer.set("rich", "1").press(&mia, &write(other), ("do", "send")).await;
        assert!(shown.location().contains("check=send"), "the blank stops it");
        // Without the editor it is text, as when an older version of the service changed its text.
        let words = "Dear <b>Eve</b>, see this <https://inn.example/eve@customer.example>: {{price}}.\n[Map]";
        let inserts = async || {
            let composer = Composer::open(&mia, &reply(other)).await.set("body", "Hello!");
            let shown = composer.press(&mia, &write(other), ("insert", formatted)).await;
            Composer::open(&mia, shown.location()).await
        };
        let composer = inserts().await;
        assert_eq!((composer.get("html"), composer.get("body")), ("", format!("Hello!\n\n{words}").as_str()));
        world.sql("update saved_replies set body = 'Changed there.' where html <> ''").await;
        assert_eq!(inserts().await.get("body"), "Hello!\n\nChanged there.");
        assert_eq!(editing().await.get("html"), "");
        let large = format!("<b>{}</b>", "x".repeat(300_000));
        let refused = mia
            .post(page, &[&rich[..], &[("id", formatted), ("html", large.as_str())]].concat())
            .await
            .page();
        assert!(refused.contains("too much formatting"));
        let removed = mia.post(page, &[("id", reply_id), ("do", "remove")]).await;
        assert!(removed.location().contains("saved-reply-gone"));
        // The list has a megabyte of formatting. What is behind it goes through the form.
        world
            .sql(
                "insert into saved_replies (workspace_id, id, name, body, changed_by, changed_at, html)
                 select workspace_id, id + n, 'Long ' || n, repeat('x', 19000), changed_by, changed_at,
                        '<b>' || repeat('x', 19000) || '</b>'
                 from saved_replies, generate_series(1, 60) n where name = 'Formatted'",
            )
            .await;
        let list = mia.get(&format!("/conversations/{id}/saved-replies?kind=reply")).await.page();
        let count = |words: &str| list.matches(words).count();
        assert_eq!(
            (count("name=\"insert\""), count(" data-html="), count(" data-files=\"0\"")),
            (61, 55, 56)
        );
    })
    .await;
}
