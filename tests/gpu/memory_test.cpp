// SPDX-License-Identifier: MIT
// Memory on a GPU: the tensors of a CUDA subject, filled from a seed, placed anew, and guarded by
// margins; and what the judge lends to a subject. That is tried with two processes, and hostile
// ones, by tests/hostile/test_hostile_gpu.py.
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "support/loan_checks.hpp"
#include "worker/cuda/buffer_set.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::worker::cuda;

namespace {

std::vector<std::byte> bytes_at(const Stream& stream, DeviceAddress from, std::size_t count) {
  std::vector<std::byte> bytes(count);
  REQUIRE(copy_to_host(stream, bytes, from).ok());
  return bytes;
}

const char* const k_text = "B=2 Hq=4 Hkv=2 Sq=33 Skv=65 D=40 bf16 mask=additive layout=BSHD";

}  // namespace

TEST_CASE("a set holds a problem's tensors, filled from the seed", "[gpu][buffers]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  const auto inputs = GpuInputs::create(gpu);
  REQUIRE((stream.ok() && inputs.ok()));
  const Problem problem = parse_problem(k_text).value();
  const auto set = DeviceBufferSet::create(*stream, problem, {1'000, true}, 3);
  REQUIRE(set.ok());
  REQUIRE(set->refill(*stream, *inputs, 17, Draw::edge).ok());
  const Inputs wanted = make_inputs(problem, 17, Draw::edge, 1);
  CHECK(bytes_at(*stream, set->q.address(), set->q.size_bytes()) == wanted.q);
  CHECK(bytes_at(*stream, set->k.address(), set->k.size_bytes()) == wanted.k);
  CHECK(bytes_at(*stream, set->v.address(), set->v.size_bytes()) == wanted.v);
  CHECK(bytes_at(*stream, set->mask.address(), set->mask.size_bytes()) == wanted.mask);
  CHECK(set->out.size_bytes() == out_bytes(problem));
  CHECK(set->lse.size_bytes() == 2 * 4 * 33 * sizeof(float));
  const auto workspace = bytes_at(*stream, set->workspace.address(), 1'000);
  CHECK(workspace == std::vector<std::byte>(1'000));
  for (const auto* buffer : {&set->q, &set->k, &set->v, &set->mask, &set->out, &set->lse}) {
    CHECK(buffer->address() % 256 == 0);
  }
  const auto overrun = set->overrun(*stream);
  REQUIRE(overrun.ok());
  CHECK(*overrun == nullptr);
}

TEST_CASE("one byte beside any tensor is seen, and names it", "[gpu][buffers]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  REQUIRE(stream.ok());
  const Problem problem = parse_problem(k_text).value();
  for (const auto& [name, member] :
       {std::pair{"q", &DeviceBufferSet::q}, std::pair{"mask", &DeviceBufferSet::mask},
        std::pair{"out", &DeviceBufferSet::out}, std::pair{"lse", &DeviceBufferSet::lse},
        std::pair{"the workspace", &DeviceBufferSet::workspace}}) {
    for (const bool is_behind : {false, true}) {
      const auto set = DeviceBufferSet::create(*stream, problem, {999, true}, 1);
      REQUIRE(set.ok());
      const GuardedDeviceBuffer& buffer = (*set).*member;
      const DeviceAddress at =
          is_behind ? buffer.address() + buffer.size_bytes() : buffer.address() - 1;
      auto beside = bytes_at(*stream, at, 1);
      beside[0] ^= std::byte{1};
      REQUIRE(copy_to_device(*stream, at, beside).ok());
      const auto overrun = set->overrun(*stream);
      REQUIRE(overrun.ok());
      REQUIRE(*overrun != nullptr);
      CHECK(std::string(*overrun) == name);
    }
  }
}

TEST_CASE("placements differ within their pages, and the stated memory suffices",
          "[gpu][buffers]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  REQUIRE(stream.ok());
  const Problem problem = parse_problem(k_text).value();
  const auto first = DeviceBufferSet::create(*stream, problem, {}, 0);
  const auto second = DeviceBufferSet::create(*stream, problem, {}, 1);
  REQUIRE((first.ok() && second.ok()));
  CHECK(first->lse.address() == 0);
  CHECK(first->workspace.address() == 0);
  CHECK(first->q.address() % 65'536 != second->q.address() % 65'536);
  CHECK(DeviceBufferSet::device_bytes(problem, {}, 1) >
        DeviceBufferSet::device_bytes(problem, {}, 0));
  CHECK(DeviceBufferSet::device_bytes(problem, {}, 0) >
        device_inputs_bytes(problem) + out_bytes(problem));

  const Problem huge = parse_problem("B=64 Hq=128 Sq=131072 D=256 bf16").value();
  const auto none = DeviceBufferSet::create(*stream, huge, {}, 0);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::limit);
  CHECK_FALSE(none.error().ends_process());
  CHECK(none.error().message().find("in all") != std::string::npos);
}

TEST_CASE("on a GPU what a subject writes after the judge's copy does not exist", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_late_writes_do_not_exist(gpu);
}

TEST_CASE("on a GPU lent memory has margins as any other", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_margins_stay(gpu);
}

TEST_CASE("on a GPU each side of a loan has a hold of its own", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_each_side_has_its_hold(gpu);
}
