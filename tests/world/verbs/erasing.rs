//! A contact is erased, an inbox keeps its mail for so many days, and an export is read as another program reads it.

use std::process::Command;

use rookery_base::ids::{ConversationId, ErasureId, MailboxId};
use rookery_core::conversations::lock::lock_visible;
use rookery_core::conversations::status::Status;
use rookery_core::conversations::transitions::set_status;
use rookery_core::workspace::inbox_settings::keep_days;
use rookery_core::workspace::people::{self, Person};
use rookery_upkeep::erasures::ask;

use crate::browser::Browser;
use crate::{Workspace, World};

pub async fn erases(workspace: &Workspace<'_>, address: &str) -> ErasureId {
    let mut tx = workspace.world.app.begin(workspace.id).await.unwrap();
    let olga = people::teammate(&mut tx, workspace.id, workspace.owner).await.unwrap();
    let id = ask::erase(&mut tx, &olga, address, "They asked").await.unwrap();
    tx.commit().await.unwrap();
    id
}

/// The names in an archive and all its text, as another program reads it.
pub async fn unpacked(
    world: &World,
    browser: &Browser<'_>,
    path: &str,
    fields: &[(&str, &str)],
) -> (Vec<String>, String) {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = browser.request(reqwest::Method::POST, path).header("origin", browser.origin());
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    assert!(answer.headers()["content-disposition"].to_str().unwrap().contains(".zip"));
    let bytes = answer.bytes().await.unwrap();
    let folder = std::env::temp_dir().join(format!("rookery-export-{}", world.database.name()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("export.zip");
    std::fs::write(&file, &bytes).unwrap();
    let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n\
                  for n in z.namelist(): print('NAME ' + n)\nfor n in z.namelist(): print(z.read(n).decode('utf-8', 'replace'))";
    let read = Command::new("python3").args(["-c", script]).arg(&file).output().expect("python runs");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(read.status.success(), "{read:?}");
    let text = String::from_utf8(read.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("NAME ")).map(str::to_owned).collect();
    (names, text)
}

pub fn made(page: &str) -> String {
    page.split("href=\"/settings/data/exports/")
        .nth(1)
        .expect("it is made")
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

pub async fn olga(acme: &Workspace<'_>) -> Person {
    let app = &acme.world.app;
    people::teammate(&mut app.connection().await.unwrap(), acme.id, acme.owner).await.unwrap()
}

pub async fn closes(acme: &Workspace<'_>, conversation: ConversationId) {
    let olga = olga(acme).await;
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    let locked = lock_visible(&mut tx, &olga, &conversation.to_string()).await.unwrap();
    set_status(&mut tx, &locked, &olga, Status::Closed).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn keeps(acme: &Workspace<'_>, inbox: MailboxId, days: Option<i32>) {
    let olga = olga(acme).await;
    let mut tx = acme.world.app.begin(acme.id).await.unwrap();
    keep_days::set(&mut tx, &olga, &[(inbox, days)]).await.unwrap();
    tx.commit().await.unwrap();
}
