//! What a person does with one conversation: status, assignee, tags, snooze and merging, each a plain form.

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;
use serde_json::{Value, json};

use rookery_world::browser::{Browser, Shown};
use rookery_world::{Key, Mode, Workspace, story};

async fn doing(browser: &Browser<'_>, id: ConversationId, fields: &[(&str, &str)]) -> Shown {
    browser.post(&format!("/conversations/{id}/do"), fields).await
}

/// What the answer offers as undo.
fn undo_of(shown: &Shown) -> String {
    let of = shown.location().rsplit("of=").next().unwrap_or_default();
    assert!(of.starts_with("blk_"), "{}", shown.location());
    format!("/bulk/{of}/undo")
}

async fn state(key: &Key<'_>, id: ConversationId) -> Value {
    let read = key.conversation(id).await;
    json!([read["status"], read["snoozedUntil"], read["assignee"]["name"], read["tags"]])
}

async fn desk<'w>(acme: &Workspace<'w>) -> (ConversationId, Key<'w>) {
    let help = acme.mailbox("help@acme.test", "Help").await;
    let id = acme.mail(help, "kim@customer.test", "Order", "Where is it?").await;
    (id, acme.key("bot", "write,draft", Mode::Live).await)
}

/// proves: APP-4
#[tokio::test]
async fn a_person_sets_status_assigns_tags_and_snoozes_and_takes_each_back() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let (id, key) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (hers, bots) = (format!("user:{mia}"), format!("agent:{}", key.agent));
        /// The form, what the page then says, and what the API reads.
        type Step<'a> = (&'a [(&'a str, &'a str)], &'a str, Value);
        let steps: &[Step<'_>] = &[
            (&[("act", "close")], "closed", json!(["closed", null, null, []])),
            (&[("act", "waiting")], "waiting", json!(["waiting", null, null, []])),
            (&[("act", "assign"), ("to", "me")], "assigned", json!(["open", null, "Olga Owner", []])),
            (&[("act", "assign"), ("to", &hers)], "assigned", json!(["open", null, "Mia Member", []])),
            (&[("act", "assign"), ("to", &bots)], "assigned", json!(["open", null, "bot", []])),
            (
                &[("act", "tag"), ("tag", "  late  order ")],
                "tagged",
                json!(["open", null, null, ["late order"]]),
            ),
            (
                &[("act", "snooze"), ("until", "tomorrow")],
                "snoozed",
                json!(["open", "2031-01-07T09:00:00.000Z", null, []]),
            ),
            (
                &[("act", "snooze"), ("until", "own"), ("date", "2031-02-03"), ("time", "14:30")],
                "snoozed",
                json!(["open", "2031-02-03T14:30:00.000Z", null, []]),
            ),
        ];
        let before = state(&key, id).await;
        for (fields, told, after) in steps {
            let shown = doing(&owner, id, fields).await;
            assert_eq!(shown.status, 303, "{fields:?} {}", shown.html);
            assert!(shown.location().starts_with(&format!("/conversations/{id}?done={told}&of=blk_")));
            assert_eq!(state(&key, id).await, *after, "{fields:?}");
            let page = owner.get(shown.location()).await.page();
            assert!(page.contains(&format!("action=\"{}\"", undo_of(&shown))), "the page offers to undo it");
            let undone = owner.post(&undo_of(&shown), &[]).await;
            assert_eq!((undone.status, undone.location().contains("done=undone")), (303, true));
            assert_eq!(state(&key, id).await, before, "{fields:?} is taken back");
        }
        let seen = key.told(id, "status").await;
        assert_eq!(seen[0], json!({ "from": "open", "to": "closed", "reason": "set" }));
        assert_eq!(seen[1], json!({ "from": "closed", "to": "open", "reason": "undo" }));
    })
    .await;
}

#[tokio::test]
async fn the_page_offers_what_can_be_done_as_plain_forms_with_their_keys() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.key("<b>Mia</b>", "write", Mode::Live).await;
        let (id, _) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        for part in [
            "data-key=\"e\"",
            "data-key=\"a\"",
            "data-key=\"i\"",
            "data-key=\"l\"",
            "data-key=\"h\"",
            "data-key=\"w\"",
            "value=\"tomorrow\"",
            "value=\"week\"",
            "&#60;b&#62;Mia&#60;/b&#62;",
            "data-filter",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("style=") && !page.contains("onclick"));
        doing(&owner, id, &[("act", "close")]).await;
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("Reopen") && !page.contains("snooze-menu"), "what is closed cannot be snoozed");
        let refused = doing(&owner, id, &[("act", "snooze"), ("until", "tomorrow")]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("a closed conversation cannot be snoozed"));
    })
    .await;
}

