//! Rows in the binary form of COPY: a third of the bytes of the text form for hashes, and nothing to parse.

use chrono::{DateTime, Utc};

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// PostgreSQL counts microseconds from the year 2000.
const YEAR_2000: i64 = 946_684_800_000_000;
const BIGINT: u32 = 20;
const TEXT: u32 = 25;

/// Rows of one table, ready to be sent. Fields follow each other in the order of the COPY's columns.
pub struct Rows(Vec<u8>);

impl Rows {
    pub fn new() -> Self {
        Self(SIGNATURE.to_vec())
    }

    pub fn row(&mut self, columns: usize) -> &mut Self {
        self.0.extend((columns as i16).to_be_bytes());
        self
    }

    pub fn none(&mut self) -> &mut Self {
        self.0.extend((-1_i32).to_be_bytes());
        self
    }

    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.0.extend((value.len() as i32).to_be_bytes());
        self.0.extend(value);
        self
    }

    pub fn text(&mut self, value: &str) -> &mut Self {
        self.bytes(value.as_bytes())
    }

    pub fn maybe(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(value),
            None => self.none(),
        }
    }

    pub fn bigint(&mut self, value: i64) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub fn integer(&mut self, value: usize) -> &mut Self {
        self.bytes(&(value as i32).to_be_bytes())
    }

    pub fn time(&mut self, value: DateTime<Utc>) -> &mut Self {
        self.bigint(value.timestamp_micros() - YEAR_2000)
    }

    pub fn maybe_time(&mut self, value: Option<DateTime<Utc>>) -> &mut Self {
        match value {
            Some(value) => self.time(value),
            None => self.none(),
        }
    }

    /// `jsonb` begins with the number of its form.
    pub fn json(&mut self, value: &str) -> &mut Self {
        self.0.extend((value.len() as i32 + 1).to_be_bytes());
        self.0.push(1);
        self.0.extend(value.as_bytes());
        self
    }

    pub fn bigints(&mut self, values: &[i64]) -> &mut Self {
        self.array(BIGINT, values.iter().map(|value| value.to_be_bytes()))
    }

    pub fn texts(&mut self, values: &[&str]) -> &mut Self {
        self.array(TEXT, values.iter())
    }

    fn array<T: AsRef<[u8]>>(&mut self, of: u32, values: impl ExactSizeIterator<Item = T>) -> &mut Self {
        let start = self.0.len();
        self.0.extend([0; 4]);
        let dimensions = u32::from(values.len() > 0);
        self.0.extend(dimensions.to_be_bytes());
        self.0.extend(0_u32.to_be_bytes());
        self.0.extend(of.to_be_bytes());
        if dimensions > 0 {
            self.0.extend((values.len() as i32).to_be_bytes());
            self.0.extend(1_i32.to_be_bytes());
        }
        for value in values {
            self.bytes(value.as_ref());
        }
        let length = (self.0.len() - start - 4) as i32;
        self.0[start..start + 4].copy_from_slice(&length.to_be_bytes());
        self
    }

    /// Everything, with the mark of the end.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.extend((-1_i16).to_be_bytes());
        self.0
    }
}
