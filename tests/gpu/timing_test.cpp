// SPDX-License-Identifier: MIT
// The stopwatch on a GPU, compared with delays of known length by the device's own clock.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gpu/gpu.hpp"
#include "measure/quantiles.hpp"
#include "worker/cuda/device/params.hpp"
#include "worker/cuda/graph_launches.hpp"
#include "worker/cuda/stopwatch.hpp"
#include "worker/settling.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::worker::cuda;

namespace {

struct StopwatchBench {
  explicit StopwatchBench(const ContextPtr& gpu)
      : stream(must(Stream::create(gpu))),
        stopwatch(must(Stopwatch::create(stream))),
        module(must(Module::load(gpu, device_code().value().timing, "timing"))) {}

  template <typename T>
  static T must(CudaResult<T> result) {
    INFO((result.ok() ? "" : result.error().message()));
    REQUIRE(result.ok());
    return *std::move(result);
  }
  CudaResult<void> spin(std::uint64_t ns) const {
    return must(module->kernel("wb_spin")).launch(stream, {}, worker::cuda::device::SpinParams{ns});
  }
  /// One that was launched before.
  [[nodiscard]] Graph graph_of_spins(std::uint64_t ns, int calls) const {
    Graph graph = must(Graph::record(stream, [&]() -> CudaResult<void> {
      for (int i = 0; i < calls; ++i) WB_TRY(spin(ns));
      return {};
    }));
    REQUIRE(graph.launch(stream).ok());
    REQUIRE(stream.synchronize().ok());
    return graph;
  }

  Stream stream;
  Stopwatch stopwatch;
  std::shared_ptr<const Module> module;
};

}  // namespace

