//! Reads request bodies. What is still coming has a place, which a newcomer may get; what came has memory, until its request
//! is over. Strangers, services that report and workspaces each have their own places and memory, and of those one network or
//! one workspace gets a share. A body that arrives too slowly is given up, and what nobody has authenticated holds as much as
//! came of it, whatever length it announced.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use bytes::BytesMut;
use futures::StreamExt;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use rookery_base::error::{Error, Result};
use rookery_base::ids::WorkspaceId;
use rookery_base::limits::places::Places;
use rookery_base::net::ip_ranges::site;

/// A body up to this size is counted apart from larger ones, so that ordinary requests do not wait for large ones.
const SMALL: usize = 64 << 10;
/// A body that takes longer than this to arrive is given up.
const BODY_TIME: Duration = Duration::from_secs(30);
/// A client must send this much, or the end of the body, within its patience.
const STEP: usize = 8 << 10;
/// Most bodies come with their head. They take no place.
const AT_HAND: Duration = Duration::from_millis(20);

/// Whose body it is, as far as that is known before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Who signs in, asks for a token or fills in a form of a public page, by network.
    Stranger(IpAddr),
    /// Who reports to the hook of a workspace's sending service: the signature is checked over the body. By workspace, because
    /// strangers have many networks, and whoever knows one hook shall keep no other workspace's reports out.
    Service(WorkspaceId),
    /// Who was authenticated.
    Workspace(WorkspaceId),
}

/// Bodies that share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BodyClass {
    Strangers,
    Services,
    Small,
    Large,
}

impl BodyClass {
    /// Bytes in all, and of one caller. Of the large ones of a workspace that is one body of the largest size.
    fn budget(self) -> (usize, usize) {
        match self {
            Self::Strangers => (8 << 20, 256 << 10),
            Self::Services => (16 << 20, 2 << 20),
            Self::Small => (16 << 20, 2 << 20),
            Self::Large => (64 << 20, 16 << 20),
        }
    }
}

impl Caller {
    /// Whose places it takes: all networks of an IPv6 /48 have a share together, because whoever has one has 65,536 of them.
    fn with_neighbours(self) -> Self {
        match self {
            Self::Stranger(asker) => Self::Stranger(site(asker).unwrap_or(asker)),
            other => other,
        }
    }

    /// What is reserved before anything came, of a body that announced so much.
    fn in_advance(self, announced: usize) -> usize {
        match self {
            Self::Stranger(_) | Self::Service(_) => 0,
            Self::Workspace(_) => announced,
        }
    }

    /// What is reserved when more has come than was.
    fn with_more(self, reserved: usize, came: usize) -> usize {
        match self {
            Self::Stranger(_) | Self::Service(_) => came.next_multiple_of(STEP),
            Self::Workspace(_) => came.max(2 * reserved),
        }
    }

    fn kind(self, bytes: usize) -> BodyClass {
        match self {
            Self::Stranger(_) => BodyClass::Strangers,
            Self::Service(_) => BodyClass::Services,
            Self::Workspace(_) if bytes <= SMALL => BodyClass::Small,
            Self::Workspace(_) => BodyClass::Large,
        }
    }
}

pub struct Bodies {
    patience: Duration,
    strangers: Arc<Places<Caller>>,
    services: Arc<Places<Caller>>,
    workspaces: Arc<Places<Caller>>,
    taken: Mutex<TakenMemory>,
    freed: Notify,
}

#[derive(Default)]
struct TakenMemory {
    all: HashMap<BodyClass, usize>,
    own: HashMap<(BodyClass, Caller), usize>,
}

/// A body, and its reservation of memory until it is dropped.
pub struct WholeBody {
    pub bytes: Bytes,
    _room: Room,
}

struct Room {
    bodies: Arc<Bodies>,
    of: Caller,
    bytes: usize,
}

