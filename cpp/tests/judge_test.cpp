// Tests of element types, messages, rules and verdicts.

#include "perturb.hpp"
#include "support.hpp"

namespace oc = onnx_conformance;
using namespace onnx_conformance::tests;

namespace {

using Kind = oc::Accuracy::Kind;

const float next_after_1 = std::nextafter(1.0f, 2.0f);

TEST(ElementTypes, names_and_codes_read_back) {
    for (unsigned code = 1; code <= oc::element_type_count; ++code) {
        const oc::ElementType type = *oc::element_type(std::uint64_t{code});
        EXPECT_EQ(oc::element_type(std::string(oc::name(type))), type);
    }
    EXPECT_FALSE(oc::element_type(std::uint64_t{0}) || oc::element_type(std::uint64_t{29}));
}

TEST(ElementTypes, every_narrow_number_is_encoded_as_it_was) {
    for (unsigned code = 1; code <= oc::element_type_count; ++code) {
        const oc::ElementType type = static_cast<oc::ElementType>(code);
        const auto format = oc::FloatFormat::of(type);
        if (!format || oc::bits(type) > 16) continue;
        for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << oc::bits(type); ++pattern) {
            const double value = format->decode(pattern);
            if (std::isnan(value)) continue;
            EXPECT_EQ(format->encode(value), pattern) << oc::name(type) << " " << value;
        }
    }
}

TEST(ElementTypes, values_of_the_documents_of_the_formats) {
    const auto decode = [](oc::ElementType type, std::uint64_t pattern) { return oc::FloatFormat::of(type)->decode(pattern); };
    EXPECT_EQ(decode(oc::ElementType::Float16, 0x7bff), 65504.0);
    EXPECT_EQ(decode(oc::ElementType::Float16, 0x0001), std::ldexp(1.0, -24));
    EXPECT_EQ(decode(oc::ElementType::Bfloat16, 0x3f80), 1.0);
    EXPECT_EQ(decode(oc::ElementType::Float8e4m3fn, 0x7e), 448.0);
    EXPECT_TRUE(std::isnan(decode(oc::ElementType::Float8e4m3fn, 0x7f)));
    EXPECT_EQ(decode(oc::ElementType::Float8e5m2, 0x7c), std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(decode(oc::ElementType::Float8e4m3fnuz, 0x80)));
    EXPECT_EQ(decode(oc::ElementType::Float4e2m1, 0x7), 6.0);
    EXPECT_EQ(decode(oc::ElementType::Float8e8m0, 0x7f), 1.0);
    EXPECT_EQ(oc::FloatFormat::of(oc::ElementType::Float16)->encode(65520), 0x7c00u);
    EXPECT_EQ(oc::FloatFormat::of(oc::ElementType::Float)->encode(1.0 + std::ldexp(3.0, -24)), 0x3f800002u);
}

TEST(Tensors, sub_byte_elements_are_packed_from_the_lowest_bits) {
    const auto packed = [](oc::ElementType type, oc::Bytes bytes) {
        const std::uint64_t size = bytes.size();
        return oc::Tensor::from_bytes(type, {size}, std::move(bytes)).packed();
    };
    EXPECT_EQ(packed(oc::ElementType::Uint4, {1, 2, 3}), (oc::Bytes{0x21, 0x03}));
    EXPECT_EQ(packed(oc::ElementType::Uint2, {1, 2, 3, 0, 1}), (oc::Bytes{0x39, 1}));
    EXPECT_EQ(packed(oc::ElementType::Float6e2m3, {0x3f, 0, 0, 0x21}), (oc::Bytes{0x3f, 0, 0x84}));
    const oc::Tensor int4 = oc::Tensor::from_packed(oc::ElementType::Int4, {3}, {0x8f, 0x07});
    EXPECT_EQ(int4.bytes, (oc::Bytes{0xff, 0xf8, 0x07}));
    EXPECT_EQ(int4.signed_integer(1), -8);
    EXPECT_THROW(oc::Tensor::from_packed(oc::ElementType::Int4, {5}, {0, 0}), oc::Error);
    EXPECT_THROW(oc::Tensor::from_packed(oc::ElementType::Int4, {std::uint64_t{1} << 63, 4}, {0, 0}), oc::Error);
}

TEST(Tensors, long_texts_are_cut_between_characters) {
    const std::string text = std::string(59, 'a') + "\xe2\x82\xac" + "b";
    EXPECT_EQ(oc::Tensor::from_strings({1}, {text}).element_text(0), "\"" + std::string(59, 'a') + "...\"");
    EXPECT_EQ(oc::Tensor::from_strings({1}, {"ab"}).element_text(0), "\"ab\"");
}

