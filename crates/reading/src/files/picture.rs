//! Pictures: their size by their header, and a copy without what cameras and programs write into them (place, time, device,
//! names). Which way up a picture is stays, because browsers turn it.

use bytes::Bytes;
use img_parts::ImageEXIF;
use img_parts::jpeg::Jpeg;
use img_parts::png::Png;
use img_parts::webp::WebP;

/// Chunks of PNG and WebP that make the picture, its colours and its movement. Any other may say who, where and when.
const OF_PNG: [[u8; 4]; 14] = [
    *b"IHDR", *b"PLTE", *b"IDAT", *b"IEND", *b"tRNS", *b"gAMA", *b"cHRM", *b"sRGB", *b"iCCP", *b"pHYs",
    *b"sBIT", *b"acTL", *b"fcTL", *b"fdAT",
];
const OF_WEBP: [[u8; 4]; 7] = [*b"VP8 ", *b"VP8L", *b"VP8X", *b"ALPH", *b"ANIM", *b"ANMF", *b"ICCP"];

/// Nothing when it is none of the three kinds that browsers show.
pub fn stripped(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.starts_with(b"\xff\xd8\xff") {
        return stripped_jpeg(bytes);
    }
    let bytes = Bytes::copy_from_slice(bytes);
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let mut picture = Png::from_bytes(bytes).ok()?;
        let chunks = picture.chunks_mut();
        let end = chunks.iter().position(|chunk| chunk.kind() == *b"IEND");
        chunks.truncate(end.map_or(chunks.len(), |end| end + 1));
        chunks.retain(|chunk| OF_PNG.contains(&chunk.kind()));
        return Some(picture.encoder().bytes().to_vec());
    }
    if bytes.starts_with(b"RIFF") {
        let mut picture = WebP::from_bytes(bytes).ok()?;
        let turned = picture.exif().and_then(|exif| orientation(&exif));
        picture.chunks_mut().retain(|chunk| OF_WEBP.contains(&chunk.id()));
        picture.set_exif(turned.map(only_orientation));
        return Some(picture.encoder().bytes().to_vec());
    }
    None
}

/// Segment by segment up to the end of the first picture. What phones hang behind it, a second picture or a film, has a
/// place and a time of its own.
fn stripped_jpeg(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut kept = vec![0xff, 0xd8];
    let mut at = 2;
    let mut has_pixels = false;
    loop {
        let (Some(0xff), Some(marker)) = (bytes.get(at), bytes.get(at + 1)) else {
            // It ends in the middle, as browsers show it too.
            return has_pixels.then_some(kept);
        };
        match marker {
            0xff => at += 1,
            0xd9 => {
                kept.extend([0xff, 0xd9]);
                return has_pixels.then_some(kept);
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => {
                let length = usize::from(u16::from_be_bytes([*bytes.get(at + 2)?, *bytes.get(at + 3)?]));
                let segment = bytes.get(at..at + 2 + length.max(2))?;
                kept.extend(kept_of(*marker, segment));
                at += segment.len();
                if *marker == 0xda {
                    has_pixels = true;
                    let end = end_of_pixels(&bytes[at..]);
                    kept.extend(&bytes[at..at + end]);
                    at += end;
                }
            }
        }
    }
}

/// Tables, frames and scans, and of what programs add the head, the colours and which way up it is.
fn kept_of(marker: u8, segment: &[u8]) -> Vec<u8> {
    let content = segment.get(4..).unwrap_or_default();
    let is_kept = match marker {
        0xc0..=0xcf | 0xda..=0xdf => true,
        0xe0 => content.starts_with(b"JFIF\0"),
        0xe2 => content.starts_with(b"ICC_PROFILE\0"),
        0xee => content.starts_with(b"Adobe"),
        _ => false,
    };
    if is_kept {
        return segment.to_vec();
    }
    let exif = content.strip_prefix(b"Exif\0\0").filter(|_| marker == 0xe1);
    match exif.and_then(orientation) {
        Some(turned) => {
            let told = [b"Exif\0\0".as_slice(), only_orientation(turned).as_ref()].concat();
            [&[0xff, 0xe1], (told.len() as u16 + 2).to_be_bytes().as_slice(), told.as_slice()].concat()
        }
        None => Vec::new(),
    }
}

/// Up to the next marker that is none of a scan's own.
fn end_of_pixels(bytes: &[u8]) -> usize {
    let is_end = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xd0..=0xd7 | 0xff);
    bytes.windows(2).position(is_end).unwrap_or(bytes.len())
}

/// Whether a camera took it: its maker's name stands in the first directory.
pub fn by_camera(bytes: &[u8]) -> bool {
    let exif = match bytes {
        [0xff, 0xd8, 0xff, ..] => {
            Jpeg::from_bytes(Bytes::copy_from_slice(bytes)).ok().and_then(|picture| picture.exif())
        }
        _ => None,
    };
    exif.is_some_and(|exif| tag(&exif, 0x010f).is_some())
}

fn orientation(exif: &[u8]) -> Option<u16> {
    tag(exif, 0x0112).filter(|turned| (2..=8).contains(turned))
}

