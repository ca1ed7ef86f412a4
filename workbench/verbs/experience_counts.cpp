// SPDX-License-Identifier: MIT
#include "verbs/experience_counts.hpp"

#include <optional>

#include "core/json.hpp"
#include "engine/recorded.hpp"

namespace wb::verbs {

using advise::PastPrediction;
using engine::added_to;
using engine::candidate_of;
using engine::for_each_closed_iteration;
using engine::is_about_variant;
using engine::member_of;
using engine::number_of;
using engine::stored_variant;
using engine::text_of;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// From the log; for older logs from the stored sources of both variants.
std::optional<std::vector<std::string>> added_by(const Session& session, const SessionView& view,
                                                 const IterationView& iteration) {
  const Json& told = member_of(iteration.opened.payload, "adds");
  if (told.is_array()) {
    std::vector<std::string> words;
    for (const Json& word : told) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
    return words;
  }
  const auto own = stored_variant(session, view, candidate_of(iteration));
  if (!own) return std::nullopt;
  return added_to(session, view, text_of(iteration.opened.payload, "parent"),
                  variant::techniques_in(own->first.manifest, own->second));
}

std::optional<PastPrediction> prediction_of(const IterationView& iteration) {
  if (!iteration.hypothesis) return std::nullopt;
  const auto predicted = number_of(iteration.hypothesis->payload, "predicted_speedup");
  const auto measured = number_of(iteration.hypothesis->payload, "measured_speedup");
  if (!predicted || !measured || !(*predicted > 0) || !(*measured > 0)) return std::nullopt;
  return PastPrediction{*predicted, *measured, iteration.hypothesis->seq};
}

void add_tries(const Session& session, const SessionView& view, const std::string& name,
               std::int64_t counted, Experience& all) {
  for_each_closed_iteration(view, [&](const IterationView& iteration, const Json& closed) {
    if (iteration.closed->seq <= counted) return;
    if (!is_about_variant(closed)) return;
    ++all.tries;
    const auto prediction = prediction_of(iteration);
    if (prediction) all.predictions.push_back(*prediction);
    const auto added = added_by(session, view, iteration);
    if (!added) {
      ++all.unknown;
      return;
    }
    const std::string outcome = text_of(closed, "outcome");
    for (const std::string& word : *added) {
      TechniqueCounts& use = all.techniques[word];
      ++use.tried;
      use.won += outcome == "win" ? 1 : 0;
      use.invalid += outcome == "invalid" ? 1 : 0;
      use.sessions.insert(name);
      if (prediction) use.predictions.push_back(*prediction);
      use.where.push_back({{"session", name},
                           {"iteration", iteration.number},
                           {"event", iteration.closed->seq},
                           {"outcome", outcome},
                           {"speedup", member_of(closed, "speedup")}});
    }
  });
}

void add_causes(const SessionView& view, std::int64_t counted, Experience& all) {
  if (!view.causes || view.causes->seq <= counted) return;
  for (const Json& cause : member_of(view.causes->payload, "causes")) {
    CauseCounts& decided = all.causes[text_of(cause, "cause")];
    const std::string state = text_of(cause, "state");
    if (state == "supported") ++decided.supported;
    if (state == "refuted") ++decided.refuted;
    if (state == "undecided") ++decided.undecided;
  }
}

}  // namespace

void add_session(const Session& session, const SessionView& view, const std::string& name,
                 std::int64_t counted, Experience& all) {
  ++all.sessions;
  add_tries(session, view, name, counted, all);
  add_causes(view, counted, all);
}

}  // namespace wb::verbs
