//! Splits a mail into its header and its leaf parts in one pass over the lines, with the caps
//! on depth, parts and header size kept while walking. A mail inside a mail is a leaf: it is
//! an attachment and is never opened. Specification 2.4.

use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType, HeaderValue};

use super::limits::{MAX_DEPTH, MAX_HEADER_BYTES, MAX_PARTS, Refusal};

/// RFC 2046 says 70; longer ones exist, far longer ones are an attack.
const MAX_BOUNDARY_BYTES: usize = 250;
/// A structured header is cut here: merging its parameters is quadratic in the parser.
const MAX_STRUCTURED_BYTES: usize = 4 * 1024;

pub(super) struct MimeMail<'a> {
    pub head: Head<'a>,
    /// Everything after the header block.
    pub body: &'a [u8],
    pub is_report: bool,
    pub parts: Vec<ParsedPart<'a>>,
}

pub(super) struct ParsedPart<'a> {
    pub head: Head<'a>,
    pub body: &'a [u8],
    pub content_type: Option<ContentType<'static>>,
    pub disposition: Option<ContentType<'static>>,
    /// The number of the outermost multipart/alternative around this part.
    pub alternative: Option<usize>,
    pub in_related: bool,
    pub is_root: bool,
}

#[derive(Clone, Default)]
pub(super) struct Head<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
}

struct Container<'a> {
    boundary: Vec<u8>,
    subtype: String,
    head: Head<'a>,
    number: usize,
    body_start: usize,
    has_parts: bool,
}

enum MimePosition<'a> {
    Head { start: usize },
    Body { head: Head<'a>, start: usize },
    Between,
}

struct Walk<'a> {
    raw: &'a [u8],
    stack: Vec<Container<'a>>,
    parts: Vec<ParsedPart<'a>>,
    started: usize,
}

pub(super) fn walk(raw: &[u8]) -> Result<MimeMail<'_>, Refusal> {
    let head_start = leading_noise(raw);
    let mut walk = Walk { raw, stack: Vec::new(), parts: Vec::new(), started: 1 };
    let mut reading = MimePosition::Head { start: head_start };
    let mut mail_head: Option<(Head, usize)> = None;
    let mut start = head_start;
    while start < raw.len() {
        let end = line_end(raw, start);
        let line = &raw[start..end];
        if let Some((level, is_last)) = walk.boundary_level(line) {
            let content_end = before_line_end(raw, start);
            walk.finish(reading, content_end);
            walk.close_to(level + 1, content_end);
            if is_last {
                walk.close_to(level, content_end);
                reading = MimePosition::Between;
            } else {
                walk.started += 1;
                if walk.started > MAX_PARTS {
                    return Err(Refusal::TooManyParts);
                }
                if let Some(container) = walk.stack.last_mut() {
                    container.has_parts = true;
                }
                reading = MimePosition::Head { start: end };
            }
        } else if let MimePosition::Head { start: from } = reading {
            if end - from > MAX_HEADER_BYTES {
                return Err(Refusal::HeaderTooLarge);
            }
            if line.trim_ascii_end().is_empty() && !line.starts_with(b" ") && !line.starts_with(b"\t") {
                let head = Head::read(&raw[from..start]);
                if mail_head.is_none() {
                    if head.fields.is_empty() {
                        return Err(Refusal::NotMail);
                    }
                    mail_head = Some((head.clone(), end));
                }
                reading = walk.open(head, end)?;
            }
        }
        start = end;
    }
    if mail_head.is_none() {
        // A header alone, without the blank line after it, is still a mail.
        let head = Head::read(&raw[head_start..]);
        if head.fields.is_empty() {
            return Err(Refusal::NotMail);
        }
        mail_head = Some((head, raw.len()));
    }
    walk.finish(reading, raw.len());
    walk.close_to(0, raw.len());
    let (head, body_start) = mail_head.ok_or(Refusal::NotMail)?;
    let is_report = head
        .content_type("content-type")
        .is_some_and(|t| t.c_type == "multipart" && t.c_subtype.as_deref() == Some("report"));
    Ok(MimeMail { head, body: &raw[body_start..], is_report, parts: walk.parts })
}

/// Blank lines and an mbox "From " line that some transports put before the header.
fn leading_noise(raw: &[u8]) -> usize {
    let mut start = 0;
    while start < raw.len() {
        let end = line_end(raw, start);
        let line = &raw[start..end];
        if !line.trim_ascii().is_empty() && !line.starts_with(b"From ") {
            break;
        }
        start = end;
    }
    start
}

fn line_end(raw: &[u8], start: usize) -> usize {
    raw[start..].iter().position(|b| *b == b'\n').map_or(raw.len(), |at| start + at + 1)
}

/// The line end before a boundary belongs to the boundary.
fn before_line_end(raw: &[u8], at: usize) -> usize {
    let content = &raw[..at];
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.strip_suffix(b"\r").unwrap_or(content).len()
}

