// SPDX-License-Identifier: MIT
#include "verbs/backtest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "advise/candidates.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "session/archive.hpp"
#include "session/storage.hpp"
#include "verbs/decided_causes.hpp"
#include "verbs/situation.hpp"
#include "verbs/trials.hpp"

namespace wb::verbs {

using advise::Roadmap;
using advise::RoadmapEntry;
using advise::Situation;
using catalogue::Idea;
using catalogue::IdeaState;
using catalogue::Technique;
using engine::Services;
using session::Session;
using session::SessionView;

namespace {

constexpr std::size_t k_asked = 3;  ///< proposals that are held against the climb
/// Of a technique whose figures are hidden, without kin that has some.
constexpr double k_unknown_low = 1.0, k_unknown_high = 1.2;

using Names = std::set<std::string, std::less<>>;

// What is hidden
// --------------------------------------------------------------------------------------------

/// When the sessions below the sessions root began, by listed name.
std::map<std::string, std::string> beginnings(const Services& services) {
  std::map<std::string, std::string> began;
  const auto folders = session::find_sessions(services.sessions_root);
  if (!folders) return began;
  for (const fs::path& folder : *folders) {
    const auto session = Session::open_reader(services.file_system, folder);
    if (!session || session->log().size() == 0) continue;
    began[session::listed_name(folder)] = std::string(session->log().envelope(1).t);
  }
  return began;
}

/// The youngest day that the shipped register speaks of: of its ideas, or of a session that one of
/// them cites. What began later, nothing in it was written from. Empty without a dated idea.
std::string register_day(const ChangeBook& book, const std::map<std::string, std::string>& began) {
  std::string day;
  for (const Idea& idea : book.ideas) {
    if (idea.place != catalogue::IdeaPlace::shipped) continue;
    day = std::max(day, idea.since);
    for (const std::string& name : catalogue::cited_sessions(idea.source)) {
      const auto found = began.find(name);
      if (found != began.end()) day = std::max(day, found->second.substr(0, 10));
    }
  }
  return day;
}

struct Veil {
  std::string session;  ///< the hidden one
  std::string t;        ///< when the step began
  const std::map<std::string, std::string>& began;

  /// Whether the source rests on what was not known then.
  [[nodiscard]] bool hides(std::string_view source) const {
    const auto names = catalogue::cited_sessions(source);
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const auto found = began.find(name);
      return name == session || found == began.end() || found->second >= t;
    });
  }
  [[nodiscard]] bool hides(const Idea& idea) const {
    return hides(idea.source) || (!idea.since.empty() && idea.since >= t.substr(0, 10));
  }
  [[nodiscard]] bool hides(const advise::Trial& trial) const {
    return trial.session == session || trial.t >= t;
  }
};

/// Techniques cite trials as "docs/results/kernel_trials.md, NAME", ideas likewise.
bool cites_hidden_idea(const Technique& technique, const std::vector<Idea>& hidden) {
  return std::any_of(hidden.begin(), hidden.end(), [&](const Idea& idea) {
    const std::string cited = "kernel_trials.md, " + idea.id;
    const std::size_t at = technique.impact_source.find(cited);
    if (at == std::string::npos) return false;
    const std::size_t end = at + cited.size();
    return end == technique.impact_source.size() || technique.impact_source[end] != '_';
  });
}

/// Gives techniques whose figures are hidden the mean range of their family.
void veil_techniques(std::vector<Technique>& techniques, const std::vector<bool>& is_hidden) {
  const std::vector<Technique> known = techniques;
  for (std::size_t at = 0; at < techniques.size(); ++at) {
    if (!is_hidden[at]) continue;
    double low = 0, high = 0, kin = 0;
    for (std::size_t other = 0; other < known.size(); ++other) {
      const bool is_kin =
          !is_hidden[other] && !known[at].family.empty() && known[other].family == known[at].family;
      if (!is_kin) continue;
      low += std::log(known[other].impact_low);
      high += std::log(known[other].impact_high);
      kin += 1;
    }
    techniques[at].impact_low = kin > 0 ? std::exp(low / kin) : k_unknown_low;
    techniques[at].impact_high = kin > 0 ? std::exp(high / kin) : k_unknown_high;
    techniques[at].impact_source = "hidden: as others of its family";
  }
}