TEST_CASE("what is behind a gate waits until it is opened, and then runs without the host",
          "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  const Stream stream = StopwatchBench::must(Stream::create(gpu));
  const auto code = StopwatchBench::must(Module::load(gpu, device_code().value().timing, "timing"));
  Gate gate = StopwatchBench::must(Gate::create(gpu, *code));
  const Event begin = StopwatchBench::must(Event::create(gpu));
  const Event end = StopwatchBench::must(Event::create(gpu));
  const DeviceBuffer buffer = StopwatchBench::must(DeviceBuffer::allocate(gpu, 4'096));
  for (int round = 0; round < 3; ++round) {
    REQUIRE(gate.close(stream).ok());
    REQUIRE(begin.record(stream).ok());
    REQUIRE(fill_bytes(stream, buffer.address(), std::byte{1}, 4'096).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    REQUIRE(end.record(stream).ok());
    gate.open();
    REQUIRE(stream.synchronize().ok());
    // The host's 50 ms lie before the first event took place.
    CHECK(StopwatchBench::must(end.elapsed_us(begin)) < 25'000);
    CHECK_FALSE(gate.lapsed());
  }
  REQUIRE(gate.close(stream).ok());
  REQUIRE(stream.synchronize().ok());  // nobody opens it
  CHECK(gate.lapsed());
  REQUIRE(gate.close(stream).ok());
  gate.open();
  REQUIRE(stream.synchronize().ok());
  CHECK_FALSE(gate.lapsed());
}

TEST_CASE("hot samples tell a delay of known length, and their sum is no more than the host saw",
          "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  for (const std::uint64_t ns : {20'000u, 100'000u, 400'000u}) {
    const int calls = 5;
    const Graph graph = bench.graph_of_spins(ns, calls);
    const Samples samples =
        StopwatchBench::must(bench.stopwatch.hot(bench.stream, graph, calls, 20));
    REQUIRE(samples.call_us.size() == 20);
    const double wanted_us = static_cast<double>(ns) * 1e-3;
    const double found_us = median(samples.call_us);
    INFO(found_us << " us for a delay of " << wanted_us << " us; wall " << samples.wall_us);
    // What a launch takes comes on top: up to 2 us and the resolution of the device's clock.
    CHECK(found_us >= 0.98 * wanted_us);
    CHECK(found_us <= 1.02 * wanted_us + 3);
    double sum_us = 0;
    for (const double us : samples.call_us) sum_us += us * calls;
    CHECK(sum_us <= samples.wall_us);
  }
}

TEST_CASE("the nodes of a graph tell the launches that were recorded", "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const auto kernel = StopwatchBench::must(bench.module->kernel("wb_spin"));
  std::vector<KernelLaunch> launches;
  const auto three_calls = [&]() -> CudaResult<void> {
    const worker::cuda::device::SpinParams at_once{};
    for (int i = 0; i < 3; ++i) {
      WB_TRY(kernel.launch(bench.stream, {.x = 7, .y = 5, .threads = 96}, at_once));
      WB_TRY(kernel.launch(bench.stream, {.x = 2, .threads = 32}, at_once));
    }
    return {};
  };
  const Graph graph =
      StopwatchBench::must(Graph::record(bench.stream, three_calls, [&](GraphHandle recorded) {
        launches = read_launches(gpu->functions(), recorded, 3);
      }));
  REQUIRE(graph.launch(bench.stream).ok());  // reading left it as it was
  REQUIRE(bench.stream.synchronize().ok());
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].kernel == "wb_spin");
  CHECK(launches[0].grid == KernelLaunch::Size{7, 5, 1});
  CHECK(launches[0].block == KernelLaunch::Size{96, 1, 1});
  CHECK(launches[0].per_call == 1);
  CHECK_FALSE(launches[0].cluster);
  CHECK(launches[0].dynamic_shared_bytes == 0);
  CHECK(launches[0].registers.value_or(0) > 0);
  CHECK(launches[0].blocks_per_sm.value_or(0) > 0);
  CHECK(launches[1].grid == KernelLaunch::Size{2, 1, 1});
}

TEST_CASE("a longer delay is longer: differences of one fiftieth are seen", "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const Graph short_one = bench.graph_of_spins(200'000, 2);
  const Graph long_one = bench.graph_of_spins(204'000, 2);
  for (int round = 0; round < 3; ++round) {
    const auto a = StopwatchBench::must(bench.stopwatch.hot(bench.stream, short_one, 2, 11));
    const auto b = StopwatchBench::must(bench.stopwatch.hot(bench.stream, long_one, 2, 11));
    const double difference_us = median(b.call_us) - median(a.call_us);
    INFO(difference_us << " us between delays that differ by 4");
    CHECK(difference_us > 2);
    CHECK(difference_us < 6);
  }
}

TEST_CASE("more samples than the driver takes at once are timed without the host",
          "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const Graph graph = bench.graph_of_spins(100'000, 2);
  const Samples samples = StopwatchBench::must(bench.stopwatch.hot(bench.stream, graph, 2, 1'500));
  REQUIRE(samples.call_us.size() == 1'500);
  CHECK(quantile(samples.call_us, 0.95) <= 105);
  CHECK(samples.wall_us < 1.1 * 1'500 * 200);
}

TEST_CASE("eager samples hold what the host takes between the calls", "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const auto busy = [&](double host_us) {
    return [&bench, host_us]() -> CudaResult<void> {
      const auto begin = std::chrono::steady_clock::now();
      while (worker::us_since(begin) < host_us) {
      }
      return bench.spin(50'000);
    };
  };
  bool has_started = false;
  const auto short_ones = StopwatchBench::must(
      bench.stopwatch.eager(bench.stream, busy(0), 4, 10, {[&] { has_started = true; }}));
  CHECK(has_started);
  CHECK(median(short_ones.call_us) >= 49);
  CHECK(median(short_ones.call_us) <= 60);
  const auto long_ones =
      StopwatchBench::must(bench.stopwatch.eager(bench.stream, busy(150), 4, 10));
  CHECK(median(long_ones.call_us) >= 147);
}

TEST_CASE("cold samples: an empty pair is taken off, and caches are empty", "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const auto cold = [&](const Graph& graph, int count) {
    std::vector<double> call_us;
    for (int i = 0; i < count; ++i) {
      REQUIRE(bench.stopwatch.flush(bench.stream).ok());
      const auto sample = StopwatchBench::must(bench.stopwatch.lone(bench.stream, graph));
      call_us.push_back(sample.call_us.front());
    }
    return median(call_us);
  };
  const double empty_us = bench.stopwatch.empty_pair_us();
  INFO(empty_us << " us between two events");
  CHECK(empty_us > 0);
  CHECK(empty_us < 20);
  const double call_us = StopwatchBench::must(bench.stopwatch.empty_call_us(bench.stream));
  INFO(call_us << " us an empty kernel in a graph");
  CHECK(call_us > 0);
  CHECK(call_us < empty_us);  // many share what stands around a graph
  const Graph graph = bench.graph_of_spins(100'000, 1);
  CHECK(cold(graph, 5) >= 98);

  // Memory that fits the L2 cache is read more slowly when it was pushed out of it. One block waits
  // for each of its reads: what latency costs is far above what an empty pair is off by.
  const std::size_t bytes = std::min<std::size_t>(1u << 20, gpu->l2_bytes() / 4);
  const DeviceBuffer memory = StopwatchBench::must(DeviceBuffer::allocate(gpu, bytes));
  REQUIRE(fill_bytes(bench.stream, memory.address(), std::byte{0}, bytes).ok());
  const Kernel read = StopwatchBench::must(bench.module->kernel("wb_read_through"));
  const Graph reads = StopwatchBench::must(Graph::record(bench.stream, [&] {
    return read.launch(
        bench.stream, {.x = 1, .threads = worker::cuda::device::k_scan_threads},
        worker::cuda::device::ReadParams{memory.as<std::uint32_t>(),
                                         static_cast<std::int64_t>(bytes / 4), nullptr});
  }));
  const Samples hot = StopwatchBench::must(bench.stopwatch.hot(bench.stream, reads, 1, 21));
  const double cold_us = cold(reads, 11);
  INFO("hot " << median(hot.call_us) << " us, cold " << cold_us << " us");
  CHECK(cold_us > 1.2 * median(hot.call_us));
}

TEST_CASE("what cannot be recorded is an error, and the stream works on", "[gpu][timing]") {
  WB_NEED_GPU(gpu);
  StopwatchBench bench(gpu);
  const auto waiting = Graph::record(bench.stream, [&] { return bench.stream.synchronize(); });
  REQUIRE_FALSE(waiting.ok());
  CHECK_FALSE(waiting.error().ends_process());
  CHECK(bench.spin(1'000).ok());
  CHECK(bench.stream.synchronize().ok());
}
