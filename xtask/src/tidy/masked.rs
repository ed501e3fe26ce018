//! Separates the code of a Rust file from its comments and the contents of literals.

/// A Rust file split into parts. In each text, all other characters are blank, so that lines and columns stay the same.
#[derive(Debug, Default)]
pub(crate) struct Masked {
    /// The code, with empty literals.
    pub(crate) code: String,
    /// The comments.
    pub(crate) comments: String,
    /// The code without test-only items.
    pub(crate) production: String,
    /// Number of lines of those items.
    pub(crate) test_lines: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    /// A string that ends with a quote and this many hashes. A backslash escapes only if there is no count.
    Text(Option<usize>),
    Character,
}

impl Masked {
    pub(crate) fn new(text: &str) -> Masked {
        let chars: Vec<char> = text.chars().collect();
        let (mut code, mut comments) = (String::new(), String::new());
        let mut state = State::Code;
        let mut at = 0;
        while let Some(&c) = chars.get(at) {
            let (next, width) = step(state, &chars[at..], at.checked_sub(1).and_then(|before| chars.get(before)));
            let is_comment = |state| matches!(state, State::LineComment | State::BlockComment(_));
            for &c in chars.iter().skip(at).take(width) {
                let blank = if c == '\n' { '\n' } else { ' ' };
                let delimits = state == State::Code && !is_comment(next) || next == State::Code && !is_comment(state);
                code.push(if delimits { c } else { blank });
                comments.push(if is_comment(state) || is_comment(next) { c } else { blank });
            }
            debug_assert!(width > 0, "no progress at {c}");
            state = next;
            at += width;
        }
        let (production, test_lines) = without_tests(&code);
        Masked { code, comments, production, test_lines }
    }

    /// Returns true if the comments of a line, or of the line above, contain a text.
    pub(crate) fn is_noted(&self, line: usize, note: &str) -> bool {
        let has = |line: usize| self.comments.lines().nth(line).is_some_and(|comment| comment.contains(note));
        has(line - 1) || line > 1 && has(line - 2)
    }
}

/// Returns the state after the next characters, and their number.
fn step(state: State, rest: &[char], before: Option<&char>) -> (State, usize) {
    let starts = |text: &str| text.chars().enumerate().all(|(at, c)| rest.get(at) == Some(&c));
    match state {
        State::Code if starts("//") => (State::LineComment, 2),
        State::Code if starts("/*") => (State::BlockComment(1), 2),
        State::Code if starts("\"") => (State::Text(None), 1),
        State::Code if starts("r") && !before.is_some_and(|&c| c.is_alphanumeric() && c != 'b' || c == '_') => {
            let hashes = rest.iter().skip(1).take_while(|&&c| c == '#').count();
            let is_text = rest.get(hashes + 1) == Some(&'"');
            if is_text { (State::Text(Some(hashes)), hashes + 2) } else { (State::Code, 1) }
        }
        State::Code if starts("'\\") || starts("'") && rest.get(2) == Some(&'\'') => (State::Character, 1),
        State::LineComment if starts("\n") => (State::Code, 1),
        State::BlockComment(depth) if starts("/*") => (State::BlockComment(depth + 1), 2),
        State::BlockComment(1) if starts("*/") => (State::Code, 2),
        State::BlockComment(depth) if starts("*/") => (State::BlockComment(depth - 1), 2),
        State::Text(None) | State::Character if starts("\\") => (state, 2),
        State::Text(None) if starts("\"") => (State::Code, 1),
        State::Text(Some(hashes))
            if starts("\"") && rest.iter().skip(1).take(hashes).filter(|&&c| c == '#').count() == hashes =>
        {
            (State::Code, hashes + 1)
        }
        State::Character if starts("'") => (State::Code, 1),
        _ => (state, 1),
    }
}

/// Blanks the items under `#[cfg(test)]`, and counts their lines. rustfmt puts their closing brace into the column of their
/// start.
fn without_tests(code: &str) -> (String, usize) {
    let (mut kept, mut blanked) = (String::new(), 0);
    let mut skipping: Option<String> = None;
    for line in code.lines() {
        let trimmed = line.trim_start();
        let indent = &line[..line.len() - trimmed.len()];
        if trimmed.starts_with("#[cfg(test)]") {
            skipping = Some(indent.to_owned());
        }
        let ends = skipping.as_deref().is_some_and(|start| {
            start == indent && !trimmed.starts_with("#[") && (trimmed.starts_with('}') || trimmed.ends_with([';', '}']))
        });
        kept.push_str(if skipping.is_some() { "" } else { line });
        blanked += usize::from(skipping.is_some());
        kept.push('\n');
        if ends {
            skipping = None;
        }
    }
    (kept, blanked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_no_code() {
        for (text, code) in [
            ("a(\"b // c\"); // d", "a(\"      \");     "),
            ("r#\"b\"c\"# + d", "r#\"   \"# + d"),
            ("'\"' + 'a' + '\\'' + x::<'a>", "' ' + ' ' + '  ' + x::<'a>"),
            ("for r in r1", "for r in r1"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("\"\\\"\" + a", "\"  \" + a"),
        ] {
            assert_eq!(Masked::new(text).code, code, "{text}");
        }
    }

    #[test]
    fn comments_are_kept_apart() {
        let masked = Masked::new("a; // one\n// two\nb;\n");
        assert_eq!(masked.comments, "   // one\n// two\n  \n");
        assert!(masked.is_noted(1, "one") && masked.is_noted(2, "one") && !masked.is_noted(3, "one"));
    }

    #[test]
    fn test_items_are_no_production_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {\n    }\n}\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}\n";
        assert_eq!(Masked::new(text).production, "fn a() {}\n\n\n\n\n\nfn c() {}\n\n\nfn e() {}\n");
    }
}
