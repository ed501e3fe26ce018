//! RE2's syntax in that of the regex crate.

/// The most that a count in braces may be.
const MOST_REPEATS: u32 = 1000;

/// The most bytes that two counts in braces may have: RE2 reads numbers without leading zeros, of at most nine digits.
const LONGEST_COUNTS: usize = 20;

/// The pattern with the same meaning in the regex crate, where the two differ: `\d`, `\w`, `\s` and `\b` are of ASCII,
/// `\Q...\E` quotes, `\101` is octal, punctuation behind a backslash and a brace that begins no count stand for
/// themselves, and inside a class `[`, `&`, `-` and `~` have no meaning of their own. What the crate has beyond RE2 is
/// refused, with the reason.
pub(super) fn from_re2(pattern: &str) -> Result<String, String> {
    let (mut out, mut rest, mut class, mut repeated) = (String::new(), pattern, Class::Outside, false);
    // Behind the last end of a name, none is looked for, so that a pattern is read in linear time.
    let behind_names = pattern.rfind(":]").map_or(usize::MAX, |end| pattern.len() - end);
    while let Some(first) = rest.chars().next() {
        let repetition = if class == Class::Outside { repetition(rest)? } else { None };
        if repeated && repetition.is_some() {
            return Err(format!("the repetition before '{rest}' is repeated"));
        }
        let (text, length) = match (repetition, first, class) {
            (Some(length), ..) => (rest.get(..length).unwrap_or_default().to_owned(), length),
            (_, '\\', _) => escape(rest, class != Class::Outside)?,
            (_, '(', Class::Outside) if rest.starts_with("(?") => (group(rest)?.to_owned(), 2),
            (_, '{', Class::Outside) => (r"\{".to_owned(), 1),
            (_, '[', Class::Outside) => ("[".to_owned(), 1),
            (_, '[', _) => {
                let name = if rest.len() > behind_names { posix_class(rest) } else { None };
                name.map_or_else(|| (r"\[".to_owned(), 1), |name| (name.to_owned(), name.len()))
            }
            // A bracket that closes nothing yet stands for itself.
            (_, ']', Class::Start) => (r"\]".to_owned(), 1),
            (_, '-', Class::Start) if rest.starts_with("--") => (r"\--".to_owned(), 2),
            (_, '-', Class::Inside) if rest.starts_with("--") => (r"-\-".to_owned(), 2),
            (_, '&' | '~', Class::Start | Class::Inside) => (format!(r"\{first}"), 1),
            _ => (first.to_string(), first.len_utf8()),
        };
        repeated = repetition.is_some();
        class = class.after(first, rest, length);
        out.push_str(&text);
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(out)
}

/// How many bytes a repetition at the beginning of the text takes, with the `?` that makes it lazy.
fn repetition(rest: &str) -> Result<Option<usize>, String> {
    let length = match rest.chars().next() {
        Some('*' | '+' | '?') => 1,
        Some('{') => {
            let inner = rest.as_bytes().get(1..).unwrap_or_default();
            let Some(end) = inner.iter().take(LONGEST_COUNTS).position(|&byte| byte == b'}') else { return Ok(None) };
            let counts = rest.get(1..=end).unwrap_or_default();
            let (min, max) = counts.split_once(',').unwrap_or((counts, ""));
            let number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
            if min.is_empty() || !number(min) || !number(max) {
                return Ok(None);
            }
            let small = |text: &str| text.is_empty() || text.parse::<u32>().is_ok_and(|count| count <= MOST_REPEATS);
            if !small(min) || !small(max) {
                return Err(format!("'{{{counts}}}' repeats more than {MOST_REPEATS} times"));
            }
            counts.len() + 2
        }
        _ => return Ok(None),
    };
    let lazy = rest.get(length..).is_some_and(|rest| rest.starts_with('?'));
    Ok(Some(length + usize::from(lazy)))
}

/// The beginning `(?` of a group with a name, with flags or without either.
fn group(rest: &str) -> Result<&str, String> {
    let (open, inner) = rest.split_at(2);
    let has_flags = || inner.chars().take_while(|&c| !matches!(c, ':' | ')')).all(|flag| "imsU-".contains(flag));
    if inner.starts_with("P<") || inner.starts_with('<') || has_flags() {
        Ok(open)
    } else {
        Err(format!("no group begins as '{rest}' does; its flags are i, m, s and U"))
    }
}

/// Where in a bracket class the text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    /// Before its first member.
    Start,
    Inside,
}

