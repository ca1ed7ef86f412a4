// SPDX-License-Identifier: MIT
#include "verbs/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "session/session.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {
namespace {

constexpr std::array<std::pair<ArgumentKind, std::string_view>, 12> k_kind_words{{
    {ArgumentKind::string, "string"},
    {ArgumentKind::text, "text"},
    {ArgumentKind::enumeration, "enum"},
    {ArgumentKind::integer, "int"},
    {ArgumentKind::real, "real"},
    {ArgumentKind::boolean, "bool"},
    {ArgumentKind::id, "id"},
    {ArgumentKind::id_list, "id_list"},
    {ArgumentKind::configuration, "configuration"},
    {ArgumentKind::file_map, "file_map"},
    {ArgumentKind::edit_list, "edit_list"},
    {ArgumentKind::proposal_list, "proposal_list"},
}};

constexpr std::size_t k_max_string_bytes = 4096;
/// In the log's form, which is longer with escaped characters: the events of a call hold one or two
/// texts beside other fields, and a line has room for 64 KiB.
constexpr std::size_t k_max_text_bytes = 20'000;
constexpr std::size_t k_max_file_bytes = 1u << 20;
constexpr std::size_t k_max_edits = 64;
constexpr std::size_t k_max_proposals = 16;

/// Why the value does not fit the argument, or empty.
std::string misfit_of_number(const ArgumentSpec& spec, double value) {
  if (!std::isfinite(value)) return "is not a finite number";
  const bool bounded = spec.min != 0 || spec.max != 0;
  if (bounded && !(value >= spec.min && value <= spec.max)) {
    return fmt::format("is {}, but must lie between {} and {}{}{}", value, spec.min, spec.max,
                       spec.unit.empty() ? "" : " ", spec.unit);
  }
  return {};
}

std::size_t logged_bytes(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace).size() - 2;
}

/// True for valid UTF-8: replacing a broken sequence leaves bytes, ignoring it leaves none.
bool is_utf8(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::ignore).size() - 2 ==
         logged_bytes(text);
}

std::string misfit_of_string(const ArgumentSpec& spec, const Json& value) {
  if (!value.is_string()) return fmt::format("must be a string, not {}", value.type_name());
  const auto& text = value.get_ref<const std::string&>();
  if (text.find('\0') != std::string::npos) return "holds a NUL byte";
  if (!is_utf8(text)) return fmt::format("is not UTF-8: {}", printable(text, 40));
  const bool is_text = spec.kind == ArgumentKind::text;
  const std::size_t most = is_text ? k_max_text_bytes : k_max_string_bytes;
  const std::size_t size = is_text ? logged_bytes(text) : text.size();
  if (size > most) {
    return fmt::format("is {} bytes long{}; at most {} are taken", size,
                       size > text.size() ? ", its escapes counted" : "", most);
  }
  if (!is_text && !spec.is_path && text.find('\n') != std::string::npos) {
    return "holds a line break";
  }
  return {};
}

std::string misfit_of_map(const ArgumentSpec& spec, const Json& value) {
  // An empty Lua table or JSON array may be given for a map: accept it as the empty map.
  if (value.is_array() && value.empty()) return {};
  if (!value.is_object()) return fmt::format("must be a map, not {}", value.type_name());
  for (const auto& [key, item] : value.items()) {
    if (!is_utf8(key)) return fmt::format("has a name that is not UTF-8: {}", printable(key, 40));
    if (spec.kind == ArgumentKind::configuration && !whole_number(item)) {
      return fmt::format("gives \"{}\" a value that is not an integer: {}", key,
                         printable(item.dump(-1, ' ', false, Json::error_handler_t::replace), 60));
    }
    if (spec.kind == ArgumentKind::file_map &&
        (!item.is_string() || item.get_ref<const std::string&>().size() > k_max_file_bytes)) {
      return fmt::format("gives file \"{}\" a value that is not text of at most 1 MiB", key);
    }
    if (spec.kind == ArgumentKind::file_map && !is_utf8(item.get_ref<const std::string&>())) {
      return fmt::format("gives file \"{}\" text that is not UTF-8; save it as such", key);
    }
  }
  return {};
}

