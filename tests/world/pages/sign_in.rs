//! Signing in by a link, by a password and by an invitation, as a person does it.

use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_core::workspace::{passwords, sign_in_links};

use crate::World;
use crate::browser::{Browser, Shown};

pub const PASSWORD: &str = "correct horse battery staple";

/// The path of a link, made as the command line makes it.
pub async fn link(world: &World, workspace: WorkspaceId, person: PersonId) -> String {
    let mut tx = world.app.begin(workspace).await.unwrap();
    let url = sign_in_links::make(&mut tx, person).await.unwrap();
    tx.commit().await.unwrap();
    path_of(&url)
}

pub fn path_of(url: &str) -> String {
    url.strip_prefix("https://rookery.example").expect("our own address").to_owned()
}

pub async fn set_password(world: &World, workspace: WorkspaceId, person: PersonId, password: &str) {
    let hash = passwords::hash(&world.app, "password", password).await.unwrap();
    let mut tx = world.app.begin(workspace).await.unwrap();
    passwords::set(&mut tx, person, &hash).await.unwrap();
    tx.commit().await.unwrap();
}

/// A browser with the cookie of an answer.
pub fn with_cookie_of<'w>(world: &'w World, shown: &Shown) -> Browser<'w> {
    let value =
        shown.cookie().split_once('=').and_then(|(_, rest)| rest.split_once(';')).map(|(value, _)| value);
    world.browser_with(value.expect("a cookie"))
}

/// The cookie that an answer sets, as a browser sends it back.
pub fn cookie_pair(shown: &Shown) -> String {
    shown.cookie().split(';').next().unwrap_or_default().to_owned()
}

/// An empty form of a browser that has this cookie too.
pub async fn post_with(browser: &Browser<'_>, path: &str, cookie: &str) -> Shown {
    let request = browser.request(reqwest::Method::POST, path).header("origin", browser.origin());
    browser.send(request.header("cookie", cookie)).await
}

pub async fn by_password(world: &World, email: &str, password: &str) -> Shown {
    let nobody = world.browser_with("");
    nobody.post("/sign-in/password", &[("email", email), ("password", password)]).await
}

/// The paths of the links in invitations that have left to an address, oldest first.
pub async fn mailed_to(world: &World, email: &str) -> Vec<String> {
    world.work().await;
    let letters = world.outbox.letters();
    let theirs =
        letters.iter().filter(|letter| letter.to == email && letter.subject.contains(" invites you to "));
    theirs
        .map(|letter| path_of(letter.text.lines().find(|line| line.starts_with("https://")).expect("a link")))
        .collect()
}
