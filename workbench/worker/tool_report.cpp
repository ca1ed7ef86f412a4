// SPDX-License-Identifier: MIT
#include "worker/tool_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace wb::worker {
namespace {

constexpr std::string_view k_mark = "=========";  // before every line of compute-sanitizer

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The first integer after `before` in the line.
std::optional<std::int64_t> number_behind(std::string_view line, std::string_view before) {
  const auto found = line.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(found + before.size());
  const auto digit = rest.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto read = std::from_chars(rest.data() + digit, rest.data() + rest.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

/// Reads one summary line. A count is used only if it can be read completely; of several summaries
/// (of processes, for example) the largest.
void read_summary(std::string_view words, SanitizerReport& report) {
  const bool is_race = words.find("hazard") != std::string_view::npos;
  // racecheck: "2 hazards displayed (1 error, 1 warning)"
  const auto errors = number_behind(words, is_race ? "(" : "SUMMARY:");
  const auto warnings = is_race ? number_behind(words, "error") : std::optional<std::int64_t>(0);
  if (!errors || !warnings) return;
  report.finished = true;
  report.errors = std::max(report.errors, *errors);
  report.warnings = std::max(report.warnings, *warnings);
}

}  // namespace

std::optional<std::string> why_ncu_is_blocked(std::string_view text) {
  if (text.find("ERR_NVGPUCTRPERM") != std::string_view::npos) {
    return "the driver lets only an administrator read performance counters (ERR_NVGPUCTRPERM); "
           "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  }
  if (text.find("Failed to initialize the profiler") != std::string_view::npos) {
    return "ncu could not start its profiler here; virtual machines and sandboxes may hide the "
           "performance counters";
  }
  return std::nullopt;
}

SanitizerReport read_sanitizer_report(std::string_view text) {
  SanitizerReport report;
  bool is_inside = false;  // inside a message, whose further lines are indented more
  for (std::size_t at = 0; at < text.size();) {
    const auto line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    at = line_end + 1;
    if (!line.starts_with(k_mark)) continue;
    const std::string_view words = line.substr(k_mark.size());
    if (words.find("SUMMARY:") != std::string_view::npos) {
      read_summary(words, report);
      continue;
    }
    const std::string_view said = trimmed(words);
    if (said.empty() || said.starts_with("COMPUTE-SANITIZER")) {
      is_inside = false;
      continue;
    }
    const bool is_first = !is_inside && words.starts_with(" ") && !words.starts_with("  ");
    is_inside = true;
    if (is_first && report.messages.size() < k_most_messages) report.messages.emplace_back(said);
  }
  return report;
}

}  // namespace wb::worker
