// SPDX-License-Identifier: Apache-2.0
// The catalog on disk: one SQLite file. It is an index over the log like everything else, stamped
// with the place that it reflects.
//
// Durable: when apply() has returned ok, the changes and the stamp are safe against a power cut,
// both or neither (WAL mode with synchronous=FULL, since the log may be recycled behind it). A
// failure leaves the file as it was before. Lives on: one thread at a time (opened and loaded at
// start, then handed to a background thread); never the loop.
#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "catalog/snapshot.h"
#include "catalog/spec.h"

#include <memory>
#include <span>
#include <string>

namespace millrace::catalog {

class Store {
  public:
    // Opens or creates the file and brings its schema up to this version's. ErrorCode::unsupported:
    // a newer version wrote it (the text names both schemas); ::damaged: not a catalog, or broken;
    // ::locked: another process writes to it.
    static base::Result<Store> open(const std::string& path);
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    base::Result<Snapshot> load();

    // All in one transaction, in order, with `upTo` as the new stamp, which must not be lower than
    // the last (ErrorCode::invalid). Putting what exists replaces it, dropping what does not exist
    // is ok.
    base::Status apply(std::span<const Change> changes, base::LogIndex upTo);

  private:
    class Content;
    explicit Store(std::unique_ptr<Content> content);

    std::unique_ptr<Content> content_;
};

} // namespace millrace::catalog
