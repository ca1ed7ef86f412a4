// SPDX-License-Identifier: MIT
#include "worker/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "core/ascii.hpp"
#include "core/process.hpp"
#include "device/cpu_limits.hpp"

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

namespace {

/// The number after a word at the start of a line; 0 without such a line.
std::uint64_t figure(const std::filesystem::path& file, std::string_view name) {
  const std::string text = device::file_content(file);
  for (const std::string_view line : ascii::parts(text, '\n')) {
    const auto words = ascii::words(line);
    if (words.size() < 2 || words[0] != name) continue;
    return ascii::number<std::uint64_t>(words[1]).value_or(0);
  }
  return 0;
}

}  // namespace

std::int64_t memory_kills(const std::filesystem::path& root) {
  return static_cast<std::int64_t>(figure(root / "proc/vmstat", "oom_kill"));
}

std::uint64_t memory_bound(const std::filesystem::path& root) {
  const std::uint64_t machine = figure(root / "proc/meminfo", "MemTotal:") * 1'024;
  const auto limit = device::memory_limit(root);
  if (!limit) return machine;
  return machine == 0 ? *limit : std::min(machine, *limit);
}

OomCause oom_cause(const ChildEnd& end, std::int64_t kills_before,
                   const std::filesystem::path& root) {
  if (end.signal != SIGKILL || memory_kills(root) <= kills_before) return OomCause::none;
  return end.max_rss_bytes < memory_bound(root) / 2 ? OomCause::of_others : OomCause::own;
}

namespace {

/// A variant may hold two plans at once; interpreters and libraries have their own threads.
constexpr int k_plans = 2, k_other_threads = 8;

int allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace

std::optional<std::string> refused_threads() {
  const int cpus = allowed_cpus(), wanted = k_plans * cpus + k_other_threads;
  const int started = startable_threads(wanted);
  if (started == wanted) return std::nullopt;
  return fmt::format("the system lets this user start {} threads more, where {} CPUs need {}; {}",
                     started, cpus, wanted, k_more_processes);
}

}  // namespace wb::worker
