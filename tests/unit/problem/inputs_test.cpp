// SPDX-License-Identifier: MIT
#include "problem/inputs.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/dtype.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "problem/attention.hpp"
#include "problem/inner_loops.hpp"
#include "problem/philox.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::problem;
using Words = std::array<std::uint32_t, 4>;

namespace {

/// Element `index` of a tensor in storage form, made by the slow and plain way.
std::uint32_t stored_bits(Dtype dtype, float value) {
  if (dtype == Dtype::f16) return to_f16(value).bits;
  if (dtype == Dtype::bf16) return to_bf16(value).bits;
  return std::bit_cast<std::uint32_t>(value);
}

std::uint32_t bits_at(const Bytes& bytes, Dtype dtype, std::int64_t index) {
  std::uint32_t bits = 0;
  const auto size = static_cast<std::size_t>(size_bytes(dtype));
  std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(index) * size, size);
  return bits;
}

Problem problem_of(std::string_view text) {
  return parse_problem(text).value();
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published answers", "[problem][philox]") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  CHECK(philox(7, 2, 0x500000003u) == philox4x32({3, 5, 0, 0}, {7, 2}));
}

TEST_CASE("values are what the rule says", "[problem][inputs]") {
  double sum = 0, squares = 0;
  constexpr int k_count = 100000;
  for (std::uint64_t i = 0; i < k_count; ++i) {
    const auto words = philox(9, 1, i / 2);
    const std::uint32_t a = words[2 * (i % 2)], b = words[2 * (i % 2) + 1];
    const double halves = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
    const float value = element_value(9, Tensor::k, i);
    REQUIRE(static_cast<double>(value) == (halves - 131070) / 32768);
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  CHECK(std::abs(sum / k_count) < 0.02);
  CHECK(std::abs(std::sqrt(squares / k_count) - 1.1547) < 0.01);
}

TEST_CASE("fast runs equal single elements wherever they start", "[problem][inputs]") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const std::uint64_t first : {0ull, 1ull, 63ull, 64ull, 0x1ffffffffull}) {
      for (const std::size_t count : {1u, 2u, 63u, 64u, 65u, 200u}) {
        Bytes run(count * static_cast<std::size_t>(size_bytes(dtype)));
        fill_values({3, 0}, first, count, 4.0f, 0, dtype, run.data());
        bool same = true;
        for (std::size_t i = 0; i < count; ++i) {
          const float value = 4.0f * element_value(3, Tensor::q, first + i);
          same &= bits_at(run, dtype, static_cast<std::int64_t>(i)) == stored_bits(dtype, value);
        }
        INFO(to_string(dtype) << " first " << first << " count " << count);
        CHECK(same);
      }
    }
  }
}

TEST_CASE("layouts hold the same elements at other places", "[problem][inputs]") {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const std::string text = std::string("B=2 Hq=3 Sq=5 Skv=4 D=7 Dv=3 ") + dtype;
    const Problem bhsd = problem_of(text);
    const Problem bshd = problem_of(text + " layout=BSHD");
    const Inputs a = make_inputs(bhsd, 21, Draw::normal);
    const Inputs b = make_inputs(bshd, 21, Draw::normal);
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      for (std::int64_t head = 0; head < 3; ++head) {
        for (std::int64_t row = 0; row < 5; ++row) {
          for (std::int64_t d = 0; d < 7; ++d) {
            const std::int64_t here = ((batch * 3 + head) * 5 + row) * 7 + d;
            const std::int64_t there = ((batch * 5 + row) * 3 + head) * 7 + d;
            REQUIRE(bits_at(a.q, bhsd.dtype, here) == bits_at(b.q, bhsd.dtype, there));
          }
        }
      }
    }
  }
}

TEST_CASE("the number of threads changes nothing", "[problem][inputs]") {
  for (const char* text : {"B=2 Hq=3 Sq=700 D=64 bf16 mask=additive",
                           "B=2 Hq=3 Sq=700 D=64 f16 mask=bool:0.3 layout=BSHD"}) {
    const Inputs one = make_inputs(problem_of(text), 4, Draw::normal, 1);
    const Inputs many = make_inputs(problem_of(text), 4, Draw::normal, 5);
    CHECK(one.q == many.q);
    CHECK(one.k == many.k);
    CHECK(one.v == many.v);
    CHECK(one.mask == many.mask);
  }
}

