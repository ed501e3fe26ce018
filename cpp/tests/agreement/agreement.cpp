// Writes changed outputs and the verdicts of the header about them, so that the verdicts of the program can be compared.
//
//     agreement ARCHIVE OUT CHANGE [GLOB...]
//
// OUT/answers.jsonl has a line for each model and inputs: a key, and the bytes of the outputs in OUT/answers.bin. OUT/verdicts.tsv has the
// id, outcome, ULP and message of each case. README.md says how adapter.py and compare.py use them.

#include <iostream>

#include "../perturb.hpp"

namespace oc = onnx_conformance;

namespace {

std::uint32_t adler32(const oc::Bytes& bytes) {
    return static_cast<std::uint32_t>(oc::zlib::adler32(1, bytes.data(), static_cast<unsigned>(bytes.size())));
}

// Key of a request: checksums of the model and the input files.
std::string key_of(const oc::Case& test, const oc::DataSet& data) {
    oc::Bytes all = test.model;
    std::string sizes = std::to_string(test.model.size());
    for (const oc::Input& input : data.inputs) {
        const oc::Bytes file = input.value.serialize(input.name);
        all.insert(all.end(), file.begin(), file.end());
        sizes += "," + std::to_string(file.size());
    }
    return std::to_string(oc::detail::crc32(all.data(), all.size())) + "-" + std::to_string(adler32(all)) + "-" + sizes;
}

struct Writer {
    std::ofstream lines, bytes;
    std::uint64_t offset = 0;
    std::map<std::string, oc::Answer> answers;

    void add(const oc::Case& test, oc::tests::Change change) {
        if (test.refusal) {
            add_answer(test, test.data.empty() ? oc::DataSet() : test.data.front(), change);
            add(*test.refusal->control, change);
            return;
        }
        for (const oc::DataSet& data : test.data) add_answer(test, data, change);
    }

    void add_answer(const oc::Case& test, const oc::DataSet& data, oc::tests::Change change) {
        using oc::tests::Change;
        const std::string key = key_of(test, data);
        if (answers.count(key) != 0) return;
        oc::Answer answer;
        const bool is_second = test.data.size() > 1 && &data == &test.data.front();
        const bool is_kept = is_second && change != Change::Error && change != Change::Unsupported;
        if (change == Change::Error || (test.is_refusal && (change == Change::Same || change == Change::Edge))) {
            answer = oc::Answer::of_error("changed");
        } else if (change == Change::Unsupported || (test.is_refusal && change == Change::Next)) {
            answer = oc::Answer::of_unsupported("operator ai.onnx/Changed", "changed");
        } else {
            answer = oc::Answer::of_outputs(oc::tests::changed_outputs(data, is_kept ? Change::Same : change));
        }
        lines << "{\"key\":\"" << key << "\",\"kind\":\""
              << (answer.kind == oc::Answer::Kind::Outputs ? "outputs"
                  : answer.kind == oc::Answer::Kind::Error ? "error"
                                                           : "unsupported")
              << "\",\"outputs\":[";
        for (std::size_t at = 0; at < answer.outputs.size(); ++at) {
            const oc::Bytes file = answer.outputs[at].serialize(data.outputs[at].name);
            bytes.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
            lines << (at > 0 ? "," : "") << "[" << offset << "," << file.size() << "]";
            offset += file.size();
        }
        lines << "]}\n";
        answers.emplace(key, std::move(answer));
    }
};

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::cerr << "usage: agreement ARCHIVE OUT CHANGE [GLOB...]\n";
        return 64;
    }
    try {
        const std::string out = arguments[2], name = arguments[3];
        const auto* found = std::find(std::begin(oc::tests::change_names), std::end(oc::tests::change_names), name);
        if (found == std::end(oc::tests::change_names)) throw oc::Error(name + ": is no change; see perturb.hpp");
        const auto change = static_cast<oc::tests::Change>(found - std::begin(oc::tests::change_names));
        oc::Archive archive = oc::Archive::open(arguments[1]);
        const std::vector<std::size_t> cases = archive.select(std::vector<std::string>(arguments + 4, arguments + count));
        Writer writer;
        writer.lines.open(out + "/answers.jsonl");
        writer.bytes.open(out + "/answers.bin", std::ios::binary);
        for (const std::size_t at : cases) writer.add(archive.read(at), change);
        std::ofstream verdicts(out + "/verdicts.tsv");
        for (const std::size_t at : cases) {
            const oc::Case test = archive.read(at);
            const oc::Verdict verdict =
                oc::judge(test, [&](const oc::Case& one, const oc::DataSet& data) { return writer.answers.at(key_of(one, data)); });
            std::string message = verdict.message;
            std::replace_if(
                message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
            verdicts << test.id << "\t" << oc::name(verdict.outcome) << "\t" << (verdict.ulps ? std::to_string(*verdict.ulps) : "-") << "\t"
                     << message << "\n";
        }
        std::cout << cases.size() << " cases, " << writer.answers.size() << " answers\n";
    } catch (const oc::Error& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
