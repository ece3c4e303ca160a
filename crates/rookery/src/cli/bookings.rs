//! `rookery admin create-booking-type`: what somebody of the team can be booked for, made by an operator. The page
//! `/settings/bookings` does the same by the same verb.

use clap::Subcommand;
use serde_json::{Value, json};

use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{MailboxId, PersonId, WorkspaceId};
use rookery_core::workspace::inbox_settings::hours::HoursSpan;
use rookery_product::bookings::hosts::{self, Week};
use rookery_product::bookings::setter::Setter;
use rookery_product::bookings::types;
use rookery_product::bookings::types::settings::Settings;

#[derive(Subcommand)]
pub enum BookingCommand {
    /// Make a booking type and print the address of its page.
    ///
    /// A host who has no hours yet gets weekdays from 9 to 17 in the workspace's time zone. Invitations come from the first
    /// inbox of the team.
    CreateBookingType {
        #[arg(long, value_name = "wsp_…")]
        workspace: WorkspaceId,
        /// Who is booked. Several take turns.
        #[arg(long, value_name = "usr_…", required = true, value_delimiter = ',')]
        host: Vec<PersonId>,
        #[arg(long)]
        name: String,
        /// The end of its page's address; made from the name when left out.
        #[arg(long, default_value = "")]
        slug: String,
        #[arg(long)]
        minutes: i16,
        /// The inbox that invitations come from.
        #[arg(long, value_name = "mbx_…")]
        mailbox: Option<MailboxId>,
        /// The hosts' time zone from now on, such as Europe/Berlin.
        #[arg(long)]
        time_zone: Option<String>,
        /// The hosts' hours on weekdays from now on, such as 8:00-16:30.
        #[arg(long)]
        hours: Option<String>,
    },
}

pub async fn execute(app: &App, command: BookingCommand) -> Result<(String, Value)> {
    let BookingCommand::CreateBookingType { workspace, host, name, slug, minutes, mailbox, time_zone, hours } =
        command;
    let mut tx = app.begin(workspace).await?;
    let first = *host.first().ok_or_else(|| Error::problem("host", "is required"))?;
    let settings = Settings { mailbox, hosts: host.clone(), ..Settings::new(&name, &slug, minutes, first) };
    let id = types::create(&mut tx, Setter::Operator, settings).await?;
    if time_zone.is_some() || hours.is_some() {
        for person in host {
            let own = hosts::find(&mut tx, workspace, person).await?;
            let week = match &hours {
                Some(hours) => weekdays(hours)?,
                None => own.week,
            };
            let zone = time_zone.as_deref().unwrap_or(&own.time_zone);
            hosts::set_week(&mut tx, Setter::Operator, person, zone, week).await?;
        }
    }
    let slug = types::slug_of(&mut tx, workspace, id).await?;
    let pages = types::workspace_slug(&mut tx, workspace).await?;
    let url = tx.frame().public_url.join(&types::path(&pages, &slug)).map_err(Error::internal)?;
    tx.commit().await?;
    let object = json!({ "bookingType": id, "slug": slug, "url": url.as_str() });
    Ok((format!("Made booking type {id}. Its page is {url}"), object))
}

fn weekdays(hours: &str) -> Result<Week> {
    let (from, to) =
        hours.split_once('-').ok_or_else(|| Error::problem("hours", "must be such as 8:00-16:30"))?;
    let span = vec![HoursSpan::read("hours", from, to)?];
    let none = Vec::new;
    Ok(Week([span.clone(), span.clone(), span.clone(), span.clone(), span, none(), none()]))
}
