//! Blobs are written and read in parts: memory does not grow with a file, and of what is not finished nothing stays.
//! `just s3` runs these once more against a real S3 server.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use chrono::TimeDelta;
use futures::{Stream, StreamExt, TryStreamExt, future, stream};
use rookery_base::error::{Error, Result};
use rookery_base::secrets::hashes::sha256;
use rookery_base::store::blobs::{Blob, StoredBlob};

use rookery::worker::sweep::OWNERS;
use serde_json::json;

use rookery_world::{Mode, Workspace, World, s3, story};

const PIECE: usize = 64 * 1024;
/// Much less than the file.
const BUDGET: usize = 1024 * 1024;
/// More than five of the parts that S3 takes.
const LARGE: usize = 26 * 1024 * 1024;

/// The `number`th of many pieces that all differ.
fn piece(number: usize) -> Bytes {
    let pattern = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    pattern.repeat(PIECE / pattern.len()).into()
}

fn pieces(count: usize) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::iter((0..count).map(|number| Ok(piece(number))))
}

fn content(count: usize) -> Vec<u8> {
    (0..count).flat_map(|number| piece(number).to_vec()).collect()
}

async fn write(workspace: &Workspace<'_>, content: Vec<u8>, at_most: u64) -> Result<StoredBlob> {
    let content = stream::iter([Ok::<Bytes, Error>(content.into())]);
    workspace.world.app.blobs.write(workspace.id, "file", content, at_most).await
}

/// Waits until the store holds nothing, finished or not: what was dropped is taken away by a task of its own.
async fn assert_nothing_is_left(world: &World) {
    let mut left = held(world);
    for _ in 0..600 {
        if left.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        left = held(world);
    }
    panic!("left behind: {left:?}");
}

fn held(world: &World) -> Vec<PathBuf> {
    let Some((_, server)) = std::env::vars_os().find(|(name, _)| name == "TEST_S3_FOLDER") else {
        return world.files().into_iter().collect();
    };
    // The server keeps what is finished in a folder of the bucket, and parts of what is not, of all tests, beside it.
    let server = PathBuf::from(server);
    let finished = files_below(server.join("rookery").join(world.database.name()));
    let beside = fs::read_dir(&server).unwrap().map(|entry| entry.unwrap().path());
    let parts = beside.filter(|path| path.to_string_lossy().contains("/.upload"));
    finished.into_iter().chain(parts).collect()
}

fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![folder]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files
}

#[tokio::test]
async fn a_file_far_above_the_budget_is_written_and_read_in_parts() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let given = Cell::new(0);
        let most_waiting = Cell::new(0);
        let source = stream::iter(0..LARGE / PIECE).map(|number| {
            // What was given and is not on disk is in memory.
            if s3().is_none() {
                let stored: u64 = world.files().iter().map(|file| fs::metadata(file).unwrap().len()).sum();
                most_waiting.set(most_waiting.get().max(given.get() - stored as usize));
                assert!(
                    world.files().iter().all(|file| file.to_string_lossy().contains('#')),
                    "not seen yet"
                );
            }
            given.set(given.get() + PIECE);
            Ok::<_, Error>(piece(number))
        });
        let written = world.app.blobs.write(acme.id, "file", source, LARGE as u64).await.unwrap();
        assert!(most_waiting.get() <= BUDGET, "{} bytes were held back", most_waiting.get());
        let whole = content(LARGE / PIECE);
        assert_eq!(written.length, LARGE as u64);
        assert_eq!(written.hash, sha256(&whole));
        if s3().is_none() {
            let file = world.files().into_iter().next().unwrap();
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }

        let Blob { length, mut bytes } = world.app.blobs.read(&written.key).await.unwrap();
        assert_eq!(length, LARGE as u64);
        let mut read = 0;
        while let Some(piece) = bytes.try_next().await.unwrap() {
            assert!(piece.len() <= BUDGET, "{} bytes at once", piece.len());
            assert!(whole[read..].starts_with(&piece), "other bytes from {read} on");
            read += piece.len();
        }
        assert_eq!(read, LARGE);
    })
    .await;
}

