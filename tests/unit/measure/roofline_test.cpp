// SPDX-License-Identifier: MIT
#include "measure/roofline.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;

namespace {

/// 1 TFLOP/s in f32, 4 in f16, 100 GB/s.
Device a_device() {
  Device device;
  device.backend = "cpu";
  device.f32_flops_per_s = {1e12, "test"};
  device.f16_flops_per_s = {4e12, "test"};
  device.memory_bytes_per_s = {1e11, "test"};
  return device;
}

Work work_of(double flops, double bytes) {
  Work work;
  work.flops = flops;
  work.min_bytes = bytes;
  return work;
}

/// One row of one element: next to nothing is written.
Problem of_dtype(Dtype dtype) {
  Problem problem;
  problem.dtype = dtype;
  return problem;
}

}  // namespace

TEST_CASE("Floors use the peak of the dtype", "[measure][unit]") {
  const RooflineFloor f32 = roofline_floor(a_device(), of_dtype(Dtype::f32), work_of(1e9, 1e7));
  CHECK(f32.flop_us == Approx(1000));
  CHECK(f32.byte_us == Approx(100));
  CHECK(f32.limiting == "flops");
  const RooflineFloor f16 = roofline_floor(a_device(), of_dtype(Dtype::f16), work_of(1e8, 1e7));
  CHECK(f16.flop_us == Approx(25));
  CHECK(f16.limiting == "bytes");
}

TEST_CASE("Only the highest peak refuses: f32 may be split over faster units", "[measure][unit]") {
  const RooflineFloor f32 = roofline_floor(a_device(), of_dtype(Dtype::f32), work_of(1e9, 0));
  CHECK(f32.flop_us == Approx(1000));
  CHECK_FALSE(refuse_below_roofline(f32, PlanKind::hot, 300));
  CHECK(refuse_below_roofline(f32, PlanKind::hot, 200));
}

TEST_CASE("Bytes that are written need not reach memory in time", "[measure][unit]") {
  const auto problem = parse_problem("B=1 Hq=8 Sq=512 D=64 f16");
  REQUIRE(problem.ok());
  const Work demanded = work(*problem);  // q, k, v and out: equal parts
  const RooflineFloor floor = roofline_floor(a_device(), *problem, demanded);
  CHECK(floor.byte_us == Approx(0.75 * demanded.min_bytes / 1e11 * 1e6));
}

TEST_CASE("Unknown peaks refuse nothing", "[measure][unit]") {
  const RooflineFloor bf16 = roofline_floor(a_device(), of_dtype(Dtype::bf16), work_of(1e9, 0));
  CHECK(bf16.flop_us == 0);
  CHECK(bf16.limiting == "unknown");
  CHECK_FALSE(refuse_below_roofline(bf16, PlanKind::cold, 1e-9));
  Device broken = a_device();
  broken.f32_flops_per_s = {std::nan(""), "test"};
  CHECK(roofline_floor(broken, of_dtype(Dtype::f32), work_of(1e9, 0)).flop_us == 0);
}

TEST_CASE("The byte bound counts in the cold plan only", "[measure][unit]") {
  const RooflineFloor floor{10, 100, "bytes", 10};
  CHECK(floor.floor_us(PlanKind::hot) == 10);
  CHECK(floor.floor_us(PlanKind::eager) == 10);
  CHECK(floor.floor_us(PlanKind::cold) == 100);
  CHECK_FALSE(refuse_below_roofline(floor, PlanKind::hot, 50));
  const auto cold = refuse_below_roofline(floor, PlanKind::cold, 50);
  REQUIRE(cold);
  CHECK(cold->find("bytes") != std::string::npos);
  const auto hot = refuse_below_roofline(floor, PlanKind::hot, 5);
  REQUIRE(hot);
  CHECK(hot->find("floating-point") != std::string::npos);
}

TEST_CASE("The tolerance is for the peak's own error", "[measure][unit]") {
  const RooflineFloor floor{100, 0, "flops", 100};
  CHECK_FALSE(refuse_below_roofline(floor, PlanKind::hot, 95.1));
  CHECK(refuse_below_roofline(floor, PlanKind::hot, 94.9));
}

TEST_CASE("What is no time is refused", "[measure][unit]") {
  const RooflineFloor floor;
  for (const double time_us : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(refuse_below_roofline(floor, PlanKind::hot, time_us));
  }
}
