// SPDX-License-Identifier: MIT
// `history`: searches a session's iterations, notes and decisions by words; newest first.
#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/settings.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/suite_selection.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::candidate_of;
using engine::member_of;
using engine::SessionSettings;
using engine::settings_from_json;
using engine::text_of;
using session::Fact;
using session::IterationView;
using session::SessionView;

namespace {

constexpr std::int64_t k_default_limit = 20;
constexpr std::size_t k_text_max_bytes = 300;
constexpr std::size_t k_where_max = 3;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii::lower);
  return text;
}

std::vector<std::string> words_of(const std::string& query) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : lower(query) + " ") {
    if (!ascii::is_space(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

/// One searchable record: an iteration, or a note or decision outside iterations.
struct Record {
  std::int64_t seq = 0;
  Json head;
  struct Text {
    const char* field;
    std::int64_t seq;
    std::string text;
  };
  std::vector<Text> texts;

  void add(const char* field, std::int64_t event, std::string text) {
    if (!text.empty()) texts.push_back({field, event, std::move(text)});
  }
};

void add_iteration_texts(const IterationView& iteration, Record& record) {
  const Json& opened = iteration.opened.payload;
  const std::int64_t seq = iteration.opened.seq;
  record.add("hypothesis", seq, text_of(member_of(opened, "hypothesis"), "theory"));
  record.add("variant", seq, candidate_of(iteration));
  record.add("variant", seq, text_of(opened, "variant"));
  record.add("parent", seq, text_of(opened, "parent"));
  for (const Json& word : member_of(opened, "techniques")) {
    if (word.is_string()) record.add("technique", seq, word.get<std::string>());
  }
  if (iteration.closed) {
    const Json& closed = iteration.closed->payload;
    record.add("outcome", iteration.closed->seq, text_of(closed, "outcome"));
    record.add("outcome", iteration.closed->seq, text_of(closed, "invalidity"));
    record.add("message", iteration.closed->seq, text_of(closed, "message"));
  }
  if (iteration.hypothesis) {
    const Json& decided = iteration.hypothesis->payload;
    record.add("decision", iteration.hypothesis->seq, text_of(decided, "state"));
    record.add("decision", iteration.hypothesis->seq, text_of(decided, "reason"));
  }
  for (const Fact& fact : iteration.built) {
    record.add("message", fact.seq, text_of(fact.payload, "message"));
  }
  for (const Fact& fact : iteration.verdicts) {
    record.add("message", fact.seq, text_of(fact.payload, "message"));
  }
  for (const Fact& fact : iteration.findings) {
    record.add("finding", fact.seq, text_of(fact.payload, "statement"));
  }
  for (const Fact& fact : iteration.notes) {
    record.add("note", fact.seq, text_of(fact.payload, "text"));
  }
}

Record record_of(const IterationView& iteration) {
  Record record;
  record.seq = iteration.closed ? iteration.closed->seq : iteration.opened.seq;
  const Json& closed = iteration.closed ? iteration.closed->payload : Json();
  record.head = {
      {"kind", "iteration"},
      {"iteration", iteration.number},
      {"variant", candidate_of(iteration)},
      {"outcome", iteration.closed ? text_of(closed, "outcome") : "in_flight"},
      {"speedup", member_of(closed, "speedup")},
      {"decision", iteration.hypothesis ? Json(text_of(iteration.hypothesis->payload, "state"))
                                        : Json(nullptr)}};
  add_iteration_texts(iteration, record);
  return record;
}

/// All records, newest first.
std::vector<Record> all_records(const SessionView& view) {
  std::vector<Record> records;
  for (const IterationView& iteration : view.iterations) records.push_back(record_of(iteration));
  for (const Fact& note : view.notes) {
    Record record{note.seq, {{"kind", "note"}}, {}};
    record.add("note", note.seq, text_of(note.payload, "text"));
    records.push_back(std::move(record));
  }
  for (const Fact& made : view.decisions) {
    Record record{made.seq, {{"kind", "decision"}}, {}};
    for (const char* key : {"question", "choice", "reason"}) {
      record.add(key, made.seq, text_of(made.payload, key));
    }
    records.push_back(std::move(record));
  }
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.seq > b.seq; });
  return records;
}

/// The texts with matches, if every word occurs somewhere; else nothing.
std::optional<std::vector<const Record::Text*>> find(const Record& record,
                                                     const std::vector<std::string>& words) {
  std::vector<bool> found(words.size(), false);
  std::vector<const Record::Text*> where;
  for (const Record::Text& item : record.texts) {
    const std::string text = lower(item.text);
    bool here = false;
    for (std::size_t w = 0; w < words.size(); ++w) {
      if (text.find(words[w]) == std::string::npos) continue;
      found[w] = here = true;
    }
    if (here) where.push_back(&item);
  }
  if (std::find(found.begin(), found.end(), false) != found.end()) return std::nullopt;
  // Without words the first text is shown: the hypothesis, or the note itself.
  if (words.empty() && !record.texts.empty()) where.push_back(&record.texts.front());
  return where;
}

Json match_json(const Record& record, const std::vector<const Record::Text*>& where) {
  Json match = record.head;
  match["event"] = fmt::format("e{}", record.seq);
  Json places = Json::array();
  for (const Record::Text* text : where) {
    if (places.size() == k_where_max) break;
    places.push_back({{"field", text->field},
                      {"event", fmt::format("e{}", text->seq)},
                      {"text", printable(text->text, k_text_max_bytes)}});
  }
  match["where"] = std::move(places);
  return match;
}

std::string text_of_matches(const Json& matches, std::size_t total) {
  if (matches.empty()) return "nothing in this session has these words\n";
  std::string text;
  for (const Json& match : matches) {
    const bool is_iteration = match["kind"] == "iteration";
    text += fmt::format(
        "[{}] {}\n", match["event"].get<std::string>(),
        is_iteration
            ? fmt::format("iteration {}: {} {}{}", match["iteration"].dump(),
                          match["outcome"].get<std::string>(), match["variant"].get<std::string>(),
                          match["speedup"].is_number()
                              ? fmt::format(" {:.3f}x", match["speedup"].get<double>())
                              : "")
            : match["kind"].get<std::string>());
    for (const Json& place : match["where"]) {
      text += fmt::format("  {}: {}\n", place["field"].get<std::string>(),
                          place["text"].get<std::string>());
    }
  }
  if (total > matches.size()) {
    text += fmt::format("{} older matches left out; raise --limit or add words\n",
                        total - matches.size());
  }
  return text;
}

Result<Json> matches_of(const session::Session& session, const Json& args) {
  WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::full));
  const SessionView& view = *current;
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  const ProblemNames names(settings.suite);
  const auto words = words_of(args.value("query", ""));
  const auto limit = static_cast<std::size_t>(args.value("limit", k_default_limit));
  Json matches = Json::array();
  std::size_t total = 0;
  for (Record& record : all_records(view)) {
    // Hidden before the search, so that a query cannot discover held-out shapes.
    for (Record::Text& text : record.texts) text.text = names.hide(std::move(text.text));
    const auto where = find(record, words);
    if (!where) continue;
    if (++total <= limit) matches.push_back(match_json(record, *where));
  }
  const std::string text = text_of_matches(matches, total);
  return Json{{"matches", std::move(matches)}, {"total", total}, {"text", text}};
}

Result<Json> history_body(const Call& call) {
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  return matches_of(*session, call.args);
}

Result<Json> history_sample(FakeEngine&, const Json&) {
  return Json{{"matches", Json::array()}, {"total", 0}, {"text", "dry run"}};
}

}  // namespace

const Verb& verb_history() {
  static const Verb verb{
      .spec = {.name = "history",
               .doc = "search a session's iterations, notes and decisions by words, newest first",
               .session = SessionNeed::reads,
               .arguments = {string_argument(
                                 "query",
                                 "words that must all stand there, in any case (default: all)")
                                 .positional(),
                             integer_argument("limit", "at most so many (default 20)")
                                 .in("matches")
                                 .between(1, 100)},
               .result = {{"matches",
                           "list: kind, event, iteration, variant, outcome, speedup, decision and "
                           "where the words stand"},
                          {"total", "int: how many there are"},
                          {"text", "string: the same for people"}},
               .reads_only = true},
      .body = history_body,
      .sample = history_sample};
  return verb;
}

}  // namespace wb::verbs
