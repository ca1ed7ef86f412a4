// SPDX-License-Identifier: MIT
// Of the report of two pages: the problems that a hypothesis is about, as far as it names them
// plainly, beside those on which its step gained.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "catalogue/ideas.hpp"
#include "core/ascii.hpp"
#include "core/json.hpp"
#include "problem/problem.hpp"
#include "report/summary.hpp"

namespace wb::report::two_pages {

using session::IterationView;

namespace {

/// The problems that a hypothesis names: a recorded idea's scopes, or what its words say plainly.
/// What it does not name is empty.
struct NamedProblems {
  std::vector<catalogue::IdeaScope> scopes;
  std::set<std::int64_t> dims, queries;
  bool is_causal = false;
  [[nodiscard]] bool has_words() const { return is_causal || !dims.empty() || !queries.empty(); }
};

/// A word without the marks around it, and whether a mark ends it.
struct Word {
  std::string text;
  bool is_end = false;
  [[nodiscard]] std::optional<std::int64_t> number() const {
    return ascii::number<std::int64_t>(text);
  }
};

std::vector<Word> split_words(std::string_view said) {
  std::vector<Word> words;
  while (!said.empty()) {
    const std::size_t space = std::min(said.find_first_of(" \n\t"), said.size());
    std::string_view word = said.substr(0, space);
    said.remove_prefix(std::min(space + 1, said.size()));
    while (!word.empty() && (word.front() == '(' || word.front() == '"')) word.remove_prefix(1);
    const std::size_t whole = word.size();
    while (!word.empty() && std::string_view(".,;:)\"").find(word.back()) != std::string_view::npos)
      word.remove_suffix(1);
    if (!word.empty()) words.push_back({std::string(word), word.size() < whole});
  }
  return words;
}

template <typename Words>
bool is_one_of(const std::string& word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "D 64", "D=64" or "head dim 64" beginning at `at`. False where the text goes on as a range or as
/// a list, or negates it, so that nothing is plain.
bool read_dim(const std::vector<Word>& words, std::size_t at, NamedProblems& named) {
  static constexpr std::array<std::string_view, 14> k_before{
      "above", "below",   "over", "under", "beyond", "not",  "except",
      "but",   "without", "from", "up",    "to",     "than", "non"};
  static constexpr std::array<std::string_view, 7> k_behind{"to",      "and",    "or",     "up",
                                                            "upwards", "upward", "through"};
  std::size_t end = at;
  std::optional<std::int64_t> dim;
  if (words[at].text == "D" && at + 1 < words.size()) {
    end = at + 1;
    dim = words[end].number();
  } else if (words[at].text.starts_with("D=")) {
    dim = ascii::number<std::int64_t>(std::string_view(words[at].text).substr(2));
  } else if (words[at].text == "head" && at + 2 < words.size() &&
             words[at + 1].text.starts_with("dim")) {
    end = words[at + 2].text == "of" && at + 3 < words.size() ? at + 3 : at + 2;
    dim = words[end].number();
  }
  if (!dim) return true;
  if (at > 0 && is_one_of(words[at - 1].text, k_before)) return false;
  const bool goes_on = !words[end].is_end && end + 1 < words.size();
  if (goes_on && is_one_of(words[end + 1].text, k_behind)) return false;
  named.dims.insert(*dim);
  return true;
}

/// "on 64 and 128 queries" with `queries` at `at`; other counts of queries are of tiles.
void read_queries(const std::vector<Word>& words, std::size_t at, NamedProblems& named) {
  std::set<std::int64_t> counts;
  std::size_t i = at;
  while (i > 0) {
    const Word& word = words[i - 1];
    if (const auto count = word.number()) {
      counts.insert(*count);
    } else if (word.text != "and" && word.text != "or") {
      break;
    }
    --i;
  }
  if (i > 0 && words[i - 1].text == "on" && !counts.empty()) named.queries.merge(counts);
}

/// "on causal …", "for causal …", "causal problems"; not where it is negated.
bool names_causal(const std::vector<Word>& words, std::size_t at) {
  static constexpr std::array<std::string_view, 4> k_things{"problems", "problem", "prefill",
                                                            "shapes"};
  const std::string before = at > 0 ? words[at - 1].text : std::string();
  if (before == "not" || before == "non") return false;
  return before == "on" || before == "for" ||
         (at + 1 < words.size() && is_one_of(words[at + 1].text, k_things));
}

NamedProblems named_by(const Page& page, const IterationView& iteration) {
  NamedProblems named;
  const std::vector<std::string> ids = strings(iteration.opened.payload, "ideas");
  for (const session::Fact& fact : page.facts.view.ideas) {
    const Json& entry = field(fact.payload, "entry");
    if (!entry.is_object() || !is_one_of(text(fact.payload, "idea"), ids)) continue;
    if (auto idea = catalogue::read_idea(entry, "idea_recorded")) {
      named.scopes.push_back(std::move(idea->scope));
    }
  }
  if (!named.scopes.empty()) return named;
  const std::vector<Word> words = split_words(theory_of(page.facts, iteration));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!read_dim(words, i, named)) return {};
    if (words[i].text == "queries") read_queries(words, i, named);
    if (words[i].text == "causal") named.is_causal = named.is_causal || names_causal(words, i);
  }
  return named;
}

bool is_about(const Page& page, const NamedProblems& named, const problem::Problem& problem) {
  if (!named.scopes.empty()) {
    const Json none;
    const auto& environment = page.facts.view.environment;
    const Json& device = environment ? field(environment->payload, "device") : none;
    return std::any_of(named.scopes.begin(), named.scopes.end(), [&](const auto& scope) {
      return catalogue::covers(scope, text(device, "name"), text(device, "architecture"), problem);
    });
  }
  return (named.dims.empty() || named.dims.contains(problem.D)) &&
         (named.queries.empty() || named.queries.contains(problem.Sq)) &&
         (!named.is_causal || problem.causal != problem::Causal::none);
}

std::string numbers_text(const std::set<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t one : numbers) out += (out.empty() ? "" : " or ") + fmt::to_string(one);
  return out;
}

