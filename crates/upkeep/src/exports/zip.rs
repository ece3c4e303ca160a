//! A ZIP that is written while it is sent: entries follow each other as they are, uncompressed, and the directory comes at
//! the end. Only the directory stays in memory, some hundred bytes an entry. Of more than 65,535 entries or 4 GB it is a
//! ZIP64.

/// An entry of which size and checksum are told after its bytes.
const AFTERWARDS: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// 1 January 1980: when something was made stands in the JSON.
const DAY: u16 = 0x0021;
const FULL: u64 = 0xffff_ffff;

#[derive(Default)]
pub struct Zip {
    directory: Vec<u8>,
    entries: u64,
    written: u64,
}

/// An entry whose bytes are under way.
pub struct Open {
    name: String,
    begins: u64,
    length: u64,
    crc: Crc,
}

impl Zip {
    /// An entry that is here as a whole: its bytes in the archive.
    pub fn whole(&mut self, name: &str, bytes: &[u8]) -> Vec<u8> {
        let crc = Crc::default().with(bytes).finish();
        let begins = self.written;
        let mut out = head(name, UTF8, crc, bytes.len() as u32);
        out.extend_from_slice(bytes);
        self.written += out.len() as u64;
        self.list(name, UTF8, crc, bytes.len() as u64, begins);
        out
    }

    /// An entry that comes in pieces, less than 4 GB in all: what stands in front of them.
    pub fn begin(&mut self, name: &str) -> (Open, Vec<u8>) {
        let out = head(name, UTF8 | AFTERWARDS, 0, 0);
        let open = Open { name: name.to_owned(), begins: self.written, length: 0, crc: Crc::default() };
        self.written += out.len() as u64;
        (open, out)
    }

    /// What stands behind the pieces.
    pub fn end(&mut self, open: Open) -> Vec<u8> {
        let crc = open.crc.finish();
        let mut out = b"PK\x07\x08".to_vec();
        out.extend(crc.to_le_bytes());
        out.extend((open.length as u32).to_le_bytes());
        out.extend((open.length as u32).to_le_bytes());
        self.written += open.length + out.len() as u64;
        self.list(&open.name, UTF8 | AFTERWARDS, crc, open.length, open.begins);
        out
    }

    fn list(&mut self, name: &str, flags: u16, crc: u32, length: u64, begins: u64) {
        let far = begins >= FULL;
        let out = &mut self.directory;
        out.extend(b"PK\x01\x02");
        out.extend([45, 3, 45, 0]);
        [flags, 0, 0, DAY].iter().for_each(|field| out.extend(field.to_le_bytes()));
        [crc, length as u32, length as u32].iter().for_each(|field| out.extend(field.to_le_bytes()));
        let more: u16 = if far { 12 } else { 0 };
        [name.len() as u16, more, 0, 0, 0].iter().for_each(|field| out.extend(field.to_le_bytes()));
        out.extend((0o100_600_u32 << 16).to_le_bytes());
        out.extend((begins.min(FULL) as u32).to_le_bytes());
        out.extend(name.as_bytes());
        if far {
            out.extend([1, 0, 8, 0]);
            out.extend(begins.to_le_bytes());
        }
        self.entries += 1;
    }

    /// The directory, which ends the archive.
    pub fn finish(self) -> Vec<u8> {
        let (begins, length, entries) = (self.written, self.directory.len() as u64, self.entries);
        let mut out = self.directory;
        let is_large = entries > 0xfffe || begins + length >= FULL;
        if is_large {
            out.extend(b"PK\x06\x06");
            out.extend(44_u64.to_le_bytes());
            out.extend([45, 3, 45, 0]);
            out.extend([0; 8]);
            [entries, entries, length, begins].iter().for_each(|field| out.extend(field.to_le_bytes()));
            out.extend(b"PK\x06\x07");
            out.extend([0; 4]);
            out.extend((begins + length).to_le_bytes());
            out.extend(1_u32.to_le_bytes());
        }
        out.extend(b"PK\x05\x06");
        out.extend([0; 4]);
        let few = entries.min(0xffff) as u16;
        [few, few].iter().for_each(|field| out.extend(field.to_le_bytes()));
        let (length, begins) = if is_large { (FULL, FULL) } else { (length, begins) };
        [length as u32, begins as u32].iter().for_each(|field| out.extend(field.to_le_bytes()));
        out.extend([0; 2]);
        out
    }
}

impl Open {
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.crc.add(bytes);
    }
}

fn head(name: &str, flags: u16, crc: u32, length: u32) -> Vec<u8> {
    let mut out = b"PK\x03\x04".to_vec();
    [45, flags, 0, 0, DAY].iter().for_each(|field: &u16| out.extend(field.to_le_bytes()));
    [crc, length, length].iter().for_each(|field| out.extend(field.to_le_bytes()));
    [name.len() as u16, 0].iter().for_each(|field| out.extend(field.to_le_bytes()));
    out.extend(name.as_bytes());
    out
}

/// CRC-32 as ZIP has it.
struct Crc(u32);

const TABLE: [u32; 256] = {
    let (mut table, mut byte) = ([0_u32; 256], 0);
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

impl Default for Crc {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = TABLE[((self.0 ^ u32::from(*byte)) & 0xff) as usize] ^ (self.0 >> 8);
        }
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.add(bytes);
        self
    }

    fn finish(&self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_everybody_uses() {
        assert_eq!(Crc::default().with(b"123456789").finish(), 0xcbf4_3926);
    }

    #[test]
    fn more_entries_than_fit_make_a_zip64() {
        let mut zip = Zip::default();
        for n in 0..70_000 {
            zip.whole(&format!("{n}"), b"");
        }
        let end = zip.finish();
        assert!(end.windows(4).any(|part| part == b"PK\x06\x06"));
        let mut small = Zip::default();
        small.whole("a", b"b");
        assert!(!small.finish().windows(4).any(|part| part == b"PK\x06\x06"));
    }
}
