//! Profiles: selections of cases with a name.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs};
use onnx_conformance_reference::types::ValueType;

use crate::case::CaseId;
use crate::suite::glob::FilterError;
use crate::suite::patterns::{Patterns, is_in};

/// Beginning of a pattern that names a profile.
pub(super) const PROFILE: char = '@';

/// The patterns of [`Profile::Values`].
static VALUES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/values.txt"));

/// The ids of [`Profile::Pr`], compressed.
static PR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pr.z"));

/// A selection of cases with a name, fixed for a version of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Profile {
    /// About 200 cases that show whether a binding passes values of every type unchanged.
    Values,
    /// About 6,000 cases to run for each change of a runtime: every operator version and type. They detect most of what
    /// the whole suite detects.
    Pr,
    /// The cases that use float wherever their operator version allows it, without those with many elements.
    Float,
    /// The whole suite.
    Full,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] = [Profile::Values, Profile::Pr, Profile::Float, Profile::Full];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Values => "values",
            Profile::Pr => "pr",
            Profile::Float => "float",
            Profile::Full => "full",
        }
    }

    /// Returns the profile of a name.
    pub fn named(name: &str) -> Result<Profile, FilterError> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name).ok_or_else(|| {
            let known: Vec<String> =
                Profile::ALL.iter().map(|profile| format!("{PROFILE}{}", profile.name())).collect();
            FilterError {
                pattern: format!("{PROFILE}{name}"),
                reason: format!("there is no such profile; the profiles are {}", known.join(", ")),
            }
        })
    }

    /// Returns the filter that selects the profile: `@pr`.
    pub fn pattern(self) -> String {
        format!("{PROFILE}{}", self.name())
    }

    /// Returns true if a case is in the profile.
    pub fn includes(self, id: &str) -> bool {
        match self {
            Profile::Values => values().matches(id),
            Profile::Pr => pr().matches(id),
            Profile::Float => is_of_float(id),
            Profile::Full => true,
        }
    }

    /// Returns true if some case of the group of this name may be in the profile.
    pub(super) fn may_include_from(self, group: &str) -> bool {
        match self {
            Profile::Values => values().may_match_from(group),
            Profile::Pr => pr().may_match_from(group),
            Profile::Float => {
                group.parse::<OperatorVersion>().is_ok() || OUTSIDE_OPERATORS.iter().any(|of| is_in(group, of))
            }
            Profile::Full => true,
        }
    }
}

/// Groups of cases in [`Profile::Float`] whose ids have no operator version.
const OUTSIDE_OPERATORS: [&str; 2] = ["graph", "ir"];

fn values() -> &'static Patterns {
    static READ: OnceLock<Patterns> = OnceLock::new();
    READ.get_or_init(|| patterns(VALUES))
}

fn pr() -> &'static Patterns {
    static READ: OnceLock<Patterns> = OnceLock::new();
    READ.get_or_init(|| {
        let mut text = String::new();
        let read = ZlibDecoder::new(PR).read_to_string(&mut text);
        patterns(if read.is_ok() { &text } else { "" })
    })
}

/// Parses the lines of an embedded list. A test checks that each is a pattern.
fn patterns(text: &str) -> Patterns {
    let mut patterns = Patterns::default();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let _ = patterns.add(line);
    }
    patterns
}

/// Returns true if a case uses float wherever its operator version allows it, and has few elements. Cases of graphs name their types
/// without an operator version; each floating-point type that such a case names is float.
fn is_of_float(id: &str) -> bool {
    let parsed = CaseId::parse(id);
    if parsed.is_large() {
        return false;
    }
    if let Some(parameters) = float_parameters(parsed.group()) {
        let may_be = |parameter: &str| parameters.contains(&parameter);
        return parsed.types().all(|(parameter, named)| named == ElementType::Float.name() || !may_be(parameter));
    }
    let is_other =
        |named: &str| named.parse().is_ok_and(|named: ElementType| named.is_float() && named != ElementType::Float);
    OUTSIDE_OPERATORS.iter().any(|group| is_in(id, group)) && parsed.types().all(|(_, named)| !is_other(named))
}

