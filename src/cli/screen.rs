//! Output that is shortened to the screen of a terminal. A pipe or a file gets all of it.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::mem;

use anstream::adapter::strip_str;
use clap::Args;
use terminal_size::{Height, Width, terminal_size};

use crate::cli::print;

/// Rows that a part keeps if all parts are shown.
const MIN_ROWS: usize = 3;

/// Minimum number of rows left for a part to be shortened rather than omitted.
const GOOD_ROWS: usize = 8;

/// Rows at the end of the last part, which often has the totals.
const LAST_ROWS: usize = 4;

/// Rows for the lines about omitted parts and lines, the last of which may be long, and for the prompt.
const RESERVED: usize = 4;

/// Maximum number of omitted parts to name, and of characters of each name.
const NAMED: (usize, usize) = (4, 14);

/// Option to print everything.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ScreenOptions {
    /// Print everything. By default, output that exceeds the screen of a terminal is shortened
    #[arg(long)]
    all: bool,
}

impl ScreenOptions {
    /// Returns true if the output is shortened to the screen.
    pub(crate) fn is_shortened(self) -> bool {
        !self.all
    }
}

/// Size of a terminal in characters.
#[derive(Clone, Copy, Debug)]
struct Size {
    columns: usize,
    rows: usize,
}

/// Part of a text: lines that begin with one without indentation, or that follow an empty line.
#[derive(Debug)]
struct Part<'a> {
    lines: Vec<&'a str>,
    /// Rows of the lines.
    rows: usize,
    /// True if an empty line precedes the part.
    is_apart: bool,
}

/// Calls a function, collects what it prints, and prints that at the end, shortened to the screen on a terminal.
pub(crate) fn shortened<T>(run: impl FnOnce() -> T) -> T {
    if !stdout().is_terminal() {
        return run();
    }
    print::collect();
    let done = run();
    if let Some(text) = print::collected().filter(|text| !text.is_empty()) {
        // An error of a terminal cannot be printed either.
        let _ = print::styled(&to_screen(text.trim_end_matches('\n'), "--all prints everything"));
    }
    done
}

/// Returns the number of characters in a line of the terminal; `None` if standard output is none.
pub(crate) fn width() -> Option<usize> {
    let (Width(columns), _) = terminal_size().filter(|_| stdout().is_terminal())?;
    Some(usize::from(columns)).filter(|columns| *columns > 0)
}

/// Returns the text, shortened to the screen if standard output is a terminal. `hint` says how to get everything.
pub(crate) fn to_screen(text: &str, hint: &str) -> String {
    let size = if stdout().is_terminal() { terminal_size() } else { None };
    let Some((Width(columns), Height(rows))) = size else { return text.to_owned() };
    shortened_to(text, Size { columns: usize::from(columns), rows: usize::from(rows) }, hint)
}

/// Shortens a text to a size: each part keeps its beginning. If there are too many parts, the first ones and the last one remain.
fn shortened_to(text: &str, size: Size, hint: &str) -> String {
    if size.columns == 0 || size.rows <= RESERVED {
        return text.to_owned();
    }
    let parts = parts(text, size);
    let needed = |parts: &[&Part<'_>], most: usize| -> usize { parts.iter().map(|part| part.rows_within(most)).sum() };
    let mut chosen: Vec<&Part<'_>> = parts.iter().collect();
    if needed(&chosen, usize::MAX) < size.rows {
        return text.to_owned();
    }
    let budget = size.rows - RESERVED;
    if needed(&chosen, MIN_ROWS) > budget
        && let Some(last) = chosen.pop()
    {
        let room = budget.saturating_sub(last.rows_within(GOOD_ROWS));
        chosen.truncate(count_within(chosen.iter().map(|part| part.rows_within(GOOD_ROWS)), room).max(1));
        chosen.push(last);
    }
    let most = (1..=budget).rev().find(|most| needed(&chosen, *most) <= budget).unwrap_or(1);
    let (mut short, mut shown) = (String::new(), 0);
    for (number, part) in (1..).zip(&chosen) {
        let is_last = number == chosen.len();
        if is_last {
            name_omitted(&mut short, parts.get(chosen.len() - 1..parts.len() - 1).unwrap_or_default());
        }
        if part.is_apart {
            short.push('\n');
        }
        let last_rows = if is_last { LAST_ROWS } else { 0 };
        shown += part.write(&mut short, size, most, last_rows);
    }
    let all: usize = parts.iter().map(|part| part.lines.len()).sum();
    // Writing to a string cannot fail.
    let _ = write!(short, "{} of {all} lines are omitted to fit the screen; {hint}", all - shown);
    short
}

/// Writes how many parts are omitted, with the first of their names.
fn name_omitted(text: &mut String, omitted: &[Part<'_>]) {
    let mut names: Vec<String> = Vec::new();
    for part in omitted {
        let name = part.name();
        if names.len() < NAMED.0 && !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "... {} more parts: {}", omitted.len(), names.join("; "));
    }
}

/// Splits a text into parts.
fn parts(text: &str, size: Size) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let (mut is_apart, mut is_indented) = (false, false);
    for line in text.lines() {
        if line.is_empty() {
            is_apart = true;
            continue;
        }
        let (was_indented, rows) = (mem::replace(&mut is_indented, line.starts_with(' ')), rows_of(line, size));
        match parts.last_mut() {
            Some(part) if !is_apart && (is_indented || !was_indented) => {
                part.lines.push(line);
                part.rows += rows;
            }
            _ => parts.push(Part { lines: vec![line], rows, is_apart: mem::take(&mut is_apart) }),
        }
    }
    parts
}

