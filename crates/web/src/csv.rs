//! Cells of tables for other programs. Spreadsheets run what begins like a formula, and names are typed by people: such a
//! cell is text.

/// Signs that a formula begins with, also as Asian keyboards write them.
const BEGINS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// In quotes, and never a formula.
pub fn cell(text: &str) -> String {
    let seen = text.trim_start_matches(|letter: char| {
        letter.is_whitespace()
            || letter.is_control()
            || matches!(letter, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
    });
    let runs = seen.starts_with(BEGINS) || text.starts_with(['\t', '\r', '\n']);
    format!("\"{}{}\"", if runs { "'" } else { "" }, text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn no_cell_is_a_formula_or_ends_early() {
        let bad = [
            "=cmd|' /C calc'!A0",
            "+1",
            "-1+1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "  =1",
            "\n@x",
            "\u{feff}=1",
            "\u{a0}=1",
            "＝1",
            "＋1",
            " －1",
            "＠x",
            "\u{200b}=1",
            "\tplain",
        ];
        for bad in bad {
            assert_eq!(cell(bad), format!("\"'{bad}\""), "{bad:?}");
        }
        assert_eq!(cell("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
        assert_eq!(cell("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(cell("2026-11-16"), "\"2026-11-16\"");
    }
}
