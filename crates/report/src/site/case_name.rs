//! Parser of case names (ids without the operator version): behaviour, alternatives, types.

use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;

/// Name of a case: `refuse/empty`, `slice/start=-1,end=10/T=float`, `literal/T=float@opset=20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaseName<'a> {
    /// The behaviour, without alternatives and types: `slice`, `large/many_elements`, `refuse/empty`.
    pub(crate) behaviour: &'a str,
    /// Types of the type parameters in the name, in the spelling of ids.
    pub(crate) types: Vec<(&'a str, &'a str)>,
}

impl<'a> CaseName<'a> {
    /// Parses a name.
    pub(crate) fn parse(name: &'a str, spec: &OpSpec) -> CaseName<'a> {
        let plain = name.split_once('@').map_or(name, |(plain, _)| plain);
        let end = behaviour_end(plain);
        let (behaviour, rest) = plain.split_at(end);
        let last = rest.rsplit('/').next().unwrap_or_default();
        // Commas also separate alternatives, and `=` their names from their values.
        let pairs: Option<Vec<(&str, &str)>> = last.split(',').map(|pair| pair.split_once('=')).collect();
        let is_parameter = |(name, _): &(&str, &str)| spec.types.contains_key(*name);
        let types = pairs.filter(|pairs| pairs.iter().all(is_parameter)).unwrap_or_default();
        let is_refusal = behaviour.starts_with("refuse/");
        CaseName { behaviour, types: if is_refusal { Vec::new() } else { types } }
    }
}

/// Returns the end position of the behaviour name.
fn behaviour_end(plain: &str) -> usize {
    let mut ends = plain.match_indices('/').map(|(at, _)| at).chain([plain.len()]);
    let first = ends.next().unwrap_or(plain.len());
    let has_folder = matches!(plain.get(..first), Some("large" | "refuse"));
    if has_folder { ends.next().unwrap_or(plain.len()) } else { first }
}

/// Formats a type as in ids: a tensor by its element type, containers with characters that ids allow.
pub(crate) fn type_label(value_type: &ValueType) -> String {
    match value_type {
        ValueType::Tensor(element) => element.to_string(),
        ValueType::SparseTensor(element) => format!("sparse.{element}"),
        ValueType::Sequence(inner) => format!("seq.{}", type_label(inner)),
        ValueType::Optional(inner) => format!("optional.{}", type_label(inner)),
        ValueType::Map(key, value) => format!("map.{key}.{}", type_label(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::spec::Specs;

    #[test]
    fn a_name_is_taken_apart() {
        let spec = Specs::embedded().find("", "Cast", 24).unwrap();
        let check = |name: &str, behaviour: &str, types: &[(&str, &str)]| {
            assert_eq!(CaseName::parse(name, spec), CaseName { behaviour, types: types.to_vec() }, "{name}");
        };
        check("literal", "literal", &[]);
        check("literal/T1=float,T2=int8", "literal", &[("T1", "float"), ("T2", "int8")]);
        check("to/to=float8e4m3fn/T1=float", "to", &[("T1", "float")]);
        check("to/axes=0,1/T1=float@opset=20", "to", &[("T1", "float")]);
        check("to/axes=0,1", "to", &[]);
        check("large/many/T1=float", "large/many", &[("T1", "float")]);
        check("refuse/T1=string", "refuse/T1=string", &[]);
        check("refuse/empty/x=1", "refuse/empty", &[]);
    }
}
