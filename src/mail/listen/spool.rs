//! A mail while it comes in: in memory while it is small, in a nameless temporary file when it is not.
//! So a hundred slow senders of large mail cost disk, not memory, and of disk no more than there is room for.

use std::io::{self, SeekFrom};

use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::peers::Room;

/// More than this goes to disk.
const IN_MEMORY: usize = 128 * 1024;
/// The largest header.
const HEADER: usize = 512 * 1024;

pub struct Spool {
    /// What came last; everything, while there is no file.
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

    /// Moves what is in memory to disk when it has become much.
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

    /// Forgets what came so far: the mail is refused anyway.
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
