//! Badge of a statement about conformance: an SVG image that depends on no other file and no other server.

use onnx_conformance_cases::suite::Profile;
use onnx_conformance_harness::escape::{cut, html};
use onnx_conformance_harness::measure::Conformance;

/// Width of a character in pixels, as it is drawn in any font.
const CHARACTER: usize = 7;

/// Space at both sides of a text in pixels.
const MARGIN: usize = 8;

/// Maximum number of characters of the runtime's name and version.
const MAX_NAME: usize = 100;

/// Colour behind the subject.
const SUBJECT: &str = "#333c46";

/// Colour behind the statement of a runtime that conforms.
const CONFORMS: &str = "#1b6b3a";

/// Colour behind the number of operators of a runtime that does not conform.
const COUNTS: &str = "#7a4a00";

/// Statement of a badge.
#[derive(Clone, Copy, Debug)]
pub struct BadgeStatement<'a> {
    /// Name and version of the runtime.
    pub runtime: &'a str,
    /// Version of the suite.
    pub suite: &'a str,
    /// Profile of the cases that count.
    pub profile: Profile,
    /// Results of the operators.
    pub conformance: &'a Conformance,
}

impl BadgeStatement<'_> {
    /// Returns the image. Returns `None` if no operator has a case that counts, so that there is no statement.
    pub fn svg(&self) -> Option<String> {
        let all = self.conformance.operators.len();
        if all == 0 {
            return None;
        }
        let passing = all - self.conformance.failing().count();
        let is_conformant = self.conformance.holds();
        let (subject, suite) = (self.subject(), self.suite);
        let (statement, colour) = if is_conformant {
            (format!("conformant, suite {suite}"), CONFORMS)
        } else {
            (format!("{passing} of {all} operators, suite {suite}"), COUNTS)
        };
        let name = cut(self.runtime, MAX_NAME);
        let sentence = if is_conformant {
            format!("{name} is conformant with {subject}: every required case of {all} operators passes, suite {suite}")
        } else {
            format!("{name}: {passing} of {all} operators of {subject} pass every required case, suite {suite}")
        };
        Some(image(&sentence, &subject, &statement, colour))
    }

    /// Returns the opset, with the type and the profile if the statement is about a part: `ONNX opset 13, float`.
    fn subject(&self) -> String {
        let element = self.conformance.element.map(|element| format!(", {element}")).unwrap_or_default();
        let profile = match self.profile {
            Profile::Full => String::new(),
            other => format!(", profile {}", other.name()),
        };
        format!("ONNX opset {}{element}{profile}", self.conformance.opset)
    }
}

/// Draws two texts beside each other. A reader that shows no image reads the sentence.
fn image(sentence: &str, subject: &str, statement: &str, colour: &str) -> String {
    let (left, right) = (width(subject), width(statement));
    let all = left + right;
    let [sentence, subject_text, statement_text] = [sentence, subject, statement].map(html);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" viewBox=\"0 0 {all} 20\" role=\"img\" \
         aria-label=\"{sentence}\" font-family=\"Verdana, DejaVu Sans, sans-serif\" font-size=\"11\">\n\
         <title>{sentence}</title>\n\
         <rect width=\"{left}\" height=\"20\" fill=\"{SUBJECT}\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\n\
         <text x=\"{MARGIN}\" y=\"14\" fill=\"#fff\" textLength=\"{}\">{subject_text}</text>\n\
         <text x=\"{}\" y=\"14\" fill=\"#fff\" textLength=\"{}\">{statement_text}</text>\n\
         </svg>\n",
        left - 2 * MARGIN,
        left + MARGIN,
        right - 2 * MARGIN
    )
}

/// Returns the width of a text with its margins.
fn width(text: &str) -> usize {
    text.chars().count() * CHARACTER + 2 * MARGIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::result;
    use onnx_conformance_harness::run::Outcome;
    use onnx_conformance_reference::dtype::ElementType;

    fn badge(runtime: &str, profile: Profile, element: Option<ElementType>, abs: Outcome) -> Option<String> {
        let results = [result("ai.onnx/Abs-13/a/T=float", abs), result("ai.onnx/Sign-13/a/T=float", Outcome::Pass)];
        let conformance = &Conformance::at(13, element, &results).unwrap();
        BadgeStatement { runtime, suite: "0.2.0", profile, conformance }.svg()
    }

    fn text_of(svg: &str) -> Vec<&str> {
        svg.lines().filter_map(|line| line.strip_prefix("<text ")?.split(['>', '<']).nth(1)).collect()
    }

    #[test]
    fn a_badge_says_conformant_only_if_every_case_passes() {
        let whole = badge("mine 1.2", Profile::Full, None, Outcome::Pass).unwrap();
        assert_eq!(text_of(&whole), ["ONNX opset 13", "conformant, suite 0.2.0"]);
        let said = "mine 1.2 is conformant with ONNX opset 13: every required case of 2 operators passes, suite 0.2.0";
        assert!(whole.contains(&format!("<title>{said}</title>")), "{whole}");
        assert!(whole.contains(&format!("role=\"img\" aria-label=\"{said}\"")), "{whole}");
        for outcome in Outcome::ALL {
            let Some(svg) = badge("mine 1.2", Profile::Pr, Some(ElementType::Float), outcome) else {
                panic!("{outcome}")
            };
            let holds = matches!(outcome, Outcome::Pass | Outcome::NotApplicable);
            assert_eq!(svg.contains("conformant"), holds, "{outcome}: {svg}");
            let [subject, statement] = text_of(&svg)[..] else { panic!("{svg}") };
            assert_eq!(subject, "ONNX opset 13, float, profile pr");
            assert!(holds || statement == "1 of 2 operators, suite 0.2.0", "{svg}");
        }
    }

    #[test]
    fn there_is_no_badge_without_a_statement() {
        assert_eq!(badge("mine 1.2", Profile::Full, Some(ElementType::String), Outcome::Pass), None);
    }

    #[test]
    fn the_name_of_a_runtime_adds_no_elements() {
        let svg = badge("a\"/><script>&\u{1b}\n", Profile::Full, None, Outcome::Pass).unwrap();
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;&amp;") && !svg.contains('\u{1b}'), "{svg}");
        assert_eq!(svg.lines().count(), 7, "{svg}");
        let long = badge(&"a".repeat(1 << 20), Profile::Full, None, Outcome::Pass).unwrap();
        assert!(long.len() < 2_000, "{} bytes", long.len());
    }

    /// Relative luminance, as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { libm::pow((value + 0.055) / 1.055, 2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn white_text_has_enough_contrast() {
        for colour in [SUBJECT, CONFORMS, COUNTS] {
            let contrast = 1.05 / (luminance(colour) + 0.05);
            assert!(contrast >= 4.5, "{colour}: {contrast:.1}");
        }
    }
}
