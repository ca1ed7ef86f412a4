// SPDX-License-Identifier: MIT
#include "catalogue/ideas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/ascii.hpp"
#include "core/json.hpp"

namespace wb::catalogue {
namespace {

constexpr ListFormat k_ideas{.key = "ideas", .entry = "idea"};
constexpr std::array k_states{IdeaState::open, IdeaState::tried, IdeaState::won, IdeaState::lost,
                              IdeaState::no_gain};
constexpr std::array<std::string_view, 5> k_state_words{"open", "tried", "won", "lost", "no_gain"};
constexpr std::array<std::string_view, 3> k_authors{"person", "catalogue", "agent"};
constexpr std::array<std::string_view, 2> k_idea_backends{"cpu", "cuda"};
constexpr std::array<std::string_view, 4> k_idea_bounds{"launch", "latency", "memory", "compute"};
constexpr std::string_view k_sessions = "sessions/";

Range read_range(ObjectReader& reader, std::string_view key) {
  Range range;
  const Json* json = reader.member(key);
  if (json == nullptr) return range;
  const bool is_pair = json->is_array() && json->size() == 2 && (*json)[0].is_number_integer() &&
                       (*json)[1].is_number_integer();
  if (is_pair) range = {(*json)[0].get<std::int64_t>(), (*json)[1].get<std::int64_t>()};
  if (!is_pair || range.low < 1 || range.high < range.low) {
    reader.fail(key, "must be [least, most], both at least 1");
  }
  return range;
}

std::map<std::string, std::int64_t> read_parameters(ObjectReader& reader) {
  std::map<std::string, std::int64_t> parameters;
  const Json* json = reader.member("parameters");
  if (json == nullptr) return parameters;
  for (const auto& [name, value] : json->items()) {  // of an array: its positions
    const auto whole = whole_number(value);
    if (!json->is_object() || !whole) {
      reader.fail("parameters", "must be names with whole numbers");
      return parameters;
    }
    parameters[name] = *whole;
  }
  return parameters;
}

IdeaScope read_scope(ObjectReader& reader) {
  IdeaScope scope;
  scope.device = reader.string_or("device", "");
  scope.architecture_from = reader.string_or("architecture_from", "");
  if (!scope.architecture_from.empty() &&
      !is_at_least(scope.architecture_from, scope.architecture_from)) {
    reader.fail("architecture_from", "must be such as sm_90");
  }
  scope.kind = read_problem_kind(reader);
  scope.head_dim = read_range(reader, "D");
  scope.seq_q = read_range(reader, "Sq");
  scope.seq_kv = read_range(reader, "Skv");
  return scope;
}

/// "2026-11-21", or nothing.
bool is_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  return std::count_if(text.begin(), text.end(), ascii::is_digit) == 8;
}

Json range_json(const Range& range) {
  return Json::array({range.low, range.high});
}

bool is_whole(const Range& range) {
  return range.low == Range{}.low && range.high == Range{}.high;
}

bool continues_name(std::string_view text, std::size_t at) {
  return at < text.size() && (ascii::is_alnum(text[at]) || text[at] == '-' || text[at] == '_');
}

}  // namespace

std::string_view to_string(IdeaState value) {
  return k_state_words.at(static_cast<std::size_t>(value));
}

std::string_view to_string(IdeaPlace value) {
  switch (value) {
    case IdeaPlace::shipped:
      return "shipped";
    case IdeaPlace::user:
      return "user";
    case IdeaPlace::session:
      return "session";
  }
  throw std::logic_error("an IdeaPlace outside its enumeration");
}

Result<Idea> read_idea(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  Idea idea;
  idea.id = reader.string("id");
  if (!variant::is_kernel_name(idea.id))
    reader.fail("id", "must be lower-case letters, digits and '_'");
  idea.title = read_filled(reader, "title");
  idea.technique = reader.string_or("technique", "");
  if (!idea.technique.empty()) {
    check_word(reader, "technique", idea.technique, variant::known_techniques());
  }
  idea.family = reader.string_or("family", "");
  idea.backends = read_words(reader, "backends", k_idea_backends);
  if (idea.backends.empty()) reader.fail("backends", "must name one");
  idea.helps = read_words(reader, "helps", k_idea_bounds);
  idea.kernels = reader.strings_or("kernels", {});
  idea.has = reader.string_or("has", "");
  idea.parameters = read_parameters(reader);
  idea.needs = read_words(reader, "needs", variant::known_techniques());
  idea.replaced_by = read_words(reader, "replaced_by", variant::known_techniques());
  idea.scope = read_scope(reader);
  const std::string state = reader.string_or("state", "open");
  check_word(reader, "state", state, k_state_words);
  for (const IdeaState one : k_states) {
    if (to_string(one) == state) idea.state = one;
  }
  idea.source = read_filled(reader, "source");
  idea.since = reader.string_or("since", "");
  if (!idea.since.empty() && !is_day(idea.since)) reader.fail("since", "must be YYYY-MM-DD");
  idea.by = reader.string_or("by", "person");
  check_word(reader, "by", idea.by, k_authors);
  idea.pack = reader.string_or("pack", "");
  WB_TRY(reader.finish());
  return idea;
}

