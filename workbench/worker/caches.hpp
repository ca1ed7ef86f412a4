// SPDX-License-Identifier: MIT
// Cache state of memory before a call: in the caches of its readers, or in no cache. Used by
// subjects and turns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wb::worker {

/// Has each of `threads` threads read all tensors once. Freshly written memory lies in the writing
/// CPU's caches, and other CPUs fetch it from there several times slower than memory they have
/// read. Without this, an honest memory-bound call takes more than twice its time on new inputs.
void read_through(const std::vector<std::span<const std::byte>>& tensors, int threads);

/// Flushes the memory's lines from every cache of this machine. Only x86 can; elsewhere it returns
/// false, and the caller reads enough other memory to displace them.
bool flush_from_caches(std::span<const std::byte> bytes);

/// Whether flush_from_caches works on this machine.
bool can_flush();

}  // namespace wb::worker
