// SPDX-License-Identifier: MIT
// The rules of failure and of wording, and figures of small tables.
#include "core/json.hpp"
#include "support/catch.hpp"
#include "trace/advice.hpp"
#include "trace/analyze.hpp"
#include "trace/metrics.hpp"
#include "trace/prepare.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A folder as TraceLens leaves it, with this table.
struct Folder {
  TempDirectory root = *TempDirectory::create("wb-trace-analysis");
  RealFileSystem files;
  CategoryFiles category = category_files(false);

  explicit Folder(const std::string& csv, const std::string& metadata = k_metadata) {
    for (const char* folder : {"category_data", "metadata"}) {
      fs::create_directories(root.path() / folder);
    }
    put(category.ops(), csv);
    put(category.metadata(), metadata);
  }
  void put(const fs::path& path, const std::string& text) const {
    std::ofstream(root.path() / path) << text;
  }
  [[nodiscard]] std::string text(const fs::path& path) const {
    auto read = files.read(root.path() / path, 1 << 20);
    return read.ok() ? *read : std::string();
  }
  Result<AnalyzeResult> run() { return analyze(files, root.path()); }

  static inline const std::string k_metadata =
      R"({"platform":"MI300X","peak_hbm_bw_tbs":5.3,"max_achievable_tflops":{"matrix_bf16":708},)"
      R"("gpu_utilization":{"total_time_ms":10.0}})";
};

const std::string k_head =
    "name,Input type,operation_count,GFLOPS,FLOPS/Byte,Compute Spec,TB/s_mean,TFLOPS/s_mean,"
    "Kernel Time (µs)_sum,kernel_details_summary,perf_params,has_perf_model\n";
const std::string k_row =
    "aten::_scaled_dot_product_flash_attention,\"('c10::BFloat16',)\",2,100.0,500.0,,0.5,200.0,"
    "1000.0,\"[{'name': 'k', 'count': 2, 'total_duration_us': np.float64(1000.0), "
    "'mean_duration_us': np.float64(500.0)}]\",\"{'B': 1, 'N_Q': 4096, 'H_Q': 8, 'N_KV': 4096, "
    "'H_KV': 2, 'd_h_qk': 64, 'd_h_v': 64, 'dropout': 0.0, 'causal': False}\",True\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("missing data is the fixed note and no failure", "[trace][analyze]") {
  const auto directory = *TempDirectory::create("wb-trace-empty");
  RealFileSystem files;
  const auto result = analyze(files, directory.path());
  REQUIRE(result.ok());
  CHECK(result->categories[0].status == "none");
  CHECK(contains(result->categories[0].findings, k_nothing_found));
  Folder headed(k_head);
  REQUIRE(headed.run().ok());
  CHECK(contains(headed.text(headed.category.findings()), k_nothing_found));
  CHECK(analyze(files, directory.path() / "absent").error().code == ErrorCode::not_found);
}

TEST_CASE("after a failure stands ERROR and nothing that looks like a finding",
          "[trace][analyze]") {
  const std::pair<std::string, std::string> faults[] = {
      {"operation_count,", "the column \"operation_count\" is missing"},
      {"Kernel Time (µs)_sum,", "the column \"Kernel Time (µs)_sum\" is missing"}};
  std::vector<std::pair<std::string, std::string>> tables;
  for (const auto& [column, message] : faults) {
    const std::string other = "x" + column;
    tables.emplace_back(replaced(k_head, column, other) + k_row, message);
  }
  tables.emplace_back(k_head + replaced(k_row, ",2,100.0", ",two,100.0"), "is no number");
  tables.emplace_back(k_head + replaced(k_row, "'B': 1,", "'B': open,"), "is no Python literal");
  tables.emplace_back(k_head + "a,b\n", "cells, the header");
  tables.emplace_back(k_head + "\"a", "never closes");
  for (const auto& [table, message] : tables) {
    Folder folder(table);
    folder.put(folder.category.metrics(), R"({"status":"OK","stale":true})");
    const auto result = folder.run();
    REQUIRE_FALSE(result.ok());
    CHECK(contains(result.error().message(), message));
    const std::string page = folder.text(folder.category.findings());
    CHECK(contains(page, "**Status:** ERROR"));
    for (const char* word : {"Bottleneck", "Recommendation", "Efficiency", "TFLOPS"}) {
      CHECK_FALSE(contains(page, word));
    }
    const Json metrics = Json::parse(folder.text(folder.category.metrics()));
    CHECK(metrics.size() == 3);
    CHECK(metrics["status"] == "ERROR");
  }
  Folder blind(k_head + k_row, R"({"platform":"?"})");
  CHECK(contains(blind.run().error().message(), "max_achievable_tflops is missing"));
  Folder no_metadata(k_head + k_row);
  fs::remove(no_metadata.root.path() / no_metadata.category.metadata());
  CHECK(no_metadata.run().error().code == ErrorCode::not_found);
  CHECK(contains(no_metadata.text(no_metadata.category.findings()), "**Status:** ERROR"));
}

