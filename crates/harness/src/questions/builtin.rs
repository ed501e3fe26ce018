//! The answers of this project: its checker, inference, conversions and half precision.

use onnx_conformance_check::convert::half::{HalfRequest, to_half};
use onnx_conformance_check::convert::{Target, convert_within, declare_values};
use onnx_conformance_check::{Folder, Level, Limits, check};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::{self, ExternalData as _};
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use onnx_conformance_subject::{
    Builtin, Declaration, Ended, FolderData, Host, Question, Ran, Request, Response, catch_panics,
};

/// The built-in executor, with the tools of this project, which answer questions about models.
#[derive(Debug)]
pub struct BuiltinTools(pub Builtin);

impl BuiltinTools {
    /// Returns true if this project answers a question.
    pub const fn answers(question: Question) -> bool {
        matches!(question, Question::Run | Question::Infer | Question::Check | Question::Convert | Question::Float16)
    }
}

impl Host for BuiltinTools {
    fn declaration(&self) -> Declaration {
        let does = Question::ALL.into_iter().filter(|question| BuiltinTools::answers(*question)).collect();
        Declaration { does: Some(does), ..self.0.declaration() }
    }

    fn jobs(&self) -> Option<usize> {
        self.0.jobs()
    }

    fn refuses_memory(&self) -> bool {
        self.0.refuses_memory()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        if request.ask.question == Question::Run {
            return self.0.run(request);
        }
        catch_panics(|| Ended::Answered(answer(request))).unwrap_or_else(|ended| ended).into()
    }
}

fn answer(request: &Request<'_>) -> Response {
    let (bytes, ask) = (request.model, request.ask);
    let limits = Limits::default();
    if ask.question == Question::Check {
        let files = Files(FolderData::new(request.folder, Deadline::never()));
        let report = check(bytes.as_ref(), Some(&files), &limits);
        let error = report.findings.iter().find(|finding| finding.level == Level::Error);
        return error.map_or(Response::Valid, |finding| Response::load_error(finding.to_string()));
    }
    let model = match decode::model(bytes.clone()) {
        Ok(model) => model,
        Err(error) => return Response::load_error(error.to_string()),
    };
    match (ask.question, ask.opset) {
        (Question::Infer, _) => encoded(&declare_values(&model, &limits)),
        (Question::Convert, Some(opset)) => {
            let target = Target::opset(opset.into());
            match convert_within(&model, &target, &limits) {
                Ok(conversion) => encoded(&conversion.model),
                Err(refusal) => Response::unsupported(format!("conversion to opset {opset}"), refusal.to_string()),
            }
        }
        (Question::Float16, _) => match to_half(&model, &HalfRequest::new(ElementType::Float16), &limits) {
            Ok(half) => encoded(&half.model),
            Err(error) => Response::unsupported("conversion to float16", error.to_string()),
        },
        (question, _) => Response::load_error(format!("no answer to `{question}`")),
    }
}

/// The files next to a model.
struct Files(FolderData);

impl Folder for Files {
    fn size_of(&self, location: &str) -> Option<u64> {
        self.0.size(location).ok()
    }
}

fn encoded(model: &ModelProto) -> Response {
    Response::Model(model.encode_to_vec().into())
}
