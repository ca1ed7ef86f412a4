// SPDX-License-Identifier: MIT
#include "problem/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/half.hpp"
#include "problem/parallel.hpp"
#include "problem/philox.hpp"

namespace wb {
namespace {

constexpr float k_large_factor = 4;                               // of q and k in a large draw
constexpr std::int64_t k_piece_elements = std::int64_t{1} << 16;  // work of one thread at a time

std::size_t element_bytes(const Problem& problem, Tensor tensor) {
  if (tensor == Tensor::mask && problem.mask == MaskKind::boolean) return 1;
  return static_cast<std::size_t>(size_bytes(problem.dtype));
}

/// Bytes of -inf in the dtype, for masking a row.
std::array<std::byte, 4> minus_infinity(Dtype dtype) {
  std::array<std::byte, 4> bytes{};
  const float value = -std::numeric_limits<float>::infinity();
  const std::uint16_t half = dtype == Dtype::f16 ? to_f16(value).bits : to_bf16(value).bits;
  if (dtype == Dtype::f32) {
    std::memcpy(bytes.data(), &value, sizeof value);
  } else {
    std::memcpy(bytes.data(), &half, sizeof half);
  }
  return bytes;
}

void mask_edge_rows(const Problem& problem, std::uint32_t seed, std::span<std::byte> out) {
  const std::size_t element = element_bytes(problem, Tensor::mask);
  const auto width = static_cast<std::size_t>(problem.Skv);
  const std::int64_t row = static_cast<std::int64_t>(seed) % problem.Sq;
  const auto infinity = minus_infinity(problem.dtype);
  for (std::int64_t b = 0; b < problem.B; ++b) {
    std::byte* at = out.data() + static_cast<std::size_t>(b * problem.Sq + row) * width * element;
    if (problem.mask == MaskKind::boolean) {
      std::memset(at, 0, width);
    } else {
      for (std::size_t key = 0; key < width; ++key) {
        std::memcpy(at + key * element, infinity.data(), element);
      }
    }
  }
}

void fill_mask_piece(const Problem& problem, PhiloxStream stream, std::uint64_t first,
                     std::size_t count, std::byte* out) {
  if (problem.mask == MaskKind::boolean) {
    fill_bool_mask(stream, first, count, keep_threshold(problem.keep_frac), out);
  } else {
    fill_additive_mask(stream, first, count, keep_threshold(k_additive_keep_frac), problem.dtype,
                       out);
  }
}

/// Rows [begin, end) of a BSHD tensor, counted in BHSD order: each lies alone in memory.
void fill_strided_rows(const Problem& problem, Tensor tensor, PhiloxStream stream, float factor,
                       std::int64_t begin, std::int64_t end, std::byte* out) {
  const TensorShape shape = tensor_shape(problem, tensor);
  const TensorStrides strides = tensor_strides(problem, tensor);
  const auto element = static_cast<std::int64_t>(element_bytes(problem, tensor));
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = i % shape.rows;
    const std::int64_t head = i / shape.rows % shape.heads;
    const std::int64_t batch = i / shape.rows / shape.heads;
    const std::int64_t offset = batch * strides.batch + head * strides.head + row * strides.row;
    fill_values(stream, static_cast<std::uint64_t>(i * shape.width),
                static_cast<std::size_t>(shape.width), factor, problem.dtype,
                out + offset * element);
  }
}

TensorStrides strides_of(const TensorShape& shape, Layout layout) {
  if (layout == Layout::bhsd) {
    return {shape.heads * shape.rows * shape.width, shape.rows * shape.width, shape.width};
  }
  return {shape.rows * shape.heads * shape.width, shape.width, shape.heads * shape.width};
}

std::int64_t count_of(const TensorShape& shape) {
  return shape.batch * shape.heads * shape.rows * shape.width;
}

bool is_kept(const Problem& problem, const std::byte* mask, std::int64_t index) {
  switch (problem.mask) {
    case MaskKind::none:
      return true;
    case MaskKind::boolean:
      return mask[index] != std::byte{0};
    case MaskKind::additive:
      break;
  }
  const auto element = static_cast<std::size_t>(size_bytes(problem.dtype));
  const auto infinity = minus_infinity(problem.dtype);
  return std::memcmp(mask + static_cast<std::size_t>(index) * element, infinity.data(), element) !=
         0;
}

}  // namespace

std::string_view to_string(Draw value) {
  switch (value) {
    case Draw::normal:
      return "normal";
    case Draw::large:
      return "large";
    case Draw::edge:
      return "edge";
  }
  throw std::logic_error("a Draw outside its enumeration");
}

std::optional<Draw> parse_draw(std::string_view word) {
  for (const Draw value : {Draw::normal, Draw::large, Draw::edge}) {
    if (word == to_string(value)) return value;
  }
  return std::nullopt;
}

TensorShape tensor_shape(const Problem& problem, Tensor tensor) {
  switch (tensor) {
    case Tensor::q:
      return {problem.B, problem.Hq, problem.Sq, problem.D};
    case Tensor::k:
      return {problem.B, problem.Hkv, problem.Skv, problem.D};
    case Tensor::v:
      return {problem.B, problem.Hkv, problem.Skv, problem.Dv};
    case Tensor::mask:
      if (problem.mask == MaskKind::none) return {0, 1, problem.Sq, problem.Skv};
      return {problem.B, 1, problem.Sq, problem.Skv};
  }
  throw std::logic_error("a Tensor outside its enumeration");
}

