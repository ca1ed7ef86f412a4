// SPDX-License-Identifier: MIT
#include "worker/cuda/driver.hpp"

#include <fmt/format.h>

#include <utility>

namespace wb::worker::cuda {
namespace {

ErrorCode code_of(Status status) {
  return status == Status::out_of_memory ? ErrorCode::limit : ErrorCode::environment;
}

const char* advice(Status status) {
  if (ends_process(status)) return "the device context is lost; start a new process";
  switch (status) {
    case Status::out_of_memory:
      return "choose a smaller problem, or free the device's memory";
    case Status::no_device:
      return "use a machine with an NVIDIA GPU, or the CPU backend";
    case Status::no_binary_for_gpu:
    case Status::invalid_ptx:
    case Status::unsupported_ptx_version:
      return "install a driver as new as the toolkit this worker was built with";
    default:
      return "";
  }
}

}  // namespace

bool ends_process(Status status) {
  switch (status) {
    case Status::ecc_uncorrectable:
    case Status::nvlink_uncorrectable:
    case Status::contained:
    case Status::illegal_address:
    case Status::launch_timeout:
    case Status::assertion:
    case Status::hardware_stack_error:
    case Status::illegal_instruction:
    case Status::misaligned_address:
    case Status::invalid_address_space:
    case Status::invalid_pc:
    case Status::launch_failed:
    case Status::tensor_memory_leak:
    case Status::unknown:  // unknown, so continuing would be a guess
      return true;
    default:
      return false;
  }
}

std::string driver_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaResult<DriverPtr> Driver::load(const char* library) {
  auto opened = Library::open(library, "it is not there");
  if (!opened.ok()) {
    return Fault{
        {ErrorCode::not_found, "load the CUDA driver", library, opened.error(),
         fmt::format("install NVIDIA's driver for CUDA {} or newer, or use the CPU backend",
                     driver_version_text(k_oldest_driver))}};
  }
  std::shared_ptr<Driver> driver(new Driver(*opened));
  WB_TRY(driver->find_version(library));
  WB_TRY(driver->find_functions(library));
  WB_TRY(driver->check(driver->m_functions.init(0), "start", "the CUDA driver"));
  return DriverPtr(std::move(driver));
}

CudaResult<void> Driver::find_version(const char* library) {
  m_library.find("cuDriverGetVersion", m_functions.driver_get_version);
  if (m_functions.driver_get_version == nullptr ||
      m_functions.driver_get_version(&m_version) != Status::success) {
    return Fault{{ErrorCode::not_found, "use the CUDA driver", library,
                  "it does not say its version", "install NVIDIA's driver"}};
  }
  if (m_version >= k_oldest_driver) return {};
  return Fault{{ErrorCode::environment, "use the CUDA driver", library,
                fmt::format("it supports CUDA {}, device code needs {}",
                            driver_version_text(m_version), driver_version_text(k_oldest_driver)),
                "install a newer driver"}};
}

CudaResult<void> Driver::find_functions(const char* library) {
  DriverFunctions& f = m_functions;
  const auto find = [this](const char* name, auto& to) { m_library.find(name, to); };
  // The _v2 names are those behind the documented macros.
  find("cuInit", f.init);
  find("cuGetErrorName", f.get_error_name);
  find("cuGetErrorString", f.get_error_string);
  find("cuDeviceGetCount", f.device_get_count);
  find("cuDeviceGet", f.device_get);
  find("cuDeviceGetName", f.device_get_name);
  find("cuDeviceGetAttribute", f.device_get_attribute);
  find("cuDeviceGetUuid_v2", f.device_get_uuid);
  find("cuDevicePrimaryCtxRetain", f.primary_retain);
  find("cuDevicePrimaryCtxRelease_v2", f.primary_release);
  find("cuCtxSetCurrent", f.ctx_set_current);
  find("cuCtxSynchronize", f.ctx_synchronize);
  find("cuProfilerStart", f.profiler_start);
  find("cuProfilerStop", f.profiler_stop);
  find("cuCtxResetPersistingL2Cache", f.reset_persisting_cache);
  find("cuMemGetInfo_v2", f.mem_get_info);
  find("cuMemAlloc_v2", f.mem_alloc);
  find("cuMemFree_v2", f.mem_free);
  find("cuMemHostAlloc", f.mem_host_alloc);
  find("cuMemFreeHost", f.mem_free_host);
  find("cuMemcpyHtoDAsync_v2", f.memcpy_to_device);
  find("cuMemcpyDtoHAsync_v2", f.memcpy_to_host);
  find("cuMemcpyDtoDAsync_v2", f.memcpy_on_device);
  find("cuMemGetAllocationGranularity", f.mem_granularity);
  find("cuMemCreate", f.mem_create);
  find("cuMemRelease", f.mem_release);
  find("cuMemExportToShareableHandle", f.mem_export);
  find("cuMemImportFromShareableHandle", f.mem_import);
  find("cuMemAddressReserve", f.address_reserve);
  find("cuMemAddressFree", f.address_free);
  find("cuMemMap", f.mem_map);
  find("cuMemUnmap", f.mem_unmap);
  find("cuMemSetAccess", f.mem_set_access);
  find("cuMemsetD8Async", f.memset_bytes);
  find("cuStreamCreate", f.stream_create);
  find("cuStreamDestroy_v2", f.stream_destroy);
  find("cuStreamSynchronize", f.stream_synchronize);
  find("cuStreamBeginCapture_v2", f.stream_begin_capture);
  find("cuStreamEndCapture", f.stream_end_capture);
  find("cuGraphInstantiateWithFlags", f.graph_instantiate);
  find("cuGraphLaunch", f.graph_launch);
  find("cuGraphExecDestroy", f.graph_exec_destroy);
  find("cuGraphDestroy", f.graph_destroy);
  find("cuEventCreate", f.event_create);
  find("cuEventDestroy_v2", f.event_destroy);
  find("cuEventRecord", f.event_record);
  find("cuEventSynchronize", f.event_synchronize);
  find("cuEventElapsedTime", f.event_elapsed_time);
  find("cuModuleLoadData", f.module_load_data);
  find("cuModuleUnload", f.module_unload);
  find("cuModuleGetFunction", f.module_get_function);
  find("cuLaunchKernel", f.launch_kernel);
  const auto find_optional = [this](const char* name, auto& to) {
    m_library.find_optional(name, to);
  };
  find_optional("cuGraphGetNodes", f.graph_get_nodes);
  find_optional("cuGraphNodeGetType", f.graph_node_get_type);
  find_optional("cuGraphKernelNodeGetParams_v2", f.kernel_node_get_parameters);
  find_optional("cuGraphKernelNodeGetAttribute", f.kernel_node_get_attribute);
  find_optional("cuKernelGetFunction", f.kernel_get_function);
  find_optional("cuFuncGetName", f.function_get_name);
  find_optional("cuFuncGetAttribute", f.function_get_attribute);
  find_optional("cuOccupancyMaxActiveBlocksPerMultiprocessor", f.most_active_blocks);
  const char* const missing = m_library.missing();
  if (missing == nullptr) return {};
  return Fault{{ErrorCode::not_found, "use the CUDA driver", library,
                fmt::format("it has no function {}", missing), "install NVIDIA's driver"}};
}

Fault Driver::fault(Status status, std::string_view attempted, std::string_view subject) const {
  const char* name = nullptr;
  const char* words = nullptr;
  m_functions.get_error_name(status, &name);
  m_functions.get_error_string(status, &words);
  std::string cause = fmt::format("{} ({}): {}", name == nullptr ? "unknown CUDA error" : name,
                                  static_cast<int>(status),
                                  words == nullptr ? "the driver has no words for it" : words);
  return Fault{{code_of(status), std::string(attempted), std::string(subject), std::move(cause),
                advice(status)},
               status};
}

}  // namespace wb::worker::cuda
