// SPDX-License-Identifier: MIT
#include "verbs/audit_conclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "audit/repair.hpp"
#include "core/error.hpp"
#include "verbs/audit_pages.hpp"

namespace wb::verbs {

namespace {

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// True when the name stands there by itself, not as a part of a longer one.
bool names(std::string_view text, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !is_of_word(text[at - 1]);
    if (starts && (end == text.size() || !is_of_word(text[end]))) return true;
  }
  return false;
}

/// One page and what its sentences are held against.
class Conclusions {
 public:
  Conclusions(const std::string& file, const outcome::Outcome& made, audit::Severity severity,
              SessionAudit& audited)
      : m_file(file), m_made(made), m_severity(severity), m_audited(audited) {}

  void read(std::string_view line, int number) {
    m_line = number;
    const std::string plain = audit::plain_of(line);
    if (line.find("**Recommendation:**") != std::string_view::npos) read_recommendation(plain);
    if (line.find("**Lost:**") != std::string_view::npos) read_lost(plain);
    if (plain.find("Do not try again") != std::string::npos) read_warning(plain);
  }

 private:
  void read_recommendation(const std::string& words) {
    if (words.find("un iterations") != std::string::npos && is_measured()) {
      add("run iterations", "more than the start was measured");
    }
    // "keep the rivals for a, b", "keep torch_a on a, b; confirm by …".
    const std::size_t at = words.find("keep ");
    const outcome::Group* group = m_made.main_group();
    if (at == std::string::npos || group == nullptr) return;
    const std::string_view kept = std::string_view(words).substr(at, words.find(';', at) - at);
    for (const std::size_t faster : group->by_problem.over_rival.faster) {
      const std::string& problem = group->problems[faster].name;
      if (names(kept, problem)) {
        add("keep a rival for " + problem,
            group->by_problem.variants[faster] + " is faster than the rivals there");
      }
    }
  }

  void read_lost(const std::string& words) {
    const outcome::Losses lost = outcome::losses_of(m_made);
    // What is lost to the start stands behind what is lost to rivals.
    const std::size_t at = std::min(words.find("lower than"), words.size());
    const std::string_view slower = std::string_view(words).substr(at);
    // A page names the largest losses of each kind.
    const auto largest = [&](const std::vector<outcome::Loss>& losses, std::string_view where,
                             std::string_view opponent) {
      if (losses.empty() || names(where, losses.front().problem)) return;
      add(losses.front().problem + " is not named",
          fmt::format("it is {:.3f}x of {}", losses.front().figure.speedup, opponent));
    };
    largest(lost.to_rivals, words, "the fastest rival");
    largest(lost.to_start, slower, "the start");
    largest(lost.of_incumbent, slower, "the start with the incumbent");
  }

  void read_warning(const std::string& words) {
    for (const outcome::Part& part : m_made.recommendation.parts) {
      if (!names(words, part.variant)) continue;
      add("do not try " + part.variant, "it is the best on problems of this session");
    }
  }

  [[nodiscard]] bool is_measured() const {
    const outcome::Advice advice = m_made.recommendation.advice;
    return advice != outcome::Advice::none && advice != outcome::Advice::run_iterations;
  }

  void add(const std::string& printed, const std::string& outcome_says) {
    m_audited.add(m_file, {.severity = m_severity,
                           .line = m_line,
                           .printed = printable(printed, 120),
                           .computed = printable(outcome_says, 120),
                           .meaning = "all measurements of the session say otherwise: " +
                                      outcome::headline(m_made)});
  }

  const std::string& m_file;
  const outcome::Outcome& m_made;
  audit::Severity m_severity;
  SessionAudit& m_audited;
  int m_line = 0;
};

}  // namespace

void check_conclusions(const std::string& file, const std::string& page,
                       const outcome::Outcome& made, audit::Severity severity,
                       SessionAudit& audited) {
  Conclusions conclusions(file, made, severity, audited);
  const std::vector<std::string_view> lines = lines_of(page);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    conclusions.read(lines[i], static_cast<int>(i + 1));
  }
}

}  // namespace wb::verbs
