// SPDX-License-Identifier: MIT
// The only file of the tests that includes CUDA headers: CMake leaves it out if there are none.
#include "gpu/kernel_trace.hpp"

#include <cupti.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace wb::testing {
namespace {

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
constexpr const char* k_names[] = {"libcupti.so.13"};
#else
using KernelRecord = CUpti_ActivityKernel9;
constexpr const char* k_names[] = {"libcupti.so.12"};
#endif
constexpr const char* k_folders[] = {
    "", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/",
    "/usr/local/cuda/targets/x86_64-linux/lib/", "/usr/local/cuda/targets/sbsa-linux/lib/"};
constexpr std::size_t k_buffer_bytes = std::size_t{8} << 20;
constexpr std::size_t k_alignment = 64;  // CUPTI asks for 8

struct Functions {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
};

// CUPTI's callbacks take no argument of ours, and may come from a thread of its own.
struct Shared {
  Functions functions;
  std::mutex mutex;
  std::vector<KernelSpan> spans;
  std::size_t dropped = 0;
  bool has_callbacks = false;
};
Shared g_shared;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(k_alignment, k_buffer_bytes));
  *bytes = *buffer != nullptr ? k_buffer_bytes : 0;
  *most_records = 0;  // as many as it holds
}

void CUPTIAPI read_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*bytes*/, std::size_t valid_bytes) {
  const std::lock_guard lock(g_shared.mutex);
  CUpti_Activity* record = nullptr;
  while (g_shared.functions.get_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
    g_shared.spans.push_back({kernel->start, kernel->end, kernel->graphNodeId != 0});
  }
  std::size_t dropped = 0;
  if (g_shared.functions.get_dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
    g_shared.dropped += dropped;
  }
  std::free(buffer);
}

std::string words_of(CUptiResult result) {
  const char* words = nullptr;
  g_shared.functions.get_result_string(result, &words);
  return fmt::format("{} ({})", words != nullptr ? words : "?", static_cast<int>(result));
}

void* open_library(std::string& name, std::string& why) {
  std::vector<std::string> places;
  if (const char* named = std::getenv("WB_CUPTI")) {
    places.emplace_back(named);
  } else {
    for (const char* folder : k_folders) {
      for (const char* file : k_names) places.push_back(std::string(folder) + file);
    }
  }
  for (const std::string& place : places) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      name = place;
      return library;
    }
    if (why.empty()) why = dlerror();
  }
  why += "; set WB_CUPTI to the file";
  return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) why = fmt::format("CUPTI has no {}", name);
  return function != nullptr;
}

bool find_functions(void* library, std::string& why) {
  Functions& f = g_shared.functions;
  return find(library, "cuptiGetVersion", f.get_version, why) &&
         find(library, "cuptiGetResultString", f.get_result_string, why) &&
         find(library, "cuptiActivityRegisterCallbacks", f.register_callbacks, why) &&
         find(library, "cuptiActivityEnable", f.enable, why) &&
         find(library, "cuptiActivityDisable", f.disable, why) &&
         find(library, "cuptiActivityFlushAll", f.flush_all, why) &&
         find(library, "cuptiActivityGetNextRecord", f.get_next_record, why) &&
         find(library, "cuptiActivityGetNumDroppedRecords", f.get_dropped, why);
}

/// From CUDA 13.0 on a version is 10000 major + 100 minor + update, and updates keep
/// the records; before, it is a plain count.
std::uint32_t release_of(std::uint32_t version) {
  return version >= 10'000 ? version / 100 : version;
}

bool is_ours(std::uint32_t version, std::string& why) {
  if (release_of(version) == release_of(CUPTI_API_VERSION)) return true;
  why = fmt::format(
      "CUPTI is of version {}, this was compiled for {}: build it here, or set "
      "WB_CUPTI to the library of that release",
      version, CUPTI_API_VERSION);
  return false;
}

}  // namespace

std::optional<KernelTrace> KernelTrace::start(std::string& why) {
  KernelTrace trace;
  void* library = open_library(trace.m_library, why);
  if (library == nullptr) return std::nullopt;
  why.clear();
  if (!find_functions(library, why)) return std::nullopt;
  const Functions& f = g_shared.functions;
  if (f.get_version(&trace.m_version) != CUPTI_SUCCESS) why = "CUPTI does not tell its version";
  if (!why.empty() || !is_ours(trace.m_version, why)) return std::nullopt;
  if (!g_shared.has_callbacks) {
    const CUptiResult registered = f.register_callbacks(give_buffer, read_buffer);
    if (registered != CUPTI_SUCCESS) why = words_of(registered);
    g_shared.has_callbacks = registered == CUPTI_SUCCESS;
  }
  if (!why.empty()) return std::nullopt;
  // Not KIND_KERNEL, which lets one kernel run at a time and waits for each: behind a gate forever.
  const CUptiResult enabled = f.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (enabled != CUPTI_SUCCESS) {
    why = "CUPTI does not trace kernels here: " + words_of(enabled);
    return std::nullopt;
  }
  trace.m_is_on = true;
  return trace;
}

KernelTrace::KernelTrace(KernelTrace&& other) noexcept
    : m_is_on(std::exchange(other.m_is_on, false)),
      m_version(other.m_version),
      m_library(std::move(other.m_library)) {}

KernelTrace::~KernelTrace() {
  if (!m_is_on) return;
  g_shared.functions.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  g_shared.functions.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

std::optional<std::vector<KernelSpan>> KernelTrace::take(std::string& why) {
  const CUptiResult flushed = g_shared.functions.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(g_shared.mutex);
  std::vector<KernelSpan> spans = std::exchange(g_shared.spans, {});
  const std::size_t dropped = std::exchange(g_shared.dropped, 0);
  if (flushed != CUPTI_SUCCESS) why = words_of(flushed);
  if (dropped > 0) why = fmt::format("CUPTI dropped {} records", dropped);
  if (!why.empty()) return std::nullopt;
  std::sort(spans.begin(), spans.end(),
            [](const KernelSpan& a, const KernelSpan& b) { return a.begin_ns < b.begin_ns; });
  return spans;
}

}  // namespace wb::testing
