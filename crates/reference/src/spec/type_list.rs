//! Lists of types in messages.

use crate::types::ValueType;

/// Minimum number of types of one form that are merged into one, with the element types between bars.
const MANY: usize = 4;

/// Lists types; many of one form become one: `seq(tensor(bool|double|float|int64))`.
pub fn type_list(types: &[ValueType]) -> String {
    let mut forms: Vec<((String, String), Vec<&ValueType>)> = Vec::new();
    for value_type in types {
        let form = form(value_type);
        match forms.iter_mut().find(|(other, _)| *other == form) {
            Some((_, members)) => members.push(value_type),
            None => forms.push((form, vec![value_type])),
        }
    }
    let written = forms.iter().map(|((open, close), members)| {
        if members.len() < MANY {
            return members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        }
        let elements: Vec<&str> = members.iter().map(|member| member.element_type().name()).collect();
        format!("{open}{}{close}", elements.join("|"))
    });
    written.collect::<Vec<_>>().join(", ")
}

/// The text before and after the element type.
fn form(value_type: &ValueType) -> (String, String) {
    let text = value_type.to_string();
    let element = value_type.element_type().name();
    let (open, close) = text.rsplit_once(element).unwrap_or((&text, ""));
    (open.to_owned(), close.to_owned())
}
