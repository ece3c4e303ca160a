//! Attacks: somebody of another workspace types an address of a domain that is not theirs, or one of the server itself, or
//! another spelling of an inbox that is there.

use rookery_core::workspace::people::{Role, invitations};
use serde_json::json;

use super::{makes, recipient, smtp};
use rookery_world::mail::client::Client;
use rookery_world::mail::post::{mail, post};
use rookery_world::{Mode, story, story_with};

#[tokio::test]
async fn an_address_of_a_domain_that_another_workspace_has_cannot_be_made() {
    post(&[], async |post| {
        post.acme.mailbox("hilfe@müller.example", "Hilfe").await;
        let mallory = post.world.workspace("Mallory").await;
        let browser = post.world.browser(mallory.id, mallory.owner).await;
        let own = makes(&browser, "hello@mallory.example").await.unwrap();
        for address in [
            "billing@acme.example",
            "Billing@ACME.example",
            "help+inv-1042@acme.example",
            "hilfe@xn--mller-kva.example",
            "hilfe@XN--MLLER-KVA.example",
            "hilfe@mu\u{308}ller.example",
            "help@mail.acme.example",
        ] {
            let page = makes(&browser, address).await.unwrap_err();
            assert!(page.contains("belongs to another workspace of this server"), "{address}: {page}");
            let path = format!("/settings/inboxes/{own}/aliases");
            let alias = browser.post(&path, &[("alias", address)]).await;
            assert_eq!(alias.status, 400, "{address}");
            assert!(alias.html.contains("belongs to another workspace"), "{address}");
        }
        // A dot at the end, and quotes, are no address at all.
        for address in ["billing@acme.example.", "\"billing\"@acme.example"] {
            assert!(makes(&browser, address).await.unwrap_err().contains("must be a mail address"));
        }
        for (to, n) in [("help+inv-1042@acme.example", 1), ("hilfe@xn--mller-kva.example", 2)] {
            post.takes(
                "anna@customer.example",
                to,
                &mail("anna@customer.example", &format!("Hi {n}"), "", "x"),
            )
            .await;
        }
        let theirs = post.world.scalar("select count(distinct workspace_id) from conversations").await;
        assert_eq!(theirs, 1, "all of it is Acme's");
        assert_eq!(post.key.list("").await.1.as_array().unwrap().len(), 2);
    })
    .await;
}

/// The same inside one workspace: an admin cannot lead the team's mail into an inbox of their own.
#[tokio::test]
async fn a_tag_or_another_spelling_of_an_inbox_that_is_there_is_taken() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        acme.mailbox("help@acme.example", "Help").await;
        let inbox = acme.mailbox("hilfe@müller.example", "Hilfe").await;
        let browser = world.browser(acme.id, acme.owner).await;
        for address in
            ["help+inv-1042@acme.example", "hilfe@xn--mller-kva.example", "hilfe+1@xn--mller-kva.example"]
        {
            assert!(makes(&browser, address).await.unwrap_err().contains("is taken already"), "{address}");
            let path = format!("/settings/inboxes/{inbox}/aliases");
            assert_eq!(browser.post(&path, &[("alias", address)]).await.status, 400, "{address}");
        }
    })
    .await;
}

