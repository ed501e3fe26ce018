//! Files of cases, by their path below `specs/`. build.rs includes this file, too.

/// Kind of a file of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseFileKind {
    /// `<domain>/<Op>/op.yaml`, with the facts about the operator.
    Main,
    /// `<domain>/<Op>/cases/<name>.yaml`, with more of its rules.
    Part,
}

/// Returns the operator whose cases are in the file at a path below `specs/`, and the kind of the file. Other files have
/// no cases. The path has slashes on every system.
pub fn case_file(path: &str) -> Option<(&str, CaseFileKind)> {
    let (folder, file) = path.rsplit_once('/')?;
    let (operator, kind) = match file.strip_suffix(".yaml").filter(|name| !name.is_empty())? {
        "op" => (folder, CaseFileKind::Main),
        _ => (folder.strip_suffix("/cases")?, CaseFileKind::Part),
    };
    let (domain, name) = operator.split_once('/')?;
    (!domain.is_empty() && !name.is_empty() && !name.contains('/')).then_some((operator, kind))
}
