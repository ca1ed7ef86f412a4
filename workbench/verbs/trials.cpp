// SPDX-License-Identifier: MIT
#include "verbs/trials.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/settings.hpp"
#include "session/archive.hpp"
#include "session/storage.hpp"
#include "variant/restriction.hpp"
#include "verbs/copies.hpp"
#include "verbs/situation.hpp"

namespace wb::verbs {

using catalogue::Idea;
using catalogue::Technique;
using engine::candidate_of;
using engine::Services;
using engine::stored_variant;
using session::IterationView;
using session::Session;
using session::SessionView;
using variant::Configuration;
using variant::Manifest;
using variant::Variant;

namespace {

using Words = std::vector<std::string>;

std::string name_before_at(const std::string& label) {
  return label.substr(0, label.find('@'));
}

Words without(Words words, const Words& others) {
  std::erase_if(words, [&others](const std::string& word) {
    return std::find(others.begin(), others.end(), word) != others.end();
  });
  return words;
}

/// Parameters that both have with other values; a parameter that one lacks has no other value.
Words changed_parameters(const Configuration& before, const Configuration& after) {
  Words names;
  for (const auto& [name, value] : after) {
    const auto found = before.find(name);
    if (found != before.end() && found->second != value) names.push_back(name);
  }
  return names;
}

/// Whether the technique can do anything on these problems and this device.
bool can_act(const Technique* technique, const advise::Trial& trial) {
  if (technique == nullptr) return true;  // of a newer catalogue
  const auto& backends = technique->backends;
  if (std::find(backends.begin(), backends.end(), trial.backend) == backends.end()) return false;
  const std::string& floor = technique->architecture_from;
  if (!floor.empty() && !trial.architecture.empty() &&
      !catalogue::is_at_least(trial.architecture, floor)) {
    return false;
  }
  return std::any_of(trial.problems.begin(), trial.problems.end(), [&](const auto& problem) {
    return catalogue::is_of(technique->kind, problem);
  });
}

void keep_acting(Words& words, const advise::Trial& trial, const ChangeBook& book) {
  std::erase_if(words, [&](const std::string& word) { return !can_act(book.find(word), trial); });
}

/// Whether the change is the idea: its parameters and no others got the values that turn it on, in
/// one of its kernels; or the step led to the kernel that has it.
bool is_change(const Idea& idea, const advise::Trial& trial, bool same_sources,
               const Words& changed, const Configuration& after) {
  if (same_sources) {
    if (idea.parameters.empty() || changed.size() != idea.parameters.size()) return false;
    const auto& kernels = idea.kernels;
    if (!kernels.empty() &&
        std::find(kernels.begin(), kernels.end(), trial.kernel) == kernels.end()) {
      return false;
    }
    return std::all_of(idea.parameters.begin(), idea.parameters.end(), [&](const auto& one) {
      const auto found = after.find(one.first);
      return found != after.end() && found->second == one.second &&
             std::find(changed.begin(), changed.end(), one.first) != changed.end();
    });
  }
  if (idea.has.empty() || idea.has != trial.kernel || trial.parent == trial.kernel) return false;
  // What a parameter turns on came with the kernel only where it is on.
  return std::all_of(idea.parameters.begin(), idea.parameters.end(), [&](const auto& one) {
    const auto found = after.find(one.first);
    return found != after.end() && found->second == one.second;
  });
}

bool is_in_force(const Idea& idea, const advise::Trial& trial) {
  const auto& backends = idea.backends;
  return std::find(backends.begin(), backends.end(), trial.backend) != backends.end() &&
         std::any_of(trial.problems.begin(), trial.problems.end(), [&](const auto& problem) {
           return covers(idea.scope, trial.device, trial.architecture, problem);
         });
}

/// The ids that iteration_opened names, and those of the proposal of its variant.
Words named_ideas(const SessionView& view, const IterationView& iteration) {
  Words ids = strings_of(iteration.opened.payload, "ideas");
  const std::string own = candidate_of(iteration),
                    opened = text_of(iteration.opened.payload, "variant");
  for (const session::Fact& fact : view.ideas) {
    const std::string variant = text_of(fact.payload, "variant");
    if (!variant.empty() && (variant == own || variant == opened)) {
      ids.push_back(text_of(fact.payload, "idea"));
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// True where every changed parameter is one that the technique's condition names.
bool explains_all(const Manifest& manifest, const std::string& technique, const Words& changed) {
  const auto found = manifest.technique_conditions.find(technique);
  if (found == manifest.technique_conditions.end()) return false;
  const auto condition = variant::Restriction::parse(found->second);
  if (!condition.ok()) return false;
  const Words names = condition->names();
  return without(changed, names).empty();
}

/// Whether the kernel is the other one with edits, and no rewrite: a copy keeps the parameters.
bool is_edit_of(const Manifest& after, const Manifest& before) {
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  return after.name == before.name ||
         (after.parent == before.name &&
          std::equal(after.tune_params.begin(), after.tune_params.end(), before.tune_params.begin(),
                     before.tune_params.end(), same_name));
}

/// Fills what changed. Nothing is known without the sources of both.
void read_change(const ChangeBook& book, const Session& session, const SessionView& view,
                 const IterationView& iteration, advise::Trial& trial) {
  const auto child = stored_variant(session, view, candidate_of(iteration));
  const auto parent = stored_variant(session, view, text_of(iteration.opened.payload, "parent"));
  trial.ideas = named_ideas(view, iteration);
  if (!child || !parent) {
    const Json& told = member_of(iteration.opened.payload, "adds");
    trial.is_known = told.is_array();
    trial.added = strings_of(iteration.opened.payload, "adds");
    keep_acting(trial.added, trial, book);
    return;
  }
  const Manifest after = with_conditions(child->first.manifest, book);
  const Manifest before = with_conditions(parent->first.manifest, book);
  const Words has = variant::techniques_in(after, child->second);
  const Words had = variant::techniques_in(before, parent->second);
  trial.added = without(has, had);
  trial.removed = without(had, has);
  keep_acting(trial.added, trial, book);
  keep_acting(trial.removed, trial, book);
  const bool same_sources = child->first.id == parent->first.id;
  const Words changed = changed_parameters(parent->second, child->second);
  const bool was_named = !trial.ideas.empty();
  for (const Idea& idea : book.ideas) {
    if (was_named || idea.is_foreign() || !is_in_force(idea, trial)) continue;
    if (is_change(idea, trial, same_sources, changed, child->second)) {
      trial.ideas.push_back(idea.id);
    }
  }
  const bool is_one = trial.added.size() == 1 && trial.removed.empty();
  if (same_sources && is_one && explains_all(after, trial.added.front(), changed)) {
    trial.isolated = trial.added.front();
  }
  if (!same_sources && is_one && changed.empty() && is_edit_of(after, before)) {
    trial.isolated = trial.added.front();
  }
  trial.is_single =
      trial.ideas.size() == 1 && (same_sources ? !was_named || trial.added.size() <= 1
                                               : trial.added.size() <= 1 && trial.removed.empty() &&
                                                     changed.empty() && is_edit_of(after, before));
  // One idea of one technique, turned on by its own parameters alone, is a trial of both. Manifests
  // need not say which parameter turns a technique on.
  if (same_sources && trial.isolated.empty() && trial.ideas.size() == 1 &&
      trial.added.size() <= 1) {
    const auto idea = std::find_if(book.ideas.begin(), book.ideas.end(),
                                   [&](const Idea& one) { return one.id == trial.ideas.front(); });
    const bool is_own = idea != book.ideas.end() && !idea->technique.empty() &&
                        (trial.added.empty() || trial.added.front() == idea->technique) &&
                        can_act(book.find(idea->technique), trial);
    if (is_own && !was_named) trial.isolated = idea->technique;
  }
  if (!trial.isolated.empty() && trial.added.empty()) trial.added.push_back(trial.isolated);
}

}  // namespace

const Technique* ChangeBook::find(std::string_view technique) const {
  const auto found = std::find_if(techniques.begin(), techniques.end(),
                                  [&](const Technique& one) { return one.name == technique; });
  return found == techniques.end() ? nullptr : &*found;
}

Result<ChangeBook> load_change_book(const Services& services) {
  ChangeBook book;
  WB_TRY_ASSIGN(book.techniques,
                catalogue::load_techniques(services.file_system, services.search_path));
  WB_TRY_ASSIGN(book.ideas, catalogue::load_ideas(services.file_system, services.search_path));
  WB_TRY_ASSIGN(auto own, catalogue::load_users_ideas(services.file_system, services.data_root));
  std::move(own.begin(), own.end(), std::back_inserter(book.ideas));
  for (Idea& idea : book.ideas) {
    if (!idea.family.empty() || idea.technique.empty()) continue;
    if (const Technique* technique = book.find(idea.technique)) idea.family = technique->family;
  }
  // Only manifests are read: sources need not be there.
  const variant::Catalogue kernels(services.file_system, services.search_path);
  for (const variant::Catalogue::Entry& entry : kernels.list()) {
    const fs::path file = entry.kernels_root / entry.name / "kernel.json";
    const auto text = services.file_system.read(file, variant::k_source_max_bytes);
    if (!text) continue;
    auto manifest = variant::parse_manifest(*text, file.string());
    if (manifest) book.kernels.emplace(entry.name, *std::move(manifest));
  }
  return book;
}

Manifest with_conditions(Manifest manifest, const ChangeBook& book) {
  const auto found = book.kernels.find(manifest.name);
  if (manifest.technique_conditions.empty() && found != book.kernels.end()) {
    manifest.technique_conditions = found->second.technique_conditions;
  }
  return manifest;
}

std::vector<Idea> session_ideas(const SessionView& view) {
  std::vector<Idea> ideas;
  for (const session::Fact& fact : view.ideas) {
    const Json& entry = member_of(fact.payload, "entry");
    if (!entry.is_object()) continue;
    auto idea = catalogue::read_idea(entry, "idea_recorded");
    if (!idea) continue;  // of another version
    idea->place = catalogue::IdeaPlace::session;
    idea->event = fact.seq;
    ideas.push_back(*std::move(idea));
  }
  return ideas;
}

std::vector<advise::Trial> trials_of(const ChangeBook& book, const Session& session,
                                     const SessionView& view, const std::string& name,
                                     std::int64_t after) {
  std::vector<advise::Trial> trials;
  const auto settings = engine::settings_from_json(view.opened.payload);
  if (!settings) return trials;
  advise::Trial common;
  common.session = name;
  common.backend = settings->backend;
  if (view.environment) {
    const Json& device = member_of(view.environment->payload, "device");
    common.device = text_of(device, "name");
    common.architecture = text_of(device, "architecture");
  }
  for (const problem::SuiteProblem& member : settings->suite.problems) {
    if (!member.held_out) common.problems.push_back(member.problem);
  }
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.closed || iteration.closed->seq <= after) continue;
    const Json& closed = iteration.closed->payload;
    if (text_of(closed, "outcome") == "baseline" || !engine::is_about_variant(closed)) continue;
    advise::Trial trial = common;
    trial.iteration = iteration.number;
    trial.event = iteration.closed->seq;
    trial.log_sha256 = session.log().line_hash(trial.event);
    trial.t = iteration.closed->t;
    trial.parent = name_before_at(text_of(iteration.opened.payload, "parent"));
    trial.kernel = name_before_at(candidate_of(iteration));
    trial.outcome = text_of(closed, "outcome");
    trial.speedup = number_of(closed, "speedup");
    trial.low = number_of(member_of(closed, "interval"), "low");
    trial.high = number_of(member_of(closed, "interval"), "high");
    trial.predicted =
        number_of(member_of(iteration.opened.payload, "hypothesis"), "predicted_speedup");
    if (const auto sized = sized_prediction(iteration)) {
      trial.decided_event = sized->event;
      trial.predicted = sized->predicted;
    }
    read_change(book, session, view, iteration, trial);
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::string family_of(const advise::Trial& trial, const ChangeBook& book) {
  if (const Technique* technique = book.find(trial.isolated)) return technique->family;
  if (!trial.is_single) return {};
  const auto idea = std::find_if(book.ideas.begin(), book.ideas.end(),
                                 [&](const Idea& one) { return one.id == trial.ideas.front(); });
  return idea == book.ideas.end() ? std::string() : idea->family;
}

std::vector<advise::PastPrediction> predictions_of(const std::vector<advise::Trial>& trials,
                                                   const ChangeBook& book) {
  std::vector<advise::PastPrediction> past;
  for (const advise::Trial& trial : trials) {
    const bool has_both = trial.decided_event > 0 && trial.predicted && trial.speedup &&
                          *trial.predicted > 0 && *trial.speedup > 0;
    if (!has_both) continue;
    past.push_back({.predicted = *trial.predicted,
                    .measured = *trial.speedup,
                    .event = trial.decided_event,
                    .family = family_of(trial, book),
                    .is_own = trial.is_own});
  }
  return past;
}

std::vector<advise::Trial> trials_of_others(const ChangeBook& book, const Services& services,
                                            const Session* except) {
  std::vector<advise::Trial> all;
  auto folders = session::find_sessions(services.sessions_root);
  if (!folders) return all;
  if (folders->size() > k_most_sessions) {
    const auto written = [](const fs::path& folder) {
      std::error_code error;
      const auto time = fs::last_write_time(folder, error);
      return error ? fs::file_time_type::min() : time;
    };
    std::stable_sort(folders->begin(), folders->end(),
                     [&](const fs::path& a, const fs::path& b) { return written(a) > written(b); });
    folders->resize(k_most_sessions);
  }
  const std::string own =
      except != nullptr && except->log().size() > 0 ? except->log().line_hash(1) : std::string();
  CopyFinder copies;
  for (const fs::path& folder : *folders) {
    const auto session = Session::open_reader(services.file_system, folder);
    if (!session || session->log().size() == 0 || session->log().line_hash(1) == own) continue;
    const auto view = session->current(session::FoldDepth::full);
    if (!view) continue;
    const std::string name = session::listed_name(folder);
    copies.add(name, session->log());
    if ((*view)->iterations.size() < 2) continue;
    auto trials = trials_of(book, *session, **view, name, copies.common_of_last());
    std::move(trials.begin(), trials.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace wb::verbs
