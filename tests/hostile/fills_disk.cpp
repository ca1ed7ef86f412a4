// SPDX-License-Identifier: MIT
// Writes a file until the disk is full.
#include <fcntl.h>
#include <unistd.h>

#include "hostile.hpp"

static int forward(wb_sdpa_plan&, const wb_sdpa_args&) {
  const std::vector<char> block(std::size_t{1} << 20, 'x');
  const int file = ::open("big", O_CREAT | O_WRONLY, 0600);
  while (::write(file, block.data(), block.size()) > 0) {
  }
  return WB_FAILED;
}
