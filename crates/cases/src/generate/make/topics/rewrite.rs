//! Rewrites: graphs after an optimization that is correct for the good form of a pattern and wrong for its near misses.

use std::path::Path;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, Named};
use crate::compare::{Accuracy, compare};
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::make::topics::topic::{Planned, Topic};
use crate::generate::plan::catalog::GenerateError;

/// Outputs of a rewritten graph, next to those that its case expects.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The case.
    pub id: String,
    /// True if the outputs must meet the expectation: those of a good form. False for a near miss.
    pub must_agree: bool,
    /// The first difference from the expected outputs, or the error of the rewritten graph. `None` if all outputs meet
    /// the expectation.
    pub difference: Option<String>,
}

/// Applies the rewrite of each pattern to its good form and to its near misses, and compares the outputs with the
/// expected ones. In a context, the outputs of the good form itself are compared.
pub fn rewrites(file: &Topic) -> Result<Vec<Rewritten>, GenerateError> {
    let mut results = Vec::new();
    for planned in &file.plan()? {
        let draft = file.draft(planned)?;
        let Some(rewritten) = rewritten(file, planned, &draft)? else { continue };
        let difference = match rewritten.run() {
            Err(error) => Some(error),
            Ok(values) => first_difference(&file.case(planned, &draft, Path::new(""))?, &values),
        };
        let must_agree = planned.context.map_or_else(|| planned.near.is_none(), |context| !context.changes_outputs());
        results.push(Rewritten { id: planned.id.clone(), must_agree, difference });
    }
    Ok(results)
}

/// Finds exact cases whose outputs are rounded: with the same inputs, the graph computes other numbers in double. Cases
/// without a type parameter that is a narrower float are not checked.
pub fn rounded(file: &Topic) -> Result<Vec<(String, String)>, GenerateError> {
    let mut found = Vec::new();
    for planned in file.plan()?.iter().filter(|planned| planned.context.is_none() && planned.form.accuracy.is_none()) {
        let Some(wide_row) = planned.row.widened() else { continue };
        let draft = file.draft(planned)?;
        let wide = file.draft(&Planned { row: wide_row, ..planned.clone() })?;
        let all_widened = |values: &[Named]| values.iter().filter_map(widened).collect();
        let wide = GraphDraft { inputs: all_widened(&draft.inputs), weights: all_widened(&draft.weights), ..wide };
        let (Ok(values), Ok(wide_values)) = (draft.run(), wide.run()) else { continue };
        let pairs = values.iter().filter_map(widened).zip(&wide_values);
        for (narrow, wide) in pairs.filter(|(_, wide)| wide.value.as_tensor().is_some()) {
            if let Err(difference) = compare(&wide.value, &narrow.value, &Accuracy::Exact) {
                found.push((planned.id.clone(), format!("output '{}' in double: {}", wide.name, difference.message)));
            }
        }
    }
    Ok(found)
}

/// Returns a value with floats as double.
fn widened(named: &Named) -> Option<Named> {
    let tensor = named.value.as_tensor()?;
    if !tensor.element_type().is_float() {
        return Some(named.clone());
    }
    let wide = Tensor::of_floats(ElementType::Double, tensor.shape(), &tensor.floats()).ok()?;
    Some(Named { name: named.name.clone(), value: Value::Tensor(wide) })
}

/// Returns the graph to compare with a case. `None` if a form has no rewrite.
fn rewritten(file: &Topic, planned: &Planned<'_>, draft: &GraphDraft) -> Result<Option<GraphDraft>, GenerateError> {
    if planned.context.is_some() {
        return file.draft(&Planned { context: None, ..planned.clone() }).map(Some);
    }
    planned.form.rewritten_draft(&planned.row, draft).map_err(|error| file.error(planned, &error))
}

/// Compares the outputs by position. Those that only one side has are not compared.
fn first_difference(case: &Case, values: &[Named]) -> Option<String> {
    let outputs = case.data.iter().flat_map(|data| &data.outputs);
    let mut compared = outputs.zip(values).map(|(output, actual)| output.expected.check(&actual.value));
    compared.find_map(|result| result.err().map(|difference| difference.message))
}
