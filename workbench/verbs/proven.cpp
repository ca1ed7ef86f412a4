// SPDX-License-Identifier: MIT
#include "verbs/proven.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/subject.hpp"
#include "outcome/outcome.hpp"
#include "variant/builder.hpp"
#include "verbs/suite_selection.hpp"

namespace wb::verbs {

using engine::configuration_of;
using engine::Context;
using engine::error_of_build;
using engine::load_stored;
using engine::member_of;
using engine::number_of;
using engine::parse_verdict_extent;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::Subject;
using engine::text_of;
using engine::VerdictExtent;
using problem::Problem;
using session::Fact;
using session::IterationView;
using session::SessionView;
using session::VerdictFact;
using variant::Configuration;

namespace {

/// Visits all iterations and events outside them, in the log's order of iterations.
template <typename Visit>
void each_part(const SessionView& view, const Visit& visit) {
  visit(view.outside);
  for (const IterationView& iteration : view.iterations) visit(iteration);
}

/// The payloads of variant_built that match `id`, oldest first.
std::vector<const Fact*> built_as(const SessionView& view, std::string_view id,
                                  const std::optional<Configuration>& configuration) {
  std::vector<const Fact*> found;
  each_part(view, [&](const IterationView& part) {
    for (const Fact& built : part.built) {
      if (text_of(built.payload, "outcome") != "built") continue;
      const std::string subject = text_of(built.payload, "subject");
      const std::string name = subject.substr(0, subject.find('@'));
      const std::string by_source = name + "@" + short_hash(text_of(built.payload, "variant_id"));
      if (id != subject && id != by_source && id != name) continue;
      const Configuration used = configuration_of(member_of(built.payload, "configuration"));
      const bool fits =
          !configuration ||
          std::all_of(configuration->begin(), configuration->end(), [&](const auto& item) {
            const auto at = used.find(item.first);
            return at != used.end() && at->second == item.second;
          });
      if (fits) found.push_back(&built);
    }
  });
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->seq < b->seq; });
  return found;
}

/// Sorts builds so that the one to take comes last: the wanted artifact, else the best by the
/// session's outcome, else the last.
void sort_best_last(std::vector<const Fact*>& built, const SessionView& view,
                    std::string_view artifact_id) {
  const outcome::Outcome made = outcome::outcome_of(view);
  std::map<std::string, std::size_t> rank;
  for (std::size_t i = 0; i < made.variants.size(); ++i) {
    if (made.variants[i].passed) rank[made.variants[i].label] = made.variants.size() - i;
  }
  const auto place = [&](const Fact* fact) {
    const bool is_wanted =
        !artifact_id.empty() && text_of(fact->payload, "artifact_id") == artifact_id;
    const auto found = rank.find(text_of(fact->payload, "subject"));
    return std::pair(is_wanted, found == rank.end() ? std::size_t{0} : found->second);
  };
  std::stable_sort(built.begin(), built.end(),
                   [&](const Fact* a, const Fact* b) { return place(a) < place(b); });
}

/// Verdicts of one subject: its passes, and its first failure.
struct Verdicts {
  std::vector<std::pair<Problem, const VerdictFact*>> passes;
  std::vector<std::pair<Problem, const VerdictFact*>> drawn;  ///< runs, each passed
  const VerdictFact* failure = nullptr;
};

Verdicts verdicts_of(const SessionView& view, const std::string& subject,
                     const ProblemNames& names) {
  Verdicts verdicts;
  each_part(view, [&](const IterationView& part) {
    for (const VerdictFact& fact : part.verdicts) {
      if (text_of(fact.payload, "subject") != subject) continue;
      const std::string outcome = text_of(fact.payload, "outcome");
      if (outcome == "environment") continue;  // the machine's fault, never the variant's
      if (outcome != "pass") {
        if (verdicts.failure == nullptr) verdicts.failure = &fact;
        continue;
      }
      if (fact.payload.contains("drawn")) {
        if (parse_verdict_extent(text_of(fact.payload, "proof")) != VerdictExtent::whole) continue;
        for (const Json& run : fact.runs()) {
          const auto drawn = problem::parse_problem(text_of(run, "problem"));
          if (drawn) verdicts.drawn.emplace_back(*drawn, &fact);
        }
        continue;
      }
      const std::string text = text_of(fact.payload, "problem");
      const bool is_hidden =
          names.is_held_out(text) && view.status != session::SessionStatus::closed;
      const auto problem = problem::parse_problem(text);
      if (parse_verdict_extent(text_of(fact.payload, "proof")) != VerdictExtent::whole ||
          is_hidden || !problem) {
        continue;
      }
      verdicts.passes.emplace_back(*problem, &fact);
    }
  });
  return verdicts;
}