impl Class {
    /// The state after a piece of `length` bytes that begins with `first`.
    fn after(self, first: char, rest: &str, length: usize) -> Class {
        match (self, first) {
            (Class::Outside, '[') => Class::Start,
            (Class::Start, '^') if length == 1 && !rest.starts_with("^^") => Class::Start,
            (Class::Outside, _) | (Class::Inside, ']') => Class::Outside,
            _ => Class::Inside,
        }
    }
}

/// `[:name:]` at the beginning of the text.
fn posix_class(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix("[:")?;
    let end = name.find(":]")?;
    rest.get(..end + 4)
}

/// An escape at the beginning of the text, and how many bytes it takes.
fn escape(rest: &str, in_class: bool) -> Result<(String, usize), String> {
    let class = |negated: &str, members: &str| format!("[{negated}{members}]");
    let Some(letter) = rest.chars().nth(1) else { return Ok(("\\".to_owned(), 1)) };
    let text = match letter {
        'd' => class("", "0-9"),
        'D' => class("^", "0-9"),
        'w' => class("", "0-9A-Za-z_"),
        'W' => class("^", "0-9A-Za-z_"),
        's' => class("", r"\t\n\f\r\x20"),
        'S' => class("^", r"\t\n\f\r\x20"),
        'b' if !in_class => r"(?-u:\b)".to_owned(),
        'B' if !in_class => r"(?-u:\B)".to_owned(),
        'Q' => {
            let quoted = rest.get(2..).unwrap_or_default();
            let end = quoted.find("\\E");
            let length = 2 + end.map_or(quoted.len(), |end| end + 2);
            return Ok((::regex_syntax::escape(quoted.get(..end.unwrap_or(quoted.len())).unwrap_or_default()), length));
        }
        '0'..='7' => return Ok(octal(rest, letter)),
        'x' | 'p' | 'P' => match braced(rest) {
            Some(name) => return Ok((braces(letter, name), name.len() + 4)),
            None => format!("\\{letter}"),
        },
        'u' | 'U' | '_' => return Err(format!(r"there is no escape '\{letter}'")),
        other if other.is_ascii_punctuation() => ::regex_syntax::escape(&other.to_string()),
        other => format!("\\{other}"),
    };
    Ok((text, 1 + letter.len_utf8()))
}

/// The most bytes of the name of a category or script, longer than any.
const LONGEST_NAME: usize = 64;

/// What stands in the braces behind an escape.
fn braced(rest: &str) -> Option<&str> {
    let inner = rest.get(2..)?.strip_prefix('{')?;
    inner.get(..inner.bytes().take(LONGEST_NAME).position(|byte| byte == b'}')?)
}

/// A character by its number, or those of a category or script; `^` before the name means all others.
fn braces(letter: char, name: &str) -> String {
    match (letter, name.strip_prefix('^')) {
        ('p', Some(name)) => format!(r"\P{{{name}}}"),
        ('P', Some(name)) => format!(r"\p{{{name}}}"),
        _ => format!(r"\{letter}{{{name}}}"),
    }
}

/// `\0` with up to two more digits, or three digits; `\1` alone is a reference, which neither syntax has.
fn octal(rest: &str, letter: char) -> (String, usize) {
    let digits = rest.bytes().skip(1).take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
    let value = rest.get(1..=digits).and_then(|digits| u32::from_str_radix(digits, 8).ok());
    match value {
        Some(value) if letter == '0' || digits == 3 => (format!(r"\x{{{value:x}}}"), digits + 1),
        _ => (format!("\\{letter}"), 2),
    }
}
