// SPDX-License-Identifier: MIT
#include "worker/cuda/call_args.hpp"

namespace wb::worker::cuda {
namespace {

template <typename T>
const T* pointer(const GuardedDeviceBuffer& buffer) {
  return reinterpret_cast<const T*>(buffer.address());  // NOLINT(performance-no-int-to-ptr)
}
template <typename T>
T* writable(const GuardedDeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.address());  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

wb_sdpa_args args_of(const DeviceBufferSet& buffers, const Stream& stream) {
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = pointer<void>(buffers.q);
  args.k = pointer<void>(buffers.k);
  args.v = pointer<void>(buffers.v);
  args.mask = pointer<void>(buffers.mask);
  args.out = writable<void>(buffers.out);
  args.lse = writable<float>(buffers.lse);
  args.workspace = writable<void>(buffers.workspace);
  args.stream = stream.handle();
  args.threads = 1;
  return args;
}

}  // namespace wb::worker::cuda
