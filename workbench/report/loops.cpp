// SPDX-License-Identifier: MIT
#include "report/loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/phrases.hpp"

namespace wb::report {

using catalogue::LoopFamily;

namespace {

constexpr std::size_t k_most_rows = 40, k_cell_bytes = 400;

struct Timed {
  double us = 0;
  std::int64_t seq = 0;
};

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : "; ") + inline_text(word, k_cell_bytes);
  }
  return out;
}

std::string family_words(const LoopSide& side) {
  if (side.family == nullptr) return "not known: its manifest names no techniques that tell";
  return inline_text(side.family->title, 80) + " (" + code(side.family->id, 40) + ")";
}

std::string families_table(const LoopSide& one, const LoopSide& other) {
  Table table({"", code(one.name, 80), code(other.name, 80)});
  const auto row = [&](const char* what, auto&& words) {
    const auto cell = [&](const LoopSide& side) {
      return side.family == nullptr ? std::string("-") : words(*side.family);
    };
    table.row({what, cell(one), cell(other)});
  };
  const auto text_row = [&](const char* what, std::string LoopFamily::*member) {
    row(what, [&](const LoopFamily& family) {
      const std::string& words = family.*member;
      return words.empty() ? std::string("-") : inline_text(words, k_cell_bytes);
    });
  };
  table.row({"loop", family_words(one), family_words(other)});
  text_row("also called", &LoopFamily::also_called);
  text_row("the grid", &LoopFamily::grid);
  text_row("a block", &LoopFamily::block);
  text_row("who walks what", &LoopFamily::walks);
  text_row("merging", &LoopFamily::merge);
  row("for it", [](const LoopFamily& family) { return joined_words(family.pros); });
  row("against it", [](const LoopFamily& family) { return joined_words(family.cons); });
  text_row("use it for", &LoopFamily::use_case);
  text_row("source", &LoopFamily::source);
  return table.str() + "\n";
}

/// Whether `subject` is this side, by label or by kernel name.
bool is_side(const LoopSide& side, const std::string& subject) {
  return subject == side.name ||
         (side.name.find('@') == std::string::npos && base_name(subject) == side.name);
}

bool is_between(const LoopSide& one, const LoopSide& other, const Compared& compared) {
  return (is_side(one, compared.candidate) && is_side(other, compared.against)) ||
         (is_side(other, compared.candidate) && is_side(one, compared.against));
}

/// The last valid time of a side on each problem.
std::map<std::string, Timed> times_of(const Facts& facts, const LoopSide& side) {
  std::map<std::string, Timed> times;
  for (const session::IterationView& iteration : facts.view.iterations) {
    const ComparisonIndex index(iteration);
    for (const Compared& one : index.all()) {
      const std::string against = one.against_rival ? one.against : std::string();
      if (one.problem.empty() || one.plan != facts.plan) continue;
      if (index.find(against, one.problem, one.plan) != &one) continue;
      if (is_side(side, one.candidate) && one.candidate_us) {
        times[one.problem] = {*one.candidate_us, one.seq};
      } else if (is_side(side, one.against) && one.against_us) {
        times[one.problem] = {*one.against_us, one.seq};
      }
    }
  }
  return times;
}

/// The text if the two sides were never compared in the same turns.
std::string own_times(const LoopSide& one, const LoopSide& other, const Facts& facts) {
  const auto left = times_of(facts, one), right = times_of(facts, other);
  const std::string name = inline_text(text(facts.view.opened.payload, "session"), 80);
  Table table({"problem", code(one.name, 80) + " us>", code(other.name, 80) + " us>"});
  for (const SuiteEntry& entry : facts.suite) {
    if (entry.held_out && facts.hide_held_out) continue;
    const auto a = left.find(entry.problem), b = right.find(entry.problem);
    if (a == left.end() || b == right.end()) continue;
    table.row({inline_text(facts.title(entry.problem), 60),
               microseconds(a->second.us) + cite(a->second.seq),
               microseconds(b->second.us) + cite(b->second.seq)});
  }
  if (table.empty()) return "## Measured\n\nSession " + name + " did not measure both.\n\n";
  return "## Measured, each in its own turns\n\nSession " + name + " measured both under " +
         inline_text(facts.plan_label(facts.plan), 40) +
         ", but never in turn with each other, so no ratio is made of these times. What else "
         "differs between the two is in them, too.\n\n" +
         table.str() + "\n";
}

