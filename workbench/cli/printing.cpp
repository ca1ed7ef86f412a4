// SPDX-License-Identifier: MIT
#include "cli/printing.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "core/writing.hpp"
#include "verbs/answer_forms.hpp"

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

namespace {

std::string minutes(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds < 0 ? 0 : seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

void write_all(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) return;  // progress is optional: a closed stderr must not end a session
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

std::string progress_text(const engine::Progress& progress) {
  std::string text;
  if (progress.iteration >= 0) {
    text +=
        progress.iteration == 0 ? "baseline  " : fmt::format("iteration {}  ", progress.iteration);
  }
  text += progress.stage;
  if (progress.total > 0) text += fmt::format(" {}/{}", progress.done + 1, progress.total);
  if (!progress.what.empty()) text += "  " + progress.what;
  if (progress.best_speedup) text += fmt::format("  best {:.2f}x", *progress.best_speedup);
  text += fmt::format("  {} elapsed", minutes(progress.elapsed_s));
  if (progress.left_s) text += fmt::format("  ~{} left", minutes(*progress.left_s));
  text += progress.cost_usd ? fmt::format("  ${:.4f}{}", *progress.cost_usd,
                                          progress.is_list_price ? " (list price)" : "")
                            : std::string("  cost: rate not given");
  return text;
}

void ProgressLine::show(const engine::Progress& progress) {
  const auto now = std::chrono::steady_clock::now();
  const std::string stage = fmt::format("{} {}", progress.iteration, progress.stage);
  const bool new_stage = stage != m_last_stage;
  const auto pause = m_terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(2000);
  if (!new_stage && now - m_last_shown < pause) return;
  m_last_stage = stage;
  m_last_shown = now;
  if (m_terminal) {
    write_all("\r\x1b[2K" + progress_text(progress).substr(0, 160));
    m_dirty = true;
  } else {
    write_all(progress_text(progress) + "\n");
  }
}

void ProgressLine::finish() {
  if (m_dirty) write_all("\r\x1b[2K");
  m_dirty = false;
}

}  // namespace wb::cli
