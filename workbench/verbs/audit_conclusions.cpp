// SPDX-License-Identifier: MIT
#include "verbs/audit_conclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "audit/repair.hpp"
#include "core/ascii.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "report/facts.hpp"
#include "verbs/audit_pages.hpp"

namespace wb::verbs {

namespace {

/// A variant's label with the text behind it.
struct NamedVariant {
  std::string label;
  std::string_view rest;
};

std::vector<NamedVariant> variants_in(std::string_view text) {
  std::vector<NamedVariant> found;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    std::size_t from = at, end = at + 1;
    while (from > 0 && reading::is_of_word(text[from - 1])) --from;
    while (end < text.size() && reading::is_of_word(text[end])) ++end;
    if (from == at || end == at + 1) continue;
    found.push_back({std::string(text.substr(from, end - from)), text.substr(end)});
  }
  return found;
}

/// The titles of the causes with that state.
std::vector<std::string> cause_titles(const session::SessionView& view, std::string_view state) {
  std::vector<std::string> titles;
  if (!view.causes) return titles;
  for (const Json& cause : list_of(view.causes->payload, "causes")) {
    if (text_of(cause, "state") == state)
      titles.push_back(audit::plain_of(text_of(cause, "title")));
  }
  return titles;
}

/// A page's figure may have four digits only.
bool is_near(double printed, double value) {
  return std::abs(printed - value) <= 2e-3 * std::max(std::abs(printed), std::abs(value));
}

// One page
// ------------------------------------------------------------------------------------------

class ConclusionReader {
 public:
  ConclusionReader(const std::string& file, const Concluded& concluded, audit::Severity severity,
                   SessionAudit& audited)
      : m_file(file),
        m_concluded(concluded),
        m_made(concluded.made),
        m_view(concluded.view),
        m_severity(severity),
        m_audited(audited),
        m_supported(cause_titles(concluded.view, "supported")) {}

  void read(std::string_view line, int number) {
    m_line = number;
    const std::string plain = audit::plain_of(line);
    if (number == 1) m_is_brief = line.starts_with("Session ");
    note_section(line, plain);
    if (const auto words = reading::behind(plain, "- Recommendation: "))
      read_recommendation(*words);
    if (const auto words = reading::behind(plain, "The facts advise: "))
      read_recommendation(*words);
    if (const auto words = reading::behind(plain, "Outcome: "); words && m_is_brief) {
      read_recommendation(*words);
      read_result(*words);
    }
    for (const char* lead : {"- Result: ", "- Gain: ", "- Impact: "}) {
      if (const auto words = reading::behind(plain, lead)) read_result(*words);
    }
    if (const auto words = reading::behind(plain, "- Lost: ")) read_lost(*words);
    if (const auto words = reading::behind(plain, "| A: ")) {
      read_variants(words->substr(0, words->find('|')));
    }
    if (reading::has(plain, "Do not try again")) read_warning(plain);
    if (line.starts_with("- ")) read_denied(plain);
    if (line.starts_with("|")) read_refuted(plain);
    read_causes(plain);
    read_counts(plain);
    read_cost(plain);
    if (m_is_advice) read_advice(line);
  }

  /// What only the whole page can tell.
  void finish() {
    const session::UndebitedTurns& left = m_view.undebited;
    if (m_cost_line == 0 || left.count == 0 || m_view.in_flight() != nullptr) return;
    ++m_audited.sentences;
    if (m_says_undebited) return;
    m_line = m_cost_line;
    add("a cost without a word of what no debit holds",
        fmt::format("{} turns are not debited, {:.1f} s of timing alone", left.count,
                    left.timed_s));
  }

 private:
  void note_section(std::string_view line, const std::string& plain) {
    const bool is_heading = line.starts_with("## ") || line.starts_with("**") ||
                            (m_is_brief && !line.starts_with("- ")) || plain == "Not advised:";
    if (!is_heading) return;
    m_is_advice = false;
    for (const char* title : {"## Roadmap", "## Next iteration", "## Next session",
                              "## What is next", "## Gain per cost"}) {
      m_is_advice = m_is_advice || plain.starts_with(title);
    }
    m_is_denied =
        reading::has(plain, "do not try again on these") || (m_is_brief && plain == "Refuted:");
  }

