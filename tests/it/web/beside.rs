//! The list beside a conversation stays the same list whatever is done there; and what a page that stands open asks for
//! again.

use std::collections::BTreeSet;

use reqwest::Method;
use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;

use crate::web::inbox::rows;
use rookery_world::browser::Browser;
use rookery_world::pages::writing::{Composer, write};
use rookery_world::{Workspace, story};

/// Three conversations that are the owner's, the oldest first, and one that is nobody's.
async fn desk(acme: &Workspace<'_>, owner: &Browser<'_>) -> Vec<ConversationId> {
    let help = acme.mailbox("help@acme.example", "Help").await;
    let mut mine = Vec::new();
    for subject in ["One", "Two", "Three"] {
        let id = acme.mail(help, "ada@customer.example", subject, "Hello").await;
        let took = owner.post(&format!("/conversations/{id}/do"), &[("act", "assign"), ("to", "me")]).await;
        assert_eq!(took.status, 303, "{}", took.html);
        mine.push(id);
    }
    acme.mail(help, "ada@customer.example", "Nobody's", "Hello").await;
    mine
}

#[tokio::test]
async fn whoever_writes_stays_in_their_list_and_closing_leads_to_its_next() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mine = desk(&acme, &owner).await;
        let [first, second, id] = mine[..] else { panic!("three") };
        let beside = format!("/conversations/{id}?view=mine&order=oldest");
        let page = owner.get(&beside).await.page();
        for kind in ["reply", "note", "forward"] {
            let link = format!(
                "href=\"/conversations/{id}?view=mine&#38;order=oldest&#38;compose={kind}#composer\""
            );
            assert!(page.contains(&link), "{link}");
        }
        let open = format!("{beside}&compose=reply");
        let composer = Composer::open(&owner, &open).await;
        assert_eq!(rows(&composer.html).len(), 3, "Mine, not Open");
        assert!(composer.html.contains("saved-replies?view=mine&#38;order=oldest&#38;kind=reply"));
        let choose =
            owner.get(&format!("/conversations/{id}/saved-replies?view=mine&kind=reply")).await.page();
        assert!(choose.contains("name=\"list\" value=\"view=mine&#38;\""), "{choose}");

        let composer = composer.set("body", "Hello Ada.");
        let saved = composer.press(&owner, &write(id), ("do", "save")).await;
        assert_eq!(saved.location(), format!("{open}#composer"));
        let blank = Composer::open(&owner, &open).await.set("to", "nobody");
        let refused = blank.press(&owner, &write(id), ("do", "send")).await;
        assert_eq!(refused.location(), format!("{open}&check=send#composer"));
        let composer = Composer::open(&owner, &open).await.set("to", "ada@customer.example");
        let sent = composer.press(&owner, &write(id), ("do", "close")).await;
        let next = format!("/conversations/{second}?view=mine&order=oldest&done=sent-closed");
        assert!(sent.location().starts_with(&next), "{}", sent.location());

        // A note, a draft that is thrown away, and an answer stay where they are.
        for (kind, button, done) in
            [("note", "send", "noted"), ("note", "discard", "draft-gone"), ("reply", "send", "sends")]
        {
            let open = format!("/conversations/{first}?view=mine&compose={kind}");
            let composer = Composer::open(&owner, &open).await.set("body", "Hello.");
            let there = composer.press(&owner, &write(first), ("do", button)).await;
            let here = format!("/conversations/{first}?view=mine&done={done}");
            assert!(there.location().starts_with(&here), "{kind} {button}: {}", there.location());
        }

        // No field leads anywhere else.
        let open = format!("/conversations/{second}?compose=reply");
        let composer = Composer::open(&owner, &open).await.set("body", "Hello.");
        let evil = composer.set("list", "\r\nx: y").set("next", "//evil.example");
        let sent = evil.press(&owner, &write(second), ("do", "close")).await;
        assert!(sent.location().starts_with("/inbox?done=sent-closed"), "{}", sent.location());
    })
    .await;
}

