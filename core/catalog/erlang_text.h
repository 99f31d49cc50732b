// SPDX-License-Identifier: Apache-2.0
// Values as Erlang's ~p prints them, because that is what RabbitMQ puts into the texts that clients
// see and tests compare.
#pragma once

#include "base/field_table.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::catalog {

// <<"text">>, <<"täxt"/utf8>>, or <<1,2,3>> where it is not printable.
std::string erlangBinary(std::string_view bytes);
// "text"
std::string erlangString(std::string_view text);
// 100, 1.5, true, <<"a">>, undefined, [{signedint,1}], [{<<"key">>,longstr,<<"a">>}]
std::string erlangTerm(const base::FieldValue& value);

// How an argument stands in `inequivalent arg ...: received X but current is Y`. If both are given
// only their values are told, otherwise also the type of the one that is.
std::string givenText(const std::optional<base::FieldValue>& value,
                      const std::optional<base::FieldValue>& other);

} // namespace millrace::catalog