impl Part<'_> {
    /// Returns the beginning of the first line: `cases` for "cases, with their levels".
    fn name(&self) -> String {
        let line = self.lines.first().map(|line| strip_str(line).to_string()).unwrap_or_default();
        let name = line.trim_start().split([',', ':']).next().unwrap_or_default();
        name.chars().take(NAMED.1).collect()
    }

    /// Returns the rows that the part takes if it is shortened to this many.
    fn rows_within(&self, most: usize) -> usize {
        self.rows.min(most).saturating_add(usize::from(self.is_apart))
    }

    /// Writes the part in at most this many rows, and returns the number of lines written. The last rows precede the ones before.
    fn write(&self, text: &mut String, size: Size, most: usize, last_rows: usize) -> usize {
        if self.rows <= most {
            push_lines(text, &self.lines);
            return self.lines.len();
        }
        let rows = || self.lines.iter().map(|line| rows_of(line, size));
        let room = most.saturating_sub(1);
        let last = count_within(rows().rev(), last_rows.min(room / 2));
        let last_used: usize = rows().rev().take(last).sum();
        let first = count_within(rows(), room - last_used).max(1);
        let hidden = self.lines.len().saturating_sub(first + last);
        push_lines(text, self.lines.iter().take(first));
        if hidden > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  ... {hidden} more lines");
        }
        push_lines(text, self.lines.iter().skip(first + hidden));
        self.lines.len() - hidden
    }
}

/// Returns the number of leading items whose sum is within a limit.
fn count_within(items: impl Iterator<Item = usize>, limit: usize) -> usize {
    let sums = items.scan(0, |sum, item| {
        *sum += item;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= limit).count()
}

fn push_lines<'a>(text: &mut String, lines: impl IntoIterator<Item = &'a &'a str>) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

/// Returns the rows that a line takes. Colours take none.
fn rows_of(line: &str, size: Size) -> usize {
    strip_str(line).to_string().chars().count().div_ceil(size.columns).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { columns: 80, rows: 40 };

    fn rows(text: &str) -> usize {
        text.lines().map(|line| rows_of(line, SIZE)).sum()
    }

    /// Returns a part with this many lines below its title.
    fn part(title: &str, lines: usize) -> String {
        (1..=lines).fold(format!("{title}\n"), |text, number| text + &format!("  {title} {number}\n"))
    }

    #[test]
    fn what_fits_is_unchanged() {
        let text = part("a", 37);
        assert_eq!(shortened_to(&text, SIZE, "x"), text);
        assert_ne!(shortened_to(&part("a", 40), SIZE, "x"), part("a", 40));
        let none = Size { columns: 0, rows: 0 };
        assert_eq!(shortened_to(&part("a", 99), none, "x"), part("a", 99));
    }

    #[test]
    fn each_part_keeps_its_beginning() {
        let text = [part("a", 2), part("b", 60), part("c", 3), part("d", 100)].join("\n");
        let short = shortened_to(&text, SIZE, "--all prints everything");
        assert!(rows(&short) < SIZE.rows, "{short}");
        for line in ["a", "  a 2", "b", "  b 1", "c", "  c 3", "d", "  d 1", "  d 100"] {
            assert!(short.lines().any(|it| it == line), "no '{line}' in\n{short}");
        }
        let last = short.lines().last().unwrap();
        let omitted: usize = last.split(' ').next().unwrap().parse().unwrap();
        let marks = short.lines().filter(|line| line.starts_with("  ... ")).count();
        assert_eq!(short.lines().filter(|line| !line.is_empty()).count() - marks - 1 + omitted, 169, "{short}");
        assert_eq!(last, format!("{omitted} of 169 lines are omitted to fit the screen; --all prints everything"));
    }

    #[test]
    fn the_last_of_many_parts_remains() {
        let text: String = (0..30).map(|number| part(&format!("unexpected {number}"), 6)).collect();
        let short = shortened_to(&format!("{text}2176 cases, 1082 pass\n"), SIZE, "x");
        assert!(rows(&short) < SIZE.rows && rows(&short) > SIZE.rows - 12, "{short}");
        assert!(short.contains("unexpected 3\n") && !short.contains("unexpected 20\n"), "{short}");
        assert!(short.contains("\n2176 cases, 1082 pass\n"), "{short}");
        assert!(
            short.contains("\n... 25 more parts: unexpected 5; unexpected 6; unexpected 7; unexpected 8\n"),
            "{short}"
        );
    }

    #[test]
    fn long_lines_take_several_rows_and_colours_none() {
        let long = format!("\u{1b}[1m{}\u{1b}[0m", "x".repeat(160));
        assert_eq!(rows_of(&long, SIZE), 2);
        let text = format!("title\n{}", format!("  {}\n", "y".repeat(300)).repeat(20));
        let short = shortened_to(&text, SIZE, "x");
        assert!(rows(&short) < SIZE.rows, "{short}");
    }
}
