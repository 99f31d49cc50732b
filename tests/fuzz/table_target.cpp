// SPDX-License-Identifier: Apache-2.0
// Field tables: a valid one is iterated to its end, copied to the same bytes, printed, and equals
// itself; an invalid one ends.
#include "base/check.h"
#include "base/field_table.h"
#include "fuzz/target.h"

using namespace millrace;
using base::Bytes;

namespace {

void lookAt(const base::FieldValue& value) {
    static_cast<void>(value.print());
    MILLRACE_CHECK(value.typeName() != nullptr);
    if (value.isArray()) {
        base::FieldArray array(value.raw);
        while (const auto item = array.next()) {
            lookAt(*item);
        }
    }
    if (value.isTable()) {
        auto each = base::FieldTable(value.raw).fields();
        while (const auto field = each.next()) {
            lookAt(field->value);
        }
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::FieldTable table(Bytes(data, size));
    const bool valid = table.valid();
    std::string copy;
    std::size_t fields = 0;
    auto each = table.fields();
    while (const auto field = each.next()) {
        ++fields;
        MILLRACE_CHECK(fields <= size);
        base::FieldTableWriter(copy).raw(field->name, field->value);
        if (valid) {
            lookAt(field->value);
            MILLRACE_CHECK(table.find(field->name).has_value());
        }
    }
    MILLRACE_CHECK(!valid || copy == base::textOf(table.raw()));
    return 0;
}
