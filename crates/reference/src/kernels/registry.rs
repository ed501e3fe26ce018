//! Finding the kernel of an operator version.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::kernels::call::{Call, Result};
use crate::spec::{DEFAULT_DOMAIN, OperatorVersion};

/// The implementation of an operator from one version on.
#[derive(Debug)]
pub struct Kernel {
    /// The domain in its canonical spelling.
    domain: &'static str,
    name: &'static str,
    since: u32,
    run: fn(&Call<'_>) -> Result,
    magnitude: Option<fn(&Call<'_>) -> Result>,
}

impl Kernel {
    /// The implementation of an operator of ONNX's own domain, from version `since` until the next row.
    pub const fn new(name: &'static str, since: u32, run: fn(&Call<'_>) -> Result) -> Kernel {
        Kernel { domain: DEFAULT_DOMAIN, name, since, run, magnitude: None }
    }

    /// The implementation of an operator of another domain.
    pub const fn of(domain: &'static str, name: &'static str, since: u32, run: fn(&Call<'_>) -> Result) -> Kernel {
        Kernel { domain, name, since, run, magnitude: None }
    }

    /// Gives the kernel its magnitude: the same accumulation over absolute terms, which bounds what rounding each
    /// step may do to the outputs.
    #[must_use]
    pub const fn with_magnitude(self, magnitude: fn(&Call<'_>) -> Result) -> Kernel {
        Kernel { magnitude: Some(magnitude), ..self }
    }

    /// Whether the kernel has a magnitude.
    pub fn has_magnitude(&self) -> bool {
        self.magnitude.is_some()
    }

    /// Computes the magnitudes of the outputs, where the kernel accumulates.
    pub fn magnitude(&self, call: &Call<'_>) -> Option<Result> {
        self.magnitude.map(|magnitude| magnitude(call))
    }

    /// Computes the outputs.
    pub fn run(&self, call: &Call<'_>) -> Result {
        (self.run)(call)
    }

    /// The domain, name and first version of the row.
    pub fn row(&self) -> (&'static str, &'static str, u32) {
        (self.domain, self.name, self.since)
    }
}

/// The kernel of an operator version: the row with the greatest version up to it.
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

/// Every row of every family.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    super::FAMILIES.iter().flat_map(|family| family.iter())
}
