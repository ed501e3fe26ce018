//! Program output in the documents.

use std::fs;
use std::path::Path;

use crate::program::call;

/// Every command with output on the book's first page gives that output.
#[test]
fn the_first_page_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/why.md")).unwrap();
    let mut shown = 0;
    for block in page.split("\n    $ onnx-conformance ").skip(1) {
        let (command, rest) = block.split_once('\n').unwrap();
        let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
        let printed: Vec<&str> = lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
        let arguments: Vec<&str> = command.split(' ').map(|argument| argument.trim_matches('\'')).collect();
        let ran = call(&arguments).expect(0, "");
        assert_eq!(printed.join("\n").trim_end(), ran.out.trim_end(), "docs/why.md: {command}");
        shown += 1;
    }
    assert_eq!(shown, 1);
}
