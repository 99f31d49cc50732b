// SPDX-License-Identifier: Apache-2.0
// Method payloads: whatever is decoded can be written, and what was written decodes to the same
// bytes again.
#include "base/check.h"
#include "fuzz/target.h"
#include "wire/amqp/writer.h"

using namespace millrace;
using namespace millrace::wire;
using namespace millrace::wire::amqp;

namespace {

struct Rewriter {
    std::string out;
    template <typename M> void on(const M& method) {
        out.clear();
        StringSink sink(out);
        writeMethod(sink, 1, method);
        MILLRACE_CHECK(out.size() == methodSize(method) + kFrameOverhead);
    }
    Bytes payload() const {
        return base::bytesOf(out).subspan(kFrameHead, out.size() - kFrameOverhead);
    }
};

template <typename List> Dispatched check(Bytes payload) {
    Rewriter first;
    const Dispatched result = List::dispatch(payload, first);
    if (result != Dispatched::handled) {
        MILLRACE_CHECK(first.out.empty());
        return result;
    }
    Rewriter second;
    MILLRACE_CHECK(List::dispatch(first.payload(), second) == Dispatched::handled);
    MILLRACE_CHECK(first.out == second.out);
    MILLRACE_CHECK(first.payload().size() == payload.size());
    return result;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes payload(data, size);
    static_cast<void>(methodIdOf(payload));
    const Dispatched byServer = check<ServerMethods>(payload);
    const Dispatched byClient = check<ClientMethods>(payload);
    const bool both = byServer != Dispatched::unknown && byClient != Dispatched::unknown;
    MILLRACE_CHECK(!both || byServer == byClient);
    return 0;
}
