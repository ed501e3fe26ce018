//! Case ids and their parts.

use std::fmt;

use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_reference::types::ValueType;

use crate::question::Variant;

/// The id of a case: `ai.onnx/Sum-13/broadcast/T=float@constants` is the path of a case and a variant.
///
/// Every text is an id: a case in a user's folder is named by its path. The path of a generated case begins with its
/// operator version. That of a vendored case begins with its release and kind (`onnx-1.23.2/node/test_abs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseId<'a> {
    /// The id without its variant.
    pub path: &'a str,
    /// The variant that the id ends with.
    pub variant: Variant,
}

/// Beginning of the opset in the id of a case that runs at a later opset than its operator version's first one.
pub const OPSET: &str = "@opset=";

/// Beginning of the id of a case between no-ops: `graph/wrapped/ai.onnx/Abs-13/x`.
pub const WRAPPED: &str = "graph/wrapped/";

/// Beginning of the name of a case with many elements: `ai.onnx/Abs-13/large/beyond_65536`.
pub const LARGE: &str = "large/";

/// Name of the last opset of an operator version. A new release of ONNX extends the range of its newest versions, and renames no
/// case.
const LAST: &str = "last";

/// Opset of a case that does not run at its operator version's first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOpset {
    /// This opset.
    At(u32),
    /// The last opset at which the operator version is used.
    Last,
}

impl fmt::Display for CaseOpset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaseOpset::At(opset) => write!(f, "{OPSET}{opset}"),
            CaseOpset::Last => write!(f, "{OPSET}{LAST}"),
        }
    }
}

impl<'a> CaseId<'a> {
    /// Splits an id into path and variant.
    pub fn parse(id: &'a str) -> CaseId<'a> {
        let (path, variant) = Variant::split_id(id);
        CaseId { path, variant }
    }

    /// Returns the operator version of a generated case.
    pub fn version(&self) -> Option<OperatorVersion> {
        let group = self.first_parts(2).filter(|group| group.contains('/'))?;
        group.parse().ok()
    }

    /// Returns the group that lists the case: an operator version, a release and kind of vendored cases, or the first
    /// folder of a path that has no more. A case outside every folder is its own group.
    pub fn group(&self) -> &'a str {
        let first_folder = || self.path.split_once('/').map(|(folder, _)| folder);
        let two = self.first_parts(2).filter(|group| group.len() < self.path.len());
        two.or_else(first_folder).unwrap_or(self.path)
    }

    /// Returns the path after the group: `broadcast/T=float`.
    pub fn name(&self) -> &'a str {
        self.path.strip_prefix(self.group()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(self.path)
    }

    /// Returns true if the case has many elements, between no-ops or not.
    pub fn is_large(&self) -> bool {
        let path = self.path.strip_prefix(WRAPPED).unwrap_or(self.path);
        CaseId { path, ..*self }.name().starts_with(LARGE)
    }

    /// Returns the parts of the path.
    pub fn parts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.path.split('/')
    }

    /// Returns the type parameters in the last part, with their types: `T` and `float` of `broadcast/T=float@opset=13`.
    pub fn types(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let last = self.path.rsplit('/').next().unwrap_or(self.path);
        let last = last.split_once('@').map_or(last, |(types, _)| types);
        last.split(',').filter_map(|pair| pair.split_once('='))
    }

    /// Returns the opset of a case that does not run at its operator version's first one: `21` of `broadcast/T=float@opset=21`.
    pub fn opset(&self) -> Option<CaseOpset> {
        self.split_opset().map(|(_, opset)| opset)
    }

    /// Returns the path of the same case at its operator version's first opset.
    pub fn at_first_opset(&self) -> &'a str {
        self.split_opset().map_or(self.path, |(path, _)| path)
    }

    /// Splits the path before its opset, if it has one. Millions of ids are split, and a single character is found fastest.
    fn split_opset(&self) -> Option<(&'a str, CaseOpset)> {
        let (path, _) = self.path.rsplit_once('@')?;
        let opset = self.path.get(path.len()..)?.strip_prefix(OPSET)?;
        let opset = if opset == LAST { CaseOpset::Last } else { CaseOpset::At(opset.parse().ok()?) };
        Some((path, opset))
    }

    /// Returns true if the case runs at the last opset of its operator version.
    pub fn is_at_last_opset(&self) -> bool {
        self.opset() == Some(CaseOpset::Last)
    }

    /// Returns the paths of the groups that contain the case, outermost first.
    pub fn folders(&self) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        folders(self.path)
    }

    /// Returns the first `count` parts of the path, if it has that many.
    fn first_parts(&self, count: usize) -> Option<&'a str> {
        let mut ends = self.path.match_indices('/').map(|(index, _)| index).chain([self.path.len()]);
        self.path.get(..ends.nth(count - 1)?)
    }
}

