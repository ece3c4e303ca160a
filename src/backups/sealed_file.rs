//! A file that only the holder of the backup key can read or change: parts of 256 KB, each encrypted and bound to its place,
//! to whether it is the last, and to the name of the file. So a bit that flipped, a part that is missing or moved and a file
//! in another's place are all found.

use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::{Error, Result};
use crate::random::Random;
use crate::secrets::hashes::{Sha256, hmac};
use crate::secrets::key_ring::KeyRing;
use crate::secrets::secret::SecretKey;

const MARK: &[u8; 4] = b"RKB1";
const SALT: usize = 32;
const PART: usize = 256 * 1024;
const TAG: usize = 16;

/// Encrypts what it is given piece by piece.
struct Sealer {
    key: LessSafeKey,
    name: String,
    number: u64,
    part: Vec<u8>,
}

impl Sealer {
    /// With what the file begins.
    fn new(keys: &KeyRing, random: &Random, name: &str) -> Result<(Self, Vec<u8>)> {
        let salt = random.bytes::<SALT>();
        let id = keys.newest_id().as_bytes();
        let length = u8::try_from(id.len()).map_err(Error::internal)?;
        let head = [MARK.as_slice(), &[length], id, &salt].concat();
        let key = file_key(keys.newest(), &salt)?;
        Ok((Self { key, name: name.to_owned(), number: 0, part: Vec::with_capacity(PART) }, head))
    }

    fn add(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        while !bytes.is_empty() {
            // A part is sealed when the next begins: the last one is sealed as the last.
            if self.part.len() == PART {
                self.seal(false, out)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PART - self.part.len()));
            self.part.extend_from_slice(now);
            bytes = later;
        }
        Ok(())
    }

    fn seal(&mut self, last: bool, out: &mut Vec<u8>) -> Result<()> {
        let nonce = Nonce::assume_unique_for_key(nonce(self.number, last));
        self.key
            .seal_in_place_append_tag(nonce, Aad::from(self.name.as_bytes()), &mut self.part)
            .map_err(|_| Error::internal("a backup cannot be encrypted"))?;
        out.append(&mut self.part);
        self.number += 1;
        Ok(())
    }
}

/// A file on its way to the disk. Nobody takes it for whole before `finish`.
pub struct Writer {
    file: File,
    path: PathBuf,
    sealer: Sealer,
    out: Vec<u8>,
    hash: Sha256,
    length: u64,
}

/// What was written, before it was encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub length: u64,
    pub hash: [u8; 32],
}

impl Writer {
    pub async fn create(path: &Path, keys: &KeyRing, random: &Random, name: &str) -> Result<Self> {
        let (sealer, head) = Sealer::new(keys, random, name)?;
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(path).await?;
        file.write_all(&head).await?;
        let (hash, length) = (Sha256::new(), 0);
        Ok(Self { file, path: path.to_owned(), sealer, out: Vec::new(), hash, length })
    }

    pub async fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.length += bytes.len() as u64;
        self.sealer.add(bytes, &mut self.out)?;
        if !self.out.is_empty() {
            self.file.write_all(&self.out).await?;
            self.out.clear();
        }
        Ok(())
    }

    pub async fn finish(mut self) -> Result<Written> {
        self.sealer.seal(true, &mut self.out)?;
        self.file.write_all(&self.out).await?;
        self.file.flush().await?;
        Ok(Written { length: self.length, hash: self.hash.finish() })
    }

    /// Takes it away again: what it is of is gone.
    pub async fn discard(self) -> Result<()> {
        drop(self.file);
        Ok(tokio::fs::remove_file(&self.path).await?)
    }
}

/// A file that is read, part by part.
pub struct Reader {
    file: File,
    shown: String,
    key: LessSafeKey,
    name: String,
    number: u64,
    /// What comes next, encrypted: a part and the first byte of the one behind it, if there is one.
    held: Vec<u8>,
    ended: bool,
}

impl Reader {
    pub async fn open(path: &Path, keys: &KeyRing, name: &str) -> Result<Self> {
        let shown = path.display().to_string();
        let mut file = File::open(path).await.map_err(|error| {
            Error::internal(format!("The file {shown} of the backup cannot be read ({error})."))
        })?;
        let mut head = [0_u8; MARK.len() + 1];
        let mut id: Vec<u8> = Vec::new();
        let mut salt = [0_u8; SALT];
        let reading = async {
            file.read_exact(&mut head).await?;
            id.resize(usize::from(head[MARK.len()]), 0);
            file.read_exact(&mut id).await?;
            file.read_exact(&mut salt).await
        };
        if reading.await.is_err() || !head.starts_with(MARK) {
            return Err(changed(&shown));
        }
        let id = String::from_utf8_lossy(&id).into_owned();
        let key = key_named(keys, &id).ok_or_else(|| no_key(&id))?;
        let key = file_key(key, &salt)?;
        Ok(Self { file, shown, key, name: name.to_owned(), number: 0, held: Vec::new(), ended: false })
    }

