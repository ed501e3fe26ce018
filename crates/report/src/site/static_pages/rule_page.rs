//! Page of a rule of `check`: the sentence, its source, a model that breaks it, one that follows it, and the fix.

use onnx_conformance_check::rules::{Example, Fix, Level, RuleId};

use crate::site::static_pages::address::Address;
use crate::site::static_pages::html::Html;
use crate::site::static_pages::page::Page;

/// Creates the page.
pub(crate) fn page(rule: RuleId) -> Page {
    let mut page = Page::new(Address::Rule(rule.id()), rule.id(), rule.sentence());
    let (fix, how) = match rule.fix() {
        Fix::Safe(fix) => (fix, "Safe: neither the results nor the runtimes that load the model change."),
        Fix::Unsafe(fix) => (fix, "Review it: the results, or the runtimes that load the model, may change."),
    };
    page.facts(Html::terms(
        "facts",
        [
            (Html::from("Level"), level(rule)),
            (Html::from("Source"), Html::from(rule.source())),
            (Html::from("Why"), Html::from(rule.why())),
        ],
    ));
    let bad = match rule.bad() {
        Example::Text(text) | Example::Hex(text) => Html::code_block(text),
        Example::Change(text) => Html::element("p", format!("The model below, but {text}.")),
    };
    page.section("A model that breaks it", bad);
    page.section("A model that follows it", Html::code_block(rule.good()));
    page.section("Fix", [Html::element("p", fix), Html::with("p", &[("class", "quiet")], how)].into());
    page.section("Command", Html::code_block("onnx-conformance check model.onnx"));
    page
}

/// Returns the level as a mark.
pub(crate) fn level(rule: RuleId) -> Html {
    let class = match rule.level() {
        Level::Error => "mark s-w",
        Level::Warning => "mark s-e",
        Level::Note => "mark s-p",
    };
    Html::with("span", &[("class", class)], rule.level().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_two_models_and_a_fix() {
        for rule in RuleId::ALL {
            let text = page(rule).text(None);
            assert!(text.contains(&format!("<h1>{rule}</h1>")), "{text}");
            for part in ["A model that breaks it</h2>", "A model that follows it</h2>", "Fix</h2>"] {
                assert!(text.contains(part), "no {part} in {text}");
            }
        }
        let text = page(RuleId::ALL.into_iter().find(|rule| rule.id() == "node/deprecated").unwrap()).text(None);
        assert!(
            text.contains("Upsample") && text.contains("href=\"../../index.html#/rule/node/deprecated\""),
            "{text}"
        );
    }
}
