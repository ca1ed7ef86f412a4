// SPDX-License-Identifier: MIT
// Exit codes of sdpa-wb (docs/guide/command_line.md), and the codes of errors and outcomes. Each
// verb maps its own answers in its own file.
#pragma once

#include <string_view>

#include "core/error.hpp"
#include "core/json_fwd.hpp"

namespace wb::verbs {

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
