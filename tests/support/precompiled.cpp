// SPDX-License-Identifier: MIT
// Empty: a target needs a source to precompile headers for the others.
