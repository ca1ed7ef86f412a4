// SPDX-License-Identifier: MIT
#include "measure/ncu_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/text.hpp"

namespace wb::measure {
namespace {

constexpr std::size_t k_name_bytes = 300;  // of a kernel, whose name the variant chooses
constexpr std::size_t k_advice_bytes = 400, k_most_advice = 12;

/// A number as ncu prints it ("1,234.5"); else the text itself.
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

/// The table begins at the line whose first field is "ID".
std::size_t table_begin(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("\"ID\",") || text.substr(at).starts_with("ID,")) return at;
    const auto line_end = text.find('\n', at);
    if (line_end == std::string_view::npos) break;
    at = line_end + 1;
  }
  return std::string_view::npos;
}

/// Two sections may have a metric with the same name in different units ("Memory Throughput"): the
/// first gets the name, the second the name with its unit.
void add_metric(Json& metrics, const std::string& name, Json metric) {
  const auto found = metrics.find(name);
  const bool is_other = found != metrics.end() && (*found)["unit"] != metric["unit"];
  const std::string unit = metric["unit"].get<std::string>();
  metrics[is_other ? name + " [" + unit + "]" : name] = std::move(metric);
}

}  // namespace

Result<Json> read_ncu_report(std::string_view text, std::size_t most) {
  const auto invalid = [](std::string reason) {
    return Error{ErrorCode::invalid, "read the profile", "ncu", std::move(reason), ""};
  };
  const std::size_t begin = table_begin(text);
  if (begin == std::string_view::npos) return invalid("it printed no table");
  // A last line without a line end is incomplete.
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos || end < begin) return invalid("it printed no table");
  const auto rows = parse_csv(text.substr(begin, end + 1 - begin));
  const std::vector<std::string>& header = rows.front().fields;
  const auto id = column_of(header, "ID"), kernel = column_of(header, "Kernel Name"),
             grid = column_of(header, "Grid Size"), block = column_of(header, "Block Size"),
             name = column_of(header, "Metric Name"), unit = column_of(header, "Metric Unit"),
             value = column_of(header, "Metric Value"), rule = column_of(header, "Rule Name"),
             advice = column_of(header, "Rule Description");
  if (!id || !kernel || !name || !unit || !value) {
    return invalid("its table has other columns than those of --page details");
  }
  const std::size_t columns =
      1 + std::max({*id, *kernel, *name, *unit, *value, grid.value_or(0), block.value_or(0)});
  Json launches = Json::array();
  std::map<std::string, std::size_t> place;  // by launch id
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const auto& row = rows[r].fields;
    // A rule's advice has no metric, and a metric's row omits the rule columns at its end.
    const bool is_advice = advice && row.size() > *advice && !row[*advice].empty();
    if (row.size() < columns || (row[*name].empty() && !is_advice)) continue;
    const auto found = place.find(row[*id]);
    if (found == place.end() && launches.size() == most) continue;
    if (found == place.end()) {
      place[row[*id]] = launches.size();
      launches.push_back({{"kernel", printable(row[*kernel], k_name_bytes)},
                          {"grid", grid ? printable(row[*grid]) : ""},
                          {"block", block ? printable(row[*block]) : ""},
                          {"metrics", Json::object()},
                          {"advice", Json::array()}});
    }
    Json& launch = launches[place[row[*id]]];
    if (is_advice && launch["advice"].size() < k_most_advice) {
      launch["advice"].push_back({{"rule", rule ? printable(row[*rule]) : ""},
                                  {"text", printable(row[*advice], k_advice_bytes)}});
    }
    if (!row[*name].empty()) {
      add_metric(launch["metrics"], printable(row[*name]),
                 {{"value", value_of(row[*value])}, {"unit", printable(row[*unit])}});
    }
  }
  return launches;
}

}  // namespace wb::measure