ChangeBook veiled(ChangeBook book, const Veil& veil) {
  std::vector<Idea> hidden;
  for (const Idea& idea : book.ideas) {
    if (veil.hides(idea)) hidden.push_back(idea);
  }
  std::erase_if(book.ideas, [&](const Idea& idea) { return veil.hides(idea); });
  std::vector<bool> is_hidden;
  for (const Technique& technique : book.techniques) {
    is_hidden.push_back(veil.hides(technique.impact_source) ||
                        cites_hidden_idea(technique, hidden));
  }
  veil_techniques(book.techniques, is_hidden);
  return book;
}

/// The session up to an event, in a folder of its own, where nothing later exists.
class Prefix {
 public:
  static Result<Prefix> create(const Session& session) {
    WB_TRY_ASSIGN(TempDirectory folder, TempDirectory::create("wb-backtest"));
    Prefix prefix(session, std::move(folder));
    WB_TRY(prefix.copy("session.json"));
    WB_TRY_ASSIGN(const auto entries, session.storage().list("kernels"));
    for (const session::SessionStorage::Entry& entry : entries) {
      if (entry.is_file) WB_TRY(prefix.copy(entry.path));
    }
    return prefix;
  }

  /// The session whose last event is `seq`. What the log does not name, nothing finds.
  Result<Session> until(std::int64_t seq) {
    WB_TRY(m_file_system.write_atomic(m_folder.path() / session::k_log_name,
                                      m_session->log().text(seq), Durability::none));
    return Session::open_reader(m_file_system, m_folder.path());
  }

 private:
  Prefix(const Session& session, TempDirectory folder)
      : m_session(&session), m_folder(std::move(folder)) {}

  Result<void> copy(const std::string& name) {
    WB_TRY_ASSIGN(const std::string bytes, m_session->storage().read(name));
    const fs::path path = m_folder.path() / name;
    WB_TRY(m_file_system.make_directories(path.parent_path()));
    return m_file_system.write_atomic(path, bytes, Durability::none);
  }

  RealFileSystem m_file_system;
  const Session* m_session;
  TempDirectory m_folder;
};

// One step
// --------------------------------------------------------------------------------------------

struct Step {
  std::string session;
  std::int64_t iteration = 0, event = 0;  ///< iteration_opened
  Names next;                             ///< what the next win brought: techniques and ideas
  bool is_alone = false;                  ///< the next win changed one technique or idea
  std::vector<std::string> proposals, frequent;
  bool hit_1 = false, hit_3 = false, base_1 = false, base_3 = false;
  std::int64_t known_losers = 0;  ///< among the proposals
  std::int64_t later_losers = 0;  ///< those that the climb measured later without a gain
  std::optional<double> predicted, measured;
  std::optional<bool> cause_found;  ///< nothing: no registered cause names what the win brought
};

Names brought_by(const advise::Trial& trial) {
  Names names(trial.added.begin(), trial.added.end());
  names.insert(trial.ideas.begin(), trial.ideas.end());
  if (!trial.isolated.empty()) names.insert(trial.isolated);
  return names;
}

bool is_one_of(const RoadmapEntry& entry, const Names& names) {
  return names.contains(entry.technique->name) ||
         std::any_of(entry.ideas.begin(), entry.ideas.end(),
                     [&](const std::string& id) { return names.contains(id); });
}

bool tries_entry(const advise::Trial& trial, const RoadmapEntry& entry) {
  return trial.is_of(entry.technique->name) ||
         std::any_of(entry.ideas.begin(), entry.ideas.end(),
                     [&](const std::string& id) { return trial.is_of(id); });
}

/// Whether what was visible said that it loses on every problem. Written apart from the rule by
/// which advice leaves losers out, so that a fault there is seen here.
bool was_known_loser(const RoadmapEntry& entry, const Situation& situation) {
  const std::string kernel = advise::kernel_of(situation.incumbent);
  bool lost = false;
  for (const advise::Trial& trial : situation.trials) {
    const bool is_here = trial.architecture == situation.architecture &&
                         (trial.kernel == kernel || trial.parent == kernel) &&
                         tries_entry(trial, entry);
    if (!is_here) continue;
    if (trial.won()) return false;
    lost = lost || (trial.lost() &&
                    std::all_of(situation.problems.begin(), situation.problems.end(),
                                [&](const auto& one) { return is_in_scope(trial, one.problem); }));
  }
  return lost || std::any_of(situation.ideas.begin(), situation.ideas.end(), [&](const Idea& idea) {
           const bool has_lost = idea.state == IdeaState::lost || idea.state == IdeaState::no_gain;
           const bool is_same =
               idea.id == entry.technique->name || idea.technique == entry.technique->name;
           const bool is_for =
               idea.kernels.empty() ||
               std::find(idea.kernels.begin(), idea.kernels.end(), kernel) != idea.kernels.end();
           return has_lost && is_same && is_for && !idea.is_foreign() &&
                  std::all_of(situation.problems.begin(), situation.problems.end(),
                              [&](const auto& one) {
                                return covers(idea.scope, situation.device, situation.architecture,
                                              one.problem);
                              });
         });
}

