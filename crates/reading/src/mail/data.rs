//! The parser of a mail after DATA, strictly by RFC 5321: only CRLF `.` CRLF ends it, and a leading dot of a line
//! is removed. Bare CR, bare LF and NUL never end anything. A mail with one of them is read to its end and
//! refused, because another server may see two mails in it (SMTP smuggling).

/// Why a mail must be refused, known while it is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    BareLf,
    BareCr,
    Nul,
    TooLarge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    LineStart,
    InLine,
    Cr,
    Dot,
    DotCr,
}

#[derive(Debug)]
pub struct Data {
    at: At,
    size: usize,
    most: usize,
    flaw: Option<Flaw>,
}

impl Data {
    /// Starts at a line start: the CRLF of the DATA command counts.
    pub fn new(most: usize) -> Self {
        Self { at: At::LineStart, size: 0, most, flaw: None }
    }

    /// Parses bytes and appends the mail's content to `out`. `Some` is the number of bytes consumed, when the mail
    /// ends here.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let mut from = 0;
        while from < bytes.len() {
            if self.at == At::InLine {
                // Fast path: most bytes are in the middle of a line.
                let rest = &bytes[from..];
                let plain = rest.iter().position(|b| matches!(b, b'\r' | b'\n' | 0)).unwrap_or(rest.len());
                self.keep(&rest[..plain], out);
                from += plain;
            }
            let Some(&byte) = bytes.get(from) else { break };
            from += 1;
            if self.step(byte, out) {
                return Some(from);
            }
        }
        None
    }

    /// The first thing that is wrong with it.
    pub fn flaw(&self) -> Option<Flaw> {
        self.flaw
    }

    /// True at the end of the mail.
    fn step(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        if byte == 0 {
            self.flaw.get_or_insert(Flaw::Nul);
        }
        self.at = match (self.at, byte) {
            (At::DotCr, b'\n') => return true,
            (At::LineStart, b'.') => At::Dot,
            (At::Dot, b'\r') => At::DotCr,
            (At::Cr, b'\n') => {
                self.keep(b"\r\n", out);
                At::LineStart
            }
            (At::Cr | At::DotCr, _) => {
                self.flaw.get_or_insert(Flaw::BareCr);
                self.keep(b"\r", out);
                self.in_line(byte, out)
            }
            _ => self.in_line(byte, out),
        };
        false
    }

    fn in_line(&mut self, byte: u8, out: &mut Vec<u8>) -> At {
        match byte {
            b'\r' => return At::Cr,
            b'\n' => {
                self.flaw.get_or_insert(Flaw::BareLf);
            }
            _ => {}
        }
        self.keep(&[byte], out);
        At::InLine
    }

    /// Nothing is kept once the mail has a flaw.
    fn keep(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.size += bytes.len();
        if self.size > self.most {
            self.flaw.get_or_insert(Flaw::TooLarge);
        }
        if self.flaw.is_none() {
            out.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The mail, its flaw, and what was left over; `None` when it did not end.
    fn read(bytes: &[u8], piece: usize) -> Option<(Vec<u8>, Option<Flaw>, Vec<u8>)> {
        let (mut data, mut out) = (Data::new(1_000), Vec::new());
        for (number, chunk) in bytes.chunks(piece).enumerate() {
            if let Some(taken) = data.feed(chunk, &mut out) {
                return Some((out, data.flaw(), bytes[number * piece + taken..].to_vec()));
            }
        }
        None
    }

    #[test]
    fn a_mail_ends_at_its_dot_and_loses_its_stuffing() {
        for piece in 1..12 {
            let (mail, flaw, rest) = read(b"a: b\r\n\r\n..x\r\n.y\r\n\r\n.\r\nQUIT\r\n", piece).unwrap();
            assert_eq!(mail, b"a: b\r\n\r\n.x\r\ny\r\n\r\n");
            assert_eq!((flaw, rest.as_slice()), (None, b"QUIT\r\n".as_slice()));
        }
        assert_eq!(read(b".\r\n", 1), Some((vec![], None, vec![])));
    }

    #[test]
    fn nothing_else_ends_it() {
        let ends: [(&[u8], Flaw); 9] = [
            (b"\n.\n", Flaw::BareLf),
            (b"\n.\r\n", Flaw::BareLf),
            (b"\r\n.\n", Flaw::BareLf),
            (b"\r.\r", Flaw::BareCr),
            (b"\r.\r\n", Flaw::BareCr),
            (b"\r\n.\r", Flaw::BareCr),
            (b"\r\r\n.\r\r\n", Flaw::BareCr),
            (b"\r\n.\0\r\n", Flaw::Nul),
            (b"\r\n\0.\r\n", Flaw::Nul),
        ];
        for (end, expected) in ends {
            let stream = [b"one", end, b"MAIL FROM:<a@b>\r\nDATA\r\ntwo\r\n.\r\nREST"].concat();
            for piece in [1, 2, 3, 5, 1_000] {
                let (_, flaw, rest) = read(&stream, piece).unwrap();
                assert_eq!((flaw, rest.as_slice()), (Some(expected), b"REST".as_slice()), "{end:?}");
            }
            assert_eq!(read(&[b"one", end].concat(), 1), None, "{end:?}");
        }
    }

    #[test]
    fn too_much_is_read_to_its_end_but_not_kept() {
        let mut stream = vec![b'a'; 5_000];
        stream.extend(b"\r\n.\r\nREST");
        let (mail, flaw, rest) = read(&stream, 700).unwrap();
        assert!(mail.len() <= 1_000);
        assert_eq!((flaw, rest.as_slice()), (Some(Flaw::TooLarge), b"REST".as_slice()));
    }

    proptest! {
        /// The result does not depend on how the bytes are split, and flawless mail survives a round trip.
        #[test]
        fn cutting_changes_nothing(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'.'), Just(b'a'), Just(0)], 0..60), piece in 1..9_usize) {
            let stream = [bytes.as_slice(), b"\r\n.\r\n"].concat();
            let whole = read(&stream, stream.len());
            prop_assert_eq!(&read(&stream, piece), &whole);
            // The end stands right behind the first CRLF . CRLF, and nowhere else.
            let framed = [b"\r\n", stream.as_slice()].concat();
            let end = framed.windows(5).position(|w| w == b"\r\n.\r\n").unwrap() + 5 - 2;
            let (mail, flaw, rest) = whole.unwrap();
            prop_assert_eq!(rest.len(), stream.len() - end);
            if flaw.is_none() {
                let text = String::from_utf8(mail).unwrap();
                let stuffed: String = text.split_inclusive("\r\n")
                    .map(|line| if line.starts_with('.') { format!(".{line}") } else { line.to_owned() })
                    .collect();
                let back = read(format!("{stuffed}.\r\n").as_bytes(), piece).unwrap();
                prop_assert_eq!(back, (text.into_bytes(), None, vec![]));
            }
        }
    }
}
