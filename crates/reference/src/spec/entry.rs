//! Part of a YAML text: one entry of its outermost mapping. build.rs includes this file, too.

/// Returns the lines of the top-level entry `key`, and the number of lines before it. `None` if the text has no such
/// entry.
pub(crate) fn entry<'a>(text: &'a str, key: &str) -> Option<(&'a str, usize)> {
    let is_head = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let mut lines = text.split_inclusive('\n').enumerate();
    let mut start = 0;
    let (number, head) = lines.find(|(_, line)| {
        let found = is_head(line);
        start += if found { 0 } else { line.len() };
        found
    })?;
    let is_inside = |line: &str| line.trim_end().is_empty() || line.starts_with([' ', '-', '#']);
    let rest: usize = lines.map(|(_, line)| line).take_while(|line| is_inside(line)).map(str::len).sum();
    Some((text.get(start..start + head.len() + rest)?, number))
}
