//! List of fuzz targets.

use std::time::Duration;

use crate::{Bug, Random, check as checking, model, mutate, seeds, text, texts};

/// Time limit for reading a text, in an unoptimized build.
const READING: Duration = Duration::from_secs(1);

/// Fuzz target: code that reads user input.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// The input format, and the code under test.
    pub summary: &'static str,
    /// The time limit per input.
    pub time: Duration,
    /// Memory limit per input, excluding data loaded once; `None` if the target has no limit of its own.
    pub memory: Option<usize>,
    run: fn(&[u8]) -> Result<bool, Bug>,
    seed: fn(&mut Random) -> Vec<u8>,
    mutate: fn(&mut Random, &[u8]) -> Vec<u8>,
}

/// All targets.
pub const TARGETS: [Target; 8] = [
    Target {
        name: "check",
        summary: "a model: checked, reported in every format, its nodes saved, and compared with the executor",
        time: checking::TIME,
        memory: Some(2 * checking::BYTES),
        run: checking::check_model,
        seed: seeds::realistic_model,
        mutate: mutate::model,
    },
    Target {
        name: "convert",
        summary: "a valid model: converted to other opsets, checked again, and run before and after",
        time: checking::TIME,
        memory: Some(2 * checking::BYTES),
        run: checking::convert_model,
        seed: seeds::realistic_model,
        mutate: mutate::model,
    },
    Target {
        name: "model",
        summary: "a model: decoded, read, checked, varied and run, with its inputs as initializers",
        time: model::TIME,
        memory: None,
        run: model::run,
        seed: seeds::model,
        mutate: mutate::model,
    },
    Target {
        name: "text",
        summary: "a model in ONNX's text syntax: parsed and read",
        time: READING,
        memory: None,
        run: |input| Ok(texts::syntax(input)),
        seed: seeds::syntax,
        mutate: text::mutate,
    },
    Target {
        name: "specs",
        summary: "a version file or an op.yaml: read, and its cases planned",
        time: READING,
        memory: None,
        run: |input| Ok(texts::specs(input)),
        seed: seeds::specs,
        mutate: text::mutate,
    },
    Target {
        name: "expectations",
        summary: "an expectation file: read, written, and updated by results",
        time: READING,
        memory: None,
        run: texts::expectations,
        seed: seeds::expectations,
        mutate: text::mutate,
    },
    Target {
        name: "results",
        summary: "a results file: read, and written again",
        time: READING,
        memory: None,
        run: texts::results,
        seed: seeds::results,
        mutate: text::mutate,
    },
    Target {
        name: "answers",
        summary: "an adapter's message, followed by a type and the file of an output",
        time: READING,
        memory: None,
        run: |input| Ok(texts::answers(input)),
        seed: seeds::answers,
        mutate: text::mutate,
    },
];

impl Target {
    /// Finds a target by name.
    pub fn named(name: &str) -> Option<&'static Target> {
        const { &TARGETS }.iter().find(|target| target.name == name)
    }

    /// Runs the target: returns true if the input was accepted, and an error if the program has a bug. Invalid input is never an
    /// error.
    pub fn run(&self, input: &[u8]) -> Result<bool, Bug> {
        (self.run)(input)
    }

    /// Returns a valid or nearly valid input.
    pub fn seed(&self, random: &mut Random) -> Vec<u8> {
        (self.seed)(random)
    }

    /// Returns a mutated input.
    pub fn mutate(&self, random: &mut Random, input: &[u8]) -> Vec<u8> {
        (self.mutate)(random, input)
    }
}

/// Entry point for cargo-fuzz, which detects findings by panics.
#[expect(clippy::panic, reason = "libfuzzer reports panics")]
pub fn check(name: &str, input: &[u8]) {
    let target = Target::named(name).unwrap_or_else(|| panic!("there is no target '{name}'"));
    if let Err(bug) = target.run(input) {
        panic!("{bug}");
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_target_accepts_its_seeds_and_survives_their_mutants() {
        for target in &TARGETS {
            let mut random = Random::new(target.name);
            let mut accepted = 0;
            for _ in 0..8 {
                let seed = target.seed(&mut random);
                accepted += usize::from(target.run(&seed).unwrap());
                for _ in 0..8 {
                    let mutant = target.mutate(&mut random, &seed);
                    target.run(&mutant).unwrap();
                }
            }
            assert!(accepted > 0, "{} accepts none of its seeds", target.name);
        }
    }

    #[test]
    fn inputs_of_fixed_bugs_show_no_bug() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for target in &TARGETS {
            let Ok(files) = std::fs::read_dir(corpus.join(target.name)) else { continue };
            for file in files {
                let path = file.unwrap().path();
                let input = std::fs::read(&path).unwrap();
                if let Err(bug) = target.run(&input) {
                    panic!("{}: {bug}", path.display());
                }
            }
        }
        assert!(std::fs::read_dir(corpus.join("check")).unwrap().count() >= 9);
    }

    #[test]
    fn a_seed_determines_its_inputs() {
        for target in &TARGETS {
            let inputs = |text: &str| {
                let mut random = Random::new(text);
                let seed = target.seed(&mut random);
                (target.mutate(&mut random, &seed), seed)
            };
            assert_eq!(inputs("a"), inputs("a"), "{}", target.name);
        }
    }
}
