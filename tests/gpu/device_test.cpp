// SPDX-License-Identifier: MIT
// Contexts, memory, streams, events, modules on a real device. And what a real NVML reports about
// it, and the time of a reading. A missing figure is printed and is not a failure, because hosts
// differ.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "measure/quantiles.hpp"
#include "worker/cuda/device_buffer.hpp"
#include "worker/cuda/gpu_judge.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker/cuda/module.hpp"
#include "worker/process_table.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::worker::cuda;

namespace wb::testing {

std::optional<ContextPtr> find_gpu(std::string& why) {
  const auto driver = Driver::load();
  if (!driver.ok()) {
    why = driver.error().message();
    return std::nullopt;
  }
  const auto context = Context::create(*driver, 0);
  if (!context.ok()) {
    why = context.error().message();
    return std::nullopt;
  }
  if (const auto code = device_code(); !code.ok()) {
    why = code.error().message();
    return std::nullopt;
  }
  return *context;
}

bool gpu_is_required() {
  return std::getenv("WB_REQUIRE_GPU") != nullptr;
}

}  // namespace wb::testing

namespace {

std::vector<std::byte> counted_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

GpuMonitor monitor_of(const ContextPtr& gpu) {
  const auto uuid = gpu->uuid();
  REQUIRE(uuid.ok());
  return {k_nvml_library,
          *uuid,
          {[](std::int64_t pid) { return worker::belongs_to_worker(static_cast<pid_t>(pid)); },
           [] { return 1; }}};
}

/// What is known must be possible, and what is not must say why.
void check_figure(const char* name, const std::optional<ReadingRange>& figure, double highest,
                  const std::map<std::string, std::string>& unknown) {
  INFO(name);
  if (figure) {
    CHECK(figure->mean > 0);
    CHECK(figure->mean <= highest);
  } else {
    REQUIRE(unknown.contains(name));
    CHECK_FALSE(unknown.at(name).empty());
    WARN(name << " is unknown: " << unknown.at(name));
  }
}

}  // namespace

TEST_CASE("a device says what it is", "[gpu]") {
  WB_NEED_GPU(gpu);
  CHECK_FALSE(gpu->name().empty());
  CHECK(gpu->capability() >= 80);
  CHECK(gpu->multiprocessors() > 0);
  const auto memory = gpu->memory();
  REQUIRE(memory.ok());
  CHECK(memory->free_bytes <= memory->total_bytes);
  CHECK(gpu->driver().version() >= k_oldest_driver);
  const auto count = device_count(gpu->driver());
  REQUIRE(count.ok());
  CHECK(*count >= 1);
}

TEST_CASE("a device that is not there is an error with the number of those that are", "[gpu]") {
  WB_NEED_GPU(gpu);
  const auto driver = Driver::load();
  REQUIRE(driver.ok());
  for (const int ordinal : {-1, 4'096}) {
    const auto none = Context::create(*driver, ordinal);
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().status == Status::invalid_device);
    CHECK_FALSE(none.error().ends_process());
  }
}

