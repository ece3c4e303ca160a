//! Whoever loses a domain is told, by whatever way it was lost; and mail to inboxes that nobody has a proof for is not lost,
//! whatever the directory and the inboxes say of each other.

use rookery_base::store::domains::DomainProof;
use rookery_base::store::standings::DomainStanding;
use rookery_core::workspace::access::By;
use rookery_core::workspace::domains;
use rookery_core::workspace::domains::settle::settle_all;

use super::kept::{before, read_by, unproven_row, upgrade};
use super::{makes, recipient, smtp};
use rookery_world::{World, story};

async fn told(world: &World) -> [i64; 2] {
    [
        world.scalar("select count(*) from notices where kind = 'domain-lost'").await,
        world.scalar("select count(*) from audit_entries where did = 'domain.lost'").await,
    ]
}

/// A node of the version before made them, or the directory came back from before the domains were entered.
#[tokio::test]
async fn inboxes_that_nobody_has_a_proof_for_lose_no_mail_and_are_named() {
    story(async |world| {
        let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&mallory, "help@mallory.example", 1).await;
        acme.mailbox("help@acme.example", "Help").await;
        world
            .sql(
                "insert into mailbox_aliases (workspace_id, address, mailbox_id, created_at)
                 select workspace_id, 'sales@globex.example', id, created_at from mailboxes
                 where address = 'help@acme.example';
                 update directory.addresses set kept = false;
                 delete from directory.domains",
            )
            .await;
        let smtp = smtp(world).await;
        for address in ["help@mallory.example", "help+1@acme.example", "Sales@GLOBEX.example"] {
            assert_eq!(recipient(smtp, address).await, 450, "{address}");
        }
        assert_eq!(recipient(smtp, "nobody@acme.example").await, 550);
        let row = unproven_row(world).await;
        for domain in ["acme.example", "globex.example", "mallory.example"] {
            assert!(!row.ok && row.found.contains(&format!("{domain} (wsp_")), "{domain}: {row:?}");
        }

        // What a node does when it starts.
        assert_eq!(world.scalar("select count(*) from mailboxes where unproven_at is not null").await, 0);
        settle_all(&world.app).await.unwrap();
        settle_all(&world.app).await.unwrap();
        assert_eq!(world.scalar("select count(*) from mailboxes where unproven_at is not null").await, 2);
        assert_eq!(
            world.scalar("select count(*) from mailbox_aliases where unproven_at is not null").await,
            1
        );
        assert_eq!(told(world).await, [2, 3], "each owner once, each domain once");
        assert_eq!(recipient(smtp, "help@acme.example").await, 450);
        domains::assign(&world.app, acme.id, "acme.example").await.unwrap();
        assert_eq!(recipient(smtp, "help@acme.example").await, 250);
        assert_eq!(told(world).await, [2, 3], "that something works again is no loss");
    })
    .await;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Proven,
    Assigned,
}

#[tokio::test]
async fn who_loses_a_domain_is_told_once_and_its_inboxes_say_so() {
    for way in [Way::Proven, Way::Assigned] {
        story(async |world| {
            let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
            before(&mallory, "help@acme.example", 30).await;
            before(&acme, "billing@acme.example", 10).await;
            upgrade(world).await;
            assert_eq!(read_by(world, "help@acme.example").await.as_deref(), Some("Mallory"));
            for _ in 0..2 {
                if way == Way::Proven {
                    assert!(domains::prove(&world.app, acme.id, &By::System, "acme.example").await.unwrap());
                } else {
                    domains::assign(&world.app, acme.id, "acme.example").await.unwrap();
                }
            }
            assert_eq!(told(world).await, [1, 1], "{way:?}");
            let losers: Vec<i64> = world
                .column(
                    "select workspace_id from notices where kind = 'domain-lost'
                     union all select workspace_id from audit_entries where did = 'domain.lost'
                     union all select workspace_id from mailboxes where unproven_at is not null",
                )
                .await;
            assert_eq!(losers, [mallory.id.0; 3], "{way:?}");
            world.work().await;
            let mails = world.outbox.mails();
            let raw = String::from_utf8(mails.last().unwrap().raw.clone()).unwrap();
            assert!(raw.contains("Mail of your domain has stopped") && raw.contains("acme.example"), "{raw}");
        })
        .await;
    }
}

/// How old an address is stands in the cell of its workspace, and this one is of another.
#[tokio::test]
async fn a_domain_that_several_cells_use_is_nobodys_until_somebody_says_whose() {
    story(async |world| {
        let (acme, other) = (world.workspace("Acme").await, world.workspace("Other").await);
        before(&acme, "billing@acme.example", 1).await;
        world
            .sql(
                "insert into directory.workspaces (id, slug) values (77, 'elsewhere');
                 insert into directory.addresses (address, workspace_id, kept)
                 values ('help@acme.example', 77, true), ('help@elsewhere.example', 77, true)",
            )
            .await;
        upgrade(world).await;
        let held: Vec<String> = world.column("select domain from directory.domains order by 1").await;
        assert_eq!(held, ["elsewhere.example"], "nobody else uses it");

        // Each keeps what it has, and nobody gets more.
        let standing = world.app.directory.standing(acme.id, "billing@acme.example").await.unwrap();
        assert_eq!(standing, DomainStanding::Ours(DomainProof::Kept));
        assert_eq!(read_by(world, "billing@acme.example").await.as_deref(), Some("Acme"));
        let row = unproven_row(world).await;
        assert!(!row.ok && row.found.contains("acme.example (nobody's"), "{row:?}");
        let theirs = world.browser(other.id, other.owner).await;
        makes(&theirs, "sales@acme.example").await.unwrap();
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "sales@acme.example").await, 450);
        let own = world.browser(acme.id, acme.owner).await;
        let more = makes(&own, "more@acme.example").await.unwrap();
        // The page says it of the address that it is true of.
        let page = own.get("/settings/inboxes").await.page();
        assert_eq!(page.matches("Can’t receive or send:").count(), 1, "{page}");
        assert!(own.get(&format!("/settings/inboxes/{more}")).await.page().contains("is not proven"));

        domains::assign(&world.app, acme.id, "acme.example").await.unwrap();
        assert_eq!(recipient(smtp, "more@acme.example").await, 250);
        assert_eq!(recipient(smtp, "sales@acme.example").await, 550);
    })
    .await;
}

/// A squat from before keeps its own mail, and takes no row of who has the domain: in a fleet that row leads the mail.
#[tokio::test]
async fn a_tagged_address_from_before_takes_nothing_from_the_inbox_without_the_tag() {
    story(async |world| {
        let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&acme, "billing@acme.example", 30).await;
        before(&mallory, "help+inv@acme.example", 5).await;
        upgrade(world).await;
        makes(&world.browser(acme.id, acme.owner).await, "help@acme.example").await.unwrap();
        domains::assign(&world.app, mallory.id, "mallory.example").await.unwrap();
        let listed: Vec<i64> = world
            .column("select workspace_id from directory.addresses where address = 'help@acme.example'")
            .await;
        assert_eq!(listed, [acme.id.0]);
        assert_eq!(world.scalar("select count(*) from mailboxes where unproven_at is not null").await, 0);
        assert_eq!(read_by(world, "help+inv@acme.example").await.as_deref(), Some("Acme"));
    })
    .await;
}