TEST(Types, every_spelling_reads_back) {
    for (const char* text : {"tensor(float8e4m3fn)", "seq(tensor(string))", "optional(seq(tensor(int4)))", "seq(map(string, float))",
                             "sparse_tensor(double)", "map(int64, seq(tensor(float)))"}) {
        EXPECT_EQ(oc::Type::parse(text).text(), text);
    }
    for (const char* text : {"", "float", "tensor(float", "tensor(flaot)", "list(tensor(float))", "map(int64)", "seq()", "()"}) {
        EXPECT_THROW(oc::Type::parse(text), oc::Error) << text;
    }
}

TEST(Messages, values_of_every_kind_read_back) {
    const oc::Value tensor(floats({1, 2, 3}));
    const oc::Value text(oc::Tensor::from_strings({2}, {"a", ""}));
    const std::vector<oc::Value> values{
        tensor,
        text,
        oc::Value::sparse(floats({5}), integers({3}), {8}),
        oc::Value::sequence(tensor.type, {tensor, tensor}),
        oc::Value::sequence(tensor.type, {}),
        oc::Value::present(oc::Value::sequence(text.type, {text})),
        oc::Value::absent(tensor.type),
        oc::Value::map(oc::ElementType::String, tensor.type, {oc::MapKey::of("b"), oc::MapKey::of("a")}, {tensor, tensor}),
        oc::Value::map(oc::ElementType::Int64, tensor.type, {oc::MapKey::of(-1)}, {tensor}),
    };
    for (const oc::Value& value : values) {
        const oc::Value again = oc::Value::parse(value.serialize("x"), value.type);
        EXPECT_EQ(again.type, value.type) << value.type.text();
        EXPECT_EQ(again.serialize("x"), value.serialize("x"));
        EXPECT_TRUE(oc::detail::compare(value, again, oc::Accuracy()).is_pass());
    }
}

TEST(Messages, elements_in_typed_fields_are_read) {
    // dims 2, data_type int4, int32_data 0x8f.
    const oc::Value int4 = oc::Value::parse({0x08, 2, 0x10, 22, 0x2a, 2, 0x8f, 0x01}, oc::Type::tensor(oc::ElementType::Int4));
    EXPECT_EQ(int4.tensor.bytes, (oc::Bytes{0xff, 0xf8}));
    // dims 1, data_type float, float_data 1.
    const oc::Value one = oc::Value::parse({0x08, 1, 0x10, 1, 0x22, 4, 0, 0, 0x80, 0x3f}, oc::Type::tensor(oc::ElementType::Float));
    EXPECT_EQ(one.tensor.number(0), 1.0);
}

TEST(Messages, malformed_bytes_are_refused) {
    const oc::Bytes good = oc::Value::sequence(oc::Type::tensor(oc::ElementType::Float), {oc::Value(floats({1, 2, 3}))}).serialize("name");
    const oc::Type type = oc::Type::sequence(oc::Type::tensor(oc::ElementType::Float));
    for (std::size_t size = 0; size < good.size(); ++size) {
        try {
            oc::Value::parse(oc::Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), type);
        } catch (const oc::Error&) {
        }
    }
    Random random(7);
    for (int round = 0; round < 20000; ++round) {
        oc::Bytes bad = good;
        for (int flips = 0; flips < 3; ++flips) bad[random.next() % bad.size()] = static_cast<std::uint8_t>(random.next());
        try {
            oc::Value::parse(bad, type);
        } catch (const oc::Error&) {
        }
    }
    // 200 nested optionals.
    oc::Bytes nested;
    for (int depth = 0; depth < 200; ++depth) {
        oc::detail::MessageWriter outer;
        outer.bytes(7, nested);
        nested = outer.out;
    }
    EXPECT_THROW(oc::Value::parse(nested, oc::Type::optional(oc::Type::tensor(oc::ElementType::Float))), oc::Error);
}

