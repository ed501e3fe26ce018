//! Patterns that must match a whole text.

use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, NFA, WhichCaptures};
use regex_automata::util::start;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::error::{KernelError, broken};
use crate::kernels::sequence::regex_syntax::from_re2;

/// Largest size of a pattern in bytes.
const MAX_PATTERN: usize = 1 << 18;

/// Largest number of classes in a pattern, such as `[a-z]` and `\pL`. Each may be thousands of ranges.
const MAX_CLASSES: usize = 1 << 10;

/// Deepest nesting of groups, repetitions and classes. The tree of a pattern is walked by recursion.
const MAX_DEPTH: u32 = 250;

/// Largest size of a compiled pattern in bytes; RE2 has a limit of about this size, too.
const MAX_COMPILED: usize = 10 << 20;

/// Size in bytes of the DFA's state cache, unless a few states need more.
const CACHE: usize = 2 << 20;

/// Memory of the syntax trees in bytes, per byte of a pattern and per class.
const BYTES_OF_A_CHARACTER: usize = 512;
const BYTES_OF_A_CLASS: usize = 1 << 16;

/// Compiled pattern, without captures. Those would need memory for the number of groups times the number of states.
pub(super) struct FullMatch<'b> {
    dfa: DFA,
    cache: Cache,
    /// Maximum number of states that one byte of a text visits.
    states: usize,
    budget: &'b Budget,
}

impl<'b> FullMatch<'b> {
    /// Compiles a pattern in RE2's syntax. The budget counts its memory.
    ///
    /// Fails with [`KernelError::Limit`] if the pattern is too large, and by rule C2 if it is not RE2 syntax.
    pub(super) fn new(pattern: &str, budget: &'b Budget) -> Result<FullMatch<'b>, KernelError> {
        let nfa = compile(pattern, budget)?;
        let max = budget.limits().bytes;
        let config = DFA::config();
        let internal =
            |error: &dyn std::fmt::Display| KernelError::Internal(format!("the pattern '{pattern}': {error}"));
        let min = config.get_minimum_cache_capacity(&nfa).map_err(|error| internal(&error))?;
        let capacity = CACHE.min(max / 4).max(min);
        budget.count(capacity, 1)?;
        let states = nfa.states().len();
        let config = config.cache_capacity(capacity);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|error| internal(&error))?;
        Ok(FullMatch { cache: dfa.create_cache(), dfa, states, budget })
    }

    /// Returns true if the whole text matches.
    pub(super) fn is_match(&mut self, text: &str) -> Result<bool, KernelError> {
        // The cache is cleared each time it is full, so that no search gives up.
        let internal = |error: &dyn std::fmt::Display| KernelError::Internal(format!("a match of a pattern: {error}"));
        let start = start::Config::new().anchored(Anchored::Yes);
        let mut state = self.dfa.start_state(&mut self.cache, &start).map_err(|error| internal(&error))?;
        for &byte in text.as_bytes() {
            self.budget.count_work(self.states)?;
            state = self.dfa.next_state(&mut self.cache, state, byte).map_err(|error| internal(&error))?;
            if state.is_dead() {
                return Ok(false);
            }
        }
        self.budget.count_work(self.states)?;
        let state = self.dfa.next_eoi_state(&mut self.cache, state).map_err(|error| internal(&error))?;
        Ok(state.is_match())
    }
}

/// Compiles a pattern whose match ends with the text.
fn compile(pattern: &str, budget: &Budget) -> Result<NFA, KernelError> {
    let over_limit =
        |what: &str| KernelError::Limit(format!("a pattern of {} bytes is over the limit of {what}", pattern.len()));
    if pattern.len() > MAX_PATTERN {
        return Err(over_limit(&format!("{MAX_PATTERN} bytes")));
    }
    let syntax_error = |why: String| broken("C2", format!("the pattern '{pattern}' is not RE2 syntax: {why}"));
    let translated = from_re2(pattern).map_err(|error| syntax_error(error.to_string()))?;
    let classes = ["[", r"\p", r"\P"].map(|class| translated.matches(class).count()).iter().sum();
    if classes > MAX_CLASSES {
        return Err(over_limit(&format!("{MAX_CLASSES} classes")));
    }
    let tree = budget.nested();
    tree.count(translated.len(), BYTES_OF_A_CHARACTER)?;
    tree.count(classes, BYTES_OF_A_CLASS)?;
    tree.check_time()?;
    let hir = parse(&translated).map_err(|error| match error {
        ParseError::Depth => over_limit(&format!("{MAX_DEPTH} levels")),
        ParseError::Syntax(why) => syntax_error(why),
    })?;
    tree.check_time()?;
    let max = (budget.limits().bytes / 4).min(MAX_COMPILED);
    let config = NFA::config().which_captures(WhichCaptures::None).nfa_size_limit(Some(max));
    let nfa = Compiler::new().configure(config).build_from_hir(&hir).map_err(|error| match error.size_limit() {
        Some(max) => over_limit(&format!("{max} bytes of compiled states")),
        None => KernelError::Internal(format!("the pattern '{pattern}': {error}")),
    })?;
    budget.count(nfa.memory_usage(), 1)?;
    Ok(nfa)
}

