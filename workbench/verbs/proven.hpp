// SPDX-License-Identifier: MIT
// An artifact that a session recorded as passed, so that it may be loaded outside the workbench's
// processes, and the problems that its passes cover. Used by `proof`, `export`, `best --proven`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "engine/subject.hpp"
#include "session/session.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// What the passes with one dtype and head dim cover: each feature passed at least once with them,
/// and sizes up to the largest that passed. Not every combination was judged.
struct ProvenEntry {
  Dtype dtype = Dtype::f32;
  std::int64_t D = 0, Dv = 0;
  std::set<problem::Causal> causal;
  std::set<problem::MaskKind> masks;
  std::set<problem::Layout> layouts;
  std::set<bool> gqa;  ///< whether Hkv < Hq
  std::int64_t seq_q_max = 0, seq_kv_max = 0;
  std::vector<std::int64_t> events;  ///< the verdicts
};

struct Proven {
  engine::Subject subject;
  std::string session, log_head;  ///< the session's folder, and the log's hash when it was read
  std::vector<ProvenEntry> domain;
  Json passes = Json::array();   ///< {event, problem, worst_share}
  Json figures = Json::array();  ///< comparisons of fresh processes: {event, problem, against, …}
  Json versions = Json::object(), environment = Json::object();
};

/// The subject that `id` means (a label, or a kernel's name) and whose verdicts all are whole
/// passes: of several of one name the best confirmed one (outcome::Outcome::find), without figures
/// the last. `configuration` narrows a name, and `artifact_id` says which one is wanted if it is
/// there. Its artifact comes from the cache or a new build; either way it is the one that passed.
/// Errors: not_found (never built, no pass), wrong_result (a verdict failed), invalid (backend
/// python), environment (a build on this machine gives a different artifact); those of the
/// session's files and of builds.
Result<Proven> find_proven(engine::Context& context, const session::Session& session,
                           std::string_view id,
                           const std::optional<variant::Configuration>& configuration,
                           std::string_view artifact_id = {});

/// Why the recorded passes, the manifest or a restriction exclude the problem, or nothing.
std::optional<std::string> outside_domain(const Proven& proven, const problem::Problem& problem);

/// The domain as `proof` and PROVENANCE.json give it.
Json domain_json(const Proven& proven);

}  // namespace wb::verbs
