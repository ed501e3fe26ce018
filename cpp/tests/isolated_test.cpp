// Tests of the processes in which the examples run a runtime.

#include "../examples/isolated.hpp"
#include "support.hpp"

namespace oc = onnx_conformance;
using namespace onnx_conformance::tests;

#ifdef ONNX_CONFORMANCE_HAS_FORK

namespace {

using Kind = oc::Answer::Kind;

TEST(Isolated, an_answer_comes_back) {
    const std::vector<float> many(1000000, 0.5f);
    const oc::Answer answer = oc::run_isolated(
        [&] {
            return oc::Answer::of_outputs({floats(many), oc::Value::absent(oc::Type::parse("seq(tensor(float))"))});
        },
        20);
    ASSERT_EQ(answer.kind, Kind::Outputs);
    EXPECT_EQ(answer.outputs.at(0).tensor.to_vector<float>(), many);
    EXPECT_EQ(answer.outputs.at(1).type.text(), "optional(seq(tensor(float)))");
    const oc::Answer missing = oc::run_isolated([] { return oc::Answer::of_unsupported("tensor(int4)", "no"); }, 20);
    EXPECT_EQ(missing.kind, Kind::Unsupported);
    EXPECT_EQ(missing.missing + missing.message, "tensor(int4)no");
}

TEST(Isolated, an_exception_is_an_error) {
    const oc::Answer answer = oc::run_isolated([]() -> oc::Answer { throw std::runtime_error("broken"); }, 20);
    EXPECT_EQ(answer.kind, Kind::Error);
    EXPECT_EQ(answer.message, "broken");
}

TEST(Isolated, a_crash_ends_one_case) {
    EXPECT_EQ(oc::run_isolated([]() -> oc::Answer { std::abort(); }, 20).kind, Kind::Crash);
    EXPECT_EQ(oc::run_isolated([]() -> oc::Answer { _exit(3); }, 20).message, "ended with exit code 3");
    // Exit code 0 without an answer.
    EXPECT_EQ(oc::run_isolated([]() -> oc::Answer { _exit(0); }, 20).kind, Kind::Crash);
}

TEST(Isolated, a_hang_ends_one_case) {
    const oc::Answer answer = oc::run_isolated(
        []() -> oc::Answer {
            for (;;) pause();
        },
        0.3);
    EXPECT_EQ(answer.kind, Kind::Timeout);
}

}  // namespace

#endif
