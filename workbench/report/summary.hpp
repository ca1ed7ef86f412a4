// SPDX-License-Identifier: MIT
// Private to report: the report of two pages (summary_page.cpp): words for its figures and what it
// says of results and cost (summary_results.cpp), of causes (summary_reasons.cpp), of tries and
// next steps (summary_steps.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/phrases.hpp"

namespace wb::report::two_pages {

/// How much a page says. One that gets too long is made again with less.
struct Size {
  std::size_t rows = 8;         ///< of a table
  std::size_t steps = 5;        ///< of the table of next steps
  std::size_t idea_bytes = 72;  ///< of an iteration's idea in its table
};

/// " [e12]", " [e12] to [e40]": first and last of several events.
std::string cite_ends(const std::vector<std::int64_t>& events);
/// "1.32x", with as many decimals as the interval asks for.
std::string bare_speedup(const outcome::Figure& figure);
Ratio ratio_of(const outcome::Figure& figure);
Ratio ratio_of(const measure::Aggregate& mean);
/// "a, b, c and 4 more" of problems of the group.
std::string problem_names(const outcome::Group& group, const std::vector<std::size_t>& problems,
                          std::size_t most);
std::string of_problems(std::size_t n);  ///< "1 problem", "2 problems"
/// An iteration's hypothesis without its last full stop.
std::string idea_of(const Facts& facts, const session::IterationView& iteration, std::size_t most);
/// True for a variant that the recommendation takes.
bool is_recommended(const Page& page, const std::string& variant);

/// What the recommendation gains, and where it is behind, by name and figure.
std::string result_words(const Page& page);
std::string lost_words(const Page& page);
std::string named(const std::vector<outcome::Loss>& losses);
/// Both ends of the problems by their figures; empty where nothing was measured.
std::string problem_section(const Page& page, const Size& size);
/// What was measured apart from the problems that the recommendation is about.
std::string other_groups_words(const Page& page);
/// Money and time in short, and by item.
std::string cost_words(const Page& page);
std::string money_section(const Page& page);

/// Why the winner wins and what limits it now, a sentence each; the most important one first, and
/// never empty.
std::vector<std::string> reasons(const Page& page);

/// What the iterations tried and what came of each.
std::string tried_section(const Page& page, const Size& size);

/// One thing to do next.
struct Step {
  std::string what, gain, effort, risk;
};
/// The most useful first; may be empty.
std::vector<Step> steps_ahead(const Page& page);

}  // namespace wb::report::two_pages
