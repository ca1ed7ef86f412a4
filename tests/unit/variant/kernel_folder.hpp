// SPDX-License-Identifier: MIT
// A kernels root in a temporary folder, for tests that read, derive and build variants.
#pragma once

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "variant/builder.hpp"
#include "variant/variant.hpp"

namespace wb::test {

/// A manifest with the given extra members, such as R"("compile_flags": ["-mfma"])".
inline std::string manifest_text(const std::string& name, const std::string& extra = "") {
  return R"({"name": ")" + name + R"(", "backend": "cpu", "sources": ["kernel.cpp"])" +
         (extra.empty() ? "" : ", " + extra) + "}";
}

class KernelFolder {
 public:
  KernelFolder() : m_folder(*TempDirectory::create("wb-test-kernels")) {
    fs::create_directories(root() / "common");
  }
  [[nodiscard]] fs::path path() const { return m_folder.path(); }
  [[nodiscard]] fs::path root() const { return m_folder.path() / "kernels"; }
  void write(const std::string& relative, const std::string& text) const {
    fs::create_directories((root() / relative).parent_path());
    std::ofstream file(root() / relative, std::ios::binary);
    file << text;
    REQUIRE(file.good());
  }
  /// A kernel of one file.
  void kernel(const std::string& name, const std::string& source,
              const std::string& manifest_extra = "") const {
    write(name + "/kernel.json", manifest_text(name, manifest_extra));
    write(name + "/kernel.cpp", source);
  }
  [[nodiscard]] Result<variant::Variant> read(const std::string& name) const {
    return variant::read_variant(m_file_system, root(), name);
  }
  [[nodiscard]] variant::Variant must_read(const std::string& name) const {
    auto variant = read(name);
    INFO((variant.ok() ? std::string() : variant.error().message()));
    REQUIRE(variant.ok());
    return *std::move(variant);
  }

 private:
  RealFileSystem m_file_system;
  TempDirectory m_folder;
};

// Toolchains that compile nothing: one that writes a file of all it is given, in a world with a
// kernel folder and a cache; and a toolkit of shell scripts, an nvcc that says who it is and then
// does what a test wants, so that crashes and refusals need no CUDA.

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

class FakeNvcc {
 public:
  /// `body`: shell text; $library is where the output goes, $source what is compiled.
  explicit FakeNvcc(const std::string& body, const std::string& version = "V99.1.7") {
    write("nvcc",
          "#!/bin/sh\n"
          "case \"$*\" in\n"
          "*--version*) echo 'Cuda compilation tools, release 99.1, " +
              version +
              "'; exit 0;;\n"
              "*--dryrun*) echo \"_HERE_=" +
              bin().string() +
              "\" >&2; exit 0;;\n"
              "esac\n"
              "for word; do\n"
              "case \"$word\" in *.cu) source=$word;; esac\n"
              "case \"$before\" in -MF) echo \"x : $source\" > \"$word\";; esac\n"
              "before=$word\n"
              "library=$word\n"
              "done\n" +
              body + "\n");
    write("ptxas", "#!/bin/sh\nexit 1\n");
  }
  [[nodiscard]] fs::path bin() const { return m_folder.path() / "toolkit" / "bin"; }
  [[nodiscard]] std::string path() const { return (bin() / "nvcc").string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(bin());
    std::ofstream(bin() / name) << text;
    fs::permissions(bin() / name, fs::perms::owner_all);
  }

 private:
  TempDirectory m_folder = *TempDirectory::create("wb-fake-nvcc");
};

/// A CUDA kernel of one file with the given extra members of its manifest.
inline void cuda_kernel(const KernelFolder& folder, const std::string& source,
                        const std::string& extra = R"("architectures": ["sm_90a"])") {
  folder.write("k/kernel.json", R"({"name": "k", "backend": "cuda", "sources": ["kernel.cu"])" +
                                    (extra.empty() ? "" : ", " + extra) + "}");
  folder.write("k/kernel.cu", source);
}

}  // namespace wb::test
