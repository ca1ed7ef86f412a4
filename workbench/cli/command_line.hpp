// SPDX-License-Identifier: MIT
// The command line, generated from the verb table: sub-commands, options, help. Verb `a_b` is the
// command `a b`.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cli/services.hpp"
#include "core/json.hpp"
#include "verbs/table.hpp"

namespace wb::cli {

/// One verb to call.
struct Command {
  std::string verb;
  Json args = Json::object();
  GlobalOptions options;
};

/// Text to print and an exit code: help, version, or a usage error (with a did-you-mean).
struct PrintAndExit {
  std::string out, err;
  int exit_code = 0;
};

/// `words` excludes the program's name. `file_map` values that begin with '@' name files to read.
std::variant<Command, PrintAndExit> parse_command_line(const std::vector<std::string>& words,
                                                       const FileSystem& file_system,
                                                       verbs::Table table = verbs::verb_table());

/// The reference of all verbs in Markdown, made from the table.
std::string command_reference(verbs::Table table = verbs::verb_table());

}  // namespace wb::cli
