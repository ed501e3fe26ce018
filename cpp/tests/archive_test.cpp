// Tests of archives: damage, wrong contents, and every case of an archive judged against its own expectations.

#include "perturb.hpp"
#include "support.hpp"

namespace oc = onnx_conformance;
using namespace onnx_conformance::tests;

namespace {

// zlib stream with stored blocks.
oc::Bytes stored(const oc::Bytes& bytes) {
    oc::Bytes out{0x78, 0x01};
    for (std::size_t at = 0;; at += 65535) {
        const std::size_t size = std::min<std::size_t>(65535, bytes.size() - at);
        const bool is_last = at + size == bytes.size();
        out.push_back(is_last ? 1 : 0);
        for (const std::size_t number : {size, size ^ 0xffff}) {
            out.push_back(static_cast<std::uint8_t>(number));
            out.push_back(static_cast<std::uint8_t>(number >> 8));
        }
        out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
        if (is_last) break;
    }
    const unsigned long sum = oc::zlib::adler32(1, bytes.data(), static_cast<unsigned>(bytes.size()));
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(sum >> shift));
    return out;
}

void add_number(oc::Bytes& out, std::uint64_t number, unsigned width) {
    for (unsigned at = 0; at < width; ++at) out.push_back(static_cast<std::uint8_t>(number >> (8 * at)));
}

// Contents of an archive with one block, before they are compressed.
struct Parts {
    oc::Bytes block, directory;

    oc::Bytes archive() const {
        oc::Bytes out{0x89, 'O', 'N', 'X', 'C', 0x0d, 0x0a, 0x1a};
        const oc::Bytes blocks = stored(block), end = stored(directory);
        add_number(out, 1, 4);
        add_number(out, 0, 4);
        add_number(out, 64 + blocks.size() + end.size(), 8);
        add_number(out, 64 + blocks.size(), 8);
        add_number(out, end.size(), 8);
        add_number(out, directory.size(), 8);
        add_number(out, oc::detail::crc32(end.data(), end.size()), 4);
        add_number(out, 0, 8);
        add_number(out, oc::detail::crc32(out.data(), 60), 4);
        out.insert(out.end(), blocks.begin(), blocks.end());
        out.insert(out.end(), end.begin(), end.end());
        return out;
    }
};

// Two cases: a/refused is a refusal with the control b, and b returns 1, 2 for the input 1, 2. The input of a/refused is drawn.
Parts small() {
    Parts parts;
    oc::Bytes directory;
    const auto text = [&](oc::Bytes& to, const std::string& contents) {
        to.push_back(static_cast<std::uint8_t>(contents.size()));
        to.insert(to.end(), contents.begin(), contents.end());
    };
    for (const char* one : {"0.1.0", "digest", "small", "1.23.2", ""}) text(directory, one);
    directory.push_back(5);
    for (const char* one : {"x", "y", "tensor(float)", "ai.onnx", "a rule"}) text(directory, one);
    // A block with a model of 3 bytes, a message, and 2 floats.
    const oc::Bytes model{1, 2, 3};
    parts.block = model;
    parts.block.insert(parts.block.end(), {0x08, 2, 0x10, 1});
    parts.block.insert(parts.block.end(), {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40});
    const oc::Bytes stored_block = stored(parts.block);
    directory.push_back(1);
    directory.push_back(static_cast<std::uint8_t>(stored_block.size()));
    add_number(directory, oc::detail::crc32(stored_block.data(), stored_block.size()), 4);
    directory.push_back(1);
    directory.insert(directory.end(), {3, 3, 4, 8});
    // A drawn blob: 2 floats from state 0, no flags, eighths from -32, in steps of 1, one of 65, each, not refined.
    directory.insert(directory.end(), {1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 63, 1, 65, 1, 0});
    directory.push_back(2);
    // Flags, level, model, no files, IR 8, one opset, no operators, one data set.
    const oc::Bytes start{8, 0, 0, 0, 8, 1, 3, 13, 0, 1};
    oc::Bytes refused = start, control = start;
    // One input, no outputs; rule 4, static, control 1.
    refused.insert(refused.end(), {1, 0, 2, 1, 4, 0, 4, 0, 1});
    // One input; one output, exact.
    control[0] = 0;
    control.insert(control.end(), {1, 0, 2, 1, 3, 1, 1, 0, 2, 1, 3, 0});
    directory.push_back(0);
    text(directory, "a/refused");
    directory.push_back(static_cast<std::uint8_t>(refused.size()));
    directory.insert(directory.end(), refused.begin(), refused.end());
    directory.push_back(0);
    text(directory, "b");
    directory.push_back(static_cast<std::uint8_t>(control.size()));
    directory.insert(directory.end(), control.begin(), control.end());
    parts.directory = directory;
    return parts;
}

