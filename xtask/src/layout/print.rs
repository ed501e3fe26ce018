//! The layout: a part that fits into a line is written in one line in flow style, and any other part as a block of its parts.

use std::fmt::Write as _;

use crate::layout::order::in_order;
use crate::layout::{Node, Scalar};

/// Maximum width of a line, except for a single long word.
const WIDTH: usize = 120;

/// Keys whose maps and lists are always blocks, so that each rule and each case begins a line.
const BLOCKS: [&str; 4] = ["constraints", "cases", "refuse", "changes"];

/// Prints a document.
pub(crate) fn print(document: Node) -> String {
    let mut text = String::new();
    match &in_order(document) {
        Node::Map(entries) => print_map(&mut text, entries, 0, true),
        Node::List(items) => print_list(&mut text, items, 0),
        document @ Node::Scalar(_) => text.push_str(&flow(document, false)),
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Prints the entries of a map, each on separate lines. The first line is already indented.
fn print_map(text: &mut String, entries: &[(Scalar, Node)], indent: usize, is_head: bool) {
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            let _ = write!(text, "{:indent$}", "");
        }
        let _ = write!(text, "{}:", scalar(key, true));
        let is_rules = is_head && key.text == "constraints";
        let is_shared = key.text == "given" && matches!(value, Node::Map(_));
        print_value(text, value, indent, is_shared || BLOCKS.contains(&key.text.as_str()), is_rules);
    }
}

/// Prints the value of a key.
fn print_value(text: &mut String, value: &Node, indent: usize, is_block: bool, is_rules: bool) {
    // Names of cases are a list like any other.
    let is_block = is_block && !matches!(value, Node::List(items) if items.iter().all(is_number_or_numbers));
    let used = column(text);
    let line = flow(value, false);
    let is_empty = matches!(value, Node::List(items) if items.is_empty())
        || matches!(value, Node::Map(entries) if entries.is_empty());
    if !line.contains('\n') && used + 1 + line.chars().count() <= WIDTH && (!is_block || is_empty) {
        let _ = writeln!(text, " {line}");
        return;
    }
    match value {
        Node::Scalar(value) => print_long(text, value, indent + 2),
        Node::Map(entries) if !is_block && is_filled(value) => {
            let _ = write!(text, "\n{:width$}", "", width = indent + 2);
            print_filled(text, entries, indent + 3);
        }
        Node::Map(entries) => {
            let _ = write!(text, "\n{:width$}", "", width = indent + 2);
            if is_rules {
                print_rules(text, entries, indent + 2);
            } else {
                print_map(text, entries, indent + 2, false);
            }
        }
        Node::List(items) if !is_block && items.iter().all(is_number_or_numbers) => {
            text.push(' ');
            print_array(text, items, indent + 2);
            text.push('\n');
        }
        Node::List(items) => {
            let _ = write!(text, "\n{:width$}", "", width = indent + 2);
            print_list(text, items, indent + 2);
        }
    }
}

/// Prints the rules of an operator, which are blocks.
fn print_rules(text: &mut String, rules: &[(Scalar, Node)], indent: usize) {
    for (index, (id, rule)) in rules.iter().enumerate() {
        if index > 0 {
            let _ = write!(text, "{:indent$}", "");
        }
        let _ = write!(text, "{}:", scalar(id, true));
        match rule {
            Node::Map(entries) if !entries.is_empty() => {
                let _ = write!(text, "\n{:width$}", "", width = indent + 2);
                print_map(text, entries, indent + 2, false);
            }
            rule => print_value(text, rule, indent, false, false),
        }
    }
}

/// Prints a list, each item on separate lines. The first line is already indented.
fn print_list(text: &mut String, items: &[Node], indent: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            let _ = write!(text, "{:indent$}", "");
        }
        text.push_str("- ");
        let line = flow(item, false);
        if !line.contains('\n') && indent + 2 + line.chars().count() <= WIDTH {
            let _ = writeln!(text, "{line}");
            continue;
        }
        match item {
            Node::Map(entries) if is_filled(item) => print_filled(text, entries, indent + 3),
            Node::Map(entries) => print_map(text, entries, indent + 2, false),
            Node::Scalar(value) => {
                text.pop();
                print_long(text, value, indent + 2);
            }
            Node::List(items) if items.iter().all(is_number_or_numbers) => {
                print_array(text, items, indent + 2);
                text.push('\n');
            }
            Node::List(items) => print_list(text, items, indent + 2),
        }
    }
}

/// True if a map is written in flow style also over several lines: if it has no list of cases and no text with several lines.
fn is_filled(node: &Node) -> bool {
    match node {
        Node::Scalar(value) => !value.text.contains('\n'),
        Node::List(items) => items.iter().all(is_filled),
        Node::Map(entries) => entries
            .iter()
            .all(|(key, value)| !BLOCKS.contains(&key.text.as_str()) && key.text != "silent" && is_filled(value)),
    }
}

/// Prints a map in flow style over several lines. A line ends between entries where they fit, and else between the parts of an
/// entry.
fn print_filled(text: &mut String, entries: &[(Scalar, Node)], indent: usize) {
    text.push('{');
    for (index, (key, value)) in entries.iter().enumerate() {
        let end = if index + 1 < entries.len() { ", " } else { "}" };
        let entry = format!("{}: {}{end}", scalar(key, true), flow(value, true));
        let width = entry.trim_end().chars().count();
        if column(text) + width > WIDTH && column(text) > indent {
            start_line(text, indent);
        }
        if column(text) + width <= WIDTH {
            text.push_str(&entry);
            continue;
        }
        for part in parts(&entry) {
            if column(text) + part.trim_end().chars().count() > WIDTH && column(text) > indent + 2 {
                start_line(text, indent + 2);
            }
            text.push_str(part);
        }
    }
    text.push('\n');
}

