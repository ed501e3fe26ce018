//! Scanner: characters, identifiers and literals of the text, and error positions.

/// Syntax error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {rule}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem, and the expected syntax.
    pub rule: String,
}

/// Maximum nesting depth of types and subgraphs.
pub(super) const DEEPEST: usize = 64;

/// Number or string.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal<'a> {
    Integer(i128),
    /// A number with a decimal point or an exponent, or a word for infinity or NaN; as written.
    Float(&'a str),
    String(String),
}

/// The text and the current position.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, depth: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Skips white space and comments, which extend from `#` to the end of the line.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            match trimmed.strip_prefix('#') {
                Some(comment) => self.at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return,
            }
        }
    }

    /// Returns the next character that is neither white space nor part of a comment.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    /// Consumes `expected` if it is next; returns true if it was.
    pub(super) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += if found { expected.len_utf8() } else { 0 };
        found
    }

    pub(super) fn expect(&mut self, expected: char) -> Result<(), TextError> {
        if self.take(expected) { Ok(()) } else { Err(self.unexpected(&format!("'{expected}'"))) }
    }

    /// Reads `=>`.
    pub(super) fn expect_arrow(&mut self) -> Result<(), TextError> {
        if self.peek() == Some('=') && self.rest().starts_with("=>") {
            self.at += 2;
            return Ok(());
        }
        Err(self.unexpected("'=>'"))
    }

    pub(super) fn expect_end(&mut self) -> Result<(), TextError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected("the end of the text")) }
    }

    /// Returns the next identifier without consuming it: letters, digits and `_`, not beginning with a digit.
    pub(super) fn peek_identifier(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let identifier = rest.get(..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()))?;
        Some(identifier).filter(|id| id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    }

    pub(super) fn take_identifier(&mut self) -> Option<&'a str> {
        let identifier = self.peek_identifier()?;
        self.at += identifier.len();
        Some(identifier)
    }

    pub(super) fn identifier(&mut self, what: &str) -> Result<&'a str, TextError> {
        self.take_identifier().ok_or_else(|| self.unexpected(what))
    }

    /// Reads an identifier or a quoted name, if one is next.
    pub(super) fn take_name(&mut self) -> Result<Option<String>, TextError> {
        if self.peek() == Some('"') {
            return self.string("a name").map(Some);
        }
        Ok(self.take_identifier().map(str::to_owned))
    }

    pub(super) fn name(&mut self, what: &str) -> Result<String, TextError> {
        self.take_name()?.ok_or_else(|| self.unexpected(what))
    }

    /// Reads a string in double quotes; `\` escapes the next character.
    pub(super) fn string(&mut self, what: &str) -> Result<String, TextError> {
        if self.peek() != Some('"') {
            return Err(self.unexpected(what));
        }
        let mut value = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += at + 1;
                    return Ok(value);
                }
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                other => value.push(other),
            }
        }
        Err(self.error("the string has no closing quote"))
    }

    pub(super) fn literal(&mut self) -> Result<Literal<'a>, TextError> {
        if self.peek() == Some('"') {
            return self.string("a string").map(Literal::String);
        }
        let rest = self.rest();
        let length = number_length(rest);
        let Some(number) = rest.get(..length).filter(|number| number.parse::<f64>().is_ok()) else {
            return Err(self.unexpected("a number or a string"));
        };
        if number.contains(|c: char| c != '-' && !c.is_ascii_digit()) {
            self.at += length;
            return Ok(Literal::Float(number));
        }
        let integer = number.parse().map_err(|_| self.error(&format!("{number} is too large an integer")))?;
        self.at += length;
        Ok(Literal::Integer(integer))
    }

    pub(super) fn integer(&mut self, what: &str) -> Result<i64, TextError> {
        let start = self.at;
        let message = match self.literal() {
            Ok(Literal::Integer(value)) => match i64::try_from(value) {
                Ok(value) => return Ok(value),
                Err(_) => format!("{value} does not fit 64 bits"),
            },
            _ => format!("expected {what}"),
        };
        self.at = start;
        self.skip();
        Err(self.error(&message))
    }

    /// True if a word for infinity or NaN is next.
    pub(super) fn next_is_float_word(&mut self) -> bool {
        self.peek_identifier().is_some_and(is_float_word)
    }

    /// Enters a nesting level; [`Scanner::leave`] ends it.
    pub(super) fn enter(&mut self) -> Result<(), TextError> {
        self.depth += 1;
        if self.depth <= DEEPEST { Ok(()) } else { Err(self.error(&format!("nests deeper than {DEEPEST}"))) }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The current position, for [`Scanner::error_at`].
    pub(super) fn place(&mut self) -> usize {
        self.skip();
        self.at
    }

    pub(super) fn error(&self, rule: &str) -> TextError {
        self.error_at(self.at, rule)
    }

    pub(super) fn error_at(&self, place: usize, rule: &str) -> TextError {
        let before = self.text.get(..place).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or(before);
        TextError { line: before.matches('\n').count() + 1, column: line.chars().count() + 1, rule: rule.to_owned() }
    }

    /// Error that names what was expected and what was found.
    pub(super) fn unexpected(&mut self, expected: &str) -> TextError {
        let found = match (self.peek_identifier(), self.peek()) {
            (Some(identifier), _) => format!("'{identifier}'"),
            (None, Some(character)) => format!("'{character}'"),
            (None, None) => "the end of the text".to_owned(),
        };
        self.error(&format!("expected {expected}, found {found}"))
    }
}

pub(super) fn is_float_word(word: &str) -> bool {
    ["inf", "infinity", "nan"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The number of bytes at the start of `text` that look like a number.
fn number_length(text: &str) -> usize {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let word = unsigned.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unsigned.len());
    if unsigned.get(..word).is_some_and(is_float_word) {
        return sign + word;
    }
    let digits = |from: usize| {
        let rest = unsigned.get(from..).unwrap_or("");
        from + rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
    };
    let starts = |at: usize, what: &[char]| unsigned.get(at..).is_some_and(|rest| rest.starts_with(what));
    let mut end = digits(0);
    if end == 0 {
        return 0;
    }
    if starts(end, &['.']) {
        end = digits(end + 1);
    }
    if starts(end, &['e', 'E']) {
        let signed = usize::from(starts(end + 1, &['+', '-']));
        end = digits(end + 1 + signed);
    }
    sign + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_integers_floats_or_strings() {
        let rows = [
            ("12)", Literal::Integer(12)),
            ("-7", Literal::Integer(-7)),
            ("18446744073709551615", Literal::Integer(u64::MAX.into())),
            ("1.", Literal::Float("1.")),
            ("-1.5e-3,", Literal::Float("-1.5e-3")),
            ("2E8", Literal::Float("2E8")),
            ("-inf", Literal::Float("-inf")),
            ("NaN}", Literal::Float("NaN")),
            ("# a comment\n \"a\\\"b\\n\"", Literal::String("a\"bn".to_owned())),
        ];
        for (text, expected) in rows {
            assert_eq!(Scanner::new(text).literal(), Ok(expected), "{text}");
        }
        for text in ["+1", ".5", "- 1", "1e", "\"open", "\"open\\", "x", "", "infinite"] {
            assert!(Scanner::new(text).literal().is_err(), "{text} was taken");
        }
    }

    #[test]
    fn a_mistake_has_a_line_and_a_column() {
        let mut scanner = Scanner::new("é # one\n  x y");
        assert_eq!(scanner.expect('é'), Ok(()));
        assert_eq!(scanner.identifier("a name"), Ok("x"));
        let error = scanner.expect('=').unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 5: expected '=', found 'y'");
    }
}