// Reads everything. Returns the error, or an empty text.
std::string read_all(oc::Bytes bytes) {
    try {
        oc::Archive archive = oc::Archive::from_memory(std::move(bytes), "small");
        archive.verify();
        for (std::size_t at = 0; at < archive.size(); ++at) {
            archive.info(at);
            archive.read(at);
        }
    } catch (const oc::Error& error) {
        return error.what();
    }
    return std::string();
}

TEST(Archives, a_small_one_is_read) {
    oc::Archive archive = oc::Archive::from_memory(small().archive());
    ASSERT_EQ(archive.size(), 2u);
    EXPECT_EQ(archive.suite() + archive.digest() + archive.profile() + archive.release(), "0.1.0digestsmall1.23.2");
    const oc::Case refused = archive.read("a/refused"), control = archive.read("b");
    EXPECT_EQ(refused.refusal->rule, "a rule");
    EXPECT_EQ(refused.refusal->control->id, "b");
    EXPECT_EQ(refused.data.at(0).inputs.at(0).value.tensor.to_vector<float>(), (std::vector<float>{0.375f, -4.0f}));
    EXPECT_EQ(control.model, (oc::Bytes{1, 2, 3}));
    EXPECT_EQ(control.ir_version, 8u);
    EXPECT_EQ(control.opsets.at(0).second, 13u);
    EXPECT_EQ(control.data.at(0).inputs.at(0).value.tensor.to_vector<float>(), (std::vector<float>{1, 2}));
    EXPECT_EQ(outcome_of(control, {floats({1, 2})}), "pass");
    EXPECT_EQ(archive.info(1).types, (std::set<std::string>{"tensor(float)"}));
    EXPECT_EQ(archive.select({"a"}), (std::vector<std::size_t>{0}));
    EXPECT_FALSE(archive.find("c"));
    EXPECT_THROW(archive.read("c"), oc::Error);
    std::size_t count = 0;
    for (const oc::Case& test : archive) count += test.data.size();
    EXPECT_EQ(count, 2u);
}

oc::detail::Drawn drawn(oc::ElementType element, std::uint64_t count) {
    oc::detail::Drawn out;
    out.element = element;
    out.count = count;
    return out;
}

TEST(Draws, follow_the_published_numbers_of_the_stream) {
    using oc::detail::Drawn;
    // The first outputs of SplitMix64 from state 0, as its authors publish them, are e220a8397b1dcdaf, 6e789e6aa1b965f4 and
    // 06c45d188009454f. Arithmetic without a limit of bits gave the numbers below.
    const auto check = [](Drawn rule, const std::vector<std::int64_t>& expected) {
        rule.element = oc::ElementType::Int64;
        rule.count = expected.size();
        std::vector<std::uint64_t> numbers(expected.begin(), expected.end());
        EXPECT_EQ(rule.numbers(), numbers);
    };
    Drawn plain = drawn(oc::ElementType::Int64, 0);
    plain.low = static_cast<std::uint64_t>(-32);
    plain.choices = 65;
    check(plain, {3, -32, -18, 32, -15, 23});
    Drawn rule = plain;
    rule.low = static_cast<std::uint64_t>(-31);
    rule.step = 2;
    rule.choices = 32;
    check(rule, {-1, 9, -1, -7, 23, -11});
    rule = plain;
    rule.low = static_cast<std::uint64_t>(-8);
    rule.choices = 17;
    rule.one_in = 3;
    check(rule, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, -6, 0});
    rule = plain;
    rule.low = static_cast<std::uint64_t>(-1);
    rule.choices = 3;
    rule.flags = Drawn::redraws_zero;
    check(rule, {-1, -1, 1, 1, 1, 1});
    rule = plain;
    rule.low = 1;
    rule.choices = 32;
    rule.flags = Drawn::has_sign;
    check(rule, {16, 16, 28, 2, 4, 10});
    rule = plain;
    rule.refinement = 7;
    check(rule, {384, -2304, -1920, -1152, -1024, -3328});
    rule.low = static_cast<std::uint64_t>(-3);
    rule.step = 2;
    rule.choices = 4;
    rule.one_in = 2;
    rule.flags = Drawn::redraws_zero | Drawn::has_sign;
    rule.refinement = 2;
    check(rule, {0, 10, 0, 10, 0, 0, 0, 0, 0, -11, 12, 3});
    rule.flags = Drawn::shuffled;
    check(rule, {1, -1, 2, 0, -3, -2});
}

