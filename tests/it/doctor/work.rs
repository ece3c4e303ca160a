//! What happens by itself, and backups, broken one at a time.

use rookery::backups::{create, verify};
use rookery::doctor::given::Given;

use super::healthy::{Healthy, NEW_KEY, OLD_KEY};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loops_webhooks_and_services() {
    let healthy = Healthy::start().await;
    let workspace = healthy.workspace.0;
    let since = "now() - interval '1 hour'";
    healthy
        .sql(&format!(
            "insert into doomed_files (workspace_id, blob, since) values ({workspace}, 'ws/gone', {since})"
        ))
        .await;
    healthy.only("loops").await;
    healthy.sql("delete from doomed_files").await;

    healthy
        .sql(&format!(
            "insert into webhooks (workspace_id, id, maker_id, livemode, scope, url, state, secret, created_at)
             select workspace_id, 5, id, true, 'team', 'https://gone.acme.example/secret', 'off', '\\x00', now()
             from people where workspace_id = {workspace} limit 1;
             insert into webhook_lanes (workspace_id, webhook_id) values ({workspace}, 5)"
        ))
        .await;
    healthy.only("webhooks").await;
    let report = healthy.examine(&[], &healthy.given()).await;
    assert!(!format!("{report:?}").contains("/secret"), "an address may have a secret in it");
    healthy.sql("update webhooks set state = 'active'").await;
    healthy.only("webhook-way-out").await;
    healthy.sql("update webhooks set removed_at = now()").await;

    healthy
        .sql(&format!(
            "insert into sending_services (workspace_id, id, maker_id, name, content_url, created_at, last_error, last_error_at)
             select workspace_id, 6, id, 'Mailer', 'https://mailer.example/', now(), 'refused', now()
             from people where workspace_id = {workspace} limit 1"
        ))
        .await;
    healthy.only("sending-services").await;
    healthy.sql("update sending_services set last_report_at = now()").await;
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups() {
    let healthy = Healthy::start().await;
    let empty = healthy.file("empty").display().to_string();
    healthy.breaks("backup", &[("BACKUPS", &empty)]).await;
    healthy.breaks("backup", &[("BACKUPS", "")]).await;
    let other = "BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=";
    healthy.breaks("backup-key", &[("BACKUP_KEY", other)]).await;
    healthy.off("backup-room", &[], Given { least_backup_room: u64::MAX, ..healthy.given() }).await;

    let folder = healthy.file("backups/backups");
    let name = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::rename(name.join("proven"), healthy.file("proven")).unwrap();
    healthy.only("backup-proven").await;
    std::fs::rename(healthy.file("proven"), name.join("proven")).unwrap();
    healthy.is_well().await;

    // A backup of a time when there was a newer key, which somebody has taken out since.
    let later = healthy.app(&[("SECRET_KEY", &format!("{NEW_KEY},{OLD_KEY}"))]);
    create::create(&later, &|_, _| {}).await.unwrap();
    verify::verify(&later, None, &|_, _| {}).await.unwrap();
    healthy.only("backup-secret-key").await;
}
