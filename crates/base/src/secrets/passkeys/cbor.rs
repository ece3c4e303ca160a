//! The little CBOR (RFC 8949) that authenticators write: whole numbers, bytes, text, lists and maps of a known length, a few
//! levels deep. Strangers send it, so nothing else is read, and nothing is made that is longer than what was sent.

const DEEPEST: usize = 4;
const MOST_ENTRIES: u64 = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum CborItem<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    List(Vec<CborItem<'a>>),
    Map(Vec<(CborItem<'a>, CborItem<'a>)>),
    /// True, false or nothing.
    Simple(u8),
}

/// The first item, and what stands behind it.
pub fn read(bytes: &[u8]) -> Option<(CborItem<'_>, &[u8])> {
    read_at(bytes, 0)
}

impl<'a> CborItem<'a> {
    /// What a map has under a number.
    pub fn at(&self, number: i64) -> Option<&CborItem<'a>> {
        self.find(&CborItem::Number(number))
    }

    /// What a map has under a name.
    pub fn named(&self, name: &str) -> Option<&CborItem<'a>> {
        self.find(&CborItem::Text(name))
    }

    /// A key that is there twice is there not at all: readers would differ in which counts.
    fn find(&self, key: &CborItem<'_>) -> Option<&CborItem<'a>> {
        let CborItem::Map(entries) = self else { return None };
        let mut found = entries.iter().filter(|(own, _)| own == key);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    pub fn number(&self) -> Option<i64> {
        if let CborItem::Number(number) = self { Some(*number) } else { None }
    }

    pub fn bytes(&self) -> Option<&'a [u8]> {
        if let CborItem::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    pub fn text(&self) -> Option<&'a str> {
        if let CborItem::Text(text) = self { Some(text) } else { None }
    }
}

fn read_at(bytes: &[u8], depth: usize) -> Option<(CborItem<'_>, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (kind, low) = (first >> 5, first & 0x1f);
    if kind == 7 {
        return (20..=22).contains(&low).then_some((CborItem::Simple(low), rest));
    }
    let (value, rest) = head(low, rest)?;
    match kind {
        0 => Some((CborItem::Number(i64::try_from(value).ok()?), rest)),
        1 => Some((CborItem::Number(-1 - i64::try_from(value).ok()?), rest)),
        2 | 3 => {
            let (own, rest) = rest.split_at_checked(usize::try_from(value).ok()?)?;
            let item =
                if kind == 2 { CborItem::Bytes(own) } else { CborItem::Text(std::str::from_utf8(own).ok()?) };
            Some((item, rest))
        }
        4 | 5 if value <= MOST_ENTRIES && depth < DEEPEST => entries(kind, value, rest, depth),
        _ => None,
    }
}

fn entries(kind: u8, count: u64, mut rest: &[u8], depth: usize) -> Option<(CborItem<'_>, &[u8])> {
    let (mut list, mut map) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (first, behind) = read_at(rest, depth + 1)?;
        rest = behind;
        if kind == 5 {
            let (value, behind) = read_at(rest, depth + 1)?;
            rest = behind;
            map.push((first, value));
        } else {
            list.push(first);
        }
    }
    Some((if kind == 5 { CborItem::Map(map) } else { CborItem::List(list) }, rest))
}

/// The number that a head holds. Lengths that come later, and reserved ones, are not read.
fn head(low: u8, rest: &[u8]) -> Option<(u64, &[u8])> {
    let size = match low {
        0..=23 => return Some((u64::from(low), rest)),
        24 => 1,
        25 => 2,
        26 => 4,
        27 => 8,
        _ => return None,
    };
    let (own, rest) = rest.split_at_checked(size)?;
    Some((own.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of RFC 8949, appendix A.
    #[test]
    fn what_the_standard_shows_is_read() {
        let whole = |bytes: &'static [u8]| read(bytes).map(|(item, rest)| (item, rest.len()));
        assert_eq!(whole(&[0x18, 0x64]), Some((CborItem::Number(100), 0)));
        assert_eq!(whole(&[0x39, 0x03, 0xe7]), Some((CborItem::Number(-1000), 0)));
        assert_eq!(whole(&[0x44, 1, 2, 3, 4, 0]), Some((CborItem::Bytes(&[1, 2, 3, 4]), 1)));
        assert_eq!(whole(&[0x62, 0xc3, 0xbc]), Some((CborItem::Text("ü"), 0)));
        assert_eq!(whole(&[0xf5]), Some((CborItem::Simple(21), 0)));
        let (map, _) = read(&[0xa2, 0x01, 0x02, 0x61, 0x61, 0x82, 0x03, 0x20]).unwrap();
        assert_eq!(map.at(1).and_then(CborItem::number), Some(2));
        assert_eq!(map.named("a"), Some(&CborItem::List(vec![CborItem::Number(3), CborItem::Number(-1)])));
        assert_eq!(read(&[0xa2, 1, 2, 1, 3]).unwrap().0.at(1), None, "twice is not at all");
    }

    #[test]
    fn what_is_cut_off_endless_too_deep_or_too_long_is_not() {
        let deep = [0x81; 9];
        for bad in [
            &[][..],
            &[0x18],
            &[0x44, 1],
            &[0x5f, 0x41, 0, 0xff],
            &[0x9f, 0xff],
            &[0xbf, 0xff],
            &[0xa1, 1],
            &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x62, 0xff, 0xff],
            &[0xfb, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xc0, 0x00],
            &deep,
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some((_, rest)) = read(&bytes) {
                prop_assert!(rest.len() < bytes.len());
            }
        }
    }
}
