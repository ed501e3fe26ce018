//! Tokens of a source text: comments, string literals, words and signs, each with its line.

/// Language of a text, which decides the form of comments and literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// C++, and JSON with comments: `//`, `/* */`, and literals in double quotes.
    C,
    /// Python: `#`, and literals in single, double or triple quotes.
    Python,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A comment with its mark.
    Comment,
    /// A string literal with its quotes.
    Literal,
    /// Spaces and line ends.
    Space,
    /// Letters, digits and underscores.
    Word,
    /// One other character.
    Sign,
}

/// Token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// The characters of the token. All tokens together are the text.
    pub(super) text: &'a str,
    /// Line of its first character, from 1.
    pub(super) line: usize,
}

impl<'a> Token<'a> {
    /// Returns the text of a literal in single or double quotes, with its escapes as written; `None` for other tokens and for a
    /// literal without its end.
    pub(super) fn literal(&self) -> Option<&'a str> {
        let quote = self.text.chars().next()?;
        let inner = self.text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner).filter(|_| self.kind == Kind::Literal)
    }

    /// Returns true if the token is this word or sign.
    pub(super) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Sign) && self.text == text
    }
}

/// Splits a text into tokens.
pub(super) fn tokens(text: &str, language: Language) -> Vec<Token<'_>> {
    let (mut found, mut rest, mut line) = (Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = first_token(rest, first, language);
        let (token, after) = rest.split_at(length);
        found.push(Token { kind, text: token, line });
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// Splits a text into tokens, without comments and spaces.
pub(super) fn code_tokens(text: &str, language: Language) -> Vec<Token<'_>> {
    let mut found = tokens(text, language);
    found.retain(|token| !matches!(token.kind, Kind::Comment | Kind::Space));
    found
}

/// Returns the kind and the length of the token at the start of a text.
fn first_token(rest: &str, first: char, language: Language) -> (Kind, usize) {
    let line_end = || rest.find('\n').unwrap_or(rest.len());
    let run = |is_in: fn(char) -> bool| rest.find(|c: char| !is_in(c)).unwrap_or(rest.len());
    let is_python = language == Language::Python;
    if first.is_whitespace() {
        (Kind::Space, run(char::is_whitespace))
    } else if is_word(first) {
        (Kind::Word, run(is_word))
    } else if (is_python && first == '#') || (!is_python && rest.starts_with("//")) {
        (Kind::Comment, line_end())
    } else if !is_python && rest.starts_with("/*") {
        (Kind::Comment, end_after(rest, 2, "*/"))
    } else if first == '"' || (is_python && first == '\'') {
        let triple = first.to_string().repeat(3);
        let is_triple = is_python && rest.starts_with(&triple);
        (Kind::Literal, if is_triple { end_after(rest, 3, &triple) } else { literal_length(rest, first) })
    } else {
        (Kind::Sign, first.len_utf8())
    }
}

/// Returns the position after the first `mark` at or after `start`, or the end of the text.
fn end_after(text: &str, start: usize, mark: &str) -> usize {
    text.get(start..).and_then(|rest| rest.find(mark)).map_or(text.len(), |at| start + at + mark.len())
}

/// Returns the length of a literal with its quotes. Without a closing quote it ends with its line.
fn literal_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, language: Language, expected: &[(&str, usize)]) {
        let code: Vec<(&str, usize)> =
            code_tokens(text, language).iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(code, expected, "{text}");
        let all: String = tokens(text, language).iter().map(|token| token.text).collect();
        assert_eq!(all, text);
    }

    #[test]
    fn comments_are_no_code_and_marks_in_literals_are_no_comments() {
        check("\"a//b\", // c \"d\"\n/* e\n*/ f_1", Language::C, &[("\"a//b\"", 1), (",", 1), ("f_1", 3)]);
        check("r'a#b' # c\n\"d'\"", Language::Python, &[("r", 1), ("'a#b'", 1), ("\"d'\"", 2)]);
        check("\"\"\"a\n\"b\"\"\" c", Language::Python, &[("\"\"\"a\n\"b\"\"\"", 1), ("c", 2)]);
        check("é, 'x", Language::C, &[("é", 1), (",", 1), ("'", 1), ("x", 1)]);
        check("/*/ a", Language::C, &[]);
    }

    #[test]
    fn a_literal_has_a_text_if_it_is_closed() {
        let literal = |text: &'static str| tokens(text, Language::Python)[0].literal();
        assert_eq!(literal("'a'"), Some("a"));
        assert_eq!(literal(r#""a\"b""#), Some(r#"a\"b"#));
        assert_eq!(literal("''"), Some(""));
        for text in ["'a\n'", "'", "a", "\"a"] {
            assert_eq!(literal(text), None, "{text}");
        }
    }
}
