//! What a person or a program reads: every report is made here from data that others computed.

pub mod diff;
