// SPDX-License-Identifier: MIT
#include "cli/printing.hpp"

#include <unistd.h>

#include "core/writing.hpp"
#include "verbs/exit_code.hpp"

namespace wb::cli {

int print(std::string_view text, int code, const std::string& next) {
  const auto written = write_all(STDOUT_FILENO, text, "standard output");
  if (written.ok()) return code;
  Error error = written.error();
  if (!next.empty()) error.next = next;
  say("sdpa-wb: " + error.message() + "\n");
  return static_cast<int>(verbs::ExitCode::io);
}

void say(std::string_view text) {
  (void)write_all(STDERR_FILENO, text, "standard error");
}

}  // namespace wb::cli