/// A list of maps; an empty Lua table counts as the empty list.
std::string misfit_of_maps(const Json& value, std::size_t most) {
  if (value.is_object() && value.empty()) return {};
  if (!value.is_array()) return fmt::format("must be a list, not {}", value.type_name());
  if (value.size() > most) return fmt::format("has {} items; at most {}", value.size(), most);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i].is_object()) continue;
    return fmt::format("item {} must be a map, not {}", i + 1, value[i].type_name());
  }
  return {};
}

std::string misfit_of_edits(const Json& value) {
  static constexpr std::array<std::string_view, 3> k_keys{"path", "search", "replace"};
  if (auto fault = misfit_of_maps(value, k_max_edits); !fault.empty()) return fault;
  for (std::size_t i = 0; i < value.size() && value.is_array(); ++i) {
    for (const auto& [key, item] : value[i].items()) {
      if (std::find(k_keys.begin(), k_keys.end(), key) == k_keys.end()) {
        return fmt::format("item {} has \"{}\"; an edit has path, search and replace", i + 1,
                           printable(key, 40));
      }
      if (!item.is_string()) {
        return fmt::format("item {}: {} must be a string, not {}", i + 1, key, item.type_name());
      }
      const auto& text = item.get_ref<const std::string&>();
      if (text.size() > k_max_file_bytes) {
        return fmt::format("item {}: {} is {} bytes long; at most 1 MiB", i + 1, key, text.size());
      }
      if (!is_utf8(text)) return fmt::format("item {}: {} is not UTF-8", i + 1, key);
    }
    for (const std::string_view key : k_keys) {
      if (!value[i].contains(key)) return fmt::format("item {} has no {}", i + 1, key);
    }
  }
  return {};
}

/// Checks each item against the verb of the items.
std::string misfit_of_proposals(const VerbSpec& item, const Json& value) {
  if (auto fault = misfit_of_maps(value, k_max_proposals); !fault.empty()) return fault;
  for (std::size_t i = 0; i < value.size() && value.is_array(); ++i) {
    const auto checked = check_arguments(item, value[i]);
    if (!checked) return fmt::format("item {}: {}", i + 1, checked.error().cause);
  }
  return {};
}

bool is_list_of_maps(ArgumentKind kind) {
  return kind == ArgumentKind::edit_list || kind == ArgumentKind::proposal_list;
}

std::string misfit(const ArgumentSpec& spec, const Json& value) {
  switch (spec.kind) {
    case ArgumentKind::string:
    case ArgumentKind::text:
    case ArgumentKind::id:
      return misfit_of_string(spec, value);
    case ArgumentKind::enumeration: {
      if (!value.is_string()) return fmt::format("must be a word, not {}", value.type_name());
      std::vector<std::string> words(spec.choices.begin(), spec.choices.end());
      const auto& word = value.get_ref<const std::string&>();
      for (const auto& choice : words) {
        if (choice == word) return {};
      }
      const std::string near = variant::did_you_mean(word, words);
      return fmt::format("is \"{}\"; it must be one of {}{}", word, fmt::join(words, ", "),
                         near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
    }
    case ArgumentKind::integer:
      if (!value.is_number()) return fmt::format("must be an integer, not {}", value.type_name());
      if (!whole_number(value)) return fmt::format("must be an integer, not {}", value.dump());
      return misfit_of_number(spec, value.get<double>());
    case ArgumentKind::real:
      if (!value.is_number()) return fmt::format("must be a number, not {}", value.type_name());
      return misfit_of_number(spec, value.get<double>());
    case ArgumentKind::boolean:
      return value.is_boolean() ? std::string{}
                                : fmt::format("must be true or false, not {}", value.type_name());
    case ArgumentKind::id_list:
      if (value.is_object() && value.empty()) return {};
      if (!value.is_array()) return fmt::format("must be a list, not {}", value.type_name());
      for (const auto& item : value) {
        if (auto fault = misfit_of_string(spec, item); !fault.empty()) return "item " + fault;
      }
      return {};
    case ArgumentKind::configuration:
    case ArgumentKind::file_map:
      return misfit_of_map(spec, value);
    case ArgumentKind::edit_list:
      return misfit_of_edits(value);
    case ArgumentKind::proposal_list:
      return misfit_of_proposals(*spec.item, value);
  }
  return "has a kind that is not known";
}

/// The form that bodies read: whole floats become integers, and empty Lua tables or JSON arrays
/// become the empty map or list. The value must fit.
Json normal(const ArgumentSpec& spec, const Json& value) {
  const bool is_map =
      spec.kind == ArgumentKind::configuration || spec.kind == ArgumentKind::file_map;
  const bool is_list = spec.kind == ArgumentKind::id_list || is_list_of_maps(spec.kind);
  if (spec.kind == ArgumentKind::integer) return *whole_number(value);
  if (is_map && value.is_array()) return Json::object();
  if (is_list && value.is_object()) return Json::array();
  Json made = value;
  if (spec.kind == ArgumentKind::configuration) {
    for (Json& item : made) item = *whole_number(item);
  }
  return made;
}

Error usage(const VerbSpec& verb, std::string cause, std::string next) {
  return Error{ErrorCode::usage, "read the arguments of", std::string(verb.name), std::move(cause),
               std::move(next)};
}

}  // namespace