/// The most frequent winners so far that the incumbent lacks: what one would propose without
/// looking at the session.
std::vector<std::string> frequent_winners(const Situation& situation) {
  std::map<std::string, int> wins;
  for (const advise::Trial& trial : situation.trials) {
    if (!trial.won() || trial.backend != situation.backend) continue;
    for (const std::string& name : brought_by(trial)) ++wins[name];
  }
  std::vector<std::pair<std::string, int>> ranked;
  for (const auto& [name, count] : wins) {
    const auto& has = situation.techniques;
    if (std::find(has.begin(), has.end(), name) == has.end()) ranked.emplace_back(name, count);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& [name, count] : ranked) {
    if (names.size() < k_asked) names.push_back(name);
  }
  return names;
}

/// The expectation for what the step itself tried, also where it was not advised.
std::optional<double> expected_of(const Roadmap& roadmap, const advise::Trial& trial) {
  for (const RoadmapEntry& entry : roadmap.entries) {
    if (tries_entry(trial, entry)) return entry.expected;
  }
  for (const advise::NotAdvised& left : roadmap.not_advised) {
    if (trial.is_of(left.technique) && left.expected) return left.expected;
  }
  return std::nullopt;
}

std::optional<bool> cause_found(const DecidedCauses& decided, const Names& next) {
  const auto remedies = [&next](const catalogue::Cause& cause) {
    return std::any_of(cause.techniques.begin(), cause.techniques.end(),
                       [&](const std::string& word) { return next.contains(word); });
  };
  const bool is_registered = std::any_of(decided.causes.begin(), decided.causes.end(), remedies);
  if (!is_registered) return std::nullopt;
  return std::any_of(decided.diagnoses.begin(), decided.diagnoses.end(), [&](const auto& one) {
    return one.state == measure::HypothesisState::supported && remedies(*one.cause);
  });
}

void hold(const Roadmap& roadmap, const Situation& situation,
          const std::vector<advise::Trial>& climb, std::size_t at, Step& step) {
  const auto is_hit = [&step](const std::vector<std::string>& names, std::size_t count) {
    return std::any_of(names.begin(),
                       names.begin() + static_cast<std::ptrdiff_t>(std::min(count, names.size())),
                       [&](const std::string& name) { return step.next.contains(name); });
  };
  for (const RoadmapEntry& entry : roadmap.entries) {
    if (step.proposals.size() == k_asked) break;
    const bool hits = is_one_of(entry, step.next);
    step.hit_1 = step.hit_1 || (hits && step.proposals.empty());
    step.hit_3 = step.hit_3 || hits;
    step.proposals.push_back(entry.technique->name);
    step.known_losers += was_known_loser(entry, situation) ? 1 : 0;
    bool loses = false, wins = false;
    for (std::size_t later = at; later < climb.size(); ++later) {
      if (!tries_entry(climb[later], entry)) continue;
      wins = wins || climb[later].won();
      loses = loses || climb[later].lost();
    }
    step.later_losers += loses && !wins ? 1 : 0;
  }
  step.frequent = frequent_winners(situation);
  step.base_1 = is_hit(step.frequent, 1);
  step.base_3 = is_hit(step.frequent, k_asked);
  step.predicted = expected_of(roadmap, climb[at]);
  step.measured = climb[at].speedup;
}

/// Everything that is known of a recorded climb, and what others tried.
struct Climb {
  const Session& session;
  const SessionView& view;
  std::string name;
  std::vector<advise::Trial> trials, others;
};

