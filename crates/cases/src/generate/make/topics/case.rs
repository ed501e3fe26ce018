//! Cases of topics.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use onnx_conformance_reference::proto::Message as _;

use crate::case::{Case, DataSet, Evidence, Expected, ExpectedOutput, Named, RuleRef};
use crate::compare::Accuracy;
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::make::model::Declared;
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::make::topics::form::FormError;
use crate::generate::make::topics::refused::refusal;
use crate::generate::make::topics::topic::{Family, Planned, Topic};
use crate::generate::plan::catalog::GenerateError;

/// Makes the selected cases of a topic. Models with external data belong to `folder`.
pub fn topic_cases(topic: &Topic, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, GenerateError> {
    let planned = topic.plan()?.into_iter().filter(|planned| wanted(&planned.id));
    let cases = planned.map(|planned| topic.case(&planned, &topic.draft(&planned)?, folder));
    let refusals = topic.refusals().filter(|planned| wanted(&planned.id));
    cases.chain(refusals.map(|planned| refusal(topic, &planned, folder))).collect()
}

impl Topic {
    /// Makes the case of a graph.
    pub(crate) fn case(&self, planned: &Planned<'_>, draft: &GraphDraft, folder: &Path) -> Result<Case, GenerateError> {
        let (form, pattern) = (&planned.form, planned.pattern);
        let values = self.values(planned, draft)?;
        let declared: Vec<Declared> = values.iter().map(|named| Declared::new(&named.name, &named.value)).collect();
        let model = form.model(&planned.row, draft, self.family.graph_name(), &declared);
        let mut model = model.map_err(|error| self.error(planned, &error))?;
        if self.family == Family::Format {
            model.doc_string = Some(pattern.says.clone());
        }
        let outputs = values.iter().map(|value| self.expected(planned, value));
        let outputs = outputs.collect::<Result<Vec<_>, GenerateError>>()?;
        let rule =
            RuleRef { id: pattern.name.clone(), says: pattern.says.clone(), place: self.location(&pattern.name) };
        let data = DataSet { inputs: draft.supplied(), outputs };
        let data = if form.twice.unwrap_or_default() { vec![data.clone(), data] } else { vec![data] };
        let mut case = Case {
            // The sentence about the format is the documentation of the model.
            rule: (self.family == Family::Graphs).then_some(rule),
            note: planned.note().to_owned(),
            is_edge: planned.is_edge(),
            level: planned.level(),
            folder: form.is_outside().then(|| folder.to_owned()),
            ..Case::new(planned.id.clone(), model.encode_to_vec().into(), data)
        };
        for name in form.outputs.keys().filter(|_| planned.context.is_none()) {
            case.confirm_output(name, Evidence::Literal);
        }
        Ok(case)
    }

    /// Returns the values of the outputs: the results of a run, replaced by values in the file where it has some.
    fn values(&self, planned: &Planned<'_>, draft: &GraphDraft) -> Result<Vec<Named>, GenerateError> {
        let form = &planned.form;
        let written = |name: &String| {
            let value = form.expected_value(name, &planned.row).map_err(|error| self.error(planned, &error))?;
            Ok(value.filter(|_| planned.context.is_none()))
        };
        let written = draft.outputs.iter().map(written).collect::<Result<Vec<_>, GenerateError>>()?;
        if self.family == Family::Graphs && form.model.is_none() {
            let refused = |reason: String| GenerateError::Refused { id: planned.id.clone(), reason };
            let computed = draft.run().map_err(refused)?;
            return Ok(written
                .into_iter()
                .zip(computed)
                .map(|(written, computed)| written.unwrap_or(computed))
                .collect());
        }
        let named = written.into_iter().zip(&draft.outputs);
        named
            .map(|(value, name)| value.ok_or_else(|| self.error(planned, &FormError::NoOutput(name.clone()))))
            .collect()
    }

    /// Returns the expectation for an output.
    fn expected(&self, planned: &Planned<'_>, named: &Named) -> Result<ExpectedOutput, GenerateError> {
        let error = |message: &dyn fmt::Display| self.error_of(planned, None, message);
        let form = &planned.form;
        let element = named.value.value_type().element_type();
        let rule = form.accuracy.as_ref().unwrap_or(&AccuracyFile::Default);
        let resolved = rule.resolve(element, &BTreeMap::default()).map_err(|reason| error(&reason))?;
        let accuracy = resolved.try_map_bound(|_| Err(())).map_err(|()| {
            error(&"the accuracy of a graph is exact, `ulp`, `abs` or `roundoffs`, without `through`: terms are only known for a single node")
        })?;
        let has_zero_sign = form.zero_sign.unwrap_or_default();
        let accuracy = match accuracy {
            Accuracy::Exact if has_zero_sign => Accuracy::ExactZeroSign,
            accuracy if !element.is_float() && has_zero_sign => accuracy,
            _ if has_zero_sign => return Err(error(&"zero_sign requires an exact accuracy")),
            _ if !element.is_float() => Accuracy::Exact,
            accuracy => accuracy,
        };
        Ok(ExpectedOutput { name: named.name.clone(), expected: Expected::Value(named.value.clone(), accuracy) })
    }
}
