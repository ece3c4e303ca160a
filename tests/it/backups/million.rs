//! A workspace with a million messages: how long a backup, its proof and its restore take, and how large it is. Run it with
//! `just backup-million`; docs/backup.md has what came out. The database is on a disk and durable, as an operator's is.

use std::time::Instant;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{Backed, Fresh};
use rookery_world::cluster::{Cluster, Settings};

/// A file for each hundredth message, of so many bytes.
const FILE: usize = 50_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes and gigabytes"]
async fn a_million_messages_are_backed_up_proven_and_restored() {
    #[expect(clippy::disallowed_methods, reason = "how many is the operator's choice")]
    let wanted: i64 = std::env::var("MESSAGES").map_or(1_000_000, |number| number.parse().unwrap());
    let settings = Settings {
        durable: true,
        in_memory: false,
        shared_buffers: "128MB",
        keep: None,
        more: &["max_wal_size = 4GB", "maintenance_work_mem = 256MB"],
    };
    let cluster = tokio::task::spawn_blocking(move || Cluster::start(&settings)).await.unwrap();
    let backed = Backed::on(&cluster).await;
    let mut conn = PgConnection::connect(backed.site.database.url()).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("set test.messages = {wanted}; {FILL}")))
        .execute(&mut conn)
        .await
        .unwrap();
    let (messages, bytes): (i64, i64) =
        sqlx::query_as("select (select count(*) from messages), pg_database_size(current_database())")
            .fetch_one(&mut conn)
            .await
            .unwrap();
    assert!(messages > wanted, "{messages}");
    conn.close().await.unwrap();
    let folder = backed.site.folder.join("blobs/ws").join(&backed.workspace).join("load");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 0..wanted / 100 {
        let file: Vec<u8> = number.to_be_bytes().into_iter().cycle().take(FILE).collect();
        std::fs::write(folder.join(number.to_string()), file).unwrap();
    }
    println!("{messages} messages in {} MB, {} files of {FILE} bytes", bytes / 1_000_000, wanted / 100);
    let timed = |what: &str, run: &dyn Fn()| {
        let began = Instant::now();
        run();
        println!("{what}: {:.0} s", began.elapsed().as_secs_f64());
    };
    let size = || {
        let told = std::process::Command::new("du").args(["-sm"]).arg(backed.folder()).output().unwrap();
        println!(
            "the folder: {} MB",
            String::from_utf8_lossy(&told.stdout).split_whitespace().next().unwrap()
        );
    };
    timed("create", &|| drop(backed.backup(&["create"])));
    size();
    timed("verify", &|| drop(backed.backup(&["verify"])));
    timed("create again, when no file is new", &|| drop(backed.backup(&["create"])));
    size();
    let fresh = Fresh::on(&cluster, &backed).await;
    timed("restore", &|| drop(fresh.restore(&backed, &[])));
    let mut conn = PgConnection::connect(fresh.database.url()).await.unwrap();
    let back: i64 = sqlx::query_scalar("select count(*) from messages").fetch_one(&mut conn).await.unwrap();
    assert_eq!(back, messages);
    conn.close().await.unwrap();
}

/// Copies of the one conversation and its mail: ten messages each with words that differ and mail of a kilobyte, and what
/// is searched.
const FILL: &str = "
set session_replication_role = replica;
create temp table one_conversation as select * from conversations limit 1;
create temp table one_message as select * from messages limit 1;
create temp table one_words as select * from conversation_words limit 1;
create temp table vocabulary as select regexp_split_to_array(
    'the a and to of in is it you that for on with we are this be have not was at by can your from our please would when flat
     key deposit invoice contract tenant heating repair plumber water account transfer amount today tomorrow week month street
     house window door kitchen balcony neighbour noise question answer thanks regards appointment visit letter signed copy',
    '[[:space:]]+') as word;
create function pg_temp.others(of regclass, without text[]) returns text language sql as $$
    select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
    where attrelid = of and attnum > 0 and not attisdropped and attgenerated = '' and attname <> all (without) $$;
do $$
declare
    messages bigint := current_setting('test.messages');
    conversations bigint := messages / 10;
    columns_c text := pg_temp.others('conversations', '{id}');
    columns_w text := pg_temp.others('conversation_words', '{conversation_id}');
    columns_m text := pg_temp.others('messages',
        '{id,conversation_id,text,id_hash,content_hash,rfc_message_id,raw,raw_blob,item}');
begin
    execute format('insert into conversations (id, %1$s) select id + n, %1$s from one_conversation, generate_series(1, %2$s) n',
                   columns_c, conversations);
    execute format('insert into conversation_words (conversation_id, %1$s)
                    select conversation_id + n, %1$s from one_words, generate_series(1, %2$s) n', columns_w, conversations);
    execute format('insert into messages (id, conversation_id, text, raw, id_hash, content_hash, item, %1$s)
                    select id + n, conversation_id + 1 + n %% %2$s, said, convert_to(said || said, ''UTF8''), n,
                           decode(md5(n::text) || md5(n::text), ''hex''), n, %1$s
                    from one_message, vocabulary, generate_series(1, %3$s) n,
                         lateral (select string_agg(word[1 + (hashint8(n * 90 + k) & 63)], '' '') as said
                                  from generate_series(1, 90) k) words', columns_m, conversations, messages);
end $$;
";
