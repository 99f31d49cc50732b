// SPDX-License-Identifier: Apache-2.0
// Expected failures as values: Result<T> holds a T or an Error. No exception crosses a folder of core/.
#pragma once

#include "base/check.h"

#include <string>
#include <utility>
#include <variant>

namespace millrace::base {

enum class ErrorCode {
    invalid,      // the input is not what was asked for
    notFound,     // the named thing does not exist
    exists,       // it exists already
    io,           // the operating system refused; text has errno's words
    full,         // no space left, or a bound was reached
    damaged,      // bytes on disk do not match their checksum
    unsupported,  // written by a newer version, or not built in
    locked,       // somebody else holds it
    stopped,      // the component has ended, e.g. a log after a failed sync
    timeout,
    denied,       // a login was wrong, or a right is missing
};

// text says what failed, why, and what to do; it is shown to people as it is.
struct Error {
    ErrorCode code = ErrorCode::invalid;
    std::string text;
};

template <typename T> class [[nodiscard]] Result {
  public:
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {} // NOLINT(google-explicit-constructor): reads as a return
    Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {} // NOLINT(google-explicit-constructor): reads as a return

    bool ok() const { return content_.index() == 0; }
    explicit operator bool() const { return ok(); }
    T& value() & {
        MILLRACE_CHECK(ok());
        return std::get<0>(content_);
    }
    const T& value() const& {
        MILLRACE_CHECK(ok());
        return std::get<0>(content_);
    }
    T&& value() && {
        MILLRACE_CHECK(ok());
        return std::get<0>(std::move(content_));
    }
    T& operator*() { return value(); }
    T* operator->() { return &value(); }
    const Error& error() const {
        MILLRACE_CHECK(!ok());
        return std::get<1>(content_);
    }

  private:
    std::variant<T, Error> content_;
};

template <> class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {} // NOLINT(google-explicit-constructor): reads as a return

    bool ok() const { return ok_; }
    explicit operator bool() const { return ok_; }
    const Error& error() const {
        MILLRACE_CHECK(!ok_);
        return error_;
    }

  private:
    Error error_;
    bool ok_ = true;
};

using Status = Result<void>;

} // namespace millrace::base
