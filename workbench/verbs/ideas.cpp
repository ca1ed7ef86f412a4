// SPDX-License-Identifier: MIT
// `ideas`: the register of ideas (catalogue/ideas.hpp), with what isolated trials said of each.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "report/format.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/trials.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using advise::Effect;
using catalogue::Idea;

namespace {

struct Register {
  ChangeBook book;  ///< its ideas are those of all places
  std::vector<advise::Trial> trials;
};

/// The ideas of all three places, and the trials of the named session and of the others.
Result<Register> read_register(const Call& call) {
  Register all;
  WB_TRY_ASSIGN(all.book, load_change_book(call.services));
  const bool has_session = call.context.session.has_value() || !call.folder.empty();
  if (!has_session) {
    all.trials = trials_of_others(all.book, call.services, nullptr);
    return all;
  }
  WB_TRY_ASSIGN(const session::Session* session, session_to_read(call));
  WB_TRY_ASSIGN(const session::SessionView* view, session->current(session::FoldDepth::full));
  for (Idea& idea : session_ideas(*view)) all.book.ideas.push_back(std::move(idea));
  all.trials = trials_of(all.book, *session, *view, text_of(view->opened.payload, "session"));
  for (advise::Trial& trial : all.trials) trial.is_own = true;
  auto others = trials_of_others(all.book, call.services, session);
  std::move(others.begin(), others.end(), std::back_inserter(all.trials));
  return all;
}

/// Without what does not match the arguments.
bool is_asked_for(const Idea& idea, const std::string& state, const Json& args) {
  const std::string kernel = args.value("kernel", ""), technique = args.value("technique", "");
  const auto& kernels = idea.kernels;
  const bool fits_kernel = kernel.empty() || idea.has == kernel || kernels.empty() ||
                           std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
  return fits_kernel && (technique.empty() || idea.technique == technique) &&
         (!args.contains("state") || args["state"] == state);
}

Json row_of(const Idea& idea, const std::vector<advise::Trial>& trials) {
  Json row = to_json(idea);
  // Trials are ours: they say nothing about an idea of somebody else that has the same id.
  const Effect effect = idea.is_foreign() ? Effect() : effect_of(trials, idea.id);
  row["state"] = to_string(idea.is_foreign() ? idea.state : state_of(idea, trials));
  row["place"] = to_string(idea.place);
  row["event"] = idea.event > 0 ? Json(idea.event) : Json(nullptr);
  row["foreign"] = idea.is_foreign();
  row["effect"] = effect.tried > 0 ? to_json(effect) : Json(nullptr);
  return row;
}

std::string effect_words(const Json& effect) {
  if (!effect.is_object()) return "-";
  const Json& speedup = effect["speedup"];
  std::string words = speedup.is_number() ? report::speedup(speedup.get<double>()) : "no figure";
  for (const Json& trial : effect["trials"]) {
    words +=
        fmt::format(", {} i{} [e{}]", report::inline_text(trial["session"].get<std::string>(), 40),
                    trial["iteration"].dump(), trial["event"].dump());
  }
  return words;
}

std::string list_text(const Json& rows) {
  report::Table table({"idea", "state", "what", "for", "measured alone", "by", "source"});
  for (const Json& row : rows) {
    std::string kernels;
    for (const std::string& name : strings_of(row, "kernels")) {
      kernels += (kernels.empty() ? "" : ", ") + report::code(name, 40);
    }
    const std::string pack = text_of(row, "pack");
    table.row({report::code(text_of(row, "id"), 64), text_of(row, "state"),
               report::inline_text(text_of(row, "title"), 100), kernels.empty() ? "any" : kernels,
               effect_words(row["effect"]),
               text_of(row, "by") + (pack.empty() ? "" : ", of " + report::inline_text(pack, 40)),
               report::inline_text(text_of(row, "source"), 160)});
  }
  if (table.empty()) return "The register has no such idea.\n";
  return table.str() +
         "\nState: by isolated trials in logs, else as the source says. Ideas of others' files are "
         "theirs: what they say of an idea counts for nothing here.\n";
}

Result<Json> list_ideas(const Call& call) {
  WB_TRY_ASSIGN(const Register all, read_register(call));
  Json rows = Json::array();
  for (const Idea& idea : all.book.ideas) {
    Json row = row_of(idea, all.trials);
    if (is_asked_for(idea, text_of(row, "state"), call.args)) rows.push_back(std::move(row));
  }
  std::string text = list_text(rows);
  return Json{{"ideas", std::move(rows)},
              {"added", Json::array()},
              {"file", catalogue::ideas_file(call.services.data_root).string()},
              {"event", nullptr},
              {"text", std::move(text)}};
}

/// The new idea in the form of the file.
Result<Idea> idea_of(const Json& args) {
  if (!args.contains("id") || !args.contains("title")) {
    return Error{ErrorCode::usage, "add", "an idea", "it has no id or no title",
                 "give --id WORD and --title TEXT"};
  }
  Json entry{{"id", args["id"]},
             {"title", args["title"]},
             {"backends", Json::array({args.value("backend", "cuda")})},
             {"source", args.value("source", "said by its author")},
             {"by", args.value("by", "person")},
             {"state", args.value("state", "open")}};
  for (const char* key : {"technique", "family", "when", "device"}) {
    if (args.contains(key)) entry[key] = args[key];
  }
  if (args.contains("kernel")) entry["kernels"] = Json::array({args["kernel"]});
  if (args.contains("helps")) entry["helps"] = args["helps"];
  if (args.contains("dtypes")) entry["dtypes"] = args["dtypes"];
  if (args.contains("configuration")) entry["parameters"] = args["configuration"];
  return catalogue::read_idea(entry, "the idea");
}

Result<void> refuse_known_id(const std::vector<Idea>& known, const std::string& id) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Idea& one) { return one.id == id; });
  if (found == known.end()) return {};
  return Error{ErrorCode::invalid, "add the idea", id,
               fmt::format("the register has one of that id: {}", found->title),
               "give it another id"};
}