#[tokio::test]
async fn closing_leads_to_the_next_one_and_never_to_another_site() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (id, _) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let next = "/conversations/cnv_0000000000001?view=open";
        let shown = doing(&owner, id, &[("act", "close"), ("back", "/inbox"), ("next", next)]).await;
        assert!(shown.location().starts_with(&format!("{next}&done=closed")), "{}", shown.location());
        for elsewhere in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
        {
            let shown = doing(&owner, id, &[("act", "open"), ("back", elsewhere), ("next", elsewhere)]).await;
            assert!(shown.location().starts_with(&format!("/conversations/{id}?done=")), "{elsewhere}");
        }
        let from = format!("{}/inbox?view=closed&done=closed&of=blk_1", owner.origin());
        let shown = doing(&owner, id, &[("act", "close")]).await;
        let request = owner.request(reqwest::Method::POST, &undo_of(&shown)).header("origin", owner.origin());
        let undone = owner.send(request.header("referer", from)).await;
        assert!(undone.location().starts_with("/inbox?view=closed&done=undone"), "{}", undone.location());
        let evil = format!("{}//evil.example/", owner.origin());
        let shown = doing(&owner, id, &[("act", "close")]).await;
        let request = owner.request(reqwest::Method::POST, &undo_of(&shown)).header("origin", owner.origin());
        let undone = owner.send(request.header("referer", evil)).await;
        assert!(undone.location().starts_with("/inbox?done=undone"), "{}", undone.location());
    })
    .await;
}

#[tokio::test]
async fn undo_does_not_overrule_what_happened_since() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (id, key) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let shown = doing(&owner, id, &[("act", "close")]).await;
        key.write(&id.to_string(), "status", "set_status", json!({ "status": "waiting" }), 200).await;
        let undone = owner.post(&undo_of(&shown), &[]).await;
        assert!(undone.location().contains("done=not-undone"));
        assert_eq!(key.conversation(id).await["status"], "waiting");
        let page = owner.get("/inbox?done=not-undone&of=x").await.page();
        assert!(page.contains("something happened since"));
    })
    .await;
}

#[tokio::test]
async fn html_in_tags_and_names_is_shown_as_text() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (id, _) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let tag = "<img src=x onerror=alert(1)>\"'";
        doing(&owner, id, &[("act", "tag"), ("tag", tag)]).await;
        for path in [format!("/conversations/{id}"), format!("/conversations/{id}/merge")] {
            let page = owner.get(&path).await.page();
            assert!(!page.contains("<img src=x"), "{path}");
        }
        let page = owner.get(&format!("/conversations/{id}")).await.page();
        assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;&#34;&#39;"));
        let removed = doing(&owner, id, &[("act", "untag"), ("tag", tag)]).await;
        assert!(removed.location().contains("done=untagged"));
        let long = "x".repeat(41);
        assert_eq!(doing(&owner, id, &[("act", "tag"), ("tag", &long)]).await.status, 400);
    })
    .await;
}

/// proves: VIS-16
#[tokio::test]
async fn what_a_person_cannot_see_cannot_be_changed_or_merged() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        let hidden = acme.mail(own, "kim@customer.test", "Only for Mia", "Hello.").await;
        let (seen, key) = desk(&acme).await;
        let sand = acme.key("sand", "write", Mode::Test).await;
        let simulated = sand.simulate(json!({ "from": "x@y.test", "text": "Hello" })).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mut answers = Vec::new();
        for id in [hidden.to_string(), simulated, "cnv_0000000000001".into(), "cnv_x".into()] {
            let act = owner.post(&format!("/conversations/{id}/do"), &[("act", "close")]).await;
            let merge = owner.get(&format!("/conversations/{id}/merge")).await;
            let with = owner.get(&format!("/conversations/{seen}/merge?with={id}")).await;
            let merged =
                owner.post(&format!("/conversations/{id}/merge"), &[("with", &seen.to_string())]).await;
            answers.push([act, merge, with, merged].map(|shown| (shown.status, shown.html)));
        }
        assert!(answers.iter().flatten().all(|answer| answer.0 == 404 && *answer == answers[0][0]));
        let with = [("with", hidden.to_string())];
        let with: Vec<_> = with.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(owner.post(&format!("/conversations/{seen}/merge"), &with).await.status, 404);
        assert_eq!(key.conversation(seen).await["status"], "open");
    })
    .await;
}

