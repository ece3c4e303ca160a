//! Mail that strangers can have sent to strangers: codes, invitations, booking mail. It has caps by network, address, page and
//! workspace that all nodes share, and it carries no link that somebody typed as a name.

use std::net::{IpAddr, Ipv6Addr};

use chrono::TimeDelta;
use rookery_base::app::App;
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::stranger_mail::{self, StrangerMail, Whose};
use rookery_base::random::Random;
use rookery_core::workspace::one_time_codes::{self, CodeMail, CodeScope, CodeSending, Purpose};
use rookery_core::workspace::people::Role;
use rookery_product::bookings::book::BookingRefusal;

use rookery_world::pages::sign_in::mailed_to;
use rookery_world::verbs::bookings::{a_type, at, bookable, books};
use rookery_world::{World, story};

const PHISH: &str = "Your bank: claim 940 EUR at https://bank.evil.example/r before noon";
const INVITE: &str = "/settings/people/invite";
const PAGE: &str = "/book/acme/call";
const FREE: &str = "2031-01-09T09:30Z";

fn of_site(site: u16, network: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0x470, site, network, 0, 0, 0, 1).into()
}

/// A stranger has a code sent, as the page does; what was refused is not committed.
async fn asks(app: &App, workspace: WorkspaceId, page: i64, address: &str, network: IpAddr) -> CodeSending {
    let mut tx = app.begin(workspace).await.unwrap();
    let proof = CodeScope { purpose: Purpose::Booking, subject: page, address };
    let mail = CodeMail { subject: "Your code", body: "Your code: {code}" };
    let sent = one_time_codes::send(app, &mut tx, proof, network, mail).await.unwrap();
    if sent == CodeSending::Now {
        tx.commit().await.unwrap();
    }
    sent
}

fn whose(sent: CodeSending) -> Option<Whose> {
    match sent {
        CodeSending::Refused(too_much) => Some(too_much.whose),
        CodeSending::Now | CodeSending::Before => None,
    }
}

/// Another node on the same database, which has counted nothing itself.
fn another_node(world: &World, seed: u64) -> App {
    App::new(world.app.config.clone(), world.app.clock.clone(), Random::seeded(seed)).unwrap()
}

#[tokio::test]
async fn codes_of_a_page_are_capped_by_48_and_by_page_on_all_nodes_and_the_page_says_so() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let id = a_type(&acme, &[acme.owner]).await;
        let page = id.0;
        // A hundred networks of one customer of a provider, by two nodes.
        let nodes = [another_node(world, 8), another_node(world, 9)];
        let mut sent = 0;
        for n in 0..100 {
            let (node, address) = (&nodes[usize::from(n % 2)], format!("a{n}@x.example"));
            sent += usize::from(asks(node, acme.id, page, &address, of_site(1, n)).await == CodeSending::Now);
        }
        assert_eq!(sent, 40, "one /48");
        let node = another_node(world, 10);
        // From everywhere: each network once.
        for n in 0..60 {
            let sent = asks(&node, acme.id, page, &format!("b{n}@x.example"), of_site(2 + n, 0)).await;
            assert_eq!(sent, CodeSending::Now, "{n}");
            if n == 40 {
                let again = asks(&node, acme.id, page, "again@x.example", of_site(2, 7)).await;
                assert_eq!(
                    whose(again),
                    Some(Whose::Network),
                    "the last third is for those who asked for none"
                );
            }
        }
        let over = asks(&node, acme.id, page, "c@x.example", of_site(999, 0)).await;
        assert_eq!(whose(over), Some(Whose::Page));
        assert_eq!(world.scalar("select count(*) from notices where kind = 'one_time_code'").await, 100);
        assert_eq!(
            world.scalar("select count(*) from one_time_codes where address = 'c@x.example'").await,
            0
        );

        let visitor = world.http.post(format!("{}{PAGE}", world.address)).header("origin", "null");
        let form = "at=2031-01-09T09%3A30Z&name=Ada&email=ada%40customer.example&q0=1&press=p";
        let told =
            visitor.header("content-type", "application/x-www-form-urlencoded").body(form).send().await;
        let told = told.unwrap();
        let wait: i64 = told.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert_eq!((told.status().as_u16(), (1..=3600).contains(&wait)), (429, true), "{wait}");
        let html = told.text().await.unwrap();
        assert!(html.contains("come back in an hour, or write to us"), "{html}");
        assert!(html.contains("ada@customer.example"), "what was typed stays: {html}");

        // Others are not touched: another page, secure messages, another workspace; and it ends by itself.
        assert_eq!(asks(&node, acme.id, page + 1, "c@x.example", of_site(999, 0)).await, CodeSending::Now);
        let globex = world.workspace("Globex").await;
        assert_eq!(asks(&node, globex.id, page, "c@x.example", of_site(999, 0)).await, CodeSending::Now);
        world.wait(TimeDelta::minutes(61));
        assert_eq!(asks(&node, acme.id, page, "d@x.example", of_site(1, 0)).await, CodeSending::Now);
        world.work().await;
        let left = world
            .scalar("select count(*) from stranger_mail where what = 'booking codes of an address'")
            .await;
        assert_eq!(left, 1, "what is over is forgotten");
    })
    .await;
}

