// SPDX-License-Identifier: MIT
#include "runner/transport.hpp"

#include <fmt/format.h>

#include <utility>

#include "protocol/protocol.hpp"

namespace wb::runner {
namespace {

/// A worker started by a command: its stdin and stdout are the wire, its stderr is kept for
/// messages.
class CommandTransport final : public Transport {
 public:
  CommandTransport(ChildProcess process, std::string description)
      : m_process(std::move(process)), m_description(std::move(description)) {}

  ~CommandTransport() override { close(); }

  Result<void> send(std::string_view line, std::chrono::milliseconds deadline) override {
    return explained(m_process.write_line(line, deadline));
  }

  Result<std::string> receive(std::chrono::milliseconds deadline) override {
    return explained(m_process.read_line(deadline, protocol::k_max_line_bytes));
  }

  /// Closes the input first: the worker then ends its children, which lead their own process groups
  /// and would not get a signal sent to the group.
  void close() override {
    if (std::exchange(m_closed, true)) return;
    m_process.close_stdin();
    m_process.wait(std::chrono::seconds(3));
  }

  std::string description() const override { return m_description; }

 private:
  /// Adds the worker's stderr, the only place where an ssh or docker failure is explained.
  template <typename T>
  Result<T> explained(Result<T> result) {
    if (result.ok()) return result;
    Error error = result.error();
    error.subject = m_description;
    const std::string words = m_process.captured_stderr();
    if (!words.empty()) error.cause += fmt::format("; it said: {}", printable(words, 400));
    return error;
  }

  ChildProcess m_process;
  std::string m_description;
  bool m_closed = false;
};

std::string describe(const TransportSpec& spec) {
  if (spec.prefix.empty()) return "local";
  return fmt::format("{}", fmt::join(spec.prefix, " "));
}

}  // namespace

Result<std::unique_ptr<Transport>> open_command_transport(const TransportSpec& spec) {
  ProcessSpec process;
  process.argv = spec.prefix;
  process.argv.push_back(spec.worker);
  // Ctrl-C in the terminal must reach the session only, which then closes the wire.
  process.new_session = true;
  Result<ChildProcess> child = ChildProcess::spawn(process);
  if (child.ok()) {
    return std::unique_ptr<Transport>(
        std::make_unique<CommandTransport>(*std::move(child), describe(spec)));
  }
  Error error = child.error();
  error.attempted = "start the worker";
  error.subject = process.argv[0];
  if (error.code == ErrorCode::not_found) {
    error.cause = process.argv[0].find('/') == std::string::npos
                      ? "no such program in any folder of PATH"
                      : "no such program";
    error.next = spec.prefix.empty() ? "build or install sdpa-wb-worker, or name it with --worker"
                                     : "install the transport's program or correct the prefix";
  }
  return error;
}

}  // namespace wb::runner
