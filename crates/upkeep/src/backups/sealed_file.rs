//! A file that only the holder of the backup key can read or change: parts of 256 KB, each encrypted and bound to its place,
//! to whether it is the last, and to the name of the file. So a bit that flipped, a part that is missing or moved and a file
//! in another's place are all found.

use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backups::keys::{self, fingerprint};
use crate::backups::place;
use crate::backups::spoilt::spoilt;
use rookery_base::error::{Error, Result};
use rookery_base::random::Random;
use rookery_base::secrets::hashes::{Sha256, hmac};
use rookery_base::secrets::secret::SecretKey;

const MARK: &[u8; 4] = b"RKB2";
const SALT: usize = 32;
const PART: usize = 256 * 1024;
const TAG: usize = 16;
/// With what a file begins: the mark, the fingerprint of the key, the salt.
const HEAD: usize = MARK.len() + keys::LENGTH + SALT;

/// Encrypts what it is given piece by piece.
struct Sealer {
    key: LessSafeKey,
    name: String,
    number: u64,
    part: Vec<u8>,
}

impl Sealer {
    /// With what the file begins.
    fn new(key: &SecretKey, random: &Random, name: &str) -> Result<(Self, Vec<u8>)> {
        let salt = random.bytes::<SALT>();
        let head = [MARK.as_slice(), fingerprint(key).as_bytes(), &salt].concat();
        let key = file_key(key, &salt)?;
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
pub struct WrittenFile {
    pub length: u64,
    pub hash: [u8; 32],
}

impl Writer {
    /// Where nothing is yet, so that no link leads it elsewhere.
    pub async fn create(path: &Path, key: &SecretKey, random: &Random, name: &str) -> Result<Self> {
        let (sealer, head) = Sealer::new(key, random, name)?;
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path).await?;
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

    pub async fn finish(mut self) -> Result<WrittenFile> {
        self.sealer.seal(true, &mut self.out)?;
        self.file.write_all(&self.out).await?;
        self.file.flush().await?;
        Ok(WrittenFile { length: self.length, hash: self.hash.finish() })
    }

    /// Takes it away again: what it is of is gone.
    pub async fn discard(self) -> Result<()> {
        drop(self.file);
        Ok(tokio::fs::remove_file(&self.path).await?)
    }
}

/// A file that is read, part by part.
pub struct SealedReader {
    file: File,
    shown: String,
    key: LessSafeKey,
    name: String,
    number: u64,
    /// What comes next, encrypted: a part and the first byte of the one behind it, if there is one.
    held: Vec<u8>,
    ended: bool,
}

impl SealedReader {
    pub async fn open(path: &Path, key: &SecretKey, name: &str) -> Result<Self> {
        let shown = path.display().to_string();
        let unread = |error: std::io::Error| {
            let sentence = format!("The file {shown} of the backup cannot be read ({error}).");
            match error.kind() {
                std::io::ErrorKind::NotFound => spoilt(sentence),
                _ => Error::internal(sentence),
            }
        };
        // Neither a link nor a pipe is anything that was written here.
        if !place::is_file(path).map_err(unread)? {
            return Err(changed(&shown));
        }
        let mut file = File::open(path).await.map_err(unread)?;
        let mut head = [0_u8; HEAD];
        if file.read_exact(&mut head).await.is_err() {
            return Err(changed(&shown));
        }
        let (mark, salt) = head.split_at(HEAD - SALT);
        if mark != [MARK.as_slice(), fingerprint(key).as_bytes()].concat() {
            return Err(changed(&shown));
        }
        let key = file_key(key, salt)?;
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

    /// Reads it to its end, and tells what it is of.
    pub async fn measure(mut self) -> Result<WrittenFile> {
        let (mut hash, mut length) = (Sha256::new(), 0);
        while let Some(part) = self.next().await? {
            hash.update(&part);
            length += part.len() as u64;
        }
        Ok(WrittenFile { length, hash: hash.finish() })
    }
}

/// How long the encrypted file of so many bytes is.
pub fn sealed_length(length: u64) -> u64 {
    // Nothing is a part too, and so is a whole one that is the last.
    let parts = length.div_ceil(PART as u64).max(1);
    HEAD as u64 + length + parts * TAG as u64
}

fn changed(path: &str) -> Error {
    spoilt(format!(
        "The file {path} of the backup is not as it was written: it was changed, cut off or put in another's place. \
         Take another backup."
    ))
}

/// A key for each file, so that numbers of parts can begin anew.
fn file_key(key: &SecretKey, salt: &[u8]) -> Result<LessSafeKey> {
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

    fn a_key(byte: u8) -> SecretKey {
        SecretKey([byte; 32])
    }

    async fn wrote(path: &Path, key: &SecretKey, pieces: &[&[u8]]) -> WrittenFile {
        let _ = std::fs::remove_file(path);
        let mut writer = Writer::create(path, key, &Random::seeded(1), "a/database").await.unwrap();
        for piece in pieces {
            writer.add(piece).await.unwrap();
        }
        writer.finish().await.unwrap()
    }

    async fn read(path: &Path, key: &SecretKey, name: &str) -> Result<Vec<u8>> {
        let (mut reader, mut all) = (SealedReader::open(path, key, name).await?, Vec::new());
        while let Some(part) = reader.next().await? {
            all.extend(part);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn what_is_written_is_read_whatever_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("file"), a_key(1));
        for length in [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 7] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let (one, two) = bytes.split_at(length / 3);
            let written = wrote(&path, &key, &[one, two]).await;
            assert_eq!(written.length, length as u64);
            let measured =
                SealedReader::open(&path, &key, "a/database").await.unwrap().measure().await.unwrap();
            assert_eq!(measured, written);
            assert_eq!(read(&path, &key, "a/database").await.unwrap(), bytes, "{length}");
            let there = std::fs::metadata(&path).unwrap().len();
            assert_eq!(there, sealed_length(length as u64), "{length}");
        }
    }

    #[tokio::test]
    async fn a_flipped_bit_a_cut_a_swap_and_another_name_or_key_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, key) = (folder.path().join("file"), a_key(1));
        let bytes = vec![7; 2 * PART + 100];
        wrote(&path, &key, &[&bytes]).await;
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
            assert!(read(&path, &key, "a/database").await.is_err(), "{n} was taken for sound");
        }
        std::fs::remove_file(&path).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, &sound).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(read(&path, &key, "a/database").await.is_err(), "a link was followed");
        assert!(Writer::create(&path, &key, &Random::seeded(1), "a").await.is_err(), "a link was followed");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &sound).unwrap();
        assert!(read(&path, &key, "b/database").await.is_err(), "of another backup");
        assert!(read(&path, &a_key(2), "a/database").await.is_err(), "with another key");
        assert!(read(&path, &key, "a/database").await.is_ok());
    }
}
