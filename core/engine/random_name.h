// SPDX-License-Identifier: Apache-2.0
// Names that the server chooses: 128 random bits as 22 characters of URL-safe base64 (amq.gen-...).
// Any thread.
#pragma once

#include <string>

namespace millrace::engine {

std::string randomName();

} // namespace millrace::engine
