//! The harness: cases, runtimes, runs and reports.

pub mod report;
