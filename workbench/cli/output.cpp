// SPDX-License-Identifier: MIT
#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace wb::cli {
namespace {

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return json_text(value);
}

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

std::string render_iterate(const Json& result) {
  std::string text = fmt::format("iteration {}: {}\n{}\n", cell(result["iteration"]),
                                 cell(result["outcome"]), cell(result["message"]));
  if (result["speedup"].is_number()) {
    text += fmt::format("speedup {:.3f}x{}, hypothesis {}\n", result["speedup"].get<double>(),
                        interval_text(result["interval"]), cell(result["decision"]));
  }
  text += fmt::format("incumbent: {}\n", cell(result["incumbent"]));
  if (!result["problems"].empty()) {
    text += rows_of(result["problems"],
                    {"problem", "outcome", "speedup", "candidate_us", "incumbent_us"});
  }
  if (result["stop_reason"].is_string()) {
    text += "the session should end now: " + cell(result["stop_reason"]) + "\n";
  }
  return text;
}

std::string render_tune(const Json& result) {
  std::string text = render_iterate(result);
  const Json rows = result.value("evaluations", Json::array());
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
  const Json tune = result.value("tune", Json::object());
  return text + fmt::format("built {} s, measured {} s, waited for builds {} s, of {} s\n",
                            cell(tune["build_s"]), cell(tune["measure_s"]), cell(tune["wait_s"]),
                            cell(tune["search_s"]));
}

std::string notes_of(const Json& result) {
  std::string text;
  for (const Json& note : result.value("notes", Json::array())) text += cell(note) + "\n";
  return text;
}

std::string render_compare(const Json& result) {
  std::string text = cell(result["outcome"]);
  if (result["speedup"].is_number()) {
    text += fmt::format(": {}x{}", cell(result["speedup"]), interval_text(result["interval"]));
  }
  return text + "\n" +
         rows_of(result["problems"], {"problem", "outcome", "speedup", "candidate_us", "against_us",
                                      "noise_floor_frac", "reason"}) +
         notes_of(result);
}

std::string render_kernels(const Json& result) {
  if (result["kernels"].size() == 1) return json_text(result["kernels"][0], 2) + "\n";
  return rows_of(result["kernels"], {"name", "backend", "about"});
}

std::string render_suites(const Json& result) {
  if (result["suites"].size() == 1 && result["suites"][0].contains("problems")) {
    return rows_of(result["suites"][0]["problems"], {"name", "problem"});
  }
  return rows_of(result["suites"], {"name", "count", "about"});
}

/// "key: value, key: value", without the nulls. Never longer than the JSON: a brief has its limit.
std::string fields_of(const Json& item) {
  if (!item.is_object()) return cell(item);
  std::string text;
  for (const auto& [key, value] : item.items()) {
    if (value.is_null()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        value.is_number() ? json_text(value) : cell(value));
  }
  return text;
}

std::string render_brief(const Json& result) {
  std::string text;
  for (const char* key :
       {"session", "title", "status", "objective", "incumbent", "budget", "in_flight"}) {
    if (!result[key].is_null()) text += fmt::format("{}: {}\n", key, fields_of(result[key]));
  }
  for (const char* key : {"last", "refuted", "techniques", "rivals", "next", "notes"}) {
    if (result[key].empty()) continue;
    text += fmt::format("{}:\n", key);
    for (const Json& item : result[key]) text += fmt::format("- {}\n", fields_of(item));
  }
  for (const char* key : {"untried", "left_out"}) {
    if (!result[key].empty()) text += fmt::format("{}: {}\n", key, json_text(result[key]));
  }
  return text;
}

}  // namespace

std::string json_text(const Json& value, int indent) {
  return without_hidden_characters(value.dump(indent, ' ', false, Json::error_handler_t::replace));
}

std::string render_result(std::string_view verb, const Json& result) {
  if (result.contains("text")) {
    std::string text = result["text"].get<std::string>();
    if (text.empty() || text.back() != '\n') text += '\n';
    return text;
  }
  if (verb == "brief") return render_brief(result);
  if (verb == "iterate") return render_iterate(result);
  if (verb == "tune" || verb == "race") return render_tune(result);
  if (verb == "compare") return render_compare(result);
  if (verb == "check") {
    return fmt::format("{}: {}\n", cell(result["variant"]), result["pass"] ? "pass" : "FAIL") +
           rows_of(result["problems"], {"problem", "outcome", "worst_share", "message"});
  }
  if (verb == "sanitize") {
    const bool found =
        std::any_of(result["runs"].begin(), result["runs"].end(),
                    [](const Json& run) { return run.value("outcome", "") == "found"; });
    return fmt::format("{}: {}\n", cell(result["variant"]),
                       result["pass"] ? "clean"
                       : found        ? "NOT CLEAN"
                                      : "not examined") +
           rows_of(result["runs"], {"tool", "problem", "outcome", "errors", "warnings", "message"});
  }
  if (verb == "measure") {
    return cell(result["variant"]) + "\n" +
           rows_of(result["problems"],
                   {"problem", "outcome", "median_us", "gflop_per_s", "message"}) +
           notes_of(result);
  }
  if (verb == "doctor") return rows_of(result["checks"], {"name", "state", "detail", "next"});
  if (verb == "kernels") return render_kernels(result);
  if (verb == "suites") return render_suites(result);
  if (verb == "open") {
    return rows_of(result["baseline"], {"problem", "plan", "start_us", "rivals_us", "message"}) +
           result.value("cannot_show_text", "") + cell(result["session"]) + "\n";
  }
  if (verb == "run") {
    // A playbook may have something to say at the very end.
    const Json given = result.value("result", Json());
    const bool speaks = given.is_object() && given.contains("last_words");
    return (result.contains("summary") ? cell(result["summary"]) + "\n" : std::string()) +
           cell(result["session"]) + "\n" +
           (speaks ? cell(given["last_words"]) + "\n" : std::string());
  }
  if (verb == "close") {
    return fmt::format("report: {}\ncommit: {}\n{}\n", cell(result["report"]),
                       cell(result["commit"]), cell(result["session"]));
  }
  return json_text(result, 2) + "\n";
}

}  // namespace wb::cli
