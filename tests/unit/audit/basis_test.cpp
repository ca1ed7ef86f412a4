// SPDX-License-Identifier: MIT
// What findings are called at most: by the basis of their check and the field of the report. Each
// text of the second kind is audited once without the terms of the field and once with them.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/checks.hpp"
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

/// A contradiction of each check whose figures have one meaning in reports about kernels only.
const std::vector<std::pair<std::string, std::string>> k_of_kernels{
    {"list_totals", "Spent $1.40 (rent $0.40 + agent $0.90)\n"},
    {"throughput",
     "| B | H | S | D | Time (ms) | TFLOPS |\n|---|---|---|---|---|---|\n"
     "| 1 | 8 | 1024 | 64 | 0.100 | 21.5 |\n| 2 | 8 | 1024 | 64 | 0.200 | 21.5 |\n"
     "| 4 | 8 | 1024 | 64 | 0.500 | 25.0 |\n"}};

/// Certain by themselves, but of words or of figures in several places.
const std::vector<std::pair<std::string, std::string>> k_by_words{
    {"counts", "12 configurations tested.\n\nAll 9 configurations were right.\n"},
    {"counts",
     "| Session | Time |\n|---|---|\n| A | 30 min |\n| B | 50 min |\n| Total | 3 sessions |\n"},
    {"geometry", "dim3 block(64, 32);\n"},
    {"list_totals", "- K: 8 MB\n- V: 8 MB\n- Total: 20 MB\n"},
    {"changes", "From 12.0 ms -> 3.0 ms = 6.0x\n"},
    {"repeated_figures", "# One\n\nDuration: 40 minutes\n\n## Summary\n\nDuration: 50 minutes\n"},
    {"peaks", "Our L4 kernel moves 900 GB/s.\n"},
    {"throughput",
     "- Heads (H): 8\n- Head dimension (D): 64\n\n"
     "| B | S | Time (ms) | TFLOPS |\n|---|---|---|---|\n| 1 | 1024 | 0.100 | 21.5 |\n"
     "| 2 | 1024 | 0.200 | 21.5 |\n| 4 | 1024 | 0.500 | 25.0 |\n"},
    {"arithmetic",
     "- FLOPs: 2 x 8 x 64 = 1,024\n- Bytes: 8 x 64 x 4 = 2,048 bytes\n- AI = 0.75 FLOPs/byte\n"}};

/// Of checks that recompute a table's or an equation's own figures.
const std::vector<std::pair<std::string, std::string>> k_figures{
    {"table_totals", "| part | tests |\n|---|---|\n| a | 20 |\n| b | 30 |\n| Total | 53 |\n"},
    {"ratio_columns",
     "| case | before (ms) | after (ms) | speedup |\n|---|---|---|---|\n| a | 40.0 | 20.0 | 2.0x "
     "|\n| b | 30.0 | 10.0 | 3.0x |\n| c | 80.0 | 20.0 | 9.0x |\n"},
    {"arithmetic", "Busy: 4/80 = 8.0%\n"},
    {"quantiles", "| case | p50 (ms) | p99 (ms) |\n|---|---|---|\n| a | 9.00 | 3.00 |\n"},
    {"projections",
     "| Step | Cumulative | Gain |\n|---|---|---|\n| start | 0.50x | |\n| tiles | 1.0-3.0x | 2x "
     "improvement |\n"},
    {"intervals", "It is 1.86x [1.74, 1.79], faster.\n"},
    {"peaks",
     "Ran on one H100.\n\n| S | time (us) | TFLOPS |\n|---|---|---|\n| 512 | 40.0 | 220 |\n"
     "| 4096 | 900.0 | 1,900 |\n"}};

bool is_contradicted(const std::string& check, const std::string& text) {
  const auto found = of_check(by_terms(text), check);
  return std::any_of(found.begin(), found.end(),
                     [](const Finding& one) { return one.severity == Severity::contradiction; });
}

}  // namespace

