// SPDX-License-Identifier: MIT
#include "worker/cuda/buffer_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/sdpa_abi.h"
#include "core/secret.hpp"

namespace wb::worker::cuda {

using problem::Problem;
using problem::Tensor;
using problem::View;

namespace {

constexpr std::size_t k_alignment = 256;  // of the kernel ABI
constexpr std::size_t k_shifts = 256;     // 64 KiB: one page of the device

/// Fills the gaps between rows of an input view (NaN in every dtype), and those of out.
constexpr std::byte k_gap{0xff}, k_out_gap{0xa5};

struct Part {
  const char* name = nullptr;
  GuardedDeviceBuffer DeviceBufferSet::*buffer = nullptr;
  std::size_t size_bytes = 0;
};

std::size_t view_bytes(const Problem& problem, Tensor tensor, const View& view) {
  if (problem::is_packed(view)) return problem::tensor_bytes(problem, tensor);
  const std::int64_t span = problem::span_elements(problem::tensor_shape(problem, tensor),
                                                   problem::view_strides(problem, tensor, view));
  return static_cast<std::size_t>(span * size_bytes(problem.dtype));
}

std::size_t out_view_bytes(const Problem& problem, const View& view) {
  const std::int64_t span =
      problem::span_elements(problem::out_shape(problem), problem::out_view_strides(problem, view));
  return static_cast<std::size_t>(span * size_bytes(problem.dtype));
}

std::array<Part, 7> parts_of(const Problem& problem, const BufferSetSizes& sizes) {
  const auto rows = static_cast<std::size_t>(problem.B * problem.Hq * problem.Sq);
  return {{{"q", &DeviceBufferSet::q, view_bytes(problem, Tensor::q, sizes.form.q)},
           {"k", &DeviceBufferSet::k, view_bytes(problem, Tensor::k, sizes.form.k)},
           {"v", &DeviceBufferSet::v, view_bytes(problem, Tensor::v, sizes.form.v)},
           {"mask", &DeviceBufferSet::mask, problem::tensor_bytes(problem, Tensor::mask)},
           {"out", &DeviceBufferSet::out, out_view_bytes(problem, sizes.form.out)},
           {"lse", &DeviceBufferSet::lse, sizes.with_lse ? rows * sizeof(float) : 0},
           {"the workspace", &DeviceBufferSet::workspace, sizes.workspace_bytes}}};
}

/// A different shift for each tensor and placement; none for the first placement.
std::size_t shift_of(std::int64_t placement, std::size_t part) {
  const auto number = static_cast<std::size_t>(placement);
  return number * (2 * part + 37) % k_shifts * k_alignment;
}

OutputPlace place_of(const Part& part, std::size_t shift_bytes) {
  if (part.size_bytes == 0) return {};
  return {GuardedDeviceBuffer::reserved_bytes(part.size_bytes, shift_bytes),
          GuardedDeviceBuffer::offset_bytes(shift_bytes), part.size_bytes};
}

}  // namespace

OutputPlaces output_places(const Problem& problem, bool with_lse, bool with_snap,
                           std::int64_t placement) {
  OutputPlaces places;
  std::size_t number = 0;
  for (const Part& part : parts_of(problem, {.with_lse = with_lse})) {
    const OutputPlace place = place_of(part, shift_of(placement, number++));
    if (part.buffer == &DeviceBufferSet::out) places.out = place;
    if (part.buffer == &DeviceBufferSet::lse) places.lse = place;
  }
  if (with_snap) places.snap = {places.out.size_bytes, 0, places.out.size_bytes};
  return places;
}

std::size_t DeviceBufferSet::device_bytes(const Problem& problem, const BufferSetSizes& sizes,
                                          std::int64_t placement) {
  std::size_t bytes = 0, number = 0;
  for (const Part& part : parts_of(problem, sizes)) {
    bytes += GuardedDeviceBuffer::reserved_bytes(part.size_bytes, shift_of(placement, number++));
  }
  return bytes;
}

CudaResult<DeviceBufferSet> DeviceBufferSet::create(const Stream& stream, const Problem& problem,
                                                    const BufferSetSizes& sizes,
                                                    std::int64_t placement,
                                                    BorrowedOutputs borrowed) {
  DeviceBufferSet set(problem, sizes.form);
  std::size_t number = 0;
  for (const Part& part : parts_of(problem, sizes)) {
    const std::size_t shift_bytes = shift_of(placement, number++);
    const auto secret = draw_secret<std::uint64_t>();
    SharedBuffer lent;
    if (part.buffer == &DeviceBufferSet::out) lent = std::move(borrowed.out);
    if (part.buffer == &DeviceBufferSet::lse) lent = std::move(borrowed.lse);
    auto buffer = lent.size_bytes() > 0 && part.size_bytes > 0
                      ? GuardedDeviceBuffer::create_in(stream, std::move(lent), part.size_bytes,
                                                       shift_bytes, secret)
                      : GuardedDeviceBuffer::create(stream, part.size_bytes, shift_bytes, secret);
    if (!buffer.ok()) {
      Fault fault = std::move(buffer).error();
      fault.subject =
          fmt::format("{} for {} of {} ({} bytes in all)", fault.subject, part.name,
                      problem::to_text(problem), device_bytes(problem, sizes, placement));
      return fault;
    }
    set.*part.buffer = *std::move(buffer);
  }
  for (const auto& [view, buffer] :
       {std::pair{&sizes.form.q, &set.q}, std::pair{&sizes.form.k, &set.k},
        std::pair{&sizes.form.v, &set.v}}) {
    if (problem::is_packed(*view)) continue;
    WB_TRY(fill_bytes(stream, buffer->address(), k_gap, buffer->size_bytes()));
  }
  return set;
}

CudaResult<void> DeviceBufferSet::refill(const Stream& stream, const GpuInputs& inputs,
                                         std::uint32_t seed, problem::Draw draw) const {
  const auto strides = [this](Tensor tensor, const View& view) {
    return problem::view_strides(problem, tensor, view);
  };
  WB_TRY(
      inputs.fill(stream, problem, seed, Tensor::q, draw, strides(Tensor::q, form.q), q.address()));
  WB_TRY(
      inputs.fill(stream, problem, seed, Tensor::k, draw, strides(Tensor::k, form.k), k.address()));
  WB_TRY(
      inputs.fill(stream, problem, seed, Tensor::v, draw, strides(Tensor::v, form.v), v.address()));
  return inputs.fill(stream, problem, seed, Tensor::mask, draw, mask.address());
}

CudaResult<void> DeviceBufferSet::put_out(const Stream& stream,
                                          std::span<const std::byte> packed) const {
  if (problem::is_packed(form.out)) return copy_to_device(stream, out.address(), packed);
  std::vector<std::byte> placed(out.size_bytes(), k_out_gap);
  problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), packed.data(),
                     problem::out_strides(problem), placed.data(),
                     problem::out_view_strides(problem, form.out));
  return copy_to_device(stream, out.address(), placed);
}

