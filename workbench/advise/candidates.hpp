// SPDX-License-Identifier: MIT
// Private to advise: what the incumbent could be given next. Techniques of the catalogue and ideas
// of the register, each with the problems on which it is already known to lose.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/roadmap.hpp"

namespace wb::advise {

/// Where something lost, in words, and the event if it was in the own session.
struct KnownLoss {
  std::string words;
  std::int64_t event = 0;
};

struct Candidate {
  const catalogue::Technique* technique = nullptr;
  std::vector<const catalogue::Idea*> ideas;  ///< the own one first, or those of the technique
  std::string how;                            ///< as RoadmapEntry::how
  bool is_idea = false;                       ///< it has no range of its own in the catalogue
  [[nodiscard]] bool is_foreign() const {
    return is_idea && !ideas.empty() && ideas.front()->is_foreign();
  }
};

/// In catalogue order, techniques before ideas. Ideas of another kernel or backend, and those that
/// the incumbent has, are no candidates. Techniques made of ideas are put into `made_of_ideas`,
/// which must outlive the result.
std::vector<Candidate> candidates_of(
    const std::vector<catalogue::Technique>& catalogue, const Situation& situation,
    std::vector<std::shared_ptr<const catalogue::Technique>>& made_of_ideas);

/// Why the candidate is known to lose on that problem: by an isolated trial on this kernel and
/// architecture in whose scope the problem lies, unless a later one there won; or by the register.
/// Foreign ideas say nothing here.
std::optional<KnownLoss> known_loss(const Candidate& candidate, const Situation& situation,
                                    const problem::Problem& problem);

/// Fills Roadmap::room from entries, causes that are pending and the problems' distances.
void add_room(const Situation& situation, Roadmap& roadmap);

/// "name@1f0c44aa" -> "name"
std::string kernel_of(const std::string& label);

}  // namespace wb::advise