    /// The next part, or nothing at the end. What it gives was written so, and at this place.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.ended {
            return Ok(None);
        }
        let wanted = PART + TAG + 1;
        while self.held.len() < wanted {
            let more = (wanted - self.held.len()) as u64;
            if (&mut self.file).take(more).read_to_end(&mut self.held).await? == 0 {
                break;
            }
        }
        self.ended = self.held.len() < wanted;
        let behind = if self.ended { Vec::new() } else { self.held.split_off(PART + TAG) };
        let nonce = Nonce::assume_unique_for_key(nonce(self.number, self.ended));
        let opened = self.key.open_in_place(nonce, Aad::from(self.name.as_bytes()), &mut self.held);
        let length = opened.map(|plain| plain.len()).map_err(|_| changed(&self.shown))?;
        let mut plain = std::mem::replace(&mut self.held, behind);
        plain.truncate(length);
        self.number += 1;
        Ok(Some(plain))
    }

    /// All of it, for what is small.
    pub async fn whole(mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(part) = self.next().await? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    }
}

/// How long the encrypted file of so many bytes is.
pub fn sealed_length(keys: &KeyRing, length: u64) -> u64 {
    let head = MARK.len() + 1 + keys.newest_id().len() + SALT;
    // Nothing is a part too, and so is a whole one that is the last.
    let parts = length.div_ceil(PART as u64).max(1);
    head as u64 + length + parts * TAG as u64
}

pub fn key_named<'k>(keys: &'k KeyRing, id: &str) -> Option<&'k SecretKey> {
    keys.all().find(|(own, _)| *own == id).map(|(_, key)| key)
}

pub fn no_key(id: &str) -> Error {
    Error::internal(format!(
        "This backup was made with the key {id}, which is not in ROOKERY_BACKUP_KEY. Put that key there."
    ))
}

fn changed(path: &str) -> Error {
    Error::internal(format!(
        "The file {path} of the backup is not as it was written: it was changed, cut off or put in another's place. \
         Take another backup."
    ))
}

/// A key for each file, so that numbers of parts can begin anew.
fn file_key(key: &SecretKey, salt: &[u8; SALT]) -> Result<LessSafeKey> {
    let derived = hmac(&key.0, &[b"backup\0", salt]);
    let unbound = UnboundKey::new(&AES_256_GCM, derived.as_ref())
        .map_err(|_| Error::internal("no key to encrypt a backup with"))?;
    Ok(LessSafeKey::new(unbound))
}

fn nonce(number: u64, last: bool) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    nonce[NONCE_LEN - 1] = u8::from(last);
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(byte: u8) -> KeyRing {
        SecretKey([byte; 32]).into()
    }

    async fn wrote(path: &Path, keys: &KeyRing, pieces: &[&[u8]]) -> Written {
        let mut writer = Writer::create(path, keys, &Random::seeded(1), "a/database").await.unwrap();
        for piece in pieces {
            writer.add(piece).await.unwrap();
        }
        writer.finish().await.unwrap()
    }

    async fn read(path: &Path, keys: &KeyRing, name: &str) -> Result<Vec<u8>> {
        Reader::open(path, keys, name).await?.whole().await
    }

    #[tokio::test]
    async fn what_is_written_is_read_whatever_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let (path, keys) = (folder.path().join("file"), ring(1));
        for length in [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 7] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let (one, two) = bytes.split_at(length / 3);
            let written = wrote(&path, &keys, &[one, two]).await;
            assert_eq!(written.length, length as u64);
            assert_eq!(read(&path, &keys, "a/database").await.unwrap(), bytes, "{length}");
            let there = std::fs::metadata(&path).unwrap().len();
            assert_eq!(there, sealed_length(&keys, length as u64), "{length}");
        }
    }

    #[tokio::test]
    async fn a_flipped_bit_a_cut_a_swap_and_another_name_or_key_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, keys) = (folder.path().join("file"), ring(1));
        let bytes = vec![7; 2 * PART + 100];
        wrote(&path, &keys, &[&bytes]).await;
        let sound = std::fs::read(&path).unwrap();
        let head = sound.len() - bytes.len() - 3 * TAG;
        let sealed = PART + TAG;
        let mut wrong: Vec<Vec<u8>> = [0, 4, 6, head - 1, head, head + sealed, sound.len() - 1]
            .iter()
            .map(|at| {
                let mut bytes = sound.clone();
                bytes[*at] ^= 1;
                bytes
            })
            .collect();
        // Cut at the end of a part, in the middle of one, and to nothing.
        wrong.extend([head + sealed, head + 10, head, 3].map(|length| sound[..length].to_vec()));
        let parts = [&sound[..head], &sound[head + sealed..head + 2 * sealed], &sound[head..head + sealed]];
        wrong.push([parts.concat(), sound[head + 2 * sealed..].to_vec()].concat());
        wrong.push([sound.clone(), b"x".to_vec()].concat());
        for (n, bytes) in wrong.iter().enumerate() {
            std::fs::write(&path, bytes).unwrap();
            assert!(read(&path, &keys, "a/database").await.is_err(), "{n} was taken for sound");
        }
        std::fs::write(&path, &sound).unwrap();
        assert!(read(&path, &keys, "b/database").await.is_err(), "of another backup");
        let error = read(&path, &ring(2), "a/database").await.unwrap_err().to_string();
        assert!(error.contains(keys.newest_id()), "{error}");
        assert!(read(&path, &keys, "a/database").await.is_ok());
    }
}
