// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/json.hpp"
#include "problem/philox.hpp"
#include "protocol/protocol.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "worker/calibrate.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/hand_over.hpp"
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

// What a Python subject is given: on the CPU the tensors, on a GPU launches that make the same
// ones. The kernel is played from its parameter; tests/gpu has the real one.

namespace wb::worker {

using problem::Problem;

namespace {

using cuda::device::FillParams;
using cuda::device::MaskForm;
using cuda::device::Number;

struct Launch {
  std::int64_t threads = 0;  ///< of the whole grid
  FillParams params{};
};

Launch read_launch(const Json& fill) {
  Launch launch;
  launch.threads = fill.at("blocks").get<std::int64_t>() * fill.at("threads").get<std::int64_t>();
  const auto bytes = protocol::base64_decode(fill.at("params_base64").get<std::string>());
  REQUIRE(bytes.ok());
  REQUIRE(bytes->size() == sizeof(FillParams));
  std::memcpy(&launch.params, bytes->data(), sizeof(FillParams));
  CHECK(launch.params.to == nullptr);
  return launch;
}

/// As wb_fill_tensor (worker/cuda/device/inputs.cu).
problem::Bytes play(const Launch& launch, std::size_t size_bytes) {
  const FillParams& p = launch.params;
  const std::int64_t counters = (p.elements + 1) / 2;
  CHECK(launch.threads >= std::min<std::int64_t>(counters, 1 << 24));
  problem::Bytes out(size_bytes, std::byte{0xee});
  for (std::int64_t index = 0; index < p.elements; ++index) {
    const auto words = problem::philox(p.seed, p.tensor, static_cast<std::uint64_t>(index / 2));
    const std::uint32_t a = words[index % 2 == 0 ? 0 : 2], b = words[index % 2 == 0 ? 1 : 3];
    const std::int64_t row = index / p.width % p.rows;
    const std::int64_t at = index / p.width / p.rows / p.heads * p.strides.batch +
                            index / p.width / p.rows % p.heads * p.strides.head +
                            row * p.strides.row + index % p.width;
    const bool is_kept = a < p.keep_below && row != p.edge_row;
    if (p.mask == MaskForm::boolean) {
      out.at(static_cast<std::size_t>(at)) = static_cast<std::byte>(is_kept ? 1 : 0);
      continue;
    }
    const std::uint32_t sum = (a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16);
    const float drawn = static_cast<float>(static_cast<std::int32_t>(sum) - 131070) * 0x1p-15f;
    float value = p.mask == MaskForm::none || is_kept ? p.factor * drawn : p.rejected;
    if (p.sign != 0) value = static_cast<float>(p.sign) * std::abs(value);
    const std::uint16_t half = p.number == Number::f16 ? to_f16(value).bits : to_bf16(value).bits;
    const bool is_f32 = p.number == Number::f32;
    const std::size_t width = is_f32 ? 4 : 2;
    (void)out.at(static_cast<std::size_t>(at) * width + width - 1);  // throws beyond the tensor
    const void* from = is_f32 ? static_cast<const void*>(&value) : static_cast<const void*>(&half);
    std::memcpy(out.data() + static_cast<std::size_t>(at) * width, from, width);
  }
  return out;
}

std::optional<HandedInputs> handed_on_a_gpu(const Problem& problem) {
  auto inputs = HandedInputs::create(problem, Clock::device);
  if (!cuda::device_code().ok()) {
    REQUIRE_FALSE(inputs.ok());
    CHECK(inputs.error().invalidity == Invalidity::environment);
    WARN("this worker has no device code: launches are not handed out");
    return std::nullopt;
  }
  REQUIRE(inputs.ok());
  return *std::move(inputs);
}

TEST_CASE("launches handed to a Python subject make the same inputs as the host") {
  std::mt19937 random(20'261'123);
  for (int n = 0; n < 60; ++n) {
    const Problem problem = testing::random_problem(random);
    const problem::Draw draw = testing::random_draw(random);
    const auto seed = static_cast<std::uint32_t>(random());
    CAPTURE(problem::to_text(problem), to_string(draw), seed);
    std::optional<HandedInputs> inputs = handed_on_a_gpu(problem);
    if (!inputs) return;
    CHECK(inputs->fds().empty());
    Json message = {{"op", "prime"}};
    inputs->refill(seed, draw, 1, message);
    const problem::Inputs wanted = problem::make_inputs(problem, seed, draw);
    const bool has_mask = problem.mask != problem::MaskKind::none;
    const Json& fills = message.at("fills");
    REQUIRE(fills.size() == (has_mask ? 4 : 3));
    CHECK(play(read_launch(fills[0]), wanted.q.size()) == wanted.q);
    CHECK(play(read_launch(fills[1]), wanted.k.size()) == wanted.k);
    CHECK(play(read_launch(fills[2]), wanted.v.size()) == wanted.v);
    if (has_mask) CHECK(play(read_launch(fills[3]), wanted.mask.size()) == wanted.mask);
  }
}

TEST_CASE("on the CPU a subject is handed memory files, and its message stays as it was") {
  std::mt19937 random(1);
  Problem problem = testing::random_problem(random);
  problem.mask = problem::MaskKind::boolean;
  auto inputs = HandedInputs::create(problem, Clock::host);
  REQUIRE(inputs.ok());
  Json message = {{"op", "prime"}};
  inputs->refill(7, problem::Draw::normal, 1, message);
  CHECK(message == Json{{"op", "prime"}});
  CHECK(inputs->fds().size() == 4);
}

}  // namespace
}  // namespace wb::worker
