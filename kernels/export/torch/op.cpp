// SPDX-License-Identifier: MIT
// The exported variant as an operator of PyTorch: registered here, its fake kernel in __init__.py.
// Calls the prebuilt library that lies beside this one where the recorded passes cover the problem,
// else PyTorch's own scaled dot product attention, and counts which of the two ran.
#include <torch/library.h>

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "fallback.hpp"
#include "variant.hpp"

// TORCH_LIBRARY makes a string of its argument, which must be expanded before.
#define WB_LIBRARY(name, module) TORCH_LIBRARY(name, module)
#define WB_LIBRARY_IMPL(name, key, module) TORCH_LIBRARY_IMPL(name, key, module)
#define WB_STRING_OF(name) #name
#define WB_STRING(name) WB_STRING_OF(name)

namespace {

using wb_export::Call;
using wb_export::Variant;
using Mask = std::optional<at::Tensor>;

/// PyTorch computes on one thread while it lives.
class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { at::set_num_threads(m_before); }

 private:
  const int m_before = at::get_num_threads();
};

at::Tensor forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Mask& mask,
                   c10::string_view causal, std::optional<double> scale) {
  const Call call = wb_export::check_call(q, k, v, mask, causal, scale);
  const c10::OptionalDeviceGuard guard(q.device());
  at::Tensor out = wb_export::empty_like_q(q, v);
  if (Variant::get().run(call, out)) return out;
  std::optional<OneThread> alone;
  if (Variant::get().is_forked()) alone.emplace();  // PyTorch's threads did not come along
  return out.copy_(wb_export::fallback(call));
}

bool has_tangent(const at::Tensor& tensor) {
  return tensor._fw_grad(/*level=*/0).defined();
}

/// There is no derivative, in reverse and forward mode: said here, not by a gradient or tangent
/// that silently is missing.
at::Tensor forward_autograd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Mask& mask, c10::string_view causal,
                            std::optional<double> scale) {
  const bool has_mask = mask.has_value() && mask->defined();
  const bool wants_gradient = q.requires_grad() || k.requires_grad() || v.requires_grad() ||
                              (has_mask && mask->requires_grad());
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(at::GradMode::is_enabled() && wants_gradient), WB_STRING(WB_PROVEN_NAME)
      "::forward has no backward, and an argument requires a gradient: call it under "
      "torch.no_grad(), pass tensor.detach(), or use scaled_dot_product_attention to train");
  TORCH_CHECK_NOT_IMPLEMENTED(
      !(has_tangent(q) || has_tangent(k) || has_tangent(v) || (has_mask && has_tangent(*mask))),
      WB_STRING(WB_PROVEN_NAME)
      "::forward has no derivative in forward mode, and an argument has a tangent: pass "
      "tensor.detach(), or use scaled_dot_product_attention");
  const at::AutoDispatchBelowADInplaceOrView below;
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow(WB_STRING(WB_PROVEN_NAME) "::forward", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const Mask&,
                            c10::string_view, std::optional<double>)>();
  return op.call(q, k, v, mask, causal, scale);
}

std::vector<int64_t> counts() {
  return {Variant::get().kernel_calls.load(), Variant::get().fallback_calls.load()};
}

void reset_counts() {
  Variant::get().kernel_calls = 0;
  Variant::get().fallback_calls = 0;
}

}  // namespace

WB_LIBRARY(WB_PROVEN_NAME, module) {
  module.def(
      "forward(Tensor q, Tensor k, Tensor v, Tensor? mask=None, str causal=\"none\", "
      "float? scale=None) -> Tensor");
  module.def("counts() -> int[]", &counts);
  module.def("reset_counts() -> ()", &reset_counts);
  module.def("last_reason() -> str", [] { return Variant::get().last_reason(); });
}

WB_LIBRARY_IMPL(WB_PROVEN_NAME, CPU, module) {
  module.impl("forward", &forward);
}
WB_LIBRARY_IMPL(WB_PROVEN_NAME, CUDA, module) {
  module.impl("forward", &forward);
}
WB_LIBRARY_IMPL(WB_PROVEN_NAME, Autograd, module) {
  module.impl("forward", &forward_autograd);
}