#[tokio::test]
async fn an_address_gets_three_codes_an_hour_from_a_workspace_whichever_node_is_asked() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let nodes = [another_node(world, 8), another_node(world, 9)];
        for n in 0..6 {
            let sent = asks(&nodes[n % 2], acme.id, n as i64, "ada@x.example", of_site(n as u16, 0)).await;
            assert_eq!(whose(sent), if n < 3 { None } else { Some(Whose::Address) }, "{n}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_workspace_with_many_pages_has_a_cap_of_its_own_and_no_two_at_once_pass_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        world
            .sql(&format!(
                "insert into stranger_mail (workspace_id, what, subject, n, ends_at)
                 values ({}, 'booking codes', 0, 298, '{}')",
                acme.id.0,
                world.now() + TimeDelta::minutes(30)
            ))
            .await;
        let ask = async |n: i64| {
            asks(&world.app, acme.id, n, &format!("a{n}@x.example"), of_site(n as u16, 0)).await
        };
        let sent = futures::future::join_all((0..4).map(ask)).await;
        let refused: Vec<_> = sent.into_iter().filter_map(whose).collect();
        assert_eq!(refused, [Whose::Workspace, Whose::Workspace]);
        assert_eq!(
            world.scalar("select n::bigint from stranger_mail where what = 'booking codes'").await,
            300
        );
    })
    .await;
}

#[tokio::test]
async fn inviting_withdrawing_and_inviting_others_ends_at_a_hundred_a_day() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let emails =
            |batch: usize| (0..20).map(|n| format!("s{batch}x{n}@x.example")).collect::<Vec<_>>().join("\n");
        for batch in 0..5 {
            let sent = owner.post(INVITE, &[("emails", &emails(batch)), ("role", "member")]).await;
            assert_eq!(sent.status, 303, "{}", sent.html);
            world.sql("delete from invitations").await;
        }
        let over = owner.post(INVITE, &[("emails", &emails(5)), ("role", "member")]).await;
        assert_eq!(over.status, 429, "{}", over.html);
        assert!(over.html.contains("more invitations than your team can send in a day"), "{}", over.html);
        assert!(over.html.contains("s5x0@x.example"), "what was typed stays");
        assert_eq!(world.scalar("select count(*) from invitations").await, 0, "all or none");
        assert_eq!(world.scalar("select count(*) from notices where kind = 'invitation'").await, 100);
        let globex = world.workspace("Globex").await;
        let neighbour = world.browser(globex.id, globex.owner).await;
        assert_eq!(
            neighbour.post(INVITE, &[("emails", "a@x.example"), ("role", "member")]).await.status,
            303
        );
        world.wait(TimeDelta::hours(25));
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(owner.post(INVITE, &[("emails", &emails(5)), ("role", "member")]).await.status, 303);
    })
    .await;
}

