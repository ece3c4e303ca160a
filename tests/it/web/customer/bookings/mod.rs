//! Booking, moving and cancelling over the pages, as a browser without script does it.

mod attacks;
mod kills;
mod pages;
mod stories;

use chrono::TimeDelta;

use rookery_base::ids::{BookingTypeId, ConversationId};
use rookery_base::secrets::link_tokens;
use rookery_core::conversations::conversation;
use rookery_core::workspace::people;
use rookery_product::bookings;

use rookery_world::pages::customer::Customer;
use rookery_world::verbs::bookings::a_type;
use rookery_world::{Workspace, World};

pub const PAGE: &str = "/book/acme/call";
/// Thursday, 10:30 in Berlin.
pub const AT: &str = "2031-01-09T09:30Z";
pub const LATER: &str = "2031-01-10T13:00Z";

/// A workspace with a type, and a visitor who knows its page.
pub async fn open<'w>(world: &'w World) -> (Workspace<'w>, BookingTypeId, Customer<'w>) {
    let acme = world.workspace("Acme").await;
    let id = a_type(&acme, &[acme.owner]).await;
    (acme, id, Customer::with(world, PAGE))
}

/// The value of a hidden field.
pub fn hidden(page: &str, name: &str) -> String {
    let rest =
        page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap_or_else(|| panic!("{name} in {page}"));
    rest[..rest.find('"').unwrap()].to_owned()
}

/// The six digits of the newest mail to an address.
pub fn code(world: &World, address: &str) -> String {
    let letter = world.outbox.letters().into_iter().rfind(|letter| letter.to == address).expect("a mail");
    let digits: Vec<&str> =
        letter.text.split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() == 6).collect();
    assert_eq!(digits.len(), 1, "{}", letter.text);
    digits[0].to_owned()
}

/// Books with a code, and gives the path of the private page.
pub async fn books(ada: &Customer<'_>, address: &str, at: &str) -> String {
    let page = ada.opens(&format!("{PAGE}?at={at}")).await.page();
    let press = hidden(&page, "press");
    let mut fields =
        vec![("at", at), ("name", "Ada"), ("email", address), ("q0", "030 1234"), ("press", &press)];
    let asked = ada.submits(PAGE, &fields).await;
    assert_eq!(asked.status, 200, "{}", asked.html);
    ada.world.work().await;
    let code = code(ada.world, address);
    fields.push(("code", &code));
    let booked = ada.submits(PAGE, &fields).await;
    assert_eq!(booked.status, 303, "{}", booked.html);
    let to = booked.headers["location"].to_str().unwrap().to_owned();
    private(ada, &to).await
}

/// The private page that the page of what was booked leads to.
pub async fn private(ada: &Customer<'_>, booked: &str) -> String {
    let page = ada.opens(booked).await.page();
    let rest = page.split("href=\"/booking/").nth(1).unwrap_or_else(|| panic!("{page}"));
    format!("/booking/{}", rest[..rest.find("/calendar").unwrap()].to_owned())
}

/// The address with which the customer of a conversation is offered all times, or one.
pub async fn short(
    acme: &Workspace<'_>,
    id: BookingTypeId,
    conversation: ConversationId,
    at: Option<&str>,
) -> String {
    let app = &acme.world.app;
    let mut conn = app.connection().await.unwrap();
    let olga = people::teammate(&mut conn, acme.id, acme.owner).await.unwrap();
    let found =
        conversation::find_visible(&mut conn, &olga, acme.world.now(), &conversation.to_string()).await;
    let links = bookings::link::offer_links(app, &mut conn, acme.id, id, &found.unwrap()).await.unwrap();
    let at = at.map(|at| at.replace('Z', ":00Z").parse().unwrap());
    links.link(at).strip_prefix("https://rookery.example").unwrap().to_owned()
}

/// The same as the pages carry it on.
pub async fn offer(acme: &Workspace<'_>, id: BookingTypeId, conversation: ConversationId) -> String {
    let short = short(acme, id, conversation, None).await;
    format!("{PAGE}?offer={}", short.strip_prefix("/b/").unwrap())
}

/// As addresses were before.
pub fn long_offer(
    acme: &Workspace<'_>,
    id: BookingTypeId,
    conversation: ConversationId,
    email: &str,
) -> String {
    let until = (acme.world.now() + TimeDelta::days(30)).timestamp();
    let of = format!("{}/{id}/{conversation}/{until}/{email}", acme.id);
    let key = acme.world.app.config.needs_secret_key().unwrap().newest();
    let token = link_tokens::token(key, "book", &of);
    format!("{PAGE}?for={conversation}&until={until}&key={token}")
}
