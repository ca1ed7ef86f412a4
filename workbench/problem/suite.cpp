// SPDX-License-Identifier: MIT
#include "problem/suite.hpp"

#include <fmt/format.h>

#include <set>

#include "core/json.hpp"
#include "problem/problem.hpp"

namespace wb::problem {
namespace {

constexpr std::int64_t k_newest_version = 3;
constexpr std::uint64_t k_max_file_bytes = 4u << 20;

Error invalid_suite(std::string subject, std::string cause, std::string next) {
  return Error{ErrorCode::invalid, "read", std::move(subject), std::move(cause), std::move(next)};
}

Result<SuiteProblem> read_suite_problem(const Json& json, const std::string& what) {
  SuiteProblem entry;
  if (json.is_object()) {
    ObjectReader reader(json, what);
    entry.weight = reader.real_or("weight", 1.0);
    if (!(entry.weight > 0.0)) reader.fail("weight", "must be above 0");
    entry.held_out = reader.boolean_or("held_out", false);
    if (json.contains("share_frac")) {
      entry.share_frac = reader.real("share_frac");
      const bool good = *entry.share_frac > 0 && *entry.share_frac <= 1;
      if (!good) reader.fail("share_frac", "must be above 0 and at most 1");
    }
    if (reader.string("name").empty()) reader.fail("name", "must not be empty");
    WB_TRY(reader.finish(/*allow_unknown=*/true));
  }
  // The rest is the problem itself; its reader refuses unknown keys.
  Json problem = json;
  if (problem.is_object()) {
    problem.erase("weight");
    problem.erase("held_out");
    problem.erase("share_frac");
  }
  WB_TRY_ASSIGN(entry.problem, problem_from_json(problem, what));
  return entry;
}

/// "suite \"n6\", problem 3 (\"n6_S65\") of kernels/suites.json".
std::string problem_subject(const std::string& suite, std::size_t index, const Json& json,
                            const std::string& file) {
  std::string text = fmt::format("suite \"{}\", problem {}", printable(suite), index + 1);
  if (json.is_object() && json.contains("name") && json["name"].is_string()) {
    text += fmt::format(" (\"{}\")", printable(json["name"].get_ref<const std::string&>()));
  }
  return text + " of " + file;
}

Result<Suite> read_suite(const std::string& name, const Json& json, const std::string& file) {
  const std::string what = fmt::format("suite \"{}\" of {}", printable(name), file);
  Suite suite;
  suite.name = name;
  ObjectReader reader(json, what);
  suite.about = reader.string_or("about", {});
  const Json* problems = reader.member("problems");
  WB_TRY(reader.finish());
  if (problems == nullptr || !problems->is_array() || problems->empty()) {
    return invalid_suite(what, "it has no list \"problems\"", "list at least one problem");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < problems->size(); ++i) {
    const std::string subject = problem_subject(name, i, (*problems)[i], file);
    WB_TRY_ASSIGN(SuiteProblem entry, read_suite_problem((*problems)[i], subject));
    if (!names.insert(entry.problem.name).second) {
      return invalid_suite(subject, "an earlier problem of the suite has this name",
                           "names are unique within a suite");
    }
    suite.problems.push_back(std::move(entry));
  }
  return suite;
}

}  // namespace

Result<std::map<std::string, Suite>> load_suites(const FileSystem& file_system,
                                                 const fs::path& path) {
  const std::string file = path.string();
  WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_max_file_bytes));
  WB_TRY_ASSIGN(const Json root, parse_json(text, file));
  ObjectReader reader(root, file);
  const std::int64_t version = reader.integer("version", 1, std::int64_t{1} << 31);
  reader.string_or("letters", {});  // for readers of the file
  const Json* suites = reader.member("suites");
  // A newer file may have unknown keys: report that it is newer, not that they are wrong.
  WB_TRY(reader.finish(/*allow_unknown=*/version > k_newest_version));
  if (version > k_newest_version) {
    return Error{
        ErrorCode::too_new, "read", file,
        fmt::format("it has version {}, this program knows up to {}", version, k_newest_version),
        "use a newer sdpa-wb"};
  }
  if (suites == nullptr || !suites->is_object() || suites->empty()) {
    return invalid_suite(file, "it has no object \"suites\"", "name at least one suite in it");
  }
  std::map<std::string, Suite> result;
  for (const auto& [name, json] : suites->items()) {
    if (name.empty()) return invalid_suite(file, "a suite has an empty name", "name it");
    WB_TRY_ASSIGN(Suite suite, read_suite(name, json, file));
    result.emplace(name, std::move(suite));
  }
  return result;
}

Suite suite_of(const Problem& problem) {
  return Suite{"problem", to_text(problem), {SuiteProblem{problem, 1.0, false}}};
}

std::vector<Problem> plain_problems(const Suite& suite) {
  std::vector<Problem> problems;
  for (const SuiteProblem& member : suite.problems) {
    if (!member.held_out) problems.push_back(member.problem);
  }
  return problems;
}

namespace {

/// Longer text cannot be a problem and is not searched.
constexpr std::size_t k_max_name_bytes = 200;

std::optional<Problem> parsed_name(std::string_view text) {
  if (text.size() > k_max_name_bytes || text.find("Hq=") == std::string_view::npos) {
    return std::nullopt;
  }
  auto problem = parse_problem(text);
  return problem ? std::optional(*std::move(problem)) : std::nullopt;
}

std::string pair_or_one(std::int64_t first, std::string_view between, std::int64_t second) {
  return first == second ? fmt::format("{}", first) : fmt::format("{}{}{}", first, between, second);
}

}  // namespace

std::string short_name(std::string_view text) {
  const auto problem = parsed_name(text);
  if (!problem) return std::string(text);
  std::string out =
      fmt::format("B{}_H{}_S{}_D{}_{}", problem->B, pair_or_one(problem->Hq, "kv", problem->Hkv),
                  pair_or_one(problem->Sq, "x", problem->Skv),
                  pair_or_one(problem->D, "v", problem->Dv), to_string(problem->dtype));
  if (problem->causal == Causal::top_left) out += "_causal";
  if (problem->causal == Causal::bottom_right) out += "_causal_br";
  if (problem->mask == MaskKind::boolean) out += fmt::format("_mask{:g}", problem->keep_frac);
  if (problem->mask == MaskKind::additive) out += "_bias";
  if (problem->mask_values == MaskValues::finite_min) out += "_min";
  if (!has_one_layout(*problem)) {
    out += "_mixed";
  } else if (problem->layout == Layout::bshd) {
    out += "_bshd";
  }
  if (problem->scale) out += fmt::format("_scale{:g}", *problem->scale);
  return out;
}

std::optional<std::int64_t> output_elements(std::string_view text) {
  const auto problem = parsed_name(text);
  if (!problem) return std::nullopt;
  return problem->B * problem->Hq * problem->Sq * problem->Dv;
}

}  // namespace wb::problem
