//! The invoice that `docs@….test` sends back (specification 8.3): a real PDF of one page, written here, so
//! that the same bytes come every time and no file has to be shipped.

const LINES: [&str; 5] = [
    "INVOICE No. 2031-0042",
    "Example Supplies Ltd, 1 Test Street",
    "10 boxes of paper              90.00 EUR",
    "Delivery                        9.50 EUR",
    "Total due within 14 days       99.50 EUR",
];

pub fn pdf() -> Vec<u8> {
    let shown: String = LINES.iter().map(|line| format!("({line}) Tj 0 -24 Td\n")).collect();
    let page = format!("BT /F1 14 Tf 72 760 Td\n{shown}ET\n");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R \
         /Resources << /Font << /F1 4 0 R >> >> >>"
            .to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{page}endstream", page.len()),
    ];
    let mut pdf = String::from("%PDF-1.4\n");
    let mut table = String::from("0000000000 65535 f \n");
    for (number, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", pdf.len()));
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let (starts, size) = (pdf.len(), objects.len() + 1);
    pdf.push_str(&format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{starts}\n%%EOF\n"
    ));
    pdf.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader goes from the end to the table and from the table to each object.
    #[test]
    fn every_object_stands_where_the_table_says() {
        let pdf = String::from_utf8(pdf()).unwrap();
        let starts: usize =
            pdf.rsplit_once("startxref\n").unwrap().1.lines().next().unwrap().parse().unwrap();
        assert!(pdf[starts..].starts_with("xref\n0 6\n0000000000 65535 f \n"));
        let entries: Vec<&str> = pdf[starts..].lines().skip(3).take(5).collect();
        for (number, entry) in entries.iter().enumerate() {
            assert_eq!(entry.len(), 19, "with its line end an entry has 20 bytes");
            let at: usize = entry[..10].parse().unwrap();
            assert!(pdf[at..].starts_with(&format!("{} 0 obj\n", number + 1)), "object {}", number + 1);
        }
        let stream = pdf.split_once("stream\n").unwrap().1.split_once("endstream").unwrap().0;
        assert!(pdf.contains(&format!("/Length {} ", stream.len())));
    }
}
