//! Many at once, or very slowly: what strangers can do to hold seats, threads and patience, and that honest mail from
//! elsewhere is taken meanwhile. Times are generous; what counts is what is answered and how many.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::future::join_all;
use rookery_base::secrets::hashes::sha256;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

use rookery_world::mail::client::{Answer, Client, crlf};
use rookery_world::mail::dns::Zone;
use rookery_world::mail::post::{mail, post, post_with};
use rookery_world::ports;
use rookery_world::site::Site;

const SOON: Duration = Duration::from_secs(20);

/// Attackers are 127.0.0.2 and up; honest senders 127.0.0.1.
fn attacker(number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2 + number))
}

async fn connect_from(source: IpAddr, to: SocketAddr) -> (Client<TcpStream>, Answer) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(source, 0)).unwrap();
    Client::over(socket.connect(to).await.expect("a connection")).await
}

/// A mail from 127.0.0.1 is taken, in time.
async fn honest_mail_is_taken(smtp: SocketAddr, subject: &str) {
    let raw = mail("anna@customer.example", subject, "", "Hello");
    let sent = async {
        let mut client = Client::greeted(smtp).await;
        client.mail("anna@customer.example", "help@acme.example", &raw).await
    };
    let answer = timeout(SOON, sent).await.expect("honest mail is answered in time");
    assert_eq!(answer.code, 250, "{answer:?}");
}

#[tokio::test]
async fn unknown_recipients_do_not_lock_the_front_server_out() {
    post(&[], async |post| {
        for round in 0..3 {
            // A front server goes on using its connection.
            let (mut front, _) = Client::connect(post.lmtp).await;
            front.say("LHLO front.acme.example").await;
            for number in 0..100 {
                front.say("XFORWARD ADDR=192.0.2.7").await;
                assert_eq!(front.say("MAIL FROM:<eve@eve.example>").await.code, 250, "{round} {number}");
                let answer = front.say(&format!("RCPT TO:<guess{number}@acme.example>")).await;
                assert_eq!(answer.code, 550, "{round} {number}: {answer:?}");
                assert_eq!(front.say("RSET").await.code, 250, "{round} {number}");
            }
        }
        let (mut front, greeting) = Client::connect(post.lmtp).await;
        assert_eq!(greeting.code, 220, "{greeting:?}");
        front.say("LHLO front.acme.example").await;
        let raw = mail("anna@customer.example", "Honest", "", "Hello");
        assert_eq!(front.mail("anna@customer.example", "help@acme.example", &raw).await.code, 250);
    })
    .await;
}

#[tokio::test]
async fn only_the_front_server_gets_in_at_lmtp() {
    post_with(&[("LMTP_PEERS", "127.0.0.9/32,192.0.2.0/24")], &[], async |post| {
        let (mut stranger, greeting) = Client::connect(post.lmtp).await;
        assert_eq!(greeting.code, 421, "{greeting:?}");
        assert_eq!(stranger.hear().await.code, 0);
        let (_, greeting) = connect_from("127.0.0.9".parse().unwrap(), post.lmtp).await;
        assert_eq!(greeting.code, 220, "{greeting:?}");
        // The world's door is not concerned.
        assert_eq!(Client::connect(post.smtp).await.1.code, 220);
    })
    .await;
}

/// A real node with an inbox, its SMTP address, and what was set for it.
async fn node(site: &Site, zone: &Zone, more: &[(&str, &str)]) -> (rookery_world::site::Node, SocketAddr) {
    let (workspace, _) = site.workspace();
    site.inbox(&workspace, "help@acme.example", "Help");
    let smtp = ports::free();
    let (listen, dns) = (smtp.to_string(), zone.address.to_string());
    let settings = [&[("ROOKERY_SMTP_LISTEN", listen.as_str()), ("ROOKERY_DNS", &dns)], more].concat();
    (site.serve("flooded", &settings).await, smtp)
}

fn threads(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count)
}

/// A mail of 300 KB with twenty signatures, of which each has the right hash of the body and a key of its own.
fn much_signed(subject: &str) -> String {
    let text = "All work and no play makes Jack a dull boy.\n".repeat(7_000);
    let body = format!("{text}\n");
    let hash = BASE64_STANDARD.encode(sha256(crlf(&body)));
    let signatures: String = (0..20)
        .map(|number| {
            format!(
                "DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d=d{number}.example; s=silent; h=from; \
                 bh={hash}; b=AAAA\n"
            )
        })
        .collect();
    format!("{signatures}{}", mail("eve@eve.example", subject, "", &text))
}

#[tokio::test]
async fn signatures_whose_name_server_is_silent_hold_neither_threads_nor_other_mail() {
    let names: Vec<String> = (0..20).map(|number| format!("silent._domainkey.d{number}.example")).collect();
    let rows: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "SILENT")).collect();
    let zone = Zone::serve(&rows).await;
    let site = Site::migrated().await;
    let (node, smtp) = node(&site, &zone, &[]).await;
    let calm = threads(node.id());
    let attacks = (0..8).flat_map(|peer| (0..10).map(move |number| (peer, number)));
    let attacks = attacks.map(async |(peer, number)| {
        let (mut client, _) = connect_from(attacker(peer), smtp).await;
        client.say("EHLO eve.example").await;
        let raw = much_signed(&format!("Signed {peer} {number}"));
        let began = Instant::now();
        let sent = client.mail("eve@eve.example", "help@acme.example", &raw);
        let answer = timeout(Duration::from_secs(60), sent).await.expect("an answer within a minute");
        (answer.code, began.elapsed())
    });
    let honest = async {
        let mut most = 0;
        for number in 0..10 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            honest_mail_is_taken(smtp, &format!("Honest {number}")).await;
            most = most.max(threads(node.id()));
        }
        most
    };
    let (answers, most) = futures::join!(join_all(attacks), honest);
    // Taken with a verdict that says so, or to be sent again: but answered.
    assert!(answers.iter().all(|(code, _)| [250, 451].contains(code)), "{answers:?}");
    // Fewer than there are mails: what remains is writing them to disk, for a moment each.
    assert!(most < calm + 64, "{most} threads, {calm} before");
    let quick = answers.iter().filter(|(_, time)| *time < Duration::from_secs(25)).count();
    assert_eq!(quick, answers.len(), "{answers:?}");
}