TEST(Globs, match_as_on_the_command_line) {
    const auto matches = [](const char* glob, const char* id) { return oc::Glob(glob).matches(id); };
    EXPECT_TRUE(matches("ai.onnx/Relu-14", "ai.onnx/Relu-14/ranks/T=float"));
    EXPECT_TRUE(matches("ai.onnx/Relu-*/**", "ai.onnx/Relu-14/ranks/T=float"));
    EXPECT_FALSE(matches("ai.onnx/Relu-*/**", "ai.onnx/Relu-14"));
    EXPECT_TRUE(matches("ai.onnx/*/ranks/**/T=float", "ai.onnx/Relu-14/ranks/T=float"));
    EXPECT_TRUE(matches("**/T=float", "ai.onnx/Relu-14/ranks/T=float"));
    EXPECT_FALSE(matches("ai.onnx/*", "ai.onnx.ml/Relu-14"));
    EXPECT_TRUE(matches("ai.onnx/{Abs,Relu}-1?", "ai.onnx/Relu-14/ranks"));
    EXPECT_TRUE(matches("ai.onnx/Relu-[!2-9]*", "ai.onnx/Relu-14"));
    EXPECT_FALSE(matches("ai.onnx/Relu-1", "ai.onnx/Relu-14/ranks"));
    EXPECT_TRUE(matches("a/**/d", "a/b/c/d"));
    EXPECT_TRUE(matches("a/**/d", "a/d"));
    EXPECT_FALSE(matches("a/**/d", "a/bd"));
    EXPECT_THROW(oc::Glob("a/{b"), oc::Error);
    EXPECT_THROW(oc::Glob("/"), oc::Error);
}

// Outcome of a float that is expected to be 1 within an accuracy.
std::string judged(const oc::Accuracy& accuracy, float actual, float expected = 1) {
    return outcome_of(case_with(value_within(floats({expected}), accuracy)), {floats({actual})});
}

TEST(Rules, exact) {
    EXPECT_EQ(judged(oc::Accuracy(), 1), "pass");
    EXPECT_EQ(judged(oc::Accuracy(), next_after_1), "mismatch");
    EXPECT_EQ(judged(oc::Accuracy(), -0.0f, 0.0f), "pass");
    EXPECT_EQ(judged(accuracy(Kind::ExactZeroSign), -0.0f, 0.0f), "mismatch");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(judged(oc::Accuracy(), nan, nan), "pass");
    EXPECT_EQ(judged(oc::Accuracy(), 1, nan), "mismatch");
}

TEST(Rules, ulp) {
    EXPECT_EQ(judged(accuracy(Kind::Ulp, 1), next_after_1), "pass");
    EXPECT_EQ(judged(accuracy(Kind::Ulp, 1), std::nextafter(next_after_1, 2.0f)), "mismatch");
    const float most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(judged(accuracy(Kind::Ulp, 1), infinity, most), "pass");
    EXPECT_EQ(judged(accuracy(Kind::Ulp, 1), most, infinity), "mismatch");
    EXPECT_EQ(judged(accuracy(Kind::Ulp, 2), -1e-45f, 1e-45f), "pass");
}

TEST(Rules, distances) {
    EXPECT_EQ(judged(accuracy(Kind::Absolute, 0.5), 1.5f), "pass");
    EXPECT_EQ(judged(accuracy(Kind::Absolute, 0.5), std::nextafter(1.5f, 2.0f)), "mismatch");
    EXPECT_EQ(judged(accuracy(Kind::Absolute, 1e300), std::numeric_limits<float>::infinity()), "mismatch");
    EXPECT_EQ(judged(accuracy(Kind::Roundoffs, 1), next_after_1), "pass");
    EXPECT_EQ(judged(accuracy(Kind::Roundoffs, 0.9), next_after_1), "mismatch");
    oc::Accuracy close = accuracy(Kind::Close, 0);
    close.relative = 0.25;
    EXPECT_EQ(judged(close, 1.25f), "pass");
    EXPECT_EQ(judged(close, 1.26f), "mismatch");
    oc::Accuracy bounded = accuracy(Kind::Bounded);
    bounded.bound = doubles({0.25});
    EXPECT_EQ(judged(bounded, 0.75f), "pass");
    EXPECT_EQ(judged(bounded, 0.74f), "mismatch");
}

TEST(Rules, types_shapes_and_numbers_of_outputs) {
    const oc::Case test = case_with(value_within(floats({1, 2}), oc::Accuracy()));
    EXPECT_EQ(outcome_of(test, {doubles({1, 2})}), "wrong-type");
    EXPECT_EQ(outcome_of(test, {floats({1, 2}, {1, 2})}), "wrong-shape");
    EXPECT_EQ(outcome_of(test, {}), "wrong-shape");
    EXPECT_EQ(outcome_of(test, {floats({1, 2}), floats({1, 2})}), "wrong-shape");
    EXPECT_EQ(outcome_of(test, {oc::Value::sequence(oc::Type::tensor(oc::ElementType::Float), {})}), "wrong-type");
}

