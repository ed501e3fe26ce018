//! JSON with comments and commas at the end of lists, as configuration files have it.

use serde_json::{Map, Value};

use crate::cli::denylist::list::ListFault;
use crate::cli::denylist::tokens::{Kind, Language, Token, tokens};

/// An object that was read from a text.
#[derive(Debug)]
pub(super) struct Configuration<'a> {
    text: &'a str,
    /// The members of the object.
    pub(super) members: Map<String, Value>,
}

impl<'a> Configuration<'a> {
    /// Reads an object.
    pub(super) fn read(text: &'a str) -> Result<Configuration<'a>, ListFault> {
        let members = serde_json::from_str(&plain_json(text)).map_err(|error| {
            let line = Some(error.line()).filter(|line| *line > 0);
            ListFault { line, rule: format!("is not an object in JSON: {error}") }
        })?;
        Ok(Configuration { text, members })
    }

    /// Returns the items of a member that is a list; none if there is no such member.
    pub(super) fn items(&self, key: &str) -> Result<&[Value], ListFault> {
        match self.members.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => {
                let rule = format!("expected a list of tests for {key}, but found {other}");
                Err(ListFault::of_line(self.line_of(&Value::from(key)), rule))
            }
        }
    }

    /// Returns the line of the first place where a value is written.
    pub(super) fn line_of(&self, value: &Value) -> usize {
        let written = value.to_string();
        let at = self.text.find(&written).unwrap_or_default();
        self.text.get(..at).unwrap_or_default().matches('\n').count() + 1
    }
}

/// Replaces comments, and commas before a closing bracket, by spaces, so that lines stay the same.
fn plain_json(text: &str) -> String {
    let tokens = tokens(text, Language::C);
    let is_code = |token: &&Token<'_>| !matches!(token.kind, Kind::Comment | Kind::Space);
    let mut plain = String::with_capacity(text.len());
    for (at, token) in tokens.iter().enumerate() {
        let next = || tokens.iter().skip(at + 1).find(is_code);
        let is_last_comma = token.is(",") && next().is_some_and(|next| next.is("]") || next.is("}"));
        if token.kind == Kind::Comment || is_last_comma {
            plain.extend(token.text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            plain.push_str(token.text);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_read_over() {
        let text = "{\n  // first, \"x\"\n  \"a\": [\"b//c\", /* 1,\n 2 */ \"d\", // last\n  ],\n}\n";
        let read = Configuration::read(text).unwrap();
        assert_eq!(read.items("a").unwrap(), [Value::from("b//c"), Value::from("d")]);
        assert_eq!(read.items("b").unwrap(), &[] as &[Value]);
        assert_eq!((read.line_of(&Value::from("d")), read.line_of(&Value::from("gone"))), (4, 1));
    }

    #[test]
    fn a_fault_has_its_line() {
        for (text, line) in [("", None), ("{\n  \"a\": [1\n}\n", Some(3)), ("[]", None), ("int main()", Some(1))] {
            let fault = Configuration::read(text).unwrap_err();
            assert!(fault.rule.starts_with("is not an object in JSON: "), "{text}: {fault}");
            assert!(line.is_none() || fault.line == line, "{text}: {fault:?}");
        }
        let read = Configuration::read("{\"b\": 1,\n\"a\": {}}").unwrap();
        let fault = read.items("a").unwrap_err();
        assert_eq!((fault.line, fault.rule.as_str()), (Some(2), "expected a list of tests for a, but found {}"));
    }
}
