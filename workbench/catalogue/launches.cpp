// SPDX-License-Identifier: MIT
#include "catalogue/launches.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/json.hpp"
#include "variant/restriction.hpp"

namespace wb::catalogue {
namespace {

constexpr ListFormat k_launches{.key = "launches", .entry = "launch", .most = 1'000};
constexpr std::int64_t k_most_blocks = std::int64_t{1} << 40;

void check_expression(ObjectReader& reader, std::string_view key, const std::string& text) {
  if (text.empty()) return;
  const auto parsed = variant::Restriction::parse(text);
  if (!parsed.ok()) reader.fail(key, "\"" + text + "\": " + parsed.error().cause);
}

/// Two expressions, the least and the most; both empty where the key is absent.
std::pair<std::string, std::string> read_bounds(ObjectReader& reader, std::string_view key) {
  const std::vector<std::string> both = reader.strings_or(key, {});
  if (both.empty()) return {};
  if (both.size() != 2) {
    reader.fail(key, "must be two expressions, the least and the most");
    return {};
  }
  for (const std::string& text : both) check_expression(reader, key, text);
  return {both[0], both[1]};
}

std::int64_t small_integer(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.member(key);
  if (value == nullptr) return 0;
  if (!value->is_number_integer() || *value < 0 || *value > 100) {
    reader.fail(key, "must be an integer from 0 to 100");
    return 0;
  }
  return value->get<std::int64_t>();
}

/// ["f16", 3]: three products of f16 for one of f32.
std::optional<device::SplitProducts> read_products(ObjectReader& reader) {
  const Json* value = reader.member("products");
  if (value == nullptr) return std::nullopt;
  const bool is_pair = value->is_array() && value->size() == 2 && (*value)[0].is_string() &&
                       (*value)[1].is_number_integer();
  const std::string units = is_pair ? (*value)[0].get<std::string>() : "";
  const std::int64_t products = is_pair ? (*value)[1].get<std::int64_t>() : 0;
  const bool is_known = units == "tf32" || units == "f16" || units == "bf16";
  if (!is_known || products < 1 || products > 16) {
    reader.fail("products", "must be tf32, f16 or bf16 and how many of them make one of f32");
    return std::nullopt;
  }
  return device::SplitProducts{units, static_cast<double>(products)};
}

Result<LaunchRule> read_launch(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  LaunchRule rule;
  rule.kernel = read_filled(reader, "kernel");
  std::tie(rule.rows_least, rule.rows_most) = read_bounds(reader, "rows");
  std::tie(rule.parts_least, rule.parts_most) = read_bounds(reader, "parts");
  std::tie(rule.threads_least, rule.threads_most) = read_bounds(reader, "threads");
  rule.working = reader.string_or("working", "");
  rule.heads = reader.string_or("heads", "");
  check_expression(reader, "working", rule.working);
  check_expression(reader, "heads", rule.heads);
  rule.packed = reader.boolean_or("packed", false);
  rule.resident = small_integer(reader, "resident");
  rule.products = read_products(reader);
  rule.fills = reader.string_or("fills", "");
  check_expression(reader, "fills", rule.fills);
  if (rule.rows_least.empty()) reader.fail("rows", "must be there");
  WB_TRY(reader.finish());
  return rule;
}

using Values = std::map<std::string, std::int64_t>;

std::optional<std::int64_t> value_of(const std::string& text, const Values& values,
                                     std::int64_t absent) {
  if (text.empty()) return absent;
  const auto parsed = variant::Restriction::parse(text);
  if (!parsed.ok()) return std::nullopt;
  const auto value = parsed->value(values);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::int64_t tiles(std::int64_t rows, std::int64_t tile) {
  return (rows + tile - 1) / tile;
}

}  // namespace

Result<std::vector<LaunchRule>> parse_launches(std::string_view text, std::string_view what) {
  return parse_list(text, what, k_launches, read_launch, &LaunchRule::kernel);
}

Result<std::vector<LaunchRule>> load_launches(const FileSystem& file_system,
                                              const variant::SearchPath& search_path) {
  auto found = find_list(file_system, search_path, k_launches);
  if (!found.ok()) {
    if (found.error().code == ErrorCode::not_found) return std::vector<LaunchRule>();
    return found.error();
  }
  return parse_launches(found->text, found->path);
}

const LaunchRule* find_rule(const std::vector<LaunchRule>& rules, std::string_view kernel) {
  const auto found = std::find_if(rules.begin(), rules.end(), [kernel](const LaunchRule& rule) {
    return rule.kernel == kernel;
  });
  return found == rules.end() ? nullptr : &*found;
}

std::optional<LaunchBounds> bounds_of(const LaunchRule& rule,
                                      const variant::Configuration& configuration,
                                      const problem::Problem& problem, std::int64_t units) {
  Values values = variant::problem_values(problem);
  for (const auto& [name, value] : configuration) values[name] = value;
  values["UNITS"] = units;
  const auto rows_least = value_of(rule.rows_least, values, 1);
  const auto rows_most = value_of(rule.rows_most, values, 1);
  const auto parts_least = value_of(rule.parts_least, values, 1);
  const auto parts_most = value_of(rule.parts_most, values, 1);
  const auto threads_least = value_of(rule.threads_least, values, 0);
  const auto threads_most = value_of(rule.threads_most, values, 0);
  const auto working = value_of(rule.working, values, 0);
  const auto heads_covered = value_of(rule.heads, values, 1);
  const auto fills_percent = value_of(rule.fills, values, 0);
  if (!fills_percent || !rows_least || !rows_most || !parts_least || !parts_most ||
      !threads_least || !threads_most || !working || !heads_covered) {
    return std::nullopt;
  }
  if (*rows_least < 1 || *rows_most < *rows_least || *parts_least < 1 ||
      *parts_most < *parts_least || problem.Hkv < 1) {
    return std::nullopt;
  }
  LaunchBounds bounds;
  bounds.covers_heads = *heads_covered != 0;
  const std::int64_t group = rule.packed ? problem.Hq / problem.Hkv : 1;
  const std::int64_t rows = problem.Sq * group;
  const std::int64_t heads =
      bounds.covers_heads ? problem.B * (rule.packed ? problem.Hkv : problem.Hq) : 1;
  bounds.rows_least = std::min(*rows_least, rows);
  bounds.rows_most = std::min(*rows_most, rows);
  const auto blocks = [&](std::int64_t tile, std::int64_t parts) {
    return std::min(heads * tiles(rows, tile) * parts, k_most_blocks);
  };
  bounds.blocks_least = blocks(*rows_most, *parts_least);
  bounds.blocks_most = blocks(*rows_least, *parts_most);
  // Its host code takes a finer tile where a coarse one would leave units idle.
  bounds.blocks_least =
      std::max(bounds.blocks_least, std::min(bounds.blocks_most, units * *fills_percent / 100));
  bounds.parts_most = *parts_most;
  bounds.threads_least = *threads_least;
  bounds.threads_most = *threads_most;
  if (*working > 0 && *threads_most > 0) {
    bounds.working_frac =
        std::min(1.0, static_cast<double>(*working) / static_cast<double>(*threads_most));
  }
  return bounds;
}

std::optional<device::SplitProducts> split_products(const variant::Manifest& manifest,
                                                    const variant::Configuration& configuration,
                                                    const LaunchRule* rule) {
  if (rule != nullptr && rule->products) return rule->products;
  const auto& dtypes = manifest.support.dtypes;
  const bool is_f32_only = dtypes.size() == 1 && dtypes.front() == Dtype::f32;
  if (!is_f32_only || !variant::runs_on_gpu(manifest)) return std::nullopt;
  const auto techniques = variant::techniques_in(manifest, configuration);
  const bool has_tensor_cores =
      std::any_of(techniques.begin(), techniques.end(), [](const std::string& word) {
        return word == "tensor_core_mma" || word == "tensor_core_wgmma";
      });
  return has_tensor_cores ? std::optional(device::SplitProducts()) : std::nullopt;
}

}  // namespace wb::catalogue
