//! The lines of docs/backup.md that restore onto an empty machine, word for word, but for the name of the database: the cluster
//! of the tests has many.

use std::process::Command;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Backed, rows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lines_that_restore_onto_an_empty_machine_work() {
    let page = include_str!("../../../docs/backup.md");
    let lines: Vec<&str> = page
        .lines()
        .skip_while(|line| line.trim() != "createdb rookery_restored")
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    assert!(lines.len() == 3 && lines[2] == "rookery backup restore", "{lines:?}");
    let backed = Backed::start().await;
    backed.create();
    let wanted = rows(backed.site.database.url()).await;
    let name = format!("{}_restored", backed.site.database.name());
    let url = backed.site.database.url().replace(backed.site.database.name(), &name);
    let bin = backed.site.folder.join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(rookery_world::program(), bin.join("rookery")).unwrap();
    let settings = backed.command(&[]);
    let mut shell = Command::new("sh");
    for (name, value) in settings.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(&path))).unwrap();
    let server = url::Url::parse(&url).unwrap();
    let done = shell
        .args(["-euc", &lines.join("\n").replace("rookery_restored", &name)])
        .env("PATH", path)
        .env("PGHOST", server.host_str().unwrap())
        .env("PGPORT", server.port().unwrap().to_string())
        .env("PGUSER", server.username())
        .env("ROOKERY_DATABASE_URL", &url)
        .env("ROOKERY_BLOBS", format!("file://{}", backed.site.folder.join("restored").display()))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(rows(&url).await, wanted);
    let mut conn = PgConnection::connect(backed.site.database.url()).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("drop database {name} with (force)")))
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
}
