// SPDX-License-Identifier: MIT
#include "catalogue/causes.hpp"
#include "core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace wb::catalogue {
namespace {

constexpr ListFormat k_causes{.key = "causes", .entry = "cause", .max_depth = 12, .most = 200};
constexpr std::array<std::pair<std::string_view, PredicateOp>, 6> k_ops{
    {{"==", PredicateOp::equal},
     {"!=", PredicateOp::not_equal},
     {"<", PredicateOp::less},
     {"<=", PredicateOp::at_most},
     {">", PredicateOp::more},
     {">=", PredicateOp::at_least}}};
constexpr std::string_view k_id_letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::array<std::string_view, 2> k_cause_backends{"cpu", "cuda"};
constexpr std::array<std::string_view, 3> k_plan_words{"hot", "cold", "eager"};
constexpr std::array<std::string_view, 6> k_probes{"heads", "keys",    "eager",
                                                   "cold",  "profile", "sass"};
constexpr std::array<std::string_view, 3> k_strengths{"strong", "weak", "derived"};
constexpr std::array<std::string_view, 2> k_abouts{"subject", "others"};
constexpr std::array<std::string_view, 2> k_scopes{"kernel", "problem"};

template <typename Words>
std::string known_word(ObjectReader& reader, std::string_view key, const char* fallback,
                       const Words& allowed) {
  std::string word = reader.string_or(key, fallback);
  check_word(reader, key, word, allowed);
  return word;
}

/// The objects of a list; a fault if an element is no object. Absent: empty.
std::vector<const Json*> objects_of(ObjectReader& reader, std::string_view key) {
  std::vector<const Json*> objects;
  const Json* list = reader.member(key);
  if (list == nullptr) return objects;
  if (!list->is_array()) reader.fail(key, "must be a list of objects");
  for (const Json& one : *list) {
    if (one.is_object()) {
      objects.push_back(&one);
    } else {
      reader.fail(key, "must be a list of objects");
    }
  }
  return objects;
}

Result<FigurePredicate> read_predicate(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  FigurePredicate predicate;
  predicate.figure = read_filled(reader, "figure");
  const std::string word = reader.string("op");
  const auto op = std::find_if(k_ops.begin(), k_ops.end(),
                               [&](const auto& known) { return known.first == word; });
  if (op == k_ops.end()) {
    reader.fail("op", fmt::format("\"{}\" is not one of == != < <= > >=", word));
  } else {
    predicate.op = op->second;
  }
  const Json* value = reader.member("value");
  const bool is_number = value != nullptr && value->is_number();
  const bool is_word = value != nullptr && (value->is_string() || value->is_boolean());
  const bool asks_same =
      predicate.op == PredicateOp::equal || predicate.op == PredicateOp::not_equal;
  if (!is_number && !is_word) {
    reader.fail("value", "must be a number, a text, true or false");
  } else if (!is_number && !asks_same) {
    reader.fail("value", fmt::format("must be a number beside {}", word));
  } else {
    predicate.value = *value;
  }
  WB_TRY(reader.finish());
  return predicate;
}

Result<CauseRule> read_rule(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  CauseRule rule;
  rule.analysis = read_filled(reader, "analysis");
  const std::string strength = known_word(reader, "strength", "strong", k_strengths);
  rule.strength = strength == "weak"      ? RuleStrength::weak
                  : strength == "derived" ? RuleStrength::derived
                                          : RuleStrength::strong;
  rule.here = reader.boolean_or("here", false);
  rule.problems = reader.string_or("problems", "");
  const std::string about = known_word(reader, "about", "subject", k_abouts);
  rule.about = about == "others" ? RuleAbout::others : RuleAbout::subject;
  rule.plans = read_words(reader, "plans", k_plan_words);
  const auto predicates = objects_of(reader, "when");
  if (predicates.empty()) reader.fail("when", "must have a predicate");
  WB_TRY(reader.finish());
  for (const Json* one : predicates) {
    WB_TRY_ASSIGN(FigurePredicate predicate, read_predicate(*one, what + ", when"));
    rule.when.push_back(std::move(predicate));
  }
  return rule;
}

Result<CauseNeed> read_need(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  CauseNeed need;
  need.verb = read_filled(reader, "verb");
  need.brings = read_filled(reader, "brings");
  need.probe = reader.string_or("probe", "");
  need.counter = reader.string_or("counter", "");
  need.plans = read_words(reader, "plans", k_plan_words);
  if (!need.probe.empty()) check_word(reader, "probe", need.probe, k_probes);
  if (const Json* arguments = reader.member("arguments"); arguments != nullptr) {
    if (!arguments->is_object()) reader.fail("arguments", "must be an object");
    need.arguments = *arguments;
  }
  WB_TRY(reader.finish());
  return need;
}

Result<Cause> read_cause(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  Cause cause;
  cause.id = read_filled(reader, "id");
  if (cause.id.find_first_not_of(k_id_letters) != std::string::npos) {
    reader.fail("id", "must consist of a-z, 0-9 and _");
  }
  cause.title = read_filled(reader, "title");
  cause.theory = read_filled(reader, "theory");
  cause.test = read_filled(reader, "test");
  cause.prediction = read_filled(reader, "prediction");
  cause.backends = read_words(reader, "backends", k_cause_backends);
  if (cause.backends.empty()) reader.fail("backends", "must name one");
  const std::string scope = known_word(reader, "scope", "problem", k_scopes);
  cause.scope = scope == "kernel" ? CauseScope::kernel : CauseScope::problem;
  cause.techniques = read_words(reader, "techniques", variant::known_techniques());
  cause.kind = read_problem_kind(reader);
  const auto supported = objects_of(reader, "supported"), refuted = objects_of(reader, "refuted"),
             needs = objects_of(reader, "needs");
  if (supported.empty()) reader.fail("supported", "must have a rule: else nothing decides it");
  if (needs.empty()) reader.fail("needs", "must say what to measure where it is undecided");
  WB_TRY(reader.finish());
  for (const auto& [list, rules] :
       {std::pair(&supported, &cause.supported), std::pair(&refuted, &cause.refuted)}) {
    for (const Json* one : *list) {
      WB_TRY_ASSIGN(CauseRule rule, read_rule(*one, what + ", rule"));
      rules->push_back(std::move(rule));
    }
  }
  for (const Json* one : needs) {
    WB_TRY_ASSIGN(CauseNeed need, read_need(*one, what + ", needs"));
    cause.needs.push_back(std::move(need));
  }
  return cause;
}

}  // namespace

