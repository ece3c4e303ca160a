//! Sends a request on to a node that serves its cell, as it came, and its answer back, as it comes. Once: whoever gets one
//! that was sent on and does not serve the cell either, says so instead of sending it on again.
//!
//! An answer has to begin and to go on in time, and a cell that owes many gets no more requests (`owed`). Inside the fleet's own
//! network, without TLS; the other node trusts what it is told of the client only from its ROOKERY_TRUSTED_PROXIES.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep, timeout};
use url::Url;

use super::owed::{Owed, Passing};
use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::store::cells::Cell;
use rookery_http::serve::{ClientPresence, From};

/// How long another node may take to answer the telephone.
const CONNECTING: Duration = Duration::from_secs(3);

/// What another node may take for its answer.
#[derive(Clone, Copy)]
pub struct Patience {
    /// Until it begins, once the node has the request. A model that is asked takes longest.
    pub begins: Duration,
    /// For a pause in it. A stream shows every twenty seconds that it is there.
    pub pauses: Duration,
}

impl Patience {
    pub const USUAL: Self = Self { begins: Duration::from_secs(60), pauses: Duration::from_secs(45) };
}

const SENT_ON: HeaderName = HeaderName::from_static("rookery-sent-on");
/// What is about a connection and not about a request.
const OF_CONNECTION: [HeaderName; 5] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE, header::TRAILER];

pub fn was_sent_on(headers: &HeaderMap) -> bool {
    headers.contains_key(SENT_ON)
}

/// `workspace`: whose request it is, if it is about one.
pub async fn send_on(
    owed: &Owed,
    cell: &Cell,
    workspace: Option<WorkspaceId>,
    request: Request,
    patience: Patience,
) -> Result<Response> {
    let name = &cell.name;
    if was_sent_on(request.headers()) {
        return Err(Error::internal(format!(
            "a request for the cell {name} was sent on to a node without it"
        )));
    }
    let Some(address) = &cell.address else {
        return Err(Error::internal(format!("no node is known that serves the cell {name}")));
    };
    let debt = owed.begin(name, workspace)?;
    let client =
        request.extensions().get::<ClientPresence>().cloned().unwrap_or_else(ClientPresence::staying);
    let request = as_it_came(request)?.map(|body| Body::new(Passing::new(body, debt.clone())));
    tokio::select! {
        answer = ask(address, request, patience.pauses) => {
            if answer.is_ok() {
                owed.answered(name);
            }
            answer
        }
        () = debt.is_late(patience.begins) => Err(Error::internal(format!("the cell {name} does not answer in time"))),
        // Nobody reads this. What was begun there goes on there.
        () = client.left() => Ok(StatusCode::REQUEST_TIMEOUT.into_response()),
    }
}

async fn ask(address: &str, request: Request, pauses: Duration) -> Result<Response> {
    let address: Url = address.parse().map_err(Error::internal)?;
    let (host, port) =
        (address.host_str().unwrap_or_default(), address.port_or_known_default().unwrap_or(80));
    let connecting = timeout(CONNECTING, TcpStream::connect((host, port)));
    let stream = connecting.await.map_err(Error::internal)??;
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(Error::internal)?;
    let line = NodeConnection(tokio::spawn(async move {
        let _ = connection.await;
    }));
    let answer = sender.send_request(request).await.map_err(Error::internal)?;
    let (mut parts, body) = answer.into_parts();
    OF_CONNECTION.iter().for_each(|name| {
        parts.headers.remove(name);
    });
    let body = Answering { body, pauses, waited: None, _line: line };
    Ok(Response::from_parts(parts, Body::new(body)))
}

/// The connection to the other node. It ends with whoever holds this.
struct NodeConnection(JoinHandle<()>);

impl Drop for NodeConnection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of an answer. Only the time in which the other node is waited for counts, not that in which its reader is.
struct Answering {
    body: Incoming,
    pauses: Duration,
    waited: Option<Pin<Box<Sleep>>>,
    _line: NodeConnection,
}

impl hyper::body::Body for Answering {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waited = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let pauses = self.pauses;
        let waited = self.waited.get_or_insert_with(|| Box::pin(sleep(pauses)));
        ready!(waited.as_mut().poll(cx));
        Poll::Ready(Some(Err("the node of another cell stopped in its answer".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn as_it_came(request: Request) -> Result<Request> {
    let (mut parts, body) = request.into_parts();
    // HTTP/2 names the host in the address.
    if let Some(authority) = parts.uri.authority().cloned() {
        let host = HeaderValue::from_str(authority.as_str()).map_err(Error::internal)?;
        parts.headers.entry(header::HOST).or_insert(host);
    }
    let address = parts.uri.path_and_query().map_or("/", |address| address.as_str());
    parts.uri = address.parse::<Uri>().map_err(Error::internal)?;
    parts.version = axum::http::Version::HTTP_11;
    OF_CONNECTION.iter().for_each(|name| {
        parts.headers.remove(name);
    });
    if let Some(From(client)) = parts.extensions.get::<From>() {
        let client = HeaderValue::from_str(&client.to_string()).map_err(Error::internal)?;
        parts.headers.append("x-forwarded-for", client);
    }
    parts.headers.insert(SENT_ON, HeaderValue::from_static("1"));
    Ok(Request::from_parts(parts, body))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const SHORT: Patience =
        Patience { begins: Duration::from_millis(200), pauses: Duration::from_millis(200) };

    /// A node that says this and then nothing. It ends when the other side has left.
    async fn node(says: &'static str) -> (Cell, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Some(format!("http://{}", listener.local_addr().unwrap()));
        let hangs = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(says.as_bytes()).await.unwrap();
            let mut bytes = [0; 1024];
            while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
        });
        let name = "west".to_owned();
        (Cell { name, address, mail_address: None, draining: false, workspaces: 0 }, hangs)
    }

    async fn is_left(node: JoinHandle<()>) {
        timeout(Duration::from_secs(5), node).await.expect("nobody holds it any more").unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_does_not_begin_or_does_not_go_on_is_given_up() {
        let owed = Owed::new(1);
        let (cell, hangs) = node("").await;
        let answer = send_on(&owed, &cell, None, Request::new(Body::empty()), SHORT).await;
        assert!(answer.is_err_and(|error| error.to_string().contains("does not answer in time")));
        is_left(hangs).await;

        let (cell, hangs) = node("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc").await;
        let answer = send_on(&owed, &cell, None, Request::new(Body::empty()), SHORT).await.unwrap();
        assert!(owed.begin("west", None).is_ok(), "one that has begun is not owed");
        assert!(to_bytes(answer.into_body(), 100).await.is_err(), "it does not end well");
        is_left(hangs).await;
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_any_more_is_given_up() {
        let (cell, hangs) = node("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n:\n").await;
        let answer = send_on(&Owed::new(1), &cell, None, Request::new(Body::empty()), Patience::USUAL).await;
        drop(answer.unwrap());
        is_left(hangs).await;
    }
}
