//! Globs over ids, which also match everything below a matching path.

use std::borrow::Cow;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// Largest number of `{` in a pattern. It bounds the nesting, which the glob engine limits.
const MAX_BRACES: usize = 64;

/// Longest pattern in bytes. The glob engine always has enough memory for it.
const MAX_LENGTH: usize = 1 << 14;

/// Largest number of characters of a pattern in an error.
const SHOWN: usize = 80;

/// A pattern that is not a valid glob.
#[derive(Debug, thiserror::Error)]
#[error("'{pattern}' is not a pattern: {reason}; write ids with * within a part, ** across parts, and {{a,b}}")]
pub struct FilterError {
    /// The pattern.
    pub pattern: String,
    /// The mistake.
    pub reason: String,
}

/// A glob over ids. Most globs have one of two simple forms, which need no glob engine, since many globs are tried on
/// each id.
#[derive(Debug)]
pub struct PathGlob {
    /// The literal prefix of every id.
    start: String,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// `ai.onnx/Abs-13/**`: everything below.
    Below,
    /// `ai.onnx/Abs-13/**/T=int8`: these parts anywhere below.
    Parts(String),
    /// Any other glob.
    Other(Box<OtherGlob>),
}

/// Globs of a pattern that needs the glob engine.
#[derive(Debug)]
struct OtherGlob {
    /// The pattern itself, and everything below it.
    all: [LazyGlob; 2],
    /// The first two parts, as in the names of most groups; `None` if the pattern does not have them apart from the rest.
    group: Option<LazyGlob>,
}

/// A glob that is compiled on first use.
#[derive(Debug)]
struct LazyGlob(Glob, OnceLock<GlobMatcher>);

impl LazyGlob {
    fn new(glob: Glob) -> LazyGlob {
        LazyGlob(glob, OnceLock::new())
    }

    fn is_match(&self, text: &str) -> bool {
        let LazyGlob(glob, matcher) = self;
        matcher.get_or_init(|| glob.compile_matcher()).is_match(text)
    }
}

impl PathGlob {
    /// Parses a pattern.
    pub fn new(pattern: &str) -> Result<PathGlob, FilterError> {
        let base = pattern.trim_end_matches('/');
        let plain = |start: &str| (!start.is_empty() && !is_glob(start)).then(|| format!("{start}/"));
        if let Some(start) = base.strip_suffix("/**").and_then(plain) {
            return Ok(PathGlob { start, form: Form::Below });
        }
        if let Some((start, parts)) = base.split_once("/**/")
            && let Some(start) = plain(start)
            && !is_glob(parts)
        {
            return Ok(PathGlob { start, form: Form::Parts(parts.to_owned()) });
        }
        let start = pattern.get(..wildcard(pattern)).unwrap_or_default().to_owned();
        let group = group_of(base).map(|parts| glob(parts, pattern, true)).transpose()?;
        let other = OtherGlob { all: globs(pattern)?.map(LazyGlob::new), group: group.map(LazyGlob::new) };
        Ok(PathGlob { start, form: Form::Other(Box::new(other)) })
    }

    /// Returns the literal prefix of every id that matches.
    pub(super) fn start(&self) -> &str {
        &self.start
    }

    /// Returns the part of a glob for everything with this part below a path: `T=int8` of `ai.onnx/Abs-13/**/T=int8`; `None` for
    /// other globs.
    pub fn part(&self) -> Option<&str> {
        match &self.form {
            Form::Parts(parts) if !parts.contains('/') => Some(parts),
            _ => None,
        }
    }

    /// Returns true if an id matches.
    pub fn matches(&self, id: &str) -> bool {
        let Some(rest) = id.strip_prefix(&self.start) else { return false };
        match &self.form {
            Form::Below => !rest.is_empty(),
            Form::Parts(parts) => has_parts(rest, parts),
            Form::Other(other) => other.all.iter().any(|glob| glob.is_match(id)),
        }
    }

    /// Returns false if it is certain that no id below a group matches. The name of the group begins with the text before the first
    /// wildcard.
    pub(super) fn may_match_below(&self, group: &str) -> bool {
        let Form::Other(other) = &self.form else { return true };
        let has_two_parts = group.bytes().filter(|byte| *byte == b'/').count() == 1;
        !has_two_parts || other.group.as_ref().is_none_or(|parts| parts.is_match(group))
    }
}

