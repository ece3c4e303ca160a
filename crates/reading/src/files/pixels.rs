//! The picture of a scanned page as a file of its own. Makers of PDF wrap a JPEG in other codings, or keep bare pixels, of
//! which a PNG is made; what is coded in any other way is left.

use std::io::{Read as _, Write as _};

use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use lopdf::xobject::PdfImage;

/// Bytes of the pixels of a page.
const MOST: u64 = 60_000_000;

/// A JPEG or a PNG.
pub fn picture(image: &PdfImage<'_>) -> Option<Vec<u8>> {
    let filters = image.filters.as_deref().unwrap_or_default();
    let mut bytes = image.content.to_vec();
    for filter in filters {
        bytes = match filter.as_str() {
            "ASCII85Decode" => of_ascii85(&bytes)?,
            "FlateDecode" => {
                let mut plain = Vec::new();
                ZlibDecoder::new(&bytes[..]).take(MOST).read_to_end(&mut plain).ok()?;
                plain
            }
            "DCTDecode" => return Some(bytes),
            _ => return None,
        };
    }
    // Rows that are told by their neighbours need their parameters.
    if image.origin_dict.has(b"DecodeParms") {
        return None;
    }
    let colours = match image.color_space.as_deref()? {
        "DeviceGray" => 1,
        "DeviceRGB" => 3,
        _ => return None,
    };
    let bits = u8::try_from(image.bits_per_component.unwrap_or(8)).ok()?;
    png(&bytes, u32::try_from(image.width).ok()?, u32::try_from(image.height).ok()?, colours, bits)
}

fn png(pixels: &[u8], width: u32, height: u32, colours: u32, bits: u8) -> Option<Vec<u8>> {
    if !matches!(bits, 1 | 8) || colours == 3 && bits != 8 {
        return None;
    }
    let row = (u64::from(width) * u64::from(colours) * u64::from(bits)).div_ceil(8);
    if row == 0 || row.checked_mul(u64::from(height)).is_none_or(|all| all > MOST) {
        return None;
    }
    let row = usize::try_from(row).ok()?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    for line in pixels.chunks_exact(row).take(height as usize) {
        packed.write_all(&[0]).ok()?;
        packed.write_all(line).ok()?;
    }
    if pixels.len() / row < height as usize {
        return None;
    }
    let mut head = Vec::new();
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    head.extend([bits, if colours == 3 { 2 } else { 0 }, 0, 0, 0]);
    let mut all = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in [(b"IHDR", head), (b"IDAT", packed.finish().ok()?), (b"IEND", Vec::new())] {
        all.extend(u32::try_from(data.len()).ok()?.to_be_bytes());
        let mut sum = Crc::new();
        sum.update(name);
        sum.update(&data);
        all.extend(name);
        all.extend(data);
        all.extend(sum.sum().to_be_bytes());
    }
    Some(all)
}

/// Five signs for four bytes, `z` for four noughts, `~>` at the end.
fn of_ascii85(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(bytes.len() / 5 * 4);
    let mut group: Vec<u32> = Vec::with_capacity(5);
    let value = |group: &[u32]| {
        let full = group.iter().copied().chain(std::iter::repeat(84)).take(5);
        full.fold(0_u64, |sum, digit| sum * 85 + u64::from(digit)) as u32
    };
    for byte in bytes.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => all.extend([0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => return None,
        }
        if group.len() == 5 {
            all.extend(value(&group).to_be_bytes());
            group.clear();
        }
    }
    if group.len() > 1 {
        all.extend(&value(&group).to_be_bytes()[..group.len() - 1]);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii85_is_undone() {
        assert_eq!(of_ascii85(b"87cURD]i,\"Ebo80~>").unwrap(), b"Hello World!");
        assert_eq!(of_ascii85(b"z!!~>").unwrap(), [0, 0, 0, 0, 0]);
        assert_eq!(of_ascii85(b"\x80"), None);
    }

    #[test]
    fn bare_pixels_become_a_png() {
        let png = png(&[0, 255, 255, 0], 2, 2, 1, 8).unwrap();
        assert!(crate::files::picture::stripped(&png).is_some());
        assert_eq!(super::png(&[0], 2, 2, 1, 8), None, "pixels are missing");
        assert_eq!(super::png(&[], u32::MAX, u32::MAX, 3, 8), None);
    }
}
