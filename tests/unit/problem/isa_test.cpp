// SPDX-License-Identifier: MIT
// Inputs, oracle and std are compiled for several instruction sets: each that this host has must
// give the bits of the plain way. `unit_problem "[speed]"`, hidden from the normal run, prints what
// they cost on one core of this machine.
#include "problem/isa.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <vector>

#include "core/dtype.hpp"
#include "problem/inner_loops.hpp"
#include "problem/inputs.hpp"
#include "problem/philox.hpp"
#include "problem/verdict.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::problem;

namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

std::vector<Isa> isas_of_this_host() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::plain, Isa::avx2, Isa::avx512}) {
    if (isa <= widest_isa()) isas.push_back(isa);
  }
  return isas;
}

/// One element in storage form.
Bytes stored(Dtype dtype, float value) {
  Bytes bytes(static_cast<std::size_t>(size_bytes(dtype)));
  const std::uint16_t half = dtype == Dtype::f16 ? to_f16(value).bits : to_bf16(value).bits;
  const void* from = &half;
  if (dtype == Dtype::f32) from = &value;
  std::memcpy(bytes.data(), from, bytes.size());
  return bytes;
}

void append(Bytes& bytes, const Bytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

constexpr std::uint64_t k_starts[] = {0, 1, 15, 16, 31, 32, 63, 64, 0x1ffffffc3, 0x1ffffffff};
constexpr std::size_t k_counts[] = {1, 2, 15, 16, 17, 33, 63, 64, 65, 128, 200};

/// Products one after the other, as inner_loops.hpp promises.
template <typename T>
void gemm_by_definition(Panel<T> c, Panel<const T> a, Panel<const T> b, std::int64_t rows,
                        std::int64_t columns, std::int64_t depth) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t d = 0; d < depth; ++d) {
        c.data[i * c.stride + j] += a.data[i * a.stride + d] * b.data[d * b.stride + j];
      }
    }
  }
}

template <typename T>
void check_gemm(Isa isa) {
  constexpr std::int64_t k_rows = 6, k_depth = 11, k_stride = 80;
  std::vector<T> a(k_rows * k_depth), b(k_depth * k_stride), c(k_rows * k_stride);
  for (auto* values : {&a, &b, &c}) {
    for (std::size_t i = 0; i < values->size(); ++i) {
      (*values)[i] = static_cast<T>(element_value(8, Tensor::q, 1000 * values->size() + i));
    }
  }
  for (const std::int64_t columns : {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 71}) {
    std::vector<T> expected = c, found = c;
    gemm_by_definition<T>({expected.data(), k_stride}, {a.data(), k_depth}, {b.data(), k_stride},
                          k_rows, columns, k_depth);
    gemm_add({found.data(), k_stride}, {a.data(), k_depth}, {b.data(), k_stride}, k_rows, columns,
             k_depth, isa);
    INFO(columns << " columns of " << sizeof(T) << " bytes");
    CHECK(found == expected);
  }
}

}  // namespace

TEST_CASE("each instruction set makes the same inputs", "[problem][isa]") {
  for (const Isa isa : isas_of_this_host()) {
    for (const std::uint64_t first : k_starts) {
      for (const std::size_t count : k_counts) {
        INFO("isa " << static_cast<int>(isa) << " first " << first << " count " << count);
        const std::uint64_t threshold = keep_threshold(0.9);
        Bytes kept(count), kept_expected;
        for (std::size_t i = 0; i < count; ++i) {
          const auto words = philox(3, 2, (first + i) / 2);
          kept_expected.push_back(std::byte{words[2 * ((first + i) % 2)] < threshold});
        }
        fill_bool_mask({3, 2}, first, count, threshold, kept.data(), isa);
        CHECK(kept == kept_expected);
        for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
          Bytes values, mask;
          for (std::size_t i = 0; i < count; ++i) {
            const float value = element_value(3, Tensor::v, first + i);
            append(values, stored(dtype, 4.0f * value));
            const bool is_kept = kept[i] == std::byte{1};
            append(mask, stored(dtype, is_kept ? value : -static_cast<float>(k_infinity)));
          }
          Bytes found(values.size());
          fill_values({3, 2}, first, count, 4.0f, 0, dtype, found.data(), isa);
          CHECK(found == values);
          fill_additive_mask({3, 2}, first, count, threshold, -static_cast<float>(k_infinity),
                             dtype, found.data(), isa);
          CHECK(found == mask);
        }
      }
    }
  }
}

