// SPDX-License-Identifier: Apache-2.0
// The tables of the catalog file and the way from each older form of them to this one.
//
// A schema is numbered; migration n leads from n-1 to n and never changes once released. Each runs
// in one transaction with its number, so that a crash leaves the file at one schema or the next.
// Runs at start, before the loop.
#pragma once

#include "base/result.h"
#include "catalog/database.h"

#include <span>
#include <string>

namespace millrace::catalog {

// The statements that make schema n (the place in the list, from 1) out of schema n-1.
using Migration = const char*;

std::span<const Migration> migrations();

// Brings the file to the last schema of `steps`. ErrorCode::unsupported: the file has a later one;
// ::damaged: the file is a database of something else.
base::Status migrate(Database& database, std::span<const Migration> steps);

} // namespace millrace::catalog