Json added_answer(const Call& call, const std::vector<Idea>& added, const Json& event) {
  Json rows = Json::array();
  std::string ids;
  for (const Idea& idea : added) {
    rows.push_back(to_json(idea));
    ids += (ids.empty() ? "" : ", ") + idea.id;
  }
  const std::string file = catalogue::ideas_file(call.services.data_root).string();
  return {{"ideas", rows},
          {"added", std::move(rows)},
          {"file", file},
          {"event", event},
          {"text", fmt::format("added to {}: {}\n",
                               event.is_null() ? file : std::string("the session's log"), ids)}};
}

Result<Json> add_idea(const Call& call) {
  WB_TRY_ASSIGN(Idea idea, idea_of(call.args));
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(call.services));
  WB_TRY(refuse_known_id(book.ideas, idea.id));
  if (!call.args.value("in_session", false)) {
    idea.since = to_iso8601(call.services.clock.now()).substr(0, 10);
    WB_TRY(catalogue::add_users_ideas(call.services.file_system, call.services.data_root, {idea}));
    return added_answer(call, {idea}, nullptr);
  }
  WB_TRY_ASSIGN(const session::SessionView* view,
                call.context.session->current(session::FoldDepth::brief));
  WB_TRY(refuse_known_id(session_ideas(*view), idea.id));
  WB_TRY_ASSIGN(const std::int64_t seq, call.context.log("idea_recorded", {{"idea", idea.id},
                                                                           {"entry", to_json(idea)},
                                                                           {"variant", nullptr}}));
  return added_answer(call, {idea}, seq);
}

/// The ideas of a file, marked as its own. What it says of trials stays its word.
Result<Json> import_ideas(const Call& call) {
  if (!call.args.contains("file")) {
    return Error{ErrorCode::usage, "import", "ideas", "no file was named", "give --file FILE"};
  }
  const fs::path file = call.args["file"].get<std::string>();
  WB_TRY_ASSIGN(const std::string text,
                call.services.file_system.read(file, catalogue::k_list_max_bytes));
  WB_TRY_ASSIGN(std::vector<Idea> ideas, catalogue::parse_ideas(text, file.string()));
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(call.services));
  for (Idea& idea : ideas) {
    WB_TRY(refuse_known_id(book.ideas, idea.id));
    if (idea.pack.empty()) idea.pack = file.stem().string();
  }
  WB_TRY(catalogue::add_users_ideas(call.services.file_system, call.services.data_root, ideas));
  return added_answer(call, ideas, nullptr);
}

