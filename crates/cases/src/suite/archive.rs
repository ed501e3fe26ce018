//! Writer of archives: cases in one file, for programs in other languages. `docs/archive.md` describes every byte.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, TensorProto, decode, encode};
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, CaseId, DataSet, DrawnTensor, Expected, Level, MAX_BINARY, RefusalClass, WRAPPED, read_file};
use crate::compare::Accuracy;
use crate::compare::statistics::Distribution;
use crate::suite::SuiteError;
use crate::suite::archive_bytes::{
    CONTROL, EDGE, FORMAT, HEADER, HOSTILE, JUDGED, MAGIC, REFUSAL, RULE, RUN_TIME, blocks_of, compressed, crc,
    put_bytes, put_int, put_text, write_block, zigzag,
};
use crate::suite::archive_drawn::{is_worth_drawing, put_drawn};
use crate::suite::archive_pieces::{DRAWN, Order, Piece, Pieces, STRIDES};
use crate::suite::export::external;

const MODEL: usize = 0;
const EXTERNAL: usize = 1;
const MESSAGE: usize = 2;

/// An entry that is not encoded yet.
#[derive(Clone, Debug, Default)]
struct Entry {
    is_control: bool,
    flags: u64,
    body: Vec<Piece>,
}

/// A writer of an archive. It holds the distinct models and values in memory.
#[derive(Debug, Default)]
pub struct Archive {
    strings: HashMap<String, usize>,
    texts: Vec<String>,
    blobs: [Vec<Bytes>; STRIDES.len()],
    places: [HashMap<Bytes, usize>; STRIDES.len()],
    /// Blobs that can be drawn, by their class and place.
    drawn: HashMap<(usize, usize), DrawnTensor>,
    entries: BTreeMap<String, Entry>,
}

/// Provenance of an archive.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveFacts<'a> {
    /// Version of the suite.
    pub suite: &'a str,
    /// Digest of the suite.
    pub digest: &'a str,
    /// Name of the selection.
    pub profile: &'a str,
    /// Release of ONNX whose texts decide the levels.
    pub text: &'a str,
}

impl Archive {
    /// Adds a case, and the control of a refusal.
    pub fn add(&mut self, case: &Case) -> Result<(), SuiteError> {
        if let Some(refusal) = &case.refusal
            && !self.entries.contains_key(&refusal.control.id)
        {
            let entry = Entry { is_control: true, ..self.entry(&refusal.control)? };
            self.entries.insert(refusal.control.id.clone(), entry);
        }
        let entry = self.entry(case)?;
        self.entries.insert(case.id.clone(), entry);
        Ok(())
    }

    /// Returns the number of cases, without those that only serve as controls.
    pub fn len(&self) -> usize {
        self.entries.values().filter(|entry| !entry.is_control).count()
    }

