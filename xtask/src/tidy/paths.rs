//! Paths in code.

/// Returns the first segments after a prefix such as `crate::`, each with its line: `crate::{a, b::c}` has `a` and `b`.
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
            Some(group) => found.extend(group_paths(group).into_iter().map(|(name, lines)| (name, line + lines))),
            None => found.push((word(rest), line)),
        }
    }
    found
}

/// Returns the whole paths after a prefix, each with its line: `crate::{a, b::{c, d as e}}` has `a`, `b::c` and `b::d`. After a
/// call or a type the path continues to its last name.
pub(crate) fn whole<'a>(code: &'a str, prefix: &str) -> Vec<(Vec<&'a str>, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        if code[..at].ends_with(|c: char| is_word(c) || c == ':' || c == '$') {
            continue;
        }
        let mut paths = Vec::new();
        tree(&code[at + prefix.len()..], &[], &mut paths);
        found.extend(paths.into_iter().map(|path| (path, line_of(code, at))));
    }
    found
}

/// Adds the paths of a tree such as `a::{b, c}`, and returns the rest of the text.
fn tree<'a>(text: &'a str, before: &[&'a str], found: &mut Vec<Vec<&'a str>>) -> &'a str {
    let text = text.trim_start();
    let Some(mut rest) = text.strip_prefix('{') else {
        let name = word(text);
        let path = [before, &[name]].concat();
        let rest = &text[name.len()..];
        return match rest.strip_prefix("::").filter(|next| next.starts_with(|c| is_word(c) || c == '{')) {
            Some(next) if !name.is_empty() => tree(next, &path, found),
            _ => {
                found.push(path.into_iter().filter(|name| !name.is_empty()).collect());
                rest
            }
        };
    };
    loop {
        rest = tree(rest, before, found);
        let Some(end) = rest.find([',', '}']) else { return "" };
        let is_last = rest[end..].starts_with('}') || rest[end + 1..].trim_start().starts_with('}');
        rest = &rest[end + 1..];
        if is_last {
            return rest.trim_start().strip_prefix('}').unwrap_or(rest);
        }
    }
}

/// Returns the line of a position, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// Returns the first segments of the members of a group, each with the number of lines before it.
fn group_paths(group: &str) -> Vec<(&str, usize)> {
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

    #[test]
    fn whole_paths_are_read_through_groups() {
        let code = "use crate::a::b;\nuse crate::{\n    c::{d, e as f},\n    g::*,\n};\ncrate::h::I::<u8>::new();\n";
        let paths: Vec<String> = whole(code, "crate::").into_iter().map(|(path, _)| path.join("::")).collect();
        assert_eq!(paths, ["a::b", "c::d", "c::e", "g", "h::I"]);
    }
}