TEST_CASE("a failed preparation is no profile without attention", "[trace][analyze]") {
  const auto out = *TempDirectory::create("wb-trace-failed");
  RealFileSystem files;
  const testing::TraceFile cut("{\"traceEvents\":[{");
  CHECK_FALSE(prepare(files, {cut.path(), "H100", out.path()}).ok());
  const auto result = analyze(files, out.path());
  REQUIRE_FALSE(result.ok());
  CHECK(contains(result.error().message(), "its preparation failed"));
}

TEST_CASE("figures of a table: efficiency, bound, bands", "[trace][metrics]") {
  Folder folder(k_head + k_row);
  const auto result = folder.run();
  if (!result.ok()) FAIL(result.error().message());
  const Json& metrics = result->categories[0].metrics;
  const Json& operation = metrics["operations"][0];
  CHECK(operation["efficiency"]["efficiency_percent"] == 28.25);
  CHECK(operation["efficiency"]["tflops_of_total_time"] == 200.0);
  CHECK(operation["efficiency"]["bound_type"] == "compute");
  CHECK(operation["classification"]["workload_profile"]["attention_pattern"] == "GQA");
  CHECK(operation["classification"]["workload_profile"]["gqa_ratio"] == 4);
  CHECK(operation["is_bottleneck"] == true);
  CHECK(operation["below_expected"] == true);
  CHECK(metrics["percent_of_compute"] == 10.0);
  CHECK(replay_problem(operation).problem ==
        "B=1 Hq=8 Hkv=2 Sq=4096 Skv=4096 D=64 bf16 causal=none");
  const auto advice = advice_for(metrics);
  REQUIRE(advice.size() == 1);
  CHECK_FALSE(advice[0].algorithmic.empty());
  CHECK_FALSE(advice[0].kernel.empty());
}