TensorShape out_shape(const Problem& problem) {
  return {problem.B, problem.Hq, problem.Sq, problem.Dv};
}

TensorStrides tensor_strides(const Problem& problem, Tensor tensor) {
  if (tensor == Tensor::mask) return {problem.Sq * problem.Skv, 0, problem.Skv};
  return strides_of(tensor_shape(problem, tensor), problem.layout);
}

TensorStrides out_strides(const Problem& problem) {
  return strides_of(out_shape(problem), problem.layout);
}

std::int64_t element_count(const Problem& problem, Tensor tensor) {
  return count_of(tensor_shape(problem, tensor));
}

std::int64_t out_element_count(const Problem& problem) {
  return count_of(out_shape(problem));
}

std::size_t tensor_bytes(const Problem& problem, Tensor tensor) {
  return static_cast<std::size_t>(element_count(problem, tensor)) * element_bytes(problem, tensor);
}

std::size_t out_bytes(const Problem& problem) {
  return static_cast<std::size_t>(out_element_count(problem) * size_bytes(problem.dtype));
}

void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 std::span<std::byte> out, int threads) {
  if (out.size() != tensor_bytes(problem, tensor)) {
    throw std::logic_error(fmt::format("fill_tensor: {} bytes given, {} needed", out.size(),
                                       tensor_bytes(problem, tensor)));
  }
  const PhiloxStream stream{seed, static_cast<std::uint32_t>(tensor)};
  const TensorShape shape = tensor_shape(problem, tensor);
  const bool is_mask = tensor == Tensor::mask;
  const bool is_scaled = draw == Draw::large && (tensor == Tensor::q || tensor == Tensor::k);
  const float factor = is_scaled ? k_large_factor : 1.0f;
  const bool is_strided = !is_mask && problem.layout == Layout::bshd;
  // Pieces are counted in rows where rows lie apart, else in elements.
  const std::int64_t unit = is_strided ? shape.width : 1;
  const std::int64_t total = count_of(shape) / unit;
  const std::int64_t per_piece = std::max<std::int64_t>(1, k_piece_elements / unit);
  const auto pieces = static_cast<std::size_t>((total + per_piece - 1) / per_piece);
  const auto element = static_cast<std::int64_t>(element_bytes(problem, tensor));
  parallel_for(pieces, threads, [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * per_piece;
    const std::int64_t end = std::min(total, begin + per_piece);
    if (is_strided) {
      fill_strided_rows(problem, tensor, stream, factor, begin, end, out.data());
      return;
    }
    const auto first = static_cast<std::uint64_t>(begin);
    const auto count = static_cast<std::size_t>(end - begin);
    std::byte* at = out.data() + begin * element;
    if (is_mask) {
      fill_mask_piece(problem, stream, first, count, at);
    } else {
      fill_values(stream, first, count, factor, problem.dtype, at);
    }
  });
  if (is_mask && draw == Draw::edge && total > 0) mask_edge_rows(problem, seed, out);
}

Inputs make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads) {
  Inputs inputs;
  make_inputs(problem, seed, draw, threads, inputs);
  return inputs;
}

void make_inputs(const Problem& problem, std::uint32_t seed, Draw draw, int threads,
                 Inputs& inputs) {
  const auto make = [&](Tensor tensor, Bytes& bytes) {
    bytes.resize(tensor_bytes(problem, tensor));
    fill_tensor(problem, seed, tensor, draw, bytes, threads);
  };
  make(Tensor::q, inputs.q);
  make(Tensor::k, inputs.k);
  make(Tensor::v, inputs.v);
  make(Tensor::mask, inputs.mask);
  inputs.draw = draw;
}

double score_deviation(const Problem& problem, Draw draw) {
  const double value =
      k_value_deviation * (draw == Draw::large ? static_cast<double>(k_large_factor) : 1.0);
  return std::abs(effective_scale(problem)) * std::sqrt(static_cast<double>(problem.D)) * value *
         value;
}

double kept_pairs(const Problem& problem, std::span<const std::byte> mask) {
  if (mask.size() != tensor_bytes(problem, Tensor::mask)) {
    throw std::logic_error("kept_pairs: the mask has another size than the problem says");
  }
  if (problem.mask == MaskKind::none) return work(problem).kept_pairs;
  std::int64_t kept = 0;
  for (std::int64_t b = 0; b < problem.B; ++b) {
    for (std::int64_t row = 0; row < problem.Sq; ++row) {
      const std::int64_t base = (b * problem.Sq + row) * problem.Skv;
      const std::int64_t keys = visible_keys(problem, row);
      for (std::int64_t key = 0; key < keys; ++key) {
        kept += is_kept(problem, mask.data(), base + key) ? 1 : 0;
      }
    }
  }
  return static_cast<double>(kept) * static_cast<double>(problem.Hq);
}

}  // namespace wb
