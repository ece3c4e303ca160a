//! Fills a live workspace with the demonstration: two hundred conversations of the last four weeks, in the order in
//! which they happened. Every address ends in `.test`, and mail to such an address never leaves (docs/decisions/test-mail.md).

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::demo::cast::Cast;
use crate::demo::everyday::everyday;
use crate::demo::play::Play;
use crate::demo::story::{self, Does, Story};
use crate::demo::{company, diary};
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::error::{Error, Result};
use rookery_base::ids::{PersonId, WorkspaceId};
use rookery_base::store::blobs::Blobs;
use rookery_core::workspace::access::SANDBOX;

/// How much is wanted.
#[derive(Clone, Copy)]
pub struct FillOptions {
    /// The same number gives the same mail.
    pub seed: u64,
    /// Also into a workspace that has mail of its own.
    pub anyway: bool,
    /// Of everyday conversations one in so many; the stories are all told.
    pub one_in: usize,
}

/// What was made.
pub struct Filled {
    pub conversations: usize,
    /// Ids and names.
    pub people: Vec<(PersonId, String)>,
    /// Names and keys; the keys are not shown again.
    pub agents: Vec<(String, String)>,
    pub inboxes: Vec<String>,
}

/// `app` has a clock that can be set; `now` is the time outside. `progress` hears of every step done, of all.
pub async fn fill(
    app: &mut App,
    workspace: WorkspaceId,
    wanted: FillOptions,
    now: DateTime<Utc>,
    mut progress: impl FnMut(usize, usize),
) -> Result<Filled> {
    let owner = may_fill(app, workspace, wanted.anyway).await?;
    // The sweep looks at the age of files: theirs is today's, however old the mail is that they came with.
    let present = Clock::system();
    present.follow(now);
    app.blobs = Blobs::open(&app.config, app.random.clone(), present)?;
    let cast = Cast::enter(app, workspace, owner).await?;
    company::furnish(app, workspace, &cast).await?;
    diary::open(app, workspace, &cast).await?;
    diary::fill(app, workspace, now).await?;
    let mut stories = story::written()?;
    stories.extend(everyday(wanted.seed)?.into_iter().step_by(wanted.one_in.max(1)));
    let steps = in_order(&stories, now);
    let window = app.config.undo_window_seconds;
    let mut play = Play { app, workspace, cast: &cast, now, window, scenes: HashMap::new() };
    for (done, (at, number, step)) in steps.iter().enumerate() {
        let story = &stories[*number];
        let next = story.steps.get(step + 1).map(|step| &step.does);
        play.step(*number, story, *at, &story.steps[*step], next).await?;
        progress(done + 1, steps.len());
    }
    for (number, story) in stories.iter().enumerate() {
        if is_read(number, story, now) {
            play.all_have_read(number).await?;
        }
    }
    let mut people: Vec<_> = cast.people().map(|person| (person.id, person.name.clone())).collect();
    people.sort();
    let mut inboxes: Vec<_> = cast.inboxes.values().map(|inbox| inbox.address.clone()).collect();
    inboxes.sort();
    Ok(Filled { conversations: stories.len(), people, agents: cast.keys, inboxes })
}

/// Whether everybody has read it: what we answered, what is older than a few hours, and here and there something new.
fn is_read(number: usize, story: &Story, now: DateTime<Utc>) -> bool {
    let newest = story.steps.iter().rev().find(|step| matches!(step.does, Does::In(_) | Does::Out(..)));
    newest.is_none_or(|step| {
        let age = now - step.when.before(now);
        matches!(step.does, Does::Out(..)) || age > TimeDelta::hours(9) || number.is_multiple_of(3)
    })
}

/// Every step with its time, oldest first. In a story each is later than the one before.
fn in_order(stories: &[Story], now: DateTime<Utc>) -> Vec<(DateTime<Utc>, usize, usize)> {
    let mut steps = Vec::new();
    for (number, story) in stories.iter().enumerate() {
        let mut earliest = DateTime::<Utc>::MIN_UTC;
        for (at, step) in story.steps.iter().enumerate() {
            let when = step.when.before(now).max(earliest);
            earliest = when + TimeDelta::seconds(90);
            steps.push((when, number, at));
        }
    }
    steps.sort();
    steps
}

/// The owner, if the workspace is there, and empty unless one wants it anyway.
async fn may_fill(app: &App, workspace: WorkspaceId, anyway: bool) -> Result<PersonId> {
    let found = sqlx::query!(
        r#"select (select id from people where workspace_id = $1 and role = 'owner' and removed_at is null
                   order by id limit 1) as "owner: PersonId",
                  exists (select from mailboxes where workspace_id = $1 and address like 'lettings@larkfield%.test')
                      as "filled!",
                  exists (select from conversations where workspace_id = $1 and audience <> $2) as "used!""#,
        workspace.0,
        SANDBOX
    )
    .fetch_one(&mut *app.connection().await?)
    .await?;
    let owner = found.owner.ok_or(Error::Missing("No such workspace."))?;
    if found.filled {
        return Err(Error::internal(
            "This workspace has the demonstration already. Make another one: rookery admin create-workspace.",
        ));
    }
    if found.used && !anyway {
        return Err(Error::internal(
            "This workspace has mail of its own. Make another one, or say --anyway: two hundred conversations are hard to take out again.",
        ));
    }
    Ok(owner)
}