/// Error of a pattern in the syntax of the regex crate.
enum ParseError {
    /// Too deeply nested pattern.
    Depth,
    /// Malformed pattern, with an explanation.
    Syntax(String),
}

/// Parses a pattern in the syntax of the regex crate.
fn parse(pattern: &str) -> Result<Hir, ParseError> {
    let whole = format!(r"\A(?:{pattern})\z");
    ParserBuilder::new().nest_limit(MAX_DEPTH).build().parse(&whole).map_err(|error| match &error {
        regex_syntax::Error::Parse(error)
            if matches!(error.kind(), regex_syntax::ast::ErrorKind::NestLimitExceeded(_)) =>
        {
            ParseError::Depth
        }
        _ => ParseError::Syntax(last_line(&error.to_string())),
    })
}

/// Returns the error message without the picture of the position.
fn last_line(error: &str) -> String {
    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::deadline::Deadline;
    use crate::kernels::framework::budget::ExecutionLimits;

    fn check(pattern: &str, text: &str, limits: ExecutionLimits) -> Result<bool, KernelError> {
        let budget = Budget::new(limits);
        FullMatch::new(pattern, &budget)?.is_match(text)
    }

    #[test]
    fn groups_cost_no_captures() {
        let (pattern, text) = ("(x+x+)+y".repeat(20_000), "xxy".repeat(20_000));
        let limits = |bytes| ExecutionLimits { bytes, ..ExecutionLimits::default() };
        assert!(matches!(check(&pattern, &text, limits(128 << 20)), Ok(true)));
        assert!(matches!(check(&pattern, &text, limits(64 << 20)), Err(KernelError::Limit(_))));
    }

    #[test]
    fn a_pattern_that_is_too_large_exceeds_a_limit_and_is_not_invalid() {
        let rows = [
            "a".repeat(MAX_PATTERN + 1),
            "[a-z]".repeat(MAX_CLASSES + 1),
            format!("{}a{}", "(".repeat(300), ")".repeat(300)),
            "((a{1000}){1000}){1000}".to_owned(),
            r"(?:\pL{1000}){1000}".to_owned(),
        ];
        for pattern in rows {
            match check(&pattern, "a", ExecutionLimits::default()) {
                Err(KernelError::Limit(message)) => assert!(message.contains("over the limit of"), "{message}"),
                other => panic!("{other:?} of {}", pattern.get(..40).unwrap_or(&pattern)),
            }
        }
        let little = ExecutionLimits { bytes: 1 << 20, ..ExecutionLimits::default() };
        assert!(matches!(check(&"a".repeat(10_000), "a", little), Err(KernelError::Limit(_))));
    }

    #[test]
    fn a_long_match_ends_with_its_time() {
        let over = ExecutionLimits { deadline: Deadline::new(|| true), ..ExecutionLimits::default() };
        assert!(matches!(check("(?:a|b)*c", &"ab".repeat(100_000), over), Err(KernelError::Deadline)));
    }

    #[test]
    fn braces_and_groups_without_end_are_read_once() {
        for piece in ["{", "{1", "(?P<", "[:", r"\p{"] {
            let started = Instant::now();
            let _ = check(&piece.repeat(MAX_PATTERN / piece.len()), "a", ExecutionLimits::default());
            assert!(started.elapsed() < Duration::from_secs(5), "{piece}: {:?}", started.elapsed());
        }
    }
}
