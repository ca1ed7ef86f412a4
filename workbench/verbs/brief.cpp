// SPDX-License-Identifier: MIT
// `brief`: what an agent without context must know of a session, in at most 4 KiB. Made from the
// log alone: the same log gives the same bytes.
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "engine/verb.hpp"
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
constexpr std::array<Part, 7> k_parts{{{"untried", 0, 40},
                                       {"notes", 1, 4},
                                       {"techniques", 6, 20},
                                       {"next", 3, 6},
                                       {"rivals", 1, 6},
                                       {"refuted", 4, 12},
                                       {"last", 3, 8}}};
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

/// "key: value, key: value", without nulls. Never longer than the JSON, since a brief is limited.
std::string fields_of(const Json& item) {
  if (!item.is_object()) return cell(item);
  std::string text;
  for (const auto& [key, value] : item.items()) {
    if (value.is_null()) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        value.is_number() ? json_text(value) : cell(value));
  }
  return text;
}

std::string brief_text(const Json& answer) {
  std::string text;
  for (const char* key :
       {"session", "title", "status", "objective", "incumbent", "budget", "in_flight"}) {
    if (!answer[key].is_null()) text += fmt::format("{}: {}\n", key, fields_of(answer[key]));
  }
  for (const char* key : {"last", "refuted", "techniques", "rivals", "next", "notes"}) {
    if (answer[key].empty()) continue;
    text += fmt::format("{}:\n", key);
    for (const Json& item : answer[key]) text += fmt::format("- {}\n", fields_of(item));
  }
  for (const char* key : {"untried", "left_out"}) {
    if (!answer[key].empty()) text += fmt::format("{}: {}\n", key, json_text(answer[key]));
  }
  return text;
}

/// The sample brief: every field is present, without content.
Result<Json> brief_sample(FakeEngine& fake, const Json&) {
  Json brief{{"session", "dry-run"},
             {"status", fake.is_closed ? "closed" : "open"},
             {"title", "dry run"},
             {"objective", Json::object()},
             {"incumbent", {{"variant", fake.incumbent}, {"over_start", nullptr}}},
             {"budget", {{"evaluations", fake.iteration}, {"evaluations_left", nullptr}}},
             {"in_flight", nullptr},
             {"left_out", Json::object()}};
  for (const char* list : {"last", "refuted", "techniques", "rivals", "next", "notes", "untried"}) {
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
                {"incumbent",
                 "map or null: variant, configuration, over_start (ratio), iteration, event"},
                {"budget",
                 "map: used and left (null: no limit) of evaluations, wall_s and usd; stop_reason"},
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
