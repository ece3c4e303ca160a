//! Papers of our own: the smallest PDF that shows lines of text at their places.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A PDF with one page; each line is (x, y from the bottom, size, text).
pub fn pdf(lines: &[(f32, f32, f32, &str)]) -> Vec<u8> {
    pdf_with(lines, None)
}

/// The same with an XML file inside it.
pub fn pdf_with(lines: &[(f32, f32, f32, &str)], xml: Option<&str>) -> Vec<u8> {
    let mut content = String::new();
    for (x, y, size, text) in lines {
        let text = text.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
        content += &format!("BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n");
    }
    let names =
        if xml.is_some() { " /Names << /EmbeddedFiles << /Names [(factur-x.xml) 6 0 R] >> >>" } else { "" };
    let mut objects = vec![
        format!("<< /Type /Catalog /Pages 2 0 R{names} >>"),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}endstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    if let Some(xml) = xml {
        objects.push("<< /Type /Filespec /F (factur-x.xml) /EF << /F 7 0 R >> >>".to_owned());
        objects.push(format!("<< /Type /EmbeddedFile /Length {} >>\nstream\n{xml}\nendstream", xml.len()));
    }
    written(&objects)
}

/// The picture of a paper, as a scanner or a phone makes it.
pub const SCAN: &[u8] = include_bytes!("scan.jpg");

/// The same as scanners send it: a page that is a picture.
pub fn scanned() -> Vec<u8> {
    let content = "q 500 0 0 450 40 300 cm /I Do Q\n";
    let image = format!(
        "<< /Type /XObject /Subtype /Image /Width 1000 /Height 900 /ColorSpace /DeviceRGB /BitsPerComponent 8 \
         /Filter /DCTDecode /Length {} >>\nstream\n",
        SCAN.len()
    );
    let image = [image.as_bytes(), SCAN, b"\nendstream"].concat();
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
          /Resources << /XObject << /I 5 0 R >> >> >>"
            .to_vec(),
        format!("<< /Length {} >>\nstream\n{content}endstream", content.len()).into_bytes(),
        image,
    ];
    written(&objects)
}

fn written(objects: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        let head = format!("{} 0 obj\n", at + 1);
        file.extend([head.as_bytes(), object.as_ref(), b"\nendobj\n"].concat());
    }
    let start = file.len();
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        end += &format!("{place:010} 00000 n \n");
    }
    end += &format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    file.extend(end.as_bytes());
    file
}

/// An invoice that the rules read whole.
pub fn invoice() -> Vec<u8> {
    pdf(&[
        (54.0, 790.0, 8.0, "Nordwind Heiztechnik GmbH, Storkower Str. 118, 10407 Berlin"),
        (54.0, 740.0, 11.0, "Larkfield Homes"),
        (54.0, 650.0, 18.0, "Invoice"),
        (54.0, 620.0, 11.0, "Invoice number: NW-4471"),
        (54.0, 600.0, 11.0, "Invoice date: 2031-01-06"),
        (54.0, 580.0, 11.0, "Due date: 2031-01-20"),
        (54.0, 500.0, 11.0, "Net"),
        (400.0, 500.0, 11.0, "1250.00 EUR"),
        (54.0, 480.0, 11.0, "VAT 19 %"),
        (400.0, 480.0, 11.0, "237.50 EUR"),
        (54.0, 460.0, 11.0, "Grand total"),
        (400.0, 460.0, 11.0, "1487.50 EUR"),
    ])
}

/// One good file of each kind that is read, as small as can be.
pub fn of_every_kind() -> Vec<Vec<u8>> {
    let types = ("[Content_Types].xml", "<Types/>");
    let paragraphs = "<w:document xmlns:w='w'><w:p><w:t>Invoice</w:t></w:p><w:p><w:t>Total: 5.00 EUR</w:t></w:p></w:document>";
    let cells =
        "<worksheet><sheetData><row><c t='s'><v>0</v></c><c><v>5</v></c></row></sheetData></worksheet>";
    let words = "<sst><si><t>Total</t></si></sst>";
    let content = "<d xmlns:t='t'><t:p>Receipt</t:p><t:p>Total 5.00 EUR</t:p></d>";
    let xml = "<Invoice xmlns='urn:oasis:names:specification:ubl:schema:xsd:Invoice-2'><ID>1</ID></Invoice>";
    vec![
        invoice(),
        pdf_with(&[(50.0, 700.0, 12.0, "Total 5.00 EUR")], Some("<CrossIndustryInvoice/>")),
        scanned(),
        SCAN.to_vec(),
        b"\xff\xd8\xff\xe1\0\x10Exif\0\0II*\0\x08\0\0\0\xff\xda\0\x02\xff\xd9".to_vec(),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0\0\0\0\0\0\0\0\x04tEXtabcd\0\0\0\0"
            .to_vec(),
        b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x08\0\0\0\x0f\0\0\x0f\0\0".to_vec(),
        b"II*\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x10\0\0\0\x01\x01\x03\0\x01\0\0\0\x10\0\0\0".to_vec(),
        b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec(),
        archive(&[types, ("word/document.xml", paragraphs)]),
        archive(&[types, ("xl/worksheets/sheet1.xml", cells), ("xl/sharedStrings.xml", words)]),
        archive(&[("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", content)]),
        b"date;vendor;total\n2031-01-06;Nordwind;5,00\n".to_vec(),
        xml.as_bytes().to_vec(),
    ]
}

/// A ZIP archive whose parts are stored as they are.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let local = (bytes.len() as u32).to_le_bytes();
        let sizes = [(text.len() as u32).to_le_bytes(); 2].concat();
        let length = (name.len() as u16).to_le_bytes();
        let own = [b"PK\x03\x04\x14\0".as_slice(), &[0; 12], &sizes, &length, &[0; 2], name.as_bytes()];
        bytes.extend([own.concat(), text.as_bytes().to_vec()].concat());
        let entry = [
            b"PK\x01\x02\x14\0\x14\0".as_slice(),
            &[0; 12],
            &sizes,
            &length,
            &[0; 12],
            &local,
            name.as_bytes(),
        ];
        directory.extend(entry.concat());
    }
    let (start, count) =
        ((bytes.len() as u32).to_le_bytes(), [(files.len() as u16).to_le_bytes(); 2].concat());
    let length = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &length, &start, &[0; 2]].concat());
    bytes
}

/// Mail with one file.
pub fn with_file(id: &str, name: &str, bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!(
        "Message-ID: <{id}@c>\nFrom: anna@customer.example\nSubject: A file\n\
         Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSee below.\n\
         --b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\
         Content-Disposition: attachment; filename=\"{name}\"\n\n{}\n--b--\n",
        lines.join("\n")
    )
}
