// SPDX-License-Identifier: MIT
// The architecture of a CUDA variant; the real nvcc on small sources, and, behind the tag
// [cuda_kernels], on every CUDA kernel. Skipped with a reason where there is none.
#include <algorithm>

#include "core/hash.hpp"
#include "core/process.hpp"
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/cuda_target.hpp"

using namespace wb::variant;
using namespace wb;
using wb::test::cuda_kernel;
using wb::test::KernelFolder;

namespace {

using Words = std::vector<std::string>;

/// The choice, or the error's code in brackets.
std::string chosen(const Words& architectures, std::string_view device, std::string_view wanted) {
  const auto target = choose_cuda_target(architectures, device, wanted);
  return target.ok() ? *target : "[" + std::string(to_string(target.error().code)) + "]";
}

}  // namespace

TEST_CASE("architecture words are read exactly", "[variant][cuda]") {
  CHECK(parse_cuda_target("sm_90a") == CudaTarget{90, 'a'});
  CHECK(parse_cuda_target("sm_80") == CudaTarget{80, 0});
  CHECK(parse_cuda_target("sm_103f") == CudaTarget{103, 'f'});
  for (const char* word : {"", "sm_", "sm_9", "sm_9000", "sm_90b", "sm_90aa", "compute_90",
                           "sm_-90", "sm_+90", "x86-64", "sm_90a,code=sm_80", "SM_90"}) {
    INFO(word);
    CHECK_FALSE(parse_cuda_target(word).has_value());
  }
  CHECK(gencode_of({90, 'a'}) == "arch=compute_90a,code=sm_90a");
  CHECK(gencode_of({120, 0}) == "arch=compute_120,code=sm_120");
}

TEST_CASE("the device's own code is built of what the manifest allows", "[variant][cuda]") {
  CHECK(chosen({"sm_90a"}, "sm_90", "native") == "sm_90a");
  CHECK(chosen({"sm_80"}, "sm_90", "native") == "sm_90");
  CHECK(chosen({}, "sm_90", "") == "sm_90");
  CHECK(chosen({"sm_80", "sm_90a"}, "sm_90", "") == "sm_90a");
  CHECK(chosen({"sm_90a", "sm_80"}, "sm_100", "") == "sm_100");
  CHECK(chosen({"sm_100f"}, "sm_103", "") == "sm_103f");
  CHECK(chosen({"sm_100f"}, "sm_110", "") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_80", "") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_100", "") == "[invalid]");  // 'a' goes nowhere else
  CHECK(chosen({"x86-64"}, "sm_90", "") == "[invalid]");
}

TEST_CASE("without a device the manifest's first architecture is built", "[variant][cuda]") {
  CHECK(chosen({"sm_90a", "sm_80"}, "", "native") == "sm_90a");
  CHECK(chosen({"x86-64"}, "", "native") == "[invalid]");
  CHECK(chosen({}, "", "native") == "[environment]");
  CHECK(chosen({}, "", "sm_75") == "sm_75");
}

TEST_CASE("a wish decides over the device, not over the manifest", "[variant][cuda]") {
  CHECK(chosen({"sm_80"}, "sm_90", "sm_80") == "sm_80");
  CHECK(chosen({"sm_80"}, "", "sm_90a") == "sm_90a");
  CHECK(chosen({"sm_90a"}, "sm_80", "sm_90") == "sm_90a");
  CHECK(chosen({"sm_90a"}, "", "sm_80") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_90", "x86-64-v3") == "[invalid]");
  const auto refused = choose_cuda_target({"sm_90a"}, "", "sm_80");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("written for sm_90a, not for sm_80") != std::string::npos);
}

namespace {

bool is_missing() {
  const auto nvcc = find_nvcc({});
  if (!nvcc.ok()) WARN("skipped: " + nvcc.error().message());
  return !nvcc.ok();
}

struct RealNvcc {
  KernelFolder folder;
  CudaToolchain toolchain{CudaPlaces{}};
  BuildOptions options{.target = "sm_90a", .deadline = std::chrono::seconds(600)};

