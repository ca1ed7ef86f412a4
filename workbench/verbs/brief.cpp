// SPDX-License-Identifier: MIT
// `brief`: what an agent without context must know of a session, in at most 4 KiB. Made from the
// log alone: the same log gives the same bytes.
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/json.hpp"
#include "engine/settings.hpp"
#include "problem/suite.hpp"
#include "session/session.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/brief_facts.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::SessionSettings;
using engine::settings_from_json;

namespace {

/// A list and its minimal length, which is kept while shorter texts still help. Lists are ordered
/// by importance, the most important last.
struct Part {
  const char* key;
  std::size_t keep, most;
};
constexpr std::array<Part, 8> k_parts{{{"untried", 0, 40},
                                       {"notes", 1, 4},
                                       {"techniques", 6, 20},
                                       {"next", 3, 6},
                                       {"rivals", 1, 6},
                                       {"refuted", 4, 12},
                                       {"last", 3, 8},
                                       {"goals", 3, 12}}};
/// Lengths at which texts are cut; the first that fits is used.
constexpr std::array<std::size_t, 4> k_text_bytes{180, 90, 45, 20};

/// Shortens one list to `size` and records how many entries were dropped.
void drop(Json& brief, const Part& part, std::size_t size) {
  Json& list = brief[part.key];
  if (list.size() <= size) return;
  Json& count = brief["left_out"][part.key];
  count = (count.is_null() ? 0 : count.get<std::size_t>()) + list.size() - size;
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(size), list.end());
}

Json make(BriefFacts& facts, std::size_t text_bytes) {
  facts.cut_texts_at(text_bytes);
  Json brief{{"session", facts.name()},        {"status", facts.status()},
             {"title", facts.title()},         {"objective", facts.objective()},
             {"goals", facts.goals()},         {"outcome", facts.conclusion()},
             {"incumbent", facts.incumbent()}, {"budget", facts.budget()},
             {"in_flight", facts.in_flight()}, {"last", facts.last()},
             {"refuted", facts.refuted()},     {"techniques", facts.techniques()},
             {"rivals", facts.rivals()},       {"next", facts.next()},
             {"notes", facts.notes()},         {"untried", facts.untried()},
             {"left_out", Json::object()}};
  for (const Part& part : k_parts) drop(brief, part, part.most);
  if (text_bytes != k_text_bytes[0]) brief["left_out"]["texts_cut_at_bytes"] = text_bytes;
  return brief;
}

bool fits(const Json& brief) {
  return brief.dump().size() <= k_brief_max_bytes;
}

/// Drops list entries, the least important first, until the brief fits.
bool trim(Json& brief, bool to_the_last) {
  for (const Part& part : k_parts) {
    const std::size_t keep = to_the_last ? 0 : part.keep;
    while (!fits(brief) && brief[part.key].size() > keep) {
      drop(brief, part, brief[part.key].size() - 1);
    }
  }
  return fits(brief);
}

}  // namespace

Result<Json> brief_of(const session::Session& session) {
  WB_TRY_ASSIGN(const session::SessionView* current, session.current(session::FoldDepth::full));
  const session::SessionView& view = *current;
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  BriefFacts facts(session, view, settings);
  for (const bool to_the_last : {false, true}) {
    for (const std::size_t text_bytes : k_text_bytes) {
      Json brief = make(facts, text_bytes);
      if (trim(brief, to_the_last)) return brief;
    }
  }
  throw std::logic_error("a brief without its lists does not fit");
}