#[tokio::test]
async fn two_conversations_of_a_contact_are_chosen_shown_side_by_side_and_merged() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (kept, key) = desk(&acme).await;
        let help = acme.mailbox("sales@acme.test", "Sales").await;
        let gone = acme.mail(help, "kim@customer.test", "Order <i>again</i>", "Hello?").await;
        let other = acme.mail(help, "lee@customer.test", "Umbrella", "A green one.").await;
        world.work().await;
        let owner = world.browser(acme.id, acme.owner).await;
        // What came a moment ago is found, by whole words and not by an endless text.
        acme.mail(help, "max@customer.test", "Lamp", "A crooked lampshade.").await;
        let find = async |q: &str| {
            let page = owner.get(&format!("/conversations/{kept}/merge?q={q}")).await.page();
            page.contains("class=\"merge__row\"")
        };
        assert!(find("lampshade").await, "the worker has not indexed it yet");
        assert!(!find(&"lampshade+".repeat(21)).await, "longer than a search may be");
        let page = owner.get(&format!("/conversations/{kept}/merge")).await.page();
        assert!(page.contains("Order &#60;i&#62;again&#60;/i&#62;") && !page.contains("Umbrella"));
        let page = owner.get(&format!("/conversations/{kept}/merge?q={other}")).await.page();
        assert!(page.contains("Umbrella") && page.contains("This can’t be undone"), "an address is enough");
        let page = owner.get(&format!("/conversations/{kept}/merge?with={gone}")).await.page();
        assert!(page.contains("Sales") && page.contains(&format!("name=\"with\" value=\"{gone}\"")));
        assert!(page.contains("keep=other"), "the other one may stay instead");

        let draft = key.drafts(other, "Hello Lee.").await;
        let page = owner.get(&format!("/conversations/{kept}/merge?with={other}")).await.page();
        assert!(
            page.contains("Send or discard the draft first") && !page.contains("</svg> Merge</button>"),
            "{draft}"
        );

        let with = gone.to_string();
        let merged = owner.post(&format!("/conversations/{kept}/merge"), &[("with", &with)]).await;
        assert_eq!(
            (merged.status, merged.location().starts_with(&format!("/conversations/{kept}?done=merged"))),
            (303, true)
        );
        let old = owner.get(&format!("/conversations/{gone}")).await;
        assert_eq!((old.status, old.location()), (303, format!("/conversations/{kept}").as_str()));
    })
    .await;
}

#[tokio::test]
async fn a_conversation_is_moved_to_another_inbox_of_the_same_people() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (id, key) = desk(&acme).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let offered = format!("href=\"/conversations/{id}/move\"");
        assert!(!owner.get(&format!("/conversations/{id}")).await.page().contains(&offered), "nowhere to");
        let sales = acme.mailbox("sales@acme.test", "Sales & more").await;
        let own = acme.private_mailbox("mia@acme.test", "Mia", mia).await;
        assert!(owner.get(&format!("/conversations/{id}")).await.page().contains(&offered));
        let hers = world.browser(acme.id, mia).await;
        let path = format!("/conversations/{id}/move");
        let page = hers.get(&path).await.page();
        assert!(page.contains("data-dialog-part") && page.contains(&format!("value=\"{sales}\"")));
        assert!(page.contains("Sales &#38; more") && !page.contains(&format!("value=\"{own}\"")), "{page}");
        let refused = hers.post(&path, &[("inbox", &own.to_string())]).await;
        assert_eq!(refused.status, 404);

        let to = sales.to_string();
        let back = format!("/conversations/{id}?view=open");
        let moved = hers.post(&path, &[("inbox", &to), ("back", &back)]).await;
        assert_eq!(moved.status, 303);
        assert!(moved.location().starts_with(&format!("{back}&done=moved")), "{}", moved.location());
        let page = hers.get(moved.location()).await.page();
        assert!(page.contains("moved it to the inbox") && page.contains("Replies are sent from there"));
        assert_eq!(key.conversation(id).await["mailbox"], "sales@acme.test");
        let elsewhere = hers.post(&path, &[("inbox", &to), ("back", "//evil.example")]).await;
        assert!(elsewhere.location().starts_with(&format!("/conversations/{id}?done=")));
    })
    .await;
}

/// An approver who had the draft on the screen sees whom it is sent from before it is sent.
#[tokio::test]
async fn a_draft_that_was_moved_meanwhile_is_read_again_before_it_is_approved() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let (id, key) = desk(&acme).await;
        let sales = acme.mailbox("sales@acme.test", "Sales").await;
        let draft = key.drafts(id, "On Monday.").await;
        let owner = world.browser(acme.id, acme.owner).await;
        owner.post(&format!("/conversations/{id}/move"), &[("inbox", &sales.to_string())]).await;
        let fields = [("body", "On Monday."), ("version", ""), ("place", "")];
        let approved = owner.post(&format!("/messages/{draft}/approve"), &fields).await;
        assert!(!approved.location().contains("done=approved"), "{}", approved.location());
        assert_eq!(key.message(id, &draft).await["status"], "draft");
    })
    .await;
}

/// Deleting is for those who administer: they find it in the menu, and go on in the list.
#[tokio::test]
async fn the_menu_leads_those_who_administer_to_deleting() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Member).await;
        let (id, key) = desk(&acme).await;
        let question = format!("/settings/data/conversation?id={id}");
        let hers = world.browser(acme.id, mia).await;
        assert!(!hers.get(&format!("/conversations/{id}")).await.page().contains(&question));
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get(&format!("/conversations/{id}")).await.page().contains(&question));
        let from = format!("{}/conversations/{id}?view=unassigned&done=closed&of=x", owner.origin());
        let asked = owner.request(reqwest::Method::GET, &question).header("referer", from);
        let page = owner.send(asked).await.page();
        assert!(
            page.contains("data-dialog-part") && page.contains("value=\"/inbox?view=unassigned\""),
            "{page}"
        );
        let of = id.to_string();
        let fields = [("id", of.as_str()), ("onward", "/inbox?view=unassigned")];
        let deleted = owner.post("/settings/data/conversation", &fields).await;
        assert!(deleted.location().starts_with("/inbox?view=unassigned&done=conversation-deleted"));
        assert_eq!(key.get(&format!("/conversations/{id}")).await.status, 404);
    })
    .await;
}