  Outcome<BuildRecord> compile(const std::string& source, const std::string& name = "out.so") {
    cuda_kernel(folder, source);
    return toolchain.compile(folder.must_read("k"), {{"TILE", 7}}, options, "the-id",
                             folder.path() / name);
  }
};

Catalogue shipped_kernels() {
  static const RealFileSystem file_system;
  return {file_system, {{source_dir()}}};
}

/// For its first architecture, in the cache that all tests share. Kernels here neither spill nor
/// keep the tensor cores waiting.
Artifact build_kernel(const Variant& variant) {
  INFO(variant.manifest.name);
  RealFileSystem file_system;
  ArtifactCache cache(file_system, binary_dir() / "test_artifact_cache");
  const auto target = choose_cuda_target(variant.manifest.architectures, "", "");
  REQUIRE(target.ok());
  const BuildOptions options{.target = *target, .deadline = std::chrono::seconds(600)};
  const CudaToolchain toolchain{CudaPlaces{}};
  auto artifact = cache.build(variant, {}, options, &toolchain);
  INFO((artifact.ok() ? std::string() : artifact.error().untrusted_output));
  REQUIRE(artifact.ok());
  CHECK_FALSE(artifact->record.ptxas.kernels.empty());
  CHECK(artifact->record.ptxas.warnings.empty());
  for (const KernelResources& kernel : artifact->record.ptxas.kernels) {
    INFO(kernel.kernel);
    CHECK(kernel.registers > 0);
    CHECK(kernel.spill_store_bytes + kernel.spill_load_bytes == 0);
  }
  return *std::move(artifact);
}

const char* const k_source = R"(
#include <cuda_runtime.h>
static_assert(TILE == 7);
namespace {
template <int N> __global__ void copies(float* to, const float* from) {
  __shared__ float tile[N];
  tile[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
}
extern "C" __attribute__((visibility("default"))) const char* id() { return WB_BUILD_ID; }
extern "C" void hidden(float* p) { copies<256><<<1, 256>>>(p, p); }
)";

}  // namespace

TEST_CASE("the real nvcc builds for a device that is not there", "[variant][nvcc]") {
  if (is_missing()) return;
  RealNvcc f;
  const auto record = f.compile(k_source);
  INFO((record.ok() ? std::string() : record.error().message + record.error().untrusted_output));
  REQUIRE(record.ok());
  CHECK(record->compiler.starts_with("nvcc "));
  CHECK(record->wall_s > 0);
  CHECK(record->cpu_s > 0);
  REQUIRE(record->ptxas.kernels.size() == 1);
  CHECK(record->ptxas.kernels[0].kernel == "copies<256>");
  CHECK(record->ptxas.kernels[0].registers >= 8);
  CHECK(record->ptxas.kernels[0].shared_bytes == 1024);
  CHECK(record->ptxas.warnings.empty());
  const auto library = RealFileSystem().read(f.folder.path() / "out.so", 64u << 20);
  REQUIRE(library.ok());
  CHECK(library->find("the-id") != std::string::npos);
  CHECK(library->find("sm_90a") != std::string::npos);
  const auto ptx = f.toolchain.listing(Listing::ptx, f.folder.must_read("k"), {{"TILE", 7}},
                                       f.options, f.folder.path() / "out.so");
  REQUIRE(ptx.ok());
  CHECK(ptx->find(".target sm_90a") != std::string::npos);
  if (compile_sandbox_word() != "bubblewrap") return;
  // In the sandbox every private folder looks alike, so that equal sources give equal bytes.
  REQUIRE(f.compile(k_source, "again.so").ok());
  const auto again = RealFileSystem().read(f.folder.path() / "again.so", 64u << 20);
  CHECK(sha256_hex(*again) == sha256_hex(*library));
}

TEST_CASE("too much shared memory is refused in the words of ptxas", "[variant][nvcc]") {
  if (is_missing()) return;
  RealNvcc f;
  const auto record = f.compile(R"(
__global__ void big(float* p) { __shared__ float s[1 << 16]; s[threadIdx.x] = p[0]; __syncthreads();
  p[threadIdx.x] = s[threadIdx.x ^ 1]; }
)");
  REQUIRE_FALSE(record.ok());
  CHECK(record.error().invalidity == Invalidity::compile);
  CHECK(record.error().untrusted_output.find("uses too much shared data") != std::string::npos);
}

TEST_CASE("an architecture that nvcc does not know is named", "[variant][nvcc]") {
  if (is_missing()) return;
  RealNvcc f;
  f.options.target = "sm_20";
  const auto record = f.compile(k_source);
  REQUIRE_FALSE(record.ok());
  CHECK(record.error().invalidity == Invalidity::environment);
  CHECK(record.error().message.find("does not compile for sm_20") != std::string::npos);
}

TEST_CASE("a CUDA kernel of the catalogue compiles and comes from the cache", "[variant][nvcc]") {
  if (is_missing()) return;
  const auto variant = shipped_kernels().find("sm90_f16x3_flash");  // the quickest: 7 s of CPU time
  REQUIRE(variant.ok());
  const PtxasRecord first = build_kernel(*variant).record.ptxas;
  const Artifact again = build_kernel(*variant);
  CHECK(again.record.cached);
  CHECK(again.record.target == "sm_90a");
  CHECK(again.record.ptxas == first);
}

TEST_CASE("every CUDA kernel compiles", "[.][cuda_kernels]") {
  if (is_missing()) return;
  for (const Catalogue::Entry& entry : shipped_kernels().list()) {
    const auto variant = shipped_kernels().find(entry.name);
    REQUIRE(variant.ok());
    if (variant->manifest.backend == Backend::cuda) build_kernel(*variant);
  }
}