void add_kinds(ProvenEntry& entry, const Problem& problem, std::int64_t event) {
  entry.causal.insert(problem.causal);
  entry.masks.insert(problem.mask);
  for (const problem::Layout layout :
       {problem.layout, problem::k_layout(problem), problem::v_layout(problem)}) {
    entry.layouts.insert(layout);
  }
  entry.gqa.insert(problem.Hkv < problem.Hq);
  if (entry.events.empty() || entry.events.back() != event) entry.events.push_back(event);
}

void add_to_domain(std::vector<ProvenEntry>& domain, const Problem& problem, std::int64_t event) {
  auto entry = std::find_if(domain.begin(), domain.end(), [&](const ProvenEntry& item) {
    return item.dtype == problem.dtype && item.D == problem.D && item.Dv == problem.Dv;
  });
  if (entry == domain.end()) {
    domain.emplace_back();
    entry = domain.end() - 1;
    entry->dtype = problem.dtype;
    entry->D = problem.D;
    entry->Dv = problem.Dv;
  }
  add_kinds(*entry, problem, event);
  entry->seq_q_max = std::max(entry->seq_q_max, problem.Sq);
  entry->seq_kv_max = std::max(entry->seq_kv_max, problem.Skv);
}

/// Adds a passed drawn run: its features count for every requested head dim of its dtype, its sizes
/// for its own head dim. Head dims that only drawn runs had are not added.
void add_drawn(std::vector<ProvenEntry>& domain, const Problem& problem, std::int64_t event) {
  for (ProvenEntry& entry : domain) {
    if (entry.dtype != problem.dtype) continue;
    add_kinds(entry, problem, event);
    if (entry.D != problem.D || entry.Dv != problem.Dv) continue;
    entry.seq_q_max = std::max(entry.seq_q_max, problem.Sq);
    entry.seq_kv_max = std::max(entry.seq_kv_max, problem.Skv);
  }
}

Json worst_share(const VerdictFact& fact) {
  std::optional<double> worst;
  for (const Json& run : fact.runs()) {
    const auto share = number_of(member_of(run, "worst"), "share");
    if (share) worst = std::max(worst.value_or(0.0), *share);
  }
  return worst ? Json(*worst) : Json(nullptr);
}

/// Selection figures only choose what to confirm and are not reported.
Json figures_of(const SessionView& view, const std::string& subject) {
  Json figures = Json::array();
  each_part(view, [&](const IterationView& part) {
    for (const Fact& fact : part.comparisons) {
      const std::string phase = text_of(fact.payload, "phase");
      if (text_of(fact.payload, "candidate") != subject) continue;
      if (phase != "confirmation" && phase != "baseline") continue;
      Json row{{"event", fact.seq}};
      for (const char* key : {"phase", "problem", "plan", "against", "role", "speedup", "interval",
                              "outcome", "candidate_us", "against_us"}) {
        row[key] = member_of(fact.payload, key);
      }
      figures.push_back(std::move(row));
    }
  });
  return figures;
}

