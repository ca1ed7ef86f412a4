// SPDX-License-Identifier: MIT
// Nothing: a target needs a source to precompile headers for the others.
