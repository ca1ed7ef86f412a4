// SPDX-License-Identifier: MIT
#include "analyze/compiled_code.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::variant;

TEST_CASE("a clean record has no findings", "[analyze][ptxas]") {
  PtxasRecord record;
  CHECK(build_findings(record, "k@1").empty());
  record.kernels = {{.kernel = "flash", .registers = 255, .stack_bytes = 8}};
  CHECK(build_findings(record, "k@1").empty());
}

TEST_CASE("spills are one finding, which names the worst kernel", "[analyze][ptxas]") {
  PtxasRecord record;
  record.kernels = {
      {.kernel = "good", .registers = 100},
      {.kernel = "bad", .registers = 168, .spill_store_bytes = 4, .spill_load_bytes = 8},
      {.kernel = "worse", .registers = 255, .spill_store_bytes = 40, .spill_load_bytes = 56}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].analysis == "ptxas");
  CHECK(findings[0].statement ==
        "2 of 3 kernels of k@1 spill registers: worse stores 40 and loads 56 bytes a thread at 255 "
        "registers");
  CHECK(findings[0].figures["spilling_kernels"] == 2);
  CHECK(findings[0].figures["spill_load_bytes"] == 56);
  CHECK(findings[0].problem.empty());
  CHECK_FALSE(findings[0].unseen.empty());
}

TEST_CASE("every warning code is one finding", "[analyze][ptxas]") {
  PtxasRecord record;
  record.warnings = {{"C7519", "warpgroup.arrive is injected", "a", 7},
                     {"C7510", "wgmma instructions are serialized", "", 1},
                     {"C7519", "warpgroup.arrive is injected", "b", 1}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement == "ptxas C7510 for k@1: wgmma instructions are serialized");
  CHECK(findings[1].statement == "ptxas C7519 for a and 1 more: warpgroup.arrive is injected");
  CHECK(findings[1].figures["warnings"] == 2);
}

TEST_CASE("findings count what a bounded record left out", "[analyze][ptxas]") {
  PtxasRecord record;
  record.kernels = {{.kernel = "a", .registers = 168, .spill_load_bytes = 8}, {.kernel = "b"}};
  record.kernels_left_out = 98;
  record.spilling_left_out = 30;
  record.warnings = {{"C7510", "serialized", "a", 1}};
  record.warnings_left_out = 4;
  record.codes_left_out = {{"C7510", 4}};
  const auto findings = build_findings(record, "k@1");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].statement.starts_with("31 of 100 kernels of k@1 spill registers: a stores 0"));
  CHECK(findings[0].figures["kernels"] == 100);
  CHECK(findings[0].figures["spilling_kernels"] == 31);
  CHECK(findings[1].statement == "ptxas C7510 for a and 4 more: serialized");
  CHECK(findings[1].figures["warnings"] == 5);
}
