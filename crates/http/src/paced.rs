//! A client's socket that reports to its `Connection` what was read and whether the client reads its answer. When
//! we close, remaining input is read and discarded for a moment.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::connections::Connection;

/// Input discarded at most. Closing a socket with unread input resets it, and the answer can be lost.
const THROWN_AWAY: usize = 1 << 20;

pub struct Paced {
    stream: TcpStream,
    connection: Arc<Connection>,
    thrown_away: usize,
}

impl Paced {
    pub fn new(stream: TcpStream, connection: Arc<Connection>) -> Self {
        Self { stream, connection, thrown_away: 0 }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.connection.took(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.connection.stuck(),
        }
        written
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.connection.heard();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Paced {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A flush means that everything was written, and a TCP socket buffers nothing in user space.
        self.connection.took_all();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.closes();
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        while self.thrown_away < THROWN_AWAY {
            let mut space = [MaybeUninit::uninit(); 8192];
            let mut buffer = ReadBuf::uninit(&mut space);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.thrown_away += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