Result<Json> ideas_body(const Call& call) {
  const std::string action = call.args.value("action", "list");
  if (call.args.value("in_session", false) && action != "add") {
    return Error{ErrorCode::usage, action, "ideas in a session", "only `add` writes there",
                 "leave out --in-session"};
  }
  if (action == "add") return add_idea(call);
  if (action == "import") return import_ideas(call);
  return list_ideas(call);
}

Result<Json> ideas_sample(FakeEngine& fake, const Json& args) {
  const bool adds = args.value("action", "list") == "add";
  return Json{{"ideas", Json::array()},
              {"added", adds ? Json::array({args}) : Json::array()},
              {"file", ""},
              {"event",
               adds && args.value("in_session", false) ? Json(fake.calls().size()) : Json(nullptr)},
              {"text", "dry run\n"}};
}

}  // namespace

Result<void> check_idea_ids(const engine::Context& context, const Json& ids) {
  if (!ids.is_array() || ids.empty()) return {};
  WB_TRY_ASSIGN(const ChangeBook book, load_change_book(context.services));
  std::vector<std::string> known;
  for (const Idea& idea : book.ideas) known.push_back(idea.id);
  if (context.session) {
    WB_TRY_ASSIGN(const session::SessionView* view,
                  context.session->current(session::FoldDepth::brief));
    for (const Idea& idea : session_ideas(*view)) known.push_back(idea.id);
  }
  for (const Json& id : ids) {
    const auto word = id.get<std::string>();
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string near = variant::did_you_mean(word, known);
    return Error{ErrorCode::not_found, "find the idea", word, "the register has none of that id",
                 near.empty() ? std::string("`sdpa-wb ideas` lists them; `ideas add` adds one")
                              : fmt::format("did you mean {}?", near)};
  }
  return {};
}

const Verb& verb_ideas() {
  static const Verb verb{
      .spec =
          {.name = "ideas",
           .doc = "the register of ideas: what was thought of, where, and what came of it",
           .session = SessionNeed::reads,
           .arguments =
               {choice_argument("action", "what to do (default: list)", {"list", "add", "import"})
                    .positional(),
                string_argument("id", "add: a word of lower-case letters, digits and '_'"),
                text_argument("title", "add: what to do, in a few words"),
                string_argument("technique", "list, add: of the catalogue's techniques"),
                id_argument("kernel", "list, add: the kernel that it is for (default: any)"),
                choice_argument("state", "list: only these; add: what is known (default: open)",
                                {"open", "tried", "won", "lost", "no_gain"}),
                choice_argument("backend", "add: its device (default: cuda)", {"cpu", "cuda"}),
                ids_argument("helps", "add: what it works against: launch latency memory compute"),
                ids_argument("dtypes", "add: for these alone"),
                string_argument("when", "add: a predicate over the problem, such as 'D <= 128'"),
                string_argument("device", "add: part of the device's name"),
                string_argument("family",
                                "add: tiling, copies, scheduling, parallelism, "
                                "tensor_cores or softmax (default: its technique's)"),
                configuration_argument("add: the parameters that turn it on, NAME=VALUE"),
                text_argument("source", "add: where it comes from"),
                choice_argument("by", "add: who had it (default: person)",
                                {"person", "catalogue", "agent"}),
                string_argument("file", "import: a file of the form of kernels/ideas.json")
                    .as_path(),
                flag_argument("in_session",
                              "add: into the session's log, not into the user's data folder")},
           .result = {{"ideas",
                       "list: id, title, state, place (shipped, user, session), technique, "
                       "kernels, scope, source, by, foreign, event, effect (tried, won, lost, "
                       "speedup, low, high, trials: session, log_sha256, iteration, event; or "
                       "null)"},
                      {"added", "list: the new ones"},
                      {"file", "string: the user's file"},
                      {"event", "int or null: idea_recorded"},
                      {"text", "string: the same for people"}},
           .writes_if = "in_session",
           .only_logs = true},
      .body = ideas_body,
      .sample = ideas_sample};
  return verb;
}

}  // namespace wb::verbs
