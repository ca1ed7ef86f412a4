// SPDX-License-Identifier: MIT
#include "worker/roles.hpp"

#include <cstdlib>

#include "support/catch.hpp"

using namespace wb::worker;

TEST_CASE("the GPU of a role is read as it was written", "[worker][roles]") {
  CHECK(parse_gpu_argument(gpu_argument(0)) == 0);
  CHECK(parse_gpu_argument(gpu_argument(15)) == 15);
  for (const char* text : {"", "--gpu", "--gpu=", "--gpu=x", "--gpu=1x", "--cpu=1"}) {
    INFO(text);
    CHECK_FALSE(parse_gpu_argument(text).has_value());
  }
}

TEST_CASE("a role on a GPU sees the devices that this process sees, and nothing else",
          "[worker][roles]") {
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  ::setenv("WB_TEST_SECRET", "x", 1);
  const auto variables = gpu_environment();
  CHECK(variables.at("CUDA_VISIBLE_DEVICES") == "3");
  CHECK_FALSE(variables.contains("WB_TEST_SECRET"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("WB_TEST_SECRET");
  CHECK_FALSE(gpu_environment().contains("CUDA_VISIBLE_DEVICES"));
}