impl<'a> Walk<'a> {
    /// Innermost first: an unclosed part ends at an outer boundary.
    fn boundary_level(&self, line: &[u8]) -> Option<(usize, bool)> {
        let line = line.strip_prefix(b"--")?;
        for (level, container) in self.stack.iter().enumerate().rev() {
            if let Some(rest) = line.strip_prefix(container.boundary.as_slice()) {
                let rest = rest.trim_ascii();
                if rest.is_empty() {
                    return Some((level, false));
                }
                if rest == b"--" {
                    return Some((level, true));
                }
            }
        }
        None
    }

    fn open(&mut self, head: Head<'a>, body_start: usize) -> Result<MimePosition<'a>, Refusal> {
        let content_type = head.content_type("content-type");
        let boundary = content_type
            .as_ref()
            .filter(|t| t.c_type == "multipart")
            .and_then(|t| parameter(t, "boundary"))
            .map(|b| b.trim_end().as_bytes().to_vec())
            .filter(|b| !b.is_empty() && b.len() <= MAX_BOUNDARY_BYTES);
        let Some(boundary) = boundary else {
            return Ok(MimePosition::Body { head, start: body_start });
        };
        if self.stack.len() >= MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        self.stack.push(Container {
            boundary,
            subtype: content_type.and_then(|t| t.c_subtype).unwrap_or_default().into_owned(),
            head,
            number: self.started,
            body_start,
            has_parts: false,
        });
        Ok(MimePosition::Between)
    }

    fn finish(&mut self, reading: MimePosition<'a>, end: usize) {
        let (head, body) = match reading {
            MimePosition::Between => return,
            MimePosition::Head { start } if start >= end => return,
            MimePosition::Head { start } => (Head::read(&self.raw[start..end]), &self.raw[end..end]),
            MimePosition::Body { head, start } => (head, self.raw.get(start..end).unwrap_or_default()),
        };
        self.add_leaf(head, body);
    }

    fn close_to(&mut self, level: usize, end: usize) {
        while self.stack.len() > level {
            let Some(container) = self.stack.pop() else {
                return;
            };
            // The boundary never came: keep the content as text instead of losing it.
            if !container.has_parts {
                let body = self.raw.get(container.body_start..end).unwrap_or_default();
                self.add_leaf(container.head, body);
            }
        }
    }

    fn add_leaf(&mut self, head: Head<'a>, body: &'a [u8]) {
        let in_digest = self.stack.last().is_some_and(|c| c.subtype == "digest");
        let content_type = match head.content_type("content-type") {
            None if in_digest => Some(ContentType {
                c_type: "message".into(),
                c_subtype: Some("rfc822".into()),
                attributes: None,
            }),
            other => other,
        };
        self.parts.push(ParsedPart {
            body,
            content_type,
            disposition: head.content_type("content-disposition"),
            head,
            alternative: self.stack.iter().find(|c| c.subtype == "alternative").map(|c| c.number),
            in_related: self.stack.iter().any(|c| c.subtype == "related"),
            is_root: self.stack.is_empty(),
        });
    }
}

impl<'a> Head<'a> {
    fn read(block: &'a [u8]) -> Head<'a> {
        let mut fields = Vec::new();
        let mut start = 0;
        while start < block.len() {
            let mut end = line_end(block, start);
            while matches!(block.get(end), Some(b' ' | b'\t')) {
                end = line_end(block, end);
            }
            if let Some(field) = split_field(&block[start..end]) {
                fields.push(field);
            }
            start = end;
        }
        Head { fields }
    }

    /// The header of a mail that stands inside a mail.
    pub fn of_mail(raw: &'a [u8]) -> Head<'a> {
        Self::group(&raw[leading_noise(raw)..]).0
    }

    /// The fields up to a blank line, and what comes after that line.
    pub fn group(block: &'a [u8]) -> (Head<'a>, &'a [u8]) {
        let mut start = 0;
        while start < block.len() {
            let end = line_end(block, start);
            if block[start..end].trim_ascii().is_empty() {
                return (Self::read(&block[..start]), &block[end..]);
            }
            start = end;
        }
        (Self::read(block), &[])
    }

    /// The raw values of all fields of that name; upper and lower case are the same.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
    }

    pub fn first(&self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The first value of that name as lower-case text.
    pub fn word(&self, name: &str) -> Option<String> {
        self.first(name).map(|v| String::from_utf8_lossy(v).trim().to_ascii_lowercase())
    }

    pub fn content_type(&self, name: &str) -> Option<ContentType<'static>> {
        let value = self.first(name)?;
        let mut value = value[..value.len().min(MAX_STRUCTURED_BYTES)].to_vec();
        value.push(b'\n');
        match MessageStream::new(&value).parse_content_type().into_owned() {
            HeaderValue::ContentType(content_type) => Some(content_type),
            _ => None,
        }
    }
}

fn split_field(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = field.iter().position(|b| *b == b':')?;
    let name = field[..colon].trim_ascii_end();
    let is_name = !name.is_empty() && name.iter().all(|b| b.is_ascii_graphic());
    is_name.then(|| (name, &field[colon + 1..]))
}

pub(super) fn parameter<'t>(content_type: &'t ContentType, name: &str) -> Option<&'t str> {
    content_type.attributes.as_ref()?.iter().find(|a| a.name == name).map(|a| a.value.as_ref())
}
