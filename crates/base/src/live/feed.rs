//! Where changes are told after their commit: to the streams of this node at once, to other nodes by `nodes`, which
//! takes what is to be told from here. No queue grows with a slow listener: a stream that falls behind, and a node
//! that is told too much at once, hear that everything may have changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};

use crate::ids::{ConversationId, PersonId, WorkspaceId};
use crate::live::presence::{Board, Here};
use crate::live::topic::{LiveTopic, TopicChange};

/// Changes of one workspace that a stream may be behind.
const BEHIND: usize = 128;
/// Lines for other nodes that are kept until they are told.
const MOST_LINES: usize = 2000;
/// The line that says that everything may have changed.
const EVERYTHING: &str = "*";

#[derive(Clone, Default)]
pub struct Feed(Arc<Shared>);

#[derive(Default)]
struct Shared {
    rooms: Mutex<HashMap<WorkspaceId, broadcast::Sender<RoomMessage>>>,
    board: Mutex<Board>,
    untold: Mutex<Untold>,
    more: Notify,
}

/// What other nodes have not heard yet. Of what somebody does in a conversation only the newest counts.
#[derive(Default)]
struct Untold {
    changes: BTreeSet<String>,
    here: HashMap<(WorkspaceId, ConversationId, PersonId), String>,
}

#[derive(Clone, Copy, Debug)]
enum RoomMessage {
    Changed(TopicChange),
    Everything,
}

/// What a stream hears at once.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamNews {
    Topics(BTreeSet<LiveTopic>),
    /// Something was missed: all that is shown has to be asked for again.
    Everything,
}

impl Feed {
    /// What a commit has changed. Nobody has heard of it before this.
    pub fn tell(&self, workspace: WorkspaceId, changes: &BTreeSet<TopicChange>) {
        if changes.is_empty() {
            return;
        }
        for change in changes {
            self.tell_here(workspace, RoomMessage::Changed(*change));
        }
        self.tell_there(changes.iter().map(|change| format!("{} {change}", workspace.0)));
    }

    /// Somebody looks at a conversation, writes in it, or has left it.
    pub fn is_here(&self, workspace: WorkspaceId, here: Here, now: DateTime<Utc>) {
        if here.audience < 0 {
            return;
        }
        let mut untold = locked(&self.0.untold);
        let place = (workspace, here.conversation, here.person);
        // Whoever is there says so again soon.
        if untold.here.len() < MOST_LINES || untold.here.contains_key(&place) {
            untold.here.insert(place, format!("{} {here}", workspace.0));
        }
        drop(untold);
        self.0.more.notify_one();
        self.note(workspace, here, now);
    }

    /// Who is where, of what the given audiences can see.
    pub fn who_is_where(&self, workspace: WorkspaceId, audiences: &[i64], now: DateTime<Utc>) -> Vec<Here> {
        locked(&self.0.board).everywhere(workspace, audiences, now)
    }

    /// Forgets who was not heard of any more. Every node does so by itself.
    pub fn expire(&self, now: DateTime<Utc>) {
        let left = locked(&self.0.board).expire(now);
        for (workspace, conversation, audience) in left {
            let change = TopicChange { audience, topic: LiveTopic::Presence(conversation) };
            self.tell_here(workspace, RoomMessage::Changed(change));
        }
    }

    /// Everything that the given audiences may hear, from now on.
    pub fn listen(&self, workspace: WorkspaceId, audiences: Vec<i64>) -> Listener {
        let mut rooms = locked(&self.0.rooms);
        let room = rooms.entry(workspace).or_insert_with(|| broadcast::channel(BEHIND).0);
        Listener { heard: room.subscribe(), feed: self.clone(), workspace, audiences }
    }

