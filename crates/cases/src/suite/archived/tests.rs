//! Archives that are written and read back, and damaged ones.

use std::collections::BTreeSet;

use onnx_conformance_reference::dtype::{ElementType, Kind};

use super::*;
use crate::case::{Draw, DrawnTensor, digest};
use crate::suite::archive_bytes::{HEADER, MAGIC, compressed, crc};
use crate::suite::archive_cursor::inflated;
use crate::suite::archive_drawn::is_worth_drawing;
use crate::suite::sample_cases::{SAMPLE_CASES, selected};
use crate::suite::{Archive, ArchiveFacts, Filter, Generated, IrCases, Suite};

/// Returns the cases that a filter selects.
fn cases(suite: &Suite, patterns: &[&str]) -> Vec<Case> {
    selected(suite, &Filter::new(patterns).unwrap())
}

fn archive(cases: &[Case]) -> Vec<u8> {
    let mut archive = Archive::default();
    for case in cases {
        archive.add(case).unwrap();
    }
    archive.finish(&ArchiveFacts { suite: SUITE_VERSION, digest: "digest", profile: "selection", text: "1.0.0" })
}

/// Reads every case of an archive.
fn read(file: &[u8]) -> Result<Vec<Case>, SuiteError> {
    let archived = ArchivedCases::from_bytes(Path::new("suite.onnxcases"), Bytes::copy_from_slice(file))?;
    let mut cases = Vec::new();
    for group in archived.groups()? {
        cases.extend(archived.load(&group, &|_| true)?);
    }
    Ok(cases)
}

/// Returns a small archive, with a case whose input is drawn and a refusal whose control is not a case.
fn small() -> Vec<u8> {
    let suite = Suite::new(vec![Box::new(Generated::embedded())]);
    let mut all = cases(&suite, &["ai.onnx/Abs-13/**"]);
    all.sort_by_key(|case| (!case.drawn.iter().any(is_worth_drawing), case.model.len()));
    let refusal = all.iter().position(|case| case.refusal.is_some()).unwrap();
    all.swap(1, refusal.max(1));
    all.truncate(2);
    archive(&all)
}

/// Replaces the directory of an archive, with correct checksums.
fn with_directory(file: &[u8], edit: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let start = usize::try_from(number(24)).unwrap();
    let mut directory = inflated(&file[start..], number(40), "directory").unwrap();
    edit(&mut directory);
    let stored = compressed(&directory);
    let mut changed = [&file[..start], &stored[..]].concat();
    let numbers = [(16, changed.len()), (24, start), (32, stored.len()), (40, directory.len())];
    for (at, number) in numbers {
        changed[at..at + 8].copy_from_slice(&(number as u64).to_le_bytes());
    }
    changed[48..52].copy_from_slice(&crc(&stored).to_le_bytes());
    seal(&mut changed);
    changed
}

/// Corrects the checksum of a header.
fn seal(file: &mut [u8]) {
    let checksum = crc(&file[..HEADER - 4]);
    file[HEADER - 4..HEADER].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn an_archived_case_reads_back_unchanged() {
    let before: &[Case] = &SAMPLE_CASES;
    let after = read(&archive(before)).unwrap();
    let mut sorted: Vec<&Case> = before.iter().collect();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(after.len(), sorted.len());
    assert_eq!(digest(&after), digest(before));
    for (read, case) in after.iter().zip(sorted) {
        let facts = |case: &Case| {
            let refusal = case.refusal.as_ref().map(|refusal| (refusal.rule.clone(), refusal.only_at_run_time));
            (case.id.clone(), case.model.clone(), case.level, case.rule.clone(), case.judged, case.is_edge, refusal)
        };
        assert_eq!(facts(read), facts(case));
        let control = |case: &Case| case.refusal.as_ref().map(|refusal| refusal.control.id.clone());
        assert_eq!((control(read), read.refusal_class()), (control(case), case.refusal_class()), "{}", case.id);
    }
    for part in ["ir/", "graph/", "hostile/", "onnx-", "ai.onnx/", "ai.onnx.ml/"] {
        assert!(after.iter().any(|case| case.id.starts_with(part)), "{part}");
    }
}

/// Names of the features that a drawn tensor uses.
fn features(drawn: &DrawnTensor) -> Vec<&'static str> {
    let Draw::Each(choice) = &drawn.draw else { return vec!["shuffled", drawn.element.name()] };
    let features = [
        ("rare", choice.one_in > 1),
        ("stepped", choice.step > 1),
        ("redrawn", choice.redraws_zero),
        ("signed", choice.has_sign),
        ("refined by 7", choice.refined_by == 7),
        ("refined by 20", choice.refined_by == 20),
        (drawn.element.name(), true),
    ];
    features.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name).collect()
}