#[tokio::test]
async fn addresses_of_the_server_itself_are_nobodys() {
    story_with(&[("MAIL_NAME", "mx.rookery.example")], async |world| {
        let acme = world.workspace("Acme").await;
        let browser = world.browser(acme.id, acme.owner).await;
        let inbox = acme.mailbox("help@acme.example", "Help").await;
        for address in [
            "rookery@mx.rookery.example",
            "Postmaster@mx.rookery.example",
            "admin@rookery.example",
            "abuse+x@mx.rookery.example",
            "hostmaster@MX.rookery.example",
            "ｗｅｂｍａｓｔｅｒ@rookery.example",
        ] {
            let page = makes(&browser, address).await.unwrap_err();
            assert!(page.contains("is an address of the server itself"), "{address}: {page}");
            let path = format!("/settings/inboxes/{inbox}/aliases");
            assert_eq!(browser.post(&path, &[("alias", address)]).await.status, 400, "{address}");
        }
        // Alone on the server, its people may use its name.
        makes(&browser, "help@mx.rookery.example").await.unwrap();
        let other = world.workspace("Other").await;
        let browser = world.browser(other.id, other.owner).await;
        let page = makes(&browser, "hello@rookery.example").await.unwrap_err();
        assert!(page.contains("name of the server itself"), "{page}");
        let page = makes(&browser, "our.shop@gmail.com").await.unwrap_err();
        assert!(page.contains("many people share"), "{page}");
        let page = makes(&browser, "shop@co.uk").await.unwrap_err();
        assert!(page.contains("many people share"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn an_inbox_without_a_proof_neither_receives_nor_sends_and_says_so() {
    story(async |world| {
        let (acme, mallory) = (world.workspace("Acme").await, world.workspace("Mallory").await);
        acme.mailbox("help@acme.example", "Help").await;
        let browser = world.browser(mallory.id, mallory.owner).await;
        let inbox = makes(&browser, "hello@mallory.example").await.unwrap();
        for (path, words) in [
            (format!("/settings/inboxes/{inbox}"), "This inbox can’t receive or send until it is."),
            ("/settings/inboxes".to_owned(), "Can’t receive or send:"),
            ("/settings/domains".to_owned(), "mallory.example is not proven to be yours."),
        ] {
            let page = browser.get(&path).await.page();
            assert!(page.contains(words), "{path}: {page}");
        }
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "hello@mallory.example").await, 450);
        assert_eq!(recipient(smtp, "help@acme.example").await, 250);

        let key = mallory.key("bot", "read,write,draft,send", Mode::Live).await;
        let conversation = mallory.mail(inbox, "anna@customer.example", "Hi", "Hello").await;
        let body = json!({ "body": "As Mallory", "send": true });
        let (status, sentence) = key.refused(&conversation.to_string(), "replies", "reply", body).await;
        assert_eq!(status, 400);
        assert!(sentence.contains("this inbox cannot send yet"), "{sentence}");
        let draft = key.drafts(conversation, "A draft").await;
        let approved = browser.post(&format!("/approvals/{draft}/approve"), &[]).await;
        assert_ne!(approved.status, 303, "{}", approved.html);

        // Whatever a row says, the directory decides when it leaves.
        world.sql("update mailboxes set unproven_at = null").await;
        key.sends(conversation, "As Mallory").await;
        world.wait(chrono::TimeDelta::minutes(11));
        world.work().await;
        let letters = world.outbox.letters();
        assert!(
            letters.iter().all(|letter| letter.to == "olga@rookery.example"),
            "only the owner is told: {letters:?}"
        );
        let failed = key.told(conversation, "delivery-failed").await;
        assert_eq!(failed[0]["reason"], "unproven-domain", "{failed:?}");
        let unproven = world.scalar("select count(*) from mailboxes where unproven_at is not null").await;
        assert_eq!(unproven, 1, "and it is written down again");
    })
    .await;
}

#[tokio::test]
async fn what_the_only_workspace_types_is_its_own_and_stays_so() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let browser = world.browser(acme.id, acme.owner).await;
        let inbox = makes(&browser, "help@acme.example").await.unwrap();
        assert!(!browser.get(&format!("/settings/inboxes/{inbox}")).await.page().contains("not proven"));
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "help+inv-7@acme.example").await, 250);

        let other = world.workspace("Other").await;
        let theirs = world.browser(other.id, other.owner).await;
        assert!(makes(&theirs, "sales@acme.example").await.unwrap_err().contains("another workspace"));
        makes(&browser, "sales@acme.example").await.unwrap();
        assert_eq!(recipient(smtp, "sales@acme.example").await, 250);
        let key = acme.key("bot", "read,send", Mode::Live).await;
        let conversation = acme.mail(inbox, "anna@customer.example", "Hi", "Hello").await;
        key.sends(conversation, "Hello Anna").await;
        world.wait(chrono::TimeDelta::minutes(11));
        world.work().await;
        assert_eq!(world.outbox.letters().len(), 1);
        // A new domain has to be proven now.
        makes(&browser, "help@acme-shop.example").await.unwrap();
        assert_eq!(recipient(smtp, "help@acme-shop.example").await, 450);
    })
    .await;
}

