//! A DNS server for tests: zones written as text, SERVFAIL for names that say so, no answer for SILENT ones and what is
//! below them, and for SLOW ones an answer after so many seconds.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, SOA, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

pub struct Zone {
    pub address: SocketAddr,
    asked: Arc<AtomicUsize>,
    server: tokio::task::JoinHandle<()>,
}

impl Zone {
    /// Each row is a name and a text record; `A 192.0.2.1` is an address, `SERVFAIL` an answer nobody can use.
    pub async fn serve(rows: &[(&str, &str)]) -> Self {
        let mut records: HashMap<String, Vec<String>> = HashMap::new();
        for (name, text) in rows {
            records.entry(name.to_lowercase()).or_default().push((*text).to_owned());
        }
        let records = Arc::new(records);
        let (socket, listener) = loop {
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
            // The same port may be taken for TCP.
            if let Ok(listener) = TcpListener::bind(socket.local_addr().expect("an address")).await {
                break (Arc::new(socket), listener);
            }
        };
        let address = socket.local_addr().expect("an address");
        if rows.iter().any(|(_, text)| text.starts_with("SLOW ")) {
            // A resolver that has waited in vain asks over TCP: there it is as slow.
            tokio::spawn(slowly(listener, records.clone()));
        }
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let server = tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                let Ok(asked) = Message::from_vec(&buffer[..length]) else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                let Some(answer) = answer(&asked, &records) else { continue };
                let (socket, after) = (socket.clone(), slow(&asked, &records));
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    let _ = socket.send_to(&answer.to_vec().expect("an answer"), from).await;
                });
            }
        });
        Self { address, asked, server }
    }

    /// Questions that came so far.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Zone {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn slowly(listener: TcpListener, records: Arc<HashMap<String, Vec<String>>>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let records = records.clone();
        tokio::spawn(async move {
            while let Ok(length) = stream.read_u16().await {
                let mut question = vec![0; usize::from(length)];
                stream.read_exact(&mut question).await?;
                let Ok(asked) = Message::from_vec(&question) else { break };
                let Some(answer) = answer(&asked, &records) else { break };
                tokio::time::sleep(slow(&asked, &records)).await;
                let answer = answer.to_vec().expect("an answer");
                stream.write_u16(answer.len() as u16).await?;
                stream.write_all(&answer).await?;
            }
            std::io::Result::Ok(())
        });
    }
}

/// How long a name takes: `SLOW 9` is nine seconds.
fn slow(asked: &Message, records: &HashMap<String, Vec<String>>) -> Duration {
    let name =
        asked.queries.first().map(|query| query.name().to_string().trim_end_matches('.').to_lowercase());
    let texts = name.and_then(|name| records.get(&name)).into_iter().flatten();
    let seconds = texts.filter_map(|text| text.strip_prefix("SLOW ")?.parse().ok()).next();
    Duration::from_secs(seconds.unwrap_or_default())
}

fn answer(asked: &Message, records: &HashMap<String, Vec<String>>) -> Option<Message> {
    let mut answer = Message::new(asked.metadata.id, MessageType::Response, OpCode::Query);
    answer.metadata.recursion_desired = true;
    answer.metadata.recursion_available = true;
    let Some(query) = asked.queries.first() else { return Some(answer) };
    answer.add_query(query.clone());
    let name = query.name().to_string().trim_end_matches('.').to_lowercase();
    let below =
        |zone: &str| name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if records.iter().any(|(zone, texts)| below(zone) && texts.iter().any(|text| text == "SILENT")) {
        return None;
    }
    match records.get(&name) {
        None => {
            answer.metadata.response_code = ResponseCode::NXDomain;
            // How long to remember that there is nothing; without it, the name would be asked for again and again.
            let root = Name::root();
            let start = SOA::new(root.clone(), root.clone(), 1, 60, 60, 60, 60);
            answer.add_authority(Record::from_rdata(root, 60, RData::SOA(start)));
        }
        Some(texts) if texts.iter().any(|text| text == "SERVFAIL") => {
            answer.metadata.response_code = ResponseCode::ServFail;
        }
        Some(texts) => {
            for text in texts {
                if let Some(data) = data(query.query_type(), text) {
                    let owner: Name = query.name().clone();
                    answer.add_answer(Record::from_rdata(owner, 60, data));
                }
            }
        }
    }
    Some(answer)
}

fn data(kind: RecordType, text: &str) -> Option<RData> {
    match (kind, text.strip_prefix("A ")) {
        (RecordType::A, Some(address)) => Some(RData::A(A(address.parse().expect("an address")))),
        (RecordType::TXT, None) => {
            let pieces = text.as_bytes().chunks(250).map(|piece| String::from_utf8_lossy(piece).into_owned());
            Some(RData::TXT(TXT::new(pieces.collect())))
        }
        _ => None,
    }
}
