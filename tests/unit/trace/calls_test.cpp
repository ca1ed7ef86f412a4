// SPDX-License-Identifier: MIT
// Cases that are not attention or not as they appear: steps of other work, masks, kernels without a
// call; and files of several ranks, whose ids are unique in a process, not in a file.
#include <chrono>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "trace/op_rows.hpp"
#include "trace/prepare.hpp"
#include "trace/suite_maker.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;
using testing::event_text;
using testing::linked_trace;

namespace {

/// Operators in a row, each with a launch and a kernel of 10 us.
class Story {
 public:
  Story& op(const std::string& name, const std::string& dims, const std::string& more = {}) {
    m_at += 100;
    m_id += 1;
    const std::string id = "\"correlation\":" + std::to_string(m_id);
    add(event_text("cpu_op", name, m_at, 30,
                   "\"Input Dims\":" + dims + (more.empty() ? "" : "," + more)));
    add(event_text("cuda_runtime", "cudaLaunchKernel", m_at + 5, 1, id));
    add(event_text("kernel", "k", m_at + 50, 10, "\"stream\":7," + id));
    return *this;
  }
  Story& add(const std::string& event) {
    m_text += (m_text.empty() ? "" : ",\n") + event;
    return *this;
  }
  [[nodiscard]] std::string text() const { return "{\"traceEvents\":[" + m_text + "]}"; }

 private:
  std::string m_text;
  double m_at = 0;
  int m_id = 0;
};

const std::string k_qkv = "[[1,2,64,32],[1,2,64,32],[1,2,64,32]";
const std::string k_half = R"("Input type":["c10::Half","c10::Half","c10::Half"])";

std::size_t attention_calls(const Story& story) {
  return find_sdpa_calls(linked_trace(story.text())).calls.size();
}

}  // namespace

TEST_CASE("products around a softmax that is not multiplied are no attention", "[trace][calls]") {
  Story router;
  router.op("aten::matmul", "[[128,4096],[4096,8]]")
      .op("aten::softmax", "[[128,8],[],[]]")
      .op("aten::matmul", "[[32,4096],[4096,14336]]");
  CHECK(attention_calls(router) == 0);
  Story sampling;
  sampling.op("aten::matmul", "[[4,4096],[4096,32000]]")
      .op("aten::softmax", "[[4,32000],[],[]]")
      .op("aten::matmul", "[[4,4096],[4096,4096]]");
  CHECK(attention_calls(sampling) == 0);
  // Within one operator, too, unless that one says that it is attention.
  for (const auto& [name, count] : {std::pair("moe_layer", 0), std::pair("self_attention", 1)}) {
    Story layer = router;
    layer.add(event_text("cpu_op", name, 50, 1000));
    CHECK(attention_calls(layer) == static_cast<std::size_t>(count));
  }
}

TEST_CASE("calls whose last product differs are rows of their own", "[trace][calls]") {
  Story story;
  for (const char* value : {"[[8,64,64],[8,64,32]]", "[[8,64,64],[8,64,128]]"}) {
    story.op("aten::bmm", "[[8,64,32],[8,32,64]]")
        .op("aten::softmax", "[[8,64,64],[],[]]")
        .op("aten::bmm", value);
  }
  const Trace trace = linked_trace(story.text());
  const auto rows = rows_of(trace, find_sdpa_calls(trace));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].sizes->d_v != rows[1].sizes->d_v);
  CHECK(rows[0].duration_us.sum == Approx(90));  // all three steps
}

TEST_CASE("a call with a mask is no problem without one", "[trace][replay]") {
  const auto made = [](const std::string& name, const std::string& dims, const char* concrete) {
    Story story;
    story.op(name, dims, k_half + ",\"Concrete Inputs\":" + concrete);
    const testing::TraceFile file(story.text());
    auto suite = make_suite(file.path(), "s");
    return suite.ok() ? std::string("a problem") : suite.error().message();
  };
  const char* plain = R"(["","","","","0.","False"])";
  const char* efficient = R"(["","","","","False","0.","False"])";
  for (const auto& [name, concrete] :
       {std::pair("aten::scaled_dot_product_attention", plain),
        std::pair("aten::_scaled_dot_product_attention_math", plain),
        std::pair("aten::_scaled_dot_product_efficient_attention", efficient),
        std::pair("aten::_scaled_dot_product_cudnn_attention", efficient)}) {
    INFO(name);
    CHECK(made(name, k_qkv + ",[]]", concrete) == "a problem");
    const std::string masked = made(name, k_qkv + ",[1,1,64,64]]", concrete);
    CHECK(masked.find("it had a mask") != std::string::npos);
  }
  const auto steps = [](const char* between) {
    Story story;
    story.op("aten::bmm", "[[8,64,32],[8,32,64]]", k_half)
        .op(between, "[[8,64,64],[8,64,64]]")
        .op("aten::softmax", "[[8,64,64],[],[]]")
        .op("aten::bmm", "[[8,64,64],[8,64,32]]", k_half);
    const testing::TraceFile file(story.text());
    return make_suite(file.path(), "s").ok();
  };
  CHECK(steps("aten::mul"));
  CHECK_FALSE(steps("aten::add"));
  CHECK_FALSE(steps("aten::masked_fill"));
}