/// The artifact with the recorded id: from the cache, else from a new build if that gives the same
/// id.
Result<Subject> subject_of(Context& context, const session::Session& session, const Json& built) {
  const std::string label = text_of(built, "subject");
  const std::string recorded = text_of(built, "artifact_id");
  WB_TRY_ASSIGN(variant::Variant variant,
                load_stored(session, label, text_of(built, "variant_id")));
  if (variant.manifest.backend == variant::Backend::python) {
    return Error{ErrorCode::invalid, "load", label, "a Python variant has no compiled artifact",
                 "call its function itself"};
  }
  Subject subject;
  subject.label = label;
  subject.configuration = configuration_of(member_of(built, "configuration"));
  if (auto cached = cache_of(context).find(recorded, variant)) {
    subject.artifact = *std::move(cached);
    subject.variant = std::move(variant);
    return subject;
  }
  auto made = build_only(context, variant, subject.configuration, text_of(built, "target"));
  if (!made) return error_of_build(variant, made.error());
  if (made->artifact.id == recorded) return *std::move(made);
  return Error{ErrorCode::environment, "load", label,
               fmt::format("what passed was compiled by {}, and is not in the cache; what {} makes "
                           "here is another artifact ({}), which this session never judged",
                           text_of(built, "compiler"), made->artifact.record.compiler,
                           short_hash(made->artifact.id)),
               fmt::format("judge it here, in a session that is open: `sdpa-wb check {} --session "
                           "DIR`, and name that session",
                           variant.manifest.name)};
}

}  // namespace

Result<Proven> find_proven(Context& context, const session::Session& session, std::string_view id,
                           const std::optional<Configuration>& configuration,
                           std::string_view artifact_id) {
  WB_TRY_ASSIGN(const SessionView view, session.view(session::FoldDepth::full));
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  const ProblemNames names(settings.suite);
  auto candidates = built_as(view, id, configuration);
  if (candidates.empty()) {
    return Error{ErrorCode::not_found, "find a recorded pass of", std::string(id),
                 fmt::format("session {} never built it{}", session.folder().string(),
                             configuration ? " in this configuration" : ""),
                 "name a variant that `sdpa-wb report` of the session lists"};
  }
  sort_best_last(candidates, view, artifact_id);
  const Fact* chosen = nullptr;
  Verdicts verdicts;
  const VerdictFact* failure = nullptr;
  for (auto it = candidates.rbegin(); it != candidates.rend() && chosen == nullptr; ++it) {
    Verdicts own = verdicts_of(view, text_of((*it)->payload, "subject"), names);
    if (own.failure != nullptr) failure = failure == nullptr ? own.failure : failure;
    if (own.failure != nullptr || own.passes.empty()) continue;
    chosen = *it;
    verdicts = std::move(own);
  }
  if (chosen == nullptr && failure != nullptr) {
    return Error{ErrorCode::wrong_result, "load", text_of(failure->payload, "subject"),
                 fmt::format("its verdict on {} is {} [e{}]: {}",
                             names.of(text_of(failure->payload, "problem")),
                             text_of(failure->payload, "outcome"), failure->seq,
                             names.hide(text_of(failure->payload, "message"))),
                 "only what passed is loaded: mend it, or name another variant"};
  }
  if (chosen == nullptr) {
    return Error{ErrorCode::not_found, "find a recorded pass of", std::string(id),
                 fmt::format("session {} built it and never judged the whole of it",
                             session.folder().string()),
                 fmt::format("judge it: `sdpa-wb check {} --session DIR`", id)};
  }
  Proven proven;
  WB_TRY_ASSIGN(proven.subject, subject_of(context, session, chosen->payload));
  proven.session = session.folder().string();
  proven.log_head = view.log_head;
  for (const auto& [problem, fact] : verdicts.passes) {
    add_to_domain(proven.domain, problem, fact->seq);
    proven.passes.push_back({{"event", fact->seq},
                             {"problem", text_of(fact->payload, "problem")},
                             {"worst_share", worst_share(*fact)}});
    proven.versions = member_of(fact->payload, "versions");
  }
  for (const auto& [problem, fact] : verdicts.drawn) {
    add_drawn(proven.domain, problem, fact->seq);
    const auto& last = proven.passes.back();
    if (last["event"] == fact->seq) continue;
    proven.passes.push_back({{"event", fact->seq},
                             {"problem", text_of(fact->payload, "problem")},
                             {"drawn", fact->payload["drawn"]},
                             {"worst_share", worst_share(*fact)}});
  }
  proven.figures = figures_of(view, proven.subject.label);
  if (view.environment) proven.environment = view.environment->payload;
  return proven;
}

}  // namespace wb::verbs