TEST_CASE("the large draw multiplies q and k, not v", "[problem][inputs]") {
  const Problem p = problem_of("B=1 Hq=2 Sq=9 D=16 f32");
  const Inputs normal = make_inputs(p, 8, Draw::normal);
  const Inputs large = make_inputs(p, 8, Draw::large);
  CHECK(normal.v == large.v);
  for (std::int64_t i = 0; i < element_count(p, Tensor::q); ++i) {
    const float small = std::bit_cast<float>(bits_at(normal.q, Dtype::f32, i));
    REQUIRE(std::bit_cast<float>(bits_at(large.q, Dtype::f32, i)) == 4 * small);
  }
  CHECK(normal.k != large.k);
}

TEST_CASE("a bool mask keeps its share", "[problem][inputs]") {
  const Problem p = problem_of("B=2 Hq=4 Sq=100 Skv=301 D=8 mask=bool:0.25");
  const Inputs inputs = make_inputs(p, 12, Draw::normal);
  REQUIRE(inputs.mask.size() == 2u * 100 * 301);
  const auto kept = std::count(inputs.mask.begin(), inputs.mask.end(), std::byte{1});
  const auto rejected = std::count(inputs.mask.begin(), inputs.mask.end(), std::byte{0});
  CHECK(kept + rejected == 2 * 100 * 301);
  CHECK(std::abs(static_cast<double>(kept) / (2 * 100 * 301) - 0.25) < 0.01);
  CHECK(keep_threshold(1.0) == std::uint64_t{1} << 32);
  const Inputs all = make_inputs(problem_of("B=1 Hq=1 Sq=50 D=8 mask=bool:1"), 12, Draw::normal);
  CHECK(std::count(all.mask.begin(), all.mask.end(), std::byte{1}) == 2500);
}

TEST_CASE("an additive mask has tensor values and -inf, never +inf or NaN", "[problem][inputs]") {
  const Problem p = problem_of("B=1 Hq=1 Sq=64 Skv=500 D=8 f32 mask=additive");
  const Inputs inputs = make_inputs(p, 12, Draw::normal);
  int masked = 0;
  for (std::int64_t i = 0; i < element_count(p, Tensor::mask); ++i) {
    const float value = std::bit_cast<float>(bits_at(inputs.mask, Dtype::f32, i));
    if (std::isinf(value)) {
      REQUIRE(value < 0);
      ++masked;
    } else {
      REQUIRE(value == element_value(12, Tensor::mask, static_cast<std::uint64_t>(i)));
    }
  }
  CHECK(std::abs(masked / 32000.0 - 0.1) < 0.01);
}

TEST_CASE("the edge draw masks one row per batch", "[problem][inputs]") {
  for (const char* kind : {"bool:0.9", "additive"}) {
    const Problem p = problem_of(std::string("B=2 Hq=1 Sq=7 Skv=33 D=8 f16 mask=") + kind);
    const Inputs normal = make_inputs(p, 16, Draw::normal);
    const Inputs edge = make_inputs(p, 16, Draw::edge);
    CHECK(normal.q == edge.q);
    const double lost = kept_pairs(p, normal.mask) - kept_pairs(p, edge.mask);
    CHECK(lost > 0);
    CHECK(lost <= 2 * 33);
    const std::size_t element = p.mask == MaskKind::boolean ? 1 : 2;
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t row = 0; row < 7; ++row) {
        const std::size_t at = (b * 7 + row) * 33 * element;
        const bool same =
            std::memcmp(normal.mask.data() + at, edge.mask.data() + at, 33 * element) == 0;
        CHECK(same == (row != 16 % 7));
      }
    }
  }
}

