// SPDX-License-Identifier: MIT
// Of the report of two pages: the decision, the conditions under which it holds, and what going on
// would cost.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/json.hpp"
#include "outcome/siblings.hpp"
#include "problem/problem.hpp"
#include "report/summary.hpp"
#include "session/session.hpp"

namespace wb::report::two_pages {

using session::CostItem;
using session::Fact;
using session::SessionStatus;

std::string device_of(const Facts& facts) {
  if (!facts.view.environment) return {};
  return text(field(facts.view.environment->payload, "device"), "name");
}

namespace {

/// The smallest and the largest of some sizes.
struct Span {
  std::int64_t low = 0, high = 0;
  void add(std::int64_t size) {
    low = low == 0 ? size : std::min(low, size);
    high = std::max(high, size);
  }
  /// "64", "64 to 512".
  [[nodiscard]] std::string words() const {
    return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
  }
};

/// What the problems of a choice have in common.
struct Shapes {
  std::size_t n = 0, causal = 0, masked = 0;
  std::set<std::string> dtypes;
  Span batch, heads, key_heads, queries, keys, head_dim, value_dim;
  bool has_groups = false, has_other_keys = false, has_value_dim = false;

  void add(const problem::Problem& one) {
    ++n;
    if (one.causal != problem::Causal::none) ++causal;
    if (one.mask != problem::MaskKind::none) ++masked;
    dtypes.emplace(to_string(one.dtype));
    batch.add(one.B);
    heads.add(one.Hq);
    key_heads.add(one.Hkv);
    queries.add(one.Sq);
    keys.add(one.Skv);
    head_dim.add(one.D);
    value_dim.add(one.Dv);
    has_groups = has_groups || one.Hq != one.Hkv;
    has_other_keys = has_other_keys || one.Sq != one.Skv;
    has_value_dim = has_value_dim || one.D != one.Dv;
  }

  /// "f16, B 1 to 8, 1 to 4 heads, Sq and Skv 4 to 512, D 64, not causal".
  [[nodiscard]] std::string words() const {
    std::string out;
    for (const std::string& dtype : dtypes) out += (out.empty() ? "" : " and ") + dtype;
    out += ", B " + batch.words();
    out += has_groups ? fmt::format(", Hq {}, Hkv {}", heads.words(), key_heads.words())
                      : fmt::format(", {} head{}", heads.words(), heads.high == 1 ? "" : "s");
    out += has_other_keys ? fmt::format(", Sq {}, Skv {}", queries.words(), keys.words())
                          : ", Sq and Skv " + queries.words();
    out += ", D " + head_dim.words();
    if (has_value_dim) out += ", Dv " + value_dim.words();
    out += causal == 0 ? ", not causal" : causal == n ? ", causal" : ", causal and not";
    if (masked > 0) out += masked == n ? ", masked" : ", with and without mask";
    return out;
  }
};

/// The problems that the recommendation is about, the device and how it was timed.
std::string range_words(const Page& page, const outcome::Group& group) {
  Shapes shapes;
  std::size_t n = 0;
  for (const outcome::ProblemOutcome& problem : group.problems) {
    if (problem.held_out || problem.hidden) continue;
    ++n;
    if (const auto parsed = problem::parse_problem(problem.problem)) shapes.add(*parsed);
  }
  const std::string device = device_of(page.facts);
  const std::string which = n == 1 ? "this one" : fmt::format("these {}", n);
  const std::string where =
      (device.empty() ? std::string() : " on " + inline_text(device, 60)) + ", " +
      (group.is_suite ? inline_text(page.facts.plan_label(page.facts.plan), 30)
                      : inline_text(group.plan + " " + group.regime, 40));
  return fmt::format("- It holds for problems like {}{}{}.\n", which, where,
                     shapes.n < n || n == 0 ? std::string() : ": " + shapes.words());
}

/// What other plans say of the incumbent, where it is what is recommended.
std::string other_plans(const Page& page) {
  std::string out, missing;
  if (!is_rival_compared(page)) return out;
  for (const char* plan : {"hot", "cold", "eager"}) {
    const auto& plans = page.facts.plans;
    const bool is_timed = std::find(plans.begin(), plans.end(), plan) != plans.end();
    if (!is_timed) missing += (missing.empty() ? "" : " and ") + std::string(plan);
  }
  // The figures are the incumbent's.
  const bool is_about_it =
      takes_incumbent(page) || page.conclusion.recommendation.develop == page.conclusion.incumbent;
  for (const std::string& plan : page.facts.plans) {
    if (plan == page.facts.plan || !is_about_it) continue;
    const std::string cell = sdpa_cell(page, plan);
    if (cell == "not measured" || cell == "not on every problem") continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", inline_text(plan, 20), cell);
  }
  if (out.empty() && missing.empty()) return out;
  return fmt::format("- Calls come as they were timed, {}.{}{}\n",
                     inline_text(page.facts.plan_label(page.facts.plan), 30),
                     out.empty() ? "" : " Timed otherwise it is, over the rivals: " + out + ".",
                     missing.empty() ? "" : " Not measured: " + missing + ".");
}

/// The rivals that are the fastest one on some problem, those of most problems first.
std::vector<std::string> fastest_rivals(const outcome::Group& group) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < group.problems.size(); ++i) {
    const outcome::Standing* standing = group.problems[i].find(group.by_problem.variants[i]);
    if (standing == nullptr || standing->rival.empty() || group.problems[i].held_out) continue;
    ++counts[std::string(base_name(standing->rival))];
  }
  std::vector<std::string> names;
  for (const auto& [name, n] : counts) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return counts[a] > counts[b];
  });
  return names;
}

