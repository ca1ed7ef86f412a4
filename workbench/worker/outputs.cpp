// SPDX-License-Identifier: MIT
#include "worker/outputs.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/json.hpp"
#include "problem/inputs.hpp"
#include "worker/failure.hpp"

namespace wb::worker {

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