TEST(Rules, sets_of_allowed_values_and_any_order) {
    oc::Expected any;
    any.kind = oc::Expected::Kind::AnyOf;
    any.values = {oc::Value(floats({1})), oc::Value(floats({2}))};
    EXPECT_EQ(outcome_of(case_with(any), {floats({2})}), "pass");
    EXPECT_EQ(outcome_of(case_with(any), {floats({3})}), "mismatch");
    oc::Expected set;
    set.kind = oc::Expected::Kind::Set;
    set.values = {oc::Value(floats({1, 2, 3, 4}, {2, 2}))};
    EXPECT_EQ(outcome_of(case_with(set), {floats({3, 4, 1, 2}, {2, 2})}), "pass");
    EXPECT_EQ(outcome_of(case_with(set), {floats({3, 2, 1, 4}, {2, 2})}), "mismatch");
    EXPECT_EQ(outcome_of(case_with(set), {floats({3, 4, 1, 2}, {4})}), "wrong-shape");
    oc::Value cut(floats({1, 2, 3, 4}, {2, 2}));
    cut.tensor.bytes.resize(4);
    EXPECT_EQ(outcome_of(case_with(set), {cut}), "wrong-shape");
    oc::Expected lanes = set;
    lanes.kind = oc::Expected::Kind::Permuted;
    lanes.axis = -1;
    EXPECT_EQ(outcome_of(case_with(lanes), {floats({2, 1, 3, 4}, {2, 2})}), "pass");
    EXPECT_EQ(outcome_of(case_with(lanes), {floats({3, 2, 1, 4}, {2, 2})}), "mismatch");
}

TEST(Rules, chance) {
    for (const auto law :
         {oc::Expected::Law::Normal, oc::Expected::Law::Uniform, oc::Expected::Law::Bernoulli, oc::Expected::Law::Multinomial}) {
        oc::Expected expected;
        expected.kind = oc::Expected::Kind::Sampled;
        expected.law = law;
        expected.type = oc::Type::tensor(oc::ElementType::Float);
        expected.shape = oc::Shape{1, 4000};
        expected.first = law == oc::Expected::Law::Normal ? 2 : -1;
        expected.second = 3;
        if (law == oc::Expected::Law::Bernoulli) expected.values = {oc::Value(floats(std::vector<float>(4000, 0.25f), {1, 4000}))};
        if (law == oc::Expected::Law::Multinomial) expected.values = {oc::Value(floats({0, 1, 2}, {1, 3}))};
        oc::Case test = case_with(expected);
        test.data[0].outputs[0].expected.type = expected.type;
        const oc::Value right = correct_output(expected, false, 1);
        EXPECT_EQ(outcome_of(test, {right}), "pass");
        oc::Value wrong = right;
        for (std::size_t at = 0; at < 4000; at += 3) set_number(wrong.tensor, at, 0);
        EXPECT_EQ(outcome_of(test, {wrong}), "mismatch") << static_cast<int>(law);
    }
}

TEST(Verdicts, a_refusal_counts_only_if_its_control_passes) {
    oc::Case test;
    test.id = "test/refuse";
    test.is_refusal = true;
    test.refusal = oc::Refusal{"a rule", false, std::make_shared<const oc::Case>(case_with(value_within(floats({1}), oc::Accuracy())))};
    const auto judged_with = [&](const oc::Answer& answer, const oc::Answer& control) {
        return std::string(
            oc::name(oc::judge(test, [&](const oc::Case& one, const oc::DataSet&) { return one.refusal ? answer : control; }).outcome));
    };
    const oc::Answer right = oc::Answer::of_outputs({floats({1})}), wrong = oc::Answer::of_outputs({floats({2})});
    const oc::Answer crash = oc::Answer::of_end(oc::Answer::Kind::Crash, "signal");
    EXPECT_EQ(judged_with(oc::Answer::of_error("no"), right), "pass");
    EXPECT_EQ(judged_with(oc::Answer::of_unsupported("operator"), right), "pass");
    EXPECT_EQ(judged_with(oc::Answer::of_error("no"), wrong), "not-applicable");
    EXPECT_EQ(judged_with(oc::Answer::of_outputs({}), right), "accepted");
    EXPECT_EQ(judged_with(oc::Answer::of_outputs({}), wrong), "not-applicable");
    EXPECT_EQ(judged_with(crash, wrong), "crash");
    EXPECT_EQ(judged_with(oc::Answer::of_end(oc::Answer::Kind::Timeout, ""), wrong), "not-applicable");
}

