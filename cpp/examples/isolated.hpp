// Runs a function of the runtime in a process of its own, so that a crash or a hang ends one case and not the test run.
//
// On POSIX systems the process is a fork. The parent must not use threads of the runtime. Elsewhere, such as on Windows, the function runs
// in this process: a crash ends the test run, and there is no time limit.

#ifndef ONNX_CONFORMANCE_EXAMPLES_ISOLATED_HPP
#define ONNX_CONFORMANCE_EXAMPLES_ISOLATED_HPP

#include "../onnx_conformance.hpp"

#if defined(__unix__) || defined(__APPLE__)
#define ONNX_CONFORMANCE_HAS_FORK 1
#include <cerrno>
#include <chrono>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace onnx_conformance {

// Calls the function and turns an exception into an error.
inline Answer run_in_process(const std::function<Answer()>& run) {
    try {
        return run();
    } catch (const std::exception& error) {
        return Answer::of_error(error.what());
    }
}

#ifdef ONNX_CONFORMANCE_HAS_FORK

namespace detail {

// Answer as bytes: kind, message, missing feature, then type and message of each output.
inline Bytes packed(const Answer& answer) {
    MessageWriter out;
    out.number(1, static_cast<std::uint64_t>(answer.kind));
    out.bytes(2, answer.message);
    out.bytes(5, answer.missing);
    for (const Value& value : answer.outputs) {
        out.bytes(3, value.type.text());
        out.bytes(4, value.serialize());
    }
    return std::move(out.out);
}

inline Answer unpacked(const Bytes& bytes) {
    const Message message(Cursor(bytes.data(), bytes.size()));
    Answer answer;
    answer.kind = static_cast<Answer::Kind>(message.number(1));
    if (const auto text = message.last(2)) answer.message = text->rest_as_text();
    if (const auto text = message.last(5)) answer.missing = text->rest_as_text();
    const std::vector<Cursor> types = message.all(3), values = message.all(4);
    for (std::size_t at = 0; at < types.size() && at < values.size(); ++at) {
        answer.outputs.push_back(Value::parse(values[at].rest_as_bytes(), Type::parse(types[at].rest_as_text())));
    }
    return answer;
}

}  // namespace detail

// Runs the function in a fork, at most so many seconds.
inline Answer run_isolated(const std::function<Answer()>& run, double seconds) {
    int ends[2];
    if (pipe(ends) != 0) throw Error("pipe: cannot be created; close files or raise the limit of open files");
    // What is buffered would otherwise be written twice.
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        throw Error("fork: no process can be created; end others or raise the limit of processes");
    }
    if (child == 0) {
        close(ends[0]);
        const Bytes bytes = detail::packed(run_in_process(run));
        std::size_t written = 0;
        while (written < bytes.size()) {
            const ssize_t count = write(ends[1], bytes.data() + written, bytes.size() - written);
            if (count < 0 && errno != EINTR) _exit(125);
            if (count > 0) written += static_cast<std::size_t>(count);
        }
        // Destructors of the parent's objects must not run.
        _exit(0);
    }
    close(ends[1]);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    Bytes bytes;
    bool is_late = false;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        pollfd waiting{ends[0], POLLIN, 0};
        const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 60000)));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            if (left > 0 && ready == 0) continue;
            is_late = true;
            kill(child, SIGKILL);
            break;
        }
        std::uint8_t part[65536];
        const ssize_t count = read(ends[0], part, sizeof part);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        bytes.insert(bytes.end(), part, part + count);
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (is_late) return Answer::of_end(Answer::Kind::Timeout, "no answer within " + detail::text_of(seconds) + " s");
    if (WIFSIGNALED(status)) return Answer::of_end(Answer::Kind::Crash, "ended by signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) return Answer::of_end(Answer::Kind::Crash, "ended with exit code " + std::to_string(WEXITSTATUS(status)));
    if (bytes.empty()) return Answer::of_end(Answer::Kind::Crash, "ended without an answer");
    return detail::unpacked(bytes);
}

#else

inline Answer run_isolated(const std::function<Answer()>& run, double) { return run_in_process(run); }

#endif

}  // namespace onnx_conformance

#endif
