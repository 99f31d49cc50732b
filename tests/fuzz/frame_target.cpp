// SPDX-License-Identifier: Apache-2.0
// Frames: the first two bytes choose the frame-max, the rest is what a peer sends. A frame lies
// within the input, is found again however its bytes arrive, and what is too large is known from
// its head.
#include "base/check.h"
#include "fuzz/target.h"
#include "wire/amqp/frame.h"

using namespace millrace;
using namespace millrace::wire::amqp;

namespace {

void checkPrefixes(const FrameReader& reader, Bytes input, std::size_t whole,
                   FrameStatus expected) {
    for (std::size_t size = 0; size < whole; size += 1 + size / 8) {
        Frame frame;
        const FrameStatus status = reader.next(input.first(size), frame);
        const bool known = expected == FrameStatus::tooLarge && size >= kFrameHead;
        MILLRACE_CHECK(status == (known ? FrameStatus::tooLarge : FrameStatus::needMore));
        MILLRACE_CHECK(frame.totalSize > size || known);
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    static_cast<void>(judgeOpening({data, size}));
    const auto frameMax = std::uint32_t{base::loadBig<std::uint16_t>(data)};
    const FrameReader reader(frameMax < kFrameOverhead ? 0 : frameMax);
    Bytes left(data + 2, size - 2);
    for (;;) {
        Frame frame;
        const FrameStatus status = reader.next(left, frame);
        const std::size_t whole = std::min(frame.totalSize, left.size());
        checkPrefixes(reader, left, whole, status);
        if (status != FrameStatus::complete) {
            MILLRACE_CHECK(status != FrameStatus::needMore || frame.totalSize > left.size());
            MILLRACE_CHECK(status != FrameStatus::tooLarge ||
                           frame.payloadSize > reader.payloadLimit());
            return 0;
        }
        MILLRACE_CHECK(frame.payload.size() == frame.payloadSize);
        MILLRACE_CHECK(frame.payload.data() == left.data() + kFrameHead);
        left = left.subspan(frame.totalSize);
    }
}
