// SPDX-License-Identifier: MIT
// Output of the command: answers on standard output; messages, and progress of long verbs, on
// standard error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "engine/services.hpp"

namespace wb::cli {

/// Prints an answer and returns the exit code: `code` if all was written or the reader has left (`|
/// head`). Else 74, after a sentence on standard error that ends with `next`, or with a remedy if
/// `next` is empty.
int print(std::string_view text, int code, const std::string& next = {});

/// Prints a message; a failure to write is ignored.
void say(std::string_view text);

/// "iteration 2  verdict 3/14  cpu_tiled@1f0c44aa on n6_S64  best 1.83x  0:41 elapsed  ~1:12 left".
std::string progress_text(const engine::Progress& progress);

class ProgressLine {
 public:
  /// Writes to file descriptor 2. `terminal` chooses the form.
  explicit ProgressLine(bool terminal) : m_terminal(terminal) {}
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const engine::Progress& progress);
  /// Clears the line, so that messages start on an empty one.
  void finish();

 private:
  bool m_terminal;
  bool m_dirty = false;
  std::string m_last_stage;
  std::chrono::steady_clock::time_point m_last_shown;
};

}  // namespace wb::cli