    /// Returns true if no case was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&mut self, case: &Case) -> Result<Entry, SuiteError> {
        self.add_drawn(&case.drawn);
        let model = decode::model(case.model.clone()).ok();
        let mut body = Pieces::default();
        body.byte(match case.level {
            Level::Required => 0,
            Level::Recommended => 1,
            Level::Open => 2,
        });
        body.blob(self.place(MODEL, case.model.clone()), 0);
        let files = external(case)?;
        body.int(files.len() as u64);
        for (name, path) in files {
            let bytes = read_file(&path, MAX_BINARY).map_err(|error| SuiteError::Io { path, error })?;
            self.string(&mut body, &name);
            body.blob(self.place(EXTERNAL, bytes.into()), 0);
        }
        self.write_model_facts(&mut body, &case.id, model.as_ref());
        body.int(case.data.len() as u64);
        for data in &case.data {
            self.data_set(&mut body, data);
        }
        let mut flags = if case.is_edge { EDGE } else { 0 } | if case.is_hostile { HOSTILE } else { 0 };
        if let Some(refusal) = &case.refusal {
            flags |= REFUSAL | if refusal.only_at_run_time { RUN_TIME } else { 0 };
            self.string(&mut body, &refusal.rule);
            body.byte(u8::from(case.refusal_class() == Some(RefusalClass::Value)));
            body.0.push(Piece::Entry(refusal.control.id.clone()));
        }
        if let Some(rule) = &case.rule {
            flags |= RULE;
            for text in [&rule.id, &rule.says, &rule.place] {
                self.string(&mut body, text);
            }
        }
        if let Some(judged) = &case.judged {
            flags |= JUDGED;
            let name = serde_json::to_value(judged).ok();
            self.string(&mut body, name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default());
        }
        Ok(Entry { is_control: false, flags, body: body.0 })
    }

    /// Writes IR version, imports and operators.
    fn write_model_facts(&mut self, body: &mut Pieces, id: &str, model: Option<&ModelProto>) {
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        body.int(model.map_or(0, |model| number(model.ir_version())));
        let mut imports: BTreeMap<&str, i64> = BTreeMap::new();
        for import in model.iter().flat_map(|model| &model.opset_import) {
            imports.insert(canonical_domain(import.domain()), import.version());
        }
        body.int(imports.len() as u64);
        for (domain, version) in &imports {
            self.string(body, domain);
            body.int(number(*version));
        }
        let mut operators: Vec<(String, String, u32)> = Vec::new();
        if let Some(version) = CaseId::parse(id.strip_prefix(WRAPPED).unwrap_or(id)).version() {
            operators.push((version.domain, version.name, version.since));
        } else if let Some(graph) = model.and_then(|model| model.graph.as_ref()) {
            add_operators(graph, &imports, &mut operators);
            operators.sort();
            operators.dedup();
        }
        body.int(operators.len() as u64);
        for (domain, name, since) in &operators {
            self.string(body, domain);
            self.string(body, name);
            body.int(u64::from(*since));
        }
    }

    fn data_set(&mut self, body: &mut Pieces, data: &DataSet) {
        body.int(data.inputs.len() as u64);
        for input in &data.inputs {
            self.string(body, &input.name);
            self.value(body, &input.value, &input.name);
        }
        body.int(data.outputs.len() as u64);
        for output in &data.outputs {
            self.string(body, &output.name);
            self.expectation(body, &output.expected, &output.name);
        }
    }

    fn expectation(&mut self, body: &mut Pieces, expected: &Expected, name: &str) {
        match expected {
            Expected::Value(value, accuracy) => {
                body.byte(0);
                self.value(body, value, name);
                self.accuracy(body, accuracy, name);
            }
            Expected::AnyOf(values) => {
                body.byte(1);
                body.int(values.len() as u64);
                for value in values {
                    self.value(body, value, name);
                }
            }
            Expected::Set(value) => {
                body.byte(2);
                self.value(body, value, name);
            }
            Expected::PermutedAlongAxis(tensor, axis) => {
                body.byte(3);
                self.tensor(body, tensor, name);
                body.int(zigzag(*axis));
            }
            Expected::SampledFrom { element, shape, law } => {
                body.byte(4);
                body.byte(u8::try_from(element.code()).unwrap_or(0));
                body.shape(shape);
                self.law(body, law, name);
            }
            Expected::Unspecified(value_type, shape) => {
                body.byte(5);
                self.string(body, &value_type.to_string());
                body.byte(u8::from(shape.is_some()));
                if let Some(shape) = shape {
                    body.shape(shape);
                }
            }
            Expected::SameMeanAs(tensor) => {
                body.byte(6);
                self.tensor(body, tensor, name);
            }
            Expected::DropoutOf { source, ratio } => {
                body.byte(7);
                self.tensor(body, source, name);
                body.double(*ratio);
            }
            Expected::Mask { shape, ratio } => {
                body.byte(8);
                body.shape(shape);
                body.double(*ratio);
            }
        }
    }

    fn accuracy(&mut self, body: &mut Pieces, accuracy: &Accuracy, name: &str) {
        match accuracy {
            Accuracy::Exact => body.byte(0),
            Accuracy::ExactZeroSign => body.byte(1),
            Accuracy::Ulp(distance) => {
                body.byte(2);
                body.int(*distance);
            }
            Accuracy::Absolute(distance) => {
                body.byte(3);
                body.double(*distance);
            }
            Accuracy::Roundoffs(units) => {
                body.byte(4);
                body.double(*units);
            }
            Accuracy::Close { relative, absolute } => {
                body.byte(5);
                body.double(*relative);
                body.double(*absolute);
            }
            Accuracy::Bounded(bound) => {
                body.byte(6);
                self.tensor(body, bound, name);
            }
        }
    }

    fn law(&mut self, body: &mut Pieces, law: &Distribution, name: &str) {
        match law {
            Distribution::Normal { mean, deviation } => {
                body.byte(0);
                body.double(*mean);
                body.double(*deviation);
            }
            Distribution::Uniform { low, high } => {
                body.byte(1);
                body.double(*low);
                body.double(*high);
            }
            Distribution::Bernoulli(tensor) => {
                body.byte(2);
                self.tensor(body, tensor, name);
            }
            Distribution::Multinomial(tensor) => {
                body.byte(3);
                self.tensor(body, tensor, name);
            }
        }
    }

    fn tensor(&mut self, body: &mut Pieces, tensor: &Tensor, name: &str) {
        self.value(body, &Value::Tensor(tensor.clone()), name);
    }

    /// Writes a value: its type, its message, and its elements apart if they are raw.
    fn value(&mut self, body: &mut Pieces, value: &Value, name: &str) {
        self.string(body, &value.value_type().to_string());
        let bytes = encode::value(value, name);
        let element = match value.value_type() {
            ValueType::Tensor(element) => Some(element),
            _ => None,
        };
        let message = element.and_then(|_| TensorProto::decode(bytes.as_slice()).ok());
        let raw = message.and_then(|mut message| {
            let raw = message.raw_data.take().filter(|raw| !raw.is_empty())?;
            Some((message.encode_to_vec(), raw))
        });
        if let (Some(element), Some((message, raw))) = (element, raw) {
            body.blob(self.place(MESSAGE, message.into()), 0);
            body.blob(self.place(class_of(element), raw), 1);
        } else {
            body.blob(self.place(MESSAGE, bytes.into()), 0);
            body.int(0);
        }
    }

    /// Records blobs that can be drawn. If two rules give the same bytes, the first in order is used.
    fn add_drawn(&mut self, drawn: &[DrawnTensor]) {
        for one in drawn.iter().filter(|drawn| is_worth_drawing(drawn)) {
            let Ok(raw) = one.raw() else { continue };
            let place = self.place(class_of(one.element), raw);
            let first = self.drawn.entry(place).or_insert_with(|| one.clone());
            if one < first {
                *first = one.clone();
            }
        }
    }

    /// Moves the blobs that can be drawn to a separate class. Returns them in the order of their first mention in the
    /// entries.
    fn take_drawn(&mut self) -> Vec<DrawnTensor> {
        let (mut taken, mut places) = (Vec::new(), HashMap::new());
        for piece in self.entries.values_mut().flat_map(|entry| &mut entry.body) {
            let Piece::Blob(class, place, _) = piece else { continue };
            let Some(drawn) = self.drawn.get(&(*class, *place)) else { continue };
            let at = *places.entry((*class, *place)).or_insert_with(|| {
                taken.push(drawn.clone());
                taken.len() - 1
            });
            (*class, *place) = (DRAWN, at);
        }
        taken
    }

    fn string(&mut self, body: &mut Pieces, text: &str) {
        let place = self.strings.get(text).copied().unwrap_or_else(|| {
            self.strings.insert(text.to_owned(), self.texts.len());
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        body.0.push(Piece::Text(place));
    }

    /// Returns the class and the place of a blob.
    fn place(&mut self, class: usize, bytes: Bytes) -> (usize, usize) {
        let (Some(blobs), Some(places)) = (self.blobs.get_mut(class), self.places.get_mut(class)) else {
            return (class, 0);
        };
        let place = *places.entry(bytes.clone()).or_insert_with(|| {
            blobs.push(bytes);
            blobs.len() - 1
        });
        (class, place)
    }

    /// Returns the bytes of the file. They do not depend on the order of adding the cases.
    pub fn finish(mut self, facts: &ArchiveFacts<'_>) -> Vec<u8> {
        let drawn = self.take_drawn();
        let order = Order::new(self.entries.values().flat_map(|entry| &entry.body));
        let mut file = vec![0; HEADER];
        let (mut blocks, mut count) = (Vec::new(), 0u64);
        for ((blobs, places), stride) in self.blobs.iter().zip(&order.blobs).zip(STRIDES) {
            let ordered: Vec<Bytes> = places.places.iter().filter_map(|place| blobs.get(*place).cloned()).collect();
            for block in blocks_of(&ordered) {
                count += 1;
                write_block(block, stride, &mut file, &mut blocks);
            }
        }
        let start = file.len();
        let mut directory = Vec::new();
        for text in [facts.suite, facts.digest, facts.profile, facts.text, ""] {
            put_text(&mut directory, text);
        }
        put_int(&mut directory, order.texts.places.len() as u64);
        for text in order.texts.places.iter().filter_map(|place| self.texts.get(*place)) {
            put_text(&mut directory, text);
        }
        put_int(&mut directory, count);
        directory.extend(blocks);
        put_int(&mut directory, drawn.len() as u64);
        for one in &drawn {
            put_drawn(&mut directory, one);
        }
        self.put_entries(&order, &mut directory);
        let stored = compressed(&directory);
        file.extend(&stored);
        let mut header = MAGIC.to_vec();
        header.extend(FORMAT.to_le_bytes());
        header.extend([0; 4]);
        for number in [file.len(), start, stored.len(), directory.len()] {
            header.extend((number as u64).to_le_bytes());
        }
        header.extend(crc(&stored).to_le_bytes());
        header.extend([0; 8]);
        header.extend(crc(&header).to_le_bytes());
        for (byte, value) in file.iter_mut().zip(header) {
            *byte = value;
        }
        file
    }

    fn put_entries(&self, order: &Order, directory: &mut Vec<u8>) {
        let numbers: HashMap<&str, u64> = self.entries.keys().map(String::as_str).zip(0..).collect();
        put_int(directory, self.entries.len() as u64);
        let mut before = "";
        for (id, entry) in &self.entries {
            let shared = before.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
            before = id;
            put_int(directory, shared as u64);
            put_bytes(directory, id.as_bytes().get(shared..).unwrap_or_default());
            let mut body = Vec::new();
            put_int(&mut body, entry.flags | if entry.is_control { CONTROL } else { 0 });
            for piece in &entry.body {
                match piece {
                    Piece::Raw(bytes) => body.extend(bytes),
                    Piece::Blob(class, place, more) => put_int(&mut body, order.blob(*class, *place) + more),
                    Piece::Text(place) => put_int(&mut body, order.texts.number(*place)),
                    Piece::Entry(id) => put_int(&mut body, numbers.get(id.as_str()).copied().unwrap_or(0)),
                }
            }
            put_bytes(directory, &body);
        }
    }
}

/// Adds the operators of a graph and of its subgraphs, with the versions that the imports select, or 0.
fn add_operators(graph: &GraphProto, imports: &BTreeMap<&str, i64>, operators: &mut Vec<(String, String, u32)>) {
    for node in &graph.node {
        let domain = canonical_domain(node.domain());
        let opset = imports.get(domain).copied().unwrap_or(0);
        let since = Specs::embedded().find(domain, node.op_type(), opset).map_or(0, |spec| spec.version.since);
        operators.push((domain.to_owned(), node.op_type().to_owned(), since));
        for attribute in &node.attribute {
            for graph in attribute.g.iter().map(|graph| &**graph).chain(&attribute.graphs) {
                add_operators(graph, imports, operators);
            }
        }
    }
}

/// Returns the class of the elements of a type. A complex number is two numbers.
fn class_of(element: ElementType) -> usize {
    let bits = match element {
        ElementType::Complex64 => 32,
        ElementType::Complex128 => 64,
        element if element.kind() == Kind::String => 8,
        element => element.bits(),
    };
    match bits {
        64.. => 6,
        32.. => 5,
        16.. => 4,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;

    use super::*;
    use crate::suite::{Filter, Generated, Source as _, Suite};

    fn number(bytes: &[u8], at: usize) -> usize {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    }

    fn inflated(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        ZlibDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    /// Reads numbers and texts from the front.
    struct Reader<'a>(&'a [u8]);

    impl<'a> Reader<'a> {
        fn take(&mut self, count: usize) -> &'a [u8] {
            let (front, rest) = self.0.split_at(count);
            self.0 = rest;
            front
        }

        fn int(&mut self) -> usize {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let byte = self.take(1)[0];
                value |= usize::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            value
        }

        fn text(&mut self) -> String {
            let length = self.int();
            String::from_utf8(self.take(length).to_vec()).unwrap()
        }
    }

    fn cases(patterns: &[&str]) -> Vec<Case> {
        let suite = Suite::new(vec![Box::new(Generated::embedded())]);
        let filter = Filter::new(patterns).unwrap();
        let source = Generated::embedded();
        let mut all = Vec::new();
        for group in source.groups().unwrap().into_iter().filter(|group| filter.may_select_from(&group.name)) {
            all.extend(source.load(&group, &|id| filter.matches(id)).unwrap());
        }
        assert_eq!(all.len(), suite.ids(&filter).unwrap().len());
        all
    }

    fn level_of(case: &Case) -> u8 {
        u8::from(case.level != Level::Required) + u8::from(case.level == Level::Open)
    }

    #[test]
    fn an_archive_has_every_byte_where_its_header_says() {
        let all = cases(&["ai.onnx/{Abs,Dropout,SequenceAt}-{11,13}/**"]);
        let mut archive = Archive::default();
        for case in &all {
            archive.add(case).unwrap();
        }
        assert_eq!(archive.len(), all.len());
        let facts = ArchiveFacts { suite: "1.2.3", digest: "abc", profile: "selection", text: "1.0.0" };
        let file = archive.finish(&facts);
        assert_eq!(file[..8], MAGIC);
        let (length, start, stored) = (number(&file, 16), number(&file, 24), number(&file, 32));
        assert_eq!((length, start + stored), (file.len(), file.len()));
        assert_eq!(file[48..52], crc(&file[start..]).to_le_bytes());
        assert_eq!(file[60..64], crc(&file[..60]).to_le_bytes());
        let directory = inflated(&file[start..]);
        assert_eq!(directory.len(), number(&file, 40));
        let mut reader = Reader(&directory);
        let head: Vec<String> = (0..5).map(|_| reader.text()).collect();
        assert_eq!(head, ["1.2.3", "abc", "selection", "1.0.0", ""]);
        let strings: Vec<String> = (0..reader.int()).map(|_| reader.text()).collect();
        assert!(strings.iter().any(|text| text == "seq(tensor(float))"), "{strings:?}");
        let mut place = HEADER;
        let mut blobs = Vec::new();
        for _ in 0..reader.int() {
            let stored = reader.int();
            let block = &file[place..place + stored];
            assert_eq!(reader.take(4), crc(block).to_le_bytes());
            let (stride, count) = (usize::from(reader.take(1)[0]), reader.int());
            let lengths: Vec<usize> = (0..count).map(|_| reader.int()).collect();
            let planes = inflated(block);
            let each = planes.len() / stride;
            let plain: Vec<u8> = (0..planes.len()).map(|at| planes[at % stride * each + at / stride]).collect();
            let mut plain = Reader(&plain);
            blobs.extend(lengths.into_iter().map(|length| plain.take(length).to_vec()));
            assert!(plain.0.is_empty());
            place += stored;
        }
        assert_eq!(place, start);
        let drawn = reader.int();
        for _ in 0..drawn {
            reader.take(1);
            reader.int();
            reader.take(8);
            let numbers = if reader.take(2)[0] == 1 { 1 } else { 5 };
            for _ in 0..numbers {
                reader.int();
            }
        }
        assert!(drawn > 0);
        let mut id = String::new();
        let mut ids = Vec::new();
        for _ in 0..reader.int() {
            id.truncate(reader.int());
            id.push_str(&reader.text());
            let length = reader.int();
            let mut body = Reader(reader.take(length));
            let (flags, level, model) = (body.int(), body.take(1)[0], body.int());
            let case = all.iter().find(|case| case.id == id);
            assert_eq!(case.is_none(), flags & 1 == 1, "{id}");
            if let Some(case) = case {
                assert_eq!((blobs[model].as_slice(), level), (&case.model[..], level_of(case)), "{id}");
                ids.push(id.clone());
            }
        }
        assert!(reader.0.is_empty() && ids.is_sorted() && ids.len() == all.len());
    }

    #[test]
    fn equal_cases_give_equal_files_and_equal_values_are_stored_once() {
        let all = cases(&["ai.onnx/Abs-13/**"]);
        let archive = |cases: Vec<&Case>| {
            let mut archive = Archive::default();
            for case in cases {
                archive.add(case).unwrap();
            }
            archive
        };
        let facts = ArchiveFacts { suite: "1", digest: "a", profile: "all", text: "1.0.0" };
        let once = archive(all.iter().collect());
        let count = once.blobs[MODEL].len();
        let twice = archive(all.iter().rev().chain(&all).collect());
        assert_eq!(twice.blobs[MODEL].len(), count);
        assert!(once.finish(&facts) == twice.finish(&facts));
    }
}
