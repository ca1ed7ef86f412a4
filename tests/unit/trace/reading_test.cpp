// SPDX-License-Identifier: MIT
// From bytes to calls with kernels: reading, linking and what counts as attention.
#include <zlib.h>

#include <random>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "trace/model_pattern.hpp"
#include "trace/op_rows.hpp"
#include "trace/prepare.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;
using testing::event_text;
using testing::linked_trace;
using testing::read_refusal;
using testing::trace_text;

namespace {

const std::string k_dims =
    R"("Input Dims":[[1,2,64,32],[1,2,64,32],[1,2,64,32],[],[]],)"
    R"("Input type":["c10::Half","c10::Half","c10::Half","Scalar","Scalar"],)"
    R"("Concrete Inputs":["","","","0.","False"])";

std::string flash(double ts, double dur, const std::string& more = {}) {
  return event_text("cpu_op", "aten::_scaled_dot_product_flash_attention", ts, dur,
                    k_dims + (more.empty() ? "" : "," + more));
}
std::string launch(double ts, int correlation) {
  return event_text("cuda_runtime", "cudaLaunchKernel", ts, 1,
                    "\"correlation\":" + std::to_string(correlation));
}
std::string kernel(double ts, double dur, int correlation) {
  return event_text("kernel", "flash_fwd", ts, dur,
                    "\"stream\":7,\"correlation\":" + std::to_string(correlation));
}

std::string zipped(const std::string& text) {
  std::string packed(text.size() + 1000, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a trace is an object with traceEvents or the bare list", "[trace][read]") {
  const std::string whole = trace_text({flash(10, 50), launch(20, 1), kernel(100, 7, 1)});
  const std::string list = whole.substr(whole.find('['), whole.rfind(']') - whole.find('[') + 1);
  for (const std::string& text : {whole, list, zipped(whole), zipped(list)}) {
    const Trace trace = linked_trace(text);
    CHECK(trace.events == 3);
    const SdpaCalls calls = find_sdpa_calls(trace);
    REQUIRE(calls.calls.size() == 1);
    CHECK(calls.calls[0].kernel_us == Approx(7));
  }
  // Several gzip members in a row are one text.
  const Trace joined = linked_trace(zipped(whole.substr(0, 40)) + zipped(whole.substr(40)));
  CHECK(joined.events == 3);
}

TEST_CASE("bad bytes are a named error", "[trace][read]") {
  const std::string whole = trace_text({flash(10, 50), launch(20, 1), kernel(100, 7, 1)});
  CHECK(contains(read_refusal(""), "the file is empty"));
  CHECK(contains(read_refusal("  \n"), "nothing but blanks"));
  CHECK(contains(read_refusal(whole.substr(0, whole.size() / 2)), "cut off"));
  CHECK(contains(read_refusal(whole + "x"), "more text after the trace"));
  CHECK(contains(read_refusal("{\"events\":[]}"), "without a list \"traceEvents\""));
  CHECK(contains(read_refusal("{\"a\":" + std::string(100'000, '[')), "nested deeper than 512"));
  CHECK(contains(read_refusal("{\"traceEvents\":[{\"name\":\"\xff\xfe\"}]}"), "not UTF-8"));
  const std::string packed = zipped(whole);
  CHECK(contains(read_refusal(packed.substr(0, packed.size() - 12)), "end early"));
  std::string broken = packed;
  broken[packed.size() - 6] ^= 0x55;
  CHECK(contains(read_refusal(broken), "unpack"));
  CHECK(contains(read_trace("/nonexistent/trace.json").error().message(), "/nonexistent"));
  CHECK(read_trace("/tmp").error().code == ErrorCode::invalid);
}

TEST_CASE("one event beyond 64 MiB is refused, not held", "[trace][read]") {
  std::string text = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"";
  text.append(std::size_t{70} << 20, 'a');
  CHECK(contains(read_refusal(text + "\"}]}"), "larger than 64 MiB"));
}

TEST_CASE("every cut of a trace is refused", "[trace][read][fuzz]") {
  const std::string whole = trace_text({flash(10, 50), launch(20, 1), kernel(100, 7, 1)});
  const testing::TraceFile file(whole);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    fs::resize_file(file.path(), whole.size() - length);
    const bool accepted = read_trace(file.path()).ok();
    CHECK(accepted == (length == 0));
  }
}

TEST_CASE("damaged traces are refused or counted, never a crash", "[trace][read][fuzz]") {
  const std::string whole = trace_text({flash(10, 50), launch(20, 1), kernel(100, 7, 1)});
  std::mt19937 random(3);
  const std::string letters = "{}[],:\"0-.eX\\a";
  for (int i = 0; i < 2'000; ++i) {
    std::string text = whole;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = letters[random() % letters.size()];
    const testing::TraceFile file(text);
    auto read = read_trace(file.path());
    if (!read.ok()) continue;
    link_trace(*read);
    const SdpaCalls calls = find_sdpa_calls(*read);
    std::size_t in_rows = 0;
    for (const OpRow& row : rows_of(*read, calls)) {
      in_rows += row.calls.size();
      // Not more than its kernels took one after the other.
      double sum = 0;
      for (const KernelLine& line : row.kernels) sum += line.total_us;
      CHECK(row.kernel_us.sum <= sum);
      CHECK((row.work.has_value() != row.why_no_model.empty()) == false);
    }
    CHECK(in_rows == calls.calls.size());
    // The one kernel is a call's, nobody's, or was not read.
    CHECK(calls.calls.size() + calls.unclaimed_kernels <= read->gpu.size());
  }
}

TEST_CASE("an event without a duration or a time is left out and counted", "[trace][read]") {
  const auto cut = [](std::string text, const std::string& part) {
    return text.erase(text.find(part), part.size());
  };
  const Trace trace = linked_trace(
      trace_text({flash(10, 50), launch(20, 1), cut(kernel(100, 7, 1), "\"dur\":7.0,"),
                  cut(flash(200, 50), "\"dur\":50.0,"), cut(flash(300, 50), ",\"ts\":300.0")}));
  CHECK(trace.gaps.kernels_without_duration == 1);
  CHECK(trace.gaps.host_without_duration == 1);
  CHECK(trace.gaps.without_timestamp == 1);
  const SdpaCalls calls = find_sdpa_calls(trace);
  CHECK(calls.calls.empty());
  CHECK(calls.without_time == 1);
  CHECK(gap_sentences(trace, calls).size() == 4);
}

TEST_CASE("entries that are no events, and a second list of them, are told", "[trace][read]") {
  const Trace trace = linked_trace("{\"traceEvents\":[1,\"x\",[" + flash(10, 50) + "],null]}");
  CHECK(trace.gaps.not_events == 4);
  CHECK(gap_sentences(trace, find_sdpa_calls(trace)) ==
        std::vector<std::string>{"4 entries of traceEvents are no events and are left out."});
  // Added up, both would be counted; taken by turns, one of them would be lost.
  CHECK(testing::read_refusal("{\"traceEvents\":[],\"traceEvents\":[]}")
            .find("a second list \"traceEvents\"") != std::string::npos);
}

TEST_CASE("GPUs of several kinds are all named", "[trace][read]") {
  const Trace trace = linked_trace(std::string(
      R"({"deviceProperties":[{"name":"A"},{"name":"A"},{"name":"B"},{},3,{"name":"B"}],)"
      R"("traceEvents":[]})"));
  CHECK(trace.device_name == "A");
  CHECK(trace.other_devices == std::vector<std::string>{"B"});
}

TEST_CASE("kernels find their operator by correlation, else by external id", "[trace][link]") {
  SECTION("a correlation id that two operators claim belongs to none") {
    const Trace trace = linked_trace(trace_text(
        {flash(10, 50), launch(20, 1), flash(100, 50), launch(120, 1), kernel(300, 7, 1)}));
    CHECK(trace.gaps.ambiguous_links == 1);
    const SdpaCalls calls = find_sdpa_calls(trace);
    CHECK(calls.calls.empty());
    CHECK(calls.without_kernels == 2);
  }
  SECTION("two launches with one id in one operator are no matter") {
    const Trace trace =
        linked_trace(trace_text({flash(10, 50), launch(20, 1), launch(25, 1), kernel(300, 7, 1)}));
    CHECK(trace.gaps.ambiguous_links == 0);
    CHECK(find_sdpa_calls(trace).calls.size() == 1);
  }
  SECTION("without a correlation the external id of the operator counts") {
    const Trace trace =
        linked_trace(trace_text({flash(10, 50, "\"External id\":42"),
                                 event_text("kernel", "k", 300, 7, "\"External id\":42")}));
    CHECK(find_sdpa_calls(trace).calls.size() == 1);
  }
  SECTION("a kernel of nobody is counted") {
    const Trace trace = linked_trace(trace_text({flash(10, 50), kernel(300, 7, 9)}));
    CHECK(trace.gaps.unlinked_kernels == 1);
    CHECK(find_sdpa_calls(trace).without_kernels == 1);
  }
}

TEST_CASE("parents are the events around, innermost first", "[trace][link]") {
  const Trace trace = linked_trace(
      trace_text({event_text("user_annotation", "step", 0, 1000),
                  event_text("python_function", "module", 5, 500),
                  event_text("python_function", "other thread", 5, 500, "", 2), flash(10, 50),
                  event_text("cpu_op", "crosses", 40, 500), launch(20, 1), kernel(100, 7, 1)}));
  CHECK(trace.gaps.overlapping >= 1);
  const SdpaCalls calls = find_sdpa_calls(trace);
  REQUIRE(calls.calls.size() == 1);
  std::vector<std::string> names;
  for (const std::uint32_t name : parents_of(trace, calls.calls[0].host)) {
    names.push_back(trace.text(name));
  }
  CHECK(names == std::vector<std::string>{"module", "step"});
}

TEST_CASE("kernels that overlap count their union", "[trace][calls]") {
  const Trace trace =
      linked_trace(trace_text({flash(10, 50), launch(20, 1), kernel(100, 10, 1), kernel(105, 10, 1),
                               kernel(106, 2, 1), kernel(200, 3, 1)}));
  const SdpaCalls calls = find_sdpa_calls(trace);
  REQUIRE(calls.calls.size() == 1);
  CHECK(calls.calls[0].kernel_us == Approx(18));
}

TEST_CASE("an operator inside another counts once, forward and backward apart", "[trace][calls]") {
  const Trace trace = linked_trace(testing::trace_fixture("synthetic_flash_gqa_train.json"));
  const SdpaCalls calls = find_sdpa_calls(trace);
  const auto rows = rows_of(trace, calls);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].backward == false);
  CHECK(rows[0].name == "aten::_scaled_dot_product_flash_attention");
  CHECK(rows[0].calls.size() == 3);
  CHECK(rows[0].kernel_us.sum == Approx(150));
  // 2 · 16 · 1024 · 1024 · 128 · 2 FLOPs, halved; (2·1024·16 + 2·1024·4) · 128 elements of 2 bytes.
  CHECK(rows[0].work->flops == Approx(4294967296.0));
  CHECK(*rows[0].work->bytes == Approx(10485760.0));
  CHECK(rows[1].backward);
  // 2.5 times forward, and the sum of the gradients over groups of 4.
  CHECK(rows[1].work->flops == Approx(2.5 * 4294967296.0 + 2 * 1024 * 128 * 3 / 2.0));
  CHECK(rows[0].percent == Approx(100 * 150.0 / 1150.0));
  const GpuTime time = gpu_time(trace);
  CHECK(time.total_ms == Approx(2.05));
  CHECK(time.busy_ms == Approx(1.15));
}

TEST_CASE("product, softmax and product are unfused attention", "[trace][calls]") {
  const Trace trace = linked_trace(testing::trace_fixture("synthetic_unfused.json"));
  const SdpaCalls calls = find_sdpa_calls(trace);
  REQUIRE(calls.calls.size() == 2);
  CHECK(calls.calls[0].name == k_unfused_name);
  CHECK(calls.calls[0].kernels.size() == 4);  // the scaling, too
  CHECK(calls.calls[0].kernel_us == Approx(80));
  const auto rows = rows_of(trace, calls);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].sizes);
  CHECK(rows[0].sizes->H_Q == 16);
  CHECK(rows[0].work->flops == Approx(2.0 * 16 * 256 * 256 * 128));
  CHECK(rows[0].compute_spec == "matrix_fp16");
}

TEST_CASE("softmax, products, scalings and copies are told inside attention and elsewhere",
          "[trace][calls]") {
  // Two calls of 80 us: products of 30 and 25, a scaling of 5, a softmax of 20; then a model that
  // does other things.
  const Trace unfused = linked_trace(testing::trace_fixture("synthetic_unfused.json"));
  const ModelPattern own = model_pattern(unfused, find_sdpa_calls(unfused));
  CHECK(own.attention_ms == Approx(0.16));
  CHECK(own.operators[0].inside_ms == Approx(0.04));
  CHECK(own.operators[1].inside_ms == Approx(0.11));
  CHECK(own.operators[1].events == 5);
  CHECK(own.operators[1].outside_ms == Approx(0.5));  // a product that no softmax follows
  CHECK(own.operators[2].inside_ms == Approx(0.01));
  CHECK(own.operators[2].outside_ms == 0);
  const Trace other = linked_trace(testing::trace_text(
      {testing::event_text("cpu_op", "aten::copy_", 0, 10),
       testing::event_text("cpu_op", "aten::softmax", 20, 10),
       testing::event_text("cpu_op", "aten::_softmax", 21, 8),
       testing::event_text("cpu_op", "aten::mm", 40, 10),
       testing::event_text("cuda_runtime", "launch", 1, 1, "\"correlation\":1"),
       testing::event_text("cuda_runtime", "launch", 22, 1, "\"correlation\":2"),
       testing::event_text("cuda_runtime", "launch", 41, 1, "\"correlation\":3"),
       testing::event_text("kernel", "copy", 5, 7, "\"correlation\":1"),
       testing::event_text("kernel", "softmax", 25, 11, "\"correlation\":2"),
       testing::event_text("kernel", "gemm", 45, 82, "\"correlation\":3"),
       testing::event_text("kernel", "nobody's", 200, 500, "\"correlation\":9")}));
  const ModelPattern pattern = model_pattern(other, find_sdpa_calls(other));
  CHECK(pattern.work_ms == Approx(0.1));  // what nobody launched does not count
  CHECK(pattern.attention_ms == 0);
  CHECK(pattern.operators[0].outside_ms == Approx(0.011));  // once, though two operators nest
  CHECK(pattern.operators[0].events == 1);
  CHECK(pattern.operators[1].outside_ms == 0);
  CHECK(pattern.operators[3].outside_ms == Approx(0.007));
  CHECK(to_json(pattern)["attention_heavy"] == false);
  CHECK(model_section(to_json(pattern)).find("A softmax runs elsewhere") != std::string::npos);
}

TEST_CASE("a model is attention-heavy by the share of its GPU work", "[trace][calls]") {
  ModelPattern pattern;
  pattern.work_ms = 50;
  pattern.attention_ms = 10;
  const std::string text = model_section(to_json(pattern));
  CHECK(text.find("**Attention-heavy:** yes. Attention is 20.00 % of the 50.000 ms") !=
        std::string::npos);
  CHECK(text.find("1.25 times as fast") != std::string::npos);
  pattern.attention_ms = 9.9;
  CHECK(model_section(to_json(pattern)).find("**Attention-heavy:** no") != std::string::npos);
  pattern.attention_ms = 50;  // nothing else: no factor
  CHECK(model_section(to_json(pattern)).find("times as fast") == std::string::npos);
  CHECK(to_json(ModelPattern{}).is_null());
  for (const Json& odd : {Json(), Json("x"), Json({{"attention_percent", "x"}}),
                          Json({{"attention_percent", 10}, {"gpu_work_ms", 1}, {"operators", 3}}),
                          Json({{"attention_percent", 10},
                                {"gpu_work_ms", 1},
                                {"operators", {1, {{"operator", 5}, {"events", "x"}}}}})}) {
    CHECK(model_section(odd).starts_with("## The model as a whole"));
  }
}

TEST_CASE("the classic kernels of paged attention", "[trace][calls]") {
  const Trace trace = linked_trace(testing::trace_fixture("synthetic_paged_classic.json"));
  const SdpaCalls calls = find_sdpa_calls(trace);
  const auto rows = rows_of(trace, calls);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].calls.size() == 4);
  CHECK(rows[0].attention == Attention::paged);
  REQUIRE(rows[0].step);
  CHECK(rows[0].step->gen_k == 32768);
  CHECK(rows[0].work->flops == Approx(32.0 * 256 * 2 * 32768));
  REQUIRE(rows[1].kernels.size() == 3);
  CHECK(rows[1].kernels[1].name == "_fwd_kernel");
}

TEST_CASE("times and sizes beyond any measure are left out", "[trace][read]") {
  const Trace trace = linked_trace(
      trace_text({flash(1e300, 50), flash(10, 50), launch(20, 1), kernel(100, 1e200, 1)}));
  CHECK(trace.gaps.without_timestamp == 1);
  CHECK(trace.gaps.kernels_without_duration == 1);
  CHECK(find_sdpa_calls(trace).without_time == 1);
  CHECK_FALSE(
      serving_step("execute_1_context_1(sq1e300sk1sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"));
  const std::string odd =
      event_text("cpu_op", "aten::_scaled_dot_product_flash_attention", 10, 50,
                 R"("Input Dims":[[1,2,9223372036854775807,32],[1,2,64,32],[1,2,64,32]])");
  const Trace sizes = linked_trace(trace_text({odd, launch(20, 1), kernel(100, 7, 1)}));
  const SdpaCalls calls = find_sdpa_calls(sizes);
  const auto rows = rows_of(sizes, calls);
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].work);
  CHECK(rows[0].why_no_model == "the sizes of q, k and v are not recorded");
}
