//! Nesting depth of the flow collections of a YAML text, checked before parsing: for every token, a parser visits each
//! open collection, so a text of brackets takes quadratic time.

/// Maximum nesting depth of `[` and `{`.
pub(super) const DEEPEST: usize = 64;

/// The line and column, counted from 1, of the first `[` or `{` that nests deeper than [`DEEPEST`].
pub(super) fn too_deep(text: &str) -> Option<(usize, usize)> {
    let mut depth = 0usize;
    // The indentation of the line that opens a block scalar; the scalar's lines are indented more.
    let mut block: Option<usize> = None;
    let mut quote: Option<char> = None;
    for (number, line) in text.lines().enumerate() {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        if let Some(outer) = block {
            if indentation > outer || line.trim().is_empty() {
                continue;
            }
            block = None;
        }
        // True if a value or key may begin here; only there do quotes and brackets have a meaning.
        let mut is_start = true;
        let mut before = ' ';
        let mut letters = line.chars().enumerate().peekable();
        while let Some((column, letter)) = letters.next() {
            match (quote, letter) {
                (Some('"'), '\\') => drop(letters.next()),
                (Some('\''), '\'') if letters.peek().is_some_and(|(_, next)| *next == '\'') => drop(letters.next()),
                (Some(open), letter) if letter == open => quote = None,
                (Some(_), _) => {}
                (None, '#') if before.is_whitespace() => break,
                (None, '"' | '\'') if is_start => {
                    quote = Some(letter);
                    is_start = false;
                }
                (None, '|' | '>') if is_start && depth == 0 => {
                    block = Some(indentation);
                    break;
                }
                (None, '[' | '{') if is_start || depth > 0 => {
                    depth += 1;
                    if depth > DEEPEST {
                        return Some((number + 1, column + 1));
                    }
                    is_start = true;
                }
                (None, ']' | '}') => {
                    depth = depth.saturating_sub(1);
                    is_start = false;
                }
                (None, ',') if depth > 0 => is_start = true,
                // An anchor or a tag precedes its value.
                (None, '&' | '!') if is_start => {
                    while letters.next_if(|(_, next)| !next.is_whitespace() && !"[]{},".contains(*next)).is_some() {}
                }
                (None, ':' | '-' | '?') => {
                    let next = letters.peek().map_or(' ', |(_, next)| *next);
                    is_start = (letter == ':' || is_start) && (next.is_whitespace() || depth > 0);
                }
                (None, letter) => is_start = is_start && letter.is_whitespace(),
            }
            before = letter;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_nest_too_deeply_are_found() {
        assert_eq!(too_deep(&"[".repeat(65)), Some((1, 65)));
        assert_eq!(too_deep(&format!("a: b\nc: {}", "{a: ".repeat(65))), Some((2, 4 + 4 * 64)));
        assert_eq!(too_deep(&format!("- - ? {}", "[".repeat(65))), Some((1, 71)));
        assert_eq!(too_deep(&format!("&a !!seq {}", "[".repeat(65))), Some((1, 74)));
        assert_eq!(too_deep(&format!("[a, 'it''s', \"\\\"\", {}", "[\n".repeat(64))), Some((64, 1)));
    }

    #[test]
    fn closed_and_quoted_brackets_do_not_count() {
        let many = "[".repeat(65);
        for text in [
            "[[a], {b: [c]}]\n".repeat(100),
            format!("a: see {many}"),
            format!("a: '{many}'\nb: \"\\\"{many}\"\n"),
            format!("a: |\n  {many}\n\n  {many}\nb: >-\n {many}\n"),
            format!("# {many}\na: b # {many}"),
            format!("- cases: |\n    {many}\n"),
            format!("{many}{many}").replace('[', "[]"),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
    }
}
