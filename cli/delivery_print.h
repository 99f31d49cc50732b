// SPDX-License-Identifier: Apache-2.0
// A delivery as `consume` prints it: the bare body and a newline, or one line of JSON.
#pragma once

#include "client/message.h"

#include <string>

namespace millrace::cli {

// Bodies that are not UTF-8 stand as base64 under another name.
std::string jsonOf(const client::Delivery& delivery);
std::string jsonText(std::string_view text);

} // namespace millrace::cli
