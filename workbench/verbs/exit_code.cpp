// SPDX-License-Identifier: MIT
#include "verbs/exit_code.hpp"

#include "core/invalidity.hpp"
#include "core/json.hpp"

namespace wb::verbs {
ExitCode exit_code_of_invalidity(std::string_view word) {
  const auto invalidity = parse_invalidity(word);
  if (!invalidity) return ExitCode::variant_failed;
  switch (*invalidity) {
    case Invalidity::compile:
      return ExitCode::compile;
    case Invalidity::correctness:
      return ExitCode::wrong_result;
    case Invalidity::timeout:
      return ExitCode::limit;
    case Invalidity::environment:
      return ExitCode::environment;
    case Invalidity::constraints:
    case Invalidity::runtime:
      return ExitCode::variant_failed;
  }
  return ExitCode::variant_failed;
}

bool is_machine_too_busy(const Json& rows) {
  bool any = false;
  for (const Json& row : rows) {
    const auto is_number = [&row](const char* key) { return row.value(key, Json()).is_number(); };
    if (is_number("median_us") || is_number("speedup")) return false;
    any = any || row.value("outcome", "") == "environment" ||
          row.value("invalidity", Json()) == "environment";
  }
  return any;
}

ExitCode exit_code_of_rows(const Json& rows) {
  for (const Json& row : rows) {
    const std::string outcome = row.value("outcome", "");
    if (parse_invalidity(outcome)) return exit_code_of_invalidity(outcome);
    if (outcome == "not_available") return ExitCode::environment;
  }
  return ExitCode::variant_failed;
}

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
    case ErrorCode::not_found:
      return ExitCode::usage;
    case ErrorCode::parse:
    case ErrorCode::invalid:
    case ErrorCode::too_new:
    case ErrorCode::damaged:
      return ExitCode::data;
    case ErrorCode::io:
    case ErrorCode::no_space:
      return ExitCode::io;
    case ErrorCode::read_only:
      return ExitCode::cannot_create;
    case ErrorCode::locked:
      return ExitCode::locked;
    case ErrorCode::compile:
      return ExitCode::compile;
    case ErrorCode::wrong_result:
      return ExitCode::wrong_result;
    case ErrorCode::limit:
      return ExitCode::limit;
    case ErrorCode::security:
      return ExitCode::security;
    case ErrorCode::environment:
      return ExitCode::environment;
    case ErrorCode::canceled:
      return ExitCode::interrupted;
    case ErrorCode::internal:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

ExitCode exit_code_of_iteration(const Json& answer) {
  const std::string outcome = answer.value("outcome", "");
  if (outcome == "stopped") return ExitCode::limit;
  if (outcome == "invalid") return exit_code_of_invalidity(answer.value("invalidity", ""));
  return ExitCode::ok;
}

}  // namespace wb::verbs
