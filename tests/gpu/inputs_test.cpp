// SPDX-License-Identifier: MIT
// Inputs made on the device are those that the host makes, bit for bit.
#include <filesystem>
#include <map>
#include <random>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "gpu/gpu.hpp"
#include "support/random_problem.hpp"
#include "variant/variant.hpp"
#include "worker/cuda/gpu_inputs.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::variant;
using namespace wb::worker::cuda;

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