TEST(Draws, every_type_of_numbers_has_its_bytes) {
    for (unsigned code = 1; code <= oc::element_type_count; ++code) {
        const auto element = static_cast<oc::ElementType>(code);
        if (element == oc::ElementType::String) continue;
        // Numbers that every type but float8e8m0 and bool has: -2 to 1.
        oc::detail::Drawn rule = drawn(element, 33);
        rule.low = static_cast<std::uint64_t>(-2);
        rule.choices = 4;
        const std::vector<std::uint64_t> numbers = rule.numbers();
        const oc::Tensor tensor = oc::Tensor::from_packed(element, {33}, rule.raw());
        EXPECT_EQ(rule.raw().size(), rule.size()) << oc::name(element);
        // float8e8m0 has neither 0 nor signs.
        if (element == oc::ElementType::Float8e8m0) continue;
        const bool is_complex = oc::kind(element) == oc::NumberKind::Complex;
        for (std::size_t at = 0; at < numbers.size(); ++at) {
            double expected = static_cast<double>(static_cast<std::int64_t>(numbers[at] + 2)) - 2;
            if (element == oc::ElementType::Bool) expected = expected != 0 ? 1 : 0;
            const bool wraps = oc::kind(element) == oc::NumberKind::Unsigned && expected < 0;
            if (wraps) expected += std::ldexp(1.0, static_cast<int>(oc::bits(element)));
            EXPECT_EQ(is_complex ? tensor.part(at) : tensor.number(at), expected) << oc::name(element) << " " << at;
        }
    }
    oc::detail::Drawn scaled = drawn(oc::ElementType::Float, 6);
    scaled.low = static_cast<std::uint64_t>(-32);
    scaled.choices = 65;
    scaled.scale = 10;
    scaled.refinement = 7;
    const oc::Tensor tensor = oc::Tensor::from_packed(oc::ElementType::Float, {6}, scaled.raw());
    EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{0.375f, -2.25f, -1.875f, -1.125f, -1.0f, -3.25f}));
}

// Returns the error of a description: type, count, state 0, flags, scale 0, low 0, and the numbers of the choice.
std::string error_of_drawn(std::uint64_t code, std::uint64_t count, std::uint64_t flags, std::vector<std::uint64_t> choice) {
    oc::detail::MessageWriter out;
    out.varint(code);
    out.varint(count);
    out.out.insert(out.out.end(), 8, 0);
    for (const std::uint64_t one : {flags, std::uint64_t{0}, std::uint64_t{0}}) out.varint(one);
    for (const std::uint64_t one : choice) out.varint(one);
    oc::detail::Cursor cursor(out.out.data(), out.out.size());
    try {
        oc::detail::Drawn::read(cursor);
    } catch (const oc::Error& error) {
        return error.what();
    }
    return cursor.at_end() ? std::string() : "bytes are left";
}