  /// True when something else than the start is recommended.
  [[nodiscard]] bool is_changed() const {
    const outcome::Advice advice = m_made.recommendation.advice;
    return advice == outcome::Advice::adopt || advice == outcome::Advice::dispatch;
  }

  void read_recommendation(std::string_view words) {
    ++m_audited.sentences;
    const bool is_measured =
        is_changed() || m_made.recommendation.advice == outcome::Advice::keep_start;
    if (reading::has(words, "un iterations") && is_measured) {
      add("run iterations", "more than the start was measured");
    }
    if (reading::has(words.substr(0, 16), "eep the start") && is_changed()) {
      add("keep the start", "another variant is shown faster");
    }
    read_rivals_first(words);
    read_variants(words.substr(0, words.find(';')));
    // "keep the rivals for a, b", "keep torch_a on a, b; confirm by …".
    const std::size_t at = words.find("keep ");
    const outcome::Group* group = m_made.main_group();
    if (at == std::string_view::npos || group == nullptr) return;
    const std::string_view kept = words.substr(at, words.find(';', at) - at);
    for (const std::size_t faster : group->by_problem.over_rival.faster) {
      const std::string& problem = group->problems[faster].name;
      if (reading::names(kept, problem)) {
        add("keep a rival for " + problem,
            group->by_problem.variants[faster] + " is faster than the rivals there");
      }
    }
  }

  /// Where a rival is faster on every problem, the rivals are named before any own variant.
  void read_rivals_first(std::string_view words) {
    const outcome::Recommendation& made = m_made.recommendation;
    const outcome::Group* group = m_made.main_group();
    const std::vector<NamedVariant> own = variants_in(words);
    if (made.develop.empty() || group == nullptr || own.empty()) return;
    const std::string_view before = words.substr(0, words.find(own.front().label));
    const bool is_first =
        std::any_of(made.keep_rival.begin(), made.keep_rival.end(), [&](std::size_t at) {
          const auto* standing = group->problems[at].find(group->by_problem.variants[at]);
          return standing != nullptr && reading::names(before, standing->rival);
        });
    if (!is_first) add("use " + own.front().label + " first", "a rival is faster on every problem");
  }

