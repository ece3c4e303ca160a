//! Signs that a mail program wrote a line: an address, a date with its year, a time of day. People write one of
//! these; programs write them together. Specification 2.4.

pub(super) struct Evidence {
    pub has_address: bool,
    pub has_digit: bool,
    has_year: bool,
    has_time: bool,
}

impl Evidence {
    pub fn from_line(line: &str) -> Evidence {
        let (has_year, has_time) = date_signs(line);
        Evidence {
            has_address: line.contains('@'),
            has_digit: line.bytes().any(|b| b.is_ascii_digit()),
            has_year,
            has_time,
        }
    }

    pub fn is_dated(&self) -> bool {
        self.has_year && self.has_time
    }
}

/// Whether the line names a year (2026, 3/4/26, 3.4.2026) and a time of day (10:30, 10.30).
fn date_signs(line: &str) -> (bool, bool) {
    let bytes = line.as_bytes();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at > start {
            runs.push((start, at));
        }
        at += 1;
    }
    let is_year = |(start, end): &(usize, usize)| {
        end - start == 4 && (line[*start..*end].starts_with("19") || line[*start..*end].starts_with("20"))
    };
    let joined_by =
        |a: &(usize, usize), b: &(usize, usize), signs: &[u8]| b.0 == a.1 + 1 && signs.contains(&bytes[a.1]);
    let short = |(start, end): &(usize, usize)| end - start <= 2;
    let numeric_date = runs
        .windows(3)
        .any(|r| joined_by(&r[0], &r[1], b"./-") && joined_by(&r[1], &r[2], b"./-") && short(&r[0]));
    let time = runs.windows(2).enumerate().any(|(at, r)| {
        let two_digits = r[1].1 - r[1].0 == 2 && short(&r[0]);
        let by_colon = joined_by(&r[0], &r[1], b":h");
        // A dot makes a time only when it is no part of a date such as 12.03.2026.
        let by_dot = joined_by(&r[0], &r[1], b".")
            && !runs.get(at + 2).is_some_and(|next| joined_by(&r[1], next, b"."))
            && !(at > 0 && joined_by(&runs[at - 1], &r[0], b"."));
        two_digits && (by_colon || by_dot)
    });
    (numeric_date || runs.iter().any(is_year), time)
}

/// Arabic and Persian have digits of their own.
pub(super) fn with_ascii_digit(c: char) -> char {
    let zero = match c {
        '\u{660}'..='\u{669}' => 0x660,
        '\u{6f0}'..='\u{6f9}' => 0x6f0,
        _ => return c,
    };
    char::from_digit(c as u32 - zero, 10).unwrap_or(c)
}
