// SPDX-License-Identifier: MIT
#include "worker/exercise.hpp"

#include <fmt/format.h>
#include <linux/filter.h>

#include <cstdio>
#include <utility>

#include "core/json.hpp"
#include "worker/confine.hpp"
#include "worker/cuda/buffer_set.hpp"
#include "worker/failure.hpp"
#include "worker/subject_loop.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker {
namespace {

constexpr std::string_view k_mark = "sdpa-wb exercise: ";
constexpr std::size_t k_message_bytes = 1u << 10;  // the line must fit into the captured output
constexpr std::uint64_t k_open_files = 1'024;      // for devices, the driver's threads and the tool
constexpr std::uint32_t k_seed = 1;
constexpr int k_calls_before = 2;

/// Starts the GPU. A failure is the machine's, not a variant's.
struct StartedDevice {
  cuda::Stream stream;
  cuda::GpuInputs inputs;
};
cuda::CudaResult<StartedDevice> start_device(int ordinal) {
  WB_TRY_ASSIGN(cuda::DriverPtr driver, cuda::Driver::load());
  WB_TRY_ASSIGN(const cuda::ContextPtr context, cuda::Context::create(std::move(driver), ordinal));
  WB_TRY_ASSIGN(cuda::Stream stream, cuda::Stream::create(context));
  WB_TRY_ASSIGN(cuda::GpuInputs inputs, cuda::GpuInputs::create(context));
  return StartedDevice{std::move(stream), std::move(inputs)};
}

const char* confine(const ExerciseOrder& order) {
  Confinement confinement;
  confinement.gpu = true;
  confinement.open_files = k_open_files;
  confinement.writable_folder = order.folder.string();
  confinement.system_calls = k_gpu_system_calls;
  auto filter = filter_of(confinement);
  return confine_this_process(confinement, landlock_of(confinement), filter);
}

Outcome<void> call_variant(const StartedDevice& device, const ExerciseOrder& order) {
  WB_TRY_ASSIGN(const auto api, load_library(order.library, order.build_id));
  WB_TRY_ASSIGN(const auto plan, VariantPlan::create(api, order.problem, false, order.gpu));
  const auto buffers = cuda::DeviceBufferSet::create(
      device.stream, order.problem, {.workspace_bytes = plan.workspace_bytes()}, 0);
  if (!buffers.ok()) return environment(buffers.error().message());
  const auto& context = *device.stream.context();
  const cuda::DriverFunctions& functions = context.driver().functions();
  const wb_sdpa_args args = cuda::args_of(*buffers, device.stream);
  int status = WB_OK;
  const char* overrun = nullptr;
  const auto work = [&]() -> cuda::CudaResult<void> {
    WB_TRY(buffers->refill(device.stream, device.inputs, k_seed, problem::Draw::normal));
    for (int i = 0; i < k_calls_before && status == WB_OK; ++i) {
      status = api.forward(plan.get(), &args);
    }
    WB_TRY(context.synchronize());
    WB_TRY(context.driver().check(functions.profiler_start(), "start", "the profiler"));
    if (status == WB_OK) status = api.forward(plan.get(), &args);
    WB_TRY(context.synchronize());
    WB_TRY(context.driver().check(functions.profiler_stop(), "stop", "the profiler"));
    WB_TRY_ASSIGN(overrun, buffers->overrun(device.stream));
    return {};
  };
  const auto done = work();
  if (status != WB_OK) return call_failure(api, "wb_sdpa_forward", status);
  if (!done.ok()) return runtime_failure(done.error().message());
  if (overrun != nullptr) return wrote_outside(overrun);
  return {};
}

Result<ExerciseOrder> order_from_json(std::string_view text) {
  WB_TRY_ASSIGN(const Json json, parse_json(text, "the order"));
  ObjectReader reader(json, "the order");
  ExerciseOrder order;
  order.library = reader.string("library");
  order.build_id = reader.string("build_id");
  order.gpu = static_cast<int>(reader.integer("gpu", 0, 1'000));
  order.folder = reader.string("folder");
  const Json* problem = reader.member("problem");
  if (problem == nullptr) reader.fail("problem", "is missing");
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(order.problem, problem::problem_from_json(*problem, "the order"));
  return order;
}

Outcome<void> exercise(std::string_view text) {
  const Result<ExerciseOrder> order = order_from_json(text);
  if (!order.ok()) return environment(order.error().message());
  const auto device = start_device(order->gpu);
  if (!device.ok()) return environment(device.error().message());
  // Only now: the tool has opened its channels, and the variant is not loaded yet.
  if (const char* failed = confine(*order)) {
    return environment(fmt::format("cannot confine the call: {}", failed));
  }
  return call_variant(*device, *order);
}

}  // namespace

Json to_json(const ExerciseOrder& order) {
  return {{"library", order.library},
          {"build_id", order.build_id},
          {"problem", to_json(order.problem)},
          {"gpu", order.gpu},
          {"folder", order.folder.string()}};
}

std::string exercise_line(const std::optional<Failure>& failure) {
  Json end = Json::object();
  if (failure) {
    end = {{"invalidity", to_string(failure->invalidity)},
           {"message", printable(failure->message, k_message_bytes)}};
  }
  return fmt::format("{}{}\n", k_mark, end.dump());
}

std::optional<ExerciseEnd> read_exercise_end(std::string_view printed) {
  const auto mark = printed.rfind(k_mark);
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view line = printed.substr(mark + k_mark.size());
  const Result<Json> json = parse_json(line.substr(0, line.find('\n')), "the end of a call");
  if (!json.ok() || !json->is_object()) return std::nullopt;
  if (json->empty()) return ExerciseEnd{};
  ObjectReader reader(*json, "the end of a call");
  Failure failure;
  const auto invalidity = parse_invalidity(reader.string("invalidity"));
  failure.message = printable(reader.string("message"), k_message_bytes);
  const bool known = invalidity == Invalidity::constraints || invalidity == Invalidity::runtime ||
                     invalidity == Invalidity::environment;
  if (!reader.finish().ok() || !known) return std::nullopt;
  failure.invalidity = *invalidity;
  return ExerciseEnd{std::move(failure)};
}

int run_exercise(std::string_view text) {
  const Outcome<void> done = exercise(text);
  const std::string line =
      exercise_line(done.ok() ? std::optional<Failure>() : std::optional(done.error()));
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  return done.ok() ? 0 : 1;
}

}  // namespace wb::worker
