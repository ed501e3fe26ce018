//! Translation of RE2's syntax to that of the regex crate.

/// Maximum count in braces.
const MAX_REPEATS: u32 = 1000;

/// Maximum length in bytes of two counts in braces. RE2 reads numbers without leading zeros, of at most nine digits.
const LONGEST_COUNTS: usize = 20;

/// Syntax that RE2 does not have.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatternError {
    #[error("the repetition before '{0}' is repeated")]
    RepeatedRepetition(String),
    #[error("'{{{0}}}' repeats more than {MAX_REPEATS} times")]
    TooManyRepeats(String),
    #[error("a group cannot begin with '{0}'; the flags are i, m, s and U")]
    Group(String),
    #[error(r"there is no escape '\{0}'")]
    Escape(char),
}

/// Returns a pattern with the same meaning in the regex crate. The syntaxes differ: `\d`, `\w`, `\s` and `\b` are
/// ASCII, `\Q...\E` quotes, and `\101` is octal. Escaped punctuation is literal, and so is a brace that does not begin
/// a count. Inside a class, `[`, `&`, `-` and `~` are literal. Syntax that RE2 does not have is refused with the
/// reason.
pub(super) fn from_re2(pattern: &str) -> Result<String, PatternError> {
    let (mut out, mut rest, mut class, mut repeated) = (String::new(), pattern, Class::Outside, false);
    // After the last end of a name, none is searched for, so that a pattern is read in linear time.
    let behind_names = pattern.rfind(":]").map_or(usize::MAX, |end| pattern.len() - end);
    while let Some(first) = rest.chars().next() {
        let repetition = if class == Class::Outside { repetition(rest)? } else { None };
        if repeated && repetition.is_some() {
            return Err(PatternError::RepeatedRepetition(rest.to_owned()));
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
            // A bracket at the start of a class is literal.
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

/// Returns the length in bytes of a repetition at the start of the text, including the `?` that makes it lazy.
fn repetition(rest: &str) -> Result<Option<usize>, PatternError> {
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
            let small = |text: &str| text.is_empty() || text.parse::<u32>().is_ok_and(|count| count <= MAX_REPEATS);
            if !small(min) || !small(max) {
                return Err(PatternError::TooManyRepeats(counts.to_owned()));
            }
            counts.len() + 2
        }
        _ => return Ok(None),
    };
    let lazy = rest.get(length..).is_some_and(|rest| rest.starts_with('?'));
    Ok(Some(length + usize::from(lazy)))
}

/// Returns the start `(?` of a group that has a name, flags, or neither.
fn group(rest: &str) -> Result<&str, PatternError> {
    let (open, inner) = rest.split_at(2);
    let has_flags = || inner.chars().take_while(|&c| !matches!(c, ':' | ')')).all(|flag| "imsU-".contains(flag));
    if inner.starts_with("P<") || inner.starts_with('<') || has_flags() {
        Ok(open)
    } else {
        Err(PatternError::Group(rest.to_owned()))
    }
}

/// Position relative to a bracket class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    /// Position before the first member.
    Start,
    Inside,
}

impl Class {
    /// Returns the state after a piece of `length` bytes that begins with `first`.
    fn after(self, first: char, rest: &str, length: usize) -> Class {
        match (self, first) {
            (Class::Outside, '[') => Class::Start,
            (Class::Start, '^') if length == 1 && !rest.starts_with("^^") => Class::Start,
            (Class::Outside, _) | (Class::Inside, ']') => Class::Outside,
            _ => Class::Inside,
        }
    }
}

/// Returns `[:name:]` at the start of the text.
fn posix_class(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix("[:")?;
    let end = name.find(":]")?;
    rest.get(..end + 4)
}

/// Translates an escape at the start of the text, and returns its length in bytes.
fn escape(rest: &str, in_class: bool) -> Result<(String, usize), PatternError> {
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
        'u' | 'U' | '_' => return Err(PatternError::Escape(letter)),
        other if other.is_ascii_punctuation() => ::regex_syntax::escape(&other.to_string()),
        other => format!("\\{other}"),
    };
    Ok((text, 1 + letter.len_utf8()))
}

/// Maximum length in bytes of the name of a category or script. None is as long.
const LONGEST_NAME: usize = 64;

/// Returns the text in the braces after an escape.
fn braced(rest: &str) -> Option<&str> {
    let inner = rest.get(2..)?.strip_prefix('{')?;
    inner.get(..inner.bytes().take(LONGEST_NAME).position(|byte| byte == b'}')?)
}

/// Translates a character by number, or the characters of a category or script. `^` before the name negates it.
fn braces(letter: char, name: &str) -> String {
    match (letter, name.strip_prefix('^')) {
        ('p', Some(name)) => format!(r"\P{{{name}}}"),
        ('P', Some(name)) => format!(r"\p{{{name}}}"),
        _ => format!(r"\{letter}{{{name}}}"),
    }
}

/// Translates `\0` with up to two more digits, or three digits. `\1` alone is a back reference, which neither syntax
/// has.
fn octal(rest: &str, letter: char) -> (String, usize) {
    let digits = rest.bytes().skip(1).take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
    let value = rest.get(1..=digits).and_then(|digits| u32::from_str_radix(digits, 8).ok());
    match value {
        Some(value) if letter == '0' || digits == 3 => (format!(r"\x{{{value:x}}}"), digits + 1),
        _ => (format!("\\{letter}"), 2),
    }
}
