//! What comes after DATA: only CRLF `.` CRLF ends a mail, however the bytes are cut, and what is taken is what
//! was sent. Judged by a second reading of RFC 5321 that looks at the whole stream at once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rookery_reading::mail::data::{Data, Flaw};

/// The mail and its flaw, and where it ended. What is left of a mail with a flaw is nobody's.
type Read = (Vec<u8>, Option<Flaw>, Option<usize>);

// Three bytes say how the stream is cut and how much is too much; the rest is the stream.
fuzz_target!(|input: &[u8]| {
    let Some(([first, second, most], stream)) = input.split_first_chunk() else { return };
    let most = usize::from(*most) * 16;
    let whole = read(stream, most, [stream.len(); 2]);
    assert_eq!(read(stream, most, [1; 2]), whole);
    assert_eq!(read(stream, most, [*first, *second].map(usize::from)), whole);
    judge(stream, most, &whole);
});

fn read(stream: &[u8], most: usize, pieces: [usize; 2]) -> Read {
    let (mut data, mut out) = (Data::new(most), Vec::new());
    let mut at = 0;
    for piece in pieces.iter().cycle() {
        let piece = &stream[at..stream.len().min(at + piece.max(&1))];
        if let Some(taken) = data.feed(piece, &mut out) {
            return found(out, &data, most, Some(at + taken));
        }
        at += piece.len();
        if at == stream.len() {
            break;
        }
    }
    found(out, &data, most, None)
}

fn found(mut out: Vec<u8>, data: &Data, most: usize, ended: Option<usize>) -> Read {
    assert!(out.len() <= most, "more is kept than is allowed");
    if data.flaw().is_some() {
        out.clear();
    }
    (out, data.flaw(), ended)
}

fn judge(stream: &[u8], most: usize, (mail, flaw, ended): &Read) {
    let framed = [b"\r\n", stream].concat();
    let end = framed.windows(5).position(|window| window == b"\r\n.\r\n");
    assert_eq!(*ended, end.map(|end| end + 3), "the end of the mail");
    let Some(end) = end else { return };
    let sent = &framed[2..end + 2];
    let (is_strict, has_nul) = (has_strict_lines(sent), sent.contains(&0));
    match flaw {
        None => assert!(is_strict && !has_nul && *mail == without_stuffing(sent)),
        Some(Flaw::Nul) => assert!(has_nul),
        Some(Flaw::BareLf | Flaw::BareCr) => assert!(!is_strict),
        Some(Flaw::TooLarge) => assert!(without_stuffing(sent).len() > most),
    }
}

/// Every CR stands before an LF, and every LF behind a CR.
fn has_strict_lines(sent: &[u8]) -> bool {
    let pairs = sent.windows(2).filter(|pair| pair == b"\r\n").count();
    let count = |wanted| sent.iter().filter(|byte| **byte == wanted).count();
    count(b'\r') == pairs && count(b'\n') == pairs
}

fn without_stuffing(sent: &[u8]) -> Vec<u8> {
    let framed = [b"\r\n", sent].concat();
    let is_stuffing = |at: usize| framed[at] == b'.' && framed[at - 2..at] == *b"\r\n";
    (2..framed.len()).filter(|at| !is_stuffing(*at)).map(|at| framed[at]).collect()
}
