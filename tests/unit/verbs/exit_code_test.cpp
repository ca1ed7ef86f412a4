// SPDX-License-Identifier: MIT
#include "verbs/exit_code.hpp"

#include "core/json.hpp"
#include "support/catch.hpp"
#include "verbs/table.hpp"

using namespace wb;
using namespace wb::verbs;

namespace {

ExitCode exit_code_of(std::string_view verb, const Json& answer) {
  return verbs::exit_code_of(*find_verb(verb), answer);
}

}  // namespace

TEST_CASE("each error code has its documented exit code", "[verbs][exit_code]") {
  const std::pair<ErrorCode, int> expected[] = {
      {ErrorCode::usage, 2},      {ErrorCode::not_found, 2},  {ErrorCode::parse, 65},
      {ErrorCode::invalid, 65},   {ErrorCode::io, 74},        {ErrorCode::no_space, 74},
      {ErrorCode::locked, 75},    {ErrorCode::read_only, 73}, {ErrorCode::too_new, 65},
      {ErrorCode::damaged, 65},   {ErrorCode::compile, 3},    {ErrorCode::wrong_result, 4},
      {ErrorCode::limit, 5},      {ErrorCode::security, 6},   {ErrorCode::environment, 76},
      {ErrorCode::canceled, 130}, {ErrorCode::internal, 70}};
  for (const auto& [code, exit_code] : expected) {
    INFO(to_string(code));
    CHECK(static_cast<int>(verbs::exit_code_of(code)) == exit_code);
  }
}

TEST_CASE("failed results are not success", "[verbs][exit_code]") {
  const auto iterate = [](const char* outcome, const Json& invalidity) {
    return static_cast<int>(
        exit_code_of("iterate", {{"outcome", outcome}, {"invalidity", invalidity}}));
  };
  CHECK(iterate("win", nullptr) == 0);
  CHECK(iterate("no_gain", nullptr) == 0);
  CHECK(iterate("stopped", nullptr) == 5);
  CHECK(iterate("invalid", "compile") == 3);
  CHECK(iterate("invalid", "correctness") == 4);
  CHECK(iterate("invalid", "timeout") == 5);
  CHECK(iterate("invalid", "runtime") == 1);
  CHECK(iterate("invalid", "constraints") == 1);
  CHECK(iterate("invalid", "environment") == 76);
  const auto check = [](bool pass, const char* outcome) {
    return static_cast<int>(exit_code_of(
        "check", {{"pass", pass}, {"problems", {{{"outcome", "pass"}}, {{"outcome", outcome}}}}}));
  };
  CHECK(check(true, "not_supported") == 0);
  CHECK(check(false, "correctness") == 4);
  CHECK(check(false, "not_supported") == 1);
  CHECK(static_cast<int>(exit_code_of("doctor", {{"healthy", false}})) == 1);
}

TEST_CASE("a script sees that a rule failed here, and a declined one is an answer",
          "[verbs][exit_code]") {
  const auto adopt = [](const char* outcome) {
    return static_cast<int>(exit_code_of(
        "dispatch_adopt", {{"rules", {{{"outcome", "adopted"}}, {{"outcome", outcome}}}}}));
  };
  CHECK(adopt("adopted") == 0);
  CHECK(adopt("served") == 0);
  CHECK(adopt("none") == 0);
  CHECK(adopt("declined") == 0);
  CHECK(adopt("failed") == 1);
}

TEST_CASE("a script sees regressions and what is not reproduced", "[verbs][exit_code]") {
  const auto diff = [](const char* outcome, int regressions) {
    return static_cast<int>(
        exit_code_of("diff", {{"outcome", outcome}, {"regressions", regressions}}));
  };
  CHECK(diff("better", 0) == 0);
  CHECK(diff("same", 0) == 0);
  CHECK(diff("ambiguous", 0) == 0);
  CHECK(diff("worse", 0) == 1);
  CHECK(diff("better", 1) == 1);  // a suite that gains may hide a problem that lost
  CHECK(diff("not_comparable", 0) == 65);
  const auto reproduce = [](const char* outcome) {
    return static_cast<int>(exit_code_of("reproduce", {{"outcome", outcome}}));
  };
  CHECK(reproduce("reproduced") == 0);
  CHECK(reproduce("not_reproduced") == 1);
  CHECK(reproduce("environment_differs") == 76);
}