#[tokio::test]
async fn files_of_every_size_come_back_and_one_byte_too_many_is_refused() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        for part in [256 * 1024, 5 * 1024 * 1024] {
            for size in [0, 1, part - 1, part, part + 1, 2 * part] {
                let content: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
                let written = write(&acme, content.clone(), size as u64).await.unwrap();
                assert_eq!(written.length, size as u64);
                assert_eq!(written.hash, sha256(&content));
                assert!(world.app.blobs.get(&written.key).await.unwrap() == content, "{size} bytes");
                world.app.blobs.remove([&written.key]).await.unwrap();
                if size > 0 {
                    let refused = write(&acme, content, size as u64 - 1).await.unwrap_err();
                    assert!(matches!(refused, Error::TooLarge), "{refused:?}");
                }
            }
        }
        assert_nothing_is_left(world).await;
    })
    .await;
}

#[tokio::test]
async fn a_write_that_fails_or_is_dropped_midway_leaves_nothing() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let blobs = &world.app.blobs;
        for megabytes in [0, 1, 12] {
            let given = megabytes * 16;
            // The source breaks off.
            let broken = pieces(given).chain(stream::once(future::ready(Err(Error::internal("cut")))));
            let error = blobs.write(acme.id, "file", broken, u64::MAX).await.unwrap_err();
            assert_eq!(error.to_string(), "cut");
            // It is more than allowed, and the rest is not even asked for.
            let asked = Cell::new(0);
            let endless = stream::repeat_with(|| {
                asked.set(asked.get() + 1);
                Ok::<_, Error>(piece(0))
            });
            let refused = blobs.write(acme.id, "file", endless, (given * PIECE) as u64).await.unwrap_err();
            assert!(matches!(refused, Error::TooLarge), "{refused:?}");
            assert_eq!(asked.get(), given + 1);
            // Whoever wrote it went away.
            let stuck = pieces(given).chain(stream::pending());
            let writing = blobs.write(acme.id, "file", stuck, u64::MAX);
            assert!(tokio::time::timeout(Duration::from_secs(2), writing).await.is_err());
        }
        assert_nothing_is_left(world).await;
        let today = blobs.of_day(acme.id, world.app.clock.now().date_naive());
        let seen: Vec<String> = today.try_collect().await.unwrap();
        assert_eq!(seen, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn every_column_that_names_files_has_an_owner_whom_the_sweep_asks() {
    story(async |world| {
        let named: BTreeSet<String> = sqlx::query_scalar(
            "select format('%s.%s', relname, attname)
             from pg_attribute join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
             where nspname = 'public' and relkind in ('r', 'p') and not relispartition and not attisdropped
               and attname ~ '(^|_)(blobs?|attachments?)$'",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap()
        .into_iter()
        .collect();
        let asked = OWNERS.iter().flat_map(|owner| owner.columns);
        assert_eq!(named, asked.map(ToString::to_string).collect());
    })
    .await;
}

#[tokio::test]
async fn a_file_that_one_row_of_any_owner_names_outlives_the_sweep() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let key = acme.key("bot", "write", Mode::Test).await;
        for (name, one_owner) in [
            ("attached.txt", "delete from documents; update messages set raw_blob = null"),
            ("filed.txt", "update messages set attachments = '[]', raw_blob = null where attachments::text like '%filed%'"),
            ("raw.txt", "update messages set attachments = '[]' where raw_blob is not null; delete from documents where filename = 'raw.txt'"),
        ] {
            let content = "A".repeat(120_000);
            let file = json!({ "filename": name, "contentType": "text/plain", "content": content });
            key.simulate(json!({ "from": "ada@x.test", "text": "Hello", "attachments": [file] })).await;
            world.sql(one_owner).await;
        }
        let stored: Vec<String> = sqlx::query_scalar(
            "select jsonb_array_elements(attachments) ->> 'blob' from messages
             union all select raw_blob from messages where raw_blob is not null union all select blob from documents",
        )
        .fetch_all(&world.app.pool)
        .await
        .unwrap();
        assert_eq!(stored.len(), 3, "each is named once");
        world.wait(TimeDelta::days(2));
        world.work().await;
        for blob in &stored {
            world.app.blobs.get(blob).await.expect("an owner holds it");
        }
        let left = world.app.blobs.of_day(acme.id, world.app.clock.now().date_naive() - TimeDelta::days(2));
        let mut left: Vec<String> = left.try_collect().await.unwrap();
        left.sort();
        let mut stored = stored;
        stored.sort();
        assert_eq!(left, stored, "the others are gone");
    })
    .await;
}
