// SPDX-License-Identifier: Apache-2.0
#include "catalog/erlang_text.h"

#include <algorithm>

namespace millrace::catalog {
namespace {

bool isPlain(char c) {
    return c >= ' ' && c <= '~';
}

// Length of the UTF-8 sequence that begins here, 0 if there is none. Overlong and surrogate forms
// are not told apart: the text is for reading.
std::size_t sequenceLength(std::string_view rest) {
    const auto lead = static_cast<unsigned char>(rest[0]);
    std::size_t length = 1;
    if (lead >= 0xF0 && lead < 0xF5) {
        length = 4;
    } else if (lead >= 0xE0 && lead < 0xF0) {
        length = 3;
    } else if (lead >= 0xC2 && lead < 0xE0) {
        length = 2;
    } else if (!isPlain(rest[0])) {
        return 0;
    }
    if (rest.size() < length) {
        return 0;
    }
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    return std::all_of(rest.begin() + 1, rest.begin() + static_cast<std::ptrdiff_t>(length),
                       continues)
               ? length
               : 0;
}

bool isPrintable(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = sequenceLength(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + '"';
}

std::string floatText(std::string text) {
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string arrayText(base::Bytes raw) {
    std::string out;
    base::FieldArray items(raw);
    while (const auto item = items.next()) {
        out += out.empty() ? "{" : ",{";
        out += item->typeName();
        out += ',' + erlangTerm(*item) + '}';
    }
    return '[' + out + ']';
}

std::string tableText(base::Bytes raw) {
    std::string out;
    auto fields = base::FieldTable(raw).fields();
    while (const auto field = fields.next()) {
        out += out.empty() ? "{" : ",{";
        out += erlangBinary(field->name) + ',' + field->value.typeName();
        out += ',' + erlangTerm(field->value) + '}';
    }
    return '[' + out + ']';
}

} // namespace

std::string erlangBinary(std::string_view bytes) {
    if (bytes.empty()) {
        return "<<>>";
    }
    if (isPrintable(bytes)) {
        const bool plain = std::all_of(bytes.begin(), bytes.end(), isPlain);
        return "<<" + quoted(bytes) + (plain ? ">>" : "/utf8>>");
    }
    std::string out;
    for (const char c : bytes) {
        out += (out.empty() ? "" : ",") + std::to_string(static_cast<unsigned char>(c));
    }
    return "<<" + out + ">>";
}

std::string erlangString(std::string_view text) {
    return quoted(text);
}

std::string erlangTerm(const base::FieldValue& value) {
    switch (value.tag) {
    case 'S':
    case 'x':
        return erlangBinary(value.text());
    case 'f':
    case 'd':
        return floatText(value.print());
    case 'A':
        return arrayText(value.raw);
    case 'F':
        return tableText(value.raw);
    default:
        return value.print();
    }
}

std::string givenText(const std::optional<base::FieldValue>& value,
                      const std::optional<base::FieldValue>& other) {
    if (!value || (other && value->tag == 'V')) {
        return "none";
    }
    const bool isBytes = value->tag == 'S' || value->tag == 'x';
    const std::string shown = '\'' + (isBytes ? value->print() : erlangTerm(*value)) + '\'';
    return other ? shown : "the value " + shown + " of type '" + value->typeName() + '\'';
}

} // namespace millrace::catalog
