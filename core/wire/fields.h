// SPDX-License-Identifier: Apache-2.0
// A message of a protocol is a plain struct: its members are the fields in wire order, their types
// the wire types. This turns such an aggregate into its fields, and a list of them into a
// dispatcher, so that nothing about a message is written twice.
//
// Promise: no allocation, no copy; what a decoded message views is valid as long as the payload is.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <tuple>
#include <utility>

namespace millrace::wire {

inline constexpr std::size_t kMaxFields = 10;

namespace detail {

struct AnyField {
    template <typename T>
    operator T() const; // NOLINT(google-explicit-constructor): stands for any field, never called
};

template <typename M, std::size_t... I> constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        M{(static_cast<void>(I), AnyField{})...};
    };
}

template <typename M, std::size_t Count = kMaxFields> constexpr std::size_t countFields() {
    if constexpr (Count == 0 || takes<M>(std::make_index_sequence<Count>{})) {
        return Count;
    } else {
        return countFields<M, Count - 1>();
    }
}

} // namespace detail

// Number of fields of an aggregate. Wire types have constructors, so braces are never elided and
// the count is exact.
template <typename M>
inline constexpr std::size_t kArity = detail::countFields<std::remove_const_t<M>>();

// References to the fields, in wire order.
template <typename M> constexpr auto fields(M& m) {
    constexpr std::size_t kCount = kArity<M>;
    if constexpr (kCount == 0) {
        return std::tie();
    } else if constexpr (kCount == 1) {
        auto& [a] = m;
        return std::tie(a);
    } else if constexpr (kCount == 2) {
        auto& [a, b] = m;
        return std::tie(a, b);
    } else if constexpr (kCount == 3) {
        auto& [a, b, c] = m;
        return std::tie(a, b, c);
    } else if constexpr (kCount == 4) {
        auto& [a, b, c, d] = m;
        return std::tie(a, b, c, d);
    } else if constexpr (kCount == 5) {
        auto& [a, b, c, d, e] = m;
        return std::tie(a, b, c, d, e);
    } else if constexpr (kCount == 6) {
        auto& [a, b, c, d, e, f] = m;
        return std::tie(a, b, c, d, e, f);
    } else if constexpr (kCount == 7) {
        auto& [a, b, c, d, e, f, g] = m;
        return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (kCount == 8) {
        auto& [a, b, c, d, e, f, g, h] = m;
        return std::tie(a, b, c, d, e, f, g, h);
    } else if constexpr (kCount == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = m;
        return std::tie(a, b, c, d, e, f, g, h, i);
    } else {
        static_assert(kCount < kMaxFields, "more fields than fields() knows: add an arity");
    }
}

// Calls `visit` with each field in wire order.
template <typename M, typename Visit> constexpr void eachField(M& m, Visit&& visit) {
    std::apply([&visit](auto&... field) { (visit(field), ...); }, fields(m));
}

enum class Dispatched {
    handled,   // handler.on(message) was called
    malformed, // known, but its fields do not fill the payload exactly, or a table in it is not one
    unknown,   // not in the list
};

// The messages that one side may receive, the frequent ones first: they are compared in this order.
// Reader is the protocol's: it reads an id and one field of each of its wire types, and remembers
// in ok() whether everything was there.
template <typename Reader, typename... Messages> struct MessageList {
    // Decodes the message and gives it to `handler.on(const Message&)`. Its views are into
    // `payload`.
    template <typename Handler> static Dispatched dispatch(base::Bytes payload, Handler&& handler) {
        Reader in(payload);
        const auto id = in.id();
        if (!in.ok()) {
            return Dispatched::malformed;
        }
        Dispatched result = Dispatched::unknown;
        static_cast<void>(
            ((id == Messages::id && (result = decode<Messages>(in, handler), true)) || ...));
        return result;
    }

    // Calls visit.template operator()<Message>() for each: for tests over the whole list.
    template <typename Visit> static void each(Visit&& visit) {
        (visit.template operator()<Messages>(), ...);
    }

    static constexpr std::size_t kSize = sizeof...(Messages);

  private:
    template <typename M, typename Handler> static Dispatched decode(Reader& in, Handler& handler) {
        M message;
        eachField(message, [&in](auto& field) { in.read(field); });
        if (!in.ok() || !in.atEnd()) {
            return Dispatched::malformed;
        }
        handler.on(std::as_const(message));
        return Dispatched::handled;
    }
};

} // namespace millrace::wire
