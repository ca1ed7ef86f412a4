// SPDX-License-Identifier: MIT
// `experience`: over the sessions of a folder, how often each technique and each idea was tried by
// itself and won, its measured beside its predicted gain, and how causes were decided. Reads only.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "advise/roadmap.hpp"
#include "catalogue/causes.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "measure/prediction.hpp"
#include "report/format.hpp"
#include "session/session.hpp"
#include "session/storage.hpp"
#include "session/view.hpp"
#include "verbs/arguments.hpp"
#include "verbs/copies.hpp"
#include "verbs/situation.hpp"
#include "verbs/trials.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using advise::PastPrediction;
using engine::member_of;
using engine::Services;
using engine::text_of;
using session::IterationView;
using session::Session;
using session::SessionView;

namespace {

/// How often each answer was given to a hypothesis.
struct AnswerCounts {
  std::int64_t confirmed = 0, not_confirmed = 0, mechanism_undecided = 0;
  std::int64_t within = 0, above = 0, below = 0, size_undecided = 0;

  void add(const measure::Prediction& decided) {
    using measure::GainSize;
    using measure::Mechanism;
    confirmed += decided.mechanism == Mechanism::confirmed ? 1 : 0;
    not_confirmed += decided.mechanism == Mechanism::not_confirmed ? 1 : 0;
    mechanism_undecided += decided.mechanism == Mechanism::undecided ? 1 : 0;
    within += decided.size == GainSize::within ? 1 : 0;
    above += decided.size == GainSize::above ? 1 : 0;
    below += decided.size == GainSize::below ? 1 : 0;
    size_undecided += decided.size == GainSize::undecided ? 1 : 0;
  }
};

/// One technique over all sessions.
struct TechniqueCounts {
  std::int64_t tried = 0, won = 0, invalid = 0;
  std::set<std::string> sessions;
  std::vector<advise::PastPrediction> predictions;  ///< whose size was decided
  AnswerCounts answers;
  Json where = Json::array();  ///< session, iteration, event, outcome, speedup
};

/// One cause over all sessions, by the last causes_decided of each.
struct CauseCounts {
  std::int64_t supported = 0, refuted = 0, undecided = 0;
};

struct Experience {
  std::map<std::string, TechniqueCounts> techniques, ideas;  ///< tried by themselves
  std::map<std::string, std::int64_t> together;  ///< technique -> steps that changed more
  std::int64_t mixed = 0;                        ///< iterations that added several techniques
  std::map<std::string, CauseCounts> causes;
  std::vector<advise::PastPrediction> predictions;  ///< from all iterations, with a decided size
  AnswerCounts answers;                             ///< of all iterations
  std::int64_t sessions = 0, tries = 0;
  std::int64_t unknown = 0;  ///< iterations whose log does not say which techniques they added
};

/// Counts a trial for the one technique or idea that it tried; a step that changed several says
/// nothing about any one of them, so that it is only counted as such.
void add_trial(const advise::Trial& trial, const std::optional<PastPrediction>& prediction,
               const std::optional<measure::Prediction>& decided, Experience& all) {
  std::vector<TechniqueCounts*> counted;
  if (!trial.isolated.empty()) counted.push_back(&all.techniques[trial.isolated]);
  if (trial.is_single) counted.push_back(&all.ideas[trial.ideas.front()]);
  for (TechniqueCounts* use : counted) {
    ++use->tried;
    use->won += trial.won() ? 1 : 0;
    use->invalid += trial.outcome == "invalid" ? 1 : 0;
    use->sessions.insert(trial.session);
    if (prediction) use->predictions.push_back(*prediction);
    if (decided) use->answers.add(*decided);
    use->where.push_back({{"session", trial.session},
                          {"log_sha256", trial.log_sha256},
                          {"iteration", trial.iteration},
                          {"event", trial.event},
                          {"outcome", trial.outcome},
                          {"speedup", wb::or_null(trial.speedup)}});
  }
  if (!trial.isolated.empty()) return;
  for (const std::string& word : trial.added) ++all.together[word];
  all.mixed += trial.added.size() > 1 ? 1 : 0;
}

void add_tries(const ChangeBook& book, const Session& session, const SessionView& view,
               const std::string& name, std::int64_t counted, Experience& all) {
  for (const advise::Trial& trial : trials_of(book, session, view, name, counted)) {
    ++all.tries;
    const IterationView* iteration = view.find(trial.iteration);
    const auto prediction = sized_prediction(*iteration);
    if (prediction) all.predictions.push_back(*prediction);
    const auto decided = session::decided_prediction(*iteration);
    if (decided) all.answers.add(*decided);
    if (!trial.is_known) ++all.unknown;
    add_trial(trial, prediction, decided, all);
  }
}

void add_causes(const SessionView& view, std::int64_t counted, Experience& all) {
  if (!view.causes || view.causes->seq <= counted) return;
  for (const Json& cause : member_of(view.causes->payload, "causes")) {
    // It could not be at work there, which says nothing of how often it is.
    if (!text_of(cause, "not_applicable").empty()) continue;
    CauseCounts& decided = all.causes[text_of(cause, "cause")];
    const std::string state = text_of(cause, "state");
    if (state == "supported") ++decided.supported;
    if (state == "refuted") ++decided.refuted;
    if (state == "undecided") ++decided.undecided;
  }
}

/// Adds the counts of one session. Its first `counted` events belong to a session that was added
/// before, of which it is a copy.
void add_session(const ChangeBook& book, const Session& session, const SessionView& view,
                 const std::string& name, std::int64_t counted, Experience& all) {
  ++all.sessions;
  add_tries(book, session, view, name, counted, all);
  add_causes(view, counted, all);
}

std::optional<double> geometric_mean(const std::vector<PastPrediction>& past,
                                     double PastPrediction::*figure) {
  if (past.empty()) return std::nullopt;
  double sum = 0;
  for (const PastPrediction& one : past) sum += std::log(one.*figure);
  return std::exp(sum / static_cast<double>(past.size()));
}

/// The share is null with too few predictions.
Json calibration_json(const std::vector<PastPrediction>& past) {
  const advise::Calibration calibration = advise::calibration_of(past);
  const bool is_told = calibration.count >= advise::k_least_predictions;
  return {{"share", is_told ? wb::or_null(calibration.median) : Json(nullptr)},
          {"count", calibration.count}};
}

Json mechanisms_json(const AnswerCounts& answers) {
  return {{"confirmed", answers.confirmed},
          {"not_confirmed", answers.not_confirmed},
          {"undecided", answers.mechanism_undecided}};
}

Json sizes_json(const AnswerCounts& answers) {
  return {{"within", answers.within},
          {"above", answers.above},
          {"below", answers.below},
          {"undecided", answers.size_undecided}};
}

/// "2 confirmed, 1 not confirmed, 0 undecided"
std::string mechanism_counts(const Json& counts) {
  return fmt::format("{} confirmed, {} not confirmed, {} undecided", counts["confirmed"].dump(),
                     counts["not_confirmed"].dump(), counts["undecided"].dump());
}

std::string size_counts(const Json& counts) {
  return fmt::format("{} within, {} above, {} below, {} undecided", counts["within"].dump(),
                     counts["above"].dump(), counts["below"].dump(), counts["undecided"].dump());
}

Json use_json(std::string_view kind, const std::string& id, const std::string& title,
              const TechniqueCounts& use, std::int64_t together) {
  return {{"id", id},
          {"kind", kind},
          {"title", title},
          {"together", together},
          {"tried", use.tried},
          {"won", use.won},
          {"invalid", use.invalid},
          {"sessions", use.sessions.size()},
          {"predicted", wb::or_null(geometric_mean(use.predictions, &PastPrediction::predicted))},
          {"measured", wb::or_null(geometric_mean(use.predictions, &PastPrediction::measured))},
          {"calibration", calibration_json(use.predictions)},
          {"mechanisms", mechanisms_json(use.answers)},
          {"sizes", sizes_json(use.answers)},
          {"where", use.where}};
}

std::string share_words(const Json& calibration) {
  const Json& share = calibration["share"];
  return share.is_number() ? report::fixed(share.get<double>(), 2)
                           : fmt::format("not told: {} of {}", calibration["count"].dump(),
                                         advise::k_least_predictions);
}

std::string factor_words(const Json& value) {
  return value.is_number() ? report::speedup(value.get<double>()) : "-";
}

std::string text_of_all(const Json& made) {
  std::string out = fmt::format(
      "{} of {}; a predicted gain's logarithm came true by (median): {}\n"
      "Mechanisms: {}. Sizes of gains beside predictions: {}.\n\n",
      report::count(made["tries"].get<std::int64_t>(), "iteration"),
      report::count(made["sessions"].get<std::int64_t>(), "session"),
      share_words(made["calibration"]), mechanism_counts(made["mechanisms"]),
      size_counts(made["sizes"]));
  report::Table techniques({"technique or idea", "tried alone>", "won>", "invalid>", "sessions>",
                            "predicted>", "measured>", "came true by>", "with others>"});
  report::Table causes({"cause", "supported>", "refuted>", "undecided>"});
  for (const Json& row : made["entries"]) {
    const std::string id = report::code(row["id"].get<std::string>(), 60);
    if (row["kind"] != "cause") {
      techniques.row({id, row["tried"].dump(), row["won"].dump(), row["invalid"].dump(),
                      row["sessions"].dump(), factor_words(row["predicted"]),
                      factor_words(row["measured"]), share_words(row["calibration"]),
                      row["together"].dump()});
    } else {
      causes.row({id, row["supported"].dump(), row["refuted"].dump(), row["undecided"].dump()});
    }
  }
  if (!techniques.empty()) {
    out +=
        techniques.str() +
        "\nOnly iterations that changed exactly one technique or idea count, by configurations and "
        "sources; predicted and measured are geometric means over those of them whose size of the "
        "gain was decided. With others: iterations that added it beside more, which tell of none "
        "alone.\n\n";
  }
  if (!causes.empty()) out += causes.str() + "\n";
  if (made["never_tried"].size() > 0) {
    out += "Never tried:";
    for (const Json& word : made["never_tried"]) {
      out += (out.ends_with(':') ? " " : ", ") + report::code(word.get<std::string>(), 60);
    }
    out += "\n";
  }
  const auto unknown = made["unknown"].get<std::int64_t>();
  if (unknown > 0) {
    out += fmt::format("What {} added is not known: sources of the parent are not stored.\n",
                       report::count(unknown, "iteration"));
  }
  for (const Json& fault : made["faults"]) {
    out += fmt::format("not read: {}: {}\n",
                       report::inline_text(fault["session"].get<std::string>(), 80),
                       report::inline_text(fault["message"].get<std::string>(), 300));
  }
  for (const Json& copy : made["copies"]) {
    out += report::inline_text(copy["message"].get<std::string>(), 600) +
           "; what they share is counted once\n";
  }
  return out;
}

Result<Json> experience_body(const Services& services, const Json& args) {
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(services));
  WB_TRY_ASSIGN(const auto causes,
                catalogue::load_causes(services.file_system, services.search_path));
  WB_TRY_ASSIGN(const auto folders, session::find_sessions(args["folder"].get<std::string>()));
  Experience all;
  CopyFinder copies;
  Json faults = Json::array(), entries = Json::array(), never = Json::array();
  for (const fs::path& folder : folders) {
    const std::string name = session::listed_name(folder);
    const auto fault = [&](const Error& error) {
      faults.push_back({{"session", name}, {"message", error.message()}});
    };
    const auto session = Session::open_reader(services.file_system, folder);
    if (!session) {
      fault(session.error());
      continue;
    }
    const auto view = session->view(session::FoldDepth::full);
    if (!view) {
      fault(view.error());
      continue;
    }
    copies.add(name, session->log());
    add_session(book, *session, *view, name, copies.common_of_last(), all);
  }
  for (const catalogue::Technique& technique : book.techniques) {
    const auto use = all.techniques.find(technique.name);
    const bool is_alone = use != all.techniques.end();
    const auto mixed = all.together.find(technique.name);
    const std::int64_t together = mixed == all.together.end() ? 0 : mixed->second;
    if (!is_alone && together == 0) {
      never.push_back(technique.name);
      continue;
    }
    entries.push_back(use_json("technique", technique.name, technique.title,
                               is_alone ? use->second : TechniqueCounts(), together));
  }
  for (const catalogue::Idea& idea : book.ideas) {
    const auto use = all.ideas.find(idea.id);
    if (use == all.ideas.end()) continue;
    entries.push_back(use_json("idea", idea.id, idea.title, use->second, 0));
  }
  for (const catalogue::Cause& cause : causes) {
    const auto found = all.causes.find(cause.id);
    if (found == all.causes.end()) continue;
    entries.push_back({{"id", cause.id},
                       {"kind", "cause"},
                       {"title", cause.title},
                       {"supported", found->second.supported},
                       {"refuted", found->second.refuted},
                       {"undecided", found->second.undecided}});
  }
  Json made{{"entries", std::move(entries)},
            {"calibration", calibration_json(all.predictions)},
            {"sessions", all.sessions},
            {"tries", all.tries},
            {"mechanisms", mechanisms_json(all.answers)},
            {"sizes", sizes_json(all.answers)},
            {"unknown", all.unknown},
            {"mixed", all.mixed},
            {"never_tried", std::move(never)},
            {"faults", std::move(faults)},
            {"copies", to_json(copies.copies())}};
  made["text"] = text_of_all(made);
  return made;
}

}  // namespace