#[tokio::test]
async fn the_results_of_a_search_stay_beside_what_is_written() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let id = desk(&acme, &owner).await[0];
        let beside = format!("/conversations/{id}?q=late+order&status=open&assigned=me");
        let list = "q=late+order&#38;status=open&#38;assigned=me&#38;";
        let page = owner.get(&beside).await.page();
        let link = format!("href=\"/conversations/{id}?{list}compose=reply#composer\"");
        assert!(page.contains("Results for") && page.contains(&link), "{link}: {page}");
        let open = format!("{beside}&compose=reply");
        let composer = Composer::open(&owner, &open).await;
        assert!(composer.html.contains("Results for"), "{}", composer.html);
        assert!(composer.html.contains(&format!("saved-replies?{list}kind=reply")), "{}", composer.html);
        let choose = format!("/conversations/{id}/saved-replies?q=late+order&status=open&assigned=me");
        let choose = owner.get(&format!("{choose}&kind=reply")).await.page();
        assert!(choose.contains(&format!("name=\"list\" value=\"{list}\"")), "{choose}");
        let saved = composer.set("body", "Hello Ada.").press(&owner, &write(id), ("do", "save")).await;
        assert_eq!(saved.location(), format!("{open}#composer"));

        // Deleting it leads back to the results.
        let question = format!("/settings/data/conversation?id={id}");
        let from = format!("{}{beside}", owner.origin());
        let asked = owner.request(Method::GET, &question).header("referer", from);
        let page = owner.send(asked).await.page();
        let onward = "value=\"/search?q=late+order&#38;status=open&#38;assigned=me\"";
        assert!(page.contains(onward), "{page}");
    })
    .await;
}

/// proves: APP-4
#[tokio::test]
async fn a_conversation_is_marked_unread_from_its_page_and_many_as_read_from_the_list() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let mine = desk(&acme, &owner).await;
        let id = mine[0];
        let page = owner.get(&format!("/conversations/{id}?view=mine")).await.page();
        let form = page.split(&format!("action=\"/conversations/{id}/unread\"")).nth(1).expect("the form");
        let form = form.split("</form>").next().unwrap();
        assert!(
            form.contains("name=\"list\" value=\"view=mine\"") && form.contains("data-key=\"u\""),
            "{form}"
        );
        let marked = owner.post(&format!("/conversations/{id}/unread"), &[("list", "view=mine")]).await;
        assert!(marked.location().starts_with("/inbox?view=mine&done=unread"), "{}", marked.location());
        let list = owner.get("/inbox?view=mine").await.page();
        assert!(list.contains("name=\"act\" value=\"read\"") && list.contains("is-unread"));
        let ids: Vec<String> = mine.iter().map(ToString::to_string).collect();
        let picked = |more: &[(&'static str, &'static str)]| -> Vec<(&str, &str)> {
            ids.iter().map(|id| ("c", id.as_str())).chain(more.iter().copied()).collect()
        };
        let read = owner.post("/bulk", &picked(&[("act", "read"), ("back", "/inbox?view=mine")])).await;
        assert!(read.location().starts_with("/inbox?view=mine&done=many-read"), "{}", read.location());
        assert!(!owner.get("/inbox?view=mine").await.page().contains("is-unread"));

        // One page asks which tag, and adds or removes it.
        let page = owner.post("/bulk", &picked(&[("act", "tag")])).await.page();
        assert!(page.contains("name=\"act\" value=\"tag\"") && page.contains("name=\"act\" value=\"untag\""));
        for (act, done, tagged) in [("tag", "done=tagged", true), ("untag", "done=untagged", false)] {
            let shown = owner.post("/bulk", &picked(&[("act", act), ("tag", "late order")])).await;
            assert!(shown.location().contains(done), "{}", shown.location());
            let list = owner.get("/inbox?view=mine").await.page();
            assert_eq!(list.contains("<span class=\"tag\" dir=\"auto\">late order"), tagged);
        }
    })
    .await;
}

#[tokio::test]
async fn no_page_gives_two_elements_one_id_and_each_knows_its_place_in_the_tab_bar() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.person("Mia Member", Role::Member).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let id = desk(&acme, &owner).await[0];
        let conversation = format!("/conversations/{id}");
        let pages = [
            ("/inbox".to_owned(), true),
            (conversation.clone(), true),
            (format!("{conversation}?compose=note"), true),
            (format!("{conversation}?compose=reply"), true),
            (format!("{conversation}/saved-replies?kind=reply"), false),
            ("/compose".into(), false),
            ("/drafts".into(), false),
            ("/notices".into(), false),
            ("/outgoing".into(), false),
            ("/search?q=hello".into(), false),
        ];
        for (path, is_list) in pages {
            let page = owner.get(&path).await.page();
            let mut seen = BTreeSet::new();
            for id in page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(seen.insert(id), "{path}: two elements are called {id}");
            }
            let tabs = page.split("id=\"tabs\"").nth(1).expect("a tab bar");
            let inbox = tabs.split("href=\"/inbox\"").nth(1).unwrap().split('>').next().unwrap();
            assert_eq!(inbox.contains("aria-current"), is_list, "{path}");
        }
    })
    .await;
}