#[test]
fn drawn_inputs_read_back_unchanged() {
    let suite = Suite::new(vec![Box::new(Generated::embedded())]);
    let before = cases(&suite, &["ai.onnx/{Div-14,MatMul-13,Round-11,TopK-11,Where-16}/**"]);
    let drawn: Vec<&DrawnTensor> =
        before.iter().flat_map(|case| &case.drawn).filter(|drawn| is_worth_drawing(drawn)).collect();
    let used: BTreeSet<&str> = drawn.iter().flat_map(|drawn| features(drawn)).collect();
    let is_number = |element: &ElementType| element.kind() != Kind::String && element.size() > 1;
    let elements = ElementType::ALL.into_iter().filter(is_number).map(ElementType::name);
    let named = ["shuffled", "rare", "stepped", "redrawn", "signed", "refined by 7", "refined by 20", "bool", "uint8"];
    for feature in elements.chain(named) {
        assert!(used.contains(feature), "no drawn input is {feature}: {used:?}");
    }
    let file = archive(&before);
    let after = read(&file).unwrap();
    assert_eq!(digest(&after), digest(&before));
    let size = |cases: &[Case]| -> usize {
        let inputs = cases.iter().flat_map(|case| &case.data).flat_map(|data| &data.inputs);
        inputs.filter_map(|input| input.value.as_tensor()).map(|tensor| tensor.bytes().len()).sum()
    };
    assert!(file.len() < size(&before) / 4, "{} bytes", file.len());
    // The draws are read, too, so the same file can be written again.
    assert!(archive(&after) == file);
}

#[test]
fn external_data_is_written_beside_the_model() {
    let suite = Suite::new(vec![Box::new(IrCases::embedded())]);
    let before = cases(&suite, &["ir/external/**"]);
    let after = read(&archive(&before)).unwrap();
    let mut files = 0;
    for case in &after {
        let original = before.iter().find(|other| other.id == case.id).unwrap();
        for (name, path) in crate::suite::export::external(original).unwrap() {
            let copy = case.folder.as_ref().unwrap().join(name);
            assert_eq!(fs::read(copy).unwrap(), fs::read(path).unwrap(), "{}", case.id);
            files += 1;
        }
    }
    assert!(files > 5, "{files}");
}

#[test]
fn a_truncated_or_damaged_archive_is_refused() {
    let file = small();
    assert_eq!(read(&file).unwrap().len(), 2);
    for length in 0..file.len() {
        let error = read(&file[..length]).unwrap_err().to_string();
        assert!(error.starts_with("suite.onnxcases: "), "{error}");
        let is_named = error.contains("cut off") || (length == 0 && error.contains("is not an archive"));
        assert!(is_named, "{length} bytes: {error}");
    }
    let extended = [&file[..], &b"more"[..]].concat();
    assert!(read(&extended).unwrap_err().to_string().contains("extended"));
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 0x10;
        let error = read(&changed).unwrap_err().to_string();
        let rule = if at < MAGIC.len() { "is not an archive" } else { "is damaged" };
        assert!(error.contains(rule), "byte {at}: {error}");
    }
}

#[test]
fn another_format_is_named() {
    let mut file = small();
    file[8] = 9;
    seal(&mut file);
    let error = read(&file).unwrap_err().to_string();
    assert!(error.contains("header: has format 9, but this program reads 1; use a later program"), "{error}");
}

#[test]
fn a_directory_with_errors_is_refused() {
    let file = small();
    let length = {
        let cell = std::cell::Cell::new(0);
        with_directory(&file, |directory| cell.set(directory.len()));
        cell.get()
    };
    for end in 0..length {
        let error = read(&with_directory(&file, |directory| directory.truncate(end))).unwrap_err().to_string();
        assert!(error.contains("export the cases again"), "{end} of {length} bytes: {error}");
    }
    let longer = with_directory(&file, |directory| directory.push(0));
    assert!(read(&longer).unwrap_err().to_string().contains("bytes follow the last entry"));
    // A changed byte may give another valid directory, but never ends the program.
    for at in 0..length {
        for byte in [0x00, 0x7f, 0xff] {
            let _ = read(&with_directory(&file, |directory| directory[at] = byte));
        }
    }
}

#[test]
fn a_large_case_is_not_read() {
    let mut archived = ArchivedCases::from_bytes(Path::new("a"), small().into()).unwrap();
    archived.limit(10);
    let group = archived.groups().unwrap().remove(0);
    let error = archived.load(&group, &|_| true).unwrap_err();
    assert!(matches!(&error, SuiteError::TooLarge { case, .. } if case.id == group.name), "{error}");
}
