// SPDX-License-Identifier: MIT
// Private to report: the report of two pages (summary_page.cpp): words for its figures and what it
// says of results and cost (summary_results.cpp), of single problems (summary_problems.cpp), of
// tries and wins (summary_wins.cpp, summary_scope.cpp), of causes (summary_reasons.cpp), of next
// steps (summary_steps.cpp), of the decision (summary_decision.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/phrases.hpp"
#include "session/goals.hpp"

namespace wb::report::two_pages {

/// How much a page says. One that gets too long is made again with less.
struct Size {
  std::size_t rows = 8;           ///< of a table
  std::size_t steps = 5;          ///< of the table of next steps
  std::size_t idea_bytes = 72;    ///< of an iteration's idea in its table
  std::size_t proof_bytes = 200;  ///< of what one piece of evidence says
};

/// " [e12]", " [e12] [e40]", and " [e12] to [e40]" for the first and the last of more than two.
std::string cite_ends(const std::vector<std::int64_t>& events);
/// "1.32x", with as many decimals as the interval asks for.
std::string bare_speedup(const outcome::Figure& figure);
Ratio ratio_of(const outcome::Figure& figure);
Ratio ratio_of(const measure::Aggregate& mean);
/// "a, b, c and 4 more" of problems of the group.
std::string problem_names(const outcome::Group& group, const std::vector<std::size_t>& problems,
                          std::size_t most);
/// "ahead on 8 of 11, the same on 1, behind on 2".
std::string counts_of(const outcome::Total& rivals);
std::string of_problems(std::size_t n);  ///< "1 problem", "2 problems"
/// An iteration's hypothesis without its last full stop. Where an earlier one had the same, it says
/// so; where others begin with the same words, it begins where they differ.
std::string idea_of(const Facts& facts, const session::IterationView& iteration, std::size_t most);
/// What is taken on a problem, and that problem's text; nothing where no variant has a figure.
struct Taken {
  std::string variant, problem;
};
std::optional<Taken> taken_on(const Page& page, const std::string& name);
/// True for a variant that the recommendation takes.
bool is_recommended(const Page& page, const std::string& variant);

/// What the recommendation gains, and where it is behind, by name and figure.
std::string result_words(const Page& page);
std::string lost_words(const Page& page);
std::string named(const std::vector<outcome::Loss>& losses);
/// Both ends of the problems by their figures, those of all taken variants among them, and what
/// verdicts and held-out problems say; empty where nothing was measured.
std::string problem_section(const Page& page, const Size& size);
/// What was measured apart from the problems that the recommendation is about.
std::string other_groups_words(const Page& page);
/// Money and time in short, and by item.
std::string cost_words(const Page& page);
std::string money_section(const Page& page);

/// With a full stop, unless it ends with one or is cut.
std::string ended(std::string words);
/// The whole of its hypothesis, as recorded.
std::string theory_of(const Facts& facts, const session::IterationView& iteration);
/// Where most of a step's gain comes from problems that its hypothesis does not name, a sentence
/// after a space; else empty, as where it names none plainly.
std::string scope_words(const Page& page, const session::IterationView& iteration,
                        const ComparisonIndex& index);
/// What became of a try's prediction: "It helped, far less than predicted (5.00x [e12]).".
std::string prediction_words(const session::IterationView& iteration);
/// The largest step, then where each variant comes from that the recommendation takes, a sentence
/// or two each. Empty where nothing won and one variant alone is taken that nobody developed here.
std::vector<std::string> win_words(const Page& page);
/// What came of an iteration that closed without a win: "slower", "no gain overall, used on 3".
std::string no_gain_words(const Page& page, const session::IterationView& iteration);

/// Why the winner wins and what limits it now, a sentence each; the most important one first, and
/// never empty.
std::vector<std::string> reasons(const Page& page, const Size& size);

/// What the iterations tried and what came of each.
std::string tried_section(const Page& page, const Size& size);

/// A goal and what came of it: Markdown, and its figures where the log has them.
struct GoalRow {
  std::string goal, result;
  session::GoalState state = session::GoalState::undecided;
  std::optional<double> asked = {}, reached = {};  ///< speedups
  std::string lowest = {};                         ///< the problem with the smallest speedup
  std::optional<double> lowest_speedup = {};
  std::vector<std::int64_t> events = {};
};
/// The goals of the session, or those that its playbook noted: missed first, then undecided ones.
std::vector<GoalRow> goals_shown(const Page& page);

/// One thing to do next.
struct Step {
  std::string what, gain, effort, risk;
};
/// The most useful first; may be empty.
std::vector<Step> steps_ahead(const Page& page);

/// The conditions under which the recommendation holds, and what going on would cost.
std::string decision(const Page& page);
/// The name of the device; empty where the log does not have it.
std::string device_of(const Facts& facts);

}  // namespace wb::report::two_pages