std::string_view to_string(RuleStrength value) {
  switch (value) {
    case RuleStrength::strong:
      return "strong";
    case RuleStrength::weak:
      return "weak";
    case RuleStrength::derived:
      return "derived";
  }
  throw std::logic_error("a RuleStrength outside its enumeration");
}

std::string words_of(const FigurePredicate& predicate, const Json& figures) {
  const auto found = figures.is_object() ? figures.find(predicate.figure) : figures.end();
  if (!figures.is_object() || found == figures.end()) return {};
  const auto op = std::find_if(k_ops.begin(), k_ops.end(),
                               [&](const auto& known) { return known.second == predicate.op; });
  const auto words = [](const Json& value) {
    if (value.is_number()) return fmt::format("{:.4g}", value.get<double>());
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  if (predicate.op == PredicateOp::equal) {
    return fmt::format("{} {}", predicate.figure, words(*found));
  }
  return fmt::format("{} {} {} {}", predicate.figure, words(*found), op->first,
                     words(predicate.value));
}

bool holds(const FigurePredicate& predicate, const Json& figures) {
  if (!figures.is_object()) return false;
  const auto found = figures.find(predicate.figure);
  if (found == figures.end()) return false;
  if (!predicate.value.is_number()) {
    if (found->type() != predicate.value.type()) return false;
    return (*found == predicate.value) == (predicate.op == PredicateOp::equal);
  }
  if (!found->is_number()) return false;
  const double figure = found->get<double>(), value = predicate.value.get<double>();
  if (!std::isfinite(figure)) return false;
  switch (predicate.op) {
    case PredicateOp::equal:
      return figure == value;
    case PredicateOp::not_equal:
      return figure != value;
    case PredicateOp::less:
      return figure < value;
    case PredicateOp::at_most:
      return figure <= value;
    case PredicateOp::more:
      return figure > value;
    case PredicateOp::at_least:
      return figure >= value;
  }
  throw std::logic_error("a PredicateOp outside its enumeration");
}

Result<std::vector<Cause>> parse_causes(std::string_view text, std::string_view what) {
  WB_TRY_ASSIGN(std::vector<Cause> all, parse_list(text, what, k_causes, read_cause, &Cause::id));
  // A log names entries of both catalogues, so a word may occur in only one of them.
  const auto& words = variant::known_techniques();
  for (const Cause& cause : all) {
    if (std::find(words.begin(), words.end(), cause.id) != words.end()) {
      return refused_list(what, cause.id + " is the name of a technique: give the cause another");
    }
  }
  return all;
}

Result<std::vector<Cause>> load_causes(const FileSystem& file_system,
                                       const variant::SearchPath& search_path) {
  WB_TRY_ASSIGN(const FoundList found, find_list(file_system, search_path, k_causes));
  return parse_causes(found.text, found.path);
}

}  // namespace wb::catalogue
