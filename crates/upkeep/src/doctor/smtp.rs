//! Says hello to a mail server and hears what it offers, in the clear and without mail.
//! For looking only: what sends mail is `relay`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

const MOST_SAID: u64 = 16 << 10;

/// What a server says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SmtpGreeting {
    /// Behind its 220.
    pub greeting: String,
    /// The words it offers, in capitals.
    pub offers: Vec<String>,
}

/// `hello` is EHLO or LHLO. The patience is for connecting, and for all that is said.
pub async fn greet(
    address: SocketAddr,
    hello: &str,
    name: &str,
    patience: Duration,
) -> Result<SmtpGreeting, String> {
    let talking = async {
        let mut stream = BufReader::new(TcpStream::connect(address).await?.take(MOST_SAID));
        let greeting = answer(&mut stream, "220").await?;
        say(&mut stream, &format!("{hello} {name}\r\n")).await?;
        let offers = answer(&mut stream, "250").await?;
        // It need not hear it.
        let _ = say(&mut stream, "QUIT\r\n").await;
        let offers = offers.lines().skip(1).map(str::to_uppercase).collect();
        Ok::<_, io::Error>(SmtpGreeting { greeting: greeting.trim().to_owned(), offers })
    };
    match timeout(patience, talking).await {
        Ok(Ok(heard)) => Ok(heard),
        Ok(Err(error)) => Err(format!("{address}: {error}")),
        Err(_) => Err(format!("{address} does not answer in {} s", patience.as_secs())),
    }
}

type Stream = BufReader<tokio::io::Take<TcpStream>>;

async fn say(stream: &mut Stream, words: &str) -> io::Result<()> {
    stream.get_mut().get_mut().write_all(words.as_bytes()).await
}

/// The lines of one answer without their code, which has to be this one.
async fn answer(stream: &mut Stream, code: &str) -> io::Result<String> {
    let mut said = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let Some(rest) = line.strip_prefix(code) else {
            return Err(io::Error::other(format!("it says {}", line.trim_end())));
        };
        said.push_str(rest.get(1..).unwrap_or_default());
        if !rest.starts_with('-') {
            return Ok(said);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn server(says: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut peer, _) = listener.accept().await.unwrap();
            for said in says {
                peer.write_all(said.as_bytes()).await.unwrap();
                let mut heard = [0; 256];
                let _ = peer.read(&mut heard).await;
            }
        });
        address
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_a_server_says_is_heard() {
        let address =
            server(&["220 mx.acme.example ESMTP\r\n", "250-mx\r\n250-STARTTLS\r\n250 size 100\r\n"]).await;
        let heard = greet(address, "EHLO", "desk", LONG).await.unwrap();
        assert_eq!(heard.greeting, "mx.acme.example ESMTP");
        assert_eq!(heard.offers, ["STARTTLS", "SIZE 100"]);
        let busy = server(&["421 too many\r\n"]).await;
        assert!(greet(busy, "EHLO", "desk", LONG).await.unwrap_err().contains("421 too many"));
        assert!(greet(([127, 0, 0, 1], 1).into(), "EHLO", "desk", LONG).await.is_err());
    }
}
