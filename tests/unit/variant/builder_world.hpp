// SPDX-License-Identifier: MIT
// What tests of the artifact cache share: a toolchain that compiles nothing, and a world around it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "kernel_folder.hpp"
#include "variant/builder.hpp"

namespace wb::test {

/// Writes a file that depends on all it is given, after a pause, and counts its calls.
class FakeToolchain final : public variant::Toolchain {
 public:
  Result<variant::CompilerIdentity> identity() const override {
    ++identities;
    if (!fault.empty()) return Error{ErrorCode::environment, "find", "fake", fault, ""};
    return variant::CompilerIdentity{"/fake", "fake 1.0", signature};
  }
  bool is_installed() const override { return installed; }
  Outcome<variant::BuildRecord> compile(const variant::Variant& variant,
                                        const variant::Configuration& configuration,
                                        const variant::BuildOptions&, std::string_view build_id,
                                        const fs::path& output) const override {
    ++compiles;
    if (!refusal.empty()) return Failure{Invalidity::compile, "fake refused", refusal};
    std::this_thread::sleep_for(pause);
    RealFileSystem file_system;
    const std::string bytes =
        variant.id + variant::to_text(configuration) + std::string(build_id) + salt;
    REQUIRE(file_system.write_atomic(output, bytes, Durability::none).ok());
    variant::BuildRecord record;
    record.compiler = "fake " + signature;
    record.argv = {"fake", "-o", output.filename().string()};
    record.wall_s = 1.5;
    record.cpu_s = 1.25;
    record.log = "a warning";
    return record;
  }
  std::string signature = "s1", salt, refusal, fault;
  bool installed = true;
  std::chrono::milliseconds pause{0};
  mutable std::atomic<int> compiles{0}, identities{0};
};

/// A kernel folder, a cache and that toolchain.
struct BuilderWorld {
  KernelFolder folder;
  RealFileSystem file_system;
  FakeToolchain toolchain;
  fs::path cache_root = folder.path() / "cache";
  BuilderWorld() {
    folder.kernel("k", "int x;\n", R"("tune_params": {"TILE": [1, 2, 3]}, "defaults": {"TILE": 1},
                                      "restrictions": ["TILE != 3", "TILE * D < 1000"])");
  }
  [[nodiscard]] variant::Variant variant() const { return folder.must_read("k"); }
  Outcome<variant::Artifact> build(const variant::Configuration& configuration = {}) {
    return variant::ArtifactCache(file_system, cache_root)
        .build(variant(), configuration, {}, &toolchain);
  }
  variant::Artifact must_build(const variant::Configuration& configuration = {}) {
    auto artifact = build(configuration);
    INFO((artifact.ok() ? std::string() : artifact.error().message));
    REQUIRE(artifact.ok());
    return *std::move(artifact);
  }
  [[nodiscard]] std::string text(const fs::path& path) const {
    const auto read = file_system.read(path, 1u << 20);
    REQUIRE(read.ok());
    return *read;
  }
};

}  // namespace wb::test
