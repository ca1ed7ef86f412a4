// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "support/catch.hpp"
#include "worker/calibrate.hpp"
#include "worker/hello.hpp"

using namespace wb::device;
using namespace wb::worker;
using namespace wb;
using measure::PlanKind;

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

namespace {

Device calibrated_at(double flops_per_s) {
  Device device;
  device.backend = "cpu";
  device.f32_flops_per_s = {flops_per_s, "test"};
  device.memory_bytes_per_s = {1e9, "test"};
  return device;
}

/// 2 * (64 + 64) * 4 * 256 * 256 operations: 67.1 us at 1e12 a second.
problem::Problem of_known_work() {
  return problem::parse_problem("B=1 Hq=4 Sq=256 D=64 f32").value();
}

/// Gives one planted calibration after the other, the last one for ever.
struct Looks {
  std::vector<double> flops_per_s;
  std::size_t taken = 0;
  Device operator()() {
    return calibrated_at(flops_per_s[std::min(taken++, flops_per_s.size() - 1)]);
  }
};

}  // namespace

TEST_CASE("a peak of a disturbed moment is calibrated again before it refuses", "[worker][peaks]") {
  Device device = calibrated_at(2e11);  // a fifth of what this machine can do
  int left = 10;
  Looks looks{{3e11, 1e12}};
  CHECK(look_again_at_peaks(device, of_known_work(), PlanKind::hot, 100, left, std::ref(looks)));
  CHECK(device.f32_flops_per_s->value == 1e12);
  CHECK(looks.taken == 2);
  CHECK(left == 8);
  // Nobody looks where nothing is refused.
  CHECK_FALSE(
      look_again_at_peaks(device, of_known_work(), PlanKind::hot, 100, left, std::ref(looks)));
  CHECK(looks.taken == 2);
}

TEST_CASE("what no calibration makes possible stays refused", "[worker][peaks][hostile]") {
  Device device = calibrated_at(1e12);
  int left = 5;
  Looks looks{{9e11, 1.02e12, 9.9e11}};
  CHECK(look_again_at_peaks(device, of_known_work(), PlanKind::hot, 10, left, std::ref(looks)));
  CHECK(device.f32_flops_per_s->value == 1.02e12);  // the highest, not the last
  CHECK(looks.taken == k_looks_at_peaks);
  // A session does not calibrate for ever.
  for (int i = 0; i < 3; ++i) {
    look_again_at_peaks(device, of_known_work(), PlanKind::hot, 10, left, std::ref(looks));
  }
  CHECK(left == 0);
  CHECK(looks.taken == 5);
  CHECK(device.f32_flops_per_s->value == 1.02e12);
}

TEST_CASE("a time that is none is no reason to calibrate", "[worker][peaks][hostile]") {
  Device device = calibrated_at(1e12);
  int left = 5;
  Looks looks{{2e12}};
  for (const double us : {0.0, -1.0, std::nan("")}) {
    CHECK_FALSE(
        look_again_at_peaks(device, of_known_work(), PlanKind::hot, us, left, std::ref(looks)));
  }
  CHECK(looks.taken == 0);
}

TEST_CASE("only known peaks rise", "[worker][peaks]") {
  Device device = calibrated_at(1e12);
  Device again = calibrated_at(5e11);
  again.bf16_flops_per_s = {4e12, "test"};
  again.memory_bytes_per_s = {2e9, "test"};
  CHECK(keep_higher_peaks(device, again));
  CHECK(device.f32_flops_per_s->value == 1e12);
  CHECK_FALSE(device.bf16_flops_per_s.has_value());
  CHECK(device.memory_bytes_per_s->value == 2e9);
  again.memory_bytes_per_s = {INFINITY, "test"};
  CHECK_FALSE(keep_higher_peaks(device, again));
}
