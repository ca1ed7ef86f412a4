// SPDX-License-Identifier: MIT
#include "audited.hpp"
#include "support/catch.hpp"