Json to_json(const Idea& idea) {
  Json json{{"id", idea.id},
            {"title", idea.title},
            {"backends", idea.backends},
            {"state", to_string(idea.state)},
            {"source", idea.source},
            {"by", idea.by}};
  const auto put = [&json](const char* key, const auto& value) {
    if (!value.empty()) json[key] = value;
  };
  put("technique", idea.technique);
  put("family", idea.family);
  put("helps", idea.helps);
  put("kernels", idea.kernels);
  put("has", idea.has);
  put("parameters", idea.parameters);
  put("needs", idea.needs);
  put("replaced_by", idea.replaced_by);
  put("device", idea.scope.device);
  put("architecture_from", idea.scope.architecture_from);
  put("when", idea.scope.kind.when);
  put("since", idea.since);
  put("pack", idea.pack);
  for (const Dtype dtype : idea.scope.kind.dtypes) json["dtypes"].push_back(to_string(dtype));
  if (!is_whole(idea.scope.head_dim)) json["D"] = range_json(idea.scope.head_dim);
  if (!is_whole(idea.scope.seq_q)) json["Sq"] = range_json(idea.scope.seq_q);
  if (!is_whole(idea.scope.seq_kv)) json["Skv"] = range_json(idea.scope.seq_kv);
  return json;
}

Result<std::vector<Idea>> parse_ideas(std::string_view text, std::string_view what) {
  return parse_list(text, what, k_ideas, read_idea, &Idea::id);
}

Result<std::vector<Idea>> load_ideas(const FileSystem& file_system,
                                     const variant::SearchPath& search_path) {
  const auto found = find_list(file_system, search_path, k_ideas);
  if (!found) {
    if (found.error().code == ErrorCode::not_found) return std::vector<Idea>{};
    return found.error();
  }
  return parse_ideas(found->text, found->path);
}

fs::path ideas_file(const fs::path& data_root) {
  return data_root.empty() ? fs::path() : data_root / "ideas.json";
}

Result<std::vector<Idea>> load_users_ideas(const FileSystem& file_system,
                                           const fs::path& data_root) {
  const fs::path file = ideas_file(data_root);
  if (file.empty()) return std::vector<Idea>{};
  const auto text = file_system.read(file, k_list_max_bytes);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return std::vector<Idea>{};
    return text.error();
  }
  WB_TRY_ASSIGN(std::vector<Idea> ideas, parse_ideas(*text, file.string()));
  for (Idea& idea : ideas) idea.place = IdeaPlace::user;
  return ideas;
}

Result<void> add_users_ideas(FileSystem& file_system, const fs::path& data_root,
                             const std::vector<Idea>& more) {
  const fs::path file = ideas_file(data_root);
  if (file.empty()) {
    return Error{ErrorCode::usage, "keep ideas for", "this user",
                 "neither XDG_DATA_HOME nor HOME says where", "set one of them"};
  }
  WB_TRY_ASSIGN(std::vector<Idea> all, load_users_ideas(file_system, data_root));
  for (const Idea& idea : more) {
    const bool is_there =
        std::any_of(all.begin(), all.end(), [&](const Idea& one) { return one.id == idea.id; });
    if (is_there) {
      return Error{ErrorCode::invalid, "add the idea", idea.id, "the register has one of that id",
                   "give it another id"};
    }
    all.push_back(idea);
  }
  Json list = Json::array();
  for (const Idea& idea : all) list.push_back(to_json(idea));
  const Json whole{{"version", k_list_version}, {"ideas", std::move(list)}};
  std::string text = whole.dump(2) + "\n";
  if (text.size() > k_list_max_bytes) {
    return Error{ErrorCode::limit, "add ideas to", file.string(),
                 fmt::format("it would be larger than {} bytes", k_list_max_bytes),
                 "remove ideas that are done"};
  }
  WB_TRY(file_system.make_directories(data_root));
  return file_system.write_atomic(file, text, Durability::synced);
}

bool covers(const IdeaScope& scope, std::string_view device, std::string_view architecture,
            const problem::Problem& problem) {
  const auto is_same = [](char a, char b) { return ascii::lower(a) == ascii::lower(b); };
  const std::string& part = scope.device;
  if (!part.empty() && std::search(device.begin(), device.end(), part.begin(), part.end(),
                                   is_same) == device.end()) {
    return false;
  }
  if (!scope.architecture_from.empty() && !is_at_least(architecture, scope.architecture_from)) {
    return false;
  }
  return scope.head_dim.has(problem.D) && scope.seq_q.has(problem.Sq) &&
         scope.seq_kv.has(problem.Skv) && is_of(scope.kind, problem);
}

std::vector<std::string> cited_sessions(std::string_view source) {
  std::vector<std::string> names;
  for (std::size_t at = source.find(k_sessions); at != std::string_view::npos;
       at = source.find(k_sessions, at)) {
    at += k_sessions.size();
    const std::size_t begin = at;
    while (continues_name(source, at)) ++at;
    if (at > begin) names.emplace_back(source.substr(begin, at - begin));
  }
  return names;
}

bool cites_session(std::string_view source, std::string_view session) {
  const auto names = cited_sessions(source);
  return std::find(names.begin(), names.end(), session) != names.end();
}

Technique as_technique(const Idea& idea) {
  Technique technique;
  technique.name = idea.id;
  technique.title = idea.title;
  technique.family = idea.family;
  technique.backends = idea.backends;
  technique.helps = idea.helps;
  technique.impact_source = idea.source;
  technique.complexity = idea.parameters.empty() ? "medium" : "low";
  technique.risk = "medium";
  technique.hours_low = idea.parameters.empty() ? 1 : 0.1;
  technique.hours_high = idea.parameters.empty() ? 16 : 0.5;
  technique.needs = idea.needs;
  technique.replaced_by = idea.replaced_by;
  technique.architecture_from = idea.scope.architecture_from;
  technique.kind = idea.scope.kind;
  return technique;
}

}  // namespace wb::catalogue
