// SPDX-License-Identifier: MIT
// Where memory is when a call begins: in the caches of those who will read it, or in none. Used by
// subjects and turns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace wb::worker {

/// Has each of `threads` threads read all of the tensors once. What one CPU has just written lies
/// in that CPU's caches, and others fetch it from there several times slower than what they read
/// before: without this an honest call that is limited by memory takes more than twice its time on
/// new inputs.
void read_through(const std::vector<std::span<const std::byte>>& tensors, int threads);

/// Takes the memory out of every cache of this machine by flushing its lines. Elsewhere than on x86
/// nothing is done and false returned: the caller reads so much else that the caches hold that.
bool flush_from_caches(std::span<const std::byte> bytes);

/// Whether flush_from_caches works here.
bool can_flush();

}  // namespace wb::worker
