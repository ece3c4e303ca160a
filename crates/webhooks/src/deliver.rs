//! Delivers what is due. Every webhook with something due gets a turn of its own: up to ten tries at once, begun
//! within two seconds. So one that hangs holds its own lane and nothing else. What came of the tries of all
//! turns is written down together, a few times a second.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::attempt::{DeliveryEndpoint, Try, attempt};
use crate::claim::{Lane, LaneKey, TURN, Target, WaitingDelivery, claim};
use crate::results::{AttemptResult, FinishedTry, write_results};
use crate::webhook::WebhookState;
use rookery_base::app::App;
use rookery_base::clock::Clock;
use rookery_base::due::backoff::{Backoff, BackoffPiece, caught};
use rookery_base::error::Result;
use rookery_base::figures::Figures;
use rookery_base::ids::EventId;
use rookery_base::net::outside::{Outside, OutsideFailure};

/// Tries at once of one webhook (specification is silent; decision D229).
const AT_ONCE: usize = 10;
/// How long results wait for company before they are written, and how many are written together.
const LINGER: Duration = Duration::from_millis(50);
const TOGETHER: usize = 2000;
/// No more is claimed while so many deliveries of turns this young are not done: they are being worked on. Older
/// turns do not count, because they wait for others.
const YOUNG: Duration = Duration::from_millis(500);
const MOST_YOUNG: usize = 2000;
/// While turns run, new claims are made at least this often.
const LOOK: Duration = Duration::from_millis(100);

enum DeliveryNews {
    Done(LaneKey, FinishedTry),
    /// The turn is over.
    GivenBack(LaneKey),
}

/// Works off everything that is due, and what becomes due meanwhile, for so many webhooks at the same time.
pub async fn run(app: &App, put_off: &Backoff, most: usize) -> Result<()> {
    let courier = Arc::new(Courier {
        outside: app.outside.clone(),
        clock: app.clock.clone(),
        figures: app.figures.clone(),
    });
    let (sender, mut receiver) = channel(TOGETHER);
    let mut held = 0;
    // Lanes whose results could not be written. Given back, they would be delivered again at once; their leases run out.
    let mut lost: BTreeSet<LaneKey> = BTreeSet::new();
    let mut young: VecDeque<(Instant, usize)> = VecDeque::new();
    loop {
        let mut claimed = Vec::new();
        young.retain(|(claimed_at, _)| claimed_at.elapsed() < YOUNG);
        let working = young.iter().map(|(_, rows)| rows).sum::<usize>();
        if !app.stop.is_told() && held < most && working < MOST_YOUNG {
            match claim(app, most - held, &put_off.aside(app.clock.now())).await {
                Ok(lanes) => claimed = lanes,
                Err(error) if held == 0 => return Err(error),
                Err(error) => tracing::warn!(%error, "webhooks cannot be claimed"),
            }
        }
        held += claimed.len();
        young.push_back((Instant::now(), claimed.iter().map(|lane| lane.rows.len()).sum()));
        if held == 0 {
            return Ok(());
        }
        for lane in claimed {
            tokio::spawn(courier.clone().turn(lane, sender.clone()));
        }
        let (done, mut released) = gather(&mut receiver).await;
        held -= released.len();
        released.retain(|lane| !lost.remove(lane));
        finish_oldest(&mut young, done.len());
        match caught(write_results(app, &done, &released)).await {
            Ok(()) => {}
            // The leases run out and somebody tries again.
            Err(error) if error.is_outage() => {
                tracing::warn!(%error, "what came of webhook deliveries cannot be written");
                put_off.count(&error);
                let lanes = done.iter().map(|(lane, _)| *lane);
                lost.extend(lanes.filter(|lane| !released.contains(lane)));
            }
            Err(_) => lost.extend(record_apart(app, put_off, done, &released).await),
        }
    }
}

/// Something of one webhook cannot be written: that one is put off, and the others are not delivered twice for it. Gives
/// the lanes that failed and are still held.
async fn record_apart(
    app: &App,
    put_off: &Backoff,
    done: Vec<(LaneKey, FinishedTry)>,
    released: &[LaneKey],
) -> Vec<LaneKey> {
    let mut lanes: BTreeMap<LaneKey, Vec<(LaneKey, FinishedTry)>> = BTreeMap::new();
    for (lane, result) in done {
        lanes.entry(lane).or_default().push((lane, result));
    }
    for lane in released {
        lanes.entry(*lane).or_default();
    }
    let mut failed = Vec::new();
    for (lane, done) in lanes {
        let given_back: &[LaneKey] = if released.contains(&lane) { &[lane] } else { &[] };
        let work = BackoffPiece::Row(lane.workspace, lane.webhook.0);
        match caught(write_results(app, &done, given_back)).await {
            // Giving a lane back says nothing about what is put off.
            Ok(()) if done.is_empty() => {}
            Ok(()) => put_off.succeeded(work),
            Err(error) => {
                put_off.failed(work, &error, app.clock.now());
                failed.extend(given_back.is_empty().then_some(lane));
            }
        }
    }
    failed
}