/// Returns the first two parts of a pattern, if they match exactly the first two parts of ids: no wildcard among them matches a `/`.
fn group_of(pattern: &str) -> Option<&str> {
    let (mut depth, mut slashes) = (0_usize, 0);
    let mut end = pattern.len();
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            b'[' | b'\\' => return None,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'/' if depth > 0 => return None,
            b'/' if slashes == 1 => {
                end = at;
                break;
            }
            b'/' => slashes += 1,
            _ => {}
        }
    }
    pattern.get(..end).filter(|parts| slashes == 1 && !parts.contains("**"))
}

/// Returns true if a pattern contains a special character.
pub fn is_glob(pattern: &str) -> bool {
    wildcard(pattern) < pattern.len()
}

/// Returns the position of the first special character in a pattern, or its end.
pub fn wildcard(pattern: &str) -> usize {
    let is_special = |byte| matches!(byte, b'*' | b'?' | b'[' | b'{' | b'\\');
    pattern.bytes().position(is_special).unwrap_or(pattern.len())
}

/// Returns the patterns that a pattern with `{a,b}` as its first wildcard stands for; else the pattern itself. An index finds each of
/// them faster than all together.
pub fn alternatives(pattern: &str) -> Vec<Cow<'_, str>> {
    let parts = || {
        let (before, rest) = pattern.split_at_checked(wildcard(pattern))?;
        let (inside, after) = rest.strip_prefix('{')?.split_once('}')?;
        let is_closed = after.matches('{').count() == after.matches('}').count();
        let is_simple = is_closed && !inside.contains('{') && !rest.contains(['[', ']', '\\']);
        let parts: Vec<&str> = inside.split(',').collect();
        let patterns = || parts.iter().map(|part| Cow::Owned(format!("{before}{part}{after}"))).collect();
        (is_simple && parts.iter().all(|part| !part.is_empty())).then(patterns)
    };
    parts().unwrap_or_else(|| vec![Cow::Borrowed(pattern)])
}

/// Returns globs for the pattern itself and for everything below it, so that the path of a group selects the group.
fn globs(pattern: &str) -> Result<[Glob; 2], FilterError> {
    let base = pattern.trim_end_matches('/');
    Ok([glob(base, pattern, true)?, glob(&format!("{base}/**"), pattern, true)?])
}

/// Parses a pattern over texts without parts: `*` matches anything.
pub fn loose_glob(pattern: &str) -> Result<Glob, FilterError> {
    glob(pattern, pattern, false)
}

/// Parses a glob that is sure to compile: patterns that the engine would refuse only then are refused here.
fn glob(text: &str, pattern: &str, has_parts: bool) -> Result<Glob, FilterError> {
    let refused = |reason: String| FilterError { pattern: shortened(pattern), reason };
    if text.matches('{').count() > MAX_BRACES {
        return Err(refused(format!("it has more than {MAX_BRACES} braces")));
    }
    if text.len() > MAX_LENGTH {
        return Err(refused(format!("it has more than {MAX_LENGTH} bytes")));
    }
    let glob = GlobBuilder::new(text).literal_separator(has_parts).build();
    glob.map_err(|error| refused(error.kind().to_string()))
}

fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

