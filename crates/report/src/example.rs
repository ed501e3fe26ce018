//! A case or refusal of an op.yaml as one line: inputs and settings, `->`, outputs.

/// Maximum length of an example in bytes.
const LENGTH: usize = 240;

/// Names with their values, as written.
type Fields = Vec<(String, String)>;

/// Returns a case as `X [1, 2], axis 0 -> Y [3]`; `None` if it states no outputs or is long.
pub(crate) fn of_case(source: &str, name: &str) -> Option<String> {
    let entry = entry(source, "cases:", name)?;
    let mut fields = Fields::new();
    for block in words(value(&entry, "given")) {
        merge(&mut fields, given(source, block)?);
    }
    merge(&mut fields, entry);
    let outputs = plain(value(&fields, "outputs"));
    let text = format!("{} -> {}", settings(&fields), outputs.join(", "));
    (!outputs.is_empty() && text.len() <= LENGTH).then_some(text)
}

/// Returns a refusal as `CONTROL, but axis 2`; `None` if it is long.
pub(crate) fn of_refusal(source: &str, name: &str) -> Option<String> {
    let entry = entry(source, "refuse:", name)?;
    let text = format!("{}, but {}", value(&entry, "control"), settings(&entry));
    (text.len() <= LENGTH).then_some(text)
}

/// Returns nodes, inputs and settings in one list.
fn settings(fields: &Fields) -> String {
    let mut all = Vec::new();
    for (key, written) in fields {
        match key.as_str() {
            "inputs" | "set" | "captured" => all.extend(plain(written)),
            "again" => all.extend(plain(written).into_iter().map(|input| format!("again {input}"))),
            "nodes" => all.push(written.clone()),
            "without" => all.extend(words(written).map(|name| format!("without {name}"))),
            "request" => all.push(format!("outputs {written}")),
            _ => {}
        }
    }
    all.join(", ")
}

/// Returns the values of a mapping, each after its name. Of tensors whose values say all, only the values remain.
fn plain(mapping: &str) -> Vec<String> {
    let tensor = |written: String| match flow(&written).as_slice() {
        [(key, values)] if key == "values" => values.clone(),
        [(key, values), (last, _)] if key == "values" && last == "type" => values.clone(),
        _ => written,
    };
    flow(mapping).into_iter().map(|(name, written)| format!("{name} {}", tensor(written))).collect()
}

/// Returns the value of a key, empty if there is none.
fn value<'a>(fields: &'a Fields, key: &str) -> &'a str {
    fields.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value)
}

/// Returns the words of a list, or the only word.
fn words(list: &str) -> impl Iterator<Item = &str> {
    list.trim_matches(['[', ']']).split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// Adds fields. Mappings are merged; the later one's entry replaces one of the same name.
fn merge(fields: &mut Fields, more: Fields) {
    for (key, written) in more {
        let Some((_, old)) = fields.iter_mut().find(|(name, _)| *name == key) else {
            fields.push((key, written));
            continue;
        };
        let mut both = flow(old);
        for (name, value) in flow(&written) {
            match both.iter_mut().find(|(other, _)| *other == name) {
                Some((_, old)) => *old = value,
                None => both.push((name, value)),
            }
        }
        let both: Vec<String> = both.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
        *old = if both.is_empty() { written } else { format!("{{{}}}", both.join(", ")) };
    }
}

/// Returns the fields of a case or refusal of this name in the list under a key.
fn entry(source: &str, list: &str, name: &str) -> Option<Fields> {
    let mut key = "";
    let mut lines = source.lines().peekable();
    while let Some(current) = lines.next() {
        let content = current.trim_start();
        if content.ends_with(':') {
            key = content;
        }
        let is_named = ["- {name: ", "- name: "]
            .iter()
            .filter_map(|start| content.strip_prefix(start))
            .any(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '}'])));
        if key != list || !is_named {
            continue;
        }
        let indent = current.len() - content.len();
        let mut found = vec![content.trim_start_matches("- ")];
        while let Some(next) = lines.next_if(|next| next.len() - next.trim_start().len() > indent) {
            found.push(next.get(indent + 2..).unwrap_or_default());
        }
        return Some(mapping(&found));
    }
    None
}

