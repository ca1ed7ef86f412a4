// SPDX-License-Identifier: MIT
#include "worker/build_process.hpp"

#include <utility>

#include "core/json.hpp"
#include "worker/failure.hpp"
#include "worker/forked.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_log_bytes = 24u << 10;  // of the compiler's output: a message has 64 KiB

std::string shortened(const std::string& text) {
  if (text.size() <= k_log_bytes) return text;
  return text.substr(0, k_log_bytes / 2) + "\n[… cut …]\n" +
         text.substr(text.size() - k_log_bytes / 2);
}

Outcome<variant::BuildRecord> compile(const BuildTask& task) {
  Result<variant::Variant> variant = variant::variant_from_files(task.variant_name, task.files);
  if (!variant.ok()) {
    return Failure{Invalidity::constraints, variant.error().message(), {}};
  }
  if (variant->manifest.backend == variant::Backend::cuda) {
    return variant::CudaToolchain(variant::CudaPlaces{})
        .compile(*variant, task.configuration, task.options, task.build_id, task.output);
  }
  for (const char* compiler : {"g++", "clang++"}) {
    const variant::CpuToolchain toolchain(compiler);
    if (!toolchain.identity().ok()) continue;
    return toolchain.compile(*variant, task.configuration, task.options, task.build_id,
                             task.output);
  }
  return environment("no g++ or clang++ on the worker's machine; install one, or build elsewhere");
}

}  // namespace

Outcome<Json> build_in_child(ChildRegistry& registry, const BuildTask& task, Deadline deadline,
                             CancelSource cancel) {
  const auto work = [&task]() -> Outcome<Json> {
    Outcome<variant::BuildRecord> record = compile(task);
    if (!record.ok()) {
      Failure failure = std::move(record).error();
      failure.untrusted_output = shortened(failure.untrusted_output);
      return failure;
    }
    record->log = shortened(record->log);
    return to_json(*record);
  };
  return run_forked(registry, work, "the compiler", deadline, cancel);
}

}  // namespace wb::worker