/// Returns true if a path contains these parts, as whole parts.
fn has_parts(path: &str, parts: &str) -> bool {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts
        .filter_map(|at| path.get(at..)?.strip_prefix(parts))
        .any(|behind| behind.is_empty() || behind.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_forms_choose_what_the_pattern_engine_does() {
        let patterns = [
            "a/b/**",
            "a/**",
            "a/**/T=x",
            "a/b/**/T=x",
            "a/**/c/T=x",
            "a/*/T=x",
            "a/**/T=x*",
            "a/b*",
            "**",
            "**/T=x",
            "a/**/",
            "a/{b,c}/**",
            "a/**/b/**",
            "a/**/b/b",
        ];
        let ids = [
            "a",
            "a/b",
            "a/b/c",
            "a/T=x",
            "a/b/T=x",
            "a/b/c/T=x",
            "a/b/T=xy",
            "a/b/yT=x",
            "a/b/T=x/more",
            "a/T=x/T=x",
            "ab/T=x",
            "b/a/T=x",
            "a/bc",
            "a/b/c/T=x/d",
            "a/c/T=xT=x",
            "a/zb/b/b",
            "a/b/b/b",
        ];
        for pattern in patterns {
            let (own, both) =
                (PathGlob::new(pattern).unwrap(), globs(pattern).unwrap().map(|glob| glob.compile_matcher()));
            for id in ids {
                assert_eq!(own.matches(id), both.iter().any(|glob| glob.is_match(id)), "{pattern} on {id}");
            }
        }
        assert!(PathGlob::new("a[b").is_err());
    }

    #[test]
    fn alternatives_match_what_their_pattern_matches() {
        let rows: [(&str, &[&str]); 10] = [
            ("a/{b,c-*}/x", &["a/b/x", "a/c-*/x"]),
            ("{a,b}", &["a", "b"]),
            ("a/{b,c}/**/{d,e}", &["a/b/**/{d,e}", "a/c/**/{d,e}"]),
            ("a/{b,c}/{d", &["a/{b,c}/{d"]),
            ("a/{b,{c,d}}", &["a/{b,{c,d}}"]),
            ("a/{b,}", &["a/{b,}"]),
            ("a*/{b,c}", &["a*/{b,c}"]),
            ("a/{b,c}[d]", &["a/{b,c}[d]"]),
            ("a/{b", &["a/{b"]),
            ("a/b", &["a/b"]),
        ];
        for (pattern, expected) in rows {
            let found = alternatives(pattern);
            assert_eq!(found, expected, "{pattern}");
            let Ok(glob) = PathGlob::new(pattern) else { continue };
            let each: Vec<PathGlob> = found.iter().map(|one| PathGlob::new(one).unwrap()).collect();
            for id in ["a/b/x", "a/c-1/x", "a/c/x", "a", "b", "a/b", "a/b/x/d", "a/b/x/e/f", "ab/c", "a/bd"] {
                assert_eq!(glob.matches(id), each.iter().any(|one| one.matches(id)), "{pattern} on {id}");
            }
        }
    }

    #[test]
    fn a_group_is_known_by_the_first_two_parts_of_a_glob() {
        let rows = [
            ("ai.onnx/{Add,Sub}-*/a/**", "ai.onnx/Add-7", true),
            ("ai.onnx/{Add,Sub}-*/a/**", "ai.onnx/Mul-7", false),
            ("ai.onnx/{Add,Sub}-*", "ai.onnx/Mul-7", false),
            ("ai.onnx/*", "ai.onnx/Mul-7", true),
            ("ai.onnx/**/a*", "ai.onnx/Mul-7", true),
            ("ai.onnx/{Add-7/a,Mul-7/b}*", "ai.onnx/Sub-7", true),
            ("ai.onnx/[AS]*-7/a", "ai.onnx/Mul-7", true),
            ("ai.onnx/*-{6,7}/a", "ai.onnx/Mul-7", true),
            ("ai.onnx/*-{6,7}/a", "ai.onnx/Mul-13", false),
            ("onnx-*/node/test_a*", "onnx-1.22.0/node", true),
            ("onnx-*/node/test_a*", "onnx-1.22.0/pytorch", false),
            ("onnx-*/node/test_a*", "onnx-1.22.0", true),
            ("*", "ai.onnx/Mul-7", true),
            ("ai.onnx/Mul-7/**", "ai.onnx/Mul-7", true),
        ];
        for (pattern, group, expected) in rows {
            assert_eq!(PathGlob::new(pattern).unwrap().may_match_below(group), expected, "{pattern} in {group}");
        }
    }

    #[test]
    fn a_glob_that_does_not_compile_is_refused_when_parsed() {
        let nested = |depth: usize| format!("{}b{}", "{a,".repeat(depth), "}".repeat(depth));
        let rows = [
            (nested(300), "has more than 64 braces"),
            // A brace in a character class does not close an alternation.
            ("{[}],".repeat(300), "has more than 64 braces"),
            (format!("{}*", "a".repeat(20_000)), "has more than 16384 bytes"),
        ];
        for (pattern, why) in rows {
            for error in [PathGlob::new(&pattern).unwrap_err(), loose_glob(&pattern).unwrap_err()] {
                let text = error.to_string();
                assert!(text.contains(why) && text.len() < 300, "{text}");
            }
        }
        // The deepest, the widest and the longest accepted patterns, each compiled.
        for pattern in [nested(64), "[!a]".repeat(4_000), "?".repeat(16_000), "*?".repeat(8_000)] {
            assert!(!PathGlob::new(&pattern).unwrap().matches("c"));
            loose_glob(&pattern).unwrap().compile_matcher();
        }
    }
}