TEST(Verdicts, a_hostile_model_may_be_refused) {
    oc::Case test = case_with(value_within(floats({1}), oc::Accuracy()));
    test.is_hostile = true;
    const auto judged_with = [&](const oc::Answer& answer) {
        return std::string(oc::name(oc::judge(test, [&](const oc::Case&, const oc::DataSet&) { return answer; }).outcome));
    };
    EXPECT_EQ(judged_with(oc::Answer::of_error("no")), "pass");
    EXPECT_EQ(judged_with(oc::Answer::of_outputs({floats({2})})), "mismatch");
    EXPECT_EQ(judged_with(oc::Answer::of_end(oc::Answer::Kind::Timeout, "")), "timeout");
}

const oc::Verdict pass, error{oc::Outcome::Error, "message", std::nullopt, {}},
    mismatch{oc::Outcome::Mismatch, "message", std::nullopt, {}};

TEST(Expected, a_file_explains_its_failures) {
    using Status = oc::Expectations::Status;
    oc::Expectations file = oc::Expectations::parse(
        "# comment\n\nerror ai.onnx/Abs-*/**   # not there\nmismatch ai.onnx/Abs-13/a\nunsupported feature tensor(*) in x\n");
    EXPECT_EQ(file.add("ai.onnx/Abs-13/a", oc::Level::Required, mismatch), Status::AsExpected);
    EXPECT_EQ(file.add("ai.onnx/Abs-13/b", oc::Level::Required, error), Status::AsExpected);
    const oc::Verdict missing{oc::Outcome::Unsupported, "no", std::nullopt, "tensor(int4) in x"};
    EXPECT_EQ(file.add("ai.onnx/Add-13/b", oc::Level::Required, missing), Status::AsExpected);
    EXPECT_TRUE(file.problems().empty());
    EXPECT_EQ(file.add("ai.onnx/Abs-13/c", oc::Level::Required, pass), Status::UnexpectedPass);
    EXPECT_EQ(file.add("ai.onnx/Abs-13/d", oc::Level::Required, mismatch), Status::DifferentFailure);
    EXPECT_EQ(file.add("ai.onnx/Add-13/a", oc::Level::Required, mismatch), Status::UnexpectedFailure);
    EXPECT_EQ(file.add("ai.onnx/Add-13/o", oc::Level::Open, mismatch), Status::NotJudged);
    EXPECT_EQ(file.problems().size(), 3u);
}

TEST(Expected, an_entry_without_a_case_is_a_problem) {
    oc::Expectations file = oc::Expectations::parse("error ai.onnx/Abs-13/x\n");
    file.add("ai.onnx/Abs-13/y", oc::Level::Required, pass);
    EXPECT_EQ(file.problems().size(), 1u);
    EXPECT_TRUE(file.problems(false).empty());
}

TEST(Expected, a_run_of_nothing_is_a_problem) {
    oc::Expectations file = oc::Expectations::parse("# none\n");
    ASSERT_EQ(file.problems().size(), 1u);
    EXPECT_EQ(file.problems().front(), "no case was run; check the globs and the profile of the archive");
    EXPECT_EQ(file.problems(false).size(), 1u);
    file.add("ai.onnx/Abs-13/y", oc::Level::Required, pass);
    EXPECT_TRUE(file.problems().empty());
}

TEST(Expected, an_update_explains_everything) {
    oc::Expectations file = oc::Expectations::parse("# comment\nerror ai.onnx/Old-1/**\nerror ai.onnx/Abs-13/**\n");
    const auto add_all = [](oc::Expectations& to) {
        to.add("ai.onnx/Abs-13/ranks/a", oc::Level::Required, error);
        to.add("ai.onnx/Abs-13/ranks/b", oc::Level::Required, error);
        to.add("ai.onnx/Abs-13/other", oc::Level::Required, pass);
        to.add("ai.onnx/Add-13/a", oc::Level::Required, mismatch);
        to.add("ai.onnx/Add-13/b", oc::Level::Required, oc::Verdict{oc::Outcome::Unsupported, "no", std::nullopt, "tensor(int4)"});
    };
    add_all(file);
    EXPECT_EQ(file.updated(), "# comment\nunsupported feature tensor(int4)\nerror ai.onnx/Abs-13/ranks/**\nmismatch ai.onnx/Add-13/a\n");
    oc::Expectations again = oc::Expectations::parse(file.updated());
    add_all(again);
    EXPECT_TRUE(again.problems().empty());
    EXPECT_EQ(again.updated(), file.updated());
}

TEST(Expected, wrong_lines_are_refused) {
    for (const char* line : {"eror ai.onnx/Abs-13/a", "error", "pass ai.onnx/Abs-13/a", "error a/{b", "error a\nerror a"}) {
        EXPECT_THROW(oc::Expectations::parse(line), oc::Error) << line;
    }
    EXPECT_THROW(oc::Expectations::read("/no/such/file"), oc::Error);
}

}  // namespace
