//! The pages themselves: small, without cookies and scripts, in the visitor's language and zone, in frames of listed origins only.

use super::{AT, PAGE, books, open};
use rookery_world::story;

#[tokio::test]
async fn every_page_is_small_and_sets_no_cookie_and_needs_no_script() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let private = books(&ada, "ada@customer.example", AT).await;
        let paths = [
            PAGE.to_owned(),
            format!("{PAGE}?zone=Asia/Calcutta&week=2031-01-13"),
            format!("{PAGE}?at=2031-01-10T09:30Z"),
            private.clone(),
            format!("{private}/cancel"),
            format!("{private}/move"),
            format!("{private}/move?at=2031-01-10T09:30Z"),
        ];
        for path in paths {
            let shown = ada.opens(&path).await;
            assert_eq!(shown.status, 200, "{path}: {}", shown.html);
            assert!(!shown.headers.contains_key("set-cookie"), "{path}");
            assert_eq!(shown.headers["cache-control"], "no-store", "{path}");
            let html = shown.page();
            println!("{path}: {} bytes", html.len());
            assert!(html.len() < 30_000, "{path}: {} bytes", html.len());
            assert!(
                !html.contains("<script>") && !html.contains(" style=") && !html.contains("onclick"),
                "{path}"
            );
        }
        for language in ["de", "fr", "es", "it", "nl", "pt"] {
            let shown = ada.opens_in(PAGE, language).await;
            assert_eq!(shown.headers["content-language"], language);
            let html = shown.page();
            assert!(
                !html.contains("First free time") && html.contains(&format!("<html lang=\"{language}\">")),
                "{html}"
            );
        }
        for nothing in ["/book/acme/other", "/book/nobody/call", "/book/acme/call/bkg_0000000000001/x"] {
            assert_eq!(ada.opens(nothing).await.status, 404, "{nothing}");
        }
    })
    .await;
}

#[tokio::test]
async fn wherever_the_visitor_is_the_same_instant_is_booked() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        for (zone, shown, day) in [
            ("Europe/Berlin", "10:30", "Thursday, 9 January"),
            ("Asia/Kolkata", "15:00", "Thursday, 9 January"),
            ("Asia/Calcutta", "15:00", "Thursday, 9 January"),
            ("America/New_York", "04:30", "Thursday, 9 January"),
            ("Australia/Lord_Howe", "20:30", "Thursday, 9 January"),
            ("Pacific/Apia", "22:30", "Thursday, 9 January"),
            ("Pacific/Pago_Pago", "22:30", "Wednesday, 8 January"),
        ] {
            let times = ada.opens(&format!("{PAGE}?zone={zone}&week=2031-01-06")).await.page();
            assert!(times.contains(&format!("value=\"{AT}\">{shown}</button>")), "{zone}: {times}");
            let details = ada.opens(&format!("{PAGE}?zone={zone}&at={AT}")).await.page();
            assert!(details.contains(day) && details.contains(&format!("{shown} to ")), "{zone}: {details}");
        }
        let unknown = ada.opens(&format!("{PAGE}?zone=Mars/Base&week=2031-01-06")).await.page();
        assert!(unknown.contains(&format!("value=\"{AT}\">10:30</button>")), "the host's: {unknown}");
    })
    .await;
}

#[tokio::test]
async fn only_listed_origins_may_show_the_page_in_a_frame_and_never_the_private_one() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        let private = books(&ada, "ada@customer.example", AT).await;
        let policy = async |path: &str| {
            let shown = ada.opens(path).await;
            let framed = shown.headers.get("x-frame-options").is_none();
            (shown.headers["content-security-policy"].to_str().unwrap().to_owned(), framed)
        };
        let (alone, framed) = policy(PAGE).await;
        assert!(alone.ends_with("frame-ancestors 'none'") && !framed, "{alone}");
        world
            .sql("update booking_types set embed_origins = '{https://larkfield.example,\"https://x.example; script-src *\"}'")
            .await;
        let (listed, framed) = policy(PAGE).await;
        assert!(listed.ends_with("frame-ancestors https://larkfield.example") && framed, "{listed}");
        let (own, framed) = policy(&private).await;
        assert!(own.ends_with("frame-ancestors 'none'") && !framed, "{own}");
    })
    .await;
}

#[tokio::test]
async fn a_paused_type_offers_nothing() {
    story(async |world| {
        let (_, _, ada) = open(world).await;
        world.sql("update booking_types set state = 'paused'").await;
        let page = ada.page().await;
        assert!(
            page.contains("There are no free times at the moment.") && !page.contains("name=\"at\""),
            "{page}"
        );
        let refused = ada
            .submits(PAGE, &[("at", AT), ("name", "Ada"), ("email", "ada@customer.example"), ("q0", "1")])
            .await;
        assert_eq!(refused.status, 409);
        world.sql("update booking_types set state = 'removed'").await;
        assert_eq!(ada.opens(PAGE).await.status, 404);
    })
    .await;
}
