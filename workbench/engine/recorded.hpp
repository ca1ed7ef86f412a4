// SPDX-License-Identifier: MIT
// Private to engine: looking at sessions that are on record without holding them, for the verbs
// that serve someone who was not there (brief, history, diff, reproduce, new), and how far two of
// their figures lie apart. Reads only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "measure/statistics.hpp"
#include "problem/suite.hpp"
#include "session/session.hpp"

namespace wb::engine {

/// The session at `id`: a folder or an archive, else a name below the sessions root. Errors: those
/// of Session::open_reader; not_found names both places.
Result<session::Session> open_recorded(const Services& services, const std::string& id);

/// The last variant_built of `id` (a subject's label "name@artifact" or a variant's "name@variant")
/// that was built; nullptr when there is none.
const Json* find_built(const session::SessionView& view, std::string_view id);
/// The sources that the session stored for it, with the configuration it was built in.
/// Errors: not_found; damaged (the files were changed); those of the stored files.
Result<std::pair<variant::Variant, variant::Configuration>> stored_variant(
    const session::Session& session, const session::SessionView& view, std::string_view id);

/// Variant `variant_id` of the session's kernels folder. `name`: the kernel's name or a label.
/// Errors: damaged (the files were changed); those of the stored files.
Result<variant::Variant> load_stored(const session::Session& session, std::string_view name,
                                     const std::string& variant_id);
/// Parameters by name; what is no integer is left out.
variant::Configuration configuration_of(const Json& json);

/// The incumbent over the start: the product of the confirmed steps; nothing before the first.
std::optional<double> confirmed_gain(const session::SessionView& view);
/// The iteration that made the present incumbent (the baseline at first); nullptr before.
const session::IterationView* holder_of(const session::SessionView& view);
/// What comparisons call the iteration's own variant; before it is built, what its opening does.
std::string candidate_of(const session::IterationView& iteration);

/// Which variants of a session use which techniques. Reads each stored variant once.
class TechniqueHistory {
 public:
  /// What it is given must outlive it.
  TechniqueHistory(const session::Session& session, const session::SessionView& view)
      : m_session(session), m_view(view) {}
  /// Of a stored variant, in its configuration; empty when it is not there.
  const std::vector<std::string>& of(const std::string& subject);
  /// Those of the iteration's variant that its parent lacked.
  std::vector<std::string> added_by(const session::IterationView& iteration);

 private:
  const session::Session& m_session;
  const session::SessionView& m_view;
  std::map<std::string, std::vector<std::string>> m_known;
};
/// Those that an iteration_opened names.
std::vector<std::string> techniques_of(const session::IterationView& iteration);
/// `visit(iteration, payload of iteration_closed)` for all but baselines, newest first.
template <typename Visit>
void each_closed_try(const session::SessionView& view, const Visit& visit);
/// What was abandoned, or the machine failed at, says nothing about a variant.
bool tells_of_its_variant(const Json& closed);

/// Forgiving reads of payloads: what is missing or of another type is "not there".
std::string text_of(const Json& json, std::string_view key);
std::optional<double> number_of(const Json& json, std::string_view key);
const Json& member_of(const Json& json, std::string_view key);

/// Speedup, interval and noise floor of a comparison_made or iteration_closed; what it does not say
/// is NaN (the floor: 0).
measure::Comparison comparison_of(const Json& payload);

/// A figure of one session over the same figure of another, with the floor to clear before it may
/// be called a change. The sessions are independent, so the logs' half-widths add in quadrature;
/// the floors likewise. Ambiguous as soon as one interval is unknown.
measure::Comparison change_between(const measure::Comparison& before,
                                   const measure::Comparison& after);

/// Names for the problems of a session's suite that do not tell the shapes of held-out ones:
/// nobody may tune on those.
class ProblemNames {
 public:
  explicit ProblemNames(const problem::Suite& suite);
  /// "decode-1k", or "held-out 2". `problem` is the problem's text form.
  [[nodiscard]] std::string of(std::string_view problem) const;
  [[nodiscard]] bool is_held_out(std::string_view problem) const;
  /// Recorded words in which the texts and names of held-out problems are replaced.
  [[nodiscard]] std::string hide(std::string words) const;

 private:
  std::map<std::string, std::string, std::less<>> m_names;
  std::vector<std::pair<std::string, std::string>> m_hidden;  ///< words, replacement
};

template <typename Visit>
void each_closed_try(const session::SessionView& view, const Visit& visit) {
  for (auto it = view.iterations.rbegin(); it != view.iterations.rend(); ++it) {
    if (!it->closed || text_of(it->closed->payload, "outcome") == "baseline") continue;
    visit(*it, it->closed->payload);
  }
}

}  // namespace wb::engine
