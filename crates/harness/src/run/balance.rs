//! Shards of similar duration: the groups of a plan, distributed by the time that their cases took in an earlier run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt::Write as _;
use std::time::Duration;

use onnx_conformance_cases::case::{Variant, digest_of_texts};

use crate::run::{CaseResult, Plan, Shard};

/// Time that the harness itself takes for a case: making it, writing its files and comparing its outputs. It keeps cases that are
/// not sent, and so take no time, from all being in one shard.
const OWN_TIME: Duration = Duration::from_micros(500);

/// Longest time of a case that is believed, so that sums do not overflow.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Number of pieces that fill a shard, at least. A group that takes longer than such a piece is divided.
const PIECES_PER_SHARD: u32 = 8;

/// The time that each case took in an earlier run, in any variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseTimes {
    by_id: BTreeMap<String, Duration>,
}

impl CaseTimes {
    /// Reads the times of results, in any order.
    pub fn from_results(results: &[CaseResult]) -> CaseTimes {
        let time = |result: &CaseResult| Duration::try_from_secs_f64(result.ms / 1e3).unwrap_or_default().min(MAX_TIME);
        let by_id = results.iter().map(|result| (Variant::split_id(&result.id).0.to_owned(), time(result)));
        CaseTimes { by_id: by_id.collect() }
    }

    /// Computes a digest of the times, which identifies them in results. The order of the results does not matter.
    pub fn digest(&self) -> String {
        let mut text = String::new();
        for (id, time) in &self.by_id {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{id} {}", time.as_nanos());
        }
        digest_of_texts([text.as_str()])
    }

    /// Returns the times of these cases. A case without one gets the mean of the others, or `mean` if there are none.
    fn of_group(&self, ids: &[String], mean: Duration) -> Vec<Duration> {
        let known: Vec<Option<Duration>> = ids.iter().map(|id| self.by_id.get(id).copied()).collect();
        let mean = mean_of(known.iter().flatten()).unwrap_or(mean);
        known.into_iter().map(|time| time.unwrap_or(mean) + OWN_TIME).collect()
    }
}

/// Expected duration of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancedShard {
    /// Time of its cases, one after the other.
    pub time: Duration,
    /// Time of the cases of the slowest shard.
    pub slowest: Duration,
    /// Time of all cases.
    pub whole: Duration,
    /// Number of cases, in all shards, whose time is not known.
    pub unknown: usize,
}

/// Cases of one group, which one shard runs.
struct Piece<'a> {
    time: Duration,
    ids: &'a [String],
}

impl Plan<'_> {
    /// Retains one of several parts that take a similar time. The parts are disjoint and complete, and on every machine the same: pieces
    /// of groups, longest first, each in the part with the least time so far. Returns `None`, and retains everything, if no case has a
    /// time.
    pub fn retain_balanced(&mut self, shard: Shard, times: &CaseTimes) -> Option<BalancedShard> {
        let known = |id: &&str| times.by_id.contains_key(*id);
        let mean = mean_of(self.ids().filter_map(|id| times.by_id.get(id)))?;
        let unknown = self.ids().filter(|id| !known(id)).count();
        let groups: Vec<(&[String], Vec<Duration>)> =
            self.groups().iter().map(|(_, _, ids)| (ids.as_slice(), times.of_group(ids, mean))).collect();
        let whole: Duration = groups.iter().flat_map(|(_, times)| times).sum();
        let longest = whole / u32::try_from(shard.of()).unwrap_or(u32::MAX) / PIECES_PER_SHARD;
        let mut pieces: Vec<Piece<'_>> = groups.iter().flat_map(|(ids, times)| divided(ids, times, longest)).collect();
        pieces.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.ids.cmp(b.ids)));
        // Further parts are empty.
        let parts = shard.of().min(pieces.len());
        let mut loads: BinaryHeap<Reverse<(Duration, usize)>> =
            (1..=parts).map(|number| Reverse((Duration::ZERO, number))).collect();
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for piece in &pieces {
            let Some(Reverse((load, number))) = loads.pop() else { break };
            loads.push(Reverse((load + piece.time, number)));
            if number == shard.number() {
                wanted.extend(piece.ids.iter().cloned());
            }
        }
        let slowest = loads.iter().map(|Reverse((load, _))| *load).max().unwrap_or_default();
        let own = loads.iter().find(|Reverse((_, number))| *number == shard.number());
        let time = own.map_or(Duration::ZERO, |Reverse((load, _))| *load);
        self.retain(|id| wanted.contains(id));
        Some(BalancedShard { time, slowest, whole, unknown })
    }
}

/// Divides the cases of a group into pieces of consecutive cases that take at most `longest`, or have one case.
fn divided<'a>(ids: &'a [String], times: &[Duration], longest: Duration) -> Vec<Piece<'a>> {
    let (mut pieces, mut start, mut sum) = (Vec::new(), 0, Duration::ZERO);
    for (index, time) in times.iter().enumerate() {
        if index > start && sum + *time > longest {
            pieces.push(Piece { time: sum, ids: &ids[start..index] });
            (start, sum) = (index, Duration::ZERO);
        }
        sum += *time;
    }
    pieces.push(Piece { time: sum, ids: &ids[start..] });
    pieces
}