/// Which rivals the figures rest on, with their versions; a line for each version.
std::string rival_versions(const Page& page, const outcome::Group& group) {
  constexpr std::size_t k_most_versions = 2, k_most_names = 3;
  struct Version {
    std::string words;
    std::vector<std::string> names;
    std::vector<std::int64_t> events;
  };
  std::vector<Version> versions;
  for (const std::string& name : fastest_rivals(group)) {
    const RivalFacts* rival = page.facts.find_rival(name);
    const bool is_known = rival != nullptr && rival->version_seq != 0;
    const std::string words = is_known ? rival->version : std::string();
    auto found = std::find_if(versions.begin(), versions.end(),
                              [&](const Version& one) { return one.words == words; });
    if (found == versions.end()) {
      versions.push_back({words, {}, {}});
      found = std::prev(versions.end());
    }
    found->names.push_back(name);
    if (is_known) found->events.push_back(rival->version_seq);
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(versions.size(), k_most_versions); ++i) {
    const Version& version = versions[i];
    std::string names;
    for (std::size_t k = 0; k < std::min(version.names.size(), k_most_names); ++k) {
      names += (k == 0                          ? ""
                : k + 1 == version.names.size() ? " or "
                                                : ", ") +
               code(version.names[k], 40);
    }
    if (version.names.size() > k_most_names) {
      names += fmt::format(" or {} more", version.names.size() - k_most_names);
    }
    const bool is_one = version.names.size() == 1;
    out += fmt::format("- Measure again when {} changes; ", names);
    out += version.words.empty()
               ? fmt::format("{} version is not recorded.\n", is_one ? "its" : "their")
               : fmt::format("{} {}{}.\n", is_one ? "it was" : "they were",
                             inline_text(version.words, 60), cite(version.events));
  }
  return out;
}

/// How far the variant to develop is behind, where rivals are ahead everywhere.
std::string behind_words(const outcome::Outcome& made, const outcome::Group& group) {
  const std::string own = code(made.recommendation.develop, 60);
  const auto& mean = group.single.variants.empty() ? group.by_problem.over_rival.mean
                                                   : group.single.over_rival.mean;
  std::string out = "- No variant here is ahead of the rivals on any problem, timed like this.";
  if (!mean || !(mean->value > 0)) return out + "\n";
  return out + fmt::format(
                   " {} reaches {} of them on average, so it must become {} faster to be level.\n",
                   own, speedup(mean->value), speedup(1 / mean->value));
}

/// Which part of a dispatch other shapes take, as far as the problems separate the parts.
std::string dispatch_rule(const outcome::Outcome& made) {
  const std::vector<outcome::Part>& parts = made.recommendation.parts;
  const bool are_dispatched = made.recommendation.advice == outcome::Advice::dispatch &&
                              made.recommendation.develop.empty();
  if (!are_dispatched || parts.size() < 2) return {};
  const auto is_part = [&](const std::string& label) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const outcome::Part& part) { return part.variant == label; });
  };
  std::string out;
  for (const outcome::Contrast& one : outcome::contrasts_of(made)) {
    if (!is_part(one.above) || !is_part(one.below)) continue;
    const bool is_blocks = one.property == "blocks";
    out += fmt::format("- For other shapes these problems suggest: {}{}.\n", told(one.words()),
                       is_blocks ? "; a problem has B x Hq x Sq / 64 such blocks" : "");
  }
  return out.empty() ? "- Nothing tells which part another shape takes: measure it.\n" : out;
}

