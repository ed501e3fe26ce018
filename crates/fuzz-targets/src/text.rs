//! Mutation of text: inserts tokens of the formats, moves, repeats or removes lines and pieces, changes bytes.

use crate::Random;
use crate::pick::place;

/// Tokens of the formats.
const TOKENS: [&str; 44] = [
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ",",
    ":",
    "- ",
    "#",
    "\"",
    "'",
    "\n",
    "\\",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    "? ",
    "null",
    "true",
    "~",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "nan",
    ".inf",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "seq(",
    "float[",
    "tensor(",
    "@",
    "=>",
    "<<: ",
    "**",
    "%",
    "\t",
];

/// Maximum length of a mutated text.
const MAX_BYTES: usize = 1 << 16;

/// Mutates a text with a few changes.
pub(crate) fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        change(random, &mut bytes);
        bytes.truncate(MAX_BYTES);
    }
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = place(random, bytes.len() + 1);
    let length = place(random, (bytes.len() - at).min(64) + 1);
    match random.below(9) {
        0 => {
            let token = TOKENS.get(place(random, TOKENS.len())).copied().unwrap_or_default();
            bytes.splice(at..at, token.bytes());
        }
        // The same token repeated many times nests deeply.
        1 => {
            let token = TOKENS.get(place(random, TOKENS.len())).copied().unwrap_or_default();
            let count = 1 << random.below(14);
            bytes.splice(at..at, token.repeat(count).into_bytes());
        }
        2 => drop(bytes.drain(at..at + length)),
        3 => {
            let piece = bytes[at..at + length].to_vec();
            let to = place(random, bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        4 => {
            let piece = bytes[at..at + length].repeat(1 << random.below(8));
            bytes.splice(at..at, piece);
        }
        5 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next_bits().to_le_bytes()[0];
            }
        }
        6 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        7 => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
            let (from, to) = (place(random, lines.len()), place(random, lines.len()));
            match random.below(3) {
                _ if lines.is_empty() => {}
                0 => lines.swap(from, to),
                1 => drop(lines.remove(from)),
                _ => lines.insert(to, lines[from]),
            }
            *bytes = lines.concat();
        }
        _ => number(random, bytes),
    }
}

/// Replaces a number by another one.
fn number(random: &mut Random, bytes: &mut Vec<u8>) {
    const NUMBERS: [&str; 8] =
        ["0", "-1", "1", "9223372036854775807", "-9223372036854775808", "4294967296", "0.1", "1e999"];
    let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
    let Some(&start) = digits.get(place(random, digits.len())) else { return };
    let end = (start..bytes.len()).find(|&at| !bytes[at].is_ascii_digit()).unwrap_or(bytes.len());
    let other = NUMBERS.get(place(random, NUMBERS.len())).copied().unwrap_or_default();
    bytes.splice(start..end, other.bytes());
}