TEST_CASE("each instruction set adds products in order", "[problem][isa]") {
  for (const Isa isa : isas_of_this_host()) {
    check_gemm<double>(isa);
    check_gemm<float>(isa);
  }
}

TEST_CASE("exponentials are within one unit in the last place, the same everywhere",
          "[problem][isa]") {
  std::vector<double> given;
  for (int i = 0; i < 40'000; ++i) {
    const double spread = i % 2 == 0 ? 170.0 : 1.0;  // up to 680, and near 0
    given.push_back(spread * static_cast<double>(element_value(6, Tensor::q, i)));
  }
  for (const Isa isa : isas_of_this_host()) {
    std::vector<double> found = given;
    exponentials(found.data(), static_cast<std::int64_t>(found.size()), isa);
    std::vector<float> rounded(given.begin(), given.end());
    exponentials(rounded.data(), static_cast<std::int64_t>(rounded.size()), isa);
    double worst = 0;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const double exact = std::exp(given[i]);
      worst = std::max(worst, std::abs(found[i] - exact) / exact);
      const double of_float = std::exp(static_cast<double>(static_cast<float>(given[i])));
      differ += rounded[i] == static_cast<float>(of_float) ? 0 : 1;
    }
    CHECK(worst <= 0x1p-52);
    CHECK(differ == 0);
    std::vector<double> plain = given;
    exponentials(plain.data(), static_cast<std::int64_t>(plain.size()), Isa::plain);
    CHECK(found == plain);
  }
}

TEST_CASE("exponentials at the ends of what numbers can hold", "[problem][isa]") {
  for (const Isa isa : isas_of_this_host()) {
    for (std::size_t count = 1; count < 20; ++count) {  // whole vectors and rests of them
      std::vector<double> values(count + 1, 0.0);
      exponentials(values.data(), static_cast<std::int64_t>(count), isa);
      CHECK(values == [&] {
        std::vector<double> expected(count, 1.0);
        expected.push_back(0.0);  // what lies behind is not touched
        return expected;
      }());
    }
    double ends[] = {-k_infinity, -1e300, -709, 710, 1e300, k_infinity, std::nan("")};
    exponentials(ends, std::ssize(ends), isa);
    for (const int i : {0, 1, 2}) CHECK(ends[i] == 0);
    for (const int i : {3, 4, 5}) CHECK(ends[i] == k_infinity);
    CHECK(std::isnan(ends[6]));
    float floats[] = {-static_cast<float>(k_infinity), -100.0f, 89.0f, std::nanf("")};
    exponentials(floats, std::ssize(floats), isa);
    CHECK(floats[0] == 0);
    CHECK(floats[1] == std::exp(-100.0f));  // not a normal number
    CHECK(std::isinf(floats[2]));
    CHECK(std::isnan(floats[3]));
  }
}

TEST_CASE("the largest value is found wherever it stands", "[problem]") {
  for (std::int64_t count = 0; count < 40; ++count) {
    std::vector<float> values(static_cast<std::size_t>(count), -3.0f);
    CHECK(largest(values.data(), count, -4.0f) == (count > 0 ? -3.0f : -4.0f));
    CHECK(largest(values.data(), count, 5.0f) == 5.0f);
    for (float& value : values) {
      value = 7.0f;
      CHECK(largest(values.data(), count, 5.0f) == 7.0f);
      value = std::nanf("");
      CHECK(largest(values.data(), count, 5.0f) == 5.0f);
      value = -3.0f;
    }
  }
}

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