CudaResult<void> DeviceBufferSet::take_out(const Stream& stream,
                                           std::span<std::byte> packed) const {
  if (problem::is_packed(form.out)) return copy_to_host(stream, packed, out.address());
  std::vector<std::byte> placed(out.size_bytes());
  WB_TRY(copy_to_host(stream, placed, out.address()));
  problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), placed.data(),
                     problem::out_view_strides(problem, form.out), packed.data(),
                     problem::out_strides(problem));
  return {};
}

CudaResult<const char*> DeviceBufferSet::overrun(const Stream& stream) const {
  BufferSetSizes sizes;
  sizes.form = form;
  for (const Part& part : parts_of(problem, sizes)) {
    WB_TRY_ASSIGN(const bool intact, (this->*part.buffer).margins_intact(stream));
    if (!intact) return part.name;
  }
  if (!problem::is_packed(form.out)) {
    std::vector<std::byte> placed(out.size_bytes());
    const std::vector<std::byte> blank(problem::out_bytes(problem), k_out_gap);
    WB_TRY(copy_to_host(stream, placed, out.address()));
    problem::copy_rows(problem::out_shape(problem), size_bytes(problem.dtype), blank.data(),
                       problem::out_strides(problem), placed.data(),
                       problem::out_view_strides(problem, form.out));
    if (std::any_of(placed.begin(), placed.end(),
                    [](std::byte byte) { return byte != k_out_gap; })) {
      return "the rows of out";
    }
  }
  return static_cast<const char*>(nullptr);
}

namespace {

template <typename T>
const T* pointer(const GuardedDeviceBuffer& buffer) {
  return reinterpret_cast<const T*>(buffer.address());  // NOLINT(performance-no-int-to-ptr)
}
template <typename T>
T* writable(const GuardedDeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.address());  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

wb_sdpa_args args_of(const DeviceBufferSet& buffers, const Stream& stream) {
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = pointer<void>(buffers.q);
  args.k = pointer<void>(buffers.k);
  args.v = pointer<void>(buffers.v);
  args.mask = pointer<void>(buffers.mask);
  args.out = writable<void>(buffers.out);
  args.lse = writable<float>(buffers.lse);
  args.workspace = writable<void>(buffers.workspace);
  args.stream = stream.handle();
  args.threads = 1;
  return args;
}

}  // namespace wb::worker::cuda