const Verb& verb_experience() {
  static const Verb verb{
      .spec =
          {.name = "experience",
           .doc = "how often each technique and cause of the catalogues was used in the sessions "
                  "of a folder, what won, and how predictions came true",
           .arguments = {string_argument("folder", "that sessions lie in").required().positional()},
           .result = {{"entries",
                       "list: id, kind; of a technique or an idea title, tried (by itself), won, "
                       "invalid, sessions, together (iterations that added it beside others), "
                       "predicted and measured (geometric means, or null), calibration, "
                       "mechanisms, sizes, where; of a cause title, supported, refuted, "
                       "undecided"},
                      {"calibration",
                       "map: share of a predicted logarithm that was measured (median; null below "
                       "3 predictions), count"},
                      {"mechanisms",
                       "map: how many changes were confirmed, not_confirmed and undecided"},
                      {"sizes",
                       "map: how many gains were within, above and below their predictions, and "
                       "undecided; these do not calibrate"},
                      {"sessions", "int: that were read"},
                      {"tries", "int: closed iterations that tell of their variant"},
                      {"unknown", "int: those of which nothing tells what they added"},
                      {"mixed", "int: those that added several techniques at once"},
                      {"never_tried", "list: techniques of the catalogue"},
                      {"faults", "list: session and message of those that could not be read"},
                      {"copies", "list: as of `site`; what copies share is counted once"},
                      {"text", "string: the same for people"}},
           .in_playbook = false},
      .body = [](const Call& call) { return experience_body(call.services, call.args); }};
  return verb;
}

}  // namespace wb::verbs