TEST(Draws, what_cannot_be_drawn_is_refused) {
    EXPECT_EQ(error_of_drawn(1, 4 << 20, 0, {1, 2, 1, 0}), "");
    EXPECT_EQ(error_of_drawn(1, 6, 1, {}), "");
    EXPECT_NE(error_of_drawn(1, (4 << 20) + 1, 0, {1, 2, 1, 0}).find("too large"), std::string::npos);
    EXPECT_NE(error_of_drawn(1, ~std::uint64_t{0}, 1, {}).find("too large"), std::string::npos);
    for (const std::uint64_t code : {0, 8, 29, 100}) {
        EXPECT_NE(error_of_drawn(code, 1, 1, {}).find("no type of numbers"), std::string::npos) << code;
    }
    for (const std::uint64_t flags : {3, 5, 8}) EXPECT_NE(error_of_drawn(1, 1, flags, {}).find("unknown flags"), std::string::npos);
    using Choice = std::vector<std::uint64_t>;
    for (const Choice& choice : {Choice{1, 0, 1, 0}, Choice{1, 2, 0, 0}, Choice{1, 2, 1, 63}, Choice{1, 1, 1, 0}, Choice{0, 2, 1, 0}}) {
        EXPECT_NE(error_of_drawn(1, 1, 2, choice).find("no choice"), std::string::npos);
    }
    EXPECT_NE(error_of_drawn(1, 1, 0, {1, 2, 1}).find("ends too early"), std::string::npos);
}

TEST(Archives, every_cut_and_every_flipped_bit_is_found) {
    const oc::Bytes whole = small().archive();
    ASSERT_EQ(read_all(whole), "");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string error = read_all(oc::Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        EXPECT_NE(error.find("truncated"), std::string::npos) << size << ": " << error;
    }
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        oc::Bytes bad = whole;
        bad[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
        EXPECT_NE(read_all(bad), "") << bit;
    }
    oc::Bytes longer = whole;
    longer.push_back(0);
    EXPECT_NE(read_all(longer).find("follow"), std::string::npos);
}

TEST(Archives, a_later_version_and_other_files_are_refused) {
    oc::Bytes bytes = small().archive();
    bytes[8] = 2;
    const std::uint32_t crc = oc::detail::crc32(bytes.data(), 60);
    for (unsigned at = 0; at < 4; ++at) bytes[60 + at] = static_cast<std::uint8_t>(crc >> (8 * at));
    EXPECT_NE(read_all(bytes).find("version 2"), std::string::npos);
    EXPECT_NE(read_all(oc::Bytes(200, 'x')).find("not those of an archive"), std::string::npos);
    EXPECT_THROW(oc::Archive::open("/no/such/file"), oc::Error);
    EXPECT_THROW(oc::Archive::open("/"), oc::Error);
}

// Changed contents with right checksums: an error or other contents, but never a crash.
TEST(Archives, wrong_contents_are_refused_or_read) {
    Random random(11);
    const Parts parts = small();
    std::size_t refused = 0;
    for (std::size_t byte = 0; byte < parts.directory.size(); ++byte) {
        for (int value = 0; value < 256; ++value) {
            Parts bad = parts;
            bad.directory[byte] = static_cast<std::uint8_t>(value);
            refused += read_all(bad.archive()).empty() ? 0 : 1;
        }
    }
    EXPECT_GT(refused, 1000u);
    for (int round = 0; round < 20000; ++round) {
        Parts bad = parts;
        oc::Bytes& bytes = bad.directory;
        for (std::uint64_t changes = 1 + random.next() % 4; changes > 0; --changes) {
            const auto at = static_cast<std::ptrdiff_t>(random.next() % bytes.size());
            switch (random.next() % 3) {
                case 0: bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random.next()); break;
                case 1: bytes.erase(bytes.begin() + at); break;
                default: bytes.insert(bytes.begin() + at, static_cast<std::uint8_t>(random.next()));
            }
        }
        read_all(bad.archive());
    }
}

TEST(Archives, damaged_streams_are_refused) {
    Random random(13);
    const oc::Bytes good = stored(oc::Bytes(3000, 7));
    for (int round = 0; round < 20000; ++round) {
        oc::Bytes bad = good;
        // Other kinds of blocks, too.
        for (int changes = 0; changes < 6; ++changes) bad[random.next() % 40] = static_cast<std::uint8_t>(random.next());
        oc::Bytes out;
        oc::detail::inflate(bad, out, 3000);
    }
}

// The archive in ONNX_CONFORMANCE_ARCHIVE.
class WholeArchive : public testing::Test {
protected:
    void SetUp() override {
        if (archive_path().empty()) GTEST_SKIP() << "ONNX_CONFORMANCE_ARCHIVE names no archive";
    }
};

