//! A mail while it is being received: in memory while it is small, then in an unnamed temporary file. A hundred
//! slow senders of large mail take disk and not memory, and disk space is limited by `peers`.

use std::io::{self, SeekFrom};

use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::peers::Room;

/// Bytes kept in memory before they go to disk.
const IN_MEMORY: usize = 128 * 1024;
/// The largest header.
const HEADER: usize = 512 * 1024;

pub struct Spool {
    /// The bytes that are not in the file yet.
    pub memory: Vec<u8>,
    file: Option<File>,
    written: usize,
    room: Room,
}

impl Spool {
    pub fn new(room: Room) -> Self {
        Self { memory: Vec::new(), file: None, written: 0, room }
    }

    pub fn len(&self) -> usize {
        self.written + self.memory.len()
    }

    /// Moves the bytes in memory to disk when there are enough of them.
    pub async fn settle(&mut self) -> io::Result<()> {
        if self.memory.len() < IN_MEMORY {
            return Ok(());
        }
        if !self.room.grow(self.memory.len()) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::from_std(tokio::task::spawn_blocking(tempfile::tempfile).await??)),
        };
        file.write_all(&self.memory).await?;
        self.written += self.memory.len();
        self.memory = Vec::new();
        Ok(())
    }

    /// Drops everything received so far, because the mail will be refused.
    pub fn discard(&mut self) {
        (self.memory, self.file, self.written) = (Vec::new(), None, 0);
        self.room.give_back();
    }

    /// The header with the line that ends it; `None` when it is too large.
    pub async fn header(&mut self) -> io::Result<Option<Bytes>> {
        let Some(file) = &mut self.file else { return Ok(header(&self.memory)) };
        let mut start = vec![0; HEADER.min(self.written)];
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        file.read_exact(&mut start).await?;
        if self.written < HEADER {
            start.extend_from_slice(&self.memory);
        }
        Ok(header(&start))
    }

    pub async fn read(mut self) -> io::Result<Bytes> {
        let Some(mut file) = self.file.take() else { return Ok(self.memory.into()) };
        let mut whole = Vec::with_capacity(self.written + self.memory.len());
        file.flush().await?;
        file.seek(SeekFrom::Start(0)).await?;
        file.read_to_end(&mut whole).await?;
        whole.extend_from_slice(&self.memory);
        Ok(whole.into())
    }
}

fn header(start: &[u8]) -> Option<Bytes> {
    const END: &[u8] = b"\r\n\r\n";
    let length = match start.windows(END.len()).position(|bytes| bytes == END) {
        Some(end) => end + END.len(),
        None if start.len() < HEADER => start.len(),
        None => return None,
    };
    Some(Bytes::copy_from_slice(&start[..length]))
}
