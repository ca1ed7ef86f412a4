// SPDX-License-Identifier: MIT
// A CUDA driver that plays a device on the CPU, as a shared library: memory, descriptors that stand
// for memory, copies that are done at once; no kernels. played_hands_on(false) takes the
// descriptors away, as on an old driver.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

constexpr int k_success = 0, k_invalid = 1, k_out_of_memory = 2, k_not_supported = 801;
constexpr std::size_t k_granularity = 2u << 20;
constexpr std::size_t k_memory_bytes = 1u << 30;

struct Played {
  bool hands_on = true;
  unsigned long long next = 1;
  std::map<unsigned long long, int> allocations;  // a memory file each
};
Played& played() {
  static Played state;
  return state;
}
void* host(unsigned long long address) {
  return reinterpret_cast<void*>(address);
}
/// An event is the moment at which it was recorded: all work before it is done by then.
struct PlayedEvent {
  std::chrono::steady_clock::time_point at;
};

}  // namespace

extern "C" {

void played_hands_on(bool value) {
  played().hands_on = value;
}
/// Allocations that somebody still holds.
int played_allocations() {
  return static_cast<int>(played().allocations.size());
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return k_success;
}
int cuInit(unsigned) {
  return k_success;
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_PLAYED";
  return k_success;
}
int cuGetErrorString(int, const char** words) {
  *words = "the played driver says so";
  return k_success;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return k_success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return k_success;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "Played GPU", static_cast<std::size_t>(bytes) - 1);
  return k_success;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 103 ? (played().hands_on ? 1 : 0) : 1;
  return k_success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &played();
  return k_success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return k_success;
}
int cuCtxSetCurrent(void*) {
  return k_success;
}
int cuCtxSynchronize() {
  return k_success;
}
int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = k_memory_bytes;
  return k_success;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (bytes > k_memory_bytes) return k_out_of_memory;
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return k_success;
}
int cuMemFree_v2(unsigned long long address) {
  std::free(host(address));
  return k_success;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
  std::memcpy(host(to), from, bytes);
  return k_success;
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
  std::memcpy(to, host(from), bytes);
  return k_success;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void*) {
  std::memcpy(host(to), host(from), bytes);
  return k_success;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t bytes, void*) {
  std::memset(host(to), value, bytes);
  return k_success;
}
int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  *bytes = k_granularity;
  return k_success;
}
int cuMemCreate(unsigned long long* handle, std::size_t bytes, const void*, unsigned long long) {
  if (bytes % k_granularity != 0) return k_invalid;
  if (bytes > k_memory_bytes) return k_out_of_memory;
  const int fd = ::memfd_create("played device", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return k_out_of_memory;
  *handle = played().next++;
  played().allocations[*handle] = fd;
  return k_success;
}
int cuMemRelease(unsigned long long handle) {
  const auto found = played().allocations.find(handle);
  if (found == played().allocations.end()) return k_invalid;
  ::close(found->second);
  played().allocations.erase(found);
  return k_success;
}
int cuMemExportToShareableHandle(void* to, unsigned long long handle, int type,
                                 unsigned long long) {
  if (!played().hands_on || type != 1) return k_not_supported;
  const int fd = ::dup(played().allocations.at(handle));
  std::memcpy(to, &fd, sizeof fd);
  return k_success;
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* from, int) {
  const int fd = ::dup(static_cast<int>(reinterpret_cast<std::intptr_t>(from)));
  if (fd < 0) return k_invalid;
  *handle = played().next++;
  played().allocations[*handle] = fd;
  return k_success;
}
int cuMemAddressReserve(unsigned long long* address, std::size_t bytes, std::size_t,
                        unsigned long long, unsigned long long) {
  void* const at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<std::uintptr_t>(at);
  return at == MAP_FAILED ? k_out_of_memory : k_success;
}
int cuMemAddressFree(unsigned long long address, std::size_t bytes) {
  return ::munmap(host(address), bytes) == 0 ? k_success : k_invalid;
}
int cuMemMap(unsigned long long address, std::size_t bytes, std::size_t, unsigned long long handle,
             unsigned long long) {
  void* const at = ::mmap(host(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          played().allocations.at(handle), 0);
  return at == MAP_FAILED ? k_invalid : k_success;
}
int cuMemUnmap(unsigned long long address, std::size_t bytes) {
  void* const at =
      ::mmap(host(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return at == MAP_FAILED ? k_invalid : k_success;
}
int cuMemSetAccess(unsigned long long, std::size_t, const void*, std::size_t) {
  return k_success;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = &played();
  return k_success;
}
int cuStreamDestroy_v2(void*) {
  return k_success;
}
int cuStreamSynchronize(void*) {
  return k_success;
}
int cuEventCreate(void** event, unsigned) {
  *event = new PlayedEvent;
  return k_success;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<PlayedEvent*>(event);
  return k_success;
}
int cuEventRecord(void* event, void*) {
  static_cast<PlayedEvent*>(event)->at = std::chrono::steady_clock::now();
  return k_success;
}
int cuEventSynchronize(void*) {
  return k_success;
}
int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = std::chrono::duration<float, std::milli>(static_cast<PlayedEvent*>(to)->at -
                                                 static_cast<PlayedEvent*>(from)->at)
            .count();
  return k_success;
}

#define WB_NOT_PLAYED(name) \
  int name() {              \
    return k_not_supported; \
  }
WB_NOT_PLAYED(cuDeviceGetUuid_v2)
WB_NOT_PLAYED(cuProfilerStart)
WB_NOT_PLAYED(cuProfilerStop)
WB_NOT_PLAYED(cuCtxResetPersistingL2Cache)
WB_NOT_PLAYED(cuMemHostAlloc)
WB_NOT_PLAYED(cuMemFreeHost)
WB_NOT_PLAYED(cuStreamBeginCapture_v2)
WB_NOT_PLAYED(cuStreamEndCapture)
WB_NOT_PLAYED(cuGraphInstantiateWithFlags)
WB_NOT_PLAYED(cuGraphLaunch)
WB_NOT_PLAYED(cuGraphExecDestroy)
WB_NOT_PLAYED(cuGraphDestroy)
WB_NOT_PLAYED(cuModuleLoadData)
WB_NOT_PLAYED(cuModuleUnload)
WB_NOT_PLAYED(cuModuleGetFunction)
WB_NOT_PLAYED(cuLaunchKernel)
}
