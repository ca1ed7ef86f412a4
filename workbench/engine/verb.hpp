// SPDX-License-Identifier: MIT
// The verb table: every action of the workbench with its arguments and flags. The
// command line, Lua, Python and agent tools are generated from it or checked against it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::engine {

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

struct ArgumentSpec {
  std::string_view name;
  ArgumentKind kind = ArgumentKind::string;
  std::string_view unit = {};  ///< of real and integer: "s", "USD", "ratio", …
  std::string_view doc = {};   ///< one line
  bool required = false;
  std::vector<std::string_view> choices = {};  ///< of enumeration
  double min = 0, max = 0;                     ///< of real and integer; both 0: unbounded
  bool positional = false;                     ///< on the command line
  bool is_path = false;                        ///< of id and string: names may hold line breaks
};

/// What a verb needs of a session.
enum class SessionNeed { none, creates, reads, writes, optional };

struct VerbSpec {
  std::string_view name;  ///< `a_b` is the command `a b`
  std::string_view doc;   ///< one line
  SessionNeed session = SessionNeed::none;
  std::vector<ArgumentSpec> arguments = {};
  /// Result fields: name -> "type: meaning (unit)".
  std::vector<std::pair<std::string_view, std::string_view>> result = {};
  bool is_long = false;  ///< may run for minutes: tools make it a job
  bool reads_only = false;
  bool destructive = false;
  bool in_playbook = true;  ///< offered to Lua and agents inside a session
};

std::span<const VerbSpec> verb_table();
/// nullptr when there is none.
const VerbSpec* find_verb(std::string_view name);

/// Checks and completes the arguments of one call: unknown names (with a did-you-mean), missing
/// ones, wrong types, out-of-range numbers. Absent optional arguments stay absent.
/// Errors: usage.
Result<Json> check_arguments(const VerbSpec& verb, const Json& args);

/// The table as JSON, for bindings, docs and tools.
Json verb_table_json();

}  // namespace wb::engine
