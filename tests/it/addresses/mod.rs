//! Whose an address is: whoever proves its domain, or was given it (docs/decisions/whose-domain.md). Several workspaces on one
//! server, by the pages, by REST and MCP, by SMTP and by the operator's commands.

mod away;
mod kept;
mod lost;
mod proving;
mod service_mail;
mod taking;

use std::net::SocketAddr;
use std::sync::Arc;

use rookery_base::cells::Cells;
use rookery_base::ids::MailboxId;
use rookery_mail::incoming::listen::{Door, Protocol};
use tokio::net::TcpListener;

use rookery_world::World;
use rookery_world::browser::Browser;
use rookery_world::mail::client::Client;

/// Where mail from outside comes in.
async fn smtp(world: &World) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = Door::open(Arc::new(Cells::new(vec![Arc::clone(&world.app)])), Protocol::Smtp).unwrap();
    tokio::spawn(door.serve(listener));
    address
}

/// What the server says to a recipient.
async fn recipient(smtp: SocketAddr, address: &str) -> u16 {
    let mut client = Client::greeted(smtp).await;
    client.say("MAIL FROM:<anna@customer.example> BODY=8BITMIME SMTPUTF8").await;
    client.say(&format!("RCPT TO:<{address}>")).await.code
}

/// Makes an inbox in the browser: its id, or what the page said.
async fn makes(browser: &Browser<'_>, address: &str) -> Result<MailboxId, String> {
    let shown = browser.post("/settings/inboxes", &[("address", address), ("name", "Mine")]).await;
    match shown.status {
        303 => {
            let path = shown.location().split('?').next().unwrap().to_owned();
            Ok(path.rsplit('/').next().unwrap().parse().unwrap())
        }
        400 => Err(shown.html),
        other => panic!("{address}: {other} {}", shown.html),
    }
}