TEST_CASE("sizes bound the efficiency where the causal rule is not recorded", "[trace][metrics]") {
  // 2 calls of 4 * 8 * 4096^2 * 64 FLOP in 1000 us are 68.7 TFLOPS of 708 at most.
  const std::string without_model =
                        replaced(k_row, ",2,100.0,500.0,,0.5,200.0,", ",2,nan,nan,,nan,nan,"),
                    open = replaced(without_model, "'causal': False", "'causal': None");
  const auto operation_of = [](const std::string& row, Result<AnalyzeResult>& result) {
    Folder folder(k_head + row);
    result = folder.run();
    if (!result.ok()) FAIL(result.error().message());
    return result->categories[0].metrics["operations"][0];
  };
  Result<AnalyzeResult> result = Error{ErrorCode::invalid, "", "", "", ""};
  const Json low = operation_of(open, result);
  CHECK(low["efficiency"]["efficiency_percent"].is_null());
  CHECK(low["efficiency"]["most_efficiency_percent"] == 9.71);
  CHECK(low["is_bottleneck"] == true);
  CHECK(low["below_expected"] == true);
  CHECK(low["verdict"] == "below its band, a bottleneck");
  const std::string page = result->categories[0].findings;
  CHECK(contains(page, "| at most 9.71% |"));
  CHECK(contains(page, "| 40 to 60% | below its band, a bottleneck |"));
  CHECK(contains(page, "- Efficiency: at most 9.71% of the peak of matrix_bf16\n"));
  CHECK_FALSE(contains(page,
                       "## Bottlenecks\n\nCriterion: more than 100 ms or 5 % of the category, "
                       "and less than 40 % of peak.\n\nNone."));
  CHECK(advice_for(result->categories[0].metrics).size() == 1);
  // A bound above the band decides nothing.
  const Json high = operation_of(replaced(open, "1000.0,\"[", "100.0,\"["), result);
  CHECK(high["efficiency"]["most_efficiency_percent"] == 97.06);
  CHECK(high["below_expected"].is_null());
  CHECK(high["is_bottleneck"] == false);
  CHECK(high["verdict"] == "not known");
  CHECK(operation_of(k_row, result)["verdict"] == "below its band, a bottleneck");
  CHECK(operation_of(replaced(k_row, ",200.0,", ",400.0,"), result)["verdict"] ==
        "within its band");
  // Without a size there is no bound.
  const Json unsized = operation_of(replaced(open, "'N_KV': 4096", "'N_KV': None"), result);
  CHECK(unsized["efficiency"]["most_efficiency_percent"].is_null());
  CHECK(unsized["verdict"] == "not known");
}

TEST_CASE("what is not known is null and said, never a figure", "[trace][metrics]") {
  const auto efficiency = [](const std::string& row) {
    Folder folder(k_head + row);
    const auto result = folder.run();
    if (!result.ok()) FAIL(result.error().message());
    const std::string page = result->categories[0].findings;
    CHECK_FALSE(contains(page, "nan"));
    return result->categories[0].metrics["operations"][0]["efficiency"];
  };
  const Json no_rate = efficiency(replaced(k_row, ",200.0,", ",nan,"));
  CHECK(no_rate["efficiency_percent"].is_null());
  CHECK(no_rate["why_unknown"] == "no rate: there is no model of its work");
  const Json untyped = efficiency(replaced(k_row, "c10::BFloat16", "long"));
  CHECK(untyped["why_unknown"] == "the precision is not recorded");
  const Json eight = efficiency(replaced(k_row, "c10::BFloat16", "c10::Float8_e4m3fn"));
  CHECK(eight["why_unknown"] == "the platform's peak for matrix_fp8 is not known");
  const Json much = efficiency(replaced(k_row, ",200.0,", ",977.34,"));
  CHECK(much["is_anomaly"] == true);
  CHECK(contains(much["warning"].get<std::string>(), "[ANOMALY]"));
  const Json more = efficiency(replaced(k_row, ",200.0,", ",720.0,"));
  CHECK(more["is_anomaly"] == false);
  CHECK(contains(more["warning"].get<std::string>(), "[WARNING]"));
}

TEST_CASE("wording is the same for every vendor, but names in quotes stay", "[trace][wording]") {
  CHECK(vendor_neutral("CUDA kernels and cuDNN on Tensor Cores") ==
        "GPU kernels and DNN primitives on matrix units");
  CHECK(vendor_neutral("`aten::cuDNN_CUDA` by NCCL") ==
        "`aten::cuDNN_CUDA` by collective communication");
}

