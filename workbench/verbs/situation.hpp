// SPDX-License-Identifier: MIT
// Reads a session's log, and what other sessions tried, as the situation that a roadmap is made
// for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/diagnosis.hpp"
#include "advise/roadmap.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/session.hpp"
#include "session/view.hpp"

namespace wb::engine {
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

/// Reads each stored variant once.
class TechniqueHistory {
 public:
  /// All references must outlive this.
  TechniqueHistory(const session::Session& session, const session::SessionView& view)
      : m_session(session), m_view(view) {}
  /// Techniques of a stored variant in its configuration; empty when it is not stored.
  const std::vector<std::string>& of(const std::string& subject);
  /// Techniques of the iteration's variant that its parent lacked.
  std::vector<std::string> added_by(const session::IterationView& iteration);

 private:
  const session::Session& m_session;
  const session::SessionView& m_view;
  std::map<std::string, std::vector<std::string>> m_known;
};

/// Predicted and measured speedup where the size of the gain was decided. An interval that reaches
/// two sizes does not say how the prediction came true, so it calibrates nothing.
std::optional<advise::PastPrediction> sized_prediction(const session::IterationView& iteration);
/// True where the mechanism of its hypothesis was confirmed: the change helped.
bool has_helped(const session::IterationView& iteration);

/// Uses only the log and the stored sources, without held-out problems, so that nobody tunes on
/// them. Errors: those of reading the session; invalid before the baseline closed.
Result<advise::Situation> situation_of(const session::Session& session,
                                       const session::SessionView& view);

struct ChangeBook;  // trials.hpp
/// The same, with the register, the own trials and those of others, and the causes of
/// `diagnoses` as remedies and as pending measurements.
Result<advise::Situation> informed_situation(const ChangeBook& book,
                                             const session::Session& session,
                                             const session::SessionView& view,
                                             std::vector<advise::Trial> others,
                                             const std::vector<advise::Diagnosis>& diagnoses);

/// A roadmap as JSON (advise/roadmap.hpp), with `incumbent`. Errors: those of the catalogue and of
/// situation_of().
Result<Json> roadmap_json(const engine::Services& services, const session::Session& session,
                          double target_ratio);

/// Words of techniques and ideas that are known to lose on the incumbent here: by isolated trials
/// of this session, by a step of it that won without them, and by the register. Empty where that
/// cannot be told.
std::vector<std::string> known_losers(const engine::Services& services,
                                      const session::Session& session,
                                      const session::SessionView& view);
struct DecidedCauses;  // decided_causes.hpp
/// Makes the view's roadmap what is known now. One that was recorded with the room that it leaves
/// only loses the steps that are known to lose meanwhile, and the stages from the first of them on,
/// since a stage's figures are products of all steps before. In place of an older one, or of none,
/// comes what `advise` would say if it knew of no other session, which no event holds.
void use_present_roadmap(const engine::Services& services, const session::Session& session,
                         const DecidedCauses& decided, session::SessionView& view);

/// Appends roadmap_made to the held session if it has a baseline. With a missing or broken
/// catalogue it appends a note with the reason instead, so that the session can still close.
Result<void> record_roadmap(engine::Context& context);

}  // namespace wb::verbs