/// "D 64 on 64 or 128 queries".
std::string named_text(const NamedProblems& named) {
  if (!named.scopes.empty()) return "the problems of its idea's recorded scope";
  std::string out;
  if (!named.dims.empty()) out = "D " + numbers_text(named.dims);
  if (named.is_causal) out += (out.empty() ? "" : ", ") + std::string("causal problems");
  if (!named.queries.empty()) {
    out += (out.empty() ? "" : " with ") + numbers_text(named.queries) + " queries";
  }
  return out;
}

double mean_log(const std::vector<const Compared*>& figures) {
  double sum = 0;
  for (const Compared* one : figures) sum += std::log(*one->ratio.value);
  return sum / static_cast<double>(figures.size());
}

bool is_lower_figure(const Compared* a, const Compared* b) {
  return *a->ratio.value < *b->ratio.value;
}

}  // namespace

std::string scope_words(const Page& page, const IterationView& iteration,
                        const ComparisonIndex& index) {
  const NamedProblems named = named_by(page, iteration);
  if (named.scopes.empty() && !named.has_words()) return {};
  std::vector<const Compared*> inside, outside;
  for (const SuiteEntry& entry : page.facts.suite) {
    const auto parsed = problem::parse_problem(entry.problem);
    const Compared* found = index.find("", entry.problem, page.facts.plan);
    if (entry.held_out || !parsed.ok() || found == nullptr) continue;
    if (!(found->ratio.value > 0.0) || found->phase == "selection") continue;
    (is_about(page, named, *parsed) ? inside : outside).push_back(found);
  }
  if (inside.empty() || outside.empty()) return {};
  const double gain = mean_log(outside);
  if (!(gain > std::log(1.02)) || mean_log(inside) > 0.5 * gain) return {};
  const auto [low, high] = std::minmax_element(inside.begin(), inside.end(), is_lower_figure);
  const Compared* most = *std::max_element(outside.begin(), outside.end(), is_lower_figure);
  const auto told_figure = [](const Compared* one) {
    return speedup(one->ratio.value) + cite(one->seq);
  };
  return fmt::format(
      " It is about {}: there it is {}; most of the gain is on others, up to {}.",
      named_text(named),
      *low == *high ? told_figure(*low) : told_figure(*low) + " to " + told_figure(*high),
      told_figure(most));
}

}  // namespace wb::report::two_pages