Result<Step> ask(const Services& services, const ChangeBook& book, const Climb& climb,
                 const std::map<std::string, std::string>& began, Prefix& prefix, std::size_t at) {
  const advise::Trial& trial = climb.trials[at];
  const session::Fact& opened = climb.view.find(trial.iteration)->opened;
  Step step;
  step.session = climb.name;
  step.iteration = trial.iteration;
  step.event = opened.seq;
  for (std::size_t later = at; later < climb.trials.size(); ++later) {
    if (!climb.trials[later].won()) continue;
    step.next = brought_by(climb.trials[later]);
    step.is_alone = !climb.trials[later].isolated.empty() || step.next.size() == 1;
    break;
  }
  const Veil veil{climb.name, opened.t, began};
  const ChangeBook known = veiled(book, veil);
  std::vector<advise::Trial> others = climb.others;
  std::erase_if(others, [&](const advise::Trial& one) { return veil.hides(one); });
  WB_TRY_ASSIGN(const Session before, prefix.until(opened.seq - 1));
  WB_TRY_ASSIGN(const SessionView* view, before.current(session::FoldDepth::full));
  WB_TRY_ASSIGN(const Situation plain, situation_of(before, *view));
  WB_TRY_ASSIGN(const DecidedCauses decided, decide_causes(services, before, *view, plain));
  WB_TRY_ASSIGN(Situation situation,
                informed_situation(known, before, *view, std::move(others), decided.diagnoses));
  use_rooms(decided, situation);
  hold(advise::make_roadmap(known.techniques, situation), situation, climb.trials, at, step);
  if (!step.next.empty()) step.cause_found = cause_found(decided, step.next);
  return step;
}

Json step_json(const Step& step) {
  return {{"session", step.session},
          {"iteration", step.iteration},
          {"event", step.event},
          {"next_win", step.next},
          {"next_win_alone", step.is_alone},
          {"proposals", step.proposals},
          {"frequent", step.frequent},
          {"hit_1", step.hit_1},
          {"hit_3", step.hit_3},
          {"baseline_1", step.base_1},
          {"baseline_3", step.base_3},
          {"known_losers", step.known_losers},
          {"later_losers", step.later_losers},
          {"predicted", wb::or_null(step.predicted)},
          {"measured", wb::or_null(step.measured)},
          {"cause_found", step.cause_found ? Json(*step.cause_found) : Json(nullptr)}};
}

}  // namespace

Result<Json> backtest_json(const Services& services, const std::vector<std::string>& sessions) {
  if (sessions.empty()) {
    return Error{ErrorCode::usage, "backtest", "the advice", "no session was named",
                 "name recorded climbs"};
  }
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(services));
  const auto began = beginnings(services);
  const std::vector<advise::Trial> known = trials_of_others(book, services, nullptr);
  const std::string fixed = register_day(book, began);
  Json climbs = Json::array(), all = Json::array(), younger = Json::array();
  for (const std::string& id : sessions) {
    WB_TRY_ASSIGN(const Session session, engine::open_recorded(services, id));
    WB_TRY_ASSIGN(const SessionView* view, session.current(session::FoldDepth::full));
    const std::string name = session::listed_name(session.folder());
    Climb climb{session, *view, name, trials_of(book, session, *view, name), known};
    // By its events too: it may lie there under another name.
    Names own;
    for (const advise::Trial& trial : climb.trials) own.insert(trial.log_sha256);
    std::erase_if(climb.others,
                  [&own](const advise::Trial& one) { return own.contains(one.log_sha256); });
    Json steps = Json::array();
    if (!climb.trials.empty()) {
      WB_TRY_ASSIGN(Prefix prefix, Prefix::create(session));
      for (std::size_t at = 0; at < climb.trials.size(); ++at) {
        WB_TRY_ASSIGN(const Step step, ask(services, book, climb, began, prefix, at));
        steps.push_back(step_json(step));
      }
    }
    Json sums = backtest_sums(name, steps);
    const std::string day = view->opened.t.substr(0, 10);
    const bool is_younger = !fixed.empty() && day > fixed;
    sums["began"] = day;
    sums["after_register"] = is_younger;
    climbs.push_back(std::move(sums));
    for (Json& step : steps) {
      if (is_younger) younger.push_back(step);
      all.push_back(std::move(step));
    }
  }
  Json made{{"climbs", std::move(climbs)},
            {"overall", backtest_sums("all", all)},
            {"register_day", fixed},
            {"after_register", backtest_sums("recorded after the register was fixed", younger)}};
  made["goals"] = backtest_goals(made["overall"]);
  made["steps"] = std::move(all);
  made["text"] = backtest_text(made);
  return made;
}

}  // namespace wb::verbs
