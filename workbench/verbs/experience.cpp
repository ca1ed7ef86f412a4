// SPDX-License-Identifier: MIT
// `experience`: over the sessions of a folder, how often each technique was tried and won, its
// measured beside its predicted gain, and how causes were decided. Reads only.
#include <fmt/format.h>

#include <cmath>

#include "advise/roadmap.hpp"
#include "catalogue/causes.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/services.hpp"
#include "engine/verb.hpp"
#include "report/format.hpp"
#include "session/storage.hpp"
#include "verbs/arguments.hpp"
#include "verbs/copies.hpp"
#include "verbs/experience_counts.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using advise::PastPrediction;
using engine::Services;
using session::Session;

namespace {

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
  std::string out =
      fmt::format("{} of {}; a predicted gain's logarithm came true by (median): {}\n\n",
                  report::count(made["tries"].get<std::int64_t>(), "iteration"),
                  report::count(made["sessions"].get<std::int64_t>(), "session"),
                  share_words(made["calibration"]));
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
        "geometric means over those iterations whose hypothesis was decided.\n\n";
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
  Json made{{"entries", std::move(entries)}, {"calibration", calibration_json(all.predictions)},
            {"sessions", all.sessions},      {"tries", all.tries},
            {"unknown", all.unknown},        {"never_tried", std::move(never)},
            {"faults", std::move(faults)},   {"copies", to_json(copies.copies())}};
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
                       "predicted and measured (geometric means, or null), calibration, where; of "
                       "a cause title, supported, refuted, undecided"},
                      {"calibration",
                       "map: share of a predicted logarithm that was measured (median; null below "
                       "3 predictions), count"},
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
