// SPDX-License-Identifier: MIT
// NVIDIA's libraries, which the worker loads at run time: what it reports if CUDA cannot be used,
// and what it makes of the answers of a fake NVML whose answers are scripted. Needs no GPU.
#include <string>

#include "support/catch.hpp"
#include "support/fake_nvml.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/driver.hpp"
#include "worker/cuda/gpu_monitor.hpp"
#include "worker_under_test.hpp"

using namespace wb::measure;
using namespace wb::worker::cuda;
using namespace wb;
using wb::testing::fake_nvml;
using wb::testing::FakeNvml;

namespace {

Fault fault_of(const char* library) {
  const auto driver = Driver::load(library);
  REQUIRE_FALSE(driver.ok());
  return driver.error();
}

bool says(const Fault& fault, const std::string& words) {
  return fault.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("no CUDA driver", "[worker][cuda]") {
  const Fault fault = fault_of("libwb_no_such_cuda.so.1");
  CHECK(fault.code == ErrorCode::not_found);
  CHECK(says(fault, "libwb_no_such_cuda.so.1"));
  CHECK(says(fault, "CPU backend"));
  CHECK_FALSE(fault.ends_process());
}

TEST_CASE("a CUDA driver older than the floor", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_old.so").c_str());
  CHECK(fault.code == ErrorCode::environment);
  CHECK(says(fault, "it supports CUDA 12.3, device code needs 12.4"));
}

TEST_CASE("a library that is not a whole CUDA driver", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_partial.so").c_str());
  CHECK(fault.code == ErrorCode::not_found);
  CHECK(says(fault, "it has no function cuInit"));
}

TEST_CASE("a CUDA driver without a device", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_no_device.so").c_str());
  CHECK(fault.status == Status::no_device);
  CHECK(fault.code == ErrorCode::environment);
  CHECK(says(fault, "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"));
  CHECK_FALSE(fault.ends_process());
}

TEST_CASE("statuses that end a process", "[worker][cuda]") {
  for (const Status status : {Status::illegal_address, Status::launch_failed, Status::assertion,
                              Status::misaligned_address, Status::launch_timeout}) {
    CHECK(ends_process(status));
  }
  for (const Status status :
       {Status::success, Status::out_of_memory, Status::no_device, Status::invalid_value,
        Status::not_found, Status::no_binary_for_gpu, Status::unsupported_ptx_version}) {
    CHECK_FALSE(ends_process(status));
  }
}

TEST_CASE("a Fault is an Error where only its message matters", "[worker][cuda]") {
  const auto load = []() -> Result<int> {
    WB_TRY_ASSIGN(const DriverPtr driver, Driver::load("libwb_no_such_cuda.so.1"));
    return driver->version();
  };
  const Result<int> result = load();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::not_found);
}

TEST_CASE("device code is embedded, or the worker says that it is not", "[worker][cuda]") {
  const auto code = device_code();
#if WB_HAS_DEVICE_CODE
  REQUIRE(code.ok());
  CHECK(code->about.find("sm_90") != std::string_view::npos);
  for (const auto image :
       {code->inputs, code->oracle, code->standard, code->errors, code->timing}) {
    // The head of a fat binary, which the driver looks for.
    REQUIRE(image.size() > 1'000);
    CHECK(image[0] == std::byte{0x50});
    CHECK(image[1] == std::byte{0xed});
    CHECK(image[2] == std::byte{0x55});
    CHECK(image[3] == std::byte{0xba});
  }
#else
  REQUIRE_FALSE(code.ok());
  CHECK(says(code.error(), "built without CUDA device code"));
#endif
}

namespace {

constexpr const char* k_uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

/// A monitor whose worker is the processes 100 and 101.
GpuMonitor monitor_of(const char* library, const std::string& uuid = k_uuid) {
  return {
      library, uuid, {[](std::int64_t pid) { return pid == 100 || pid == 101; }, [] { return 2; }}};
}

NvmlProcess process(unsigned pid, unsigned long long bytes = 1'000) {
  return {pid, bytes, ~0u, ~0u};
}

}  // namespace

TEST_CASE("what NVML says about a GPU", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.event_reasons = 0x1 | 0x4 | 0x80 | 0x200;
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  const GpuSettings settings = monitor.settings();
  CHECK(settings.driver_version == "580.65.06");
  CHECK(settings.persistence_mode == true);
  CHECK(settings.max_sm_clock_mhz == 1'980);
  CHECK(settings.max_memory_clock_mhz == 3'201);
  CHECK(settings.power_limit_w == 700);
  CHECK(settings.unknown.empty());
  const GpuConditions read = monitor.read();
  CHECK(read.readings == 1);
  CHECK(read.sm_clock_mhz == ReadingRange{1'980, 1'980, 1'980});
  CHECK(read.memory_clock_mhz == ReadingRange{3'201, 3'201, 3'201});
  CHECK(read.power_w == ReadingRange{412.5, 412.5, 412.5});
  CHECK(read.temperature_c == ReadingRange{41, 41, 41});
  // Idleness is left out; a bit of a later NVML is told as what it is.
  CHECK(*read.clocks_event_reasons ==
        std::vector<std::string>{"hw_power_brake_slowdown", "sw_power_cap", "unknown_0x200"});
  CHECK(read.unknown.empty());
}

TEST_CASE("NVML is started once and ended with its user", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  {
    const GpuMonitor monitor = monitor_of(k_fake_nvml);
    CHECK(script.starts == 1);
    CHECK(script.ends == 0);
  }
  CHECK(script.ends == 1);
}

TEST_CASE("without NVML every figure is absent, with the reason", "[worker][nvml]") {
  const GpuMonitor monitor = monitor_of("libwb_no_such_nvml.so.1");
  for (const auto& unknown :
       {monitor.settings().unknown, monitor.read().unknown, monitor.look_for_others().unknown}) {
    REQUIRE(unknown.size() == 1);
    CHECK(unknown.at("nvml").find("libwb_no_such_nvml.so.1") != std::string::npos);
  }
  CHECK(monitor.read().readings == 0);
  CHECK_FALSE(monitor.read().sm_clock_mhz);
  CHECK_FALSE(monitor.look_for_others().other_processes);
}

TEST_CASE("an NVML that does not start", "[worker][nvml]") {
  fake_nvml(k_fake_nvml).init_status = NvmlStatus::no_permission;
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  CHECK(monitor.read().unknown.at("nvml") == "Insufficient Permissions (4)");
}

TEST_CASE("a library that is no NVML", "[worker][nvml]") {
  const std::string other = library("libfake_cuda_old.so");
  const GpuMonitor monitor = monitor_of(other.c_str());
  CHECK(monitor.read().unknown.at("nvml") == "it has no function nvmlInit_v2");
}

TEST_CASE("a GPU that NVML does not know", "[worker][nvml]") {
  fake_nvml(k_fake_nvml);
  const GpuMonitor monitor = monitor_of(k_fake_nvml, "GPU-ffffffff-0405-0607-0809-0a0b0c0d0e0f");
  CHECK(monitor.read().unknown.at("nvml") == "find the GPU by its UUID: Not Found (6)");
}

TEST_CASE("single figures may be missing", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.statuses["nvmlDeviceGetPowerUsage"] = NvmlStatus::not_supported;
  script.statuses["nvmlDeviceGetCurrentClocksEventReasons"] = NvmlStatus::no_permission;
  script.statuses["nvmlDeviceGetPersistenceMode"] = NvmlStatus::not_supported;
  script.statuses["nvmlSystemGetDriverVersion"] = NvmlStatus::no_permission;
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  const GpuConditions read = monitor.read();
  CHECK_FALSE(read.power_w);
  CHECK_FALSE(read.clocks_event_reasons);
  CHECK(read.sm_clock_mhz);
  CHECK(read.unknown.at("power_w") == "Not Supported (3)");
  CHECK(read.unknown.at("clocks_event_reasons") == "Insufficient Permissions (4)");
  CHECK(read.unknown.size() == 2);
  const GpuSettings settings = monitor.settings();
  CHECK_FALSE(settings.persistence_mode);
  CHECK(settings.driver_version.empty());
  CHECK(settings.unknown.size() == 2);
}

TEST_CASE("an older NVML: former names, and functions that it lacks", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml_old);
  script.event_reasons = 0x40;
  const GpuMonitor monitor = monitor_of(k_fake_nvml_old);
  CHECK(*monitor.read().clocks_event_reasons == std::vector<std::string>{"hw_thermal_slowdown"});
  const GpuConditions others = monitor.look_for_others();
  CHECK_FALSE(others.other_processes);
  CHECK(others.unknown.at("other_processes") == "this NVML has no such function");
}

TEST_CASE("a MIG instance has another name and few figures", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.uuid = "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f";
  script.statuses["nvmlDeviceGetClockInfo"] = NvmlStatus::not_supported;
  script.statuses["nvmlDeviceGetProcessUtilization"] = NvmlStatus::not_supported;
  script.utilization = {{7, 1, 1, 0, 0, 0}};
  script.processes = {process(100), process(7)};
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  const GpuConditions read = monitor.read();
  CHECK_FALSE(read.sm_clock_mhz);
  CHECK(read.unknown.at("sm_clock_mhz") == "a MIG instance: Not Supported (3)");
  CHECK(read.power_w);
  const GpuConditions others = monitor.look_for_others();
  CHECK(others.other_processes->count == 1);
  CHECK_FALSE(others.other_processes->busy);
  CHECK(others.unknown.at("other_processes.busy") == "a MIG instance: Not Supported (3)");
}

TEST_CASE("the worker's own processes are no others", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.processes = {process(100), process(101)};
  script.utilization = {{100, 5'000'000, 90, 10, 0, 0}};
  const GpuConditions found = monitor_of(k_fake_nvml).look_for_others();
  CHECK(found.other_processes == OtherProcesses{0, 0, 0.0});
  CHECK(found.unknown.empty());
}

TEST_CASE("others are busy only by samples of the last second", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.processes = {process(100), process(7, 4'000), process(8, 6'000)};
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  // No samples at all, an idle one, an old one, and one of a process that is no longer there.
  CHECK(monitor.look_for_others().other_processes == OtherProcesses{2, 0, 10'000.0});
  script.utilization = {{100, 9'000'000, 90, 10, 0, 0},
                        {7, 8'900'000, 0, 0, 0, 0},
                        {8, 7'999'999, 50, 5, 0, 0},
                        {9, 9'000'000, 50, 5, 0, 0}};
  CHECK(monitor.look_for_others().other_processes->busy == 0);
  script.utilization[2].time_us = 8'000'000;
  CHECK(monitor.look_for_others().other_processes->busy == 1);
}

TEST_CASE("process numbers of another system are only counted", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.processes = {process(70'001), process(70'002)};
  const GpuMonitor monitor = monitor_of(k_fake_nvml);
  GpuConditions found = monitor.look_for_others();
  CHECK(found.other_processes == OtherProcesses{0, std::nullopt, std::nullopt});
  script.processes.push_back(process(70'003));
  found = monitor.look_for_others();
  CHECK(found.other_processes == OtherProcesses{1, std::nullopt, std::nullopt});
  CHECK(found.unknown.at("other_processes.busy").find("counted, not told apart") !=
        std::string::npos);
}

TEST_CASE("a list without the worker itself is no list", "[worker][nvml]") {
  fake_nvml(k_fake_nvml);
  const GpuConditions found = monitor_of(k_fake_nvml).look_for_others();
  CHECK_FALSE(found.other_processes);
  CHECK(found.unknown.at("other_processes").find("not even the worker's own") != std::string::npos);
}

TEST_CASE("more processes than there was room for", "[worker][nvml]") {
  FakeNvml& script = fake_nvml(k_fake_nvml);
  script.processes = {process(100)};
  for (unsigned pid = 1'000; pid < 1'300; ++pid) script.processes.push_back(process(pid));
  script.processes.back().used_bytes = k_nvml_not_available;
  const GpuConditions found = monitor_of(k_fake_nvml).look_for_others();
  CHECK(found.other_processes->count == 300);
  CHECK_FALSE(found.other_processes->memory_bytes);
  CHECK(found.unknown.at("other_processes.memory_bytes") == "NVML does not say");
}
