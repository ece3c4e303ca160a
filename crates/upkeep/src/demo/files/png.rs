//! Drawings as PNG, made here: a floor plan, a stain on a ceiling, a logo, the panel of a machine. Small and real, so that
//! previews and downloads have something to show.

const WIDTH: usize = 240;
const HEIGHT: usize = 160;
/// Paper, ink, two tints, a stain, and a logo's colour.
const PALETTE: [[u8; 3]; 6] =
    [[250, 248, 243], [52, 58, 70], [214, 222, 233], [190, 204, 190], [196, 146, 92], [31, 95, 191]];

/// A floor plan, a stain on a ceiling, a small logo, or the panel of a machine, by the name.
pub fn drawn(title: &str) -> Vec<u8> {
    let mut picture = vec![0u8; WIDTH * HEIGHT];
    let mut fill = |left: usize, top: usize, right: usize, bottom: usize, colour: u8| {
        for y in top..bottom.min(HEIGHT) {
            picture[y * WIDTH + left.min(WIDTH)..y * WIDTH + right.min(WIDTH)].fill(colour);
        }
    };
    match title {
        "logo" => {
            fill(0, 0, WIDTH, HEIGHT, 5);
            fill(40, 50, 200, 66, 0);
            fill(40, 84, 140, 100, 0);
        }
        "caldera-e9" | "contador" | "boiler" => {
            fill(30, 20, 210, 140, 2);
            fill(60, 44, 180, 84, 1);
            for digit in 0..4 {
                fill(70 + digit * 28, 52, 86 + digit * 28, 76, 3);
            }
            fill(100, 100, 140, 124, 1);
        }
        "floor-plan" => {
            fill(20, 16, 220, 144, 1);
            fill(24, 20, 216, 140, 0);
            fill(120, 20, 124, 140, 1);
            fill(124, 80, 216, 84, 1);
            fill(120, 60, 124, 76, 0);
            fill(150, 80, 168, 84, 0);
            fill(36, 34, 96, 84, 2);
            fill(150, 96, 204, 130, 3);
        }
        _ => {
            fill(0, 0, WIDTH, HEIGHT, 2);
            // Another name, another file: the same bytes in a conversation would be one document.
            let middle = 90 + title.bytes().map(i64::from).sum::<i64>() % 60;
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let (across, down) = (x as i64 - middle, y as i64 - 80);
                    if across * across + down * down * 2 + (across * down / 9) < 2_900 {
                        picture[y * WIDTH + x] = 4;
                    }
                }
            }
        }
    }
    encode(&picture)
}

/// Eight bits a pixel with a palette, stored without compression.
fn encode(picture: &[u8]) -> Vec<u8> {
    let mut rows = Vec::with_capacity(picture.len() + HEIGHT);
    for row in picture.chunks(WIDTH) {
        rows.push(0);
        rows.extend_from_slice(row);
    }
    let mut data = vec![0x78, 0x01];
    let blocks = rows.chunks(60_000).count();
    for (at, block) in rows.chunks(60_000).enumerate() {
        let length = block.len() as u16;
        data.push(u8::from(at + 1 == blocks));
        data.extend(length.to_le_bytes());
        data.extend((!length).to_le_bytes());
        data.extend_from_slice(block);
    }
    data.extend(adler32(&rows).to_be_bytes());
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend((WIDTH as u32).to_be_bytes());
    header.extend((HEIGHT as u32).to_be_bytes());
    header.extend([8, 3, 0, 0, 0]);
    for (kind, content) in
        [(b"IHDR", header), (b"PLTE", PALETTE.concat()), (b"IDAT", data), (b"IEND", Vec::new())]
    {
        file.extend((content.len() as u32).to_be_bytes());
        let checked = [&kind[..], &content].concat();
        file.extend_from_slice(&checked);
        file.extend(crc32(&checked).to_be_bytes());
    }
    file
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1u32, 0u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    high << 16 | low
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standards() {
        assert_eq!(crc32(b"IEND"), 0xAE42_6082);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }
}
