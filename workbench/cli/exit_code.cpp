// SPDX-License-Identifier: MIT
#include "cli/exit_code.hpp"

#include "core/invalidity.hpp"

namespace wb::cli {
namespace {

ExitCode of_invalidity(std::string_view word) {
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

/// Rows of `measure` say it by their outcome, those of `compare` by their invalidity.
bool machine_left_no_figure(const Json& rows) {
  bool any = false;
  for (const Json& row : rows) {
    const auto is_number = [&row](const char* key) { return row.value(key, Json()).is_number(); };
    if (is_number("median_us") || is_number("speedup")) return false;
    any = any || row.value("outcome", "") == "environment" ||
          row.value("invalidity", Json()) == "environment";
  }
  return any;
}

ExitCode of_problem_rows(const Json& rows) {
  for (const Json& row : rows) {
    const std::string outcome = row.value("outcome", "");
    if (parse_invalidity(outcome)) return of_invalidity(outcome);
    if (outcome == "not_available") return ExitCode::environment;
  }
  return ExitCode::variant_failed;
}

}  // namespace

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

ExitCode exit_code_of(std::string_view verb, const Json& result) {
  if (verb == "check" && !result.value("pass", false)) return of_problem_rows(result["problems"]);
  if (verb == "profile" && !result.value("taken", false)) {
    return of_problem_rows(result["problems"]);
  }
  if (verb == "sanitize" && !result.value("pass", false)) return of_problem_rows(result["runs"]);
  // What a busy machine let nothing be measured of, though it may be measured another time.
  const bool is_timed = verb == "measure" || verb == "compare";
  if (is_timed && machine_left_no_figure(result["problems"])) return ExitCode::environment;
  if (verb == "audit" && result.value("contradictions", 0) > 0) return ExitCode::variant_failed;
  if (verb == "doctor" && !result.value("healthy", false)) return ExitCode::variant_failed;
  if (verb == "diff") {
    if (result.value("outcome", "") == "not_comparable") return ExitCode::data;
    const bool worse = result.value("outcome", "") == "worse";
    if (worse || result.value("regressions", 0) > 0) return ExitCode::variant_failed;
  }
  if (verb == "reproduce") {
    const std::string outcome = result.value("outcome", "");
    if (outcome == "not_reproduced") return ExitCode::variant_failed;
    if (outcome == "environment_differs") return ExitCode::environment;
  }
  if (verb == "dispatch_adopt") {
    for (const Json& row : result["rules"]) {
      if (row.value("outcome", "") == "failed") return ExitCode::variant_failed;
    }
  }
  if (verb == "iterate" || verb == "tune" || verb == "race") {
    const std::string outcome = result.value("outcome", "");
    if (outcome == "stopped") return ExitCode::limit;
    if (outcome == "invalid") return of_invalidity(result.value("invalidity", ""));
  }
  return ExitCode::ok;
}

}  // namespace wb::cli
