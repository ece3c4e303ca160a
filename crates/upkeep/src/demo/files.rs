//! The files of the demonstration, made here: one-page PDFs that say what they are, and drawings as PNG.
//! Small and real, so that previews and downloads have something to show.

/// The type and the bytes of a file by its name.
pub fn make(name: &str) -> (&'static str, Vec<u8>) {
    match name.rsplit_once('.') {
        Some((title, "png")) => ("image/png", png(title)),
        Some((title, _)) => ("application/pdf", pdf(&title.replace('-', " "))),
        None => ("application/pdf", pdf(name)),
    }
}

/// One page with a title, a few ruled lines and a box.
fn pdf(title: &str) -> Vec<u8> {
    let shown: String =
        title.chars().filter(|letter| letter.is_ascii() && !"()\\".contains(*letter)).collect();
    let mut drawing = format!(
        "BT /F1 26 Tf 64 740 Td ({shown}) Tj ET\nBT /F1 11 Tf 64 716 Td (Larkfield Homes, demonstration) Tj ET\n"
    );
    for line in 0..18 {
        let (y, width) = (670 - line * 26, 300 + (line * 67 + shown.len() * 31) % 170);
        drawing.push_str(&format!("0.82 g 64 {y} {width} 7 re f\n"));
    }
    drawing.push_str("0.3 G 64 96 200 70 re S 0 g\nBT /F1 10 Tf 72 150 Td (Signature) Tj ET\n");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{drawing}endstream", drawing.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    file.extend(
        format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1)
            .bytes(),
    );
    file
}

const WIDTH: usize = 240;
const HEIGHT: usize = 160;
/// Paper, ink, two tints, a stain, and a logo's colour.
const PALETTE: [[u8; 3]; 6] =
    [[250, 248, 243], [52, 58, 70], [214, 222, 233], [190, 204, 190], [196, 146, 92], [31, 95, 191]];

/// A floor plan, a stain on a ceiling, a small logo, or the panel of a machine, by the name.
fn png(title: &str) -> Vec<u8> {
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
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let (across, down) = (x as i64 - 130, y as i64 - 80);
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

    #[test]
    fn a_picture_is_a_png_and_a_document_a_pdf() {
        assert!(make("leak.png").1.starts_with(b"\x89PNG"));
        let (kind, bytes) = make("lease.pdf");
        assert_eq!(kind, "application/pdf");
        assert!(bytes.starts_with(b"%PDF-1.4") && bytes.ends_with(b"%%EOF\n"));
    }
}
