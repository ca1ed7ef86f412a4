// SPDX-License-Identifier: MIT
// Exit codes of sdpa-wb (docs/guide/command_line.md): one place maps errors and failed results to
// them.
#pragma once

#include "core/error.hpp"
#include "core/json.hpp"

namespace wb::cli {

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
/// Of a verb that ran: failed verdicts and invalid or stopped iterations are not 0.
ExitCode exit_code_of(std::string_view verb, const Json& result);

}  // namespace wb::cli
