//! Blobs of an archive that are drawn from a stream of random numbers, as bytes of the directory.

use onnx_conformance_reference::dtype::ElementType;

use crate::case::{Choice, Draw, DrawnTensor};
use crate::suite::archive_bytes::{put_int, zigzag};
use crate::suite::archive_cursor::{ArchiveError, Cursor};

/// Flag of numbers in random order.
const SHUFFLED: u8 = 1;

/// Flag of a choice that is repeated after a 0.
const REDRAWS_ZERO: u8 = 2;

/// Flag of a choice with a random sign.
const SIGN: u8 = 4;

/// Minimum size in bytes of a blob that is longer than its description.
const MIN_LENGTH: usize = 64;

/// Maximum size of a drawn blob in bytes.
const MAX_LENGTH: usize = 16 << 20;

/// Returns true if a writer describes a blob instead of storing its bytes.
pub(super) fn is_worth_drawing(drawn: &DrawnTensor) -> bool {
    drawn.is_exact() && drawn.length().is_some_and(|length| (MIN_LENGTH..=MAX_LENGTH).contains(&length))
}

/// Writes the description of a blob.
pub(super) fn put_drawn(out: &mut Vec<u8>, drawn: &DrawnTensor) {
    out.push(u8::try_from(drawn.element.code()).unwrap_or(0));
    put_int(out, drawn.count as u64);
    out.extend(drawn.state.to_le_bytes());
    match &drawn.draw {
        Draw::Shuffled(first) => {
            out.extend([SHUFFLED, drawn.scale]);
            put_int(out, zigzag(*first));
        }
        Draw::Each(choice) => {
            let redraws = if choice.redraws_zero { REDRAWS_ZERO } else { 0 };
            out.extend([redraws | if choice.has_sign { SIGN } else { 0 }, drawn.scale]);
            put_int(out, zigzag(choice.low));
            for number in [choice.step, choice.choices, choice.one_in, choice.refined_by.into()] {
                put_int(out, number);
            }
        }
    }
}

/// Reads the description of a blob.
pub(super) fn read_drawn(cursor: &mut Cursor<'_>) -> Result<DrawnTensor, ArchiveError> {
    let code = cursor.byte()?;
    let element = ElementType::from_code(code.into());
    let element = element.ok_or_else(|| cursor.refuse(format!("a drawn blob has the unknown element type {code}")))?;
    let (count, state) = (cursor.size()?, cursor.u64()?);
    let (flags, scale, low) = (cursor.byte()?, cursor.byte()?, cursor.signed()?);
    let draw = if flags == SHUFFLED {
        Draw::Shuffled(low)
    } else if flags & !(REDRAWS_ZERO | SIGN) == 0 {
        let (step, choices, one_in) = (cursor.int()?, cursor.int()?, cursor.int()?);
        let refined_by = u8::try_from(cursor.int()?).unwrap_or(u8::MAX);
        let (redraws_zero, has_sign) = (flags & REDRAWS_ZERO != 0, flags & SIGN != 0);
        Draw::Each(Choice { low, step, choices, one_in, redraws_zero, has_sign, refined_by })
    } else {
        return Err(cursor.refuse(format!("a drawn blob has the unknown flags {flags}")));
    };
    let drawn = DrawnTensor { element, count, state, draw, scale };
    if !drawn.is_valid() || drawn.length().is_none_or(|length| length > MAX_LENGTH) {
        return Err(cursor.refuse(format!("a blob of {count} {element} cannot be drawn")));
    }
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<DrawnTensor> {
        let plain = Choice::between(-32, 32);
        let full =
            Choice { low: i64::MIN, step: 7, choices: u64::MAX, one_in: 300, redraws_zero: true, ..plain.clone() };
        let signed = Choice { has_sign: true, refined_by: 62, ..plain.clone() };
        let draws = [Draw::Each(plain), Draw::Each(full), Draw::Each(signed), Draw::Shuffled(-300)];
        let is_number = |element: &ElementType| *element != ElementType::String;
        let of =
            |element| draws.clone().map(|draw| DrawnTensor { element, count: 700, state: u64::MAX, draw, scale: 10 });
        ElementType::ALL.into_iter().filter(is_number).flat_map(of).collect()
    }

    #[test]
    fn descriptions_read_back() {
        for drawn in all() {
            let mut bytes = Vec::new();
            put_drawn(&mut bytes, &drawn);
            let mut cursor = Cursor::new(&bytes, "here");
            assert_eq!(read_drawn(&mut cursor).unwrap(), drawn);
            assert!(cursor.is_at_end());
            for length in 0..bytes.len() {
                assert!(read_drawn(&mut Cursor::new(&bytes[..length], "here")).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let float = |count, flags, choice: [u64; 4]| {
            let mut bytes = vec![1];
            put_int(&mut bytes, count);
            bytes.extend([0; 8]);
            bytes.extend([flags, 0, 0]);
            for number in choice {
                put_int(&mut bytes, number);
            }
            bytes
        };
        let check = |bytes: &[u8], rule: &str| {
            let error = read_drawn(&mut Cursor::new(bytes, "here")).unwrap_err().to_string();
            assert!(error.contains(rule), "{error}");
        };
        assert!(read_drawn(&mut Cursor::new(&float(4 << 20, 0, [1, 2, 1, 0]), "here")).is_ok());
        check(&float((4 << 20) + 1, 0, [1, 2, 1, 0]), "a blob of 4194305 float cannot be drawn");
        check(&float(u64::MAX, 1, [0; 4]), "cannot be drawn");
        check(&float(1, 0, [1, 0, 1, 0]), "cannot be drawn");
        check(&float(1, 0, [1, 2, 0, 0]), "cannot be drawn");
        check(&float(1, 2, [1, 1, 1, 0]), "cannot be drawn");
        check(&float(1, 2, [0, 2, 1, 0]), "cannot be drawn");
        check(&float(1, 0, [1, 2, 1, 63]), "cannot be drawn");
        check(&float(1, 3, [0; 4]), "a drawn blob has the unknown flags 3");
        check(&float(1, 8, [0; 4]), "a drawn blob has the unknown flags 8");
        let typed = |code: u8| [&[code], &float(1, 1, [0; 4])[1..]].concat();
        check(&typed(8), "a blob of 1 string cannot be drawn");
        check(&typed(0), "a drawn blob has the unknown element type 0");
        check(&typed(200), "a drawn blob has the unknown element type 200");
    }
}
