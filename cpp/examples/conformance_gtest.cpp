// Cases of an archive as tests of GoogleTest, one a case:
//
//     ONNX_CONFORMANCE_ARCHIVE=suite.onnxcases ONNX_CONFORMANCE_EXPECTED=opencv/expected.txt ./conformance_gtest --gtest_filter='*Relu-14*'
//
// ONNX_CONFORMANCE_CASES has globs, separated by spaces; without it all cases are tests. With ONNX_CONFORMANCE_UPDATE=1 the file of
// expected failures is rewritten.

#include <cstdlib>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "isolated.hpp"
#include "runner.hpp"

namespace oc = onnx_conformance;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

std::unique_ptr<oc::Archive> archive;
oc::Expectations expected;

// Test of one case.
class ConformanceTest : public testing::Test {
public:
    explicit ConformanceTest(std::size_t at) : at_(at) {}

    void TestBody() override {
        const oc::Case test = archive->read(at_);
        const oc::Verdict verdict = oc::judge(
            test, [](const oc::Case& one, const oc::DataSet& data) { return oc::run_isolated([&] { return run(one, data); }, 20); });
        const std::string ended = std::string(oc::name(verdict.outcome)) + ": " + verdict.message;
        const oc::Outcome wanted = expected.expected(test.id, verdict);
        switch (expected.add(test.id, test.level, verdict)) {
            case oc::Expectations::Status::AsExpected:
                if (verdict.outcome != oc::Outcome::Pass) RecordProperty("expected", ended);
                break;
            case oc::Expectations::Status::NotJudged: GTEST_SKIP() << oc::name(test.level) << ", not judged; " << ended;
            case oc::Expectations::Status::UnexpectedPass: ADD_FAILURE() << "passes, but " << oc::name(wanted) << " is expected"; break;
            default:
                ADD_FAILURE() << ended << (wanted == oc::Outcome::Pass ? "" : std::string("; expected ") + oc::name(wanted))
                              << (test.rule_text.empty() ? "" : "\nrule: " + test.rule_text);
        }
    }

private:
    std::size_t at_;
};

// Checks, after all cases, that every entry of the file has a case.
class EntriesTest : public testing::Test {
public:
    void TestBody() override {
        for (const std::string& problem : expected.problems()) {
            if (problem.find("matches no judged case") != std::string::npos) ADD_FAILURE() << problem;
        }
    }
};

// Returns the operator version of an id, `ai.onnx/Relu-14`.
std::string group_of(const std::string& id) {
    const std::size_t first = id.find('/');
    return id.substr(0, first == std::string::npos ? first : id.find('/', first + 1));
}

}  // namespace

int main(int count, char** arguments) {
    testing::InitGoogleTest(&count, arguments);
    try {
        archive = std::make_unique<oc::Archive>(oc::Archive::open(variable("ONNX_CONFORMANCE_ARCHIVE")));
        const std::string file = variable("ONNX_CONFORMANCE_EXPECTED");
        if (!file.empty()) expected = oc::Expectations::read(file);
        std::istringstream words(variable("ONNX_CONFORMANCE_CASES"));
        const std::vector<std::string> globs{std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
        const std::vector<std::size_t> selected = archive->select(globs);
        if (selected.empty()) {
            std::cerr << "no case of the archive matches ONNX_CONFORMANCE_CASES\n";
            return 3;
        }
        for (const std::size_t at : selected) {
            const std::string& id = archive->id(at);
            testing::RegisterTest(group_of(id).c_str(), id.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                                  [at]() -> ConformanceTest* { return new ConformanceTest(at); });
        }
        // Part of the cases does not show which entries are unused.
        if (testing::GTEST_FLAG(filter) == "*") {
            testing::RegisterTest("expected_failures", "every_entry_has_a_case", nullptr, nullptr, __FILE__, __LINE__,
                                  []() -> EntriesTest* { return new EntriesTest(); });
        }
        const int result = RUN_ALL_TESTS();
        if (variable("ONNX_CONFORMANCE_UPDATE") != "1") return result;
        expected.update(file, testing::GTEST_FLAG(filter) == "*");
        std::cout << file << " is rewritten\n";
        return 0;
    } catch (const oc::Error& error) {
        std::cerr << error.what() << "\n";
        return 66;
    }
}
