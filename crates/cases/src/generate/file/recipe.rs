//! Recipes: cases that several operators share, and their expansion into the cases of one.

use miette::Diagnostic;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::Deserialize;

use crate::generate::file::op_file::{CaseFile, OperatorFile};
use crate::generate::file::ordered::Ordered;
use crate::generate::file::type_list::TypeGroups;
use crate::generate::file::written_out::{ExpansionError, refuse_anchors, resolve};
use crate::generate::file::yaml_text::YamlText;

/// `specs/recipes.yaml`: cases that several operators share, by the name of the recipe.
///
/// They name parameters by position: `$0` is the first input of the operator's newest version, `$1` the second,
/// `$output` the first output and `$output1` the second.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecipesFile {
    /// The recipes.
    pub recipes: Ordered<RecipeFile>,
}

/// Cases that several operators share.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecipeFile {
    /// The operators that it suits.
    pub summary: String,
    /// The cases of no constraint.
    #[serde(default)]
    pub cases: Vec<CaseFile>,
    /// The cases of a constraint, by its id, which every operator of the recipe must define.
    #[serde(default)]
    pub constraints: Ordered<RecipeConstraintFile>,
}

/// The cases of a recipe for one constraint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecipeConstraintFile {
    /// The cases.
    pub cases: Vec<CaseFile>,
}

/// The recipes and their text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recipes {
    path: String,
    text: String,
    file: RecipesFile,
}

/// A recipe that does not suit an operator, with the place of use and the place in the recipe.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct RecipeError {
    message: String,
    #[related]
    places: Vec<YamlError>,
}

impl Recipes {
    /// Reads the text of `specs/recipes.yaml`.
    pub(crate) fn read(source: YamlText<'_>, groups: &TypeGroups) -> Result<Recipes, Box<YamlError>> {
        refuse_anchors(source)?;
        let mut file: RecipesFile = yaml::read(source.path, source.text)?;
        for (name, recipe) in &mut file.recipes.0 {
            for (id, constraint) in &mut recipe.constraints.0 {
                recipe.cases.extend(std::mem::take(&mut constraint.cases).into_iter().map(|mut case| {
                    case.constraint = Some(id.clone());
                    case
                }));
            }
            for case in &mut recipe.cases {
                resolve(case, groups).map_err(|error| source.error_at_case(&case.name, error.to_string(), None))?;
            }
            if let Some(case) = recipe.cases.iter().find(|case| !case.uses.is_empty()) {
                let message = format!("the recipe '{name}' uses another recipe");
                let help = Some("copy its cases, or let operators use both recipes".to_owned());
                let name = case.uses.first().map_or("", String::as_str);
                return Err(source.error(place_of_use(source.text, name), message, help));
            }
        }
        Ok(Recipes { path: source.path.to_owned(), text: source.text.to_owned(), file })
    }

    /// Inserts the cases of recipes in place of their uses.
    pub(crate) fn expand(
        &self,
        source: YamlText<'_>,
        file: OperatorFile,
        newest: &OpSpec,
    ) -> Result<OperatorFile, Box<YamlError>> {
        let mut cases = Vec::new();
        for case in file.cases {
            for name in &case.uses {
                let Some(recipe) = self.file.recipes.get(name) else {
                    let message = format!("there is no recipe '{name}'");
                    let known: Vec<&str> = self.file.recipes.keys().collect();
                    let help = format!("specs/recipes.yaml has {}", known.join(", "));
                    return Err(source.error(place_of_use(source.text, name), message, Some(help)));
                };
                for shared in &recipe.cases {
                    let mut made = shared.clone();
                    substitute(&mut made, newest)
                        .map_err(|error| source.error(place_of_use(source.text, name), error.to_string(), None))?;
                    made.constraint = made.constraint.or_else(|| case.constraint.clone());
                    made.recipe = Some(name.clone());
                    cases.push(made);
                }
            }
            if case.uses.is_empty() {
                cases.push(case);
            }
        }
        Ok(OperatorFile { cases, ..file })
    }

    /// Points at a case of a recipe, with the fix for its mistake.
    pub(crate) fn point_at_case(&self, case: &str, help: Option<String>) -> Box<YamlError> {
        let source = YamlText::whole(&self.path, &self.text);
        source.error_at_case(case, format!("its case '{case}' is defined here"), help)
    }
}

impl RecipeError {
    /// Creates an error about the use of a recipe in a file. `case` points at the case of the recipe.
    pub(crate) fn new(source: YamlText<'_>, recipe: &str, message: &str, case: YamlError) -> RecipeError {
        let used = format!("the recipe '{recipe}' is used here");
        RecipeError {
            message: format!("{}: recipe '{recipe}': {message}", source.path),
            places: vec![*source.error(place_of_use(source.text, recipe), used, None), case],
        }
    }
}

/// Returns the line and column, counted from 1, of a name after `use:`.
fn place_of_use(text: &str, name: &str) -> (usize, usize) {
    let place = text.lines().enumerate().find_map(|(line, content)| {
        let list = content.find("use:")? + "use:".len();
        let mut from = list;
        loop {
            let at = from + content.get(from..)?.find(name)?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let before = content.get(..at)?.chars().next_back().is_some_and(is_word);
            let after = content.get(at + name.len()..)?.chars().next().is_some_and(is_word);
            if !before && !after {
                return Some((line + 1, at + 1));
            }
            from = at + 1;
        }
    });
    place.unwrap_or((1, 1))
}

/// Replaces the positions in a case by the operator's own names.
fn substitute(case: &mut CaseFile, newest: &OpSpec) -> Result<(), ExpansionError> {
    let own = |name: &mut String| -> Result<(), ExpansionError> {
        let Some(position) = name.strip_prefix('$') else { return Ok(()) };
        let (formals, number, kind) = match position.strip_prefix("output") {
            Some(number) => (&newest.outputs, number, "output"),
            None => (&newest.inputs, position, "input"),
        };
        // The number after a dot is the index of a value of a variadic parameter.
        let (number, rest) = number.split_once('.').map_or((number, None), |(number, rest)| (number, Some(rest)));
        let at = if number.is_empty() { Some(0) } else { number.parse::<usize>().ok() };
        let formal = at.and_then(|at| formals.get(at));
        let missing = || ExpansionError::NoParameter { version: newest.version.clone(), kind, name: name.clone() };
        let formal = formal.ok_or_else(missing)?;
        *name = rest.map_or_else(|| formal.name.clone(), |rest| format!("{}.{rest}", formal.name));
        Ok(())
    };
    case.inputs.0.iter_mut().try_for_each(|(name, _)| own(name))?;
    case.set.0.iter_mut().try_for_each(|(name, _)| own(name))?;
    case.request.iter_mut().flatten().try_for_each(own)?;
    for (name, output) in &mut case.outputs.0 {
        own(name)?;
        output.check.iter_mut().flat_map(|check| check.input_names()).try_for_each(own)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_use_is_the_name_itself() {
        let text = "cases:\n  - use: [unary-more, unary]\n";
        assert_eq!(place_of_use(text, "unary"), (2, 23));
        assert_eq!(place_of_use(text, "unary-more"), (2, 11));
    }
}
