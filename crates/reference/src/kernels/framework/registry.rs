//! Table of kernels, and lookup by operator version.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::infer::elements::Elements;
use crate::infer::{NodeView, Shape};
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::spec::{DEFAULT_DOMAIN, OperatorVersion};
use crate::types::ValueType;

/// Implementation of an operator from one version on.
#[derive(Debug)]
pub struct Kernel {
    /// Domain in its canonical spelling.
    domain: &'static str,
    name: &'static str,
    since: u32,
    run: Run,
    shapes: Option<Shapes>,
    elements: Option<fn(&NodeView<'_, '_>) -> Option<Elements>>,
    output_type: Option<fn(&NodeView<'_, '_>, usize) -> Option<ValueType>>,
}

/// Rule for the shapes of outputs.
#[derive(Clone, Copy, Debug)]
enum Shapes {
    /// Rule for the shape of the first output; the shapes of the others are unknown.
    First(fn(&NodeView<'_, '_>) -> Option<Shape>),
    /// Rule for the shapes of all outputs, by position.
    All(fn(&NodeView<'_, '_>) -> Vec<Option<Shape>>),
}

/// Functions of a table row.
#[derive(Debug)]
enum Run {
    /// Operator without accumulation, or without one whose rounding a magnitude bounds.
    Plain(Function),
    /// Operator with separate functions for the value and the magnitude of an accumulation.
    WithMagnitude { value: Function, magnitude: Function },
    /// Operator with one function for both the value and the magnitude.
    Accumulating(fn(&Call<'_>, Accumulate) -> Result),
}

type Function = fn(&Call<'_>) -> Result;

impl Kernel {
    const fn row_of(domain: &'static str, name: &'static str, since: u32, run: Run) -> Kernel {
        Kernel { domain, name, since, run, shapes: None, elements: None, output_type: None }
    }

    /// Adds the rule for the shape of the first output.
    pub(crate) const fn shape(self, rule: fn(&NodeView<'_, '_>) -> Option<Shape>) -> Kernel {
        Kernel { shapes: Some(Shapes::First(rule)), ..self }
    }

    /// Adds the rule for the shapes of all outputs.
    pub(crate) const fn shapes_of_all(self, rule: fn(&NodeView<'_, '_>) -> Vec<Option<Shape>>) -> Kernel {
        Kernel { shapes: Some(Shapes::All(rule)), ..self }
    }

    /// Adds the rule for the elements of the first output, a scalar or vector of integers.
    pub(crate) const fn with_elements(self, rule: fn(&NodeView<'_, '_>) -> Option<Elements>) -> Kernel {
        Kernel { elements: Some(rule), ..self }
    }

    /// Adds the rule for the type of an output by its position, where no type parameter of an input determines it.
    pub(crate) const fn typed(self, rule: fn(&NodeView<'_, '_>, usize) -> Option<ValueType>) -> Kernel {
        Kernel { output_type: Some(rule), ..self }
    }

    /// True if the row has a rule for the shapes of its outputs.
    pub fn infers_shapes(&self) -> bool {
        self.shapes.is_some()
    }

    /// Infers the shapes of the outputs by position, as far as the inputs determine them.
    pub fn shapes(&self, view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
        match self.shapes {
            Some(Shapes::First(rule)) => vec![rule(view)],
            Some(Shapes::All(rule)) => rule(view),
            None => Vec::new(),
        }
    }

    /// Infers the elements of the first output.
    pub fn elements(&self, view: &NodeView<'_, '_>) -> Option<Elements> {
        self.elements?(view)
    }

    /// Infers the type of an output that no type parameter of an input determines.
    pub fn output_type(&self, view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
        self.output_type?(view, position)
    }

    /// Defines an operator of the default domain, from version `since` until the next row.
    pub const fn new(name: &'static str, since: u32, run: Function) -> Kernel {
        Kernel::row_of(DEFAULT_DOMAIN, name, since, Run::Plain(run))
    }

    /// Defines an operator of another domain.
    pub const fn in_domain(domain: &'static str, name: &'static str, since: u32, run: Function) -> Kernel {
        Kernel::row_of(domain, name, since, Run::Plain(run))
    }

    /// Defines an operator that accumulates: one function for the value and for the sum of absolute terms.
    pub(crate) const fn accumulating(
        name: &'static str,
        since: u32,
        run: fn(&Call<'_>, Accumulate) -> Result,
    ) -> Kernel {
        Kernel::row_of(DEFAULT_DOMAIN, name, since, Run::Accumulating(run))
    }

    /// Defines an operator that accumulates, with a separate function for its magnitude.
    pub(crate) const fn with_magnitude(name: &'static str, since: u32, value: Function, magnitude: Function) -> Kernel {
        Kernel::row_of(DEFAULT_DOMAIN, name, since, Run::WithMagnitude { value, magnitude })
    }

    /// True if the kernel has a magnitude.
    pub fn has_magnitude(&self) -> bool {
        !matches!(self.run, Run::Plain(_))
    }

    /// Computes the magnitudes of the outputs, if the kernel accumulates.
    pub fn magnitude(&self, call: &Call<'_>) -> Option<Result> {
        match self.run {
            Run::Plain(_) => None,
            Run::WithMagnitude { magnitude, .. } => Some(magnitude(call)),
            Run::Accumulating(run) => Some(run(call, Accumulate::Magnitude)),
        }
    }

    /// Computes the outputs.
    pub fn run(&self, call: &Call<'_>) -> Result {
        match self.run {
            Run::Plain(run) | Run::WithMagnitude { value: run, .. } => run(call),
            Run::Accumulating(run) => run(call, Accumulate::Value),
        }
    }

    /// Returns the domain, name and first version of the row.
    pub fn row(&self) -> (&'static str, &'static str, u32) {
        (self.domain, self.name, self.since)
    }
}

/// Returns the kernel of an operator version: the row with the greatest version up to it.
pub fn find(version: &OperatorVersion) -> Option<&'static Kernel> {
    static TABLE: OnceLock<HashMap<(&str, &str), Vec<&Kernel>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<_, Vec<&Kernel>> = HashMap::new();
        for kernel in all() {
            table.entry((kernel.domain, kernel.name)).or_default().push(kernel);
        }
        for rows in table.values_mut() {
            rows.sort_by_key(|kernel| kernel.since);
        }
        table
    });
    let rows = table.get(&(version.domain.as_str(), version.name.as_str()))?;
    rows.iter().rev().find(|kernel| kernel.since <= version.since).copied()
}

/// Iterates over the rows of all families.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    crate::kernels::FAMILIES.iter().flat_map(|(_, families)| families.iter().copied().flatten())
}

/// Returns the field of an operator, such as `image`.
pub fn field(domain: &str, name: &str) -> Option<&'static str> {
    let matches = |kernel: &Kernel| kernel.domain == domain && kernel.name == name;
    let mut fields = crate::kernels::FAMILIES.iter();
    fields.find(|(_, families)| families.iter().copied().flatten().any(matches)).map(|(field, _)| *field)
}