  /// The variants to take, each with its number of problems: "dispatch: a@1 on 8, b@2 on 3 (x, y)".
  void read_variants(std::string_view words) {
    const std::vector<NamedVariant> taken = variants_in(words);
    const std::vector<outcome::Part>& parts = m_made.recommendation.parts;
    if (taken.empty()) return;
    ++m_audited.sentences;
    for (const NamedVariant& one : taken) {
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const outcome::Part& known) {
        return known.variant == one.label;
      });
      if (part == parts.end()) {
        add("take " + one.label, "it is the best on no problem");
      } else {
        check_part(one, *part);
      }
    }
    if (reading::has(words, " more")) return;            // a long list names the largest parts
    if (!m_made.recommendation.develop.empty()) return;  // nothing of them is to be used
    for (const outcome::Part& part : parts) {
      const bool is_named = std::any_of(taken.begin(), taken.end(), [&](const NamedVariant& one) {
        return one.label == part.variant;
      });
      if (!is_named) {
        add("nothing of " + part.variant,
            fmt::format("it is the best on {} problems", part.problems.size()));
      }
    }
  }

  void check_part(const NamedVariant& named, const outcome::Part& part) {
    std::string_view rest = named.rest;
    const auto on = reading::behind(rest, " on ");
    if (!on) return;
    rest = *on;
    const auto count = reading::take_count(rest);
    if (count && *count != part.problems.size()) {
      add(fmt::format("{} on {}", named.label, *count),
          fmt::format("it is the best on {}", part.problems.size()));
    }
    const auto list = reading::behind(rest, " (");
    const outcome::Group* group = m_made.main_group();
    if (!list || group == nullptr) return;
    const std::string_view problems = list->substr(0, list->find(')'));
    for (std::size_t i = 0; i < group->problems.size(); ++i) {
      const bool is_of_part =
          std::find(part.problems.begin(), part.problems.end(), i) != part.problems.end();
      if (!is_of_part && reading::names(problems, group->problems[i].name)) {
        add(named.label + " on " + group->problems[i].name,
            group->by_problem.variants[i] + " is the best there");
      }
    }
  }

  void read_result(std::string_view words) {
    ++m_audited.sentences;
    const bool is_none = words.starts_with("none") || words.starts_with("None") ||
                         reading::has(words, "Nothing was shown faster than the start");
    if (is_none && is_changed()) add("no gain", "another variant than the start is the best");
    const outcome::Group* group = m_made.main_group();
    const std::size_t ahead = words.find("ahead o");
    if (group == nullptr || ahead == std::string_view::npos) return;
    const std::size_t on = words.find(" on ", ahead);
    if (on == std::string_view::npos) return;
    const auto share = reading::share_in(words.substr(on + 4));
    const outcome::Total& rivals = group->by_problem.over_rival;
    if (!share || *share == std::pair(rivals.faster.size(), rivals.measured())) return;
    add(fmt::format("ahead on {} of {}", share->first, share->second),
        fmt::format("it is ahead on {} of {}", rivals.faster.size(), rivals.measured()));
  }

  void read_lost(std::string_view words) {
    ++m_audited.sentences;
    const outcome::Losses lost = outcome::losses_of(m_made);
    const outcome::Group* group = m_made.main_group();
    if (group != nullptr) {
      const outcome::Total& rivals = group->by_problem.over_rival;
      const auto share = reading::share_in(words);
      if (share && *share != std::pair(lost.to_rivals.size(), rivals.measured())) {
        add(fmt::format("{} of {} problems lost", share->first, share->second),
            fmt::format("{} of {} are", lost.to_rivals.size(), rivals.measured()));
      }
      const std::size_t at = words.find("; won ");
      std::string_view won = at == std::string_view::npos ? "" : words.substr(at + 6);
      if (const auto count = reading::take_count(won); count && *count != rivals.faster.size()) {
        add(fmt::format("won {}", *count), fmt::format("{} are won", rivals.faster.size()));
      }
    }
    // What is lost to the start stands behind what is lost to rivals.
    const std::string_view slower = words.substr(std::min(words.find("lower than"), words.size()));
    // A page names the largest losses of each kind.
    const auto largest = [&](const std::vector<outcome::Loss>& losses, std::string_view where,
                             std::string_view opponent) {
      if (losses.empty() || reading::names(where, losses.front().problem)) return;
      add(losses.front().problem + " is not named",
          fmt::format("it is {:.3f}x of {}", losses.front().figure.speedup, opponent));
    };
    largest(lost.to_rivals, words, "the fastest rival");
    largest(lost.to_start, slower, "the start");
    largest(lost.of_incumbent, slower, "the start with the incumbent");
  }

  void read_warning(std::string_view words) {
    ++m_audited.sentences;
    for (const outcome::Part& part : m_made.recommendation.parts) {
      if (reading::names(words, part.variant)) warn_of(part.variant);
    }
  }

  void warn_of(const std::string& variant) {
    add("do not try " + variant, "it is the best on problems of this session");
  }

  /// An entry of what is not to be tried again: "- iteration 7 [e12]: …", or by the event of its
  /// decision, as briefs have it.
  void read_denied(std::string_view plain) {
    if (!m_is_denied) return;
    const session::IterationView* iteration = nullptr;
    if (auto words = reading::behind(plain, "- iteration ")) {
      if (const auto number = reading::take_count(*words)) {
        iteration = m_view.find(static_cast<std::int64_t>(*number));
      }
    } else if (const std::size_t at = plain.rfind("[e"); at != std::string_view::npos) {
      std::string_view digits = plain.substr(at + 2);
      const auto event = reading::take_count(digits);
      for (const session::IterationView& one : m_view.iterations) {
        const bool is_it =
            event && one.hypothesis && one.hypothesis->seq == static_cast<std::int64_t>(*event);
        if (is_it) iteration = &one;
      }
    }
    if (iteration == nullptr) return;
    deny(*iteration);
    const std::string label = report::candidate_label(*iteration);
    if (m_made.takes(label)) warn_of(label);
  }

  /// "refuted" in the row of an iteration.
  void read_refuted(std::string_view plain) {
    const std::vector<std::string_view> cells = reading::cells_of(plain);
    if (cells.empty()) return;
    std::string_view first = cells.front();
    const auto number = reading::take_count(first);
    const bool is_refuted = std::any_of(cells.begin(), cells.end(), [](std::string_view cell) {
      return cell.starts_with("refuted");
    });
    if (!number || !first.empty() || !is_refuted) return;
    const session::IterationView* iteration = m_view.find(static_cast<std::int64_t>(*number));
    if (iteration != nullptr) deny(*iteration);
  }

  void deny(const session::IterationView& iteration) {
    ++m_audited.sentences;
    if (!m_concluded.helped.contains(iteration.number)) return;
    const auto predicted = number_of(iteration.hypothesis->payload, "predicted_speedup");
    const auto measured = number_of(iteration.hypothesis->payload, "measured_speedup");
    add(fmt::format("iteration {} is refuted", iteration.number),
        fmt::format("the change helped: predicted {:.3f}x, measured {:.3f}x", predicted.value_or(0),
                    measured.value_or(0)));
  }

  void read_causes(std::string_view plain) {
    if (!m_view.causes) return;
    for (const char* none : {"Root cause: none", "No cause is supported", "No cause was decided"}) {
      if (!reading::has(plain, none)) continue;
      ++m_audited.sentences;
      if (!m_supported.empty()) add("no cause", "the log supports: " + m_supported.front());
    }
    const auto hold = [&](std::string_view said) {
      ++m_audited.sentences;
      const bool is_supported =
          std::any_of(m_supported.begin(), m_supported.end(),
                      [&](const std::string& title) { return said.starts_with(title); });
      if (!is_supported) add("cause: " + std::string(said), "no measurement supports it");
    };
    for (const std::string_view lead : {"What limits it now: ", "It is held up by: "}) {
      const std::size_t found = plain.find(lead);
      if (found != std::string_view::npos) hold(plain.substr(found + lead.size()));
    }
    // "What limits it now on 4 of 11 problems (a, b and 2 more): the cost of a call."
    if (const std::size_t found = plain.find("What limits it now on ");
        found != std::string_view::npos) {
      const std::size_t end = plain.find("): ", found);
      if (end != std::string_view::npos) hold(plain.substr(end + 3));
    }
    const std::size_t at = plain.find("It is not: ");
    if (at == std::string_view::npos) return;
    ++m_audited.sentences;
    const std::string_view excluded = plain.substr(at, plain.find(". ", at) - at);
    for (const std::string& title : m_supported) {
      if (reading::names(excluded, title)) add("it is not " + title, "the log supports it");
    }
  }

  /// How many iterations there were, and how many of them won.
  void read_counts(std::string_view plain) {
    if (m_view.in_flight() != nullptr) return;
    std::optional<std::size_t> tries, wins;
    if (auto words = reading::behind(plain, "Technical: ")) {
      const auto share = reading::share_in(*words);
      if (!share) return;
      wins = share->first;
      tries = share->second;
    } else {
      const std::size_t old = plain.find("baseline and ");
      const bool is_old = plain.starts_with("- Outcome: ") && old != std::string_view::npos;
      if (!is_old && !reading::has(plain, " closed after the baseline")) return;
      const std::string_view said = is_old ? plain.substr(old) : plain;
      tries = reading::count_before(said, " iteration");
      wins = reading::count_before(said, is_old ? " win" : " won");
    }
    ++m_audited.sentences;
    const auto won = static_cast<std::size_t>(std::count_if(
        m_view.iterations.begin(), m_view.iterations.end(), [](const auto& iteration) {
          return iteration.closed && text_of(iteration.closed->payload, "outcome") == "win";
        }));
    if (tries && *tries != m_made.iterations) {
      add(fmt::format("{} iterations", *tries), fmt::format("{} closed", m_made.iterations));
    }
    if (wins && *wins != won) add(fmt::format("{} won", *wins), fmt::format("{} won", won));
  }

  void read_cost(std::string_view plain) {
    m_says_undebited = m_says_undebited || reading::has(plain, "ot debited") ||
                       reading::has(plain, "No debit holds");
    const bool is_spend = plain.starts_with("- Spend: ");
    const bool is_cost = is_spend || plain.starts_with("- Cost: ") || plain == "## Cost" ||
                         plain == "## What it cost" || reading::has(plain, "; spent: ");
    if (is_cost && m_cost_line == 0) m_cost_line = m_line;
    std::string_view quantity;
    if (const std::size_t at = plain.find("device "); is_spend && at != std::string_view::npos) {
      quantity = plain.substr(at + 7);
    } else if (const auto cells = reading::cells_of(plain);
               cells.size() > 2 && cells[0] == "device") {
      if (cells[2] != "s" && !reading::has(cells[1], " s")) return;
      quantity = cells[1];
    }
    const auto printed = ascii::number<double>(quantity.substr(0, quantity.find_first_of(" ,)")));
    if (!printed) return;
    ++m_audited.sentences;
    const auto found = m_view.ledger.items.find(session::CostItem::device);
    const double debited = found == m_view.ledger.items.end() ? 0 : found->second.quantity;
    if (!is_near(*printed, debited)) {
      add(fmt::format("{:.4g} s of the device", *printed),
          fmt::format("{:.4g} s are debited", debited));
    }
  }

  /// A step that is advised, and what is known of it.
  void read_advice(std::string_view line) {
    for (const std::string_view word : reading::code_in(line)) {
      ++m_audited.sentences;
      const bool is_loser = std::find(m_concluded.losers.begin(), m_concluded.losers.end(), word) !=
                            m_concluded.losers.end();
      if (is_loser && m_told.insert(std::string(word)).second) {
        add("try " + std::string(word), "it is a known loser here");
      }
    }
  }

  void add(const std::string& printed, const std::string& outcome_says) {
    m_audited.add(m_file, {.severity = m_severity,
                           .line = m_line,
                           .printed = printable(printed, 120),
                           .computed = printable(outcome_says, 160),
                           .meaning = "all measurements of the session say otherwise: " +
                                      outcome::headline(m_made),
                           .check = k_conclusions_check});
  }

  const std::string& m_file;
  const Concluded& m_concluded;
  const outcome::Outcome& m_made;
  const session::SessionView& m_view;
  audit::Severity m_severity;
  SessionAudit& m_audited;
  std::vector<std::string> m_supported;  ///< titles of the causes that are supported
  std::set<std::string> m_told;          ///< losers that have a finding on this page
  int m_line = 0, m_cost_line = 0;
  bool m_is_brief = false, m_is_advice = false, m_is_denied = false, m_says_undebited = false;
};

}  // namespace

void check_conclusions(const std::string& file, const std::string& page, const Concluded& concluded,
                       audit::Severity severity, SessionAudit& audited) {
  ConclusionReader reader(file, concluded, severity, audited);
  const std::vector<std::string_view> lines = lines_of(page);
  for (std::size_t i = 0; i < lines.size(); ++i) reader.read(lines[i], static_cast<int>(i + 1));
  reader.finish();
}

}  // namespace wb::verbs
