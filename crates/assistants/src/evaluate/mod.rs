//! How good the assistants are, measured on a corpus with labels. Every share has its interval (Wilson, 95 %), because corpora
//! are small. The sealed half of a corpus is for final figures only: nothing is changed for what it shows.

pub mod documents;
pub mod mails;

use std::fmt;

use serde::{Deserialize, Serialize};

/// z of an interval of 95 %.
const Z: f64 = 1.96;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    Open,
    Sealed,
}

/// A share and its interval, in per cent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    pub of: usize,
    pub n: usize,
    pub percent: f64,
    pub from: f64,
    pub to: f64,
}

impl Share {
    pub fn new(n: usize, of: usize) -> Self {
        if of == 0 {
            return Self { of, n, percent: 0.0, from: 0.0, to: 100.0 };
        }
        let (total, share) = (of as f64, n as f64 / of as f64);
        let middle = (share + Z * Z / (2.0 * total)) / (1.0 + Z * Z / total);
        let wide = Z / (1.0 + Z * Z / total)
            * (share * (1.0 - share) / total + Z * Z / (4.0 * total * total)).sqrt();
        let percent = |share: f64| (1_000.0 * share.clamp(0.0, 1.0)).round() / 10.0;
        Self { of, n, percent: percent(share), from: percent(middle - wide), to: percent(middle + wide) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5.1} % of {} ({:.1} to {:.1})", self.percent, self.of, self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_share_and_few_make_it_wide() {
        let (few, many) = (Share::new(9, 10), Share::new(900, 1_000));
        assert!(few.from < 60.0 && few.to > 97.0, "{few:?}");
        assert!(many.from > 87.0 && many.to < 92.0, "{many:?}");
        assert_eq!(Share::new(0, 0).to, 100.0);
    }
}