impl Bodies {
    /// `patience`: how long a client may take for the next part of its body. A workspace's body waits half of it for memory.
    pub fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            patience,
            strangers: Places::new(64, 8),
            services: Places::new(64, 16),
            workspaces: Places::new(256, 64),
            taken: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// Reads a body up to a size.
    pub async fn read(self: &Arc<Self>, body: Body, most: usize, of: Caller) -> Result<WholeBody> {
        let mut reading = pin!(self.collect(body, most, of));
        if let Ok(whole) = timeout(AT_HAND, reading.as_mut()).await {
            return whole;
        }
        let places = match of {
            Caller::Stranger(_) => &self.strangers,
            Caller::Service(_) => &self.services,
            Caller::Workspace(_) => &self.workspaces,
        };
        let place = places.take(of.with_neighbours());
        tokio::select! {
            whole = reading => whole,
            () = place.given_up() => Err(too_many()),
        }
    }

    async fn collect(self: &Arc<Self>, body: Body, most: usize, of: Caller) -> Result<WholeBody> {
        let mut room = Room { bodies: self.clone(), of, bytes: 0 };
        if body.is_end_stream() {
            return Ok(WholeBody { bytes: Bytes::new(), _room: room });
        }
        let told = body.size_hint();
        // Without a Content-Length, start small and grow.
        let announced = told.exact().unwrap_or(SMALL as u64).min(most as u64) as usize;
        room.grow(of.in_advance(announced)).await?;
        let mut coming = body.into_data_stream();
        let mut whole = BytesMut::new();
        let last = Instant::now() + BODY_TIME;
        let (mut due, mut since) = (Instant::now() + self.patience, 0);
        loop {
            let part = match timeout_at(due.min(last), coming.next()).await {
                Ok(Some(Ok(part))) => part,
                // Part of a body that was to be longer, from a connection that is gone.
                Ok(None) if told.exact().is_some_and(|told| told != whole.len() as u64) => {
                    return Err(Error::TooLarge);
                }
                Ok(None) => {
                    room.shrink(whole.len());
                    return Ok(WholeBody { bytes: whole.freeze(), _room: room });
                }
                // The connection broke, so nobody reads this error.
                Ok(Some(Err(_))) => return Err(Error::TooLarge),
                Err(_) => return Err(Error::problem("request body", "took too long to arrive")),
            };
            if whole.len() + part.len() > most {
                return Err(Error::TooLarge);
            }
            if whole.len() + part.len() > room.bytes {
                room.grow(of.with_more(room.bytes, whole.len() + part.len()).min(most)).await?;
            }
            whole.extend_from_slice(&part);
            since += part.len();
            if since >= STEP {
                (due, since) = (Instant::now() + self.patience, 0);
            }
        }
    }

    /// Changes a reservation, if the budget allows it.
    fn resize(&self, of: Caller, held: usize, wanted: usize) -> bool {
        let mut taken = self.taken();
        taken.add(of.kind(held), of, -(held as isize));
        let kind = of.kind(wanted);
        let (most, most_of_one) = kind.budget();
        let (all, own) = taken.sums_of(kind, of);
        let fits = all + wanted <= most && own + wanted <= most_of_one;
        if fits {
            taken.add(kind, of, wanted as isize);
        } else {
            taken.add(of.kind(held), of, held as isize);
        }
        fits
    }

    fn taken(&self) -> MutexGuard<'_, TakenMemory> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenMemory {
    /// In all, and of this caller.
    fn sums_of(&self, kind: BodyClass, of: Caller) -> (usize, usize) {
        let all = self.all.get(&kind).copied().unwrap_or_default();
        (all, self.own.get(&(kind, of)).copied().unwrap_or_default())
    }

    fn add(&mut self, kind: BodyClass, of: Caller, bytes: isize) {
        let (all, own) = self.sums_of(kind, of);
        self.all.insert(kind, all.saturating_add_signed(bytes));
        match own.saturating_add_signed(bytes) {
            0 => drop(self.own.remove(&(kind, of))),
            own => drop(self.own.insert((kind, of), own)),
        }
    }
}