/// Returns the fields of a block of `given`.
fn given(source: &str, name: &str) -> Option<Fields> {
    let lines = source.lines().skip_while(|line| *line != "given:").skip(1);
    let mut lines = lines.take_while(|line| line.starts_with(' '));
    let first = lines.find_map(|line| line.strip_prefix("  ")?.strip_prefix(name)?.strip_prefix(':'))?;
    let rest = lines.take_while(|line| line.starts_with("   ")).map(|line| line.get(4..).unwrap_or_default());
    let all: Vec<&str> = Some(first.trim()).filter(|first| !first.is_empty()).into_iter().chain(rest).collect();
    Some(mapping(&all))
}

/// Returns the fields of a mapping over several lines, in braces or with a key at the start of a line.
fn mapping(lines: &[&str]) -> Fields {
    let all: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    if lines.first().is_some_and(|line| line.starts_with('{')) {
        return flow(&all.join(" "));
    }
    let mut fields = Fields::new();
    for line in lines {
        let field = line.split_once(':').filter(|(key, _)| !key.starts_with(' '));
        match (field, fields.last_mut()) {
            (Some((key, value)), _) => {
                fields.push((key.to_owned(), value.trim().trim_matches(['|', '>']).to_owned()));
            }
            (None, Some((key, value))) => {
                let separator = if value.is_empty() {
                    ""
                } else if key == "nodes" {
                    "; "
                } else {
                    " "
                };
                *value = format!("{value}{separator}{}", line.trim());
            }
            (None, None) => {}
        }
    }
    fields
}

/// Returns the fields of a mapping in braces; none if the text is not one.
fn flow(text: &str) -> Fields {
    let Some(inner) = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return Fields::new();
    };
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote, mut before) = (0, 0usize, None, ' ');
    for (at, letter) in inner.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open && before != '\\' => quote = None,
            (None, '"' | '\'') if matches!(before, ' ' | '[' | '{') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(inner.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
        before = letter;
    }
    parts.push(inner.get(start..).unwrap_or_default());
    let field =
        |part: &&str| part.split_once(": ").map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    parts.iter().filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::{of_case, of_refusal};

    const SOURCE: &str = r#"op: Example
given:
  rows: {inputs: {X: {values: [1, 2]}, axis: {values: 0}}}
  long:
    {inputs: {X: {values: [1,
       2]}}}
constraints:
  C1:
    cases:
      - {name: ab, inputs: {X: {values: [1]}}, outputs: {Y: {values: [2]}}}
      - {name: a, note: "Not the end, {of it}.", inputs: {X: {values: ["a, b",
         "c"], type: T}, B: {shape: [2], all: 7}}, set: {mode: x}, outputs: {Y: {values: []}}}
      - {name: shared, given: rows, inputs: {axis: {values: 1}}, outputs: {Y: {values: [3]}}}
      - {name: shared_by_lines, given: [long], outputs: {Y: {values: [3]}}}
      - {name: computed, inputs: {X: {shape: [2]}}}
      - name: nodes
        nodes: |
          y = Abs (x)
          z = Neg (y)
        inputs: {x: {values: [1], type: T}}
        outputs: {z: {values: [-1]}}
    refuse:
      - {name: a, level: required, control: ab, inputs: {X: {values: 3}}, without: [B]}
"#;

    #[test]
    fn a_case_is_its_inputs_and_outputs() {
        for (name, expected) in [
            ("ab", "X [1] -> Y [2]"),
            ("a", r#"X ["a, b", "c"], B {shape: [2], all: 7}, mode x -> Y []"#),
            ("shared", "X [1, 2], axis 1 -> Y [3]"),
            ("shared_by_lines", "X [1, 2] -> Y [3]"),
            ("nodes", "y = Abs (x); z = Neg (y), x [1] -> z [-1]"),
        ] {
            assert_eq!(of_case(SOURCE, name).as_deref(), Some(expected), "{name}");
        }
        assert_eq!(of_case(SOURCE, "computed"), None);
        assert_eq!(of_case(SOURCE, "b"), None);
    }

    #[test]
    fn a_refusal_is_its_control_and_the_violation() {
        assert_eq!(of_refusal(SOURCE, "a").as_deref(), Some("ab, but X 3, without B"));
        assert_eq!(of_refusal(SOURCE, "ab"), None);
    }
}
