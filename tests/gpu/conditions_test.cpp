// SPDX-License-Identifier: MIT
// What a real NVML reports about the device, and the time of a reading. A missing figure is printed
// and is not a failure, because hosts differ.
#include <chrono>
#include <cstdlib>

#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "measure/statistics.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker/process_table.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::worker::cuda;

namespace {

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
