// SPDX-License-Identifier: Apache-2.0
// The one buffer that all connections of a loop read into, with room before it for the unfinished
// rest of what came earlier, so that a frame is always contiguous. It stays in the processor's
// cache: that is why there is one, and why it is limits::kReadBuffer big.
#pragma once

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"

#include <memory>
#include <span>

namespace millrace::net {

class ReadBuffer final {
  public:
    // `restMax`: the longest rest a protocol may leave, i.e. its largest frame.
    explicit ReadBuffer(std::size_t restMax)
        : restMax_(restMax), memory_(new base::Byte[restMax + limits::kReadBuffer]) {}

    std::size_t restMax() const { return restMax_; }
    std::span<base::Byte> fresh() { return {memory_.get() + restMax_, limits::kReadBuffer}; }
    // Puts `rest` (which may lie in this buffer) directly before fresh().
    void setRest(base::Bytes rest) {
        MILLRACE_CHECK(rest.size() <= restMax_);
        restSize_ = rest.size();
        std::memmove(memory_.get() + restMax_ - restSize_, rest.data(), restSize_);
    }
    // The rest and, behind it, `count` fresh bytes.
    base::Bytes filled(std::size_t count) const {
        return {memory_.get() + restMax_ - restSize_, restSize_ + count};
    }
    // Connections say what they hold of unfinished input on their own: the sum counts as the
    // server's memory.
    void kept(std::size_t before, std::size_t now) { keptBytes_ += now - before; }
    std::size_t keptBytes() const { return keptBytes_; }

  private:
    std::size_t restMax_;
    std::size_t keptBytes_ = 0;
    std::size_t restSize_ = 0;
    std::unique_ptr<base::Byte[]> memory_;
};

} // namespace millrace::net
