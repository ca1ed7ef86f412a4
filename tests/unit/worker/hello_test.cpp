// SPDX-License-Identifier: MIT
#include "worker/hello.hpp"

#include "support/catch.hpp"
#include "worker/calibrate.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::worker;

TEST_CASE("CPU sets are read as taskset writes them", "[worker][hello]") {
  const std::vector<int> allowed{0, 1, 2, 3, 8};
  CHECK(*choose_cpus("", allowed) == allowed);
  CHECK(*choose_cpus("1", allowed) == std::vector<int>{1});
  CHECK(*choose_cpus("0-2,8", allowed) == std::vector<int>{0, 1, 2, 8});
  CHECK(*choose_cpus("8,0,0-1", allowed) == std::vector<int>{0, 1, 8});
}

TEST_CASE("bad CPU sets are refused with the part at fault", "[worker][hello][hostile]") {
  const std::vector<int> allowed{0, 1};
  for (const std::string text : {"x", "0-", "-1", "1-0", "0,,1", "0,", "0-99999999999", "0 1"}) {
    INFO(text);
    CHECK_FALSE(choose_cpus(text, allowed).ok());
  }
  const auto outside = choose_cpus("0-2", allowed);
  REQUIRE_FALSE(outside.ok());
  CHECK(outside.error().message().find("CPU 2 is not among 0-1") != std::string::npos);
}

TEST_CASE("an interpreter is asked where it is", "[worker][hello]") {
  CHECK(find_python("no-such-python").error().code == ErrorCode::not_found);
  const auto shell = find_python("false");
  REQUIRE_FALSE(shell.ok());
  CHECK(shell.error().code == ErrorCode::invalid);
  const auto python = find_python("");
  if (python.ok()) CHECK(python->front() == '/');
}

TEST_CASE("calibration finds rates of a real machine", "[worker][hello]") {
  Device device = detect_cpu();
  calibrate(device, {allowed_cpus().front()});
  REQUIRE(device.memory_bytes_per_s.has_value());
  CHECK(device.memory_bytes_per_s->value > 0);
  CHECK(device.memory_bytes_per_s->source == "calibrated at open");
#if defined(__x86_64__)
  REQUIRE(device.f32_flops_per_s.has_value());
  CHECK(device.f32_flops_per_s->value > 0);
#endif
}