namespace {

Result<Json> brief_body(const Call& call) {
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return brief_of(*session);
}

/// The member as words; empty for null and for what is not there.
std::string said(const Json& item, const char* key) {
  const auto found = item.find(key);
  if (found == item.end() || found->is_null()) return {};
  return found->is_number() ? json_text(*found) : cell(*found);
}

std::string event_of(const Json& item) {
  const std::string event = said(item, "event");
  return event.empty() ? event : " [e" + event + "]";
}

/// The words between two others; empty without words.
std::string framed(const char* before, const std::string& words, const char* behind = "") {
  return words.empty() ? words : before + words + behind;
}

/// "4 evaluations, 8 left": used, and left where there is a limit.
std::string used_words(const Json& budget, const char* key, const char* unit) {
  const std::string left = said(budget, (std::string(key) + "_left").c_str());
  const std::string used = said(budget, key);
  return used.empty() ? used : used + " " + unit + framed(" (", left, " left)");
}

std::string head_text(const Json& answer) {
  const Json& objective = answer["objective"];
  std::string text = fmt::format("Session {}, {}{}\n", said(answer, "session"),
                                 said(answer, "status"), framed(": ", said(answer, "title")));
  if (!objective.empty()) {
    std::string some;
    for (const Json& name : objective["some"])
      some += (some.empty() ? "" : ", ") + problem::short_name(cell(name));
    text += fmt::format("Objective: {} under {}, suite {}: {} problems, {} held out{}\n",
                        said(objective, "rule"), said(objective, "plan"), said(objective, "suite"),
                        said(objective, "problems"), said(objective, "held_out"),
                        framed(" (", some, ")"));
    const std::string hidden = said(objective, "cannot_show_frac");
    if (!hidden.empty()) text += "Noise hides gains below " + hidden + " (fraction)\n";
  }
  for (const Json& goal : answer["goals"]) {
    text += fmt::format("Goal {}: {}{}{}\n", said(goal, "goal"), said(goal, "state"),
                        framed(", ", said(goal, "value"), "x"),
                        framed(", short by ", said(goal, "short_by")));
  }
  text += framed("Outcome: ", said(answer, "outcome"), "\n");
  if (const Json& holder = answer["incumbent"]; holder.is_object()) {
    text += fmt::format("Incumbent: {}{}{}, iteration {}{}\n", said(holder, "variant"),
                        framed(" ", said(holder, "configuration")),
                        framed(", ", said(holder, "over_start"), "x over the start"),
                        said(holder, "iteration"), event_of(holder));
  }
  const Json& budget = answer["budget"];
  std::string used;
  for (const auto& [key, unit] : {std::pair("evaluations", "evaluations"), std::pair("wall_s", "s"),
                                  std::pair("usd", "USD")}) {
    used += framed(used.empty() ? "" : ", ", used_words(budget, key, unit));
  }
  text += framed("Used: ", used, "\n");
  text += framed("Stopped: ", said(budget, "stop_reason"), "\n");
  if (const Json& flight = answer["in_flight"]; flight.is_object()) {
    text += fmt::format("Running: iteration {}, {}: {}{}\n", said(flight, "iteration"),
                        said(flight, "variant"), said(flight, "hypothesis"), event_of(flight));
  }
  return text;
}

std::string try_words(const Json& item) {
  return fmt::format("{} {}{}, {}{}{}{}", said(item, "iteration"), said(item, "outcome"),
                     framed(" ", said(item, "speedup"), "x"), said(item, "variant"),
                     framed(": ", said(item, "tried")), framed("; ", said(item, "invalidity")),
                     framed(": ", said(item, "message")));
}

std::string refuted_words(const Json& item) {
  return said(item, "hypothesis") + framed(": ", said(item, "measured"), "x");
}

std::string technique_words(const Json& item) {
  return fmt::format("{}: tried {}{}{}", said(item, "technique"), said(item, "tries"),
                     framed(", best ", said(item, "best"), "x"),
                     framed(", ", said(item, "outcome")));
}

std::string rival_words(const Json& item) {
  return fmt::format("{}: {}{}", said(item, "rival"), said(item, "outcome"),
                     framed(", ", said(item, "speedup"), "x"));
}

std::string note_words(const Json& item) {
  return said(item, "note");
}

std::string step_words(const Json& item) {
  return cell(item);
}

/// A list of the brief as a heading and a line an entry. Never longer than the JSON, as a brief is
/// limited.
struct ListText {
  const char* key;
  const char* heading;
  std::string (*words)(const Json&);
};
constexpr std::array<ListText, 6> k_lists{{{"last", "Tried, newest first:", try_words},
                                           {"refuted", "Refuted:", refuted_words},
                                           {"techniques", "Techniques:", technique_words},
                                           {"rivals", "Incumbent over:", rival_words},
                                           {"next", "Next:", step_words},
                                           {"notes", "Notes:", note_words}}};

}  // namespace

std::string brief_text(const Json& answer) {
  std::string text = head_text(answer);
  for (const ListText& list : k_lists) {
    if (answer[list.key].empty()) continue;
    text += std::string(list.heading) + "\n";
    for (const Json& item : answer[list.key]) {
      text += "- " + list.words(item) + (item.is_object() ? event_of(item) : "") + "\n";
    }
  }
  std::string untried;
  for (const Json& word : answer["untried"]) untried += (untried.empty() ? "" : ", ") + cell(word);
  text += framed("Untried: ", untried, "\n");
  std::string left_out;
  for (const auto& [key, count] : answer["left_out"].items()) {
    left_out += (left_out.empty() ? "" : ", ") + key + " " + json_text(count);
  }
  return text + framed("No room for: ", left_out, "\n");
}

namespace {

/// The sample brief: every field is present, without content.
Result<Json> brief_sample(FakeEngine& fake, const Json&) {
  Json brief{{"session", "dry-run"},
             {"status", fake.is_closed ? "closed" : "open"},
             {"title", "dry run"},
             {"objective", Json::object()},
             {"outcome", "dry run"},
             {"incumbent", {{"variant", fake.incumbent}, {"over_start", nullptr}}},
             {"budget", {{"evaluations", fake.iteration}, {"evaluations_left", nullptr}}},
             {"in_flight", nullptr},
             {"left_out", Json::object()}};
  for (const char* list :
       {"goals", "last", "refuted", "techniques", "rivals", "next", "notes", "untried"}) {
    brief[list] = Json::array();
  }
  return brief;
}

}  // namespace

const Verb& verb_brief() {
  static const Verb verb{
      .spec =
          {.name = "brief",
           .doc = "what to know of a session after losing all context, in at most 4 KiB",
           .session = SessionNeed::reads,
           .result =
               {{"session", "string: its name"},
                {"status", "string: open, paused or closed"},
                {"title", "string: its heading"},
                {"objective", "map: rule, plan, min_speedup, suite, problems, held_out, some"},
                {"goals",
                 "list: goal, state (reached, missed or undecided), value (ratio), short_by"},
                {"outcome",
                 "string: what came of it, what is slower than the start or a rival, what to do"},
                {"incumbent",
                 "map or null: variant, configuration, over_start (ratio), iteration, event"},
                {"budget",
                 "map: used and left (null: no limit) of evaluations, wall_s and usd "
                 "(by_list_price: by "
                 "list prices, at least in part); stop_reason"},
                {"in_flight", "map or null: the iteration that runs, or was cut off"},
                {"last", "list: outcomes, newest first"},
                {"refuted", "list: refuted hypotheses with what they measured, newest first"},
                {"techniques",
                 "list: what tries added to their parents, with the best of their speedups"},
                {"rivals", "list: the incumbent against each over the suite (ratio)"},
                {"next", "list: what the facts suggest"},
                {"notes", "list: newest first"},
                {"untried", "list: techniques that nothing here has used"},
                {"left_out", "map: how many of each list had no room"}},
           .reads_only = true},
      .body = brief_body,
      .text = brief_text,
      .sample = brief_sample};
  return verb;
}

}  // namespace wb::verbs
