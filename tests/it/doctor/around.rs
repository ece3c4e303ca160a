//! Files, disks, names and the public address, broken one at a time.

use std::sync::atomic::Ordering;

use rookery_upkeep::doctor::given::Given;

use super::healthy::Healthy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_disks() {
    let healthy = Healthy::start().await;
    let tries = healthy.file("blobs/ws/doctor");
    if tries.exists() {
        std::fs::remove_dir_all(&tries).unwrap();
    }
    std::fs::write(&tries, "a file where a folder should be").unwrap();
    healthy.only("blobs").await;
    std::fs::remove_file(&tries).unwrap();

    healthy.off("disk", &[], Given { least_free: u64::MAX, ..healthy.given() }).await;
    healthy.off("inodes", &[], Given { least_inodes: 101, ..healthy.given() }).await;
    healthy.breaks("spool", &[("SPOOL_MEGABYTES", "4294967295")]).await;

    let document = first_file(&healthy.file(&format!("blobs/ws/{}", healthy.workspace)));
    let aside = healthy.file("aside");
    std::fs::rename(&document, &aside).unwrap();
    healthy.only("files").await;
    std::fs::rename(&aside, &document).unwrap();

    let entry = first_file(&healthy.file("blobs/ws/erasures"));
    let sound = std::fs::read(&entry).unwrap();
    std::fs::write(&entry, "cut o").unwrap();
    healthy.only("erasure-list").await;
    std::fs::write(&entry, sound).unwrap();
    healthy.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_the_public_address() {
    let healthy = Healthy::start().await;
    healthy.breaks("name-servers", &[("DNS", "127.0.0.1:1")]).await;
    healthy.breaks("public-address", &[("PUBLIC_URL", "https://desk.acme.example:1")]).await;
    let plain = format!("http://desk.acme.example:{}", healthy.plain.port());
    healthy.breaks("public-https", &[("PUBLIC_URL", &plain)]).await;
    let short = format!("https://desk.acme.example:{}", healthy.short.port());
    healthy.breaks("public-certificate", &[("PUBLIC_URL", &short)]).await;
    healthy.renames.store(true, Ordering::SeqCst);
    healthy.only("public-host").await;
    healthy.renames.store(false, Ordering::SeqCst);
    healthy.breaks("content-address", &[("CONTENT_URL", "https://content.acme.example:1")]).await;
    healthy.is_well().await;
}

fn first_file(folder: &std::path::Path) -> std::path::PathBuf {
    let found = std::process::Command::new("find").arg(folder).args(["-type", "f"]).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().next().expect("there is a file").into()
}
