//! One page of what an operator version is: signature, formula, shape, changes, and rules with examples.

use std::fmt::Write as _;

use onnx_conformance_cases::generate::{ConstraintFile, OperatorCatalog, OperatorFile, RuleOf};
use onnx_conformance_harness::escape::line;
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion, Specs};

use crate::colours::{BOLD, DIM};
use crate::operator::{DescribeError, changes, head, parameters};

/// Maximum number of examples of a rule. The names of its other cases are listed.
const EXAMPLES: usize = 2;

/// Maximum number of lines of an example.
const LINES: usize = 4;

/// Prints the page of a version in colour.
pub fn specify(version: &OperatorVersion) -> Result<String, DescribeError> {
    let specs = Specs::embedded();
    let (spec, catalog) = (specs.get(version)?, OperatorCatalog::embedded());
    let (file, source) = catalog.get(version)?;
    let mut text = head(version, file)?;
    for (title, content) in [("formula", &file.formula), ("shape", &file.shape), ("note", &file.note)] {
        if !content.is_empty() {
            let _ = writeln!(text, "\n{BOLD}{title}{BOLD:#}");
            content.lines().for_each(|content| {
                let _ = writeln!(text, "  {}", line(content));
            });
        }
    }
    parameters(&mut text, spec);
    let sinces: Vec<u32> = specs.versions(&version.domain, &version.name).collect();
    changes(&mut text, version, &sinces)?;
    let page = Page { version, file, source };
    for (parameter, rules) in page.groups(spec) {
        let _ = writeln!(text, "\n{BOLD}rules about {parameter}{BOLD:#}");
        for (id, rule) in rules {
            page.rule(&mut text, id, rule);
        }
    }
    Ok(text)
}

/// Sources of a page.
struct Page<'a> {
    version: &'a OperatorVersion,
    file: &'a OperatorFile,
    source: &'a str,
}

/// A rule and its id.
type Rule<'a> = (&'a str, &'a ConstraintFile);

impl<'a> Page<'a> {
    /// Returns the rules of the version by the first parameter that each is about, in the order of the signature.
    fn groups(&self, spec: &'a OpSpec) -> Vec<(&'a str, Vec<Rule<'a>>)> {
        let applies = |rule: &ConstraintFile| match rule.rule_of {
            None => true,
            Some(RuleOf::From(since)) => since <= self.version.since,
            Some(RuleOf::Before(since)) => self.version.since < since,
        };
        let names = spec.inputs.iter().map(|formal| formal.name.as_str());
        let names = names.chain(spec.attributes.keys().map(String::as_str));
        let names = names.chain(spec.outputs.iter().map(|formal| formal.name.as_str())).chain(["types"]);
        let mut groups: Vec<(&str, Vec<Rule<'_>>)> = vec![("all of it", Vec::new())];
        groups.extend(names.map(|name| (name, Vec::new())));
        for (id, rule) in self.file.constraints.0.iter().filter(|(_, rule)| applies(rule)) {
            let position = rule.about.iter().find_map(|name| groups.iter().position(|(group, _)| group == name));
            if let Some((_, rules)) = groups.get_mut(position.unwrap_or_default()) {
                rules.push((id, rule));
            }
        }
        groups.retain(|(_, rules)| !rules.is_empty());
        groups
    }

    /// Adds a rule with examples. The formula is at the head of the page already.
    fn rule(&self, text: &mut String, id: &str, rule: &ConstraintFile) {
        let since = self.version.since;
        let is_own = |constraint: &Option<String>| constraint.as_deref() == Some(id);
        let cases = self.file.cases.iter().filter(|case| is_own(&case.constraint) && case.covers(since));
        let cases: Vec<&str> = cases.map(|case| case.name.as_str()).collect();
        let refusals = self.file.refuse.iter().filter(|case| is_own(&case.constraint) && case.covers(since));
        let refusals: Vec<&str> = refusals.map(|case| case.name.as_str()).collect();
        // The formula is at the head of the page.
        let says = if rule.says == self.file.formula { "" } else { rule.says.as_str() };
        let _ = writeln!(text, "{}", format!("  {id}  {}", line(says)).trim_end());
        for content in [rule.note.as_str()].into_iter().filter(|note| !note.is_empty()) {
            let _ = writeln!(text, "      {}", line(content));
        }
        for (title, names) in [("shown by", &cases), ("refused", &refusals)] {
            if !names.is_empty() {
                let _ = writeln!(text, "      {title}: {}", line(&names.join(", ")));
            }
        }
        let examples = cases.iter().filter_map(|name| entry(self.source, "cases:", name));
        let examples = examples.filter(|lines| lines.len() <= LINES).take(EXAMPLES);
        let refused = refusals.iter().filter_map(|name| entry(self.source, "refuse:", name));
        for lines in examples.chain(refused.filter(|lines| lines.len() <= LINES).take(1)) {
            for content in lines {
                let _ = writeln!(text, "      {DIM}{}{DIM:#}", line(content));
            }
        }
    }
}

/// Returns the lines of a case or refusal of this name in the list under a key, without the indentation of the first.
fn entry<'a>(source: &'a str, list: &str, name: &str) -> Option<Vec<&'a str>> {
    let mut key = "";
    let mut lines = source.lines().peekable();
    while let Some(current) = lines.next() {
        let content = current.trim_start();
        if content.ends_with(':') {
            key = content;
        }
        let is_named = ["- {name: ", "- name: "]
            .iter()
            .filter_map(|start| content.strip_prefix(start))
            .any(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '}'])));
        if key != list || !is_named {
            continue;
        }
        let indent = current.len() - content.len();
        let mut found = vec![content];
        while let Some(next) = lines.next_if(|next| next.len() - next.trim_start().len() > indent) {
            found.push(next.get(indent..).unwrap_or_default());
        }
        return Some(found);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn an_example_is_a_case_of_its_list() {
        let source = "constraints:\n  C1:\n    cases:\n      - {name: ab, x: 1}\n      - {name: a,\n         x: 2}\n    refuse:\n      - {name: a, x: 3}\n";
        assert_eq!(entry(source, "cases:", "a"), Some(vec!["- {name: a,", "   x: 2}"]));
        assert_eq!(entry(source, "refuse:", "a"), Some(vec!["- {name: a, x: 3}"]));
        assert_eq!(entry(source, "cases:", "b"), None);
    }
}
