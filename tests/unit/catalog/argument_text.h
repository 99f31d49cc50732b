// SPDX-License-Identifier: Apache-2.0
// Field tables written as text in the tables of this folder: `name=T:value;name=T:value`, T being
// the tag on the wire.
#pragma once

#include "base/field_table.h"

#include <QByteArray>
#include <QFile>
#include <QList>

#include <bit>
#include <string>
#include <string_view>

namespace millrace::tests {

inline void appendValue(base::FieldTableWriter& writer, std::string_view name, char tag,
                        const std::string& text) {
    std::string raw;
    base::ByteWriter out(raw);
    switch (tag) {
    case 'I':
        out.big<std::int32_t>(std::stoi(text));
        break;
    case 'l':
    case 'T':
        out.big<std::int64_t>(std::stoll(text));
        break;
    case 'b':
    case 't':
        out.big<std::int8_t>(static_cast<std::int8_t>(std::stoi(text)));
        break;
    case 'd':
        out.big<std::uint64_t>(std::bit_cast<std::uint64_t>(std::stod(text)));
        break;
    case 'D':
        out.big<std::uint8_t>(0);
        out.big<std::uint32_t>(static_cast<std::uint32_t>(std::stoul(text)));
        break;
    default: // S and x; A, F and V have no value
        raw = text;
    }
    writer.raw(name, base::FieldValue{tag, base::bytesOf(raw)});
}

inline std::string argumentsFrom(std::string_view text) {
    std::string raw;
    base::FieldTableWriter writer(raw);
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(';'));
        const std::size_t equals = part.find('=');
        const std::string value(part.size() > equals + 2 ? part.substr(equals + 3) : "");
        appendValue(writer, part.substr(0, equals), part[equals + 1], value);
        text.remove_prefix(std::min(part.size() + 1, text.size()));
    }
    return raw;
}

// The lines of a table of this folder, split at tabs, without comments.
inline QList<QList<QByteArray>> tableLines(const char* file) {
    QFile in(QString::fromUtf8(MILLRACE_TABLES) + QLatin1Char('/') + QString::fromUtf8(file));
    QList<QList<QByteArray>> lines;
    if (!in.open(QIODevice::ReadOnly)) {
        return lines;
    }
    for (const QByteArray& line : in.readAll().split('\n')) {
        if (!line.isEmpty() && !line.startsWith('#')) {
            lines.append(line.split('\t'));
        }
    }
    return lines;
}

} // namespace millrace::tests
