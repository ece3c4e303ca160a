//! Inboxes in the browser: making one, its name and further addresses, who has what they answered, and what is shown of
//! other people's.

use rookery_base::ids::ConversationId;
use rookery_core::workspace::people::Role;

use rookery_world::pages::writing::{Composer, reply, write};
use rookery_world::{Mode, World, story};

async fn assignee(world: &World, id: ConversationId) -> Option<String> {
    let mut conn = world.app.connection().await.unwrap();
    sqlx::query_scalar(
        "select name from people p join conversations c on c.workspace_id = p.workspace_id and c.assignee_id = p.id
         where c.id = $1",
    )
    .bind(id.0)
    .fetch_optional(&mut *conn)
    .await
    .unwrap()
}

#[tokio::test]
async fn an_owner_makes_an_inbox_names_it_and_gives_it_further_addresses() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let other = world.workspace("Other").await;
        other.mailbox("taken@other.example", "Taken").await;
        let owner = world.browser(acme.id, acme.owner).await;
        assert!(owner.get("/settings/inboxes").await.page().contains("No inbox yet"));

        let wrong = owner.post("/settings/inboxes", &[("address", "taken@other.example"), ("name", "<b>")]).await;
        assert_eq!(wrong.status, 400);
        assert!(wrong.html.contains("belongs to another workspace") && wrong.html.contains("&#60;b&#62;"), "{}", wrong.html);
        let made = owner.post("/settings/inboxes", &[("address", "Help@Acme.example"), ("name", "Help")]).await;
        let inbox = made.location().split('?').next().unwrap().to_owned();
        assert!(owner.get(made.location()).await.page().contains("help@acme.example"));

        let saved = owner.post(&inbox, &[("name", "Help & more"), ("assigns", "on")]).await;
        assert_eq!(saved.status, 303);
        let alias = format!("{inbox}/aliases");
        for taken in ["taken@other.example", "help@acme.example", "no address"] {
            let refused = owner.post(&alias, &[("alias", taken)]).await;
            assert_eq!(refused.status, 400, "{taken}");
            assert!(refused.html.contains(r#"role="alert""#) && refused.html.contains(taken), "{}", refused.html);
        }
        assert_eq!(owner.post(&alias, &[("alias", "info@acme.example")]).await.status, 303);
        assert_eq!(owner.post(&alias, &[("alias", "info@acme.example")]).await.status, 400, "it is there");
        let again = owner.post("/settings/inboxes", &[("address", "info@acme.example"), ("name", "Info")]).await;
        assert_eq!(again.status, 400, "an alias is no other inbox");
        let page = owner.get("/settings/inboxes").await.page();
        assert!(page.contains("Help &#38; more") && page.contains("info@acme.example"), "{page}");

        let audit: Vec<String> = sqlx::query_scalar(
            "select actor_name || ' ' || did || ' ' || subject_name from audit_entries where workspace_id = $1 order by n",
        )
        .bind(acme.id.0)
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(
            &audit[1..],
            [
                "Olga Owner inbox.made Help",
                "Olga Owner inbox.changed Help & more",
                "Olga Owner inbox.changed Help & more"
            ]
        );
        let removed = owner.post(&format!("{alias}/remove"), &[("alias", "info@acme.example")]).await;
        assert_eq!(removed.status, 303);
        assert!(!owner.get(&inbox).await.page().contains("info@acme.example"));
    })
    .await;
}

#[tokio::test]
async fn whoever_answers_has_the_conversation_where_the_inbox_says_so() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let (help, sales) = (
            acme.mailbox("help@acme.example", "Help").await,
            acme.mailbox("sales@acme.example", "Sales").await,
        );
        owner.post(&format!("/settings/inboxes/{help}"), &[("name", "Help"), ("assigns", "on")]).await;
        for (inbox, wanted) in [(help, Some("Olga Owner")), (sales, None)] {
            let id = acme.mail(inbox, "ada@x.example", "Parcel", "Where?").await;
            let form = Composer::open(&owner, &reply(id)).await.set("body", "Here.");
            form.press(&owner, &write(id), ("do", "send")).await;
            assert_eq!(assignee(world, id).await.as_deref(), wanted);
        }
        let id = acme.mail(help, "bob@x.example", "Parcel", "Where?").await;
        let bot = acme.key("bot", "send", Mode::Live).await;
        bot.sends(id, "Here.").await;
        assert_eq!(assignee(world, id).await, None, "agents take nothing");
    })
    .await;
}

#[tokio::test]
async fn another_persons_private_inbox_is_only_said_to_be_there() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let secret = acme.private_mailbox("mia@acme.example", "Mia's things", mia).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let page = owner.get("/settings/inboxes").await.page();
        assert!(page.contains("Only Mia"), "{page}");
        assert!(
            !page.contains("mia@acme") && !page.contains("things") && !page.contains(&secret.to_string())
        );
        let here = format!("/settings/inboxes/{secret}");
        assert_eq!(owner.get(&here).await.status, 404);
        assert_eq!(owner.post(&here, &[("name", "Mine")]).await.status, 404);
        assert_eq!(owner.post(&format!("{here}/aliases"), &[("alias", "x@acme.example")]).await.status, 404);
        let hers = world.browser(acme.id, mia).await;
        assert!(hers.get(&here).await.page().contains("only you see it"));
    })
    .await;
}
