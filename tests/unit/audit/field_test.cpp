// SPDX-License-Identifier: MIT
// Checks of words and counts apply only to reports about kernels on a device: each text is audited
// once without the terms of that field and once with them.
#include <string>
#include <utility>
#include <vector>

#include "audit/checks.hpp"
#include "audit/field.hpp"
#include "audited.hpp"
#include "support/catch.hpp"

using namespace wb::audit;
using wb::audit::test::of_check;
using wb::audit::test::told;

namespace {

/// Read by its own terms, as the verb does.
Audited by_terms(const std::string& text) {
  return audit_document("report.md", text).value();
}

const std::string k_field = "\n\nIt was written with warps, cuDNN and HBM in mind.\n";

/// A contradiction of each check that reads words and counts.
const std::vector<std::pair<std::string, std::string>> k_words{
    {"counts", "12 configurations tested.\n\nAll 9 configurations were right.\n"},
    {"geometry", "dim3 block(64, 32);\n"},
    {"scaling",
     "| Batch | Heads | Time (ms) | vs B=1 | Status |\n|---|---|---|---|---|\n"
     "| 1 | 8 | 2.0 | 1.0x | start |\n| 4 | 8 | 3.0 | 1.5x | linear |\n"},
    {"scaling_claims", "B=1,H=4 -> B=2,H=8 = 2x more work\n"},
    {"list_totals", "- K: 8 MB\n- V: 8 MB\n- Total: 20 MB\n"},
    {"changes", "From 12.0 ms -> 3.0 ms = 6.0x\n"},
    {"superlatives",
     "| tool | total score |\n|---|---|\n| a | 97 |\n| b | 100 |\n\n"
     "Highest total score (97) of all\n"},
    {"repeated_figures", "# One\n\nDuration: 40 minutes\n\n## Summary\n\nDuration: 50 minutes\n"},
    {"throughput",
     "| B | H | S | D | Time (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
     "| 1 | 8 | 1024 | 64 | 0.100 | 21.5 |\n| 2 | 8 | 1024 | 64 | 0.200 | 21.5 |\n"
     "| 4 | 8 | 1024 | 64 | 0.500 | 25.0 |\n"}};

/// Of checks that recompute a table's or an equation's own figures.
const std::vector<std::pair<std::string, std::string>> k_figures{
    {"table_totals", "| part | tests |\n|---|---|\n| a | 20 |\n| b | 30 |\n| Total | 53 |\n"},
    {"ratio_columns",
     "| case | before (ms) | after (ms) | speedup |\n|---|---|---|---|\n| a | 40.0 | 20.0 | 2.0x "
     "|\n| b | 30.0 | 10.0 | 3.0x |\n| c | 80.0 | 20.0 | 9.0x |\n"},
    {"arithmetic", "Busy: 4/80 = 8.0%\n"},
    {"quantiles", "| case | p50 (ms) | p99 (ms) |\n|---|---|---|\n| a | 9.00 | 3.00 |\n"},
    {"peaks", "Our L4 kernel moves 900 GB/s.\n"}};

}  // namespace

TEST_CASE("words and counts contradict in reports about kernels only", "[audit][field]") {
  for (const auto& [check, text] : k_words) {
    const Audited elsewhere = by_terms(text), here = by_terms(text + k_field);
    CAPTURE(check, text, told(elsewhere), told(here));
    const auto doubted = of_check(elsewhere, check), wrong = of_check(here, check);
    REQUIRE(doubted.size() == 1);
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].severity == Severity::contradiction);
    CHECK(doubted[0].severity == Severity::doubtful);
    CHECK(elsewhere.count(Severity::contradiction) == 0);
    // The same finding, and why it is only a doubt.
    CHECK(doubted[0].line == wrong[0].line);
    CHECK(doubted[0].printed == wrong[0].printed);
    CHECK(doubted[0].computed == wrong[0].computed);
    CHECK(doubted[0].tolerance == wrong[0].tolerance);
    CHECK(doubted[0].meaning == wrong[0].meaning +
                                    "; the report is not about kernels on a device: " +
                                    std::string(other_reading(check)));
  }
}

TEST_CASE("figures of a table or an equation contradict anywhere", "[audit][field]") {
  for (const auto& [check, text] : k_figures) {
    const Audited elsewhere = by_terms(text);
    CAPTURE(check, text, told(elsewhere));
    const auto wrong = of_check(elsewhere, check);
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].severity == Severity::contradiction);
    CHECK(wrong[0].meaning.find("the report is not about") == std::string::npos);
    CHECK(of_check(by_terms(text + k_field), check).size() == 1);
  }
}

TEST_CASE("a doubt stays as it is", "[audit][field]") {
  const auto doubts =
      of_check(by_terms("- Vectors: 77 MB\n- Text: 13 MB\n- Total: ~109 MB\n"), "list_totals");
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].severity == Severity::doubtful);
  CHECK(doubts[0].meaning.find("the report is not about") == std::string::npos);
}

TEST_CASE("three terms of the field, as whole words", "[audit][field]") {
  const std::string text = "- K: 8 MB\n- V: 8 MB\n- Total: 20 MB\n\n";
  const auto contradicted = [&](const std::string& words) {
    return by_terms(text + words).count(Severity::contradiction) == 1;
  };
  CHECK(contradicted("A KERNEL for one gpu, in Cuda.\n"));
  CHECK(contradicted("The kernels of FlashAttention fill shared memory.\n"));
  CHECK(contradicted("# Attention\n\n| GPU | TFLOP/s |\n|---|---|\n| a | 7 |\n"));
  CHECK(contradicted("```\nwarps, tensor cores, occupancy\n```\n"));
  // Two, one of them in several ways, and parts of words.
  CHECK_FALSE(contradicted("A kernel for one GPU.\n"));
  CHECK_FALSE(contradicted("A GPU beside other GPUs, attention and FlashAttention.\n"));
  CHECK_FALSE(contradicted("Kernelized, warped, cudart, gpu_id and attention_mask.\n"));
  CHECK_FALSE(contradicted("Memory is shared by threads, and a block is cut to a core.\n"));
}

TEST_CASE("each check that is doubted elsewhere is one of the table", "[audit][field]") {
  std::size_t found = 0;
  for (const Check& check : all_checks()) found += other_reading(check.name).empty() ? 0 : 1;
  CHECK(found == k_words.size());
  for (const auto& [check, text] : k_figures) CHECK(other_reading(check).empty());
}
