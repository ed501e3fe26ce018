//! Picture that previews of links show: a row for each runtime, and in it a stripe for each operator.

use std::io::{self, Write as _};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use onnx_conformance_harness::measure::Severity;

use crate::site::columns::ShownColumns;
use crate::site::severity::CellState;
use crate::site::static_pages::entry::OperatorEntry;

/// Size that previews of links show whole.
const SIZE: (usize, usize) = (1200, 630);

/// Distance of the stripes from the edges, and of rows from each other.
const MARGIN: usize = 20;

/// Colours, as red, green and blue. The first is the ground and that of operators without a state.
const COLOURS: [[u8; 3]; 9] = [
    [0xff, 0xff, 0xff],
    [0x8f, 0xd3, 0xb6],
    [0xc5, 0xdf, 0xa0],
    [0xd5, 0xd1, 0xe0],
    [0xef, 0xe6, 0xa8],
    [0xfb, 0xd6, 0x6f],
    [0xf7, 0xbf, 0xa0],
    [0xe0, 0x78, 0x4a],
    [0x8e, 0x1b, 0x17],
];

/// Creates the picture as PNG, with the newest version of each runtime.
pub(crate) fn picture(columns: &ShownColumns, operators: &[&OperatorEntry]) -> io::Result<Vec<u8>> {
    let row = |at: &usize| operators.iter().map(|entry| entry.states.get(*at).map_or(0, colour)).collect::<Vec<u8>>();
    let rows: Vec<Vec<u8>> = columns.newest().iter().map(row).collect();
    png(&pixels(&rows))
}

/// Returns the position of a state's colour.
fn colour(state: &CellState) -> u8 {
    match state {
        CellState::Untested | CellState::Recorded | CellState::NotAccepted => 0,
        CellState::Right(_) | CellState::Worst(Severity::Right, ..) => 1,
        CellState::Worst(Severity::Inexact, ..) => 2,
        CellState::DeclinedAll(_) | CellState::Worst(Severity::Declined, ..) => 3,
        CellState::Worst(Severity::TakesInvalid, ..) => 4,
        CellState::Worst(Severity::RefusesValid, ..) => 5,
        CellState::Worst(Severity::WrongSpecial, ..) => 6,
        CellState::Worst(Severity::Wrong, ..) => 7,
        CellState::Worst(Severity::Crash, ..) => 8,
    }
}

/// Returns the colours of the lines of pixels, from above.
fn pixels(rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (width, height) = SIZE;
    let mut lines = vec![vec![0; width]; height];
    let step = (height - 2 * MARGIN) / rows.len().max(1);
    for (row, y) in rows.iter().zip((MARGIN..).step_by(step.max(1))) {
        let stripe = (width - 2 * MARGIN) / row.len().max(1);
        let stripes: Vec<u8> = row.iter().flat_map(|colour| std::iter::repeat_n(*colour, stripe)).collect();
        for line in lines.iter_mut().skip(y).take(step.saturating_sub(MARGIN / 2)) {
            if let Some(place) = line.get_mut(MARGIN..MARGIN + stripes.len()) {
                place.copy_from_slice(&stripes);
            }
        }
    }
    lines
}

/// Encodes lines of pixels as PNG with a palette.
fn png(lines: &[Vec<u8>]) -> io::Result<Vec<u8>> {
    let (width, height) = SIZE;
    let size = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    // 8 bits a pixel, a palette, and the only methods of compression, filters and order that there are.
    let head = [size(width).as_slice(), size(height).as_slice(), &[8, 3, 0, 0, 0]].concat();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    for line in lines {
        // No filter.
        encoder.write_all(&[0])?;
        encoder.write_all(line)?;
    }
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (name, data) in
        [(b"IHDR", head), (b"PLTE", COLOURS.concat()), (b"IDAT", encoder.finish()?), (b"IEND", Vec::new())]
    {
        bytes.extend(size(data.len()));
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(&data);
        bytes.extend(name);
        bytes.extend(&data);
        bytes.extend(crc.sum().to_be_bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    #[test]
    fn every_runtime_has_a_row_of_stripes() {
        let lines = pixels(&[vec![1; 200], vec![8; 200]]);
        assert_eq!((lines.len(), lines[0].len()), (SIZE.1, SIZE.0));
        let used = |colour: u8| lines.iter().filter(|line| line.contains(&colour)).count();
        assert_eq!(used(1), used(8));
        assert!(used(1) > 100 && lines[0].iter().all(|colour| *colour == 0));
        assert!(pixels(&[]).concat().iter().all(|colour| *colour == 0));
    }

    #[test]
    fn the_chunks_of_the_file_read_back() {
        let lines = pixels(&[vec![1, 2, 3]]);
        let bytes = png(&lines).unwrap();
        let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let length = usize::try_from(u32::from_be_bytes(rest[..4].try_into().unwrap())).unwrap();
            chunks.push((&rest[4..8], &rest[8..8 + length]));
            rest = &rest[12 + length..];
        }
        let names: Vec<&[u8]> = chunks.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [b"IHDR", b"PLTE", b"IDAT", b"IEND"]);
        let mut unpacked = Vec::new();
        ZlibDecoder::new(chunks[2].1).read_to_end(&mut unpacked).unwrap();
        let expected: Vec<u8> = lines.iter().flat_map(|line| [vec![0], line.clone()].concat()).collect();
        assert_eq!(unpacked, expected);
        // The checksum of an empty IEND is known.
        assert!(bytes.ends_with(&[0xae, 0x42, 0x60, 0x82]));
    }
}
