// SPDX-License-Identifier: Apache-2.0
// Brings the catalog's changes into its store in the background, in order.
//
// Durable when takeStored() says so; until then the log keeps the entries. A failure is tried
// again, since it harms nothing but space. Verbs are called from the loop; the store is used by
// this object's thread alone.
#pragma once

#include "catalog/store.h"
#include "engine/broker.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace millrace::server {

class CatalogWriter final {
  public:
    // `wake` is called from the thread when takeStored() has something to say.
    CatalogWriter(catalog::Store store, std::function<void()> wake);
    ~CatalogWriter();
    CatalogWriter(const CatalogWriter&) = delete;
    CatalogWriter& operator=(const CatalogWriter&) = delete;

    void put(engine::CatalogBatch batch);
    // The log index up to which everything put is stored, once for each rise.
    std::optional<base::LogIndex> takeStored();
    bool idle() const; // nothing waits
    // What is put is stored first; gives up after one failure.
    void stop();

  private:
    void run();
    void storeFirst(std::unique_lock<std::mutex>& lock);

    catalog::Store store_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<engine::CatalogBatch> waiting_; // the first one is being stored
    base::LogIndex stored_ = 0;
    base::LogIndex reported_ = 0;
    bool stopping_ = false;
    bool failing_ = false; // reported already
    std::thread thread_;
};

} // namespace millrace::server