TEST_CASE("paged attention: shares by total time, flags and tables", "[trace][paged]") {
  const auto out = *TempDirectory::create("wb-trace-paged");
  RealFileSystem files;
  const auto prepared =
      prepare(files, {testing::trace_fixture("synthetic_paged_classic.json"), "", out.path()});
  if (!prepared.ok()) FAIL(prepared.error().message());
  CHECK(prepared->platform == "MI300X");
  const auto result = analyze(files, out.path());
  if (!result.ok()) FAIL(result.error().message());
  const Json& specific = result->categories[0].metrics["category_specific"];
  CHECK(specific["paged_attention_detected"] == true);
  // 4·12 + 10, 150 and 4·88 + 40 of 600 us.
  CHECK(specific["kernel_breakdown_avg"]["avg_reshape_cache_percent"] == 9.67);
  CHECK(specific["kernel_breakdown_avg"]["avg_fwd_kernel_percent"] == 25.0);
  CHECK(specific["kernel_breakdown_avg"]["avg_paged_attention_percent"] == 65.33);
  CHECK(specific["workload_profile"]["total_ctx_tokens"] == 1024);
  CHECK(specific["workload_profile"]["total_gen_tokens"] == 32);
  CHECK(specific["workload_profile"]["profile_type"] == "prefill_heavy");
  const std::string& page = result->categories[0].findings;
  for (const char* part : {"decode_heavy", "prefill_heavy", "Paged attention: algorithmic",
                           "Paged attention: kernels", "Paged attention: configuration", "GQA"}) {
    INFO(part);
    CHECK(contains(page, part));
  }
}

TEST_CASE("kernel times that are not recorded are not known, never 0", "[trace][metrics]") {
  Folder folder(k_head + replaced(k_row, "'total_duration_us': np.float64(1000.0), ", ""));
  REQUIRE(folder.run().ok());
  const std::string page = folder.text(folder.category.findings());
  CHECK(contains(page, "| not known | 2 | 500.00 | not known |"));
}

TEST_CASE("figures beyond any measure are refused", "[trace][metrics]") {
  Folder folder(k_head + replaced(k_row, ",2,100.0", ",1e300,100.0"));
  CHECK(contains(folder.run().error().message(), "is no number"));
}

TEST_CASE("values of another type than asked for are no crash", "[trace][analyze]") {
  Folder nameless(k_head + replaced(k_row, "'name': 'k'", "'name': None"));
  nameless.put(nameless.category.tree(), R"({"1":{"op_name":null,"parent_chain":[]}})");
  CHECK(nameless.run().ok());
  Folder odd(k_head + k_row, replaced(Folder::k_metadata, R"({"total_time_ms":10.0})", "7"));
  REQUIRE(odd.run().ok());
  CHECK(contains(odd.text(odd.category.findings()), "SUCCESS"));
  // Bytes that are no UTF-8 are quoted in the error.
  Folder binary(k_head + replaced(k_row, ",2,100.0", ",\xff\xfe,100.0"));
  CHECK_FALSE(binary.run().ok());
  CHECK(contains(binary.text(binary.category.findings()), "**Status:** ERROR"));
}

TEST_CASE("names cannot write into the page", "[trace][analyze]") {
  const std::string evil = "aten::x`\n\n## Forged\n\n- `y";
  Folder folder(k_head + replaced(replaced(k_row, "aten::_scaled_dot_product_flash_attention",
                                           "\"" + evil + "\""),
                                  "500.0,,0.5", "500.0,\"matrix_z\n\n## Spec\n\",0.5"));
  REQUIRE(folder.run().ok());
  const std::string page = folder.text(folder.category.findings());
  CHECK(contains(page, "**Evidence:**"));
  CHECK_FALSE(contains(page, "\n## Forged"));
  CHECK_FALSE(contains(page, "\n## Spec"));
}

TEST_CASE("cells that cannot be figures are named, never taken for some", "[trace][metrics]") {
  const auto refused = [](const std::string& csv, const char* why) {
    Folder folder(csv);
    const auto result = folder.run();
    CAPTURE(csv);
    REQUIRE_FALSE(result.ok());
    CHECK(contains(result.error().message(), why));
    CHECK(contains(folder.text(folder.category.findings()), "**Status:** ERROR"));
  };
  for (const char* rate : {",-200.0,", ",200 TFLOPS,", ",\"1,200.0\","}) {
    refused(k_head + replaced(k_row, ",200.0,", rate), "is no number from 0 on");
  }
  for (const char* count : {",0,100.0", ",2.5,100.0"}) {
    refused(k_head + replaced(k_row, ",2,100.0", count), "is no whole number from 1 on");
  }
  refused(replaced(k_head, "GFLOPS", "TFLOPS/s_mean") + k_row,
          "\"TFLOPS/s_mean\" stands there twice");
  for (const char* rate : {",,", ",nan,", ",inf,", ",np.float64(nan),", ",None,"}) {
    Folder folder(k_head + replaced(k_row, ",200.0,", rate));
    const auto result = folder.run();
    REQUIRE(result.ok());
    CHECK(
        result->categories[0].metrics["operations"][0]["efficiency"]["tflops_achieved"].is_null());
    CHECK(result->categories[0].metrics["impact_estimates"].empty());
  }
}