TEST_CASE("bytes survive the way to the device and back", "[gpu]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  REQUIRE(stream.ok());
  const auto sent = counted_bytes(1'000'003);
  auto buffer = DeviceBuffer::allocate(gpu, sent.size());
  REQUIRE(buffer.ok());
  CHECK(buffer->address() % 256 == 0);
  REQUIRE(copy_to_device(*stream, buffer->address(), sent).ok());
  std::vector<std::byte> back(sent.size());
  const DeviceBuffer moved = std::move(*buffer);
  REQUIRE(copy_to_host(*stream, back, moved.address()).ok());
  CHECK(back == sent);

  const auto pinned = PinnedBuffer::allocate(gpu, 4'096);
  REQUIRE(pinned.ok());
  REQUIRE(fill_bytes(*stream, moved.address(), std::byte{0xab}, 4'096).ok());
  REQUIRE(copy_to_host(*stream, pinned->bytes(), moved.address()).ok());
  CHECK(pinned->bytes()[0] == std::byte{0xab});
  CHECK(pinned->bytes()[4'095] == std::byte{0xab});
  REQUIRE(copy_to_host(*stream, back, moved.address()).ok());
  CHECK(back[4'096] == sent[4'096]);
}

TEST_CASE("more memory than there is: an error that ends nothing", "[gpu]") {
  WB_NEED_GPU(gpu);
  const auto none = DeviceBuffer::allocate(gpu, std::size_t{1} << 46);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().status == Status::out_of_memory);
  CHECK(none.error().code == ErrorCode::limit);
  CHECK_FALSE(none.error().ends_process());
  CHECK(none.error().message().find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos);
  CHECK(DeviceBuffer::allocate(gpu, 256).ok());
}

TEST_CASE("events measure time on the stream", "[gpu]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  const auto begin = Event::create(gpu);
  const auto end = Event::create(gpu);
  const auto buffer = DeviceBuffer::allocate(gpu, std::size_t{1} << 26);
  REQUIRE((stream.ok() && begin.ok() && end.ok() && buffer.ok()));
  REQUIRE(begin->record(*stream).ok());
  REQUIRE(fill_bytes(*stream, buffer->address(), std::byte{1}, buffer->size_bytes()).ok());
  REQUIRE(end->record(*stream).ok());
  REQUIRE(end->synchronize().ok());
  const auto us = end->elapsed_us(*begin);
  REQUIRE(us.ok());
  CHECK(*us > 0);
}

TEST_CASE("device code that is none, and a kernel that is not there", "[gpu]") {
  WB_NEED_GPU(gpu);
  const std::string text = "this is not PTX";
  const auto bad = Module::load(gpu, std::as_bytes(std::span(text.c_str(), text.size() + 1)), "x");
  REQUIRE_FALSE(bad.ok());
  CHECK_FALSE(bad.error().ends_process());
  CHECK(bad.error().message().find("CUDA_ERROR_") != std::string::npos);

  const auto code = device_code();
  REQUIRE(code.ok());
  const auto module = Module::load(gpu, code->errors, "the judge's device code");
  REQUIRE(module.ok());
  const auto missing = (*module)->kernel("wb_no_such_kernel");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message().find("wb_no_such_kernel") != std::string::npos);
  CHECK((*module)->kernel("wb_scan_output").ok());
}

// Hidden: what comes after it in its process would fail. By hand: gpu_worker "[lost]".
TEST_CASE("a wrong address ends the process, and is told apart", "[.lost]") {
  WB_NEED_GPU(gpu);
  const auto inputs = GpuInputs::create(gpu);
  const auto stream = Stream::create(gpu);
  REQUIRE((inputs.ok() && stream.ok()));
  const Problem p = parse_problem("B=1 Hq=1 Sq=64 D=64 f32").value();
  REQUIRE(inputs->fill(*stream, p, 1, Tensor::q, Draw::normal, 4'096).ok());
  const auto lost = stream->synchronize();
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.error().status == Status::illegal_address);
  CHECK(lost.error().ends_process());
  const auto after = DeviceBuffer::allocate(gpu, 256);
  REQUIRE_FALSE(after.ok());
  CHECK(after.error().ends_process());
}

TEST_CASE("NVML describes the device", "[gpu][nvml]") {
  WB_NEED_GPU(gpu);
  const GpuMonitor monitor = monitor_of(gpu);
  const GpuSettings settings = monitor.settings();
  WARN(to_json(settings).dump());
  if (settings.unknown.contains("nvml")) return;
  CHECK_FALSE(settings.driver_version.empty());
  const GpuConditions read = monitor.read();
  WARN(to_json(read).dump());
  check_figure("sm_clock_mhz", read.sm_clock_mhz, settings.max_sm_clock_mhz.value_or(10'000),
               read.unknown);
  check_figure("memory_clock_mhz", read.memory_clock_mhz,
               settings.max_memory_clock_mhz.value_or(30'000), read.unknown);
  // A reading may lie above the limit for a moment.
  check_figure("power_w", read.power_w, 1.5 * settings.power_limit_w.value_or(3'000), read.unknown);
  check_figure("temperature_c", read.temperature_c, 130, read.unknown);
  CHECK((read.clocks_event_reasons || read.unknown.contains("clocks_event_reasons")));
}

TEST_CASE("this process is not taken for another on the device", "[gpu][nvml]") {
  WB_NEED_GPU(gpu);
  const GpuConditions found = monitor_of(gpu).look_for_others();
  WARN(to_json(found).dump());
  if (!found.other_processes) {
    CHECK_FALSE(found.unknown.empty());
    return;
  }
  // A GPU that was given to tests alone. Others may share it; this process must not be counted.
  if (std::getenv("WB_GPU_IS_MINE") != nullptr) CHECK(found.other_processes->count == 0);
}

TEST_CASE("what reading costs", "[.speed][gpu][nvml]") {
  WB_NEED_GPU(gpu);
  const GpuMonitor monitor = monitor_of(gpu);
  std::vector<double> read_us, look_us;
  const auto us_of = [](const auto& body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  for (int i = 0; i < 10; ++i) {
    read_us.push_back(us_of([&] { static_cast<void>(monitor.read()); }));
    look_us.push_back(us_of([&] { static_cast<void>(monitor.look_for_others()); }));
  }
  WARN("a reading takes " << median(read_us) << " us, looking for others " << median(look_us)
                          << " us (medians of 10; a turn has two of each)");
}
