//! A cell that hangs, and a directory that is away, take nobody with them: requests for the others go on, and so does whoever
//! was served before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::fleet::{Fleet, Serves, Tenant};
use rookery_world::Reply;
use rookery_world::mail::client::Client;
use rookery_world::mail::dns::Zone;
use rookery_world::ports;
use rookery_world::site::{Node, until};

/// A node, or a balancer before one, that takes connections and says nothing.
struct Hung {
    address: String,
    open: Arc<AtomicUsize>,
}

impl Hung {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, open) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
        let counted = open.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let counted = counted.clone();
                tokio::spawn(async move {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let mut bytes = [0; 4096];
                    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
                    counted.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, open }
    }

    async fn has_open(&self, wanted: impl Fn(usize) -> bool) {
        for _ in 0..400 {
            if wanted(self.open.load(Ordering::SeqCst)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} are open", self.open.load(Ordering::SeqCst));
    }
}

async fn here_and_there(fleet: &Fleet) -> (Tenant, Tenant) {
    let (acme, birch) = (fleet.workspace("Acme"), fleet.workspace("Birch"));
    match fleet.lives_in(&acme).await.as_str() {
        "main" => (acme, birch),
        _ => (birch, acme),
    }
}

async fn me(fleet: &Fleet, node: &Node, tenant: &Tenant) -> (u16, Duration) {
    let began = Instant::now();
    let status = fleet.site.get(node, "/api/v1/me", &tenant.live).await.status;
    (status, began.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cell_that_hangs_holds_few_and_nobody_whose_client_has_left() {
    let fleet = Fleet::new().await;
    let (here, there) = here_and_there(&fleet).await;
    let mut beside = fleet.workspace("Cedar");
    while fleet.lives_in(&beside).await == "main" {
        beside = fleet.workspace("Dune");
    }
    let hung = Hung::start().await;
    let address = format!("http://{}", hung.address);
    let known = fleet.run(&["cells", "add", "west", "--address", &address, "--mail-address", &hung.address]);
    assert!(known.status.success(), "{known:?}");
    // And another one, which has no workspaces.
    let another = format!(
        "insert into directory.cells (name, address, mail_address) values ('east', '{address}', '{}')",
        hung.address
    );
    fleet.run_sql("main", another).await;
    let (smtp, zone) = (ports::free().to_string(), Zone::serve(&[]).await);
    let dns = zone.address.to_string();
    let settings =
        [("ROOKERY_HTTP_CONNECTIONS", "40"), ("ROOKERY_SMTP_LISTEN", &*smtp), ("ROOKERY_DNS", &*dns)];
    let main = fleet.serve("main", Serves::Main, &settings).await;
    assert_eq!(me(&fleet, &main, &here).await.0, 200);

    // A quarter of the node's connections may wait for it, half of those for one workspace.
    let waits = async |tenant: &Tenant| {
        join_all((0..5).map(async |_| {
            let request =
                fleet.site.http.get(format!("{}/api/v1/me", main.address)).bearer_auth(&tenant.live);
            request.timeout(Duration::from_secs(3)).send().await.is_err_and(|error| error.is_timeout())
        }))
        .await
    };
    let waiting_beside = async {
        hung.has_open(|open| open == 5).await;
        assert_eq!(me(&fleet, &main, &there).await.0, 429, "its share is taken");
        waits(&beside).await
    };
    let others = async {
        hung.has_open(|open| open == 10).await;
        let (status, took) = me(&fleet, &main, &there).await;
        assert!(
            status == 500 && took < Duration::from_secs(2),
            "the next is told at once: {status} {took:?}"
        );
        let (status, took) = me(&fleet, &main, &here).await;
        assert!(status == 200 && took < Duration::from_secs(2), "others notice nothing: {status} {took:?}");
    };
    let (left, beside, ()) = futures::join!(waits(&there), waiting_beside, others);
    assert_eq!([left, beside], [[true; 5], [true; 5]], "none was answered");
    hung.has_open(|open| open == 0).await;

    // Whoever signs in is looked for in both as well, at once, and is not kept.
    let asked =
        fleet.site.http.post(format!("{}/sign-in", main.address)).body("email=olga%40nowhere.example");
    let asked = asked.header("content-type", "application/x-www-form-urlencoded");
    let began = Instant::now();
    assert_eq!(Reply::of(asked).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());

    // Mail.
    let mailbox = ["--address", "help@birch.example", "--name", "Help"];
    fleet.admin(&[&["create-mailbox", "--workspace", &there.id], &mailbox[..]].concat());
    let mail = "Message-ID: <1@customer.example>\r\nFrom: carla@customer.example\r\nSubject: By mail\r\n\r\nHello\r\n";
    for most in [Duration::from_secs(8), Duration::from_secs(2)] {
        let mut client = Client::greeted(smtp.parse().unwrap()).await;
        let began = Instant::now();
        let answer = client.mail("carla@customer.example", "help@birch.example", mail).await;
        assert_eq!(answer.code, 451, "{answer:?}");
        assert!(
            began.elapsed() < most,
            "a cell that has just failed is not waited for: {:?}",
            began.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_directory_is_away_the_last_known_place_serves() {
    let fleet = Fleet::new().await;
    let (_, there) = here_and_there(&fleet).await;
    let node = fleet.serve("west", Serves::West, &[]).await;
    assert_eq!(me(&fleet, &node, &there).await.0, 200);
    let main = fleet.url("main").rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    let admin = fleet.pool("main").await;
    let other = fleet.url("main").replace(&format!("/{main}"), "/postgres");
    let server = sqlx::PgPool::connect(&other).await.unwrap();
    admin.close().await;
    let away = format!(
        "alter database {main} allow_connections false;
         select pg_terminate_backend(pid) from pg_stat_activity where datname = '{main}'"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(away)).execute(&server).await.unwrap();
    tokio::time::sleep(rookery_base::cells::REMEMBERED_FOR).await;
    for _ in 0..10 {
        let (status, took) = me(&fleet, &node, &there).await;
        assert!(status == 200 && took < Duration::from_secs(3), "{status} {took:?}");
    }
    // Where it has moved away from meanwhile, it is not served: a fence that closed says so.
    let fenced = format!("update workspaces set fenced_at = clock_timestamp() where id = {}", there.number());
    fleet.run_sql("west", fenced).await;
    assert_eq!(me(&fleet, &node, &there).await.0, 500);
    fleet.run_sql("west", "update workspaces set fenced_at = null").await;
    assert_eq!(me(&fleet, &node, &there).await.0, 200);
    let back = format!("alter database {main} allow_connections true");
    sqlx::raw_sql(sqlx::AssertSqlSafe(back)).execute(&server).await.unwrap();
    until(&fleet.pool("main").await, "select true").await;
    assert_eq!(me(&fleet, &node, &there).await.0, 200);
}
