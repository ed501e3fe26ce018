//! The paths that code names.

/// The first segments behind a prefix such as `crate::`, each with its line: `crate::{a, b::c}` names `a` and `b`.
pub(crate) fn behind<'a>(code: &'a str, prefix: &str) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let starts_path = !code[..at].ends_with(|c: char| is_word(c) || c == ':' || c == '$');
        if !starts_path {
            continue;
        }
        let line = line_of(code, at);
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => found.extend(of_group(group).into_iter().map(|(name, lines)| (name, line + lines))),
            None => found.push((word(rest), line)),
        }
    }
    found
}

/// The line of a position, counted from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// The first segments of the members of a group, each with the number of lines before it.
fn of_group(group: &str) -> Vec<(&str, usize)> {
    let (mut names, mut depth, mut expects) = (Vec::new(), 1_usize, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => expects = true,
            _ if expects && is_word(c) => {
                names.push((word(&group[at..]), line_of(group, at) - 1));
                expects = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_single_paths_are_read() {
        let code = "use crate::a::b;\nuse crate::{\n    c::{d, e},\n    f,\n};\nlet x = crate::g::h(mycrate::i);\n";
        assert_eq!(behind(code, "crate::"), [("a", 1), ("c", 3), ("f", 4), ("g", 6)]);
    }
}