TEST_CASE("sizes that are none, masks and no time are said", "[trace][analyze]") {
  const auto page = [](const std::string& row) {
    Folder folder(k_head + row);
    if (const auto result = folder.run(); !result.ok()) FAIL(result.error().message());
    return folder.text(folder.category.findings());
  };
  CHECK(contains(page(k_row), "(1, 8, 2, 4096, 4096, 64)"));
  CHECK(contains(page(replaced(k_row, "'N_Q': 4096", "'N_Q': -4096")), "| not known | 2 |"));
  CHECK(contains(page(replaced(k_row, "'dropout': 0.0", "'masked': True")),
                 "it had a mask; products that it hides are counted as work"));
  CHECK_FALSE(contains(page(k_row), "it had a mask"));
  const std::string still =
      replaced(replaced(k_row, ",200.0,", ",,"), "1000.0,\"[{'name'", "0.0,\"[{'name'");
  CHECK(contains(page(still), "its kernels took no time"));
}

TEST_CASE("no replay of a dropout that is not known, or of a mask", "[trace][replay]") {
  const auto problem = [](const std::string& row) {
    Folder folder(k_head + row);
    const auto result = folder.run();
    if (!result.ok()) FAIL(result.error().message());
    return replay_problem(result->categories[0].metrics["operations"][0]).problem;
  };
  CHECK_FALSE(problem(k_row).empty());
  CHECK(problem(replaced(k_row, "'dropout': 0.0", "'dropout': None")).empty());
  CHECK(problem(replaced(k_row, "'dropout': 0.0", "'dropout': 0.0, 'masked': True")).empty());
}

TEST_CASE("a mistyped name costs no finished analysis", "[trace][prepare]") {
  const auto out = *TempDirectory::create("wb-trace-typo");
  RealFileSystem files;
  const fs::path good = testing::trace_fixture("synthetic_flash_gqa_train.json");
  REQUIRE(prepare(files, {good, "H100", out.path()}).ok());
  REQUIRE(analyze(files, out.path()).ok());
  const auto left = [&] {
    return fs::exists(out.path() / category_files(false).findings()) &&
           fs::exists(out.path() / category_files(false).ops());
  };
  CHECK_FALSE(prepare(files, {good, "H1000", out.path()}).ok());
  CHECK(left());
  CHECK(prepare(files, {"/nonexistent/t.json", "H100", out.path()}).error().code ==
        ErrorCode::not_found);
  CHECK(left());
  CHECK(analyze(files, out.path()).ok());
  const testing::TraceFile cut("{\"traceEvents\":[{");
  CHECK_FALSE(prepare(files, {cut.path(), "H100", out.path()}).ok());
  CHECK_FALSE(left());
}

TEST_CASE("attention without kernels is the note, and said", "[trace][analyze]") {
  const auto out = *TempDirectory::create("wb-trace-host-only");
  RealFileSystem files;
  const testing::TraceFile host(testing::trace_text(
      {testing::event_text("cpu_op", "aten::_scaled_dot_product_flash_attention", 10, 50)}));
  REQUIRE(prepare(files, {host.path(), "H100", out.path()}).ok());
  const auto result = analyze(files, out.path());
  REQUIRE(result.ok());
  CHECK(contains(result->categories[0].findings, "**Status:** NOTHING SEEN"));
  CHECK(contains(result->categories[0].findings, "1 attention calls have no GPU kernel"));
}
