//! Bernoulli, at opsets that do not have it yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::body::Body;
use super::rule::Replacement;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get, get_int};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "Bernoulli", replace: bernoulli }];

/// `r < x`, for uniform numbers `r` in `[0, 1)`. A seed selects certain numbers, which the two operators need not share.
fn bernoulli(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    if get(&draft.node, "seed")?.is_some() {
        return impossible(
            "with attribute seed, a runtime repeats its results, but RandomUniformLike of the function body may draw others",
        );
    }
    let (element, x) = (draft.element(0)?, draft.input(0));
    let element = match get_int(&draft.node, "dtype")? {
        None => element,
        Some(code) => match i32::try_from(code).ok().and_then(ElementType::from_code) {
            Some(element) => element,
            None => return impossible(format!("dtype {code} is not the number of a type")),
        },
    };
    let wide = if draft.element(0)? == ElementType::Double { ElementType::Double } else { ElementType::Float };
    let mut body = Body::new(draft, from);
    let x = body.cast(x, wide)?;
    let dtype = attributes::int("dtype", i64::from(wide.code()));
    let drawn = body.node("RandomUniformLike", &[&x], vec![dtype])?;
    let result = body.plain("Less", &[&drawn, &x])?;
    body.last_cast(&result, element);
    Ok(())
}
