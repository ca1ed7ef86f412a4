// SPDX-License-Identifier: MIT
#include "worker/hand_over.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/secret.hpp"
#include "problem/inputs.hpp"
#include "protocol/protocol.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/failure.hpp"

namespace wb::worker {

using problem::Poison;
using problem::Problem;
using problem::Tensor;

namespace {

/// In the order of their descriptors.
std::vector<Tensor> inputs_of(const Problem& problem) {
  std::vector<Tensor> inputs{Tensor::q, Tensor::k, Tensor::v};
  if (problem.mask != problem::MaskKind::none) inputs.push_back(Tensor::mask);
  return inputs;
}

/// One entry per input: null for one without elements, else `blocks`, `threads` and the kernel's
/// parameter struct as bytes, whose first eight become the tensor's address.
Json fills_of(const Problem& problem, std::uint32_t seed, problem::Draw draw) {
  static_assert(offsetof(cuda::device::FillParams, to) == 0);
  Json fills = Json::array();
  for (const Tensor tensor : inputs_of(problem)) {
    const auto launch = cuda::fill_launch(problem, seed, tensor, draw);
    if (!launch) {
      fills.push_back(nullptr);
      continue;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(&launch->params),
                                 sizeof launch->params);
    fills.push_back({{"blocks", launch->grid.x},
                     {"threads", launch->grid.threads},
                     {"params_base64", protocol::base64_encode(bytes)}});
  }
  return fills;
}

}  // namespace

Poison draw_poison() {
  return Poison{draw_secret<std::uint64_t>() >> 2};
}

Outcome<SharedMemory> make_output(const char* name, std::size_t size_bytes, const Poison& poison) {
  Result<SharedMemory> memory = SharedMemory::create(name, size_bytes);
  if (!memory.ok()) return environment(memory.error().message());
  poison.fill(memory->bytes());
  return *std::move(memory);
}

Outcome<HandedInputs> HandedInputs::create(const Problem& problem, Clock clock) {
  HandedInputs inputs(problem, clock);
  if (clock == Clock::device) {
    const auto code = cuda::device_code();
    if (!code.ok()) return environment(code.error().message());
    return inputs;
  }
  for (const Tensor tensor : inputs_of(problem)) {
    WB_TRY_ASSIGN(auto memory, as_outcome(SharedMemory::create(
                                   "input", problem::tensor_bytes(problem, tensor))));
    inputs.m_tensors.push_back(std::move(memory));
  }
  return inputs;
}

void HandedInputs::refill(std::uint32_t seed, problem::Draw draw, int threads, Json& message) {
  if (m_clock == Clock::device) {
    message["fills"] = fills_of(m_problem, seed, draw);
    return;
  }
  for (std::size_t i = 0; i < m_tensors.size(); ++i) {
    problem::fill_tensor(m_problem, seed, static_cast<Tensor>(i), draw, m_tensors[i].bytes(),
                         threads);
  }
}

void HandedInputs::read_through(int threads) const {
  std::vector<std::span<const std::byte>> tensors;
  for (const SharedMemory& memory : m_tensors) tensors.emplace_back(memory.bytes());
  worker::read_through(tensors, threads);
}

Outcome<std::optional<SharedMemory>> fill_code() {
  const auto code = cuda::device_code();
  if (!code.ok()) return std::optional<SharedMemory>();
  auto memory = SharedMemory::create("device code", code->inputs.size());
  if (!memory.ok()) return environment(memory.error().message());
  std::copy(code->inputs.begin(), code->inputs.end(), memory->bytes().begin());
  return std::optional<SharedMemory>(*std::move(memory));
}

std::vector<int> HandedInputs::fds() const {
  std::vector<int> fds;
  for (const SharedMemory& memory : m_tensors) fds.push_back(memory.fd());
  return fds;
}

Outcome<OutputMemory> OutputMemory::create(std::size_t size_bytes, Placing placing) {
  const TensorPlace place = draw_tensor_place(size_bytes, placing);
  WB_TRY_ASSIGN(auto file, as_outcome(SharedMemory::create("tensor", place.room_bytes)));
  fill_margins(file.bytes(), place.offset, size_bytes);
  return OutputMemory(std::move(file), place.offset, size_bytes, placing);
}

bool OutputMemory::margins_intact() const {
  return worker::margins_intact(m_file.bytes(), m_offset, m_size_bytes);
}

Outcome<std::span<std::byte>> OutputMemory::taken_bytes() {
  if (!m_taken) {
    WB_TRY_ASSIGN(auto memory, as_outcome(SharedMemory::create("taken", m_size_bytes)));
    m_taken.emplace(std::move(memory));
  }
  return m_taken->bytes();
}

Outcome<void> OutputMemory::take() {
  WB_TRY_ASSIGN(const auto to, taken_bytes());
  std::memcpy(to.data(), bytes().data(), m_size_bytes);
  return {};
}

std::vector<int> LentOutput::numbers_of_fds() const {
  std::vector<int> numbers;
  for (const UniqueFd& fd : fds) numbers.push_back(fd.get());
  return numbers;
}

Json to_json(const LentOutput& lent) {
  Json json = {{"number", lent.number}};
  std::size_t part = 0;
  for (const auto& [name, place] :
       {std::pair{"out", &lent.places.out}, std::pair{"lse", &lent.places.lse},
        std::pair{"snap", &lent.places.snap}}) {
    if (place->size_bytes == 0) continue;
    json[name] = {{"bytes", lent.map_bytes.at(part++)}, {"offset", place->offset}};
  }
  return json;
}

namespace {

constexpr std::size_t k_chunk_bytes = 64u << 20;
constexpr std::int64_t k_most_stride = std::int64_t{1} << 40;

Error bad_result(const char* why) {
  return {ErrorCode::invalid, "read", "the tensor that the function returned", why, ""};
}

Result<void> read_memory(pid_t pid, std::uint64_t address, std::span<std::byte> to) {
  while (!to.empty()) {
    const iovec local{to.data(), std::min(to.size(), k_chunk_bytes)};
    const iovec remote{reinterpret_cast<void*>(address), local.iov_len};
    const ssize_t got = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return errno_error("read", "the tensor that the function returned", errno);
    to = to.subspan(static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

Result<ResultAddress> result_address_from_json(const Json& json) {
  ObjectReader reader(json, "a result");
  ResultAddress place;
  place.address = static_cast<std::uint64_t>(
      reader.integer("address", 1, std::numeric_limits<std::int64_t>::max()));
  const Json* strides = reader.member("strides");
  WB_TRY(reader.finish());
  if (strides == nullptr || !strides->is_array() || strides->size() != place.strides.size()) {
    return bad_result("it has no four strides");
  }
  for (std::size_t i = 0; i < place.strides.size(); ++i) {
    const Json& stride = (*strides)[i];
    if (!stride.is_number_integer()) return bad_result("a stride is no number");
    place.strides[i] = stride.get<std::int64_t>();
    if (place.strides[i] < 0 || place.strides[i] > k_most_stride) {
      return bad_result("a stride is out of bounds");
    }
  }
  return place;
}

bool may_read_memory_of(pid_t pid) {
  std::byte byte{};
  const iovec local{&byte, 1}, remote{nullptr, 1};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT;
}

Result<void> read_result(pid_t pid, const ResultAddress& place, const problem::Problem& problem,
                         std::span<std::byte> to) {
  const auto element = size_bytes(problem.dtype);
  const std::array<std::int64_t, 4> shape{problem.B, problem.Hq, problem.Sq, problem.Dv};
  const problem::TensorStrides out = problem::out_strides(problem);
  const std::array<std::int64_t, 4> wanted{out.batch, out.head, out.row, 1};
  std::int64_t last = 0;
  bool same = true;
  const auto size = static_cast<std::int64_t>(to.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    // The stride of a dimension with one element does not matter.
    same = same && (shape[i] == 1 || place.strides[i] == wanted[i]);
    if (shape[i] > 1 && place.strides[i] > k_most_result_spread * size / (shape[i] - 1)) {
      return bad_result("it is spread over too much memory");
    }
    last += (shape[i] - 1) * place.strides[i];
  }
  if (same) return read_memory(pid, place.address, to);
  const std::int64_t span_bytes = (last + 1) * element;
  if (span_bytes > k_most_result_spread * size) {
    return bad_result("it is spread over too much memory");
  }
  std::vector<std::byte> span(static_cast<std::size_t>(span_bytes));
  WB_TRY(read_memory(pid, place.address, span));
  const auto& from = place.strides;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t row = 0; row < shape[2]; ++row) {
        const std::int64_t source = b * from[0] + h * from[1] + row * from[2];
        const std::int64_t target = b * wanted[0] + h * wanted[1] + row * wanted[2];
        if (from[3] == 1) {
          std::memcpy(to.data() + target * element, span.data() + source * element,
                      static_cast<std::size_t>(shape[3] * element));
          continue;
        }
        for (std::int64_t column = 0; column < shape[3]; ++column) {
          std::memcpy(to.data() + (target + column) * element,
                      span.data() + (source + column * from[3]) * element,
                      static_cast<std::size_t>(element));
        }
      }
    }
  }
  return {};
}

}  // namespace wb::worker