/// Takes what is done off the oldest claims.
fn finish_oldest(young: &mut VecDeque<(Instant, usize)>, mut done: usize) {
    for (_, rows) in young.iter_mut() {
        let taken = done.min(*rows);
        (*rows, done) = (*rows - taken, done - taken);
    }
}

/// Results as they come in, together for a moment.
async fn gather(receiver: &mut Receiver<DeliveryNews>) -> (Vec<(LaneKey, FinishedTry)>, Vec<LaneKey>) {
    let mut news = Vec::new();
    let _ = tokio::time::timeout(LOOK, receiver.recv_many(&mut news, TOGETHER)).await;
    if !news.is_empty() {
        let until = tokio::time::Instant::now() + LINGER;
        while news.len() < TOGETHER {
            let room = TOGETHER - news.len();
            match tokio::time::timeout_at(until, receiver.recv_many(&mut news, room)).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
    }
    let (mut done, mut released) = (Vec::with_capacity(news.len()), Vec::new());
    for one in news {
        match one {
            DeliveryNews::Done(lane, result) => done.push((lane, result)),
            DeliveryNews::GivenBack(lane) => released.push(lane),
        }
    }
    (done, released)
}

struct Courier {
    outside: Arc<Outside>,
    clock: Clock,
    figures: Arc<Figures>,
}

impl Courier {
    /// Delivers for one webhook, and gives its lane back whatever happens. A turn that comes too late to be written
    /// down under its lease is not begun.
    async fn turn(self: Arc<Self>, lane: Lane, news: Sender<DeliveryNews>) {
        let key = lane.key;
        if lane.lease.has_room(self.clock.now()) {
            let turn = async {
                self.deliver(lane, &news).await;
                Ok(())
            };
            if let Err(error) = caught(turn).await {
                tracing::error!(%error, webhook = %key.webhook, "a turn was cut short");
            }
        }
        let _ = news.send(DeliveryNews::GivenBack(key)).await;
    }

    async fn deliver(&self, lane: Lane, news: &Sender<DeliveryNews>) {
        let Lane { key, target, state, in_plan, run, rows, .. } = lane;
        let sends = state == WebhookState::Active && in_plan;
        let (wanted, dropped): (Vec<WaitingDelivery>, Vec<WaitingDelivery>) = rows
            .into_iter()
            .partition(|row| row.body.is_some() && ((sends && row.run == run) || (row.asked && in_plan)));
        for row in dropped {
            let done = FinishedTry {
                event: row.event,
                tries: row.tries,
                healthy: None,
                outcome: AttemptResult::Skipped,
            };
            let _ = news.send(DeliveryNews::Done(key, done)).await;
        }
        if wanted.is_empty() {
            return;
        }
        let letter = match &target {
            Some(target) => self.address(target).await.ok(),
            None => None,
        };
        let began = Instant::now();
        stream::iter(wanted)
            .take_while(|_| std::future::ready(began.elapsed() < TURN))
            .for_each_concurrent(AT_ONCE, async |row: WaitingDelivery| {
                let result = self.attempt(letter.as_ref(), row.event, row.body.unwrap_or_default()).await;
                let done = FinishedTry {
                    event: row.event,
                    tries: row.tries + 1,
                    healthy: sends.then(|| result.is_delivered()),
                    outcome: AttemptResult::Tried { result, again: sends },
                };
                let _ = news.send(DeliveryNews::Done(key, done)).await;
            })
            .await;
    }

    async fn address<'a>(&self, target: &'a Target) -> Result<DeliveryEndpoint<'a>> {
        caught(async {
            let path = &target.url[url::Position::BeforePath..url::Position::AfterQuery];
            Ok(DeliveryEndpoint { to: self.outside.check(&target.url).await, path, secrets: &target.secrets })
        })
        .await
    }

    /// One try. An error of ours counts like any other.
    async fn attempt(&self, letter: Option<&DeliveryEndpoint<'_>>, event: EventId, body: String) -> Try {
        let tried = async {
            match letter {
                Some(letter) => Ok(attempt(&self.outside, &self.clock, letter, event, body).await),
                None => Ok(Try::failed(&self.clock, OutsideFailure::Internal)),
            }
        };
        let tried =
            caught(tried).await.unwrap_or_else(|_| Try::failed(&self.clock, OutsideFailure::Internal));
        let status = tried.result.as_ref().ok().map(|(status, _)| *status);
        self.figures.webhook_tried(status, Duration::from_millis(tried.milliseconds));
        tried
    }
}