TEST_CASE("a basis says what its findings are called at most", "[audit][basis]") {
  const auto held = [](Basis basis, bool about_kernels, Severity severity) {
    std::vector<Finding> one{{.severity = severity, .meaning = "it is off"}};
    hold_to_basis({"any", basis, "", nullptr, "it may be another"}, about_kernels, one);
    const bool told = one[0].meaning.ends_with(": it may be another");
    CHECK(told == (one[0].severity != severity));
    return one[0].severity;
  };
  for (const bool about : {false, true}) {
    for (const Severity mild : {Severity::doubtful, Severity::unknown}) {
      for (const Basis basis : {Basis::figures, Basis::kernel_figures, Basis::words}) {
        CHECK(held(basis, about, mild) == mild);
      }
    }
    CHECK(held(Basis::figures, about, Severity::contradiction) == Severity::contradiction);
    CHECK(held(Basis::words, about, Severity::contradiction) == Severity::doubtful);
  }
  CHECK(held(Basis::kernel_figures, true, Severity::contradiction) == Severity::contradiction);
  CHECK(held(Basis::kernel_figures, false, Severity::contradiction) == Severity::doubtful);
}

TEST_CASE("every check says what it may be called at most", "[audit][basis]") {
  std::set<std::string_view> may;
  for (const Check& check : all_checks()) {
    CAPTURE(check.name, check.doc);
    CHECK(check.reading.empty() == (check.basis == Basis::figures));
    if (check.basis != Basis::words) may.insert(check.name);
  }
  CHECK(may == std::set<std::string_view>{"table_totals", "list_totals", "arithmetic",
                                          "projections", "ratio_columns", "quantiles", "intervals",
                                          "throughput", "peaks"});
}

TEST_CASE("words and figures of several places are doubtful at most", "[audit][basis]") {
  for (const auto& [check, text] : k_by_words) {
    const auto found = of_check(by_terms(text + k_field), check);
    CAPTURE(check, text);
    REQUIRE(found.size() == 1);
    CHECK(found[0].severity == Severity::doubtful);
    CHECK_FALSE(is_contradicted(check, text + k_field));
  }
}

TEST_CASE("some figures contradict in reports about kernels only", "[audit][basis]") {
  for (const auto& [check, text] : k_of_kernels) {
    const Audited elsewhere = by_terms(text), here = by_terms(text + k_field);
    CAPTURE(check, text, told(elsewhere), told(here));
    const auto doubted = of_check(elsewhere, check), wrong = of_check(here, check);
    REQUIRE(doubted.size() == 1);
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].severity == Severity::contradiction);
    CHECK(doubted[0].severity == Severity::doubtful);
    // The same finding, and why it is only a doubt.
    CHECK(doubted[0].line == wrong[0].line);
    CHECK(doubted[0].printed == wrong[0].printed);
    CHECK(doubted[0].computed == wrong[0].computed);
    CHECK(doubted[0].tolerance == wrong[0].tolerance);
    CHECK(doubted[0].meaning.starts_with(wrong[0].meaning +
                                         "; the report is not about kernels on a device: "));
  }
}

TEST_CASE("a rate above the peak is one of a kernel on the only GPU", "[audit][basis]") {
  const auto table = [](const std::string& ran, const std::string& last) {
    return ran + "\n\n| run | time (ms) | TFLOPS |\n|---|---|---|\n| a | 0.40 | 220 |\n| b | " +
           last + " |\n";
  };
  CHECK(is_contradicted("peaks", table("Ran on one H100.", "0.90 | 1,900")));
  CHECK_FALSE(is_contradicted("peaks", table("Ran on one H100.", "0.90 | 900")));
  // A step of a training, several of them, another GPU, and no kernel at all.
  CHECK_FALSE(is_contradicted("peaks", table("Ran on one H100.", "1,900 | 1,900")));
  CHECK_FALSE(is_contradicted("peaks", table("Ran on 8 GPUs: H100.", "0.90 | 1,900")));
  CHECK_FALSE(is_contradicted("peaks", table("Ran on an H100 and an A100.", "0.90 | 1,900")));
  CHECK_FALSE(is_contradicted("peaks",
                              "Ran on one H100.\n\n| run | TFLOPS | note |\n|---|---|---|\n"
                              "| a | 220 | x |\n| b | 1,900 | y |\n"));
}

TEST_CASE("figures of a table or an equation contradict anywhere", "[audit][basis]") {
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

TEST_CASE("a doubt stays as it is", "[audit][basis]") {
  const auto doubts =
      of_check(by_terms("- Vectors: 77 MB\n- Text: 13 MB\n- Total: ~109 MB\n"), "list_totals");
  REQUIRE(doubts.size() == 1);
  CHECK(doubts[0].severity == Severity::doubtful);
  CHECK(doubts[0].meaning.find("the report is not about") == std::string::npos);
}

TEST_CASE("three terms of the field, as whole words", "[audit][basis]") {
  const std::string text = k_of_kernels.front().second + "\n";
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
