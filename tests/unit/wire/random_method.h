// SPDX-License-Identifier: Apache-2.0
// Methods with random fields, for round trips. The texts live as long as the maker.
#pragma once

#include "support/seed.h"
#include "wire/amqp/methods.h"

#include <list>

namespace millrace::wire::amqp {

class RandomMethod {
  public:
    explicit RandomMethod(support::Random& random) : random_(random) {}

    template <typename M> M make() {
        M method;
        eachField(method, [&](auto& field) { fill(field); });
        return method;
    }

    // A valid table with values of every type, one level of tables and arrays inside.
    std::string table(bool inner = true) {
        static constexpr std::string_view kFixed = "tbBsuIilLfdDTV";
        static constexpr std::size_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 5, 8, 0};
        std::string raw;
        base::FieldTableWriter writer(raw);
        for (std::uint64_t count = random_.below(6); count > 0; --count) {
            const std::string name = random_.bytes(random_.below(12));
            const std::uint64_t kind = random_.below(kFixed.size() + 4);
            if (kind < kFixed.size()) {
                const std::string payload = random_.bytes(kSizes[kind]);
                writer.raw(name, {kFixed[kind], base::bytesOf(payload)});
            } else if (kind < kFixed.size() + 2) {
                const std::string payload = random_.bytes(random_.below(40));
                writer.raw(name, {kind == kFixed.size() ? 'S' : 'x', base::bytesOf(payload)});
            } else if (inner) {
                const bool array = kind == kFixed.size() + 2;
                const std::string payload = array ? "Vt\x01" + std::string() : table(false);
                writer.raw(name, {array ? 'A' : 'F', base::bytesOf(payload)});
            }
        }
        return raw;
    }

  private:
    template <typename T> void fill(Number<T>& field) { field = static_cast<T>(random_.next()); }
    void fill(Bit& field) { field = random_.chance(50); }
    void fill(ShortStr& field) { field = keep(random_.bytes(random_.below(256))); }
    void fill(LongStr& field) { field = keep(random_.bytes(random_.below(2000))); }
    void fill(Table& field) { field = keep(table()); }

    const std::string& keep(std::string text) {
        kept_.push_back(std::move(text));
        return kept_.back();
    }

    support::Random& random_;
    std::list<std::string> kept_;
};

} // namespace millrace::wire::amqp
