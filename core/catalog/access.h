// SPDX-License-Identifier: Apache-2.0
// Passwords as RabbitMQ keeps them (rabbit_password_hashing_sha256): base64 of a random 4-byte salt
// and SHA-256(salt + password). So definitions can be exchanged with a RabbitMQ. Any thread; a
// check costs about a microsecond.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace millrace::catalog {

// With a fresh random salt.
base::Result<std::string> hashPassword(std::string_view password);
// With this salt, which must have four bytes.
std::string hashPassword(std::string_view password, std::string_view salt);
// Whether the password belongs to the hash, compared in constant time. False for a hash that is
// none (empty: no password login).
bool passwordMatches(std::string_view password, std::string_view hash);

} // namespace millrace::catalog
