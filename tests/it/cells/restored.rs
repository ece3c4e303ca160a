//! A cell comes back from a backup that is older than a move: it has rows of a workspace that lives elsewhere. Nothing of it is
//! done twice, its files stay, `doctor` says so, and a command removes what is out of date. When it was the directory that came
//! back, nothing is out of date, and nothing is removed.

use std::fs;
use std::time::Duration;

use chrono::TimeDelta;
use rookery_base::clock::Clock;
use rookery_upkeep::erasures::replay;
use rookery_upkeep::moves::strays;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::fleet::{Fleet, Serves};
use rookery_world::Reply;
use rookery_world::mail::dns::Zone;
use rookery_world::sink::Sink;
use rookery_world::site::{text, until};
use rookery_world::story_with;
use rookery_world::verbs::erasing::erases;

async fn one<T>(fleet: &Fleet, cell: &str, question: String) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    sqlx::query_scalar(AssertSqlSafe(question)).fetch_one(&fleet.pool(cell).await).await.unwrap()
}

/// What `doctor` says of where workspaces stand.
async fn places(fleet: &Fleet) -> Value {
    let zone = Zone::serve(&[]).await;
    let mut doctor = fleet.command(&["doctor", "--json"]);
    doctor.env("ROOKERY_DNS", zone.address.to_string());
    let examined = tokio::task::block_in_place(|| doctor.output().unwrap());
    let rows: Vec<Value> = serde_json::from_slice(&examined.stdout).expect("rows");
    rows.into_iter().find(|row| row["name"] == "places").expect("the row")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lives_elsewhere_is_fenced_and_nothing_of_it_is_done_or_removed() {
    let fleet = Fleet::new().await;
    let tenants = [fleet.workspace("Acme"), fleet.workspace("Birch")];
    // The one in `west` moves, so that the directory is not what comes back.
    let mut homes = Vec::new();
    for tenant in &tenants {
        homes.push(fleet.lives_in(tenant).await);
    }
    let [tenant, neighbour] =
        if homes[0] == "west" { [&tenants[0], &tenants[1]] } else { [&tenants[1], &tenants[0]] };
    let id = tenant.number();
    let due = format!(
        "insert into notices (workspace_id, id, recipient, kind, subject, body, created_at, due_at)
         values ({id}, 7, 'olga@acme.example', 'webhook-paused', 'A webhook', 'words', now(), now())"
    );
    fleet.run_sql("west", due).await;
    fleet.back_up("west", tenant).await;
    let moved = tokio::task::block_in_place(|| {
        fleet.run(&["cells", "move", "--workspace", &tenant.id, "--to", "main"])
    });
    assert!(moved.status.success(), "{moved:?}");

    // It goes on in the new cell: the notice leaves, and a file comes.
    let sink = Sink::start().await;
    let relay = sink.relay();
    let mail = [("ROOKERY_RELAY", &*relay), ("ROOKERY_MAIL_NAME", "mx.acme.example")];
    let node = fleet.serve("before", Serves::Both, &mail).await;
    let file = json!({ "filename": "a.txt", "contentType": "text/plain", "content": "A".repeat(120_000) });
    let sent =
        json!({ "from": "carla@customer.test", "subject": "Order", "text": "Hello", "attachments": [file] });
    let request = fleet.site.http.post(format!("{}/api/v1/sandbox/inbound", node.address));
    assert_eq!(Reply::of(request.bearer_auth(&tenant.test).json(&sent)).await.status, 201);
    until(&fleet.pool("main").await, "select exists (select from notices where sent_at is not null)").await;
    assert_eq!(sink.taken().len(), 1);
    drop(node);

    // West comes back, and three days have passed.
    fleet.restore("west").await;
    let today = Clock::system().now().date_naive();
    let old = today - TimeDelta::days(3);
    let folder = fleet.site.folder.join("blobs/ws").join(&tenant.id);
    fs::rename(folder.join(today.to_string()), folder.join(old.to_string())).unwrap();
    fleet
        .run_sql(
            "main",
            format!(
                "set session_replication_role = replica;
                 update documents set blob = replace(blob, '/{today}/', '/{old}/');
                 update messages set attachments = replace(attachments::text, '/{today}/', '/{old}/')::jsonb"
            ),
        )
        .await;
    for cell in ["main", "west"] {
        fleet.run_sql(cell, "update workspaces set created_at = created_at - interval '5 days'").await;
    }
    // One that was fenced by mistake, because its directory was an older one for a while.
    fleet
        .run_sql(
            "main",
            format!("update workspaces set fenced_at = '-infinity' where id = {}", neighbour.number()),
        )
        .await;

    let red = places(&fleet).await;
    assert!(red["ok"] == false && text(&red, "fix").contains("cells clean west"), "{red}");
    let node = fleet.serve("after", Serves::Both, &mail).await;
    let fenced = format!("select fenced_at = '-infinity' from workspaces where id = {id}");
    assert!(one::<bool>(&fleet, "west", fenced).await, "before anybody is served");
    assert!(
        !one::<bool>(
            &fleet,
            "main",
            "select exists (select from workspaces where fenced_at is not null)".into()
        )
        .await
    );
    until(&fleet.pool("main").await, "select not exists (select from workspaces where blobs_swept is null)")
        .await;
    // The loops of the other cell have begun with those of this one.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let untouched = format!(
        "select claim = 0 and due_at is not null and (select blobs_swept is null from workspaces where id = {id})
         from notices where workspace_id = {id} and id = 7"
    );
    assert!(one::<bool>(&fleet, "west", untouched).await, "nothing is claimed or swept there");
    assert_eq!(sink.taken().len(), 1, "and nothing left twice");
    let listed = fleet.site.get(&node, "/api/v1/documents", &tenant.test).await.json();
    let document = text(&listed[0], "id");
    let content = fleet.site.get(&node, &format!("/api/v1/documents/{document}/content"), &tenant.test).await;
    assert_eq!(content.status, 200, "its file is there: {}", content.text);

    let cleaned = fleet.run(&["cells", "clean", "west"]);
    assert!(cleaned.status.success(), "{cleaned:?}");
    assert_eq!(fleet.rows("west", tenant).await, 0);
    assert!(fleet.rows("main", tenant).await > 0);
    let well = places(&fleet).await;
    assert_eq!(well["ok"], true, "{well}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_directory_is_older_than_a_move_nothing_is_removed() {
    let fleet = Fleet::new().await;
    let tenants = [fleet.workspace("Acme"), fleet.workspace("Birch")];
    let tenant = match fleet.lives_in(&tenants[0]).await.as_str() {
        "west" => &tenants[0],
        _ => &tenants[1],
    };
    let id = tenant.number();
    let rows = fleet.rows("west", tenant).await;
    // The directory as it was when the workspace still lived in main, from which it has moved since.
    fleet.run_sql("main", format!("update directory.workspaces set cell = 'main' where id = {id}")).await;
    let red = places(&fleet).await;
    let (found, fix) = (text(&red, "found"), text(&red, "fix"));
    assert!(found.contains("the directory is older than its cells") && !fix.contains("cells clean"), "{red}");
    let cleaned = fleet.run(&["cells", "clean", "west"]);
    assert!(!cleaned.status.success(), "{cleaned:?}");
    assert!(String::from_utf8_lossy(&cleaned.stderr).contains("Nothing is removed"), "{cleaned:?}");
    assert_eq!(fleet.rows("west", tenant).await, rows, "they are the only ones");
    // Nor do a move to where it is already, and giving that up.
    let to_west = ["cells", "move", "--workspace", &tenant.id, "--to", "west"];
    let give_up = ["cells", "move", "--workspace", &tenant.id, "--abort"];
    for command in [&to_west[..], &give_up[..]] {
        let refused = fleet.run(command);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("Nothing is removed"), "{command:?}: {refused:?}");
        assert_eq!(fleet.rows("west", tenant).await, rows, "{command:?}");
    }
    fleet.run_sql("main", format!("delete from directory.moves where workspace_id = {id}")).await;
    // What the advice says puts it right.
    assert!(fix.contains(&format!("the row with `id` {id} has to have the `cell` 'west'")), "{fix}");
    fleet.run_sql("main", format!("update directory.workspaces set cell = 'west' where id = {id}")).await;
    let well = places(&fleet).await;
    assert_eq!(well["ok"], true, "{well}");

    // The cell comes back from a backup that was made while the workspace was about to leave.
    fleet.run_sql("west", format!("update workspaces set fenced_at = 'infinity' where id = {id}")).await;
    let red = places(&fleet).await;
    assert!(text(&red, "found").contains("nobody moves them"), "{red}");
    let fix = text(&red, "fix");
    assert!(fix.contains(&format!("the row with `id` {id} has to have no `fenced_at`")), "{fix}");
    fleet.run_sql("west", format!("update workspaces set fenced_at = null where id = {id}")).await;
    let well = places(&fleet).await;
    assert_eq!(well["ok"], true, "{well}");
}

/// Its rows are from before an erasure, and they were fenced when the service looked for what has to be erased again.
#[tokio::test]
async fn what_was_erased_is_erased_again_when_a_fenced_workspace_opens() {
    story_with(&[("CELL", "main")], async |world| {
        let acme = world.workspace("Acme").await;
        let help = acme.mailbox("help@acme.example", "Help").await;
        erases(&acme, "ada@customer.example").await;
        world.work().await;
        acme.mail(help, "Ada <ada@customer.example>", "Refund", "Where is it?").await;
        world.sql("delete from erasures; update workspaces set fenced_at = '-infinity'").await;
        assert_eq!(
            replay::replay(&world.app).await.unwrap(),
            0,
            "nothing of it is touched while it is fenced"
        );
        strays::fence(&world.app).await.unwrap();
        let fenced = world.scalar("select count(*) from workspaces where fenced_at is not null").await;
        let left = world
            .scalar("select count(*) from conversations where contact_email = 'ada@customer.example'")
            .await;
        assert_eq!((fenced, left), (0, 0));
    })
    .await;
}
