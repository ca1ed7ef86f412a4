// SPDX-License-Identifier: MIT
// Progress on standard error: one rewritten line on a terminal; elsewhere plain lines, at most one
// in two seconds and one per stage. Standard output is for results.
#pragma once

#include <chrono>
#include <string>

#include "engine/services.hpp"

namespace wb::cli {

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
