// SPDX-License-Identifier: MIT
// What is built beside the worker's tests (CMakeLists.txt): shared libraries, and a real worker,
// the executable of this build, through the local transport.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "runner/worker_client.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace wb {

/// The file of library NAME, such as "libfake_nvml_now.so".
inline std::string library(const std::string& name) {
  return binary_dir() / "tests/unit/worker" / name;
}

inline const std::string k_fake_nvml_file = library("libfake_nvml_now.so");
inline const std::string k_fake_nvml_old_file = library("libfake_nvml_old.so");
inline const std::string k_played_cuda_file = library("libplayed_cuda_driver.so");

// As dlopen() takes them.
inline const char* const k_fake_nvml = k_fake_nvml_file.c_str();
inline const char* const k_fake_nvml_old = k_fake_nvml_old_file.c_str();
inline const char* const k_played_cuda = k_played_cuda_file.c_str();

}  // namespace wb

namespace wb::testing {

/// A device lock of this run: no session of the machine is waited for, nor another test program.
inline fs::path own_lock() {
  static const TempDirectory k_folder = *TempDirectory::create("wb-worker-tests-");
  return k_folder.path() / "device.lock";
}

/// A name for hello that stands for no interpreter: finding one and timing its empty calls takes as
/// long as all else there.
inline constexpr const char* k_no_python = "/no/python";

/// A worker of one test's own. `python`: as in HelloArgs; "": the one that is found.
inline runner::WorkerClient open_worker(protocol::HelloResult* facts = nullptr,
                                        const std::string& python = k_no_python) {
  auto transport = runner::open_command_transport({{}, binary_dir() / "sdpa-wb-worker"});
  if (!transport.ok()) FAIL(transport.error().message());
  runner::WorkerClient client(*std::move(transport));
  protocol::HelloArgs args;
  args.python = python;
  args.lock = own_lock();
  const auto hello = client.hello(args);
  if (!hello.ok()) FAIL(hello.error().message);
  if (facts != nullptr) *facts = *hello;
  return client;
}

/// The worker of all tests that neither end it nor ask what it found at hello, with nothing loaded.
inline runner::WorkerClient& shared_worker() {
  static std::optional<runner::WorkerClient> worker;
  // To the ChildRegistry of another test it is a stray, which is killed.
  if (!worker || !worker->status().ok()) worker.emplace(open_worker());
  const auto status = worker->status();
  if (!status.ok()) FAIL(status.error().message);
  for (const auto& subject : status->subjects) REQUIRE(worker->unload(subject.handle).ok());
  return *worker;
}

/// A text of a hostile library that names what it leaves behind, and what stands for it in this
/// run: as long, so that it can be put into the library's bytes, and nobody else's.
struct OwnName {
  std::string_view in_library;
  std::string here;
};
inline const std::vector<OwnName>& own_names() {
  static const std::vector<OwnName> k_names = [] {
    const std::string id = fmt::format("{:05}", ::getpid() % 100'000);
    return std::vector<OwnName>{{"wb-stray", "wb-" + id},
                                {"/tmp/sdpa-wb-hostile-was-here", "/tmp/sdpa-wb-hostile-in-" + id}};
  }();
  return k_names;
}
inline const std::string& own_stray_name() {
  return own_names()[0].here;
}
inline const std::string& own_marker() {
  return own_names()[1].here;
}

/// The bytes of a hostile library, with the names of this run.
inline std::string hostile_library(const std::string& name) {
  const fs::path path = library("hostile/hostile_" + name + ".so");
  const auto read = RealFileSystem().read(path, 64u << 20);
  if (!read.ok()) FAIL(read.error().message());
  std::string bytes = *read;
  for (const OwnName& own : own_names()) {
    REQUIRE(own.here.size() == own.in_library.size());
    for (auto at = bytes.find(own.in_library); at != std::string::npos;
         at = bytes.find(own.in_library, at)) {
      bytes.replace(at, own.here.size(), own.here);
    }
  }
  return bytes;
}

inline Outcome<protocol::LoadResult> load_hostile(
    runner::WorkerClient& client, const std::string& name,
    std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
  variant::Variant variant;
  variant.manifest.name = name;
  variant.id = std::string(64, '0');
  variant::Artifact artifact;
  artifact.id = "hostile_" + name;
  artifact.content_sha256 = sha256_hex(hostile_library(name));
  const TempDirectory folder = *TempDirectory::create("wb-hostile-");
  artifact.path = folder.path() / "artifact.so";
  REQUIRE(
      RealFileSystem().write_atomic(artifact.path, hostile_library(name), Durability::none).ok());
  return client.load(variant, artifact, deadline);
}

/// f32, grouped heads, a causal rule: about 30 us for the honest variant.
inline problem::Problem small_problem() {
  return *problem::parse_problem("B=1 Hq=2 Hkv=1 Sq=33 Skv=65 D=16 f32 causal=bottom_right");
}

inline measure::Plan quick_plan(measure::PlanKind kind = measure::PlanKind::hot) {
  measure::Plan plan;
  plan.kind = kind;
  plan.settle_us = 1'000;
  plan.timed_us = 5'000;
  return plan;
}

}  // namespace wb::testing