#[tokio::test]
async fn slow_connections_from_twenty_addresses_leave_seats_for_others() {
    const EACH: usize = 20;
    let zone = Zone::serve(&[]).await;
    let site = Site::migrated().await;
    let settings = [("ROOKERY_SMTP_CONNECTIONS", "400"), ("ROOKERY_SMTP_PEER_CONNECTIONS", "20")];
    let (_node, smtp) = node(&site, &zone, &settings).await;
    let mut held = Vec::new();
    for peer in 0..20 {
        for number in 0..EACH {
            let (mut client, greeting) = connect_from(attacker(peer), smtp).await;
            if greeting.code != 220 {
                continue;
            }
            // Some say nothing, some half a command, some are in the middle of a mail.
            if number % 3 == 1 {
                client.send(b"EHL").await;
            }
            if number % 3 == 2 {
                client.say("EHLO eve.example").await;
                client.say("MAIL FROM:<eve@eve.example>").await;
                client.say("RCPT TO:<help@acme.example>").await;
                client.say("DATA").await;
            }
            held.push(client);
        }
    }
    assert!(held.len() >= 300, "{} connections are held", held.len());
    for number in 0..10 {
        honest_mail_is_taken(smtp, &format!("Honest {number}")).await;
    }
    // Nobody is waited for long until fewer than four fifths of the seats are taken.
    let count = held.len();
    let hearing = held.iter_mut().map(|client| timeout(SOON, client.hear()));
    let shown_out = join_all(hearing).await.into_iter().filter(Result::is_ok).count();
    assert!(count - shown_out <= 330, "{shown_out} of {count} were shown out");
}

#[tokio::test]
async fn a_mail_that_drips_is_not_waited_for() {
    post_with(&[("SMTP_TIMEOUT_SECONDS", "3")], &[], async |post| {
        let mut client = Client::greeted(post.smtp).await;
        client.say("MAIL FROM:<eve@eve.example>").await;
        client.say("RCPT TO:<help@acme.example>").await;
        assert_eq!(client.say("DATA").await.code, 354);
        client.send(b"Subject: drip\r\n\r\n").await;
        let mut answer = None;
        for _ in 0..40 {
            client.send(b"x").await;
            if let Ok(heard) = timeout(Duration::from_millis(500), client.hear()).await {
                answer = Some(heard.code);
                break;
            }
        }
        assert_eq!(answer, Some(421), "a byte every half second is too slow");
        assert_eq!(post.count().await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_command_that_drips_or_never_leads_to_a_mail_is_not_waited_for() {
    post_with(&[("SMTP_TIMEOUT_SECONDS", "2")], &[], async |post| {
        let until_shown_out = async |words: &[u8]| {
            let (mut client, _) = Client::connect(post.smtp).await;
            for _ in 0..60 {
                client.send(words).await;
                match timeout(Duration::from_millis(500), client.hear()).await {
                    Ok(Answer { code: 421, .. }) => return true,
                    Ok(Answer { code: 250, .. }) => tokio::time::sleep(Duration::from_millis(500)).await,
                    _ => {}
                }
            }
            false
        };
        let (one, other) = futures::join!(until_shown_out(b"x"), until_shown_out(b"NOOP\r\n"));
        assert!(one, "a line that grows by a byte");
        assert!(other, "commands without a mail");
    })
    .await;
}

#[tokio::test]
async fn mail_on_its_way_takes_only_so_much_disk() {
    post_with(&[("SPOOL_MEGABYTES", "4")], &[], async |post| {
        let mut slow = Vec::new();
        let mut codes = Vec::new();
        for number in 0..3 {
            let (mut client, _) = connect_from(attacker(number), post.smtp).await;
            client.say("EHLO eve.example").await;
            client.say("MAIL FROM:<eve@eve.example>").await;
            client.say("RCPT TO:<help@acme.example>").await;
            assert_eq!(client.say("DATA").await.code, 354);
            let line = format!("{}\r\n", "x".repeat(998));
            client.send(format!("Subject: large\r\n\r\n{}", line.repeat(3_000)).as_bytes()).await;
            slow.push(client);
        }
        for client in &mut slow {
            codes.push(client.say(".").await.code);
        }
        assert!(codes.contains(&452), "{codes:?}");
        // What is small needs no disk, and afterwards there is room again.
        honest_mail_is_taken(post.smtp, "Small").await;
        let raw = mail("anna@customer.example", "Large", "", &"All work and no play.\n".repeat(30_000));
        let answer =
            Client::greeted(post.smtp).await.mail("anna@customer.example", "help@acme.example", &raw).await;
        assert_eq!(answer.code, 250, "{answer:?}");
    })
    .await;
}
