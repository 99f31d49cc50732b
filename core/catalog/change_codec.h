// SPDX-License-Identifier: Apache-2.0
// A catalog change as bytes, as it stands in a log entry. Little-endian:
//
//     u8 version | u8 put (1) or drop (0) | u8 kind | fields of that kind
//
// Texts are u16 length + bytes, tables u32 length + bytes, flags one byte each. Within a version
// fields are only ever added at the end: a reader passes over what it does not know.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "catalog/spec.h"

#include <string>

namespace millrace::catalog {

// Appends to `out`.
void encode(const Change& change, std::string& out);

// ErrorCode::unsupported names a newer version or an unknown kind, ::damaged means that bytes are
// missing.
base::Result<Change> decodeChange(base::Bytes bytes);

} // namespace millrace::catalog