impl Room {
    async fn grow(&mut self, wanted: usize) -> Result<()> {
        let bodies = self.bodies.clone();
        // A workspace waits: memory becomes free when other bodies are done or stalled clients are given up.
        let until = Instant::now() + bodies.patience / 2;
        loop {
            let mut freed = pin!(bodies.freed.notified());
            // Registered before the check, so that no notification is missed.
            freed.as_mut().enable();
            if bodies.resize(self.of, self.bytes, wanted) {
                self.bytes = wanted;
                return Ok(());
            }
            if !matches!(self.of, Caller::Workspace(_)) {
                return Err(too_many());
            }
            timeout_at(until, freed).await.map_err(|_| too_many())?;
        }
    }

    /// Gives back what the body, which is whole now, does not need.
    fn shrink(&mut self, wanted: usize) {
        if wanted < self.bytes && self.bodies.resize(self.of, self.bytes, wanted) {
            self.bytes = wanted;
            self.bodies.freed.notify_waiters();
        }
    }
}

fn too_many() -> Error {
    let sentence = "Too many requests came at once. Try again in a moment.".to_owned();
    Error::SlowDown { sentence, retry_after: Duration::from_secs(1) }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.bodies.taken().add(self.of.kind(self.bytes), self.of, -(self.bytes as isize));
        self.bodies.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::{Frame, SizeHint};

    use super::*;

    const HERE: Caller = Caller::Workspace(WorkspaceId(1));
    const LARGE: usize = 16 << 20;
    const STRANGERS: usize = 16 << 10;

    async fn room(bodies: &Arc<Bodies>, of: Caller, bytes: usize) -> Option<Room> {
        let mut room = Room { bodies: bodies.clone(), of, bytes: 0 };
        room.grow(bytes).await.ok().map(|()| room)
    }

    fn workspace(number: i64) -> Caller {
        Caller::Workspace(WorkspaceId(number))
    }

    fn service(number: i64) -> Caller {
        Caller::Service(WorkspaceId(number))
    }

    fn stranger(number: u8) -> Caller {
        Caller::Stranger([192, 0, 2, number].into())
    }

    fn body(parts: &[&'static str]) -> Body {
        let parts = parts.to_vec();
        Body::from_stream(futures::stream::iter(parts.into_iter().map(Ok::<_, std::io::Error>)))
    }

    /// One whose end never comes.
    fn owed() -> Body {
        Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>())
    }

    fn is_nothing_taken(bodies: &Bodies) -> bool {
        let taken = bodies.taken();
        taken.all.values().all(|bytes| *bytes == 0) && taken.own.is_empty()
    }

    #[tokio::test]
    async fn one_workspace_takes_its_share_and_all_together_the_budget() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let first = room(&bodies, HERE, LARGE).await;
        assert!(first.is_some());
        assert!(room(&bodies, HERE, LARGE).await.is_none(), "its share is taken");
        assert!(room(&bodies, HERE, SMALL).await.is_some(), "ordinary requests go on");
        let others: Vec<_> =
            futures::future::join_all((2..5).map(|id| room(&bodies, workspace(id), LARGE))).await;
        assert!(others.iter().all(Option::is_some));
        assert!(room(&bodies, workspace(5), LARGE).await.is_none(), "nothing is left");
        let waiting = room(&bodies, workspace(5), LARGE);
        let leaving = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let (served, ()) = futures::join!(waiting, leaving);
        assert!(served.is_some(), "whoever waits gets what is given back");
        drop((served, others));
        assert!(is_nothing_taken(&bodies));
    }

    #[tokio::test]
    async fn small_bodies_of_one_workspace_and_large_ones_of_all_leave_room_for_small_ones() {
        let bodies = Bodies::new(Duration::from_millis(10));
        let mut held = Vec::new();
        while let Some(more) = room(&bodies, HERE, SMALL).await {
            held.push(more);
        }
        assert_eq!(held.len() * SMALL, BodyClass::Small.budget().1);
        for other in 2..6 {
            held.push(room(&bodies, workspace(other), LARGE).await.unwrap());
        }
        assert!(room(&bodies, workspace(6), LARGE).await.is_none());
        assert!(room(&bodies, workspace(6), SMALL).await.is_some());
        let mut grows = room(&bodies, workspace(7), SMALL).await.unwrap();
        assert!(grows.grow(SMALL + 1).await.is_err());
        drop((held, grows));
        assert!(is_nothing_taken(&bodies));
    }

    #[tokio::test]
    async fn strangers_take_so_much_of_a_network_and_nothing_of_a_workspace() {
        let bodies = Bodies::new(Duration::from_secs(10));
        let mut held = Vec::new();
        while let Some(more) = room(&bodies, stranger(1), STRANGERS).await {
            held.push(more);
        }
        assert_eq!(held.len(), 16, "refused at once, without waiting");
        assert!(room(&bodies, stranger(2), STRANGERS).await.is_some());
        for network in 2..40 {
            while let Some(more) = room(&bodies, stranger(network), STRANGERS).await {
                held.push(more);
            }
        }
        assert_eq!(held.len() * STRANGERS, BodyClass::Strangers.budget().0);
        assert!(room(&bodies, HERE, LARGE).await.is_some());
    }

    #[tokio::test]
    async fn bodies_that_strangers_owe_give_way_to_those_that_come() {
        let bodies = Bodies::new(Duration::from_secs(10));
        // A hundred of one network, and a few of many.
        let owing = (0..100).map(|_| 1).chain((2..80).flat_map(|network| [network; 4]));
        let owing: Vec<_> = owing
            .map(|network| {
                let bodies = bodies.clone();
                tokio::spawn(async move { bodies.read(owed(), STRANGERS, stranger(network)).await.err() })
            })
            .collect();
        tokio::time::sleep(3 * AT_HAND).await;
        let late = Body::from_stream(futures::stream::once(async {
            tokio::time::sleep(3 * AT_HAND).await;
            Ok::<_, std::io::Error>("email=ada")
        }));
        let read = bodies.read(late, STRANGERS, stranger(200)).await.unwrap();
        assert_eq!(&*read.bytes, b"email=ada");
        let given_up = owing.iter().filter(|one| one.is_finished()).count();
        assert!(given_up >= owing.len() - 64, "{given_up} of {}", owing.len());
        for one in owing.into_iter().filter(|one| one.is_finished()) {
            let error = one.await.unwrap().expect("it is given up");
            assert!(matches!(error, Error::SlowDown { .. }), "{error}");
        }
    }

    #[tokio::test]
    async fn all_networks_of_one_48_have_a_share_of_the_places_together() {
        let bodies = Bodies::new(Duration::from_secs(10));
        let late = Body::from_stream(futures::stream::once(async {
            tokio::time::sleep(5 * AT_HAND).await;
            Ok::<_, std::io::Error>("email=ada")
        }));
        // It comes first, so among many who have one each it would be the first to go.
        let honest = bodies.read(late, STRANGERS, stranger(200));
        let owing = (0..100u16).map(|network| {
            let network = Ipv6Addr::new(0x2001, 0xdb8, 1, network, 0, 0, 0, 0);
            bodies.read(owed(), STRANGERS, Caller::Stranger(network.into()))
        });
        let flood = timeout(8 * AT_HAND, futures::future::join_all(owing));
        let (read, _) = futures::join!(honest, flood);
        assert_eq!(&*read.unwrap().bytes, b"email=ada");
    }

    /// Each announces the most there is and sends one byte, or all but its end.
    #[tokio::test]
    async fn what_was_announced_to_hooks_and_did_not_come_keeps_no_report_out() {
        let bodies = Bodies::new(Duration::from_secs(10));
        let (_, most_of_one) = BodyClass::Services.budget();
        let announced = |came: usize| {
            let came = Bytes::from(vec![b' '; came]);
            let parts = futures::stream::iter([Ok::<_, std::io::Error>(came)]);
            Body::new(Announced { body: Body::from_stream(parts.chain(futures::stream::pending())) })
        };
        let reading = |body: Body, of: Caller| {
            let bodies = bodies.clone();
            tokio::spawn(async move { bodies.read(body, 1 << 20, of).await.err() })
        };
        let silent: Vec<_> = (1..60).map(|number| reading(announced(1), service(number % 12))).collect();
        // Of three workspaces more than their shares, so some of their own are refused.
        let flood: Vec<_> =
            (0..24).map(|number| reading(announced((1 << 20) - 1), service(100 + number % 3))).collect();
        tokio::time::sleep(3 * AT_HAND).await;
        assert!(
            bodies.taken().all[&BodyClass::Services] < 3 * most_of_one + (1 << 20),
            "what came is held, and no more"
        );
        assert!(flood.iter().any(|one| one.is_finished()), "one workspace gets its share");
        for honest in 200..203 {
            let read = bodies.read(Body::from(vec![b' '; 1 << 20]), 1 << 20, service(honest)).await;
            assert_eq!(read.expect("a report of another workspace has room").bytes.len(), 1 << 20);
        }
        drop((silent, flood));
    }

    /// A body whose head said how long it is.
    struct Announced {
        body: Body,
    }

    impl HttpBody for Announced {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
            Pin::new(&mut self.body).poll_frame(context)
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(1 << 20)
        }
    }

    #[tokio::test]
    async fn a_body_holds_as_much_as_it_is_and_who_finds_no_room_is_told_to_come_back() {
        let bodies = Bodies::new(Duration::from_millis(10));
        let mut held = Vec::new();
        for _ in 0..2 * (BodyClass::Small.budget().1 / SMALL) {
            held.push(bodies.read(body(&["chunked"]), SMALL, HERE).await.expect("a small body has room"));
        }
        drop(held);
        let _all = room(&bodies, HERE, LARGE).await.unwrap();
        let mut more = Room { bodies: bodies.clone(), of: HERE, bytes: 0 };
        let error = more.grow(LARGE).await.expect_err("its share is taken");
        assert!(matches!(error, Error::SlowDown { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_read_to_its_cap() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let whole = bodies.read(body(&["ab", "cd"]), 4, HERE).await.unwrap();
        assert_eq!((&*whole.bytes, bodies.taken().all[&BodyClass::Small]), (&b"abcd"[..], 4));
        assert!(matches!(bodies.read(body(&["ab", "cde"]), 4, HERE).await, Err(Error::TooLarge)));
        assert_eq!(bodies.read(Body::empty(), 4, HERE).await.unwrap().bytes.len(), 0);
        drop(whole);
        assert!(is_nothing_taken(&bodies));
    }

    #[tokio::test]
    async fn a_body_that_arrives_too_slowly_is_given_up() {
        let bodies = Bodies::new(Duration::from_secs(1));
        let drip = |part: &'static [u8]| {
            Body::from_stream(futures::stream::repeat(()).then(move |()| async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok::<_, std::io::Error>(part)
            }))
        };
        let error = bodies.read(drip(b"x"), 1 << 20, HERE).await.err().expect("it is given up");
        assert_eq!(error.to_string(), "request body: took too long to arrive");
        static ENOUGH: [u8; STEP] = [b'x'; STEP];
        let error = bodies.read(drip(&ENOUGH), 64 * STEP, HERE).await.err().expect("it is too large");
        assert!(matches!(error, Error::TooLarge), "{error}");
    }
}
