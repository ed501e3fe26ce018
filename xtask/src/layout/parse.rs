//! YAML documents whose scalars keep their spelling: `3.4e38` stays `3.4e38`.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Text or a number.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// Keys and values, in order.
    Map(Vec<(Scalar, Node)>),
}

/// A scalar as it is spelled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// True if it is a text in quotes or in a block, and not a plain scalar, which may be a number.
    pub(crate) is_quoted: bool,
}

/// A file that cannot be laid out.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub(crate) struct LayoutError {
    line: usize,
    column: usize,
    reason: String,
}

impl LayoutError {
    fn new(span: Span, reason: impl Into<String>) -> LayoutError {
        LayoutError { line: span.start.line(), column: span.start.col() + 1, reason: reason.into() }
    }
}

/// Parses a file with one document, no comments, no anchors and no tags.
pub(crate) fn parse(text: &str) -> Result<Node, LayoutError> {
    let mut reader = Reader { parser: Parser::new_from_str(text), scalars: Vec::new() };
    let mut document = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            Event::StreamEnd => break,
            _ if document.is_some() => return Err(LayoutError::new(span, "a file has one document")),
            event => document = Some(reader.node(event, span, 0)?),
        }
    }
    no_comment(text, &reader.scalars)?;
    document.ok_or_else(|| LayoutError { line: 1, column: 1, reason: "the file is empty".to_owned() })
}

/// Maximum depth of a document.
const MAX_DEPTH: usize = 64;

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// Places of scalars, in characters.
    scalars: Vec<Range<usize>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), LayoutError> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, Span::default())),
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let marker = error.marker();
                Err(LayoutError { line: marker.line(), column: marker.col() + 1, reason: error.info().to_owned() })
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, LayoutError> {
        if depth > MAX_DEPTH {
            return Err(LayoutError::new(span, format!("nested more than {MAX_DEPTH} times")));
        }
        match event {
            Event::Scalar(text, style, 0, None) => {
                self.scalars.push(span.start.index()..span.end.index());
                Ok(Node::Scalar(Scalar { text: text.into_owned(), is_quoted: style != ScalarStyle::Plain }))
            }
            Event::SequenceStart(0, None) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::SequenceEnd {
                        return Ok(Node::List(items));
                    }
                    items.push(self.node(event, span, depth + 1)?);
                }
            }
            Event::MappingStart(0, None) => {
                let mut entries = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::MappingEnd {
                        return Ok(Node::Map(entries));
                    }
                    let Node::Scalar(key) = self.node(event, span, depth + 1)? else {
                        return Err(LayoutError::new(span, "a key is a scalar"));
                    };
                    let (event, span) = self.next()?;
                    entries.push((key, self.node(event, span, depth + 1)?));
                }
            }
            _ => Err(LayoutError::new(span, "anchors, aliases and tags are not allowed; write the value again")),
        }
    }
}

/// Fails at the first comment, which a program that writes the file would lose.
fn no_comment(text: &str, scalars: &[Range<usize>]) -> Result<(), LayoutError> {
    let mut inside = scalars.iter().peekable();
    let (mut line, mut column, mut before) = (1, 1, '\n');
    for (index, character) in text.chars().enumerate() {
        while inside.next_if(|range| range.end <= index).is_some() {}
        let is_inside = inside.peek().is_some_and(|range| range.contains(&index));
        if character == '#' && !is_inside && before.is_whitespace() {
            return Err(LayoutError { line, column, reason: "a comment; put it in `note:`".to_owned() });
        }
        (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
        before = character;
    }
    Ok(())
}
