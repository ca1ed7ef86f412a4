// SPDX-License-Identifier: MIT
// Driver: this machine's CUDA driver library, loaded at run time; nothing links to CUDA. Everything
// in this folder starts from a loaded Driver, which lives as long as its users. The part of
// NVIDIA's driver API that the worker uses is declared here from its public documentation, since
// the worker builds without a CUDA toolkit: add a function here and in driver.cpp when something
// calls it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "worker/library.hpp"

namespace wb::worker::cuda {

/// CUresult: the values that the code distinguishes; the driver names all others.
enum class Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  invalid_ptx = 218,
  nvlink_uncorrectable = 220,
  unsupported_ptx_version = 222,
  contained = 226,
  not_found = 500,
  illegal_address = 700,
  launch_timeout = 702,
  assertion = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  tensor_memory_leak = 721,
  unknown = 999,
};

using DeviceOrdinal = int;                 ///< CUdevice
using DeviceAddress = unsigned long long;  ///< CUdeviceptr
using ContextHandle = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using KernelHandle = struct CUfunc_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using GraphHandle = struct CUgraph_st*;
using GraphExecHandle = struct CUgraphExec_st*;
using GraphNode = struct CUgraphNode_st*;
using LibraryKernel = struct CUkern_st*;  ///< CUkernel, of a function not bound to a context

/// CUdevice_attribute
enum class Attribute : int {
  multiprocessors = 16,
  l2_bytes = 38,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_per_unit = 81,
  virtual_memory = 102,     ///< cuMemCreate and related functions
  descriptor_handle = 103,  ///< such memory can be exported as a POSIX descriptor
};

/// CUmemLocation
struct MemoryLocation {
  int type = 1;  ///< a device
  DeviceOrdinal device = 0;
};
/// CUmemAllocationProp: device memory that can be exported as a POSIX descriptor.
struct AllocationProperties {
  int type = 1;          ///< pinned, the only type
  int handle_types = 1;  ///< k_descriptor_handle
  MemoryLocation location;
  void* of_another_system = nullptr;
  unsigned char flags[8] = {};
};
/// CUmemAccessDesc
struct MemoryAccess {
  MemoryLocation location;
  int flags = 3;  ///< reading and writing
};
/// CUmemGenericAllocationHandle
using AllocationHandle = unsigned long long;
inline constexpr int k_descriptor_handle = 1;  ///< CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int k_least_granularity = 0;

/// CUfunction_attribute
enum class FunctionAttribute : int {
  static_shared_bytes = 1,
  local_bytes = 3,
  registers = 4,
  cluster_width = 11,  ///< that the kernel was compiled for; then height and depth
  cluster_height = 12,
  cluster_depth = 13,
};

/// CUgraphNodeType: the others are no kernels.
inline constexpr int k_kernel_node = 0;
/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParameters {
  KernelHandle function = nullptr;
  unsigned grid[3] = {}, block[3] = {};
  unsigned dynamic_shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  LibraryKernel kernel = nullptr;  ///< in place of function
  ContextHandle context = nullptr;
};
/// CUlaunchAttributeValue, of CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
inline constexpr int k_cluster_dimension = 4;
struct alignas(8) LaunchAttributeValue {
  unsigned cluster[3] = {};
  unsigned char of_other_attributes[52] = {};
};

/// CUuuid
struct DeviceUuid {
  unsigned char bytes[16];
};

/// Flags for streams, events and pinned memory.
inline constexpr unsigned k_stream_non_blocking = 1;
inline constexpr unsigned k_event_default = 0;
/// CUstreamCaptureMode: only this thread's calls can invalidate a capture.
inline constexpr int k_capture_thread_local = 1;

