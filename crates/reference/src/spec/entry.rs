//! Part of a YAML text: some entries of its outermost mapping.

/// The entries of op.yaml with facts about the operator. The others describe cases.
pub(crate) const READ: [&str; 5] = ["changes", "draws", "neutral", "tied_sizes", "values"];

/// Returns the lines of these top-level entries as one text, with an empty line for each line that is left out before
/// them. Lines keep their numbers.
pub(crate) fn entries(text: &str, keys: &[&str]) -> String {
    let mut found = String::new();
    let (mut left_out, mut is_wanted) = (0, false);
    for line in text.split_inclusive('\n') {
        if !(line.trim_end().is_empty() || line.starts_with([' ', '-', '#'])) {
            is_wanted = line.split_once(':').is_some_and(|(key, _)| keys.contains(&key));
        }
        if is_wanted {
            found.extend(std::iter::repeat_n('\n', left_out));
            found.push_str(line);
            left_out = 0;
        } else {
            left_out += 1;
        }
    }
    found
}