TEST_CASE("kernels of a graph's launch belong to no operator, and that is said", "[trace][link]") {
  Story story;
  story.add(event_text("cuda_runtime", "cudaGraphLaunch", 10, 5, "\"correlation\":1"))
      .add(event_text("kernel", "flash_fwd_splitkv", 100, 2000, "\"correlation\":1"))
      .add(event_text("cpu_op", "mine::layer", 200, 50))
      .add(event_text("cuda_runtime", "cudaLaunchKernel", 210, 5, "\"correlation\":2"))
      .add(event_text("kernel", "fmha_cutlassF", 3000, 500, "\"correlation\":2"));
  const Trace trace = linked_trace(story.text());
  CHECK(trace.gaps.unlinked_kernels == 1);
  const SdpaCalls calls = find_sdpa_calls(trace);
  CHECK(calls.calls.empty());
  CHECK(calls.unclaimed_kernels == 2);
  bool said = false;
  for (const std::string& gap : gap_sentences(trace, calls)) {
    said = said || gap ==
                       "2 kernels named like attention (2.500 ms, 100.0 % of the kernels' time) "
                       "belong to no known call: flash_fwd_splitkv (1 time, 2.000 ms); "
                       "fmha_cutlassF (1 time, 0.500 ms, launched by mine::layer).";
  }
  CHECK(said);
}

TEST_CASE("arguments that are not q, k and v have no sizes", "[trace][calls]") {
  const auto why = [](const std::string& name, const std::string& dims) {
    Story story;
    story.op(name, dims);
    const Trace trace = linked_trace(story.text());
    const auto rows = rows_of(trace, find_sdpa_calls(trace));
    return rows.size() == 1 && !rows[0].sizes ? rows[0].why_no_model : std::string("sizes");
  };
  const char* unfit = "the sizes of q, k and v do not fit together";
  const std::string paged = "_rocm_C::paged_attention";
  CHECK(why(paged, "[[4,32,128],[4,32,16],[4,32,16]]") == unfit);  // out, sums, maxima
  CHECK(why(paged, "[[64,32,128],[64,8,128],[32,8,128]]") == unfit);
  CHECK(why(paged, "[[64,32,128],[64,8,128],[64,4,128]]") == unfit);
  CHECK(why(paged, "[[64,32,128],[64,8,128],[64,8,128]]") == "sizes");
  const std::string flash = "aten::_scaled_dot_product_flash_attention";
  CHECK(why(flash, "[[2,2,64,32],[2,2,64,32],[1,2,64,32]]") == unfit);
}

TEST_CASE("a server's sums that cannot be are no step", "[trace][work]") {
  const auto reads = [](const char* context, const char* generation) {
    return serving_step("execute_1_context_1(" + std::string(context) + ")_generation_1(" +
                        generation + ")")
        .has_value();
  };
  const char* fine = "sq10sk20sqsq100sqsk200";
  CHECK(reads(fine, fine));
  for (const char* bad : {"sq10sk1sqsq100sqsk100", "sq10sk10sqsq100sqsk1"}) {
    CHECK_FALSE(reads(bad, fine));
    CHECK_FALSE(reads(fine, bad));
  }
}

TEST_CASE("deep nesting takes no time of its own", "[trace][calls]") {
  constexpr int k_depth = 400'000;
  Trace trace;
  const std::uint32_t name = trace.strings.add("aten::scaled_dot_product_attention");
  const std::uint32_t other = trace.strings.add("mine::layer");
  const std::uint32_t product = trace.strings.add("aten::bmm");
  const auto add = [&](std::uint32_t what, std::uint32_t thread, std::uint32_t parent) {
    HostEvent event;
    event.name = what;
    event.thread = thread;
    event.parent = parent;
    trace.host.push_back(event);
    return static_cast<std::uint32_t>(trace.host.size() - 1);
  };
  std::uint32_t at = k_none;
  for (int i = 0; i < k_depth; ++i) at = add(name, 0, at);
  at = k_none;
  for (int i = 0; i < k_depth; ++i) at = add(other, 1, at);
  for (int i = 0; i < k_depth; ++i) add(product, 1, at);
  const auto start = std::chrono::steady_clock::now();
  CHECK(find_sdpa_calls(trace).without_kernels == 1);
  // Walking up from each would be 2·10^11 steps: many minutes, not seconds.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

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