#[tokio::test]
async fn mail_about_bookings_is_capped_by_page_and_nothing_is_booked_beyond_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let id = a_type(&acme, &[acme.owner]).await;
        let bookable = bookable(&world.app, acme.id, id).await;
        let mut tx = world.app.begin(acme.id).await.unwrap();
        for n in 0..200 {
            let address = format!("a{n}@x.example");
            let counted =
                stranger_mail::count(&mut tx, StrangerMail::Booking { page: id.0, address: &address });
            counted.await.unwrap().unwrap();
        }
        tx.commit().await.unwrap();
        let starts_at = at("2031-01-09T09:30:00Z");
        let refused = books(&world.app, &bookable, "ada@x.example", starts_at, None).await.unwrap();
        assert_eq!(refused.unwrap_err(), BookingRefusal::TooMuchMail);
        assert_eq!(world.scalar("select count(*) from bookings").await, 0);
        world.wait(TimeDelta::minutes(61));
        books(&world.app, &bookable, "ada@x.example", starts_at, None).await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn names_that_are_mailed_to_strangers_hold_no_links_wherever_they_are_typed() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let inbox = acme.mailbox("sales@acme.example", "Sales").await;
        let owner = world.browser(acme.id, acme.owner).await;
        let profile =
            [("name", PHISH), ("zone", "UTC"), ("theme", "auto"), ("signature", ""), ("dates", "day_month")];
        let its_page = format!("/settings/inboxes/{inbox}");
        let typed = [
            ("/profile", profile.to_vec()),
            ("/welcome/name", vec![("name", PHISH), ("zone", "UTC")]),
            ("/settings/inboxes", vec![("address", "new@acme.example"), ("name", PHISH)]),
            (&its_page, vec![("name", PHISH)]),
        ];
        for (path, fields) in typed {
            let refused = owner.post(path, &fields).await;
            assert_eq!(refused.status, 400, "{path}: {}", refused.html);
            assert!(refused.html.contains("cannot hold a web or mail address"), "{path}: {}", refused.html);
        }
        owner.post(INVITE, &[("emails", "lea@x.example"), ("role", "member")]).await;
        let link = mailed_to(world, "lea@x.example").await.remove(0);
        let joins = world.browser_with("").post(&link, &[("name", PHISH), ("password", "")]).await;
        assert!(
            joins.status == 400 && joins.html.contains("cannot hold a web or mail address"),
            "{}",
            joins.html
        );
        assert_eq!(
            world.browser_with("").post(&link, &[("name", "Lea"), ("password", "")]).await.status,
            303
        );

        a_type(&acme, &[acme.owner]).await;
        let fields = [("at", FREE), ("name", PHISH), ("email", "ada@x.example"), ("q0", "1"), ("press", "p")];
        let refused = world.browser_with("").post(PAGE, &fields).await;
        assert_eq!(refused.status, 422, "{}", refused.html);
        assert!(refused.html.contains("without a web or mail address"), "{}", refused.html);
        let made = rookery_product::bookings::types::settings::Settings::new(PHISH, "other", 30, acme.owner)
            .checked();
        assert!(made.unwrap_err().sentence().contains("cannot hold a web or mail address"));
    })
    .await;
}

/// Names from before they were looked at, and those of an identity provider.
#[tokio::test]
async fn names_that_hold_a_link_already_are_mailed_without_it() {
    story(async |world| {
        let acme = world.workspace("Acme").await;
        let id = a_type(&acme, &[acme.owner]).await;
        acme.person("Mia", Role::Member).await;
        let evil = "refund at https://bank.evil.example/r or evil.com";
        for table in ["workspaces", "people", "mailboxes", "booking_types"] {
            world.sql(&format!("update {table} set name = '{evil}'")).await;
        }
        let owner = world.browser(acme.id, acme.owner).await;
        assert_eq!(owner.post(INVITE, &[("emails", "lea@x.example"), ("role", "member")]).await.status, 303);
        let fields = [("at", FREE), ("name", "Ada"), ("email", "ada@x.example"), ("q0", "1"), ("press", "p")];
        assert_eq!(world.browser_with("").post(PAGE, &fields).await.status, 200);
        let bookable = bookable(&world.app, acme.id, id).await;
        books(&world.app, &bookable, "ada@x.example", at("2031-01-09T10:30:00Z"), None)
            .await
            .unwrap()
            .unwrap();
        world.browser_with("").post("/sign-in", &[("email", "mia@rookery.example")]).await;
        world.work().await;
        let letters = world.outbox.letters();
        let kinds = ["invites you", "Your code", "Booked:", "Sign in to"];
        for kind in kinds {
            let letter = letters.iter().find(|letter| letter.subject.contains(kind)).expect(kind);
            let all = format!("{:?} {} {}", letter.from_name, letter.subject, letter.text);
            assert!(!all.contains("evil.example") && !all.contains("evil.com"), "{kind}: {all}");
            assert!(letter.subject.contains("refund at … or evil com"), "{kind}: {}", letter.subject);
        }
        // What was there may stay while something else is changed.
        let kept =
            [("name", evil), ("zone", "UTC"), ("theme", "dark"), ("signature", ""), ("dates", "day_month")];
        let saved = owner.post("/profile", &kept).await;
        assert_eq!(saved.status, 303, "{}", saved.html);
    })
    .await;
}
