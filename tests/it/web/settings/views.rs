//! Views that people save for themselves: a list or a search under a name, in the side bar of nobody else.

use rookery_base::ids::SavedViewId;
use rookery_core::workspace::people::Role;

use rookery_world::{World, story};

const HERE: &str = "/settings/views";

async fn ids(world: &World) -> Vec<SavedViewId> {
    sqlx::query_scalar("select id from saved_views order by place").fetch_all(&world.app.pool).await.unwrap()
}

async fn names(world: &World) -> Vec<String> {
    sqlx::query_scalar("select name from saved_views order by place")
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_list_and_a_search_are_saved_opened_renamed_ordered_and_removed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        let sales = acme.mailbox("sales@acme.example", "Sales").await;
        let conversation = acme.mail(help, "a@x.example", "Deposit", "Hello").await;
        acme.mail(sales, "a@x.example", "Elsewhere", "Hello").await;
        acme.tag(conversation, "money").await;
        let tag: rookery_base::ids::TagId =
            sqlx::query_scalar("select id from tags").fetch_one(&world.app.pool).await.unwrap();
        let olga = world.browser(acme.id, acme.owner).await;
        assert!(!olga.get("/inbox").await.page().contains("Your views</h2>"));
        let list = format!("view=unassigned&inbox={help}&tag={tag}&order=oldest");
        let page = olga.get(&format!("/inbox?{list}")).await.page();
        assert!(page.contains(&format!(r#"name="query" value="{}""#, list.replace('&', "&#38;"))), "{page}");
        // What is not part of a view is not kept, whatever the form holds.
        let typed = format!("{list}&before=1.cnv_0000000000001&done=saved&evil=<script>");
        let saved = olga.post(HERE, &[("kind", "list"), ("query", &typed), ("name", " Money <b> ")]).await;
        assert_eq!(
            (saved.status, saved.location().split("&done").next().unwrap()),
            (303, format!("/inbox?{list}").as_str())
        );
        let shown = olga.get(&format!("/inbox?{list}")).await.page();
        assert!(
            shown.contains("Your views</h2>") && shown.contains("<bdi>Money &#60;b&#62;</bdi>"),
            "{shown}"
        );
        assert!(shown.contains("Deposit") && !shown.contains("Elsewhere"));
        let current = shown.split("<nav").find(|part| part.contains("saved-views")).unwrap();
        assert_eq!(
            current.matches(r#"aria-current="page""#).count(),
            1,
            "the view, and not what it is made of"
        );
        assert!(shown.contains("Edit your views") && !shown.contains("Save this view"));
        // A conversation of it stays in it.
        let inside = olga.get(&format!("/conversations/{conversation}?{list}")).await.page();
        assert!(inside.contains("<bdi>Money &#60;b&#62;</bdi>") && inside.contains(r#"aria-current="page""#));
        let search = [
            ("kind", "search"),
            ("query", "status=open&q=deposit+%26+more&assigned=me&before=&x=1"),
            ("name", "Deposits"),
        ];
        let saved = olga.post(HERE, &search).await;
        assert!(
            saved.location().starts_with("/search?q=deposit+%26+more&status=open&assigned=user%3Ausr_"),
            "{}",
            saved.location()
        );
        assert!(olga.get(saved.location()).await.page().contains("Deposits"));
        let (first, second) = (ids(world).await[0], ids(world).await[1]);
        assert_eq!(olga.post(&format!("{HERE}/{second}"), &[("do", "up")]).await.status, 303);
        assert_eq!(
            olga.post(&format!("{HERE}/{first}"), &[("do", "rename"), ("name", "Money")]).await.status,
            303
        );
        assert_eq!(names(world).await, ["Deposits", "Money"]);
        assert_eq!(
            olga.post(&format!("{HERE}/{second}"), &[("do", "up")]).await.status,
            303,
            "the first stays the first"
        );
        assert_eq!(
            olga.post(&format!("{HERE}/{first}"), &[("do", "rename"), ("name", "  ")]).await.status,
            400
        );
        assert!(
            olga.get(&format!("{HERE}/{first}/remove")).await.page().contains("Remove <bdi>Money</bdi>?")
        );
        assert_eq!(names(world).await.len(), 2, "the question removes nothing");
        assert_eq!(olga.post(&format!("{HERE}/{first}/remove"), &[]).await.status, 303);
        assert_eq!(names(world).await, ["Deposits"]);
    })
    .await;
}

#[tokio::test]
async fn a_view_is_its_persons_alone_and_shows_only_what_they_can_see() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia Member", Role::Member).await;
        let olgas = acme.private_mailbox("olga@acme.example", "Olga's own", acme.owner).await;
        let (olga, mia) = (world.browser(acme.id, acme.owner).await, world.browser(acme.id, mia).await);
        let query = format!("view=open&inbox={olgas}");
        assert_eq!(
            olga.post(HERE, &[("kind", "list"), ("query", &query), ("name", "Canary")]).await.status,
            303
        );
        let id = ids(world).await[0];
        for path in ["/inbox", HERE, "/search"] {
            assert!(!mia.get(path).await.page().contains("Canary"), "{path}");
        }
        assert_eq!(mia.get(&format!("{HERE}/{id}/remove")).await.status, 404);
        assert_eq!(mia.post(&format!("{HERE}/{id}/remove"), &[]).await.status, 404);
        assert_eq!(
            mia.post(&format!("{HERE}/{id}"), &[("do", "rename"), ("name", "Mine")]).await.status,
            404
        );
        assert_eq!(mia.post(&format!("{HERE}/{id}"), &[("do", "up")]).await.status, 404);
        // Nor can she save a view of what she cannot see.
        for (kind, query) in [
            ("list", query.clone()),
            ("search", format!("q=x&inbox={olgas}")),
            ("list", "view=nothing".into()),
            ("list", "tag=tag_0000000000001".into()),
            ("other", "view=open".into()),
        ] {
            let saved = mia.post(HERE, &[("kind", kind), ("query", &query), ("name", "Mine")]).await;
            assert_eq!(saved.status, 404, "{kind} {query}");
        }
        assert_eq!(names(world).await, ["Canary"]);
        for n in 0..50 {
            let saved = mia
                .post(HERE, &[("kind", "list"), ("query", "view=open"), ("name", &format!("View {n}"))])
                .await;
            assert_eq!(saved.status, 303);
        }
        let refused = mia.post(HERE, &[("kind", "list"), ("query", "view=open"), ("name", "Too many")]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.html.contains("can be 50 at most, remove one first"), "{}", refused.html);
    })
    .await;
}

#[tokio::test]
async fn a_search_that_is_too_long_to_be_saved_is_refused_in_words() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let olga = world.browser(acme.id, acme.owner).await;
        // Each letter is nine characters when it is written in an address.
        let query = format!("q={}", "%E6%BC%A2".repeat(400));
        let refused = olga.post(HERE, &[("kind", "search"), ("query", &query), ("name", "Long")]).await;
        assert_eq!(refused.status, 400, "{}", refused.html);
        assert!(refused.html.contains("too much to be saved"), "{}", refused.html);
        assert_eq!(world.scalar("select count(*) from saved_views").await, 0);
    })
    .await;
}
