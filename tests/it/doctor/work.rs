//! What happens by itself, and backups, broken one at a time.

use std::path::PathBuf;
use std::process::Command;

use chrono::TimeDelta;
use rookery_base::clock::Clock;
use rookery_upkeep::backups::{create, verify};
use rookery_upkeep::doctor::given::Given;

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

    // What is not ours is not read, and what is half written or not whole is no backup.
    std::fs::create_dir(folder.join("zzz")).unwrap();
    std::fs::write(folder.join("20990101T000000000Z"), "a stray").unwrap();
    healthy.is_well().await;
    let manifest = name.join("manifest");
    let sound = std::fs::read_to_string(&manifest).unwrap();
    for wrong in
        [sound[..sound.len() / 2].to_owned(), sound.replace("\"lost\":0", "\"lost\":1"), String::new()]
    {
        std::fs::write(&manifest, wrong).unwrap();
        healthy.only("backup").await;
    }
    std::fs::write(&manifest, &sound).unwrap();
    healthy.is_well().await;
    // A proof of another manifest proves nothing.
    let app = healthy.app(&[]);
    let mut ahead = healthy.app(&[]);
    ahead.clock = Clock::set_to(app.clock.now() + TimeDelta::days(2));
    let early = create::create(&ahead, &|_, _| {}).await.unwrap();
    std::fs::copy(name.join("proven"), folder.join(&early.name).join("proven")).unwrap();
    // Dated in the future, it would look new for two more days.
    healthy.only("backup").await;
    let after = create::create(&app, &|_, _| {}).await.unwrap();
    assert!(after.name > early.name, "the clock went back, the names did not");
    healthy.is_well().await;
    let found = Command::new("find")
        .arg(healthy.file("blobs"))
        .args(["-path", "*/documents/*", "-type", "f"])
        .output()
        .unwrap();
    let lost = PathBuf::from(String::from_utf8(found.stdout).unwrap().lines().next().unwrap());
    let bytes = std::fs::read(&lost).unwrap();
    std::fs::remove_file(&lost).unwrap();
    assert!(!create::create(&app, &|_, _| {}).await.unwrap().is_whole());
    std::fs::write(&lost, bytes).unwrap();
    healthy.only("backup").await;
    create::create(&app, &|_, _| {}).await.unwrap();
    healthy.is_well().await;

    // A backup of a time when there was a newer key, which somebody has taken out since.
    let later = healthy.app(&[("SECRET_KEY", &format!("{NEW_KEY},{OLD_KEY}"))]);
    create::create(&later, &|_, _| {}).await.unwrap();
    verify::verify(&later, None, &|_, _| {}).await.unwrap();
    healthy.only("backup-secret-key").await;
}
