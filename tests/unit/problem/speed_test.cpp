// SPDX-License-Identifier: MIT
// Hidden from the normal run: `unit_problem "[speed]"` prints what inputs, oracle and std cost on
// one core of this machine.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "problem/verdict.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;

namespace {

template <typename Work>
double best_seconds(const Work& work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

TEST_CASE("speed of inputs, oracle, std and poison", "[.][problem][speed]") {
  for (const std::string text :
       {"B=1 Hq=16 Sq=1024 D=128 f32", "B=1 Hq=16 Sq=1024 D=128 f16",
        "B=1 Hq=16 Sq=1024 D=128 bf16", "B=1 Hq=16 Sq=1024 D=128 bf16 layout=BSHD",
        "B=1 Hq=1 Sq=2048 D=64 bf16 mask=bool:0.7", "B=1 Hq=1 Sq=2048 D=64 bf16 mask=additive"}) {
    const Problem p = parse_problem(text).value();
    const Tensor tensor = p.mask == MaskKind::none ? Tensor::q : Tensor::mask;
    Bytes bytes(tensor_bytes(p, tensor));
    const double seconds = best_seconds([&] { fill_tensor(p, 1, tensor, Draw::normal, bytes, 1); });
    std::cout << "inputs: " << seconds * 1e9 / static_cast<double>(element_count(p, tensor))
              << " ns an element, " << text << "\n";
  }
  for (const std::string text :
       {"B=1 Hq=1 Sq=4096 D=128 bf16", "B=1 Hq=1 Sq=4096 D=128 f16", "B=1 Hq=1 Sq=4096 D=64 f32",
        "B=1 Hq=8 Sq=1 Skv=8192 D=128 bf16"}) {
    const Problem p = parse_problem(text).value();
    const Inputs inputs = make_inputs(p, 1, Draw::normal);
    const auto blocks = sample_row_blocks(p, 8, 1);
    double flops = 0;
    for (const RowBlock& block : blocks) {
      flops += 2.0 * static_cast<double>((block.row_end - block.row_begin) * p.Skv * (p.D + p.Dv));
    }
    const double oracle = best_seconds([&] {
      for (const RowBlock& block : blocks) oracle_block(p, inputs, block);
    });
    const double standard = best_seconds([&] {
      for (const RowBlock& block : blocks) std_block(p, inputs, block);
    });
    std::cout << "oracle: " << flops / oracle * 1e-9 << " GFLOP/s, std: " << flops / standard * 1e-9
              << " GFLOP/s, " << text << "\n";
  }
  Bytes bytes(std::size_t{64} << 20);
  std::int64_t survivors = 0;
  const double fill = best_seconds([&] { Poison{5}.fill(bytes); });
  const double scan = best_seconds([&] { survivors += Poison{5}.survivors(bytes, 2); });
  CHECK(survivors == 3 * static_cast<std::int64_t>(bytes.size() / 2));
  std::cout << "poison: fill " << static_cast<double>(bytes.size()) / fill * 1e-9 << " GB/s, scan "
            << static_cast<double>(bytes.size()) / scan * 1e-9 << " GB/s\n";
}
