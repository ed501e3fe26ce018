//! Severity of an outcome, and the definition of correct: no case is worse than [`Severity::Right`].

use crate::measure::measurement::Measured;
use crate::run::Outcome;

/// Severity of the outcome of a judged case, in order from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The outputs are correct, or an invalid model is refused.
    Right,
    /// Wrong output, but by a few representable values only.
    Inexact,
    /// The runtime reports that it does not support the case.
    Declined,
    /// The runtime runs an invalid model.
    TakesInvalid,
    /// The runtime fails on a valid model.
    RefusesValid,
    /// Wrong output in a case with special values.
    WrongSpecial,
    /// Wrong output.
    Wrong,
    /// The runtime crashes, hangs or exceeds the memory limit.
    Crash,
}

impl Severity {
    /// All severities, from best to worst.
    pub const ALL: [Severity; 8] = [
        Severity::Right,
        Severity::Inexact,
        Severity::Declined,
        Severity::TakesInvalid,
        Severity::RefusesValid,
        Severity::WrongSpecial,
        Severity::Wrong,
        Severity::Crash,
    ];

    /// Returns the severity of an outcome; `None` if it is inconclusive.
    pub fn from_outcome(outcome: Outcome, is_edge: bool) -> Option<Severity> {
        Some(match outcome {
            Outcome::NotApplicable | Outcome::NotDeclared => return None,
            Outcome::Pass => Severity::Right,
            Outcome::Unsupported => Severity::Declined,
            Outcome::Accepted => Severity::TakesInvalid,
            Outcome::Error => Severity::RefusesValid,
            Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType if is_edge => Severity::WrongSpecial,
            Outcome::Mismatch
            | Outcome::WrongShape
            | Outcome::WrongType
            | Outcome::InvalidModel
            | Outcome::WrongOpset
            | Outcome::WrongInterface => Severity::Wrong,
            Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash | Outcome::ProtocolError => Severity::Crash,
        })
    }

    /// Returns the severity of a measured case; `None` if it is inconclusive or the runtime was not given it.
    pub fn from_measured(measured: Measured, is_edge: bool) -> Option<Severity> {
        match measured {
            Measured::Inexact(_) => Some(Severity::Inexact),
            Measured::Ended(outcome) => Severity::from_outcome(outcome, is_edge),
            Measured::NotAccepted | Measured::Unknown => None,
        }
    }

    /// Returns the severity of several judged cases, which is the worst; `None` without a case. They are correct if it
    /// is [`Severity::Right`], for a behaviour and for an operator alike: that every judged case passes.
    pub fn worst(severities: impl IntoIterator<Item = Severity>) -> Option<Severity> {
        severities.into_iter().max()
    }

    /// Returns the letter of the severity in the data of the pages.
    pub const fn letter(self) -> char {
        match self {
            Severity::Right => 'r',
            Severity::Inexact => 'i',
            Severity::Declined => 'd',
            Severity::TakesInvalid => 'a',
            Severity::RefusesValid => 'e',
            Severity::WrongSpecial => 's',
            Severity::Wrong => 'w',
            Severity::Crash => 'c',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_from_right_to_crash() {
        use Severity::{Crash, Declined, Inexact, RefusesValid, Right, TakesInvalid, Wrong, WrongSpecial};
        let order = [Right, Inexact, Declined, TakesInvalid, RefusesValid, WrongSpecial, Wrong, Crash];
        assert!(order.is_sorted() && order == Severity::ALL);
    }

    #[test]
    fn cases_are_right_if_every_one_passes() {
        let worst =
            |outcomes: &[Outcome]| Severity::worst(outcomes.iter().filter_map(|it| Severity::from_outcome(*it, false)));
        assert_eq!(worst(&[]), None);
        assert_eq!(worst(&[Outcome::NotApplicable, Outcome::NotDeclared]), None);
        assert_eq!(worst(&[Outcome::Pass, Outcome::NotApplicable]), Some(Severity::Right));
        for outcome in Outcome::ALL.into_iter().filter(|it| *it != Outcome::Pass && !it.is_inconclusive()) {
            assert!(worst(&[Outcome::Pass, outcome]) > Some(Severity::Right), "{outcome}");
        }
    }
}
