// SPDX-License-Identifier: MIT
#include "variant.hpp"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace wb_export {
namespace {

constexpr std::size_t k_most_plans = 256;  // then the cache begins anew: shapes that never end
constexpr std::uintptr_t k_gpu_alignment = 256;

int32_t dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return WB_F32;
    case at::kHalf:
      return WB_F16;
    case at::kBFloat16:
      return WB_BF16;
    default:
      return -1;
  }
}

wb_strides strides_of(const at::Tensor& tensor) {
  return {tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

/// The driver's answer, from the library that PyTorch has loaded; no CUDA header is needed.
template <typename... Words>
bool ask_driver(const char* name, Words... words) {
  static void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* function = driver == nullptr ? nullptr : ::dlsym(driver, name);
  return function != nullptr && reinterpret_cast<int (*)(Words...)>(function)(words...) == 0;
}

bool is_capturing(void* stream) {
  int status = 0;
  return ask_driver("cuStreamIsCapturing", stream, &status) && status != 0;
}

/// "sm_90a" runs on 9.0 only, "sm_100f" on its family; WB_PROVEN_TARGET says which it was built
/// for.
bool device_fits(int32_t ordinal) {
  constexpr int k_major = 75, k_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  int device = 0, major = 0, minor = 0;
  if (!ask_driver("cuDeviceGet", &device, static_cast<int>(ordinal)) ||
      !ask_driver("cuDeviceGetAttribute", &major, k_major, device) ||
      !ask_driver("cuDeviceGetAttribute", &minor, k_minor, device)) {
    return false;
  }
  const std::string target = WB_PROVEN_TARGET;
  const int number = std::atoi(target.c_str() + std::min(target.size(), std::strlen("sm_")));
  return number / 10 == major &&
         (target.back() == 'a' ? number % 10 == minor : number % 10 <= minor);
}

/// The library was compiled for the CPU that it passed on; a lesser one stops the program.
bool cpu_fits() {
#if defined(__x86_64__)
  const std::string level = WB_PROVEN_ARCHITECTURE;
  if (level == "x86-64-v4") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
  if (level == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return true;
}

template <typename Function>
void resolve(void* library, const char* name, Function& function, std::string& fault) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && fault.empty()) fault = std::string("it does not export ") + name;
}

/// kernel.so beside the library that this function is in, if it is the artifact that passed.
Library load_library() {
  Library library;
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&load_library), &here) == 0 || here.dli_fname == nullptr) {
    library.fault = "this library does not know where it lies";
    return library;
  }
  const std::string file = here.dli_fname;
  const std::string path = file.substr(0, file.rfind('/') + 1) + "kernel.so";
  if (!WB_PROVEN_CUDA && !cpu_fits()) {
    library.fault = "this CPU lacks instructions of " WB_PROVEN_ARCHITECTURE;
    return library;
  }
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* words = ::dlerror();
    library.fault = "cannot load " + path + ": " + (words == nullptr ? "no reason" : words);
    return library;
  }
  decltype(&wb_sdpa_build_id) build_id = nullptr;
  resolve(loaded, "wb_sdpa_plan_create", library.plan_create, library.fault);
  resolve(loaded, "wb_sdpa_workspace_bytes", library.workspace_bytes, library.fault);
  resolve(loaded, "wb_sdpa_forward", library.forward, library.fault);
  resolve(loaded, "wb_sdpa_plan_destroy", library.plan_destroy, library.fault);
  resolve(loaded, "wb_sdpa_last_error", library.last_error, library.fault);
  resolve(loaded, "wb_sdpa_build_id", build_id, library.fault);
  if (library.fault.empty() && std::strcmp(build_id(), WB_PROVEN_ARTIFACT_ID) != 0) {
    library.fault = path + " is not the artifact that passed";
  }
  return library;
}

bool is_aligned(const at::Tensor& tensor, bool on_gpu) {
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  return !on_gpu || address % k_gpu_alignment == 0;
}

/// Fills what depends on the tensors. Returns why they cannot be handed over, or null.
const char* describe(const Call& call, const at::Tensor& out, const at::Tensor& mask,
                     wb_sdpa_problem& p) {
  const bool on_gpu = call.q.is_cuda();
  if (on_gpu != static_cast<bool>(WB_PROVEN_CUDA)) return "the tensors are on another device";
  p.dtype = dtype_of(call.q.scalar_type());
  if (p.dtype < 0) return "no recorded pass has this dtype and head dim";
  for (const at::Tensor& tensor : {call.q, call.k, call.v, mask}) {
    if (!tensor.defined()) continue;
    if (tensor.stride(3) != 1 && tensor.size(3) != 1) return "a last stride is not 1";
    if (!is_aligned(tensor, on_gpu)) return "a tensor does not begin on 256 bytes";
    if (tensor.is_conj() || tensor.is_neg()) return "a tensor is a lazy view";
    if (tensor.numel() > 0 && tensor.const_data_ptr() == nullptr) return "a tensor has no memory";
  }
  p.struct_size = sizeof p;
  p.abi_version = 1;  // that of a dense forward
  p.causal = call.causal;
  p.batch = call.q.size(0);
  p.heads_q = call.q.size(1);
  p.heads_kv = call.k.size(1);
  p.seq_q = call.q.size(2);
  p.seq_kv = call.k.size(2);
  p.dim = call.q.size(3);
  p.dim_v = call.v.size(3);
  p.q = strides_of(call.q);
  p.k = strides_of(call.k);
  p.v = strides_of(call.v);
  p.out = strides_of(out);
  p.mask = WB_MASK_NONE;
  if (mask.defined()) {
    p.mask = mask.scalar_type() == at::kBool ? WB_MASK_BOOL : WB_MASK_ADDITIVE;
    p.mask_strides = strides_of(mask);
  }
  p.scale = call.scale;
  p.device = on_gpu ? call.q.get_device() : -1;
  return nullptr;
}

