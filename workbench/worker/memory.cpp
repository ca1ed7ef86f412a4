// SPDX-License-Identifier: MIT
#include "worker/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

namespace wb::worker {

Result<Mapping> Mapping::of(int fd, std::size_t size_bytes, bool writable) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return errno_error("map", "a memory file", errno);
  if (facts.st_size != static_cast<off_t>(size_bytes)) {
    return Error{ErrorCode::invalid, "map", "a memory file", "its size is not the tensor's", ""};
  }
  if (size_bytes == 0) return Mapping();
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  // All of it will be written or read, so its pages are mapped at once instead of by single faults.
  const int flags = MAP_SHARED | MAP_POPULATE;
  void* address = ::mmap(nullptr, size_bytes, protection, flags, fd, 0);
  if (address == MAP_FAILED) return errno_error("map", "a memory file", errno);
  return Mapping({static_cast<std::byte*>(address), size_bytes});
}

Mapping::Mapping(Mapping&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(m_bytes, other.m_bytes);
  return *this;
}

Mapping::~Mapping() {
  if (!m_bytes.empty()) ::munmap(m_bytes.data(), m_bytes.size());
}

std::uint64_t available_memory_bytes() {
  constexpr std::string_view k_key = "MemAvailable:";
  const auto text = RealFileSystem().read("/proc/meminfo", 64u << 10);
  if (!text.ok()) return 0;
  const std::size_t begin = text->find(k_key);
  if (begin == std::string::npos) return 0;
  const std::size_t digits = text->find_first_not_of(' ', begin + k_key.size());
  std::uint64_t kib = 0;
  std::from_chars(text->data() + std::min(digits, text->size()), text->data() + text->size(), kib);
  return kib * 1'024;
}

Result<SharedMemory> SharedMemory::create(const char* name, std::size_t size_bytes) {
  // Memory files have no limit of their own; the kernel would kill other processes instead.
  if (size_bytes > available_memory_bytes() / 2) {
    return Error{
        ErrorCode::limit, "reserve memory for", name,
        fmt::format("{} bytes are more than half of what this machine has left", size_bytes),
        "choose a smaller problem or a machine with more memory"};
  }
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error("create", "a memory file", errno);
  // fallocate, since with ftruncate alone a full /dev/shm would fail later as SIGBUS.
  if (size_bytes > 0 && (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0 ||
                         ::fallocate(fd.get(), 0, 0, static_cast<off_t>(size_bytes)) != 0)) {
    return errno_error("reserve", "a memory file", errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_error("seal", "a memory file", errno);
  }
  WB_TRY_ASSIGN(Mapping mapping, Mapping::of(fd.get(), size_bytes, true));
  return SharedMemory(std::move(fd), std::move(mapping));
}

}  // namespace wb::worker