/// One pointer per function; the comment gives the documented name where it differs.
struct DriverFunctions {
  Status (*init)(unsigned flags) = nullptr;
  Status (*driver_get_version)(int* version) = nullptr;  ///< 1000 major + 10 minor
  Status (*get_error_name)(Status, const char** name) = nullptr;
  Status (*get_error_string)(Status, const char** words) = nullptr;
  Status (*device_get_count)(int* count) = nullptr;
  Status (*device_get)(DeviceOrdinal* device, int ordinal) = nullptr;
  Status (*device_get_name)(char* name, int bytes, DeviceOrdinal) = nullptr;
  Status (*device_get_attribute)(int* value, Attribute, DeviceOrdinal) = nullptr;
  Status (*device_get_uuid)(DeviceUuid*, DeviceOrdinal) = nullptr;
  Status (*primary_retain)(ContextHandle*, DeviceOrdinal) = nullptr;  ///< cuDevicePrimaryCtxRetain
  Status (*primary_release)(DeviceOrdinal) = nullptr;                 ///< cuDevicePrimaryCtxRelease
  Status (*ctx_set_current)(ContextHandle) = nullptr;
  Status (*ctx_synchronize)() = nullptr;
  Status (*profiler_start)() = nullptr;          ///< cuProfilerStart: begins the range for ncu
  Status (*profiler_stop)() = nullptr;           ///< cuProfilerStop
  Status (*reset_persisting_cache)() = nullptr;  ///< cuCtxResetPersistingL2Cache
  Status (*mem_get_info)(std::size_t* free_bytes, std::size_t* total_bytes) = nullptr;
  Status (*mem_alloc)(DeviceAddress*, std::size_t bytes) = nullptr;
  Status (*mem_free)(DeviceAddress) = nullptr;
  Status (*mem_host_alloc)(void**, std::size_t bytes, unsigned flags) = nullptr;
  Status (*mem_free_host)(void*) = nullptr;
  Status (*memcpy_to_device)(DeviceAddress, const void*, std::size_t, StreamHandle) = nullptr;
  Status (*memcpy_to_host)(void*, DeviceAddress, std::size_t, StreamHandle) = nullptr;
  Status (*memcpy_on_device)(DeviceAddress to, DeviceAddress from, std::size_t,
                             StreamHandle) = nullptr;
  Status (*mem_granularity)(std::size_t*, const AllocationProperties*, int) = nullptr;
  Status (*mem_create)(AllocationHandle*, std::size_t, const AllocationProperties*,
                       unsigned long long flags) = nullptr;
  Status (*mem_release)(AllocationHandle) = nullptr;
  Status (*mem_export)(void* to, AllocationHandle, int handle_type,
                       unsigned long long flags) = nullptr;  ///< cuMemExportToShareableHandle
  Status (*mem_import)(AllocationHandle*, void* from, int handle_type) = nullptr;
  Status (*address_reserve)(DeviceAddress*, std::size_t, std::size_t alignment, DeviceAddress wish,
                            unsigned long long flags) = nullptr;
  Status (*address_free)(DeviceAddress, std::size_t) = nullptr;
  Status (*mem_map)(DeviceAddress, std::size_t, std::size_t offset, AllocationHandle,
                    unsigned long long flags) = nullptr;
  Status (*mem_unmap)(DeviceAddress, std::size_t) = nullptr;
  Status (*mem_set_access)(DeviceAddress, std::size_t, const MemoryAccess*,
                           std::size_t count) = nullptr;
  Status (*memset_bytes)(DeviceAddress, unsigned char, std::size_t, StreamHandle) = nullptr;
  Status (*stream_create)(StreamHandle*, unsigned flags) = nullptr;
  Status (*stream_destroy)(StreamHandle) = nullptr;
  Status (*stream_synchronize)(StreamHandle) = nullptr;
  Status (*stream_begin_capture)(StreamHandle, int mode) = nullptr;
  Status (*stream_end_capture)(StreamHandle, GraphHandle*) = nullptr;
  Status (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long flags) = nullptr;
  Status (*graph_launch)(GraphExecHandle, StreamHandle) = nullptr;
  Status (*graph_exec_destroy)(GraphExecHandle) = nullptr;
  Status (*graph_destroy)(GraphHandle) = nullptr;
  Status (*event_create)(EventHandle*, unsigned flags) = nullptr;
  Status (*event_destroy)(EventHandle) = nullptr;
  Status (*event_record)(EventHandle, StreamHandle) = nullptr;
  Status (*event_synchronize)(EventHandle) = nullptr;
  Status (*event_elapsed_time)(float* ms, EventHandle, EventHandle) = nullptr;
  Status (*module_load_data)(ModuleHandle*, const void* image) = nullptr;
  Status (*module_unload)(ModuleHandle) = nullptr;
  Status (*module_get_function)(KernelHandle*, ModuleHandle, const char* name) = nullptr;
  Status (*launch_kernel)(KernelHandle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, StreamHandle, void** parameters,
                          void** extra) = nullptr;