#[tokio::test]
async fn a_removed_alias_is_free_again() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let browser = world.browser(acme.id, acme.owner).await;
        let inbox = makes(&browser, "help@acme.example").await.unwrap();
        let aliases = format!("/settings/inboxes/{inbox}/aliases");
        assert_eq!(browser.post(&aliases, &[("alias", "sales@acme.example")]).await.status, 303);
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "sales@acme.example").await, 250);
        assert!(makes(&browser, "sales@acme.example").await.unwrap_err().contains("is taken already"));
        assert_eq!(
            browser.post(&format!("{aliases}/remove"), &[("alias", "sales@acme.example")]).await.status,
            303
        );
        let listed = world
            .scalar("select count(*) from directory.addresses where address = 'sales@acme.example'")
            .await;
        assert_eq!(listed, 0);
        makes(&browser, "sales@acme.example").await.unwrap();

        // One with a tag frees what it was known by; another spelling that is in use keeps its own row.
        for alias in ["info+eu@acme.example", "post@müller.example"] {
            assert_eq!(browser.post(&aliases, &[("alias", alias)]).await.status, 303, "{alias}");
        }
        world
            .sql(
                "insert into mailboxes (workspace_id, id, kind, address, name, created_at)
                 select workspace_id, 7, 'team', 'post@xn--mller-kva.example', 'Old', created_at from mailboxes limit 1",
            )
            .await;
        for alias in ["info+eu@acme.example", "post@müller.example"] {
            let removed = browser.post(&format!("{aliases}/remove"), &[("alias", alias)]).await;
            assert_eq!(removed.status, 303, "{alias}");
        }
        let left: Vec<String> = world
            .column("select address from directory.addresses where address like 'info%' or address like 'post@%'")
            .await;
        assert_eq!(left, ["post@xn--mller-kva.example"]);
    })
    .await;
}

/// An app's reference in a tag goes on working, by either spelling of the domain.
#[tokio::test]
async fn a_reference_in_a_tag_is_found_whatever_the_spelling_of_the_domain() {
    post(&[], async |post| {
        post.acme.mailbox("hilfe@müller.example", "Hilfe").await;
        for (to, wanted) in
            [("help+INV-1042@acme.example", "inv-1042"), ("hilfe+inv-1043@xn--mller-kva.example", "inv-1043")]
        {
            post.tick();
            let raw = mail("anna@customer.example", wanted, "", "Hello");
            assert_eq!(
                Client::greeted(post.smtp).await.mail("anna@customer.example", to, &raw).await.code,
                250
            );
            let (_, listed) = post.key.list("").await;
            assert_eq!(listed[0]["reference"], wanted, "{listed}");
        }
    })
    .await;
}

/// A sign-in link goes by mail: whoever reads the mail of an address is whoever signs in with it.
#[tokio::test]
async fn what_somebody_signs_in_with_becomes_no_inbox_of_others() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let mia = acme.person("Mia", Role::Admin).await;
        let admin = world.browser(acme.id, mia).await;
        let owner = world.browser(acme.id, acme.owner).await;
        let inbox = makes(&admin, "help@rookery.example").await.unwrap();
        let invited = [("emails", "cfo@rookery.example"), ("role", "owner")];
        assert_eq!(owner.post("/settings/people/invite", &invited).await.status, 303);
        let aliases = format!("/settings/inboxes/{inbox}/aliases");
        for address in
            ["olga@rookery.example", "Olga+x@rookery.example", "olga@ROOKERY.example", "cfo@rookery.example"]
        {
            let page = makes(&admin, address).await.unwrap_err();
            assert!(page.contains("Anyone who reads its email could sign in as them"), "{address}: {page}");
            let alias = admin.post(&aliases, &[("alias", address)]).await;
            assert_eq!(alias.status, 400, "{address}");
            assert!(alias.html.contains("could sign in as them"), "{address}: {}", alias.html);
        }
        // Whose it is may share it, and whoever runs the server decides.
        makes(&owner, "olga@rookery.example").await.unwrap();
        acme.mailbox("cfo@rookery.example", "Finance").await;

        // The other way round: nobody is invited by the address of an inbox, and an invitation from before leads nobody in.
        let page = owner
            .post("/settings/people/invite", &[("emails", "help@rookery.example"), ("role", "member")])
            .await;
        assert_eq!(page.status, 400);
        assert!(page.html.contains("help@rookery.example is the address of an inbox."), "{}", page.html);
        let mut tx = world.app.begin(acme.id).await.unwrap();
        let joined = invitations::accept_address(&mut tx, "cfo@rookery.example", "Carl").await.unwrap();
        assert_eq!(joined, None);
    })
    .await;
}
