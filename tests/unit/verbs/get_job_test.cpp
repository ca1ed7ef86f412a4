// SPDX-License-Identifier: MIT
// get_job and cancel_job called of an engine that holds the session itself.
#include "core/json.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

TEST_CASE("an engine that holds a session tells of that session's job", "[verbs][jobs]") {
  Bench bench;
  bench.open();
  const Json job = bench.call("get_job", Json::object());
  CHECK(job["session"] == bench.session.string());
  CHECK(job["state"] == "idle");  // who asks is no job
  CHECK(job["pid"].is_null());
  CHECK(job["iteration"]["iteration"] == 0);
  const Json canceled = bench.call("cancel_job", Json::object());
  CHECK(canceled["ended"] == true);
  CHECK(bench.engine->session() != nullptr);
}
