// SPDX-License-Identifier: MIT
// Files of several ranks: ids are unique in a process, not in a file.
#include "core/json.hpp"
#include "support/catch.hpp"
#include "trace/op_rows.hpp"
#include "trace/prepare.hpp"
#include "trace/suite_maker.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;
using testing::linked_trace;

namespace {

/// One rank's call of attention: operator, launch and kernel, with the ids given.
std::string rank(const std::string& host, const std::string& gpu, int id, double kernel_us) {
  const double start = 1000.0 * id;  // one call after the other
  const auto event = [start](const char* category, const char* name, const std::string& pid,
                             double ts, double dur, const Json& args) {
    return Json{{"ph", "X"}, {"cat", category},  {"name", name}, {"pid", pid},
                {"tid", 1},  {"ts", start + ts}, {"dur", dur},   {"args", args}}
               .dump() +
           ",\n";
  };
  const Json shape{2, 4, 256, 64};
  return event("cpu_op", "aten::_scaled_dot_product_flash_attention", host, 10, 50,
               {{"External id", id},
                {"Input Dims", Json::array({shape, shape, shape, Json::array(), Json::array()})},
                {"Input type", {"c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"}},
                {"Concrete Inputs", {"", "", "", "0.", "False"}}}) +
         event("cuda_runtime", "cudaLaunchKernel", host, 20, 5, {{"correlation", id}}) +
         event("kernel", "flash_fwd_kernel", gpu, 40, kernel_us,
               {{"correlation", id}, {"External id", id}, {"stream", 7}});
}

std::string file_of(const std::string& events) {
  return "{\"traceEvents\":[" + events.substr(0, events.size() - 2) + "]}";
}

}  // namespace

TEST_CASE("labelled ranks are read rank by rank", "[trace][ranks]") {
  struct Pids {
    std::string host0, gpu0, host1, gpu1;
  };
  for (const Pids& p : {Pids{"[TP00] 100", "[TP00] 0", "[TP01] 100", "[TP01] 0"},
                        Pids{"rank0/100", "rank0/0", "rank1/100", "rank1/0"},
                        Pids{"100 [a]", "0 [a]", "100 [b]", "1 [b]"}}) {
    INFO(p.host0);
    const Trace trace =
        linked_trace(file_of(rank(p.host0, p.gpu0, 7, 500) + rank(p.host1, p.gpu1, 7, 900)));
    CHECK(trace.rank_fault.empty());
    CHECK(trace.gaps.ambiguous_links == 0);
    const SdpaCalls calls = find_sdpa_calls(trace);
    REQUIRE(calls.calls.size() == 2);
    REQUIRE(calls.ranks.size() == 2);
    CHECK(calls.ranks[0].kernel_us == Approx(500));
    CHECK(calls.ranks[1].kernel_us == Approx(900));
    CHECK(gpu_time(trace).total_ms == Approx(1.4));  // each rank's span, added
  }
}

TEST_CASE("without labels, whose launches a GPU asks for tells its rank", "[trace][ranks]") {
  // The second process has ids that the first one lacks, and one that both have.
  const Trace trace = linked_trace(file_of(rank("100", "0", 7, 500) + rank("100", "0", 8, 500) +
                                           rank("200", "1", 7, 900) + rank("200", "1", 9, 900)));
  CHECK(trace.rank_fault.empty());
  const SdpaCalls calls = find_sdpa_calls(trace);
  CHECK(calls.calls.size() == 4);
  REQUIRE(calls.ranks.size() == 2);
  CHECK(calls.ranks[0].name == "process 100");
  CHECK(calls.ranks[1].kernel_us == Approx(1800));
}

TEST_CASE("several processes of different ids are no matter", "[trace][ranks]") {
  const Trace trace = linked_trace(file_of(rank("100", "0", 7, 500) + rank("200", "0", 8, 900)));
  CHECK(trace.rank_fault.empty());
  CHECK(find_sdpa_calls(trace).calls.size() == 2);
}

TEST_CASE("ranks that cannot be told apart are refused by name", "[trace][ranks]") {
  for (const std::string& text : {file_of(rank("100", "0", 7, 500) + rank("200", "1", 7, 900)),
                                  file_of(rank("100", "0", 7, 500) + rank("100", "0", 7, 900))}) {
    const Trace trace = linked_trace(text);
    const auto good = check_ranks(trace);
    REQUIRE_FALSE(good.ok());
    CHECK(good.error().message().find("whose a kernel is cannot be told") != std::string::npos);
    const testing::TraceFile file(text);
    CHECK_FALSE(make_suite(file.path(), "s").ok());
  }
}

TEST_CASE("one process with several GPUs is one rank", "[trace][ranks]") {
  const Trace trace = linked_trace(file_of(rank("100", "0", 7, 500) + rank("100", "1", 8, 900)));
  CHECK(trace.rank_fault.empty());
  CHECK(find_sdpa_calls(trace).ranks.empty());
  CHECK(find_sdpa_calls(trace).calls.size() == 2);
}

TEST_CASE("why nothing could be looked at", "[trace][ranks]") {
  using testing::event_text;
  using testing::trace_text;
  const auto why = [](const std::string& text) { return why_nothing_seen(linked_trace(text)); };
  const std::string op = event_text("cpu_op", "aten::linear", 1, 5);
  const std::string launch =
      event_text("cuda_runtime", "cudaLaunchKernel", 2, 1, "\"correlation\":1");
  const std::string kernel = event_text("kernel", "k", 9, 5, "\"correlation\":1");
  CHECK(why(trace_text({})) == "the profile has no events");
  CHECK(why(trace_text({op})).find("no GPU kernels, only 1 operators") != std::string::npos);
  CHECK(why(trace_text({launch, kernel})).find("no operators that could own") != std::string::npos);
  CHECK(why(trace_text({op, kernel})).find("belongs to an operator") != std::string::npos);
  CHECK(why(trace_text({op, launch, kernel})).empty());
}