std::string_view to_string(ArgumentKind value) {
  for (const auto& [kind, word] : k_kind_words) {
    if (kind == value) return word;
  }
  return "string";
}

ArgumentSpec ArgumentSpec::required() const {
  ArgumentSpec made = *this;
  made.is_required = true;
  return made;
}

ArgumentSpec ArgumentSpec::positional() const {
  ArgumentSpec made = *this;
  made.is_positional = true;
  return made;
}

ArgumentSpec ArgumentSpec::as_path() const {
  ArgumentSpec made = *this;
  made.is_path = true;
  return made;
}

ArgumentSpec ArgumentSpec::in(std::string_view unit_word) const {
  ArgumentSpec made = *this;
  made.unit = unit_word;
  return made;
}

ArgumentSpec ArgumentSpec::between(double least, double most) const {
  ArgumentSpec made = *this;
  made.min = least;
  made.max = most;
  return made;
}

Result<Json> check_arguments(const VerbSpec& verb, const Json& args) {
  if (!(args.is_object() || args.is_null() || (args.is_array() && args.empty()))) {
    return usage(verb, fmt::format("arguments must be a map, not {}", args.type_name()),
                 "pass named arguments");
  }
  Json checked = Json::object();
  std::vector<std::string> names;
  for (const auto& spec : verb.arguments) names.emplace_back(spec.name);
  for (const auto& [key, value] : args.items()) {
    const ArgumentSpec* spec = nullptr;
    for (const auto& candidate : verb.arguments) {
      if (candidate.name == key) spec = &candidate;
    }
    if (spec == nullptr) {
      const std::string near = variant::did_you_mean(key, names);
      return usage(verb, fmt::format("there is no argument \"{}\"", key),
                   near.empty() ? fmt::format("it takes: {}", fmt::join(names, ", "))
                                : fmt::format("did you mean {}?", near));
    }
    if (value.is_null()) continue;  // the same as absent: tools with strict schemas send null
    if (auto fault = misfit(*spec, value); !fault.empty()) {
      return usage(verb, fmt::format("argument \"{}\" {}", key, fault), std::string(spec->doc));
    }
    checked[key] = normal(*spec, value);
  }
  for (const auto& spec : verb.arguments) {
    if (spec.is_required && !checked.contains(spec.name)) {
      return usage(verb, fmt::format("argument \"{}\" is missing", spec.name),
                   fmt::format("{}: {}", spec.name, spec.doc));
    }
  }
  return checked;
}

Result<fs::path> folder_to_read(const Call& call) {
  const session::Session* held = engine::session_of(call.context);
  if (held != nullptr) return held->folder();
  if (!call.folder.empty()) return call.folder;
  return Error{ErrorCode::usage, "read", "the session", "no session was named",
               "give --session DIR"};
}

Result<const session::Session*> session_to_read(const Call& call) {
  const session::Session* held = engine::session_of(call.context);
  if (held != nullptr) return held;
  WB_TRY_ASSIGN(const fs::path folder, folder_to_read(call));
  return engine::recent_of(call.context).read(call.services.file_system, folder);
}

}  // namespace wb::verbs
