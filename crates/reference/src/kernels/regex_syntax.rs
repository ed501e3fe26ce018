//! RE2's syntax in that of the regex crate.

/// The pattern with the same meaning in the regex crate, where the two differ: `\d`, `\w`, `\s` and `\b` are of ASCII,
/// `\Q...\E` quotes, `\101` is octal, and inside a class `[`, `&`, `-` and `~` have no meaning of their own.
pub(super) fn from_re2(pattern: &str) -> String {
    let (mut out, mut rest, mut class) = (String::new(), pattern, Class::Outside);
    while let Some(first) = rest.chars().next() {
        let (text, length) = match (first, class) {
            ('\\', _) => escape(rest, class != Class::Outside),
            ('[', Class::Outside) => ("[".to_owned(), 1),
            ('[', _) => posix_class(rest).map_or_else(|| (r"\[".to_owned(), 1), |name| (name.to_owned(), name.len())),
            // A bracket that closes nothing yet stands for itself.
            (']', Class::Start) => (r"\]".to_owned(), 1),
            ('-', Class::Start) if rest.starts_with("--") => (r"\--".to_owned(), 2),
            ('-', Class::Inside) if rest.starts_with("--") => (r"-\-".to_owned(), 2),
            ('&' | '~', Class::Start | Class::Inside) => (format!(r"\{first}"), 1),
            _ => (first.to_string(), first.len_utf8()),
        };
        class = class.after(first, rest, length);
        out.push_str(&text);
        rest = rest.get(length..).unwrap_or_default();
    }
    out
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
fn escape(rest: &str, in_class: bool) -> (String, usize) {
    let class = |negated: &str, members: &str| format!("[{negated}{members}]");
    let Some(letter) = rest.chars().nth(1) else { return ("\\".to_owned(), 1) };
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
            return (regex::escape(quoted.get(..end.unwrap_or(quoted.len())).unwrap_or_default()), length);
        }
        '0'..='7' => return octal(rest, letter),
        other => format!("\\{other}"),
    };
    (text, 1 + letter.len_utf8())
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
