// SPDX-License-Identifier: MIT
// Memory on a GPU: the tensors of a CUDA subject, filled from a seed, placed anew, and guarded by
// margins; and what the judge lends to a subject. That is tried with two processes, and hostile
// ones, by tests/hostile/test_hostile_gpu.py.
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "support/loan_checks.hpp"
#include "support/random_problem.hpp"
#include "variant/variant.hpp"
#include "worker/cuda/buffer_set.hpp"
#include "worker/cuda/gpu_inputs.hpp"

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

// Inputs made on the device are those that the host makes, bit for bit.

using namespace wb::variant;

namespace {

/// The tensors made on the device, as the host would hold them.
Inputs made_on(const ContextPtr& gpu, const Problem& p, std::uint32_t seed, Draw draw) {
  const auto stream = Stream::create(gpu);
  const auto maker = GpuInputs::create(gpu);
  REQUIRE(stream.ok());
  REQUIRE(maker.ok());
  const auto made = maker->make(*stream, p, seed, draw);
  REQUIRE(made.ok());
  Inputs inputs;
  for (const auto& [from, to] :
       {std::pair{&made->q, &inputs.q}, std::pair{&made->k, &inputs.k},
        std::pair{&made->v, &inputs.v}, std::pair{&made->mask, &inputs.mask}}) {
    to->resize(from->size_bytes());
    REQUIRE(copy_to_host(*stream, *to, from->address()).ok());
  }
  return inputs;
}

/// Of the checkout or installation that this program is of; where it was carried alone, in the
/// working folder.
std::string golden_text() {
  const RealFileSystem files;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const fs::path root = find_installed_root(program.parent_path()).value_or("");
  auto text = files.read(root / "tests" / "data" / "inputs_golden.json", 1 << 20);
  REQUIRE(text.ok());
  return *text;
}

}  // namespace

TEST_CASE("tensors made on the device have the golden hashes", "[gpu][golden]") {
  WB_NEED_GPU(gpu);
  const auto golden = parse_json(golden_text(), "inputs_golden.json");
  REQUIRE(golden.ok());
  std::size_t tensors = 0;
  for (const Json& entry : golden->at("cases")) {
    const Problem p = parse_problem(entry.at("problem").get<std::string>()).value();
    const auto draw = parse_draw(entry.at("draw").get<std::string>());
    REQUIRE(draw.has_value());
    const Inputs inputs = made_on(gpu, p, entry.at("seed").get<std::uint32_t>(), *draw);
    const std::map<std::string, const Bytes*> made{
        {"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}, {"mask", &inputs.mask}};
    for (const auto& [name, hash] : entry.at("sha256").items()) {
      Sha256 sha;
      sha.update(std::span<const std::byte>(*made.at(name)));
      INFO(entry.at("problem") << " " << entry.at("draw") << " " << name);
      CHECK(sha.hex() == hash.get<std::string>());
      ++tensors;
    }
  }
  CHECK(tensors >= 80);
}

TEST_CASE("tensors made on the device are those of the host, on random problems", "[gpu]") {
  WB_NEED_GPU(gpu);
  std::mt19937 random(20'261'122);
  for (int i = 0; i < 120; ++i) {
    const Problem p = testing::random_problem(random);
    const auto seed = static_cast<std::uint32_t>(random());
    const Draw draw = testing::random_draw(random);
    const Inputs host = make_inputs(p, seed, draw, 2);
    const Inputs device = made_on(gpu, p, seed, draw);
    INFO(to_text(p) << ", seed " << seed << ", " << to_string(draw));
    CHECK(device.q == host.q);
    CHECK(device.k == host.k);
    CHECK(device.v == host.v);
    CHECK(device.mask == host.mask);
  }
}

TEST_CASE("a tensor of several grids of threads is filled to its end", "[gpu]") {
  WB_NEED_GPU(gpu);
  // More counters than one launch has threads (2^16 blocks of 256): threads take a second one.
  const Problem p = parse_problem("B=1 Hq=5 Sq=60000 D=128 Skv=64 bf16 layout=BSHD").value();
  const Inputs host = make_inputs(p, 99, Draw::large, 2);
  const Inputs device = made_on(gpu, p, 99, Draw::large);
  CHECK(device.q == host.q);
}

TEST_CASE("the poison of an output is the host's, whatever its size", "[gpu][inputs]") {
  WB_NEED_GPU(gpu);
  const auto stream = Stream::create(gpu);
  const auto inputs = GpuInputs::create(gpu);
  REQUIRE(stream.ok());
  REQUIRE(inputs.ok());
  const Poison poison{0x1234'5678'9abc'def0u};
  for (const std::size_t bytes : {1u, 7u, 8u, 9u, 510u, 1'000'003u}) {
    INFO(bytes << " bytes");
    const auto buffer = DeviceBuffer::allocate(gpu, bytes + 8);
    REQUIRE(buffer.ok());
    REQUIRE(fill_bytes(*stream, buffer->address(), std::byte{0}, bytes + 8).ok());
    REQUIRE(inputs->poison(*stream, poison, buffer->address(), bytes).ok());
    std::vector<std::byte> found(bytes + 8), wanted(bytes + 8);
    REQUIRE(copy_to_host(*stream, found, buffer->address()).ok());
    poison.fill(std::span(wanted).first(bytes));  // and nothing behind it
    CHECK(found == wanted);
  }
}