TEST_F(WholeArchive, cuts_and_flipped_bits_are_found) {
    std::ifstream file(archive_path(), std::ios::binary);
    const oc::Bytes whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const auto verify = [](oc::Bytes bytes) {
        try {
            oc::Archive::from_memory(std::move(bytes)).verify();
        } catch (const oc::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    ASSERT_EQ(verify(whole), "");
    Random random(3);
    for (int round = 0; round < 100; ++round) {
        oc::Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(random.next() % whole.size()));
        EXPECT_NE(verify(cut).find("truncated"), std::string::npos);
        oc::Bytes bad = whole;
        bad[random.next() % bad.size()] ^= static_cast<std::uint8_t>(1u << (random.next() % 8));
        EXPECT_NE(verify(bad), "");
    }
}

TEST_F(WholeArchive, every_case_passes_with_its_own_outputs_and_fails_with_others) {
    oc::Archive archive = oc::Archive::open(archive_path());
    std::map<std::string, std::size_t> counts;
    for (std::size_t at = 0; at < archive.size(); ++at) {
        const oc::Case test = archive.read(at);
        const auto ends = [&](Change change) {
            const oc::Verdict verdict = oc::judge(test, [&](const oc::Case& one, const oc::DataSet& data) {
                return one.refusal ? oc::Answer::of_error("refused") : oc::Answer::of_outputs(changed_outputs(data, change));
            });
            return verdict;
        };
        for (const Change change : {Change::Same, Change::Other, Change::Edge}) {
            const oc::Verdict verdict = ends(change);
            // float8e8m0 and other types without a next number have no edge away from zero.
            if (change == Change::Edge && verdict.outcome != oc::Outcome::Pass) {
                ++counts["edges that differ"];
                continue;
            }
            EXPECT_EQ(verdict.outcome, oc::Outcome::Pass) << test.id << ": " << verdict.message;
        }
        if (test.refusal || (test.is_hostile && test.data.at(0).outputs.empty())) {
            ++counts["refusals"];
            continue;
        }
        ++counts["cases with outputs"];
        const bool has_outputs = !test.data.at(0).outputs.empty();
        for (const Change change : {Change::Type, Change::Rank}) {
            const oc::Outcome outcome = ends(change).outcome;
            // An empty sequence, or a shape that is not specified, cannot be changed so.
            const bool is_tensor = has_outputs && test.data[0].outputs[0].expected.type.kind == oc::Type::Kind::Tensor &&
                                   test.data[0].outputs[0].expected.shape;
            if (is_tensor) {
                EXPECT_EQ(outcome, change == Change::Type ? oc::Outcome::WrongType : oc::Outcome::WrongShape) << test.id;
            }
        }
        if (has_outputs) {
            EXPECT_EQ(oc::judge_outputs(test.data[0], {}).outcome, oc::Outcome::WrongShape) << test.id;
        }
        const oc::Expected* expected = has_outputs ? &test.data.back().outputs.back().expected : nullptr;
        const bool is_float = expected != nullptr && expected->kind == oc::Expected::Kind::Value &&
                              expected->type.kind == oc::Type::Kind::Tensor &&
                              oc::kind(expected->type.element) != oc::NumberKind::Complex && expected->values[0].tensor.size() > 0;
        if (is_float && expected->accuracy.kind != oc::Accuracy::Kind::Bounded) {
            const oc::Tensor& tensor = expected->values[0].tensor;
            const std::size_t last = tensor.size() - 1;
            const bool is_number = oc::kind(tensor.type) == oc::NumberKind::Float;
            const bool has_next = !is_number || (std::isfinite(tensor.number(last)) && has_beyond(tensor, last, expected->accuracy));
            if (!has_next) {
                ++counts["cases whose last value has none beyond it"];
            } else {
                ++counts["cases with a value beyond the bound"];
                EXPECT_EQ(ends(Change::BeyondLast).outcome, oc::Outcome::Mismatch) << test.id << " " << expected->accuracy.text();
            }
        }
    }
    for (const auto& count : counts) std::printf("%s: %zu\n", count.first.c_str(), count.second);
}

}  // namespace
