// SPDX-License-Identifier: MIT
// The one include of Catch2 for all tests: 2.13 (Debian 12) and 3.x (Ubuntu 24.04) differ in
// header names only, as far as we use them. Do not use features that only one of them has.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
