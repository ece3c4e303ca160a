//! Installations from before domains had to be proven keep what they have: the domain goes to whoever has the oldest address of
//! it, the others keep theirs, and whoever proves the domain gets it.

use rookery_base::cells::Cells;
use rookery_base::store::domains::DomainProof;
use rookery_base::store::standings::DomainStanding;
use rookery_core::workspace::domains;
use rookery_upkeep::doctor::examine::examine;
use rookery_upkeep::doctor::given::Given;
use rookery_upkeep::doctor::row::CheckRow;

use super::{makes, recipient, smtp};
use rookery_world::{Workspace, World, story};

/// An inbox as the version before made it.
pub async fn before(workspace: &Workspace<'_>, address: &str, days_ago: i32) {
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let id: rookery_base::ids::MailboxId = tx.mint();
    sqlx::query(
        "insert into mailboxes (workspace_id, id, kind, address, name, created_at)
         values ($1, $2, 'team', $3, 'Old', now() - make_interval(days => $4))",
    )
    .bind(workspace.id)
    .bind(id)
    .bind(address)
    .bind(days_ago)
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    sqlx::query("insert into directory.addresses (address, workspace_id, kept) values ($1, $2, true)")
        .bind(address)
        .bind(workspace.id)
        .execute(&workspace.world.app.pool)
        .await
        .unwrap();
}

pub async fn upgrade(world: &World) {
    world.app.directory.keep_domains_in_use().await.unwrap();
}

pub async fn unproven_row(world: &World) -> CheckRow {
    let rows = examine(&world.app, &Given::default()).await.rows;
    rows.into_iter().find(|row| row.name == "unproven-domains").unwrap()
}

/// The inbox that mail to an address would come to: its workspace's name.
pub async fn read_by(world: &World, address: &str) -> Option<String> {
    use rookery_mail::incoming::listen::recipients::{Home, Recipients};
    let cells = Cells::new(vec![world.app.clone()]);
    let found = Recipients::default().find(&cells, address).await.unwrap()?;
    // An inbox that is not proven asks to try again.
    let Home::Here { workspace, .. } = found.home else { return None };
    let name: String = sqlx::query_scalar("select name from workspaces where id = $1")
        .bind(workspace)
        .fetch_one(&world.app.pool)
        .await
        .unwrap();
    Some(name)
}

#[tokio::test]
async fn a_domain_in_use_goes_to_the_oldest_address_and_others_keep_theirs() {
    story(async |world| {
        let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&acme, "help@acme.example", 30).await;
        before(&mallory, "billing@acme.example", 10).await;
        before(&mallory, "help+inv-1042@acme.example", 5).await;
        before(&acme, "hilfe@müller.example", 30).await;
        before(&mallory, "hilfe@xn--mller-kva.example", 20).await;
        upgrade(world).await;
        upgrade(world).await;
        let kept: Vec<String> =
            world.column("select domain || ' ' || proof from directory.domains order by 1").await;
        assert_eq!(kept, ["acme.example kept", "xn--mller-kva.example kept"]);
        for (address, reader) in [
            ("help@acme.example", Some("Acme")),
            ("help+inv-1042@acme.example", Some("Acme")),
            ("billing@acme.example", Some("Mallory")),
            ("hilfe@müller.example", Some("Acme")),
            ("hilfe@xn--mller-kva.example", Some("Acme")),
            ("nobody@acme.example", None),
        ] {
            assert_eq!(read_by(world, address).await.as_deref(), reader, "{address}");
        }
        let browser = world.browser(mallory.id, mallory.owner).await;
        assert!(makes(&browser, "more@acme.example").await.unwrap_err().contains("another workspace"));
        let standing =
            async |workspace, address| world.app.directory.standing(workspace, address).await.unwrap();
        assert_eq!(
            standing(mallory.id, "billing@acme.example").await,
            DomainStanding::Ours(DomainProof::Kept)
        );
        let row = unproven_row(world).await;
        assert!(
            !row.ok && row.found.contains("acme.example") && row.fix.contains("assign-domain"),
            "{row:?}"
        );

        // From here on the domain is Acme's and nobody else's.
        domains::assign(&world.app, acme.id, "acme.example").await.unwrap();
        assert_eq!(standing(mallory.id, "billing@acme.example").await, DomainStanding::Another(acme.id));
        assert_eq!(read_by(world, "billing@acme.example").await, None);
        let smtp = smtp(world).await;
        assert_eq!(recipient(smtp, "billing@acme.example").await, 550);
        assert_eq!(recipient(smtp, "help+inv-1042@acme.example").await, 250);
        let browser = world.browser(acme.id, acme.owner).await;
        makes(&browser, "billing@acme.example").await.unwrap();
        assert_eq!(read_by(world, "billing@acme.example").await.as_deref(), Some("Acme"));
    })
    .await;
}

/// A tag does not come before the inbox that has the address without it, even if who has the tag was first.
#[tokio::test]
async fn an_inbox_that_is_there_gets_its_tags_whoever_was_first() {
    story(async |world| {
        let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&mallory, "help+inv-1042@acme.example", 30).await;
        before(&acme, "help@acme.example", 10).await;
        upgrade(world).await;
        assert_eq!(read_by(world, "help+inv-1042@acme.example").await.as_deref(), Some("Acme"));
    })
    .await;
}

/// A node of the version before makes an inbox while others are new already.
#[tokio::test]
async fn what_an_old_node_makes_meanwhile_works_where_there_is_one_workspace() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        before(&acme, "help@acme.example", 1).await;
        world.sql("update directory.addresses set kept = false").await;
        assert_eq!(read_by(world, "help@acme.example").await.as_deref(), Some("Acme"));
        let standing = world.app.directory.standing(acme.id, "help@acme.example").await.unwrap();
        assert_eq!(standing, DomainStanding::Ours(DomainProof::Kept));
        upgrade(world).await;
        world.workspace("Other").await;
        assert_eq!(read_by(world, "help@acme.example").await.as_deref(), Some("Acme"));
    })
    .await;
}

#[tokio::test]
async fn what_an_old_node_makes_meanwhile_has_to_be_proven_where_there_are_several() {
    story(async |world| {
        let (mallory, _acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&mallory, "help@acme.example", 1).await;
        world.sql("update directory.addresses set kept = false").await;
        upgrade(world).await;
        assert_eq!(read_by(world, "help@acme.example").await, None);
        assert_eq!(world.scalar("select count(*) from directory.domains").await, 0);
    })
    .await;
}

/// Whoever proves a domain has what is below it. An address from before, which was nobody's for a while, does not come back.
#[tokio::test]
async fn what_is_below_a_proven_domain_is_not_given_to_who_used_it_before() {
    story(async |world| {
        let (mallory, acme) = (world.workspace("Mallory").await, world.workspace("Acme").await);
        before(&mallory, "pay@mail.acme.example", 30).await;
        before(&mallory, "pay@mail.other.example", 30).await;
        domains::assign(&world.app, acme.id, "acme.example").await.unwrap();
        upgrade(world).await;
        let domains: Vec<String> =
            world.column("select domain || ' ' || proof from directory.domains order by 1").await;
        assert_eq!(domains, ["acme.example assigned", "mail.other.example kept"]);
        assert_eq!(read_by(world, "pay@mail.acme.example").await, None);
        assert_eq!(read_by(world, "pay@mail.other.example").await.as_deref(), Some("Mallory"));
    })
    .await;
}