/// Ends a line and indents the next one.
fn start_line(text: &mut String, indent: usize) {
    text.truncate(text.trim_end_matches(' ').len());
    let _ = write!(text, "\n{:indent$}", "");
}

/// Splits an entry after commas, and between the words of its texts: a line break in a text in quotes is a space.
fn parts(entry: &str) -> Vec<&str> {
    let (mut quote, mut parts, mut start) = (None, Vec::new(), 0);
    let bytes = entry.as_bytes();
    for (index, character) in entry.char_indices() {
        let (before, after) = (index.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(index + 1));
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character && before != Some(&b'\\') => quote = None,
            _ => {}
        }
        let is_apart = character == ' ' && before != Some(&b' ') && after.is_some_and(|after| *after != b' ');
        let may_break = match quote {
            None => before == Some(&b','),
            Some(_) => [before, after].iter().all(|near| !matches!(near, Some(b'"' | b'\'' | b'\\'))),
        };
        if is_apart && may_break {
            parts.extend(entry.get(start..=index));
            start = index + 1;
        }
    }
    parts.extend(entry.get(start..));
    parts
}

/// True for short scalars and lists of them, which fill lines as an array does.
fn is_number_or_numbers(node: &Node) -> bool {
    match node {
        Node::Scalar(value) => value.text.len() < 40 && !value.text.contains('\n'),
        Node::List(items) => items.iter().all(is_number_or_numbers),
        Node::Map(_) => false,
    }
}

/// Prints an array over several lines, each filled up to the width.
fn print_array(text: &mut String, items: &[Node], indent: usize) {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        let line = flow(item, true);
        let used = column(text);
        let end = if index + 1 < items.len() { 2 } else { 1 };
        let fits = used + line.chars().count() + end <= WIDTH;
        let is_first_in_line = used <= indent || text.ends_with('[');
        if !fits && !is_first_in_line {
            while text.ends_with(' ') {
                text.pop();
            }
            let _ = write!(text, "\n{:indent$}", "");
        }
        match item {
            Node::List(inner) if column(text) + line.chars().count() + end > WIDTH => {
                print_array(text, inner, indent + 2);
            }
            _ => text.push_str(&line),
        }
        if index + 1 < items.len() {
            text.push_str(", ");
        }
    }
    text.push(']');
}

/// The number of characters in the last line.
fn column(text: &str) -> usize {
    text.chars().rev().take_while(|character| *character != '\n').count()
}

/// Prints a text that does not fit behind its key: folded at spaces if that keeps it, and with its own lines if it has several.
fn print_long(text: &mut String, value: &Scalar, indent: usize) {
    let content = value.text.as_str();
    let is_text = value.is_quoted || !is_plain_number(content);
    let body = content.strip_suffix('\n').unwrap_or(content);
    let has_lines = body.contains('\n');
    let is_printable = !content.is_empty() && content.chars().all(|c| c == '\n' || !c.is_control());
    let starts_plainly =
        !body.starts_with([' ', '\t']) && body.lines().all(|line| !line.ends_with(' ')) && !body.ends_with('\n');
    if is_text && is_printable && has_lines && starts_plainly {
        text.push_str(if content.ends_with('\n') { " |\n" } else { " |-\n" });
        for line in body.lines() {
            let _ = if line.is_empty() { writeln!(text) } else { writeln!(text, "{:indent$}{line}", "") };
        }
        return;
    }
    if !is_text || !is_printable || has_lines || !starts_plainly || body.contains("  ") {
        let _ = writeln!(text, " {}", scalar(value, false));
        return;
    }
    text.push_str(if content.ends_with('\n') { " >\n" } else { " >-\n" });
    let mut line = String::new();
    for word in body.split(' ') {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{:indent$}{line}", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{:indent$}{line}", "");
}

/// Formats a node in one line in flow style. Line breaks in texts are escaped, except at the end of a block's line.
fn flow(node: &Node, is_inner: bool) -> String {
    match node {
        Node::Scalar(value) if value.text.contains('\n') && !is_inner => value.text.clone(),
        Node::Scalar(value) => scalar(value, is_inner),
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(item, true)).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Map(entries) => {
            let entry = |(key, value): &(Scalar, Node)| format!("{}: {}", scalar(key, true), flow(value, true));
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Formats a scalar: plain where that keeps its meaning, and else in quotes.
fn scalar(value: &Scalar, is_in_flow: bool) -> String {
    let text = value.text.as_str();
    if !value.is_quoted && (!is_in_flow || !text.contains([',', '[', ']', '{', '}'])) {
        return text.to_owned();
    }
    if !text.contains(['"', '\\']) && text.chars().all(|character| !character.is_control()) {
        return format!("\"{text}\"");
    }
    if text.chars().all(|character| !character.is_control()) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    // JSON's escapes are YAML's.
    serde_json::Value::from(text).to_string()
}

/// True if a plain scalar is a number, a truth value or null, which must not become a text.
fn is_plain_number(text: &str) -> bool {
    !matches!(serde_yaml::from_str::<serde_yaml::Value>(text), Ok(serde_yaml::Value::String(_)))
}
