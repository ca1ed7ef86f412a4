// SPDX-License-Identifier: MIT
// Memory that the judge lends to a subject, on a GPU. With two processes, and hostile ones, it is
// tried by tests/hostile/test_hostile_gpu.py.
#include "gpu/gpu.hpp"
#include "support/loan_checks.hpp"

TEST_CASE("on a GPU what a subject writes after the judge's copy does not exist", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_late_writes_do_not_exist(gpu);
}

TEST_CASE("on a GPU lent memory has margins as any other", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_margins_stay(gpu);
}

TEST_CASE("on a GPU each side of a loan has a hold of its own", "[gpu][loans]") {
  WB_NEED_GPU(gpu);
  wb::testing::check_that_each_side_has_its_hold(gpu);
}
