// SPDX-License-Identifier: MIT
#include "catalogue/techniques.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "core/json.hpp"

namespace wb::catalogue {
namespace {

constexpr ListFormat k_techniques{.key = "techniques", .entry = "technique"};
constexpr double k_most_speedup = 1e4, k_most_hours = 1e4;
constexpr std::array<std::string_view, 2> k_technique_backends{"cpu", "cuda"};
constexpr std::array<std::string_view, 4> k_bounds{"launch", "latency", "memory", "compute"};
constexpr std::array<std::string_view, 3> k_grades{"low", "medium", "high"};

/// [low, high], both above 0 and up to `most`.
std::pair<double, double> range_of(ObjectReader& reader, std::string_view key, double most) {
  const Json* range = reader.member(key);
  const bool is_pair = range != nullptr && range->is_array() && range->size() == 2 &&
                       (*range)[0].is_number() && (*range)[1].is_number();
  if (!is_pair) {
    reader.fail(key, "must be [low, high]");
    return {1, 1};
  }
  const double low = (*range)[0].get<double>(), high = (*range)[1].get<double>();
  if (!(low > 0 && low <= high && high <= most)) {
    reader.fail(key, fmt::format("must have 0 < low <= high <= {}", most));
  }
  return {low, high};
}

void read_architectures(ObjectReader& reader, Technique& technique) {
  technique.architecture_from = reader.string_or("architecture_from", "");
  technique.architecture_to = reader.string_or("architecture_to", "");
  for (const auto& [key, word] : {std::pair("architecture_from", technique.architecture_from),
                                  std::pair("architecture_to", technique.architecture_to)}) {
    if (!word.empty() && !is_at_least(word, word)) reader.fail(key, "must be such as sm_90");
  }
}

Result<Technique> read_technique(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  Technique technique;
  technique.name = reader.string("name");
  check_word(reader, "name", technique.name, variant::known_techniques());
  technique.title = reader.string("title");
  technique.family = reader.string_or("family", "");
  technique.backends = read_words(reader, "backends", k_technique_backends);
  technique.helps = read_words(reader, "helps", k_bounds);
  if (technique.backends.empty()) reader.fail("backends", "must name one");
  if (technique.helps.empty()) reader.fail("helps", "must name one");
  std::tie(technique.impact_low, technique.impact_high) =
      range_of(reader, "impact", k_most_speedup);
  technique.impact_source = reader.string("impact_source");
  if (technique.impact_source.empty()) reader.fail("impact_source", "must say where it comes from");
  std::tie(technique.hours_low, technique.hours_high) = range_of(reader, "hours", k_most_hours);
  technique.complexity = reader.string("complexity");
  check_word(reader, "complexity", technique.complexity, k_grades);
  technique.risk = reader.string("risk");
  check_word(reader, "risk", technique.risk, k_grades);
  technique.pros = reader.string("pros");
  technique.cons = reader.string("cons");
  technique.needs = read_words(reader, "needs", variant::known_techniques());
  technique.replaced_by = read_words(reader, "replaced_by", variant::known_techniques());
  read_architectures(reader, technique);
  technique.kind = read_problem_kind(reader);
  WB_TRY(reader.finish());
  return technique;
}

std::optional<int> number_in(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return std::nullopt;
  int number = 0;
  const char* end = architecture.data() + architecture.size();
  const auto [rest, fault] = std::from_chars(architecture.data() + 3, end, number);
  if (fault != std::errc() || end - rest > 1) return std::nullopt;  // one letter: sm_90a
  return number;
}

}  // namespace

bool is_at_least(std::string_view architecture, std::string_view floor) {
  const auto have = number_in(architecture), want = number_in(floor);
  return have && want && *have >= *want;
}

Result<std::vector<Technique>> parse_techniques(std::string_view text, std::string_view what) {
  WB_TRY_ASSIGN(std::vector<Technique> all,
                parse_list(text, what, k_techniques, read_technique, &Technique::name));
  std::sort(all.begin(), all.end(),
            [](const Technique& a, const Technique& b) { return a.name < b.name; });
  for (const std::string_view word : variant::known_techniques()) {
    const bool has = std::any_of(all.begin(), all.end(),
                                 [word](const Technique& one) { return one.name == word; });
    if (!has) return refused_list(what, fmt::format("{} is missing", word));
  }
  return all;
}

Result<std::vector<Technique>> load_techniques(const FileSystem& file_system,
                                               const variant::SearchPath& search_path) {
  WB_TRY_ASSIGN(const FoundList found, find_list(file_system, search_path, k_techniques));
  return parse_techniques(found.text, found.path);
}

}  // namespace wb::catalogue