TEST_CASE("a mask of finite minima has them where another has -inf", "[problem][inputs]") {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const std::string text = std::string("B=2 Hq=1 Sq=7 Skv=33 D=8 ") + dtype + " mask=additive";
    const Problem with_infinity = problem_of(text), with_minima = problem_of(text + ":finite_min");
    for (const Draw draw : {Draw::normal, Draw::edge}) {
      const Inputs one = make_inputs(with_infinity, 16, draw);
      const Inputs other = make_inputs(with_minima, 16, draw);
      const auto count = static_cast<std::size_t>(element_count(with_minima, Tensor::mask));
      std::vector<double> infinite(count), finite(count);
      load_elements(with_infinity.dtype, one.mask.data(), static_cast<std::int64_t>(count),
                    infinite.data());
      load_elements(with_minima.dtype, other.mask.data(), static_cast<std::int64_t>(count),
                    finite.data());
      const auto least = static_cast<double>(rejected_value(with_minima));
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(finite[i] == (std::isinf(infinite[i]) ? least : infinite[i]));
      }
      // They mask nothing: every pair counts.
      CHECK(kept_pairs(with_minima, other.mask) == 2 * 7 * 33);
    }
    CHECK(expected_rows_without_keys(with_minima) == 0);
  }
}

TEST_CASE("in the draw low every score lies far below zero", "[problem][inputs]") {
  const Problem p = problem_of("B=1 Hq=2 Sq=9 Skv=40 D=64 f32");
  const Inputs low = make_inputs(p, 5, Draw::low), large = make_inputs(p, 5, Draw::large);
  CHECK(low.v == large.v);
  for (std::int64_t i = 0; i < element_count(p, Tensor::q); ++i) {
    const float value = 4.0f * element_value(5, Tensor::q, static_cast<std::uint64_t>(i));
    float stored = 0;
    std::memcpy(&stored, low.q.data() + 4 * i, sizeof stored);
    REQUIRE(stored == std::abs(value));
  }
  for (const double lse : oracle_block(p, low, {0, 1, 0, 9}).lse) CHECK(lse < -50);
}

TEST_CASE("storage with strides of its own holds the same elements and nothing else",
          "[problem][inputs]") {
  const Problem p =
      problem_of("B=2 Hq=3 Sq=5 Skv=4 D=6 f16 mask=bool:0.5 layout=q:BSHD,k:BHSD,v:BSHD");
  for (const Tensor tensor : {Tensor::q, Tensor::k, Tensor::v, Tensor::mask}) {
    const TensorShape shape = tensor_shape(p, tensor);
    const TensorStrides strides{1000, shape.heads > 1 ? 200 : 0, 31};
    Bytes packed(tensor_bytes(p, tensor)), placed(5000, std::byte{0xee});
    fill_tensor(p, 9, tensor, Draw::edge, packed, 1);
    fill_tensor(p, 9, tensor, Draw::edge, strides, placed, 2);
    const std::size_t element = tensor == Tensor::mask ? 1 : 2;
    const TensorStrides from = tensor_strides(p, tensor);
    Bytes expected(5000, std::byte{0xee});
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        for (std::int64_t row = 0; row < shape.rows; ++row) {
          const auto at = [&](const TensorStrides& of) {
            return static_cast<std::size_t>(b * of.batch + h * of.head + row * of.row) * element;
          };
          std::memcpy(expected.data() + at(strides), packed.data() + at(from),
                      static_cast<std::size_t>(shape.width) * element);
        }
      }
    }
    CHECK(placed == expected);
  }
}

TEST_CASE("a buffer of another size is a fault of the caller", "[problem][inputs]") {
  Bytes wrong(3);
  CHECK_THROWS_AS(fill_tensor(problem_of("B=1 Hq=1 Sq=1 D=8"), 0, Tensor::q, Draw::normal, wrong),
                  std::logic_error);
}

TEST_CASE("tensors have their golden hashes", "[problem][golden]") {
  const RealFileSystem files;
  const auto text = files.read(source_dir() / "tests/data/inputs_golden.json", 1 << 20);
  REQUIRE(text.ok());
  const auto golden = parse_json(*text, "inputs_golden.json");
  REQUIRE(golden.ok());
  std::size_t tensors = 0;
  for (const Json& entry : golden->at("cases")) {
    const Problem p = problem_of(entry.at("problem").get<std::string>());
    const auto draw = parse_draw(entry.at("draw").get<std::string>());
    REQUIRE(draw.has_value());
    const Inputs inputs = make_inputs(p, entry.at("seed").get<std::uint32_t>(), *draw, 2);
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
