//! A mail while it comes in: in memory while it is small, in a nameless temporary file when it is not.
//! So a hundred slow senders of large mail cost disk, not memory.

use std::io::{self, SeekFrom};

use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

/// More than this goes to disk.
const IN_MEMORY: usize = 512 * 1024;

#[derive(Default)]
pub struct Spool {
    /// What came last; everything, while there is no file.
    pub memory: Vec<u8>,
    file: Option<File>,
    written: usize,
}

impl Spool {
    pub fn len(&self) -> usize {
        self.written + self.memory.len()
    }

    /// Moves what is in memory to disk when it has become much.
    pub async fn settle(&mut self) -> io::Result<()> {
        if self.memory.len() < IN_MEMORY {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::from_std(tokio::task::spawn_blocking(tempfile::tempfile).await??)),
        };
        file.write_all(&self.memory).await?;
        self.written += self.memory.len();
        self.memory.clear();
        Ok(())
    }

    /// Forgets what came so far: the mail is refused anyway.
    pub fn discard(&mut self) {
        *self = Self::default();
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