/// Returns the mean of times, if there are any.
fn mean_of<'a>(times: impl Iterator<Item = &'a Duration>) -> Option<Duration> {
    let (sum, count) = times.fold((Duration::ZERO, 0_u32), |(sum, count), time| (sum + *time, count.saturating_add(1)));
    sum.checked_div(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;
    use crate::run::{Outcome, plan};
    use onnx_conformance_cases::suite::{Filter, Generated, Suite};

    const FILTER: &str = "ai.onnx/{Abs,Sign,Sum,Neg}-13/**";

    /// The ids of each shard, and the expected durations.
    type Shards = Vec<(BTreeSet<String>, BalancedShard)>;

    fn ids() -> Vec<String> {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        suite.ids(&Filter::new(&[FILTER]).unwrap()).unwrap()
    }

    fn shards(times: &CaseTimes, of: usize) -> Shards {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let shard = |number| {
            let mut plan = plan(&suite, &Filter::new(&[FILTER]).unwrap(), Variant::Runtime).unwrap();
            let balanced = plan.retain_balanced(Shard::new(number, of).unwrap(), times).unwrap();
            (plan.ids().map(str::to_owned).collect(), balanced)
        };
        (1..=of).map(shard).collect()
    }

    /// Returns times of cases, in milliseconds by index.
    fn times(ms: impl Fn(usize) -> Option<f64>) -> CaseTimes {
        let timed = |(index, id): (usize, &String)| Some(CaseResult { ms: ms(index)?, ..result(id, Outcome::Pass) });
        CaseTimes::from_results(&ids().iter().enumerate().filter_map(timed).collect::<Vec<_>>())
    }

    fn check_whole(shards: &Shards) {
        let all: Vec<&String> = shards.iter().flat_map(|(ids, _)| ids).collect();
        assert_eq!(all.len(), ids().len());
        assert_eq!(all.into_iter().cloned().collect::<BTreeSet<_>>(), ids().into_iter().collect());
    }

    #[test]
    fn shards_take_a_similar_time_and_are_together_the_whole() {
        let uneven = times(|index| Some(if index % 10 == 0 { 1_000.0 } else { 1.0 }));
        for of in [1, 2, 3, 8] {
            let shards = shards(&uneven, of);
            check_whole(&shards);
            let whole: Duration = shards.iter().map(|(_, balanced)| balanced.time).sum();
            let fair = whole / u32::try_from(of).unwrap();
            for (_, balanced) in &shards {
                assert_eq!((balanced.whole, balanced.unknown), (whole, 0));
                assert!(balanced.time <= balanced.slowest && balanced.slowest <= fair + fair / 4, "{of}: {balanced:?}");
            }
        }
    }

    #[test]
    fn a_case_that_takes_most_of_the_time_is_alone() {
        let shards = shards(&times(|index| Some(if index == 7 { 3_600_000.0 } else { 1.0 })), 2);
        check_whole(&shards);
        assert_eq!(shards.iter().map(|(ids, _)| ids.len()).min(), Some(1));
    }

    #[test]
    fn a_case_without_a_time_gets_the_mean_of_its_group() {
        let all = ids();
        let slow = |index: usize| all[index].starts_with("ai.onnx/Abs-13/");
        let every_other = times(|index| (index % 2 == 0).then_some(if slow(index) { 100.0 } else { 1.0 }));
        let complete = times(|index| Some(if slow(index) { 100.0 } else { 1.0 }));
        let (partial, full) = (shards(&every_other, 3), shards(&complete, 3));
        check_whole(&partial);
        assert_eq!(partial[0].1.unknown, all.len() / 2);
        assert_eq!(partial[0].1.whole, full[0].1.whole);
    }

    #[test]
    fn cases_that_take_no_time_are_in_all_shards() {
        let shards = shards(&times(|_| Some(0.0)), 4);
        check_whole(&shards);
        assert!(shards.iter().all(|(ids, _)| ids.len().abs_diff(all_cases() / 4) < all_cases() / 16));
    }

    fn all_cases() -> usize {
        ids().len()
    }

    #[test]
    fn more_shards_than_cases_leave_some_empty() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let all = times(|_| Some(1.0));
        let mut plan = plan(&suite, &Filter::new(&[FILTER]).unwrap(), Variant::Runtime).unwrap();
        let last = Shard::new(usize::MAX, usize::MAX).unwrap();
        assert_eq!(plan.retain_balanced(last, &all).unwrap().time, Duration::ZERO);
        assert_eq!(plan.selected, 0);
    }

    #[test]
    fn times_of_other_cases_balance_nothing() {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let mut plan = plan(&suite, &Filter::new(&[FILTER]).unwrap(), Variant::Runtime).unwrap();
        let other = CaseTimes::from_results(&[CaseResult { ms: 1.0, ..result("d/A-1/x", Outcome::Pass) }]);
        assert_eq!(plan.retain_balanced(Shard::new(1, 2).unwrap(), &other), None);
        assert_eq!(plan.selected, ids().len());
    }

    #[test]
    fn the_digest_is_that_of_the_times_in_any_order_and_variant() {
        let timed = |id: &str, ms| CaseResult { ms, ..result(id, Outcome::Pass) };
        let digest = |results: &[CaseResult]| CaseTimes::from_results(results).digest();
        let first = digest(&[timed("a", 1.5), timed("b", 2.0)]);
        assert_eq!(first, digest(&[timed("b@constants", 2.0), timed("a@constants", 1.5)]));
        assert_ne!(first, digest(&[timed("a", 1.5), timed("b", 2.1)]));
        assert_eq!(digest(&[timed("a", f64::NAN)]), digest(&[timed("a", 0.0)]));
    }
}