/// The first two bytes of a tag's value in the first directory.
fn tag(exif: &[u8], wanted: u16) -> Option<u16> {
    let little = match exif.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let two = |at: usize| {
        let part: [u8; 2] = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(part) } else { u16::from_be_bytes(part) })
    };
    let four = |at: usize| {
        let part: [u8; 4] = exif.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(part) } else { u32::from_be_bytes(part) } as usize)
    };
    let directory = four(4)?;
    let entries = usize::from(two(directory)?);
    (0..entries)
        .map(|entry| directory + 2 + 12 * entry)
        .find(|at| two(*at) == Some(wanted))
        .and_then(|at| two(at + 8))
}

/// The smallest description of a picture that says which way up it is.
fn only_orientation(turned: u16) -> Bytes {
    let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    exif.extend_from_slice(&turned.to_le_bytes());
    exif.extend_from_slice(&[0; 6]);
    exif.into()
}

/// Width and height by the header alone; nothing is decoded.
pub fn size(bytes: &[u8]) -> Option<(u64, u64)> {
    let two = |at: usize| bytes.get(at..at + 2).map(|part| u64::from(u16::from_be_bytes([part[0], part[1]])));
    let four = |at: usize| {
        let part: Option<[u8; 4]> = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
        part.map(|part| u64::from(u32::from_be_bytes(part)))
    };
    if bytes.starts_with(b"\x89PNG") {
        return Some((four(16)?, four(20)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return webp_size(bytes);
    }
    if bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*") {
        return Some((u64::from(tag_long(bytes, 0x0100)?), u64::from(tag_long(bytes, 0x0101)?)));
    }
    if bytes.starts_with(b"\xff\xd8") {
        let mut at = 2;
        loop {
            let marker = *bytes.get(at + 1)?;
            if *bytes.get(at)? != 0xff {
                return None;
            }
            if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
                return Some((two(at + 7)?, two(at + 5)?));
            }
            at = match marker {
                0xff => at + 1,
                0x01 | 0xd0..=0xd9 => at + 2,
                _ => at + 2 + two(at + 2)? as usize,
            };
        }
    }
    None
}

fn webp_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let byte = |at: usize| bytes.get(at).map(|byte| u64::from(*byte));
    match bytes.get(12..16)? {
        b"VP8X" => {
            let three = |at: usize| Some(byte(at)? | byte(at + 1)? << 8 | byte(at + 2)? << 16);
            Some((three(24)? + 1, three(27)? + 1))
        }
        b"VP8 " => Some(((byte(26)? | byte(27)? << 8) & 0x3fff, (byte(28)? | byte(29)? << 8) & 0x3fff)),
        b"VP8L" => {
            let bits = byte(21)? | byte(22)? << 8 | byte(23)? << 16 | byte(24)? << 24;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// A tag that may be a short or a long number.
fn tag_long(tiff: &[u8], wanted: u16) -> Option<u32> {
    let little = tiff.starts_with(b"II");
    let two = |at: usize| {
        let part: [u8; 2] = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(part) } else { u16::from_be_bytes(part) })
    };
    let four = |at: usize| {
        let part: [u8; 4] = tiff.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(part) } else { u32::from_be_bytes(part) })
    };
    let directory = four(4)? as usize;
    let entries = usize::from(two(directory)?);
    let at = (0..entries).map(|entry| directory + 2 + 12 * entry).find(|at| two(*at) == Some(wanted))?;
    match two(at + 2)? {
        3 => two(at + 8).map(u32::from),
        _ => four(at + 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JPEG with a place in its EXIF and words in its XMP, turned by a quarter.
    fn photo() -> Vec<u8> {
        let mut exif =
            b"Exif\0\0II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x04\0\0\0Cam\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
                .to_vec();
        exif.extend_from_slice(b"\0\0\0\0GPS 52.5 13.4");
        let segment = |marker: u8, content: &[u8]| {
            [&[0xff, marker][..], &(content.len() as u16 + 2).to_be_bytes(), content].concat()
        };
        [
            b"\xff\xd8".to_vec(),
            segment(0xe1, &exif),
            segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0<x>secret</x>"),
            segment(0xfe, b"a comment"),
            segment(0xeb, b"JP a secret of the maker"),
            segment(0xc0, b"\x08\x00\x10\x00\x20\x01\x01\x11\0"),
            segment(0xda, b"\x01\x01\0\0\x3f\0"),
            b"\x12\x34\xff\xd9".to_vec(),
        ]
        .concat()
    }

    fn has(bytes: &[u8], words: &[u8]) -> bool {
        bytes.windows(words.len()).any(|part| part == words)
    }

    #[test]
    fn a_photo_loses_its_place_and_keeps_its_turn() {
        // A phone hangs a second picture behind the first.
        let photo = [photo(), photo()].concat();
        assert!(has(&photo, b"GPS") && by_camera(&photo));
        let shown = stripped(&photo).unwrap();
        assert!(shown.ends_with(b"\x12\x34\xff\xd9") && size(&shown) == Some((32, 16)));
        assert!(
            !has(&shown, b"GPS")
                && !has(&shown, b"Cam")
                && !has(&shown, b"secret")
                && !has(&shown, b"comment")
        );
        let exif = Jpeg::from_bytes(shown.into()).unwrap().exif().unwrap();
        assert_eq!(orientation(&exif), Some(6));
    }

    #[test]
    fn sizes_are_read_from_headers() {
        assert_eq!(size(&photo()), Some((32, 16)));
        assert_eq!(size(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x27\x10\0\0\x27\x11"), Some((10_000, 10_001)));
        assert_eq!(size(b"\xff\xd8\xff"), None);
        assert_eq!(size(b""), None);
    }
}