/// On the CPU by no operation of PyTorch: for those it may take threads, which a forked child waits
/// for in vain.
void clear_workspace(Plan& plan) {
  if (!plan.workspace.defined()) return;
  if (plan.workspace.is_cuda()) {
    plan.workspace.zero_();
  } else {
    std::memset(plan.workspace.mutable_data_ptr(), 0, plan.workspace.nbytes());
  }
}

const pid_t k_loaded_in = ::getpid();

}  // namespace

Variant::Variant(const Library& library) : m_library(library), m_process(::getpid()) {}

Variant& Variant::get() {
  static const Library library = load_library();
  static std::atomic<Variant*> current{nullptr};
  Variant* found = current.load();
  if (found != nullptr && found->m_process == ::getpid()) return *found;
  auto* const made = new Variant(library);
  if (current.compare_exchange_strong(found, made)) return *made;
  delete made;  // another thread was first
  return *found;
}

bool Variant::is_forked() const {
  return m_process != k_loaded_in;
}

bool Variant::refuse(std::string reason) {
  ++fallback_calls;
  const std::lock_guard<std::mutex> lock(m_mutex);
  m_last_reason = std::move(reason);
  return false;
}

std::string Variant::last_reason() {
  const std::lock_guard<std::mutex> lock(m_mutex);
  return m_last_reason;
}

std::shared_ptr<Plan> Variant::make_plan(const wb_sdpa_problem& problem, const Call& call,
                                         std::string& refusal) {
  auto plan = std::make_shared<Plan>();
  wb_sdpa_plan* raw = nullptr;
  const int status = m_library.plan_create(&problem, &raw);
  if (status != WB_OK || raw == nullptr) {
    refusal = std::string("the kernel refuses it: ") + m_library.last_error();
    return nullptr;
  }
  plan->handle = {raw, m_library.plan_destroy};
  const auto bytes = static_cast<int64_t>(m_library.workspace_bytes(raw));
  const auto options = call.q.options().dtype(at::kByte);
  // Aligned by hand: the CPU's allocator promises less than the ABI.
  at::Tensor memory = at::empty({bytes + static_cast<int64_t>(k_gpu_alignment)}, options);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data_ptr());
  const auto skipped =
      static_cast<int64_t>((k_gpu_alignment - address % k_gpu_alignment) % k_gpu_alignment);
  if (bytes > 0) plan->workspace = memory.narrow(0, skipped, bytes);
  clear_workspace(*plan);
  return plan;
}

std::shared_ptr<Plan> Variant::plan_for(const wb_sdpa_problem& problem, const Call& call,
                                        void* stream, std::string& refusal) {
  const std::lock_guard<std::mutex> lock(m_mutex);
  if (problem.device >= 0 && is_capturing(stream)) {
    // Its workspace is zeroed by the graph itself, at each replay, and is nobody else's.
    auto plan = make_plan(problem, call, refusal);
    if (plan) m_captured.push_back(plan);
    return plan;
  }
  const std::pair<std::string, void*> key{
      std::string(reinterpret_cast<const char*>(&problem), sizeof problem), stream};
  if (const auto found = m_plans.find(key); found != m_plans.end()) return found->second;
  auto plan = make_plan(problem, call, refusal);
  if (!plan) return plan;
  if (m_plans.size() >= k_most_plans) m_plans.clear();
  return m_plans[key] = plan;
}

bool Variant::run(const Call& call, at::Tensor& out) {
  if (!m_library.fault.empty()) return refuse(m_library.fault);
  at::Tensor mask = call.mask;
  if (mask.defined()) {
    if (mask.size(-1) != call.k.size(2)) return refuse("the mask's last dimension is broadcast");
    mask = mask.expand({call.q.size(0), call.q.size(1), call.q.size(2), call.k.size(2)});
  }
  wb_sdpa_problem problem;
  std::memset(&problem, 0, sizeof problem);  // padding too: its bytes are the key of its plan
  if (const char* reason = describe(call, out, mask, problem)) return refuse(reason);
  if (const char* reason = wb_outside(&problem)) return refuse(reason);
  void* stream = nullptr;
  if (problem.device >= 0) {
    if (!device_fits(problem.device))
      return refuse("the GPU is none that " WB_PROVEN_TARGET " runs on");
    const c10::Stream current =
        c10::impl::getDeviceGuardImpl(call.q.device().type())->getStream(call.q.device());
    stream = current.native_handle();
  }
  std::string refusal;
  const std::shared_ptr<Plan> plan = plan_for(problem, call, stream, refusal);
  if (!plan) return refuse(std::move(refusal));
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = call.q.const_data_ptr();
  args.k = call.k.const_data_ptr();
  args.v = call.v.const_data_ptr();
  args.mask = mask.defined() ? mask.const_data_ptr() : nullptr;
  args.out = out.mutable_data_ptr();
  args.workspace = plan->workspace.defined() ? plan->workspace.mutable_data_ptr() : nullptr;
  args.stream = stream;
  args.threads = at::get_num_threads();
  const std::lock_guard<std::mutex> lock(plan->one_call);
  const int status = m_library.forward(plan->handle.get(), &args);
  if (status != WB_OK) {
    clear_workspace(*plan);
    WB_CHECK(false, "the exported kernel failed (status ", status, "): ", m_library.last_error());
  }
  ++kernel_calls;
  return true;
}

}  // namespace wb_export
