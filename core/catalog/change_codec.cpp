// SPDX-License-Identifier: Apache-2.0
#include "catalog/change_codec.h"

#include "base/check.h"

#include <limits>
#include <type_traits>

namespace millrace::catalog {
namespace {

constexpr std::uint8_t kVersion = 1;

// On disk: never renumbered.
enum class Kind : std::uint8_t { vhost = 1, user = 2, exchange = 3, queue = 4, binding = 5 };

struct Writer {
    base::ByteWriter out;

    void text(const std::string& value) {
        MILLRACE_CHECK(value.size() <= std::numeric_limits<std::uint16_t>::max());
        out.text16(value);
    }
    void table(const std::string& value) { out.text32(value); }
    void flag(bool value) { out.little<std::uint8_t>(value ? 1 : 0); }
    void number(std::uint64_t value) { out.little<std::uint64_t>(value); }
    void type(QueueType value) { out.little<std::uint8_t>(static_cast<std::uint8_t>(value)); }
    void texts(const std::vector<std::string>& values) {
        MILLRACE_CHECK(values.size() <= std::numeric_limits<std::uint16_t>::max());
        out.little<std::uint16_t>(static_cast<std::uint16_t>(values.size()));
        for (const std::string& value : values) {
            text(value);
        }
    }
};

struct Reader {
    base::ByteReader in;

    void text(std::string& value) { value = base::readText16(in); }
    void table(std::string& value) { value = base::readText32(in); }
    void flag(bool& value) { value = in.little<std::uint8_t>() != 0; }
    void number(std::uint64_t& value) { value = in.little<std::uint64_t>(); }
    void type(QueueType& value) {
        const auto raw = in.little<std::uint8_t>();
        if (raw > static_cast<std::uint8_t>(QueueType::stream)) {
            in.fail();
        }
        value = static_cast<QueueType>(raw);
    }
    void texts(std::vector<std::string>& values) {
        values.resize(in.little<std::uint16_t>());
        for (std::string& value : values) {
            text(value);
        }
    }
};

// Each kind's fields are said once, for both directions.
template <typename Side, typename Spec> void fields(Side& side, Spec& spec) {
    using Plain = std::remove_const_t<Spec>;
    if constexpr (std::is_same_v<Plain, VhostSpec>) {
        side.text(spec.name);
    } else if constexpr (std::is_same_v<Plain, UserSpec>) {
        side.text(spec.name);
        side.text(spec.passwordHash);
        side.texts(spec.tags);
    } else if constexpr (std::is_same_v<Plain, ExchangeSpec>) {
        side.text(spec.vhost);
        side.text(spec.name);
        side.text(spec.type);
        side.flag(spec.durable);
        side.flag(spec.autoDelete);
        side.flag(spec.internal);
        side.table(spec.arguments);
    } else if constexpr (std::is_same_v<Plain, QueueSpec>) {
        side.number(spec.id);
        side.text(spec.vhost);
        side.text(spec.name);
        side.type(spec.type);
        side.flag(spec.durable);
        side.flag(spec.exclusive);
        side.flag(spec.autoDelete);
        side.table(spec.arguments);
    } else {
        static_assert(std::is_same_v<Plain, BindingSpec>);
        side.text(spec.vhost);
        side.text(spec.source);
        side.text(spec.destination);
        side.text(spec.routingKey);
        side.flag(spec.toExchange);
        side.table(spec.arguments);
    }
}

template <typename Spec> constexpr Kind kindOf() {
    if constexpr (std::is_same_v<Spec, VhostSpec>) {
        return Kind::vhost;
    } else if constexpr (std::is_same_v<Spec, UserSpec>) {
        return Kind::user;
    } else if constexpr (std::is_same_v<Spec, ExchangeSpec>) {
        return Kind::exchange;
    } else if constexpr (std::is_same_v<Spec, QueueSpec>) {
        return Kind::queue;
    } else {
        return Kind::binding;
    }
}

// Makes the object that `kind` names. False: there is no such kind.
bool makeObject(std::uint8_t kind, Object& object) {
    switch (static_cast<Kind>(kind)) {
    case Kind::vhost:
        object.emplace<VhostSpec>();
        return true;
    case Kind::user:
        object.emplace<UserSpec>();
        return true;
    case Kind::exchange:
        object.emplace<ExchangeSpec>();
        return true;
    case Kind::queue:
        object.emplace<QueueSpec>();
        return true;
    case Kind::binding:
        object.emplace<BindingSpec>();
        return true;
    }
    return false;
}

} // namespace

void encode(const Change& change, std::string& out) {
    Writer writer{base::ByteWriter(out)};
    writer.out.little<std::uint8_t>(kVersion);
    writer.flag(change.put);
    std::visit(
        [&writer](const auto& spec) {
            using Spec = std::decay_t<decltype(spec)>;
            writer.out.little<std::uint8_t>(static_cast<std::uint8_t>(kindOf<Spec>()));
            fields(writer, spec);
        },
        change.object);
}

base::Result<Change> decodeChange(base::Bytes bytes) {
    Reader reader{base::ByteReader(bytes)};
    const auto version = reader.in.little<std::uint8_t>();
    Change change;
    reader.flag(change.put);
    const auto kind = reader.in.little<std::uint8_t>();
    if (!reader.in.ok() || version == 0) {
        return base::Error{base::ErrorCode::damaged, "a catalog change in the log is incomplete: " +
                                                         std::to_string(bytes.size()) + " bytes"};
    }
    if (version > kVersion) {
        return base::Error{base::ErrorCode::unsupported,
                           "a catalog change in the log has version " + std::to_string(version) +
                               ", written by a newer Millrace; this one reads versions up to " +
                               std::to_string(kVersion) + ": start the newer one"};
    }
    if (!makeObject(kind, change.object)) {
        return base::Error{base::ErrorCode::unsupported,
                           "a catalog change in the log is of kind " + std::to_string(kind) +
                               ", which this Millrace does not know: start the newer one"};
    }
    std::visit([&reader](auto& spec) { fields(reader, spec); }, change.object);
    if (!reader.in.ok()) {
        return base::Error{base::ErrorCode::damaged, "a catalog change of kind " +
                                                         std::to_string(kind) +
                                                         " in the log ends early, after " +
                                                         std::to_string(bytes.size()) + " bytes"};
    }
    return change;
}

} // namespace millrace::catalog
