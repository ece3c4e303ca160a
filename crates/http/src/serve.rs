//! The HTTP/1 and HTTP/2 server: one task per connection, with every protocol limit set explicitly. `connections`
//! decides which connections may stay.
//!
//! A request has a task of its own. A client that hangs up does not cut it off in the middle of a change; it keeps its
//! connection's place until it is over, and the service stops after it.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, Version};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::afterwards::Afterwards;
use crate::answers::refusal;
use crate::connections::{Connection, ConnectionSeat, Connections, Running, asker};
use crate::paced::Paced;
use rookery_base::error::Error;
use rookery_base::shutdown::Stop;

/// How often connections are checked for deadlines.
const LOOK: Duration = Duration::from_millis(500);
/// Headers of a request: their number, and the size of the whole head.
const MOST_HEADERS: usize = 64;
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Limits of one HTTP/2 connection: concurrent requests; unread bytes per request and in total; unsent bytes per
/// answer.
const MOST_STREAMS: u32 = 100;
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 128 << 10;
const MOST_UNSENT: usize = 64 << 10;
/// Streams that the client reset before we accepted them, and streams that we reset for protocol errors (rapid
/// reset).
const MOST_RESET: usize = 20;
const MOST_BROKEN: usize = 100;
const PING: Duration = Duration::from_secs(30);

/// The address of the connection that a request came on.
#[derive(Clone, Copy)]
pub struct From(pub IpAddr);

impl From {
    /// The client's address, which may be behind a proxy.
    pub fn asker(self, proxies: &[IpNet], headers: &HeaderMap) -> IpAddr {
        asker(proxies, self.0, headers)
    }
}

/// Whether the client that sent a request is still there.
#[derive(Clone)]
pub struct ClientPresence(Option<watch::Receiver<()>>);

impl ClientPresence {
    /// One that is not on a socket.
    pub fn staying() -> Self {
        Self(None)
    }

    /// Until it has its answer or hangs up.
    pub async fn left(self) {
        match self.0 {
            Some(mut there) => while there.changed().await.is_ok() {},
            None => std::future::pending().await,
        }
    }
}

/// Accepts connections until the service stops. Running requests are finished first.
pub async fn serve(listener: TcpListener, router: Router, connections: Arc<Connections>, stop: Stop) {
    let builder = Arc::new(builder());
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut tasks = JoinSet::new();
    // Every request holds one end until it is over.
    let (under_way, mut over) = mpsc::channel(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if !stop.is_told() => accepted,
            Some(_) = tasks.join_next() => continue,
            _ = look.tick() => {
                connections.sweep();
                continue;
            }
            () = stop.wait() => break,
        };
        match accepted {
            Ok((stream, address)) => {
                // Without a place the connection is closed at once.
                if let Some(seat) = connections.seat(address.ip()) {
                    let requests = Requests { router: router.clone(), under_way: under_way.clone() };
                    tasks.spawn(converse(builder.clone(), stream, requests, seat, stop.clone()));
                }
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                connections.make_room();
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    while !tasks.is_empty() {
        tokio::select! {
            _ = tasks.join_next() => {}
            _ = look.tick() => connections.sweep(),
        }
    }
    drop(under_way);
    over.recv().await;
}

/// The client hung up before the connection was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Where requests go, and the end that each holds.
struct Requests {
    router: Router,
    under_way: mpsc::Sender<Infallible>,
}

impl Requests {
    fn answer(
        &self,
        seat: &Arc<ConnectionSeat>,
        mut request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<AnswerBody>, JoinError>> + use<> {
        // A stream that was reset is none for HTTP/2, but its request goes on here.
        let too_many = seat.connection.running() >= MOST_STREAMS as usize;
        let asker = asker(seat.proxies(), seat.connection.address, request.headers());
        let running = seat.connection.begins(request.version() == Version::HTTP_2, asker);
        let (there, client) = watch::channel(());
        request.extensions_mut().insert(From(seat.connection.address));
        request.extensions_mut().insert(ClientPresence(Some(client)));
        let answering = TowerToHyperService::new(self.router.clone());
        let (seat, under_way) = (seat.clone(), self.under_way.clone());
        let connection = seat.connection.clone();
        let task = tokio::spawn(async move {
            let mut response = if too_many {
                refusal(&too_many_at_once())
            } else {
                let request = request.map(|body| Body::new(Owed::new(body, connection)));
                let Ok(response) = answering.call(request).await;
                response
            };
            drop(seat);
            match response.extensions_mut().remove::<Afterwards>() {
                Some(afterwards) => drop(tokio::spawn(async move {
                    afterwards.run().await;
                    drop(under_way);
                })),
                None => drop(under_way),
            }
            response.map(|body| AnswerBody { body, _running: running })
        });
        // Dropped when the client hangs up, and the task goes on.
        async move {
            let answered = task.await;
            drop(there);
            answered
        }
    }
}

fn too_many_at_once() -> Error {
    let sentence = format!("Too many requests at once. One connection carries {MOST_STREAMS}.");
    Error::SlowDown { sentence, retry_after: Duration::from_secs(1) }
}

async fn converse(
    builder: Arc<Builder<TokioExecutor>>,
    stream: TcpStream,
    requests: Requests,
    seat: ConnectionSeat,
    stop: Stop,
) {
    let _ = stream.set_nodelay(true);
    let seat = Arc::new(seat);
    let connection = &seat.connection;
    let io = TokioIo::new(Paced::new(stream, connection.clone()));
    let answer = service_fn(|request| requests.answer(&seat, request));
    let mut talking = pin!(builder.serve_connection(io, answer));
    tokio::select! {
        _ = talking.as_mut() => return,
        () = connection.told_to_leave() => return,
        () = stop.wait() => talking.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = talking => {}
        () = connection.told_to_leave() => {}
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // `connections` has the timeouts for the request head and for keep-alive.
    builder.http1().header_read_timeout(None).max_headers(MOST_HEADERS).max_buf_size(MOST_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MOST_UNSENT)
        .max_pending_accept_reset_streams(MOST_RESET)
        .max_local_error_reset_streams(MOST_BROKEN)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING / 3);
    builder
}

/// The body of a request, which tells its connection when the client owes the next bytes of it.
struct Owed {
    body: Incoming,
    connection: Arc<Connection>,
    is_owed: bool,
}

impl Owed {
    fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        Self { body, connection, is_owed: false }
    }

    fn note(&mut self, is_owed: bool) {
        match (self.is_owed, is_owed) {
            (false, true) => self.connection.owes(),
            (true, false) => self.connection.owes_no_more(),
            _ => {}
        }
        self.is_owed = is_owed;
    }
}

impl hyper::body::Body for Owed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.note(polled.is_pending());
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.connection.brought(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.note(false);
    }
}

/// The body of a response. The request counts as running until the body was handed over.
struct AnswerBody {
    body: Body,
    _running: Running,
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
