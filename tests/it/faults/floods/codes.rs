//! Strangers have codes sent to whom they like, by a booking page of one tenant, from as many IPv6 networks as there are; meanwhile
//! somebody of another tenant wants to sign in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::PgPool;

use super::IN_TIME;
use super::attacks::Flood;
use rookery_world::sink::Sink;
use rookery_world::site::{Node, Site};

/// Codes that a page sends in an hour (`limits/stranger_mail`).
const MOST: i64 = 100;

static ASKED: AtomicU64 = AtomicU64::new(0);

/// A booking page of the tenant that is flooded.
pub fn booking_page(site: &Site, workspace: &str, owner: &str) {
    let named = ["--name", "Call", "--slug", "call", "--minutes", "30"];
    let of = ["create-booking-type", "--workspace", workspace, "--host", owner];
    site.admin(&[&of[..], &named[..]].concat());
}

/// A time that the page offers.
pub async fn a_free_time(site: &Site, node: &Node) -> String {
    let page =
        site.http.get(format!("{}/book/acme/call", node.address)).send().await.unwrap().text().await.unwrap();
    let is_time = |text: &&str| text.len() == 17 && text.starts_with("20") && text.ends_with('Z');
    let mut words = page.split(['"', '=', '&', '<', '>']);
    words.find(is_time).unwrap_or_else(|| panic!("a time in {page}")).to_owned()
}

impl Flood {
    pub(super) async fn codes(self) {
        while self.goes_on() {
            let n = ASKED.fetch_add(1, Ordering::Relaxed);
            let body = format!(
                "at={}&name=X&email=v{n}%40elsewhere.example&press=p{n}",
                self.target.free_time.replace(':', "%3A")
            );
            let head = format!(
                "POST /book/acme/call HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 2001:470:{:x}:{:x}::1\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                n / 30 % 0xffff,
                n % 0xffff,
                body.len()
            );
            let answered = self.request(head.as_bytes(), body.as_bytes()).await;
            self.hit(u64::from(answered));
            self.pause(Duration::from_millis(20)).await;
        }
    }
}

/// Asks for a link in the middle of the flood; gives how long its mail took.
pub async fn sign_in_mail(site: &Site, node: &Node, relay: &Sink, email: &str) -> Duration {
    let began = Instant::now();
    let form = format!("email={}", email.replace('@', "%40"));
    let asked = site.http.post(format!("{}/sign-in", node.address));
    let asked =
        asked.header("content-type", "application/x-www-form-urlencoded").body(form).send().await.unwrap();
    assert_eq!(asked.status(), 200, "{}", asked.text().await.unwrap());
    while !relay.taken().iter().any(|mail| mail.to.contains(email)) {
        assert!(began.elapsed() < IN_TIME * 3, "no sign-in mail after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

/// However many were asked for, so many were written.
pub async fn were_capped(pool: &PgPool) {
    let query = "select count(*) from notices where kind = 'one_time_code'";
    let sent: i64 = sqlx::query_scalar(query).fetch_one(pool).await.unwrap();
    let asked = ASKED.load(Ordering::Relaxed);
    println!("codes: {asked} asked for, {sent} sent");
    assert!(sent > 0 && sent <= MOST, "{sent} of {asked}");
}
