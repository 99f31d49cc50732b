// SPDX-License-Identifier: Apache-2.0
// Content headers: accepted properties can be looked at, and every changed copy is acceptable too.
#include "base/check.h"
#include "fuzz/target.h"
#include "wire/amqp/properties.h"

using namespace millrace;
using namespace millrace::wire::amqp;

namespace {

void checkCopy(const std::string& copy, const Properties& before) {
    Properties after;
    MILLRACE_CHECK(after.parse(base::bytesOf(copy)));
    MILLRACE_CHECK(after.contentType() == before.contentType());
    MILLRACE_CHECK(after.deliveryMode() == before.deliveryMode());
    MILLRACE_CHECK(after.expiration() == before.expiration());
    MILLRACE_CHECK(after.timestamp() == before.timestamp());
    MILLRACE_CHECK(after.clusterId() == before.clusterId());
}

PropertyValues valuesOf(const Properties& read) {
    PropertyValues values;
    values.contentType = read.contentType();
    values.contentEncoding = read.contentEncoding();
    if (const auto headers = read.headers()) {
        values.headers = headers->raw();
    }
    values.deliveryMode = read.deliveryMode();
    values.priority = read.priority();
    values.correlationId = read.correlationId();
    values.replyTo = read.replyTo();
    values.expiration = read.expiration();
    values.messageId = read.messageId();
    values.timestamp = read.timestamp();
    values.type = read.type();
    values.userId = read.userId();
    values.appId = read.appId();
    values.clusterId = read.clusterId();
    return values;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ContentHeader header;
    if (!header.parse({data, size}) || header.classId != kBasicClass) {
        return 0;
    }
    const Properties& properties = header.properties;
    const Bytes raw = properties.raw();
    std::string canonical = valuesOf(properties).encode();
    if (properties.valuesAt() == 2) {
        MILLRACE_CHECK(canonical == base::textOf(raw));
    }
    checkCopy(canonical, properties);
    checkCopy(withHeader(raw, "x-delivery-count", 1), properties);
    checkCopy(withoutHeader(raw, "BCC"), properties);
    checkCopy(withReplyTo(raw, "amq.rabbitmq.reply-to.token"), properties);
    checkCopy(rewriteHeaders(raw, std::nullopt), properties);
    return 0;
}
