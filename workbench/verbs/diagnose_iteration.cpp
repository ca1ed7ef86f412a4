// SPDX-License-Identifier: MIT
// `diagnose --iteration`: causes that a candidate has and its parent does not. A candidate that
// lost was usually not confirmed, so its selection and build are the evidence.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "report/report.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using advise::Diagnosis;
using engine::candidate_of;
using engine::Services;
using engine::stored_variant;
using engine::text_of;
using session::IterationView;
using session::SessionView;

namespace {

/// True when it was timed: beside others, or alone in a baseline without rivals.
bool was_timed(const IterationView& iteration) {
  return iteration.closed && (!iteration.comparisons.empty() || !iteration.findings.empty());
}

/// The iteration that measured `subject` as its candidate; nullptr if none did.
const IterationView* measured_in(const SessionView& view, const std::string& subject) {
  const auto found = std::find_if(
      view.iterations.begin(), view.iterations.end(),
      [&](const IterationView& one) { return was_timed(one) && candidate_of(one) == subject; });
  return found == view.iterations.end() ? nullptr : &*found;
}

/// The causes of one iteration's candidate.
std::vector<Diagnosis> causes_of(const session::Session& session, const SessionView& view,
                                 const DecidedCauses& catalogues, const IterationView& iteration,
                                 const LogFindings& log) {
  advise::Target target = catalogues.target;
  target.subject = candidate_of(iteration);
  target.techniques.clear();
  if (const auto stored = stored_variant(session, view, target.subject)) {
    target.techniques = variant::techniques_in(stored->first.manifest, stored->second);
  }
  return advise::diagnose(catalogues.causes, catalogues.techniques, target, log.findings);
}

/// Causes supported for the candidate and not for its parent.
std::vector<std::string> new_causes(const std::vector<Diagnosis>& own,
                                    const std::vector<Diagnosis>& before) {
  std::vector<std::string> ids;
  for (const Diagnosis& one : own) {
    if (one.state != measure::HypothesisState::supported) continue;
    const bool was_there = std::any_of(before.begin(), before.end(), [&](const Diagnosis& other) {
      return other.cause->id == one.cause->id && other.state == measure::HypothesisState::supported;
    });
    if (!was_there) ids.push_back(one.cause->id);
  }
  return ids;
}

std::string explanation(const IterationView& iteration, const std::string& parent,
                        bool is_parent_known, const std::vector<std::string>& causes) {
  const std::string head = fmt::format("Iteration {} ended as {}. ", iteration.number,
                                       text_of(iteration.closed->payload, "outcome"));
  if (!is_parent_known) {
    return head +
           "Its parent was not measured in this session, so nothing says which of these "
           "causes are new.\n\n";
  }
  if (causes.empty()) {
    return head + fmt::format(
                      "No cause is supported of it that {} has not: what was measured does "
                      "not explain the outcome.\n\n",
                      parent);
  }
  return head +
         fmt::format("Supported of it and not of {}: {}.\n\n", parent, fmt::join(causes, ", "));
}

}  // namespace

Result<Json> diagnose_iteration(const Services& services, const session::Session& session,
                                const SessionView& view, std::int64_t number) {
  const IterationView* iteration = view.find(number);
  const std::string what = fmt::format("iteration {}", number);
  if (iteration == nullptr) {
    return Error{ErrorCode::not_found, "diagnose", what,
                 fmt::format("the session has {} of them", view.iterations.size()),
                 "`sdpa-wb report` lists them"};
  }
  if (!was_timed(*iteration)) {
    return Error{ErrorCode::invalid, "diagnose", what,
                 iteration->closed ? "its candidate was never timed: " +
                                         text_of(iteration->closed->payload, "message")
                                   : std::string("it is still in flight"),
                 fmt::format("`sdpa-wb show i{}` tells what became of it", number)};
  }
  WB_TRY_ASSIGN(DecidedCauses decided, cause_catalogues(services));
  WB_TRY_ASSIGN(const advise::Situation situation, situation_of(session, view));
  WB_TRY_ASSIGN(decided.target, target_of(view, situation));
  LogFindings log = iteration_findings(view, *iteration);
  const auto own = causes_of(session, view, decided, *iteration, log);
  const std::string parent = text_of(iteration->opened.payload, "parent");
  const IterationView* before = measured_in(view, parent);
  std::vector<std::string> explains;
  if (before != nullptr) {
    explains = new_causes(
        own, causes_of(session, view, decided, *before, iteration_findings(view, *before)));
  }
  Json made{{"subject", candidate_of(*iteration)},
            {"plan", decided.target.plan},
            {"causes", causes_list(own)},
            {"start", nullptr},
            {"explains", explains},
            {"measured", Json::array()},
            {"gaps", std::move(log.gaps)}};
  made["text"] =
      explanation(*iteration, parent, before != nullptr, explains) + report::render_causes(made);
  return made;
}

}  // namespace wb::verbs
