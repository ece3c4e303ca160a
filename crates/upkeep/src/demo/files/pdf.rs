//! Prints a page of text as a PDF that one reads as any other: letters in Helvetica, rules, and two columns where a line has
//! a value on the right.

/// A4, in points.
const HEIGHT: i32 = 842;
const LEFT: i32 = 64;
const RIGHT: i32 = 531;
const VALUES: i32 = 400;

/// One line of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaperLine {
    Heading(String),
    Text(String),
    /// What it is, and how much, beside it.
    Pair(String, String),
    Rule,
    Space,
}

/// One page, from the top.
pub fn printed(lines: &[PaperLine]) -> Vec<u8> {
    let mut drawing = Vec::new();
    let mut y = HEIGHT - 78;
    for line in lines {
        let (size, down) = match line {
            PaperLine::Heading(_) => (18, 30),
            PaperLine::Rule => (0, 14),
            _ => (10, 17),
        };
        match line {
            PaperLine::Heading(text) | PaperLine::Text(text) => letters(&mut drawing, LEFT, y, size, text),
            PaperLine::Pair(label, value) => {
                letters(&mut drawing, LEFT, y, size, label);
                letters(&mut drawing, VALUES, y, size, value);
            }
            PaperLine::Rule => {
                let width = RIGHT - LEFT;
                drawing.extend(format!("0.7 g {LEFT} {} {width} 1 re f 0 g\n", y + 6).bytes());
            }
            PaperLine::Space => {}
        }
        y -= down;
    }
    file(&drawing)
}

fn letters(drawing: &mut Vec<u8>, x: i32, y: i32, size: i32, text: &str) {
    drawing.extend(format!("BT /F1 {size} Tf {x} {y} Td (").bytes());
    for byte in text.chars().filter_map(win_ansi) {
        if matches!(byte, b'(' | b')' | b'\\') {
            drawing.push(b'\\');
        }
        drawing.push(byte);
    }
    drawing.extend(b") Tj ET\n");
}

/// As the font has it. A mark above a letter is left out; what the font does not have is a question mark.
fn win_ansi(letter: char) -> Option<u8> {
    match letter {
        '€' => Some(0x80),
        '’' => Some(0x92),
        '–' => Some(0x96),
        'ọ' => Some(b'o'),
        'ũ' => Some(b'u'),
        '\u{300}'..='\u{36f}' => None,
        _ => Some(u8::try_from(u32::from(letter)).unwrap_or(b'?')),
    }
}

fn file(drawing: &[u8]) -> Vec<u8> {
    let plain = |text: &str| text.as_bytes().to_vec();
    let mut content = format!("<< /Length {} >>\nstream\n", drawing.len()).into_bytes();
    content.extend_from_slice(drawing);
    content.extend_from_slice(b"endstream");
    let objects = [
        plain("<< /Type /Catalog /Pages 2 0 R >>"),
        plain("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        plain(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        ),
        content,
        plain("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
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
