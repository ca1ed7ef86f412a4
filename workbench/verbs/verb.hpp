// SPDX-License-Identifier: MIT
// A complete verb: its spec (name, arguments, answer), one call as its body sees it, and what
// answers become for people and scripts. verbs/NAME.cpp defines `const Verb& verb_NAME()`, and a
// line of verb_list.inc puts it into the table (table.hpp), from which command line, Lua, Python,
// tools and pages are made.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "verbs/answer_forms.hpp"

namespace wb::session {
class Session;
}
namespace wb::engine {
class Engine;
struct Context;
struct Services;
}  // namespace wb::engine

namespace wb::verbs {

class FakeEngine;

/// Frozen words. `id` names a kernel, variant label, session folder, playbook or event; `text` may
/// hold line breaks; `configuration` maps parameter names to integers; `file_map` maps paths inside
/// a kernel's folder to their new content; `edit_list` is a list of maps {path, search, replace};
/// `proposal_list` a list of maps with the arguments of `propose`.
enum class ArgumentKind {
  string,
  text,
  enumeration,
  integer,
  real,
  boolean,
  id,
  id_list,
  configuration,
  file_map,
  edit_list,
  proposal_list
};
std::string_view to_string(ArgumentKind value);

struct VerbSpec;

/// Made by the functions of arguments.hpp.
struct ArgumentSpec {
  std::string_view name;
  ArgumentKind kind = ArgumentKind::string;
  std::string_view unit = {};  ///< for real and integer: "s", "USD", "ratio", …
  std::string_view doc = {};   ///< one line
  bool is_required = false;
  std::vector<std::string_view> choices = {};  ///< for enumeration
  double min = 0, max = 0;                     ///< for real and integer; both 0: unbounded
  bool is_positional = false;                  ///< on the command line
  bool is_path = false;                        ///< for id and string: names may hold line breaks
  /// For proposal_list: each map has the arguments of this verb.
  const VerbSpec* item = nullptr;

  [[nodiscard]] ArgumentSpec required() const;
  [[nodiscard]] ArgumentSpec positional() const;
  [[nodiscard]] ArgumentSpec as_path() const;
  [[nodiscard]] ArgumentSpec in(std::string_view unit_word) const;
  [[nodiscard]] ArgumentSpec between(double least, double most) const;
};

/// The session that a verb needs.
enum class SessionNeed { none, creates, reads, writes, optional };

struct VerbSpec {
  std::string_view name;  ///< `a_b` is the command `a b`
  std::string_view doc;   ///< one line
  SessionNeed session = SessionNeed::none;
  std::vector<ArgumentSpec> arguments = {};
  /// Result fields: name -> "type: meaning (unit)".
  std::vector<std::pair<std::string_view, std::string_view>> result = {};
  bool is_long = false;  ///< may run for minutes, so tools make it a job
  bool reads_only = false;
  bool destructive = false;
  bool in_playbook = true;  ///< offered to Lua and agents inside a session
  // For runnable() only; no front end shows them.
  std::string_view writes_if = {};  ///< a flag that makes a reading verb write
  bool only_logs = false;           ///< writes also where nothing can be measured any more
  bool drives = false;              ///< its body opens, holds and records through other verbs
};

/// Checks and completes the arguments of one call: unknown names (with a did-you-mean), missing
/// arguments, wrong types, out-of-range numbers. Absent optional arguments stay absent. Errors:
/// usage.
Result<Json> check_arguments(const VerbSpec& verb, const Json& args);

struct Call {
  engine::Engine& engine;  ///< for bodies that call other verbs
  engine::Context& context;
  const engine::Services& services;  ///< the context's; for bodies that need no context.hpp
  const Json& args;                  ///< checked by check_arguments()
  const fs::path& folder;            ///< folder of the named session; empty without one
  bool in_playbook = false;
};

/// Answers one call. If the spec says that the verb writes, the context holds the session.
using Body = std::function<Result<Json>(const Call&)>;

/// The session that a verb reads: the held one, else the named one; valid until the next call.
/// Errors: usage (neither), those of Session::open_reader.
Result<const session::Session*> session_to_read(const Call& call);
/// The folder of that session. Errors: usage (neither).
Result<fs::path> folder_to_read(const Call& call);

struct Verb {
  VerbSpec spec;
  /// Empty when the module playbook registers it (register_playbook_verbs).
  Body body = nullptr;
  /// Renders an answer without a field `text` for people, ending with a newline; nullptr: shown as
  /// JSON.
  std::string (*text)(const Json& answer) = nullptr;
  /// The exit code of an answer; nullptr: always 0.
  ExitCode (*exit_code)(const Json& answer) = nullptr;
  /// The sample answer in a playbook's dry run (fake_engine.hpp). nullptr: a verb without a session
  /// runs normally; any other answers with an empty text.
  Result<Json> (*sample)(FakeEngine& fake, const Json& args) = nullptr;
};

}  // namespace wb::verbs
