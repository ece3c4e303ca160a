//! A booking type that an operator makes: its page is there at once, and what cannot be leaves nothing behind.

use rookery_world::site::{Site, text};

async fn hours(site: &Site) -> Vec<(String, i16, i16, i64)> {
    let pool = sqlx::PgPool::connect(site.database.url()).await.unwrap();
    let hours = sqlx::query_as(
        "select time_zone, opens, closes, count(*) from booking_hours join booking_hosts using (workspace_id, person_id)
         group by 1, 2, 3",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    pool.close().await;
    hours
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_makes_a_booking_type_with_one_command() {
    let site = Site::migrated().await;
    let (workspace, owner) = site.workspace();
    site.inbox(&workspace, "help@acme.example", "Help");
    let named = ["create-booking-type", "--workspace", &workspace, "--minutes", "30"];
    let nobody = if owner.ends_with('0') {
        owner.replace('0', "1")
    } else {
        format!("{}0", &owner[..owner.len() - 1])
    };
    let wrong = [
        (&["--host", "usr_nobody", "--name", "Call"][..], "not an id of this kind"),
        (&["--host", &nobody, "--name", "Call"], "rookery: "),
        (&["--host", &owner, "--name", "Call", "--hours", "9"], "8:00-16:30"),
        (&["--host", &owner, "--name", "Call", "--time-zone", "Mars/Olympus"], "Europe/Berlin"),
    ];
    for (more, said) in wrong {
        let output = site.run(&[&["admin"], &named[..], more].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(said), "{more:?}: {told}");
        assert_eq!(hours(&site).await, [], "{more:?}");
    }
    let made = site.admin(&[&named[..], &["--host", &owner, "--name", "Call", "--slug", "call"]].concat());
    assert!(text(&made, "bookingType").starts_with("bkt_"), "{made}");
    let url = text(&made, "url");
    assert!(url.ends_with("/book/acme/call"), "{url}");
    assert_eq!(hours(&site).await, [("UTC".to_owned(), 540, 1020, 5)], "weekdays, nine to five");
    let twice =
        site.run(&[&["admin"], &named[..], &["--host", &owner, "--name", "Call", "--slug", "call"]].concat());
    assert!(!twice.status.success() && !twice.stderr.is_empty(), "{twice:?}");
    let more =
        ["--host", &owner, "--name", "A visit", "--time-zone", "Asia/Kolkata", "--hours", "8:00-16:30"];
    let made = site.admin(&[&named[..], &more].concat());
    assert_eq!(text(&made, "slug"), "a-visit");
    assert_eq!(hours(&site).await, [("Asia/Kolkata".to_owned(), 480, 990, 5)]);
    let node = site.serve("one", &[]).await;
    let page = site.http.get(format!("{}/book/acme/a-visit", node.address)).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert!(page.text().await.unwrap().contains("A visit"));
}
