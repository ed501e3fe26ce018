//! Sizes that a model controls: allocations are counted or bounded, and nothing panics on them.

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::{is_word, line_of};

/// Tensor methods that convert all elements into a vector.
const WIDE_READS: [&str; 5] = ["floats", "integers", "complexes", "bools", "indices"];

/// Folder of code that allocates by a model's sizes.
const KERNELS: &str = "crates/reference/src/kernels/";

/// Crate that reads unchecked models, with arbitrary sizes and positions.
const CHECKER: &str = "crates/check/src/";

/// Methods that panic for an invalid position or length, or that allocate by a length. The lint against indexing does not cover
/// them.
const PANICKING: [&str; 13] = [
    ".swap(",
    ".swap_remove(",
    ".split_at(",
    ".split_at_mut(",
    ".split_off(",
    ".drain(",
    ".copy_from_slice(",
    ".rotate_left(",
    ".rotate_right(",
    ".chunks(",
    ".chunks_exact(",
    ".windows(",
    ".step_by(",
];

/// Methods and functions whose length may come from a model.
const LENGTHS: [&str; 3] = [".resize(", ".repeat(", "repeat_n("];

/// Requires that allocations of kernels and the checker are counted against the limits, or bounded.
pub(crate) fn check_bounds(file: &File, findings: &mut Vec<Finding>) {
    let is_kernel = file.path.starts_with(KERNELS);
    if !is_kernel && !file.path.starts_with(CHECKER) {
        return;
    }
    let code = file.production();
    let lists = code.match_indices("vec![").map(|(at, open)| (at, repeated(&code[at + open.len()..])));
    let capacities = code.match_indices("with_capacity(").map(|(at, open)| (at, argument(&code[at + open.len()..])));
    for (at, size) in lists.chain(capacities) {
        let line = line_of(code, at);
        if size.is_some_and(|size| !is_constant(size) && (is_kernel || !is_length(size)))
            && !file.masked.is_noted(line, "bounded: ")
        {
            let rule = format!("the size `{}` counts against no limit", size.unwrap_or_default());
            let fix = if is_kernel {
                "allocate with Call::allocate or Budget::scratch, or state in `// bounded: ...` what bounds it"
            } else {
                "use crate::bounded, or state in `// bounded: ...` what bounds it"
            };
            findings.push(Finding::new(&file.path, line, rule, fix));
        }
    }
    if is_kernel {
        check_wide_reads(file, findings);
    } else {
        check_model_sizes(file, findings);
    }
}

/// Requires that the checker does not panic on positions, loop up to numbers, or multiply sizes from a model without a
/// check.
fn check_model_sizes(file: &File, findings: &mut Vec<Finding>) {
    let code = file.production();
    let mut push = |at: usize, rule: String, fix: &str| {
        let line = line_of(code, at);
        if !file.masked.is_noted(line, "bounded: ") {
            let fix = format!("{fix}, or state in `// bounded: ...` why it cannot happen");
            findings.push(Finding::new(&file.path, line, rule, &fix));
        }
    };
    for method in PANICKING {
        for (at, _) in code.match_indices(method) {
            push(
                at,
                format!("`{method}...)` panics if it does not fit"),
                "use get, get_mut, first_chunk or split_at_checked",
            );
        }
    }
    for method in LENGTHS {
        for (at, open) in code.match_indices(method) {
            let mut arguments = argument(&code[at + open.len()..]).unwrap_or_default().split(',');
            let length = if method == "repeat_n(" { arguments.next_back() } else { arguments.next() };
            let length = length.unwrap_or_default().trim();
            if !is_constant(length) {
                push(at, format!("`{method}{length})` may be of any length"), "use crate::bounded");
            }
        }
    }
    for form in [".product()", ".product::<"] {
        for (at, _) in code.match_indices(form) {
            push(at, format!("`{form}` of sizes overflows"), "use crate::bounded::elements or checked_mul");
        }
    }
    for (at, range) in code.match_indices("0..") {
        let after = &code[at + range.len()..];
        let end: String = after.chars().take_while(|c| is_word(*c) || *c == '.' || *c == '(').collect();
        let is_counted = end.is_empty()
            || is_constant(&end)
            || end == "rank"
            || end.contains(".len(")
            || after.starts_with("bounded::");
        if !is_counted && !code[..at].ends_with(is_word) {
            push(at, format!("`0..{end}` counts to a number that a model may set"), "use crate::bounded::items");
        }
    }
}

/// Requires that kernels read whole tensors against a budget.
fn check_wide_reads(file: &File, findings: &mut Vec<Finding>) {
    let code = file.production();
    for read in WIDE_READS {
        for form in
            [format!(".{read}()"), format!("map_or_else(Vec::new, Tensor::{read})"), format!(".map(Tensor::{read})")]
        {
            for (at, _) in code.match_indices(&form) {
                let line = line_of(code, at);
                if !file.masked.is_noted(line, "bounded: ") {
                    let rule = format!("`{form}` reads a whole tensor wide, which counts against no limit");
                    let fix = format!(
                        "read with Budget::read_{read} or Tensor::stream, or state in `// bounded: ...` what bounds it"
                    );
                    findings.push(Finding::new(&file.path, line, rule, fix));
                }
            }
        }
    }
}

/// Returns the count in `value; count]`.
fn repeated(rest: &str) -> Option<&str> {
    let inside = argument(rest)?;
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return Some(inside[at + 1..].trim()),
            _ => {}
        }
    }
    None
}

/// Returns everything up to the closing bracket.
fn argument(rest: &str) -> Option<&str> {
    let mut depth = 1_usize;
    let end = rest.find(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(rest[..end].trim())
}

/// Returns true for the length of a list in the model, such as `names.len()`.
fn is_length(size: &str) -> bool {
    size.strip_suffix(".len()").is_some_and(|list| list.chars().all(|c| is_word(c) || c == '.'))
}

/// Returns true for a number or the name of a constant.
fn is_constant(size: &str) -> bool {
    size.starts_with(|c: char| c.is_ascii_digit()) && size.chars().all(is_word)
        || size.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    #[test]
    fn sizes_that_a_model_decides_are_bounded_in_the_checker() {
        let text = "\
order.swap(at, rank - 1);
vec![0.0; count];
for _ in 0..number {}
(0..rank).map(f);
(0..names.len()).map(f);
shape.iter().product();
// bounded: by the nodes.
for _ in 0..number {}
nodes.zip(0..);
input.resize(length, x);
input.resize(4, x);
a[0..3];
";
        assert_eq!(lines("crates/check/src/a.rs", text, check_bounds), [1, 2, 3, 6, 10]);
        assert_eq!(lines("src/a.rs", text, check_bounds), Vec::<usize>::new());
    }

    #[test]
    fn sizes_of_kernels_are_bounded() {
        let path = "crates/reference/src/kernels/a.rs";
        let text = "\
vec![0; 4];
vec![a, b];
vec![vec![0; RANK]; 2];
vec![0; n];
vec![0; n]; // bounded: by the rank
// bounded: by the rank
let mut v = Vec::with_capacity(rank);
Vec::with_capacity(v.len() + 1);
vec![
    f(&[0; 3]);
    n,
];
";
        assert_eq!(lines(path, text, check_bounds), [4, 8, 9]);
        let text = "\
x.floats();
call.budget.read_floats(x)?;
// bounded: one element.
x.indices();
call.floats(element, shape, values);
axes.map(Tensor::indices);
";
        assert_eq!(lines(path, text, check_bounds), [1, 6]);
        assert_eq!(lines("src/a.rs", text, check_bounds), Vec::<usize>::new());
    }
}