    /// What came from another node, a line for each thing. A line of a newer version is passed over.
    pub fn heard<'a>(&self, lines: impl Iterator<Item = &'a str>, now: DateTime<Utc>) {
        for line in lines {
            if line == EVERYTHING {
                self.everything();
                continue;
            }
            let Some((workspace, rest)) = line.split_once(' ') else { continue };
            let Ok(workspace) = workspace.parse().map(WorkspaceId) else { continue };
            if let Ok(change) = rest.parse() {
                self.tell_here(workspace, RoomMessage::Changed(change));
            } else if let Ok(here) = rest.parse() {
                self.note(workspace, here, now);
            }
        }
    }

    /// What other nodes did may have been missed.
    pub fn everything(&self) {
        for room in locked(&self.0.rooms).values() {
            let _ = room.send(RoomMessage::Everything);
        }
    }

    /// Lines for other nodes, each once. Empty when there are none.
    pub fn take_untold(&self) -> Vec<String> {
        let Untold { changes, here } = std::mem::take(&mut *locked(&self.0.untold));
        changes.into_iter().chain(here.into_values()).collect()
    }

    pub fn is_untold(&self) -> bool {
        let untold = locked(&self.0.untold);
        !untold.changes.is_empty() || !untold.here.is_empty()
    }

    /// Until there is something for other nodes.
    pub async fn has_untold(&self) {
        self.0.more.notified().await;
    }

    /// What was taken could not be told: other nodes hear that they missed something.
    pub fn was_not_told(&self) {
        self.tell_there([EVERYTHING.to_owned()]);
    }

    fn note(&self, workspace: WorkspaceId, here: Here, now: DateTime<Utc>) {
        let change = TopicChange { audience: here.audience, topic: LiveTopic::Presence(here.conversation) };
        if locked(&self.0.board).note(workspace, here, now) {
            self.tell_here(workspace, RoomMessage::Changed(change));
        }
    }

    fn tell_here(&self, workspace: WorkspaceId, told: RoomMessage) {
        if let Some(room) = locked(&self.0.rooms).get(&workspace) {
            let _ = room.send(told);
        }
    }

    fn tell_there(&self, lines: impl IntoIterator<Item = String>) {
        let mut untold = locked(&self.0.untold);
        let changes = &mut untold.changes;
        for line in lines {
            if changes.len() >= MOST_LINES {
                changes.clear();
                changes.insert(EVERYTHING.to_owned());
            }
            if !changes.contains(EVERYTHING) {
                changes.insert(line);
            }
        }
        drop(untold);
        self.0.more.notify_one();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One stream's ear.
pub struct Listener {
    heard: broadcast::Receiver<RoomMessage>,
    feed: Feed,
    workspace: WorkspaceId,
    audiences: Vec<i64>,
}

impl Listener {
    /// Waits until something has happened, and gives all of it.
    pub async fn news(&mut self) -> StreamNews {
        let mut topics = BTreeSet::new();
        loop {
            let told = match self.heard.recv().await {
                Ok(told) => told,
                Err(RecvError::Lagged(_) | RecvError::Closed) => return self.missed(),
            };
            if !self.add(told, &mut topics) {
                return self.missed();
            }
            loop {
                match self.heard.try_recv() {
                    Ok(told) if self.add(told, &mut topics) => {}
                    Ok(_) | Err(TryRecvError::Lagged(_)) => return self.missed(),
                    Err(_) => break,
                }
            }
            if !topics.is_empty() {
                return StreamNews::Topics(topics);
            }
        }
    }

    /// What is still waiting belongs to what is asked for again anyway.
    fn missed(&mut self) -> StreamNews {
        self.heard = self.heard.resubscribe();
        StreamNews::Everything
    }

    /// False when everything may have changed.
    fn add(&self, told: RoomMessage, topics: &mut BTreeSet<LiveTopic>) -> bool {
        match told {
            RoomMessage::Changed(change) => {
                if self.audiences.contains(&change.audience) {
                    topics.insert(change.topic);
                }
                true
            }
            RoomMessage::Everything => false,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut rooms = locked(&self.feed.0.rooms);
        // This one is still counted.
        if rooms.get(&self.workspace).is_some_and(|room| room.receiver_count() <= 1) {
            rooms.remove(&self.workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::live::presence::Doing;

    const WORKSPACE: WorkspaceId = WorkspaceId(1);

    fn change(audience: i64, topic: LiveTopic) -> BTreeSet<TopicChange> {
        BTreeSet::from([TopicChange { audience, topic }])
    }

    fn topics(news: StreamNews) -> Vec<LiveTopic> {
        match news {
            StreamNews::Topics(topics) => topics.into_iter().collect(),
            StreamNews::Everything => panic!("not everything"),
        }
    }

    #[tokio::test]
    async fn a_listener_hears_its_audiences_and_its_workspace_only() {
        let feed = Feed::default();
        let mut ada = feed.listen(WORKSPACE, vec![0, 5]);
        feed.tell(WorkspaceId(2), &change(0, LiveTopic::List));
        feed.tell(WORKSPACE, &change(6, LiveTopic::Notices));
        assert!(ada.news().now_or_never().is_none());
        feed.tell(WORKSPACE, &change(0, LiveTopic::List));
        feed.tell(WORKSPACE, &change(5, LiveTopic::Notices));
        feed.tell(WORKSPACE, &change(0, LiveTopic::List));
        assert_eq!(
            topics(ada.news().await),
            [LiveTopic::List, LiveTopic::Notices],
            "together, and each once"
        );
    }

    #[tokio::test]
    async fn who_falls_behind_hears_that_everything_may_have_changed_and_goes_on() {
        let feed = Feed::default();
        let mut slow = feed.listen(WORKSPACE, vec![0]);
        for number in 0..1000 {
            feed.tell(WORKSPACE, &change(0, LiveTopic::Conversation(ConversationId(number))));
        }
        assert_eq!(slow.news().await, StreamNews::Everything);
        assert!(slow.news().now_or_never().is_none());
        feed.tell(WORKSPACE, &change(0, LiveTopic::Counts));
        assert_eq!(topics(slow.news().await), [LiveTopic::Counts]);
    }

    #[tokio::test]
    async fn what_one_node_takes_another_hears() {
        let (here, there) = (Feed::default(), Feed::default());
        let mut stream = there.listen(WORKSPACE, vec![0]);
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let conversation = ConversationId(7);
        here.tell(WORKSPACE, &change(0, LiveTopic::Conversation(conversation)));
        let writing = Here {
            conversation,
            audience: 0,
            person: PersonId(3),
            doing: Doing::Writing,
            name: "Ada".into(),
        };
        here.is_here(WORKSPACE, writing, now);
        let lines = here.take_untold();
        there.heard(lines.iter().map(String::as_str).chain(["nonsense", "1 0 z9", ""]), now);
        assert_eq!(
            topics(stream.news().await),
            [LiveTopic::Conversation(conversation), LiveTopic::Presence(conversation)]
        );
        assert_eq!(there.who_is_where(WORKSPACE, &[0], now).len(), 1);
        assert!(here.take_untold().is_empty());
    }

    #[test]
    fn too_much_for_other_nodes_becomes_one_line() {
        let feed = Feed::default();
        for number in 0..5000 {
            feed.tell(WORKSPACE, &change(0, LiveTopic::Conversation(ConversationId(number))));
        }
        assert_eq!(feed.take_untold(), [EVERYTHING]);
    }

    #[test]
    fn whoever_came_and_left_at_once_has_left_on_other_nodes_too() {
        let (here, there) = (Feed::default(), Feed::default());
        let now = DateTime::from_timestamp(1_900_000_000, 0).unwrap();
        let ada = |doing| Here {
            conversation: ConversationId(7),
            audience: 0,
            person: PersonId(3),
            doing,
            name: "Ada".into(),
        };
        let hears = || {
            there.heard(here.take_untold().iter().map(String::as_str), now);
            there.who_is_where(WORKSPACE, &[0], now)
        };
        here.is_here(WORKSPACE, ada(Doing::Looking), now);
        here.is_here(WORKSPACE, ada(Doing::Gone), now);
        assert_eq!(hears(), []);
        here.is_here(WORKSPACE, ada(Doing::Gone), now);
        here.is_here(WORKSPACE, ada(Doing::Writing), now);
        here.is_here(WORKSPACE, ada(Doing::Looking), now);
        assert_eq!(hears(), [ada(Doing::Looking)]);
    }

    #[test]
    fn a_room_without_listeners_is_given_up() {
        let feed = Feed::default();
        let (one, other) = (feed.listen(WORKSPACE, vec![0]), feed.listen(WORKSPACE, vec![0]));
        drop(one);
        assert_eq!(locked(&feed.0.rooms).len(), 1);
        drop(other);
        assert!(locked(&feed.0.rooms).is_empty());
    }
}
