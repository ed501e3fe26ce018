//! Small integer expressions over named sizes: `2 * H + 1`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest length of an expression in bytes.
const LONGEST: usize = 256;

/// Error of evaluating an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpressionError {
    /// The expression has more bytes than allowed.
    #[error("an expression has {0} bytes; write at most {LONGEST}, with names under `let`")]
    TooLong(usize),
    /// The text is not an expression.
    #[error("expression '{text}' cannot be parsed at character {at}; expected {expected}")]
    Syntax {
        /// The expression.
        text: String,
        /// The position of the error in bytes, from 1.
        at: usize,
        /// The valid continuations.
        expected: &'static str,
    },
    /// A sum, a difference or a negated value is beyond 64 bits.
    #[error("expression '{0}' overflows")]
    Overflow(String),
    /// A product or a quotient is beyond 64 bits, or a divisor is zero.
    #[error("expression '{0}' overflows or divides by zero")]
    Product(String),
    /// A name has no value.
    #[error("'{name}' in '{text}' is not defined by let; it defines: {}", .known.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// The expression.
        text: String,
        /// The names that have values.
        known: Vec<String>,
    },
}

/// A number, or an expression over the names that `let:` defines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "not a size; write a number, or an expression such as 2 * H")]
pub enum Size {
    /// A number.
    Number(i64),
    /// An expression of +, -, *, / (rounds towards zero), parentheses and names.
    Expression(String),
}

impl Size {
    /// Evaluates the size with the values of the names.
    pub fn value(&self, names: &BTreeMap<String, i64>) -> Result<i64, ExpressionError> {
        match self {
            Size::Number(number) => Ok(*number),
            // The length bounds how deeply parentheses and signs nest.
            Size::Expression(text) if text.len() > LONGEST => Err(ExpressionError::TooLong(text.len())),
            Size::Expression(text) => {
                let mut parser = Parser { rest: text, text, names };
                let value = parser.sum()?;
                parser.skip();
                if parser.rest.is_empty() { Ok(value) } else { Err(parser.error("an operator or the end")) }
            }
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Number(number) => write!(f, "{number}"),
            Size::Expression(text) => f.write_str(text),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    text: &'a str,
    names: &'a BTreeMap<String, i64>,
}

impl Parser<'_> {
    fn error(&self, expected: &'static str) -> ExpressionError {
        let at = self.text.len() - self.rest.len() + 1;
        ExpressionError::Syntax { text: self.text.to_owned(), at, expected }
    }

    fn overflow(&self) -> ExpressionError {
        ExpressionError::Overflow(self.text.to_owned())
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, symbol: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Result<i64, ExpressionError> {
        let mut value = self.product()?;
        loop {
            let next = if self.take('+') {
                value.checked_add(self.product()?)
            } else if self.take('-') {
                value.checked_sub(self.product()?)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| self.overflow())?;
        }
    }

    fn product(&mut self) -> Result<i64, ExpressionError> {
        let mut value = self.atom()?;
        loop {
            let next = if self.take('*') {
                value.checked_mul(self.atom()?)
            } else if self.take('/') {
                value.checked_div(self.atom()?)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| ExpressionError::Product(self.text.to_owned()))?;
        }
    }

    fn atom(&mut self) -> Result<i64, ExpressionError> {
        if self.take('-') {
            return self.atom()?.checked_neg().ok_or_else(|| self.overflow());
        }
        if self.take('(') {
            let value = self.sum()?;
            return if self.take(')') { Ok(value) } else { Err(self.error("a closing parenthesis")) };
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let value = match (word.parse::<i64>(), self.names.get(word)) {
            (Ok(number), _) => number,
            (Err(_), Some(value)) => *value,
            (Err(_), None) if word.is_empty() => return Err(self.error("a number, a name or a parenthesis")),
            (Err(_), None) => {
                let (name, text) = (word.to_owned(), self.text.to_owned());
                return Err(ExpressionError::UnknownName { name, text, known: self.names.keys().cloned().collect() });
            }
        };
        self.rest = rest;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, ExpressionError> {
        Size::Expression(text.to_owned()).value(&BTreeMap::from([("H".to_owned(), 3), ("D".to_owned(), 2)]))
    }

    #[test]
    fn products_bind_closer_than_sums() {
        for (text, expected) in [("1 + 2 * H", 7), ("(1+2)*H", 9), ("4*H*D", 24), ("-H - -D", -1), ("7/D", 3), ("H", 3)]
        {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_expression_without_end_is_refused() {
        assert!(value(&"(".repeat(100_000)).unwrap_err().to_string().contains("at most 256"));
        assert_eq!(value(&format!("{}H{}", "(".repeat(127), ")".repeat(127))), Ok(3));
    }

    #[test]
    fn an_invalid_expression_is_refused() {
        for text in ["", "1 +", "X", "(1", "1 2", "1/0", "9223372036854775807 + 1"] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
