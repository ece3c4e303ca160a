//! The scale on which times to the first answer are kept: buckets of which each ends a fifth later than the one before. So
//! a time that is told from them is never too short, and too long by a fifth at most.

use chrono::TimeDelta;

/// Seconds at which the first bucket ends.
const FIRST: f64 = 60.0;
const STEP: f64 = 1.2;
/// The last one has everything that took longer than about ninety days.
const LAST: i16 = 65;

/// The bucket of a time.
pub fn bucket(wait: TimeDelta) -> i16 {
    let seconds = wait.num_seconds().max(1) as f64;
    let steps = ((seconds / FIRST).ln() / STEP.ln()).ceil();
    steps.clamp(0.0, f64::from(LAST)) as i16
}

/// When a bucket ends.
pub fn end_of(bucket: i16) -> TimeDelta {
    let seconds = FIRST * STEP.powi(i32::from(bucket.clamp(0, LAST)));
    TimeDelta::seconds(seconds.round() as i64)
}

/// Of counts by bucket, the time within which so many of a hundred were answered.
pub fn within(counts: &[(i16, i64)], percent: i64) -> Option<TimeDelta> {
    let all: i64 = counts.iter().map(|(_, n)| n).sum();
    let mut sorted: Vec<_> = counts.to_vec();
    sorted.sort_unstable();
    let mut seen = 0;
    sorted.into_iter().filter(|_| all > 0).find_map(|(bucket, n)| {
        seen += n;
        (seen * 100 >= all * percent).then(|| end_of(bucket))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_never_told_too_short_and_too_long_by_a_fifth_at_most() {
        for seconds in [1, 59, 60, 61, 3_600, 86_400, 7 * 86_400, 80 * 86_400] {
            let told = end_of(bucket(TimeDelta::seconds(seconds))).num_seconds();
            assert!(told >= seconds, "{seconds} is told as {told}");
            assert!(told <= (seconds * 12 / 10 + 1).max(60), "{seconds} is told as {told}");
        }
        assert_eq!(bucket(TimeDelta::days(4_000)), LAST);
        assert_eq!(bucket(TimeDelta::seconds(-5)), 0);
    }

    #[test]
    fn half_and_nine_in_ten_are_counted_from_the_quickest() {
        assert_eq!(within(&[], 50), None);
        assert_eq!(within(&[(0, 0)], 50), None);
        let counts = [(9, 1), (2, 5), (4, 4)];
        assert_eq!((within(&counts, 50), within(&counts, 90)), (Some(end_of(2)), Some(end_of(4))));
        assert_eq!(within(&counts, 100), Some(end_of(9)));
    }
}
