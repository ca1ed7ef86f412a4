// SPDX-License-Identifier: MIT
#include "worker/tool_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace wb::worker {
namespace {

constexpr std::size_t k_name_bytes = 300;         // of a kernel, whose name the variant chose
constexpr std::string_view k_mark = "=========";  // before every line of compute-sanitizer

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// A number as ncu prints it, thousands apart ("1,234.5"); else the text itself.
Json value_of(const std::string& field) {
  std::string digits = field;
  std::erase(digits, ',');
  double number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return printable(field);
  return number;
}

std::optional<std::size_t> column_of(const std::vector<std::string>& header, const char* name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

/// Where the table begins: at the line whose first field is "ID".
std::size_t table_begin(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("\"ID\",") || text.substr(at).starts_with("ID,")) return at;
    const auto line_end = text.find('\n', at);
    if (line_end == std::string_view::npos) break;
    at = line_end + 1;
  }
  return std::string_view::npos;
}

/// The first whole number behind `before` in the line.
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

/// One summary line. What it found counts where it can be read as a whole only; of several
/// summaries (of processes, say) the largest figures.
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

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool is_quoted = false, has_row = false;
  const auto end_row = [&] {
    row.push_back(std::move(field));
    field.clear();
    rows.push_back(std::move(row));
    row.clear();
    has_row = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        is_quoted = false;
      }
      continue;
    }
    if (c == '\r') continue;
    if (c == '\n') {
      if (has_row) end_row();
      continue;
    }
    has_row = true;
    if (c == '"') {
      is_quoted = true;
    } else if (c == ',') {
      row.push_back(std::move(field));
      field.clear();
    } else {
      field += c;
    }
  }
  if (has_row) end_row();
  return rows;
}

Result<Json> read_ncu_report(std::string_view text, std::size_t most) {
  const auto invalid = [](std::string reason) {
    return Error{ErrorCode::invalid, "read the profile", "ncu", std::move(reason), ""};
  };
  const std::size_t begin = table_begin(text);
  if (begin == std::string_view::npos) return invalid("it printed no table");
  // What has no line end is torn.
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos || end < begin) return invalid("it printed no table");
  const auto rows = parse_csv(text.substr(begin, end + 1 - begin));
  const std::vector<std::string>& header = rows.front();
  const auto id = column_of(header, "ID"), kernel = column_of(header, "Kernel Name"),
             grid = column_of(header, "Grid Size"), block = column_of(header, "Block Size"),
             name = column_of(header, "Metric Name"), unit = column_of(header, "Metric Unit"),
             value = column_of(header, "Metric Value");
  if (!id || !kernel || !name || !unit || !value) {
    return invalid("its table has other columns than those of --page details");
  }
  const std::size_t columns =
      1 + std::max({*id, *kernel, *name, *unit, *value, grid.value_or(0), block.value_or(0)});
  Json launches = Json::array();
  std::map<std::string, std::size_t> place;  // of a launch, by its id
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const auto& row = rows[r];
    // A rule's advice has no metric; a metric's row leaves out the columns of rules at its end.
    if (row.size() < columns || row[*name].empty()) continue;
    const auto found = place.find(row[*id]);
    if (found == place.end() && launches.size() == most) continue;
    if (found == place.end()) {
      place[row[*id]] = launches.size();
      launches.push_back({{"kernel", printable(row[*kernel], k_name_bytes)},
                          {"grid", grid ? printable(row[*grid]) : ""},
                          {"block", block ? printable(row[*block]) : ""},
                          {"metrics", Json::object()}});
    }
    launches[place[row[*id]]]["metrics"][printable(row[*name])] = {{"value", value_of(row[*value])},
                                                                   {"unit", printable(row[*unit])}};
  }
  return launches;
}

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
  bool is_inside = false;  // a message: its further lines are indented more
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
