//! Text without any form, as a page wants it: a tab between cells. Tables part them with a sign, letters with spaces.
//! Pure functions; nothing is guessed of what a cell means.

/// Rows that are looked at to find the sign.
const FIRST: usize = 20;

/// A table in CSV: the sign is the one that most rows have; what is in quotes is one cell.
pub fn table(text: &str) -> String {
    let rows = |sign: char| text.lines().take(FIRST).filter(|line| line.contains(sign)).count();
    let Some(sign) = [',', '|', ';', '\t'].into_iter().max_by_key(|sign| rows(*sign)) else {
        return text.to_owned();
    };
    // Where a comma parts cents, the semicolon parts cells.
    let sign = if rows(';') * 2 >= rows(sign) && rows(';') > 1 { ';' } else { sign };
    let mut all = String::with_capacity(text.len());
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            '\n' => {
                quoted = false;
                all.push('\n');
            }
            _ if letter == sign && !quoted => all.push('\t'),
            _ => all.push(letter),
        }
    }
    all
}

/// Plain text: three spaces and more part cells, as does a semicolon.
pub fn columns(text: &str) -> String {
    let line = |line: &str| {
        let mut all = String::new();
        let mut spaces = 0;
        for letter in line.trim().chars() {
            if letter == ' ' {
                spaces += 1;
                continue;
            }
            match spaces {
                0 => {}
                1 | 2 => all.push(' '),
                _ => all.push('\t'),
            }
            spaces = 0;
            all.push(if letter == ';' { '\t' } else { letter });
        }
        all
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_plain_text_are_parted() {
        assert_eq!(table("a;b\n1,50;2\n3,10;4"), "a\tb\n1,50\t2\n3,10\t4");
        assert_eq!(table("a,b\n\"x, y\",2"), "a\tb\nx, y\t2");
        assert_eq!(columns("Total:      5.00\n  one  two"), "Total:\t5.00\none two");
        assert_eq!((table(""), columns("")), (String::new(), String::new()));
    }
}
