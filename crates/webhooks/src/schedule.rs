//! When a failed delivery is tried again (specification 6.1): eight more times within about a day, each
//! delay varied by a fifth, so that what failed together does not come back together.

use chrono::TimeDelta;

use rookery_base::random::Random;

/// After the end of the first try, of the second, and so on.
const DELAYS: [TimeDelta; 8] = [
    TimeDelta::seconds(30),
    TimeDelta::minutes(2),
    TimeDelta::minutes(10),
    TimeDelta::minutes(30),
    TimeDelta::hours(1),
    TimeDelta::hours(3),
    TimeDelta::hours(6),
    TimeDelta::hours(12),
];

/// Failures without one success in between, for this long, pause a webhook.
pub const PATIENCE: TimeDelta = TimeDelta::hours(24);

/// The wait before the next try when `tries` have failed; nothing when that was the last.
pub fn delay(tries: usize, random: &Random) -> Option<TimeDelta> {
    let nominal = DELAYS.get(tries.checked_sub(1)?)?.num_milliseconds();
    // Evenly between 0.8 and 1.2 of it.
    let share = (random.number() >> 11) as f64 / (1u64 << 53) as f64;
    Some(TimeDelta::milliseconds((nominal as f64 * (0.8 + 0.4 * share)) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// proves: WH-17, WH-18
    #[test]
    fn delays_stay_within_a_fifth_of_the_table_and_vary() {
        let random = Random::seeded(7);
        let minutes = [0.5, 2.0, 10.0, 30.0, 60.0, 180.0, 360.0, 720.0];
        for (number, minutes) in minutes.into_iter().enumerate() {
            let delays: Vec<f64> = (0..200)
                .map(|_| delay(number + 1, &random).unwrap().num_milliseconds() as f64 / 60_000.0 / minutes)
                .collect();
            assert!(delays.iter().all(|share| (0.8..=1.2).contains(share)), "{delays:?}");
            assert!(delays.iter().any(|share| *share < 0.85) && delays.iter().any(|share| *share > 1.15));
        }
        assert_eq!((delay(0, &random), delay(9, &random)), (None, None), "nine tries in all");
    }
}