/// A page that stands open asks for what it heard of, and is not sent the rest.
#[tokio::test]
async fn what_has_not_changed_is_not_read_again_for_an_open_page() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let id = desk(&acme, &owner).await[0];
        let conversation = format!("/conversations/{id}?view=mine");
        let asks = async |path: &str, topics: &str| {
            owner.send(owner.request(Method::GET, path).header("x-live", topics)).await.page()
        };
        let has = |page: &str, id: &str| page.contains(&format!(" id=\"{id}\""));
        let whole = format!("conversation:{id} list counts");
        for topics in [whole.as_str(), "1", "*"] {
            let page = asks(&conversation, topics).await;
            for region in ["read", "close-form", "list", "views", "tabs", "leaving", "told"] {
                assert!(has(&page, region), "{topics}: {region}");
            }
        }
        let page = asks(&conversation, "list counts").await;
        assert!(has(&page, "list") && has(&page, "views") && rows(&page).len() == 3);
        assert!(page.contains("aria-current=\"true\""), "the row of the open one");
        assert!(!has(&page, "timeline") && !has(&page, "composer") && !has(&page, "contact"));
        let other = asks(&conversation, "conversation:cnv_0000000000001 list counts").await;
        assert!(has(&other, "list") && !has(&other, "timeline"));
        for path in [conversation.as_str(), "/inbox?view=mine"] {
            let page = asks(path, "counts outgoing notices").await;
            assert!(has(&page, "views") && has(&page, "leaving") && has(&page, "told"), "{path}");
            assert!(!has(&page, "list") && !has(&page, "timeline"), "{path}");
            let mine = page.split("id=\"to-mine\"").nth(1).unwrap().split('>').next().unwrap();
            assert!(mine.contains("aria-current"), "{path}: where one is does not change");
        }
        assert!(has(&asks("/inbox?view=mine", "list counts").await, "list"));
    })
    .await;
}

/// The page says which list it shows, and is sent what differs from it: which row is open, and its neighbours.
#[tokio::test]
async fn a_list_that_the_browser_has_is_not_sent_with_a_conversation() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let ids = desk(&acme, &owner).await;
        let list = owner.get("/inbox?view=mine").await.page();
        let shown =
            list.split("data-page=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("its query");
        let opens = async |query: &str, held: &str, around: &str| {
            let path = format!("/conversations/{}?{query}", ids[1]);
            let asked = owner.request(Method::GET, &path).header("x-list", held).header("x-around", around);
            owner.send(asked).await.page()
        };
        let neighbours = format!("{} {}", ids[0], ids[2]);
        let page = opens("view=mine", shown, &neighbours).await;
        assert!(page.contains(&format!("data-held=\"{}\"", ids[1])) && rows(&page).is_empty());
        let walk = |page: &str, key: &str| {
            let link = page
                .split("<a ")
                .find(|link| link.contains(&format!("data-key=\"{key}\"")))
                .map(str::to_owned);
            link.map(|link| {
                link.split("/conversations/").nth(1).unwrap().split('?').next().unwrap().to_owned()
            })
        };
        assert_eq!(walk(&page, "k"), Some(ids[0].to_string()));
        assert_eq!(walk(&page, "j"), Some(ids[2].to_string()));
        assert!(page.contains("id=\"read\"") && page.contains("id=\"contact\""), "all of the conversation");
        // At an end, and with what is no id.
        let page = opens("view=mine", shown, "- <script>").await;
        assert_eq!((walk(&page, "k"), walk(&page, "j")), (None, None));
        // Another list, another page of it, or half of the headers: everything comes.
        for (query, held, around) in
            [("view=open", shown, "- -"), ("view=mine", "view=open", "- -"), ("view=mine", shown, "-")]
        {
            let page = opens(query, held, around).await;
            assert!(!page.contains("data-held") && rows(&page).len() >= 3, "{query} {held} {around}");
        }
        // What was found is a list, too.
        let found = owner.get(&format!("/conversations/{}?q=hello", ids[1])).await.page();
        let shown =
            found.split("data-page=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("its query");
        let page = opens("q=hello", &shown.replace("&#38;", "&"), "- -").await;
        assert!(page.contains("data-held") && !page.contains("id=\"items\""), "{shown}: {page}");
    })
    .await;
}
