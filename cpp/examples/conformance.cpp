// Runs cases of an archive on a runtime and prints a summary. Needs no test framework: CTest runs it as one test.
//
//     conformance ARCHIVE [GLOB...] [--expected FILE] [--update] [--strict] [--timeout SECONDS]
//
// The exit code is 0 if every judged case ends as FILE expects, 1 if not, and 3 if no case matches. It is 64 or 66 if a command or a
// file is wrong.

#include <iostream>

#include "isolated.hpp"
#include "runner.hpp"

namespace oc = onnx_conformance;

namespace {

struct Options {
    std::string archive, expected;
    std::vector<std::string> globs;
    bool update = false, strict = false;
    double timeout = 20;
};

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
        const std::string& one = arguments[at];
        const bool has_value = at + 1 < arguments.size();
        if (one == "--expected" && has_value) {
            options.expected = arguments[++at];
        } else if (one == "--timeout" && has_value) {
            options.timeout = std::stod(arguments[++at]);
        } else if (one == "--update") {
            options.update = true;
        } else if (one == "--strict") {
            options.strict = true;
        } else if (options.archive.empty()) {
            options.archive = one;
        } else {
            options.globs.push_back(one);
        }
    }
    return options;
}

// Reads the file of expected failures. A file that an update will write may be missing.
oc::Expectations expectations(const Options& options) {
    const bool exists = std::ifstream(options.expected).good();
    oc::Expectations expected =
        options.expected.empty() || (options.update && !exists) ? oc::Expectations() : oc::Expectations::read(options.expected);
    expected.strict = options.strict;
    return expected;
}

}  // namespace

int main(int count, char** arguments) {
    const Options options = parse(std::vector<std::string>(arguments + 1, arguments + count));
    if (options.archive.empty() || (options.update && options.expected.empty())) {
        std::cerr << "usage: conformance ARCHIVE [GLOB...] [--expected FILE] [--update] [--strict] [--timeout SECONDS]\n";
        return 64;
    }
    try {
        oc::Archive archive = oc::Archive::open(options.archive);
        oc::Expectations expected = expectations(options);
        std::map<std::string, std::size_t> outcomes;
        const std::vector<std::size_t> selected = archive.select(options.globs);
        if (selected.empty()) {
            std::cerr << options.archive << ": no case matches\n";
            return 3;
        }
        for (const std::size_t at : selected) {
            const oc::Case test = archive.read(at);
            const oc::Verdict verdict = oc::judge(test, [&](const oc::Case& one, const oc::DataSet& data) {
                return oc::run_isolated([&] { return run(one, data); }, options.timeout);
            });
            ++outcomes[oc::name(verdict.outcome)];
            expected.add(test.id, test.level, verdict);
        }
        if (options.update) expected.update(options.expected);
        const std::vector<std::string> problems = options.update ? std::vector<std::string>() : expected.problems();
        for (const std::string& problem : problems) std::cout << problem << "\n";
        for (const auto& outcome : outcomes) std::cout << outcome.first << " " << outcome.second << "\n";
        std::cout << problems.size() << " problems\n";
        return problems.empty() ? 0 : 1;
    } catch (const oc::Error& error) {
        std::cerr << error.what() << "\n";
        return 66;
    }
}
