//! Stands between a node and PostgreSQL, reads what they say to each other, and stops a mail's transaction, or that of
//! another write, at a chosen step. So a node can be killed exactly there, and the program needs no hook for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// Where a mail's transaction is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its first question does not reach the database.
    Begun,
    /// The statement that it is known by does not reach the database.
    Writing,
    /// All its rows are written; COMMIT does not reach the database.
    Written,
    /// The database has committed; its answer does not reach the node.
    Committed,
}

/// How the first statement of a transaction, and the one that stores something, are known.
#[derive(Clone, Copy)]
pub struct Known {
    pub looks: &'static str,
    pub writes: &'static str,
}

const MAIL: Known = Known { looks: "content_hash <>", writes: "insert into messages" };

pub struct Gate {
    port: u16,
    state: Arc<State>,
}

struct State {
    known: Known,
    armed: Mutex<Option<Stop>>,
    /// Somebody is stopped, or waits at the closed gate.
    reached: Notify,
    closed: watch::Sender<bool>,
    connections: Mutex<JoinSet<()>>,
}

struct Stop {
    at: Step,
    /// So many may still pass.
    after: usize,
}

impl Gate {
    /// In front of the PostgreSQL at this port.
    pub async fn before(database: u16) -> Self {
        Self::knowing(MAIL, database).await
    }

    /// The same for other transactions than those of mail.
    pub async fn knowing(known: Known, database: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (armed, reached, connections) = (Mutex::default(), Notify::new(), Mutex::default());
        let state = Arc::new(State { known, armed, reached, closed: watch::Sender::new(false), connections });
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((node, _)) = listener.accept().await {
                let passing = pass(node, database, shared.clone());
                shared.connections.lock().unwrap().spawn(passing);
            }
        });
        Self { port, state }
    }

    /// The address of a database that is reached through the gate.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// When so many more have come to this step, the next goes no further.
    pub fn stop_at(&self, step: Step, after: usize) {
        *self.state.armed.lock().unwrap() = Some(Stop { at: step, after });
    }

    /// Mail waits before its transaction's first question until the gate opens again.
    pub fn close(&self) {
        self.state.closed.send_replace(true);
    }

    pub fn open_again(&self) {
        self.state.closed.send_replace(false);
    }

    /// Waits until one has come there.
    pub async fn reached(&self) -> bool {
        tokio::time::timeout(Duration::from_secs(20), self.state.reached.notified()).await.is_ok()
    }

    /// Closes everything, as the kernel does for a node that died.
    pub fn cut(&self) {
        *self.state.connections.lock().unwrap() = JoinSet::new();
    }
}

impl State {
    /// Never comes back when this is the step to stop at.
    async fn at(&self, step: Step) {
        if self.stops(step) {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
        if step == Step::Begun && *self.closed.borrow() {
            self.reached.notify_one();
            let _ = self.closed.subscribe().wait_for(|closed| !closed).await;
        }
    }

    fn stops(&self, step: Step) -> bool {
        let mut armed = self.armed.lock().unwrap();
        let is_due = armed.take_if(|stop| stop.at == step && stop.after == 0).is_some();
        if let Some(stop) = armed.as_mut().filter(|stop| stop.at == step) {
            stop.after -= 1;
        }
        is_due
    }
}

async fn pass(node: TcpStream, database: u16, state: Arc<State>) {
    let database = TcpStream::connect(("127.0.0.1", database)).await.unwrap();
    for stream in [&node, &database] {
        stream.set_nodelay(true).unwrap();
    }
    let (from_node, to_node) = node.into_split();
    let (from_database, to_database) = database.into_split();
    // Whether the transaction that is open on this connection has stored a mail.
    let stores = AtomicBool::new(false);
    tokio::select! {
        _ = questions(from_node, to_database, &state, &stores) => {}
        _ = answers(from_database, to_node, &state, &stores) => {}
    }
}

async fn questions(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &State,
    stores: &AtomicBool,
) -> std::io::Result<()> {
    // The first message has no letter in front.
    let length = from.read_u32().await?;
    to.write_u32(length).await?;
    to.write_all(&body(&mut from, length).await?).await?;
    let mut statements: HashMap<Vec<u8>, String> = HashMap::new();
    loop {
        let (letter, body) = message(&mut from).await?;
        let mut words = body.split(|byte| *byte == 0);
        let mut next = || words.next().unwrap_or_default();
        match letter {
            // Parse: a statement's name and text.
            b'P' => {
                let name = next().to_vec();
                statements.insert(name, String::from_utf8_lossy(next()).into_owned());
            }
            // Bind: a portal, and the name of the statement to run.
            b'B' => {
                next();
                let statement = statements.get(next()).map_or("", String::as_str);
                if statement.contains(state.known.looks) {
                    state.at(Step::Begun).await;
                }
                if statement.contains(state.known.writes) {
                    state.at(Step::Writing).await;
                    stores.store(true, Ordering::SeqCst);
                }
            }
            b'Q' if next() == b"COMMIT" && stores.load(Ordering::SeqCst) => state.at(Step::Written).await,
            _ => {}
        }
        send(&mut to, letter, &body).await?;
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &State,
    stores: &AtomicBool,
) -> std::io::Result<()> {
    loop {
        let (letter, body) = message(&mut from).await?;
        let ends = letter == b'C' && matches!(&body[..], b"COMMIT\0" | b"ROLLBACK\0");
        if ends && stores.swap(false, Ordering::SeqCst) && body == b"COMMIT\0" {
            state.at(Step::Committed).await;
        }
        send(&mut to, letter, &body).await?;
    }
}

async fn message(from: &mut OwnedReadHalf) -> std::io::Result<(u8, Vec<u8>)> {
    let letter = from.read_u8().await?;
    let length = from.read_u32().await?;
    Ok((letter, body(from, length).await?))
}

/// The length counts its own four bytes.
async fn body(from: &mut OwnedReadHalf, length: u32) -> std::io::Result<Vec<u8>> {
    let mut body = vec![0; length as usize - 4];
    from.read_exact(&mut body).await?;
    Ok(body)
}

async fn send(to: &mut OwnedWriteHalf, letter: u8, body: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(body.len() + 4).unwrap();
    to.write_all(&[&[letter], &length.to_be_bytes()[..], body].concat()).await
}