/// Returns the folders above a path, outermost first: `a` and `a/b` of `a/b/c`. The path may be a group's, or the
/// beginning of a pattern.
pub fn folders(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}

/// Formats a type in the characters of an id: a tensor as its element type, `float`, and containers as in
/// `map.int64.float`.
pub fn type_in_id(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Tensor(element) => element.to_string(),
        ValueType::SparseTensor(element) => format!("sparse.{element}"),
        ValueType::Sequence(inner) => format!("seq.{}", type_in_id(inner)),
        ValueType::Optional(inner) => format!("optional.{}", type_in_id(inner)),
        ValueType::Map(key, value) => format!("map.{key}.{}", type_in_id(value)),
    }
}

impl fmt::Display for CaseId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variant.id(self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, group: &str, name: &str, variant: Variant) {
        let parsed = CaseId::parse(id);
        assert_eq!((parsed.group(), parsed.name(), parsed.variant), (group, name, variant), "{id}");
        assert_eq!(parsed.to_string(), id);
    }

    #[test]
    fn an_id_is_split_and_joined() {
        check("ai.onnx/Sum-13/x/T=float", "ai.onnx/Sum-13", "x/T=float", Variant::Runtime);
        check("ai.onnx.ml/Scaler-1/x@constants", "ai.onnx.ml/Scaler-1", "x", Variant::Constants);
        check("onnx-1.14.1/node/test_abs", "onnx-1.14.1/node", "test_abs", Variant::Runtime);
        check("ai.onnx/Abs-13/x/T=float@opset=20", "ai.onnx/Abs-13", "x/T=float@opset=20", Variant::Runtime);
        check("folder/case@dynamic-shapes", "folder", "case", Variant::DynamicShapes);
        check("case", "case", "case", Variant::Runtime);
        check("", "", "", Variant::Runtime);
    }

    #[test]
    fn an_id_names_its_opset() {
        let opset = |id: &str| CaseId::parse(id).opset();
        assert_eq!(opset("ai.onnx/Abs-13/x/T=float@opset=20"), Some(CaseOpset::At(20)));
        assert_eq!(opset("ai.onnx/Abs-13/x/T=float@opset=last@constants"), Some(CaseOpset::Last));
        assert_eq!(opset("ai.onnx/Abs-13/x/T=float"), None);
        assert_eq!(opset("ai.onnx/Abs-13/x/T=float@opset=lasting"), None);
        let at_first = |id| CaseId::parse(id).at_first_opset();
        assert_eq!(at_first("ai.onnx/Abs-13/x/T=float@opset=last@constants"), "ai.onnx/Abs-13/x/T=float");
        assert_eq!(at_first("ai.onnx/Abs-13/x/T=float@opset=lasting"), "ai.onnx/Abs-13/x/T=float@opset=lasting");
        assert_eq!(format!("x{}{}", CaseOpset::At(7), CaseOpset::Last), "x@opset=7@opset=last");
    }

    #[test]
    fn only_a_generated_case_has_an_operator_version() {
        let version = |id: &str| CaseId::parse(id).version().map(|version| version.qualified());
        assert_eq!(version("ai.onnx/Sum-13/x/T=float").as_deref(), Some("ai.onnx/Sum-13"));
        assert_eq!(version("ai.onnx.ml/Scaler-1/x@constants").as_deref(), Some("ai.onnx.ml/Scaler-1"));
        assert_eq!(version("ai.onnx/Abs-13/x/T=float@opset=20").as_deref(), Some("ai.onnx/Abs-13"));
        for id in ["onnx-1.14.1/node/test_abs", "folder/case@dynamic-shapes", "case", ""] {
            assert_eq!(version(id), None, "{id}");
        }
    }

    #[test]
    fn an_operator_version_alone_is_parsed() {
        let id = CaseId::parse("ai.onnx/Sum-13");
        assert_eq!(id.version().unwrap().qualified(), "ai.onnx/Sum-13");
        assert_eq!(id.folders().collect::<Vec<_>>(), ["ai.onnx"]);
        assert_eq!(CaseId::parse("Sum-13/x").version(), None);
    }
}