std::string conditions(const Page& page) {
  const outcome::Outcome& made = page.conclusion;
  const outcome::Group& group = *made.main_group();
  const outcome::Losses losses = outcome::losses_of(made);
  const bool are_rivals_used = !made.recommendation.develop.empty();
  std::string out = range_words(page, group);
  if (made.recommendation.confirmation) {
    out +=
        "- The parts were held against the rivals in separate runs: confirm them in one first.\n";
  }
  out += dispatch_rule(made);
  if (are_rivals_used) {
    out += behind_words(made, group);
  } else if (!made.recommendation.keep_rival.empty()) {
    out += fmt::format("- A rival is faster on {}: {}. Keep it there.\n",
                       of_problems(made.recommendation.keep_rival.size()),
                       problem_names(group, made.recommendation.keep_rival, 4));
  }
  if (!losses.to_start.empty() && !are_rivals_used) {
    out += "- If these matter, keep the start for them: " + named(losses.to_start) + ".\n";
  }
  out += other_plans(page);
  out += rival_versions(page, group);
  if (page.facts.view.status != SessionStatus::closed) {
    out += "- The session is not closed, so this may change.\n";
  }
  return out;
}

/// What going on would cost. It says what of the device's time the iterations were: their mean does
/// not add up to the session's cost.
std::string options(const Page& page) {
  double device_s = 0, usd = 0;
  bool is_priced = true, is_listed = false;
  std::size_t n = 0;
  for (const session::IterationView* iteration : page.facts.tries) {
    if (!iteration->closed) continue;
    const auto found = iteration->ledger.items.find(CostItem::device);
    if (found != iteration->ledger.items.end()) device_s += found->second.quantity;
    const session::Ledger::Total total = page.facts.prices.priced(iteration->ledger).total();
    usd += total.usd;
    is_priced = is_priced && total.complete;
    is_listed = is_listed || total.is_listed;
    ++n;
  }
  std::string out = "Or go on with the next steps";
  if (n > 0) {
    const auto tries = static_cast<double>(n);
    out += n == 1 ? std::string(": the one iteration took ")
                  : fmt::format(": {} iterations took {} of the device, on average ", n,
                                duration(device_s));
    out += duration(device_s / tries) + (n == 1 ? " of the device" : "");
    if (is_priced && usd > 0) {
      out += fmt::format(" and ${}{}", fixed(usd / tries, usd / tries < 0.1 ? 3 : 2),
                         list_mark(is_listed));
    }
    if (n > 1) out += " each";
    const auto all = page.facts.view.ledger.items.find(CostItem::device);
    const double rest_s =
        all == page.facts.view.ledger.items.end() ? 0 : all->second.quantity - device_s;
    if (rest_s > 0.01 * device_s) {
      out += fmt::format("; baseline and other measurements {}", duration(rest_s));
    }
  }
  return out + ".\n\n";
}

/// What the conditions are about.
std::string lead(const Page& page) {
  if (!page.conclusion.recommendation.develop.empty()) return "Use the rivals if these hold:";
  if (advises_change(page)) return "Take the recommendation if these hold:";
  return told("Keep the start: " + outcome::start_reason(page.conclusion) +
              ". What to know of that:");
}

}  // namespace

std::string decision(const Page& page) {
  const session::SessionView& view = page.facts.view;
  std::string out = "## Decision\n\n";
  const bool is_start = page.conclusion.recommendation.advice == outcome::Advice::keep_start;
  if (page.conclusion.main_group() == nullptr || !(is_start || advises_change(page))) {
    out += advice(page) + "\n\n";
  } else {
    out += lead(page) + "\n\n" + conditions(page) + "\n" + options(page);
  }
  if (view.closed) {
    const std::string said = text(view.closed->payload, "recommendation");
    if (!said.empty()) {
      out += fmt::format("The author advised{}: {}\n\n", cite(view.closed->seq), brief(said, 200));
    }
  }
  if (!view.decisions.empty()) {
    const Fact& last = view.decisions.back();
    const std::string reason = text(last.payload, "reason");
    out += fmt::format("Decided{}: {}: {}{}\n\n", cite(last.seq),
                       brief(text(last.payload, "question"), 160),
                       brief(text(last.payload, "choice"), 100),
                       reason.empty() ? "" : " (" + brief(reason, 160) + ")");
  }
  return out;
}

}  // namespace wb::report::two_pages
