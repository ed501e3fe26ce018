//! The typed difference of two versions of an operator.
