//! Mail that leaves: whether there is a relay, whether it is reached, encrypted, and lets us in.
//! No mail is sent.

use url::Host;

use crate::doctor::row::{CheckRow, RowJudgement, either, right, wrong};
use rookery_base::app::{App, relay_of};
use rookery_base::error::Result;
use rookery_base::relay::{Relay, Shut, host};

pub async fn inspect(app: &App, names_are_found: bool, has_schema: bool) -> Vec<CheckRow> {
    let set = "set, where there are live inboxes";
    let made = relay_of(&app.config, &app.outside);
    let relay = match made {
        Err(error) => {
            let fix = "Write it as `smtps://user:password@relay.example` or `smtp://relay.example:587?tls=required`.";
            return vec![CheckRow::new("relay", set, wrong(error.to_string(), fix))];
        }
        Ok(Some(relay)) => relay,
        Ok(None) => {
            let judged = if has_schema { without(app).await } else { Ok(right("not set")) };
            let row = CheckRow::from_result("relay", set, judged);
            let none = |name: &str, expected: &str| CheckRow::new(name, expected, right("there is no relay"));
            let others = [
                none("relay-encrypted", ENCRYPTED),
                none("relay-reached", REACHED),
                none("relay-sign-in", LET_IN),
            ];
            return if row.ok { std::iter::once(row).chain(others).collect() } else { vec![row] };
        }
    };
    let found = app.config.relay.as_ref().and_then(host);
    let by_name = matches!(&found, Some(Host::Domain(name)) if name != "localhost");
    let shown = found.map(|host| host.to_string()).unwrap_or_default();
    let mut rows = vec![CheckRow::new("relay", set, right(shown)), encrypted(&relay)];
    if names_are_found || !by_name {
        rows.extend(tried(&relay).await);
    }
    rows
}

const ENCRYPTED: &str = "encrypted, unless it is this machine";
const REACHED: &str = "it answers";
const LET_IN: &str = "it takes the user name and password";

async fn without(app: &App) -> Result<RowJudgement> {
    let live: i64 =
        sqlx::query_scalar("select count(*) from mailboxes where kind <> 'sandbox' and closed_at is null")
            .fetch_one(&mut *app.connection().await?)
            .await?;
    Ok(either(
        live == 0,
        format!("not set, and {live} live inboxes"),
        "Live mail waits and is given up after a day. Set `ROOKERY_RELAY=smtps://user:password@relay.example`.",
    ))
}

fn encrypted(relay: &Relay) -> CheckRow {
    let fix = "Write `tls=required` behind the address, or `smtps://` before it: mail travels in the clear.";
    let holds = relay.keeps_secrets();
    CheckRow::new("relay-encrypted", ENCRYPTED, either(holds, if holds { "it is" } else { "it is not" }, fix))
}

async fn tried(relay: &Relay) -> Vec<CheckRow> {
    let reached = CheckRow::new("relay-reached", REACHED, right("it does"));
    match relay.try_it().await {
        Ok(()) => vec![reached, CheckRow::new("relay-sign-in", LET_IN, right("it does, or asks for none"))],
        Err(Shut::NotLetIn(why)) => {
            let fix = "Check the user name and password in `ROOKERY_RELAY`; letters such as @ and / are written %40 and %2F.";
            vec![reached, CheckRow::new("relay-sign-in", LET_IN, wrong(why, fix))]
        }
        Err(Shut::Unreached(why)) => {
            let fix = "Check host, port and `tls=` in `ROOKERY_RELAY`, and whether the firewall lets connections out.";
            vec![CheckRow::new("relay-reached", REACHED, wrong(why, fix))]
        }
    }
}
