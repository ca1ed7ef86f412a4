// SPDX-License-Identifier: MIT
// A real worker for tests: the executable of this build, through the local transport.
#pragma once

#include <string>

#include "core/hash.hpp"
#include "libraries.hpp"
#include "runner/worker_client.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace wb::testing {

/// One worker, greeted once for a whole test executable run of a case.
inline runner::WorkerClient open_worker(protocol::HelloResult* facts = nullptr,
                                        const std::string& python = "",
                                        const std::string& isolation = "") {
  auto transport = runner::open_command_transport({{}, binary_dir() / "sdpa-wb-worker"});
  if (!transport.ok()) FAIL(transport.error().message());
  runner::WorkerClient client(*std::move(transport));
  protocol::HelloArgs args;
  args.python = python;
  args.isolation = isolation;
  args.lock = binary_dir() / "tests-device.lock";  // no session of this machine is waited for
  const auto hello = client.hello(args);
  if (!hello.ok()) FAIL(hello.error().message);
  if (facts != nullptr) *facts = *hello;
  return client;
}

inline Outcome<protocol::LoadResult> load_hostile(
    runner::WorkerClient& client, const std::string& name,
    std::chrono::milliseconds deadline = std::chrono::seconds(30)) {
  variant::Variant variant;
  variant.manifest.name = name;
  variant.id = std::string(64, '0');
  variant::Artifact artifact;
  artifact.id = "hostile_" + name;
  artifact.path = library("hostile/hostile_" + name + ".so");
  const auto bytes = RealFileSystem().read(artifact.path, 64u << 20);
  if (!bytes.ok()) FAIL(bytes.error().message());
  artifact.content_sha256 = sha256_hex(*bytes);
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
