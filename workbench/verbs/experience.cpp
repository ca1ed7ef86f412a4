// SPDX-License-Identifier: MIT
// `experience`: over the sessions of a folder, how often each technique was tried and won, its
// measured beside its predicted gain, and how causes were decided. Reads only.
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
#include "engine/verb.hpp"
#include "measure/prediction.hpp"
#include "report/format.hpp"
#include "session/session.hpp"
#include "session/storage.hpp"
#include "session/view.hpp"
#include "verbs/arguments.hpp"
#include "verbs/copies.hpp"
#include "verbs/situation.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using advise::PastPrediction;
using engine::added_to;
using engine::candidate_of;
using engine::for_each_closed_iteration;
using engine::is_about_variant;
using engine::member_of;
using engine::Services;
using engine::stored_variant;
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
  std::map<std::string, TechniqueCounts> techniques;
  std::map<std::string, CauseCounts> causes;
  std::vector<advise::PastPrediction> predictions;  ///< from all iterations, with a decided size
  AnswerCounts answers;                             ///< of all iterations
  std::int64_t sessions = 0, tries = 0;
  std::int64_t unknown = 0;  ///< iterations whose log does not say which techniques they added
};

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

void add_tries(const Session& session, const SessionView& view, const std::string& name,
               std::int64_t counted, Experience& all) {
  for_each_closed_iteration(view, [&](const IterationView& iteration, const Json& closed) {
    if (iteration.closed->seq <= counted) return;
    if (!is_about_variant(closed)) return;
    ++all.tries;
    const auto prediction = sized_prediction(iteration);
    if (prediction) all.predictions.push_back(*prediction);
    const auto decided = session::decided_prediction(iteration);
    if (decided) all.answers.add(*decided);
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
      if (decided) use.answers.add(*decided);
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

/// Adds the counts of one session. Its first `counted` events belong to a session that was added
/// before, of which it is a copy.
void add_session(const Session& session, const SessionView& view, const std::string& name,
                 std::int64_t counted, Experience& all) {
  ++all.sessions;
  add_tries(session, view, name, counted, all);
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
  return {{"share", is_told ? Json(calibration.share) : Json(nullptr)},
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

Json technique_json(const std::string& id, const std::string& title, const TechniqueCounts& use) {
  return {{"id", id},
          {"kind", "technique"},
          {"title", title},
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
  report::Table techniques({"technique", "tried>", "won>", "invalid>", "sessions>", "predicted>",
                            "measured>", "came true by>"});
  report::Table causes({"cause", "supported>", "refuted>", "undecided>"});
  for (const Json& row : made["entries"]) {
    const std::string id = report::code(row["id"].get<std::string>(), 60);
    if (row["kind"] == "technique") {
      techniques.row({id, row["tried"].dump(), row["won"].dump(), row["invalid"].dump(),
                      row["sessions"].dump(), factor_words(row["predicted"]),
                      factor_words(row["measured"]), share_words(row["calibration"])});
    } else {
      causes.row({id, row["supported"].dump(), row["refuted"].dump(), row["undecided"].dump()});
    }
  }
  if (!techniques.empty()) {
    out +=
        techniques.str() +
        "\nAn iteration that adds several techniques counts for each; predicted and measured are "
        "geometric means over those iterations whose size of the gain was decided.\n\n";
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
  WB_TRY_ASSIGN(const auto catalogue,
                catalogue::load_techniques(services.file_system, services.search_path));
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
    add_session(*session, *view, name, copies.common_of_last(), all);
  }
  for (const catalogue::Technique& technique : catalogue) {
    const auto use = all.techniques.find(technique.name);
    if (use == all.techniques.end()) {
      never.push_back(technique.name);
    } else {
      entries.push_back(technique_json(technique.name, technique.title, use->second));
    }
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
                       "list: id, kind; of a technique title, tried, won, invalid, sessions, "
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
                      {"never_tried", "list: techniques of the catalogue"},
                      {"faults", "list: session and message of those that could not be read"},
                      {"copies", "list: as of `site`; what copies share is counted once"},
                      {"text", "string: the same for people"}},
           .in_playbook = false},
      .body = [](const Call& call) { return experience_body(call.services, call.args); }};
  return verb;
}

}  // namespace wb::verbs
