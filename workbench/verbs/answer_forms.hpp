// SPDX-License-Identifier: MIT
// An answer as text for people and as an exit code for scripts (docs/guide/command_line.md). Each
// verb's file composes its own from these parts; programs use --json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::verbs {

/// A value as JSON, on one line unless indented. Bytes that are not UTF-8 (from a source file or a
/// compiler's output) become U+FFFD.
std::string json_text(const Json& value, int indent = -1);

/// A dash for null; numbers with four digits.
std::string cell(const Json& value);
/// A plain table of these members of each item; columns are as wide as their widest cell.
std::string rows_of(const Json& list, const std::vector<std::string>& keys);
/// " [low, high]"; empty without an interval.
std::string interval_text(const Json& interval);
/// One line for each of the answer's `notes`.
std::string notes_of(const Json& answer);
/// For `iterate` and searching verbs.
std::string iteration_text(const Json& answer);
/// For searching verbs: with the best of the evaluated configurations.
std::string search_text(const Json& answer);

/// Frozen values: scripts depend on them.
enum class ExitCode {
  ok = 0,
  variant_failed = 1,  ///< runtime or constraints invalidity; `doctor` found something missing;
                       ///< `diff` found a regression; `reproduce` did not reproduce;
                       ///< `audit` found a contradiction
  usage = 2,           ///< unknown verb, option, kernel, suite, session or id
  compile = 3,
  wrong_result = 4,
  limit = 5,  ///< a budget, deadline or size cap
  security = 6,
  data = 65,  ///< malformed, damaged or too new a file; `diff` found nothing to compare
  internal = 70,
  cannot_create = 73,  ///< read-only folder
  io = 74,             ///< read or write refused, disk full
  locked = 75,         ///< another process holds it; try again later
  environment = 76,    ///< the machine, not the variant, is at fault
  interrupted = 130
};

ExitCode exit_code_of(ErrorCode code);
/// For an outcome word that says why a variant is invalid.
ExitCode exit_code_of_invalidity(std::string_view word);
/// For the first row with a failed `outcome`; variant_failed when no row has one.
ExitCode exit_code_of_rows(const Json& rows);
/// True when only a busy machine prevented a measurement, so that a later attempt may succeed. Rows
/// of `measure` say so in their outcome, those of `compare` in their invalidity.
bool is_machine_too_busy(const Json& rows);
/// For `iterate` and searching verbs: invalid and stopped iterations are not 0.
ExitCode exit_code_of_iteration(const Json& answer);

}  // namespace wb::verbs
