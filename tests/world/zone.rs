//! A name server with the rows a test gives it: real DNS over UDP and TCP, so that the service's own resolver asks
//! it. It says that an answer is authentic (DNSSEC) where the test says so and the question asks for it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, MX, PTR, TLSA, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

type Rows = Arc<Mutex<BTreeMap<String, Vec<RData>>>>;

pub struct Zone {
    pub address: SocketAddr,
    rows: Rows,
}

impl Zone {
    pub async fn start() -> Self {
        let (socket, listener) = loop {
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
            let address = socket.local_addr().expect("an address");
            // The same port may be taken for TCP.
            if let Ok(listener) = TcpListener::bind(address).await {
                break (socket, listener);
            }
        };
        let (address, rows) = (socket.local_addr().expect("an address"), Rows::default());
        let known = rows.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Ok(length) = stream.read_u16().await else { continue };
                let mut question = vec![0; usize::from(length)];
                if stream.read_exact(&mut question).await.is_err() {
                    continue;
                }
                if let Some(answer) = answer(&question, &known) {
                    let length = (answer.len() as u16).to_be_bytes();
                    let _ = stream.write_all(&[&length[..], &answer].concat()).await;
                }
            }
        });
        let known = rows.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 4_096];
            while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
                if let Some(answer) = answer(&buffer[..length], &known) {
                    let _ = socket.send_to(&answer, peer).await;
                }
            }
        });
        Self { address, rows }
    }

    /// A text, in strings of at most 255 bytes.
    pub fn text(&self, name: &str, text: &str) {
        let strings = text.as_bytes().chunks(255).map(|part| String::from_utf8_lossy(part).into_owned());
        self.add(name, RData::TXT(TXT::new(strings.collect())));
    }

    pub fn mail_server(&self, name: &str, server: &str) {
        self.add(name, RData::MX(MX::new(10, Name::from_ascii(server).expect("a name"))));
    }

    pub fn address(&self, name: &str, address: Ipv4Addr) {
        self.add(name, RData::A(A(address)));
    }

    /// What an address is called.
    pub fn pointer(&self, address: Ipv4Addr, name: &str) {
        let called = Name::from_ascii(name).expect("a name");
        self.add(&Name::from(IpAddr::V4(address)).to_ascii(), RData::PTR(PTR(called)));
    }

    /// What a certificate must be like, at `_PORT._tcp.NAME`: usage, selector, matching and data.
    pub fn tlsa(&self, name: &str, (usage, selector, matching): (u8, u8, u8), data: Vec<u8>) {
        self.add(name, RData::TLSA(TLSA::new(usage.into(), selector.into(), matching.into(), data)));
    }

    pub fn clear(&self) {
        self.rows.lock().unwrap().clear();
    }

    fn add(&self, name: &str, data: RData) {
        let name = name.trim_end_matches('.').to_lowercase();
        self.rows.lock().unwrap().entry(name).or_default().push(data);
    }
}

/// Nothing is said to a name that has `silent` in it, `broken` names fail but for their address, and `unsigned` ones are not authentic.
fn answer(question: &[u8], rows: &Rows) -> Option<Vec<u8>> {
    let mut message = Message::from_vec(question).ok()?;
    let query = message.queries.first()?.clone();
    let name = query.name().to_ascii().trim_end_matches('.').to_lowercase();
    message.metadata.message_type = MessageType::Response;
    message.metadata.recursion_available = true;
    let rows = rows.lock().unwrap();
    message.metadata.response_code = if name.contains("silent") {
        return None;
    } else if name.contains("broken") && query.query_type() != RecordType::A {
        ResponseCode::ServFail
    } else if rows.contains_key(&name) {
        ResponseCode::NoError
    } else {
        ResponseCode::NXDomain
    };
    message.metadata.authentic_data &= !name.contains("unsigned");
    for data in rows.get(&name).into_iter().flatten().filter(|data| data.record_type() == query.query_type())
    {
        message.answers.push(Record::from_rdata(query.name().clone(), 60, data.clone()));
    }
    message.to_vec().ok()
}
