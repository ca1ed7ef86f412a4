// SPDX-License-Identifier: MIT
#include "problem/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/dtype.hpp"
#include "problem/parallel.hpp"
#include "problem/philox.hpp"

namespace wb::problem {
namespace {

constexpr float k_large_factor = 4;  // of q and k in a large or a low draw
constexpr std::int64_t k_piece_elements = std::int64_t{1} << 16;  // work of one thread at a time

std::size_t element_bytes(const Problem& problem, Tensor tensor) {
  if (tensor == Tensor::mask && problem.mask == MaskKind::boolean) return 1;
  return static_cast<std::size_t>(size_bytes(problem.dtype));
}

/// The bytes of a value in the dtype, for masking a row.
std::array<std::byte, 4> bytes_of(float value, Dtype dtype) {
  std::array<std::byte, 4> bytes{};
  const std::uint16_t half = dtype == Dtype::f16 ? to_f16(value).bits : to_bf16(value).bits;
  if (dtype == Dtype::f32) {
    std::memcpy(bytes.data(), &value, sizeof value);
  } else {
    std::memcpy(bytes.data(), &half, sizeof half);
  }
  return bytes;
}

void mask_edge_rows(const Problem& problem, std::uint32_t seed, const TensorStrides& strides,
                    std::span<std::byte> out) {
  const std::size_t element = element_bytes(problem, Tensor::mask);
  const auto width = static_cast<std::size_t>(problem.Skv);
  const std::int64_t row = static_cast<std::int64_t>(seed) % problem.Sq;
  const auto rejected = bytes_of(rejected_value(problem), problem.dtype);
  for (std::int64_t b = 0; b < problem.B; ++b) {
    std::byte* at =
        out.data() + static_cast<std::size_t>(b * strides.batch + row * strides.row) * element;
    if (problem.mask == MaskKind::boolean) {
      std::memset(at, 0, width);
    } else {
      for (std::size_t key = 0; key < width; ++key) {
        std::memcpy(at + key * element, rejected.data(), element);
      }
    }
  }
}

/// The parameters of one tensor's elements.
struct Filler {
  const Problem& problem;
  Tensor tensor;
  Draw draw;
  PhiloxStream stream;
  /// Fills a run of consecutive elements in BHSD order.
  void run(std::uint64_t first, std::size_t count, std::byte* out) const {
    if (tensor != Tensor::mask) {
      fill_values(stream, first, count, draw_factor(tensor, draw), draw_sign(tensor, draw),
                  problem.dtype, out);
    } else if (problem.mask == MaskKind::boolean) {
      fill_bool_mask(stream, first, count, keep_threshold(problem.keep_frac), out);
    } else {
      fill_additive_mask(stream, first, count, keep_threshold(k_additive_keep_frac),
                         rejected_value(problem), problem.dtype, out);
    }
  }
};

/// Fills rows [begin, end), in BHSD order, of a tensor whose rows are not contiguous.
void fill_strided_rows(const Filler& filler, const TensorShape& shape, const TensorStrides& strides,
                       std::int64_t begin, std::int64_t end, std::byte* out) {
  const auto element = static_cast<std::int64_t>(element_bytes(filler.problem, filler.tensor));
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = i % shape.rows;
    const std::int64_t head = i / shape.rows % shape.heads;
    const std::int64_t batch = i / shape.rows / shape.heads;
    const std::int64_t offset = batch * strides.batch + head * strides.head + row * strides.row;
    filler.run(static_cast<std::uint64_t>(i * shape.width), static_cast<std::size_t>(shape.width),
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
  const auto infinity = bytes_of(-std::numeric_limits<float>::infinity(), problem.dtype);
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
    case Draw::low:
      return "low";
  }
  throw std::logic_error("a Draw outside its enumeration");
}

std::optional<Draw> parse_draw(std::string_view word) {
  for (const Draw value : {Draw::normal, Draw::large, Draw::edge, Draw::low}) {
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
  const Layout layout = tensor == Tensor::k   ? k_layout(problem)
                        : tensor == Tensor::v ? v_layout(problem)
                                              : problem.layout;
  return strides_of(tensor_shape(problem, tensor), layout);
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

std::size_t lse_bytes(const Problem& problem) {
  return static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq) * sizeof(float);
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
  fill_tensor(problem, seed, tensor, draw, tensor_strides(problem, tensor), out, threads);
}

void fill_tensor(const Problem& problem, std::uint32_t seed, Tensor tensor, Draw draw,
                 const TensorStrides& strides, std::span<std::byte> out, int threads) {
  const Filler filler{problem, tensor, draw, {seed, static_cast<std::uint32_t>(tensor)}};
  const TensorShape shape = tensor_shape(problem, tensor);
  const TensorStrides packed = strides_of(shape, Layout::bhsd);
  const bool is_strided = strides.row != packed.row ||
                          (shape.heads > 1 && strides.head != packed.head) ||
                          (shape.batch > 1 && strides.batch != packed.batch);
  // Pieces are counted in rows if rows are not contiguous, else in elements.
  const std::int64_t unit = is_strided ? shape.width : 1;
  const std::int64_t total = count_of(shape) / unit;
  const std::int64_t per_piece = std::max<std::int64_t>(1, k_piece_elements / unit);
  const auto pieces = static_cast<std::size_t>((total + per_piece - 1) / per_piece);
  const auto element = static_cast<std::int64_t>(element_bytes(problem, tensor));
  parallel_for(pieces, threads, [&](std::size_t piece) {
    const std::int64_t begin = static_cast<std::int64_t>(piece) * per_piece;
    const std::int64_t end = std::min(total, begin + per_piece);
    if (is_strided) {
      fill_strided_rows(filler, shape, strides, begin, end, out.data());
    } else {
      filler.run(static_cast<std::uint64_t>(begin), static_cast<std::size_t>(end - begin),
                 out.data() + begin * element);
    }
  });
  if (tensor == Tensor::mask && draw == Draw::edge && total > 0) {
    mask_edge_rows(problem, seed, strides, out);
  }
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

float draw_factor(Tensor tensor, Draw draw) {
  const bool is_scaled = tensor == Tensor::q || tensor == Tensor::k;
  return is_scaled && (draw == Draw::large || draw == Draw::low) ? k_large_factor : 1.0f;
}

int draw_sign(Tensor tensor, Draw draw) {
  if (draw != Draw::low) return 0;
  return tensor == Tensor::q ? 1 : tensor == Tensor::k ? -1 : 0;
}

float rejected_value(const Problem& problem) {
  if (problem.mask_values == MaskValues::drawn) return -std::numeric_limits<float>::infinity();
  switch (problem.dtype) {
    case Dtype::f32:
      return std::numeric_limits<float>::lowest();
    case Dtype::f16:
      return -65504.0f;
    case Dtype::bf16:
      return -0x1.FEp127f;
  }
  throw std::logic_error("a Dtype outside its enumeration");
}

double score_deviation(const Problem& problem, Draw draw) {
  const double value = k_value_deviation * static_cast<double>(draw_factor(Tensor::q, draw));
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

}  // namespace wb::problem
