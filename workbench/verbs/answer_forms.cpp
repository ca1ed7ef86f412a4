// SPDX-License-Identifier: MIT
#include "verbs/answer_forms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::verbs {

namespace {

/// A plain table, columns as wide as their widest cell.
std::string table(const std::vector<std::string>& heads,
                  const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& head : heads) widths.push_back(head.size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text += c + 1 == cells.size() ? cells[c] : fmt::format("{:<{}}  ", cells[c], widths[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line(heads);
  for (const auto& row : rows) text += line(row);
  return text;
}

}  // namespace

std::string json_text(const Json& value, int indent) {
  return without_hidden_characters(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return json_text(value);
}

std::string rows_of(const Json& list, const std::vector<std::string>& keys) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& item : list) {
    std::vector<std::string> row;
    for (const std::string& key : keys) row.push_back(cell(item.value(key, Json())));
    rows.push_back(std::move(row));
  }
  return table(keys, rows);
}

std::string interval_text(const Json& interval) {
  if (!interval.is_object() || !interval.value("low", Json()).is_number()) return "";
  return fmt::format(" [{:.3f}, {:.3f}]", interval["low"].get<double>(),
                     interval["high"].get<double>());
}

std::string iteration_text(const Json& answer) {
  std::string text = fmt::format("iteration {}: {}\n{}\n", cell(answer["iteration"]),
                                 cell(answer["outcome"]), cell(answer["message"]));
  if (answer["speedup"].is_number()) {
    text += fmt::format("speedup {:.3f}x{}, hypothesis {} (mechanism {}, size {})\n",
                        answer["speedup"].get<double>(), interval_text(answer["interval"]),
                        cell(answer["decision"]), cell(answer.value("mechanism", Json())),
                        cell(answer.value("size", Json())));
  }
  text += fmt::format("incumbent: {}\n", cell(answer["incumbent"]));
  if (!answer["problems"].empty()) {
    text += rows_of(answer["problems"],
                    {"problem", "outcome", "speedup", "candidate_us", "incumbent_us"});
  }
  if (answer["stop_reason"].is_string()) {
    text += "the session should end now: " + cell(answer["stop_reason"]) + "\n";
  }
  return text;
}

std::string search_text(const Json& answer) {
  std::string text = iteration_text(answer);
  const Json rows = answer.value("evaluations", Json::array());
  if (rows.empty()) return text;
  Json named = Json::array();
  for (const Json& row : rows) {
    Json item = row;
    std::string words;
    for (const auto& [name, value] : row["configuration"].items()) {
      words += (words.empty() ? "" : " ") + name + "=" + json_text(value);
    }
    item["configuration"] = words;
    named.push_back(std::move(item));
  }
  text +=
      "against the best of the search (these figures chose, they report nothing):\n" +
      rows_of(named, {"variant", "configuration", "outcome", "speedup", "duplicate", "message"});
  const Json tune = answer.value("tune", Json::object());
  return text + fmt::format("built {} s, measured {} s, waited for builds {} s, of {} s\n",
                            cell(tune["build_s"]), cell(tune["measure_s"]), cell(tune["wait_s"]),
                            cell(tune["search_s"]));
}

std::string notes_of(const Json& answer) {
  std::string text;
  for (const Json& note : answer.value("notes", Json::array())) text += cell(note) + "\n";
  return text;
}

ExitCode exit_code_of_invalidity(std::string_view word) {
  const auto invalidity = parse_invalidity(word);
  if (!invalidity) return ExitCode::variant_failed;
  switch (*invalidity) {
    case Invalidity::compile:
      return ExitCode::compile;
    case Invalidity::correctness:
      return ExitCode::wrong_result;
    case Invalidity::timeout:
      return ExitCode::limit;
    case Invalidity::environment:
      return ExitCode::environment;
    case Invalidity::constraints:
    case Invalidity::runtime:
      return ExitCode::variant_failed;
  }
  return ExitCode::variant_failed;
}

bool is_machine_too_busy(const Json& rows) {
  bool any = false;
  for (const Json& row : rows) {
    const auto is_number = [&row](const char* key) { return row.value(key, Json()).is_number(); };
    if (is_number("median_us") || is_number("speedup")) return false;
    any = any || row.value("outcome", "") == "environment" ||
          row.value("invalidity", Json()) == "environment";
  }
  return any;
}

ExitCode exit_code_of_rows(const Json& rows) {
  for (const Json& row : rows) {
    const std::string outcome = row.value("outcome", "");
    if (parse_invalidity(outcome)) return exit_code_of_invalidity(outcome);
    if (outcome == "not_available") return ExitCode::environment;
  }
  return ExitCode::variant_failed;
}

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::not_found:
      return ExitCode::usage;
    case ErrorCode::parse:
    case ErrorCode::invalid:
    case ErrorCode::too_new:
    case ErrorCode::damaged:
      return ExitCode::data;
    case ErrorCode::io:
    case ErrorCode::no_space:
      return ExitCode::io;
    case ErrorCode::read_only:
      return ExitCode::cannot_create;
    case ErrorCode::locked:
      return ExitCode::locked;
    case ErrorCode::compile:
      return ExitCode::compile;
    case ErrorCode::wrong_result:
      return ExitCode::wrong_result;
    case ErrorCode::limit:
      return ExitCode::limit;
    case ErrorCode::security:
      return ExitCode::security;
    case ErrorCode::environment:
      return ExitCode::environment;
    case ErrorCode::canceled:
      return ExitCode::interrupted;
    case ErrorCode::internal:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

ExitCode exit_code_of_iteration(const Json& answer) {
  const std::string outcome = answer.value("outcome", "");
  if (outcome == "stopped") return ExitCode::limit;
  if (outcome == "invalid") return exit_code_of_invalidity(answer.value("invalidity", ""));
  return ExitCode::ok;
}

}  // namespace wb::verbs
