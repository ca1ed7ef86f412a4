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
#include "variant/restriction.hpp"

namespace wb::catalogue {
namespace {

constexpr std::int64_t k_techniques_version = 1;
constexpr std::size_t k_techniques_max_bytes = 1 << 20;
constexpr double k_most_speedup = 1e4, k_most_hours = 1e4;
constexpr std::array<std::string_view, 2> k_technique_backends{"cpu", "cuda"};
constexpr std::array<std::string_view, 4> k_bounds{"launch", "latency", "memory", "compute"};
constexpr std::array<std::string_view, 3> k_grades{"low", "medium", "high"};

template <typename Words>
void check_word(ObjectReader& reader, std::string_view key, std::string_view word,
                const Words& allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    reader.fail(key, fmt::format("\"{}\" is not one of {}", word, fmt::join(allowed, ", ")));
  }
}

template <typename Words>
std::vector<std::string> words_of(ObjectReader& reader, std::string_view key,
                                  const Words& allowed) {
  std::vector<std::string> words = reader.strings_or(key, {});
  for (const std::string& word : words) check_word(reader, key, word, allowed);
  return words;
}

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
  technique.backends = words_of(reader, "backends", k_technique_backends);
  technique.helps = words_of(reader, "helps", k_bounds);
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
  technique.needs = words_of(reader, "needs", variant::known_techniques());
  technique.replaced_by = words_of(reader, "replaced_by", variant::known_techniques());
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
  const std::string file(what);
  WB_TRY_ASSIGN(const Json root, parse_json(text, what, {k_techniques_max_bytes, 8}));
  ObjectReader reader(root, file);
  const std::int64_t version = reader.integer("version", 1, std::int64_t{1} << 31);
  reader.string_or("about", "");  // for readers of the file
  const Json* list = reader.member("techniques");
  WB_TRY(reader.finish(/*allow_unknown=*/version > k_techniques_version));
  if (version > k_techniques_version) {
    return Error{
        ErrorCode::too_new, "read", file,
        fmt::format("it has version {}, this program knows {}", version, k_techniques_version),
        "use a newer sdpa-wb"};
  }
  const auto refuse = [&file](std::string cause) {
    return Error{ErrorCode::invalid, "read", file, std::move(cause), "correct the file"};
  };
  if (list == nullptr || !list->is_array()) return refuse("it has no list \"techniques\"");
  std::vector<Technique> all;
  for (const Json& entry : *list) {
    const std::string place = fmt::format("{}: technique {}", file, all.size() + 1);
    WB_TRY_ASSIGN(Technique technique, read_technique(entry, place));
    all.push_back(std::move(technique));
  }
  std::sort(all.begin(), all.end(),
            [](const Technique& a, const Technique& b) { return a.name < b.name; });
  const auto same = [](const Technique& a, const Technique& b) { return a.name == b.name; };
  if (const auto twice = std::adjacent_find(all.begin(), all.end(), same); twice != all.end()) {
    return refuse(twice->name + " is there twice");
  }
  for (const std::string_view word : variant::known_techniques()) {
    const bool has = std::any_of(all.begin(), all.end(),
                                 [word](const Technique& one) { return one.name == word; });
    if (!has) return refuse(fmt::format("{} is missing", word));
  }
  return all;
}

Result<std::vector<Technique>> load_techniques(const FileSystem& file_system,
                                               const variant::SearchPath& search_path) {
  for (const fs::path& root : search_path.roots) {
    const fs::path path = root / "kernels" / "techniques.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_techniques_max_bytes));
    return parse_techniques(text, path.string());
  }
  return Error{ErrorCode::not_found, "find", "kernels/techniques.json",
               "no folder of the search path has it", "run in a checkout, or give --path DIR"};
}

ProblemKind read_problem_kind(ObjectReader& reader) {
  ProblemKind kind;
  for (const std::string& word : reader.strings_or("dtypes", {})) {
    if (const auto dtype = parse_dtype(word)) {
      kind.dtypes.push_back(*dtype);
    } else {
      reader.fail("dtypes", "unknown word \"" + word + "\"");
    }
  }
  kind.when = reader.string_or("when", "");
  if (kind.when.empty()) return kind;
  const auto predicate = variant::Restriction::parse(kind.when);
  if (!predicate.ok()) {
    reader.fail("when", "\"" + kind.when + "\": " + predicate.error().cause);
    return kind;
  }
  for (const std::string& name : predicate->names()) {
    if (!variant::is_problem_name(name)) reader.fail("when", name + " is not a problem letter");
  }
  return kind;
}

bool is_of(const ProblemKind& kind, const problem::Problem& problem) {
  const auto& dtypes = kind.dtypes;
  if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), problem.dtype) == dtypes.end()) {
    return false;
  }
  if (kind.when.empty()) return true;
  const auto predicate = variant::Restriction::parse(kind.when);
  if (!predicate.ok()) return false;
  const auto holds = predicate->holds(variant::problem_values(problem));
  return holds.ok() && *holds;
}

}  // namespace wb::catalogue
