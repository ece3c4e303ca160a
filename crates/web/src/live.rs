//! `/live`: the stream that tells an open page what has changed, as server-sent events. It carries topics only, of what
//! the person can see, and a page then asks for what it shows.
//!
//! It holds no connection to the database. It ends when the session does, when the service stops, and is never cut for
//! being idle: every twenty seconds it shows that it is there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::time::{Instant, sleep, sleep_until};

use crate::visit::MemberRequest;
use rookery_base::app::App;
use rookery_base::error::{Error, Result};
use rookery_base::live::feed::{Listener, StreamNews};
use rookery_base::live::streams::{StreamSeat, StreamSession};
use rookery_base::live::topic::LiveTopic;

const SIGN: Duration = Duration::from_secs(20);
/// Pause between two events. What happens meanwhile is told in one event.
const PAUSE: Duration = Duration::from_millis(100);
/// When the connection breaks, a browser comes back after this.
const OPENING: &str = "retry: 2000\n\n";
/// The topic of everything.
const EVERYTHING: &str = "*";

pub async fn stream(asked: MemberRequest) -> Result<Response> {
    if asked.header("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return Err(Error::Forbidden("Only pages of this service can listen.".into()));
    }
    let app = asked.app().clone();
    let workspace = asked.person.workspace;
    let seat = app.streams.admit(StreamSession { workspace, id: asked.session.id })?;
    let listener = app.feed.listen(workspace, asked.person.audiences());
    let telling = Telling { app, seat, listener, next: None };
    let body = Body::from_stream(stream::unfold(telling, async |mut telling| {
        telling.event().await.map(|event| (Ok::<_, Error>(event), telling))
    }));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that gather answers would keep it.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, body).into_response())
}

struct Telling {
    app: Arc<App>,
    seat: StreamSeat,
    listener: Listener,
    /// The next event is not sent before this.
    next: Option<Instant>,
}

impl Telling {
    /// The next bytes of the stream; None at its end.
    async fn event(&mut self) -> Option<Bytes> {
        let Some(next) = self.next else {
            self.next = Some(Instant::now());
            return Some(Bytes::from_static(OPENING.as_bytes()));
        };
        sleep_until(next).await;
        let news = tokio::select! {
            news = self.listener.news() => news,
            () = sleep(SIGN) => return Some(Bytes::from_static(b":\n\n")),
            () = self.seat.ended() => return None,
            () = self.app.stop.wait() => return None,
        };
        self.next = Some(Instant::now() + PAUSE);
        match news {
            // The browser comes back, and the door looks at its session.
            StreamNews::Topics(topics) if topics.contains(&LiveTopic::Rights) => None,
            StreamNews::Topics(topics) => Some(written(&topics)),
            StreamNews::Everything => Some(Bytes::from(format!("data: {EVERYTHING}\n\n"))),
        }
    }
}

fn written(topics: &BTreeSet<LiveTopic>) -> Bytes {
    let words: BTreeSet<String> = topics.iter().flat_map(|topic| topic.words()).collect();
    let words: Vec<String> = words.into_iter().collect();
    Bytes::from(format!("data: {}\n\n", words.join(" ")))
}
