//! YAML anchors and aliases, which files of cases must not use.

/// Finds the first anchor or alias, `&name` or `*name` at the beginning of a value: its line and column, counted from
/// 1.
pub(super) fn first_anchor(text: &str) -> Option<(usize, usize)> {
    // Indentation of the line before a block scalar, whose own lines are deeper.
    let mut block: Option<usize> = None;
    let mut quote = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if block.is_some_and(|outer| indent > outer || line.trim().is_empty()) {
            continue;
        }
        block = None;
        if let Some(column) = in_line(line, &mut quote) {
            return Some((number + 1, column));
        }
        let content = line.split(" #").next().unwrap_or(line).trim_end();
        if quote.is_none() && [": |", ": >", ": |-", ": >-"].iter().any(|end| content.ends_with(end)) {
            block = Some(indent);
        }
    }
    None
}

/// Finds the first anchor or alias in a line. `quote` is the open quote at the beginning of the line, and then at its
/// end.
fn in_line(line: &str, quote: &mut Option<char>) -> Option<usize> {
    let mut before = '-';
    let mut is_apart = true;
    let mut chars = line.chars().enumerate().peekable();
    while let Some((column, c)) = chars.next() {
        if let Some(open) = *quote {
            match c {
                '\\' if open == '"' => drop(chars.next()),
                '\'' if open == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') => drop(chars.next()),
                _ if c == open => *quote = None,
                _ => {}
            }
            (before, is_apart) = (c, false);
            continue;
        }
        let begins = match before {
            ':' | '-' => is_apart,
            '[' | '{' | ',' => true,
            _ => false,
        };
        match c {
            '#' if is_apart => return None,
            '"' | '\'' if begins => *quote = Some(c),
            '&' | '*' if begins && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric() || *next == '_') => {
                return Some(column + 1);
            }
            _ => {}
        }
        if c.is_whitespace() {
            is_apart = true;
        } else {
            (before, is_apart) = (c, false);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_begins_a_value() {
        let rows = [
            ("a: &x {b: 1}\n", Some((1, 4))),
            ("a: 1\nb: *x\n", Some((2, 4))),
            ("a: [1, *x]\n", Some((1, 8))),
            ("- &x 1\n", Some((1, 3))),
            ("a: {shape: [2 * H, 'a&b'], b: \"x: &y\"}\n", None),
            ("# a: &x\na: 'it''s\n  &x'\n", None),
            ("a: |\n  y: *x\n  - &z\nb: 1\n", None),
            ("a: b & *c\n", None),
            ("a: it's\nb: &x 1\n", Some((2, 4))),
        ];
        for (text, place) in rows {
            assert_eq!(first_anchor(text), place, "{text}");
        }
    }
}