/// Returns the type parameters of an operator version that allow float, or `None` if there is no such version. Each spec is read once.
fn float_parameters(version: &str) -> Option<&'static [&'static str]> {
    static BY_VERSION: OnceLock<HashMap<String, OnceLock<Vec<&'static str>>>> = OnceLock::new();
    let all = BY_VERSION
        .get_or_init(|| Specs::embedded().all().map(|version| (version.qualified(), OnceLock::new())).collect());
    let parameters = all.get(version)?.get_or_init(|| {
        let found: Option<OperatorVersion> = version.parse().ok();
        let types = found.and_then(|version| Some(&Specs::embedded().get(&version).ok()?.types));
        let allows = |types: &[ValueType]| types.contains(&ValueType::Tensor(ElementType::Float));
        types.into_iter().flatten().filter(|(_, types)| allows(types)).map(|(name, _)| name.as_str()).collect()
    });
    Some(parameters)
}

/// Returns true if each type in an id is float, or belongs to a parameter that does not allow float.
pub fn is_in_float(spec: &OpSpec, id: CaseId<'_>) -> bool {
    is_in_type(spec, id, ElementType::Float)
}

/// Returns true if each type in an id is this one, or belongs to a parameter that does not allow it.
pub fn is_in_type(spec: &OpSpec, id: CaseId<'_>, element: ElementType) -> bool {
    let wanted = ValueType::Tensor(element);
    let may_be = |parameter: &str| spec.types.get(parameter).is_some_and(|types| types.contains(&wanted));
    id.types().all(|(parameter, named)| named == element.name() || !may_be(parameter))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::suite::{Filter, Generated, Suite};

    #[test]
    fn every_line_of_a_list_selects_a_case() {
        let suite = Suite::project(None, Generated::embedded()).unwrap();
        let ids: BTreeSet<String> = suite.ids(&Filter::default()).unwrap().into_iter().collect();
        for line in VALUES.lines().filter(|line| !line.starts_with('#')) {
            let filter = Filter::new(&[line]).unwrap();
            assert!(ids.iter().any(|id| filter.matches(id)), "profiles/values.txt: '{line}' selects no case");
        }
        let values = ids.iter().filter(|id| Profile::Values.includes(id)).count();
        assert!((150..=250).contains(&values), "values has {values} cases");
        let gone: Vec<&String> = pr_ids().iter().filter(|id| !ids.contains(*id)).collect();
        assert!(gone.is_empty(), "profiles/pr.txt has cases that do not exist; run `cargo xtask profile`: {gone:?}");
        let pr = ids.iter().filter(|id| Profile::Pr.includes(id)).count();
        assert_eq!(pr, pr_ids().len(), "each line is a case");
        assert!((5_500..=6_500).contains(&pr), "pr has {pr} cases");
    }

    fn pr_ids() -> &'static Vec<String> {
        static IDS: OnceLock<Vec<String>> = OnceLock::new();
        IDS.get_or_init(|| {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/profiles/pr.txt");
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        })
    }

    #[test]
    fn every_operator_version_is_in_the_profile_of_changes() {
        let covered: BTreeSet<&str> = pr_ids().iter().map(|id| CaseId::parse(id).group()).collect();
        let missing: Vec<String> = Specs::embedded()
            .all()
            .map(|version| version.qualified())
            .filter(|version| !covered.contains(version.as_str()))
            .collect();
        assert!(missing.is_empty(), "run `cargo xtask profile`; no case of {missing:?}");
    }

    #[test]
    fn a_case_is_of_float_where_no_type_is_another_that_may_be() {
        for (id, expected) in [
            ("ai.onnx/Add-13/broadcast/A=2x1x3,B=4x1/T=float", true),
            ("ai.onnx/Add-13/broadcast/A=2x1x3,B=4x1/T=double", false),
            ("ai.onnx/Gather-13/known_values/T=float,Tind=int64", true),
            ("ai.onnx/And-7/known_values/T=bool", true),
            ("ai.onnx/Add-14/large/beyond_65536/A=70001,B=70001/T=float", false),
            ("graph/wrapped/ai.onnx/Add-14/large/beyond_65536/A=70001,B=70001/T=float", false),
            ("graph/wrapped/ai.onnx/Add-14/broadcast/A=2x1x3,B=4x1/T=float", true),
            ("ai.onnx/Add-2/broadcast/T=float", false),
            ("graph/clips/two_clips/near/nan/T=double", false),
            ("graph/clips/two_clips/good", true),
            ("ir/encodings/raw/T=int4", true),
            ("ir/encodings/raw/T=float16", false),
            ("onnx-1.14.1/node/test_add", false),
        ] {
            assert_eq!(Profile::Float.includes(id), expected, "{id}");
            assert!(Profile::Full.includes(id));
        }
    }
}