  // What a recorded graph holds. A driver may lack these: they are null then.
  Status (*graph_get_nodes)(GraphHandle, GraphNode* nodes, std::size_t* count) = nullptr;
  Status (*graph_node_get_type)(GraphNode, int* type) = nullptr;
  Status (*kernel_node_get_parameters)(GraphNode, KernelNodeParameters*) =
      nullptr;  ///< cuGraphKernelNodeGetParams
  Status (*kernel_node_get_attribute)(GraphNode, int attribute, LaunchAttributeValue*) =
      nullptr;  ///< cuGraphKernelNodeGetAttribute
  Status (*kernel_get_function)(KernelHandle*, LibraryKernel) = nullptr;
  Status (*function_get_name)(const char** name, KernelHandle) = nullptr;  ///< cuFuncGetName
  Status (*function_get_attribute)(int* value, FunctionAttribute,
                                   KernelHandle) = nullptr;  ///< cuFuncGetAttribute
  Status (*most_active_blocks)(int* blocks, KernelHandle, int block_threads,
                               std::size_t dynamic_shared_bytes) =
      nullptr;  ///< cuOccupancyMaxActiveBlocksPerMultiprocessor
};

/// True for statuses after which all later calls of the process fail: the context is lost, and only
/// a new process helps (by the driver's documentation; measured for illegal_address).
bool ends_process(Status status);

struct Fault : Error {
  Status status = Status::success;  ///< success when the driver was not called
  [[nodiscard]] bool ends_process() const { return cuda::ends_process(status); }
};

template <typename T>
using CudaResult = Expected<T, Fault>;

/// The oldest accepted driver, in the form of cuDriverGetVersion: CUDA 12.4. Device code comes from
/// a toolkit of 12.4 or newer, whose PTX (ISA 8.4) older drivers cannot compile.
inline constexpr int k_oldest_driver = 12040;

class Driver {
 public:
  /// Loads and initializes the library. Errors: not_found (no such library, or a missing CUDA
  /// function), environment (older than k_oldest_driver, no device, or it does not start).
  static CudaResult<std::shared_ptr<const Driver>> load(const char* library = "libcuda.so.1");
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] const DriverFunctions& functions() const { return m_functions; }
  [[nodiscard]] int version() const { return m_version; }

  /// Turns a status into a result: "cannot <attempted> <subject>: CUDA_ERROR_... (700): words".
  /// Success costs nothing, because calls are checked inside timed regions.
  [[nodiscard]] CudaResult<void> check(Status status, std::string_view attempted,
                                       std::string_view subject) const {
    if (status == Status::success) return {};
    return fault(status, attempted, subject);
  }

 private:
  explicit Driver(const Library& library) : m_library(library) {}
  [[nodiscard]] Fault fault(Status status, std::string_view attempted,
                            std::string_view subject) const;
  [[nodiscard]] CudaResult<void> find_functions(const char* library);
  [[nodiscard]] CudaResult<void> find_version(const char* library);

  Library m_library;
  DriverFunctions m_functions;
  int m_version = 0;
};
using DriverPtr = std::shared_ptr<const Driver>;

/// "12.4" of 12040.
std::string driver_version_text(int version);

}  // namespace wb::worker::cuda