std::string figures_section(const LoopSide& one, const LoopSide& other,
                            const session::SessionView& view) {
  const Page page(view);
  const Facts& facts = page.facts;
  std::string out = "## Measured beside each other\n\n";
  Table table({"problem", "candidate", "candidate us>", "against", "against us>",
               inline_text(facts.plan_label(facts.plan), 40)});
  std::size_t found = 0;
  for (const session::IterationView& iteration : view.iterations) {
    const ComparisonIndex index(iteration);
    for (const Compared& compared : index.all()) {
      const std::string against = compared.against_rival ? compared.against : std::string();
      const bool stands = index.find(against, compared.problem, compared.plan) == &compared;
      if (!stands || compared.plan != facts.plan || !is_between(one, other, compared)) continue;
      if (facts.hide_held_out && facts.is_held_out(compared.problem)) continue;
      if (++found > k_most_rows) continue;
      const auto us = [](const std::optional<double>& value) {
        return value ? microseconds(value) : std::string();
      };
      table.row({compared.problem.empty() ? std::string("**objective**")
                                          : inline_text(facts.title(compared.problem), 60),
                 code(compared.candidate, 60), us(compared.candidate_us),
                 code(compared.against, 60), us(compared.against_us), comparison_cell(compared)});
    }
  }
  if (found == 0) return own_times(one, other, facts);
  out += fmt::format(
             "In session {}; above 1x the candidate is faster. What else differs between "
             "the two is in these figures, too.\n\n",
             inline_text(text(view.opened.payload, "session"), 80)) +
         table.str() + "\n";
  if (found > k_most_rows) {
    out += fmt::format("{} more are in the log.\n\n", found - k_most_rows);
  }
  return out;
}

}  // namespace
std::string render_loops(const LoopSide& one, const LoopSide& other,
                         const session::SessionView* view) {
  std::string out =
      fmt::format("# Loops: {} and {}\n\n", code(one.name, 80), code(other.name, 80)) +
      families_table(one, other);
  if (one.family != nullptr && one.family == other.family) {
    out += "Both are of one family: what differs between them is within the block.\n\n";
  }
  if (view != nullptr) return out + figures_section(one, other, *view);
  const bool are_variants = one.is_variant && other.is_variant;
  return out + (are_variants ? "No session was named to take figures from (--recorded).\n" : "");
}

std::string loop_change(const LoopSide& problem, const LoopSide& cure) {
  if (problem.family == nullptr || cure.family == nullptr) return {};
  if (problem.family == cure.family) {
    return fmt::format("{} and {} divide the work alike ({}): what differs is within a block.\n\n",
                       code(problem.name, 60), code(cure.name, 60),
                       inline_text(problem.family->title, 80));
  }
  const auto walk = [](const char* what, const LoopSide& side) {
    const LoopFamily& family = *side.family;
    return fmt::format(
        "# {}: {}, {}\nfor each block of {}, side by side:\n    {}\n    order: {}\n    merge: {}\n",
        what, plain(side.name, 60), plain(family.title, 80), plain(family.grid, 160),
        plain(family.block, 160), plain(family.walks, 160),
        family.merge.empty() ? "none" : plain(family.merge, 200));
  };
  return "```\n" + walk("problem", problem) + "\n" + walk("cure", cure) + "```\n\n";
}

std::string render_loop_families(const std::vector<LoopFamily>& families,
                                 const std::vector<LoopSide>& kernels) {
  std::string out = "# Loops\n\n";
  for (const LoopFamily& family : families) {
    std::string names;
    for (const LoopSide& kernel : kernels) {
      if (kernel.family != &family) continue;
      names += (names.empty() ? "" : ", ") + code(kernel.name, 60);
    }
    out += fmt::format("## {} ({})\n\n", inline_text(family.title, 80), code(family.id, 40));
    const auto line = [&out](const char* what, const std::string& words) {
      if (!words.empty()) out += fmt::format("- {}: {}\n", what, words);
    };
    line("also called", inline_text(family.also_called, k_cell_bytes));
    line("grid", inline_text(family.grid, k_cell_bytes));
    line("a block", inline_text(family.block, k_cell_bytes));
    line("merging", inline_text(family.merge, k_cell_bytes));
    line("for it", joined_words(family.pros));
    line("against it", joined_words(family.cons));
    line("use it for", inline_text(family.use_case, k_cell_bytes));
    line("kernels, with their defaults", names.empty() ? "none here" : names);
    out += "\n";
  }
  std::string unknown;
  for (const LoopSide& kernel : kernels) {
    if (kernel.family == nullptr) {
      unknown += (unknown.empty() ? "" : ", ") + code(kernel.name, 60);
    }
  }
  return unknown.empty() ? out : out + "Not told by their manifests: " + unknown + ".\n";
}

}  // namespace wb::report
