// SPDX-License-Identifier: Apache-2.0
#include "catalog/database.h"

#include "base/limits.h"

#include <sqlite3.h>

namespace millrace::catalog {
namespace {

base::ErrorCode codeOf(int sqliteCode) {
    switch (sqliteCode & 0xFF) {
    case SQLITE_FULL:
        return base::ErrorCode::full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return base::ErrorCode::damaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return base::ErrorCode::locked;
    default:
        return base::ErrorCode::io;
    }
}

} // namespace

void Statement::Finalize::operator()(sqlite3_stmt* raw) const {
    sqlite3_finalize(raw);
}

Statement& Statement::text(int parameter, std::string_view value) {
    // A null pointer would be NULL: an empty text needs an address.
    const char* data = value.empty() ? "" : value.data();
    MILLRACE_CHECK(sqlite3_bind_text64(raw_.get(), parameter + 1, data, value.size(), SQLITE_STATIC,
                                       SQLITE_UTF8) == SQLITE_OK);
    return *this;
}

Statement& Statement::blob(int parameter, std::string_view value) {
    const char* data = value.empty() ? "" : value.data();
    MILLRACE_CHECK(sqlite3_bind_blob64(raw_.get(), parameter + 1, data, value.size(),
                                       SQLITE_STATIC) == SQLITE_OK);
    return *this;
}

Statement& Statement::integer(int parameter, std::int64_t value) {
    MILLRACE_CHECK(sqlite3_bind_int64(raw_.get(), parameter + 1, value) == SQLITE_OK);
    return *this;
}

base::Status Statement::run() {
    const auto row = next();
    if (!row) {
        return row.error();
    }
    MILLRACE_CHECK(!row.value());
    return {};
}

base::Result<bool> Statement::next() {
    const int code = sqlite3_step(raw_.get());
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code == SQLITE_DONE) {
        sqlite3_reset(raw_.get());
        return false;
    }
    base::Error error = database_->lastError("cannot use");
    sqlite3_reset(raw_.get());
    return error;
}

std::string Statement::textAt(int column) const {
    const void* data = sqlite3_column_blob(raw_.get(), column);
    const int size = sqlite3_column_bytes(raw_.get(), column);
    return data ? std::string(static_cast<const char*>(data), static_cast<std::size_t>(size))
                : std::string();
}

std::int64_t Statement::integerAt(int column) const {
    return sqlite3_column_int64(raw_.get(), column);
}

void Database::Close::operator()(sqlite3* raw) const {
    sqlite3_close(raw);
}

base::Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
    std::unique_ptr<Database> database(new Database(path));
    sqlite3* raw = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &raw,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    database->raw_.reset(raw);
    if (code != SQLITE_OK) {
        return database->lastError("cannot open");
    }
    sqlite3_extended_result_codes(raw, 1);
    sqlite3_busy_timeout(raw, static_cast<int>(limits::kCatalogBusy.count()));
    const base::Status status =
        database->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
    if (!status) {
        return status.error();
    }
    return database;
}

base::Status Database::execute(const std::string& sql) {
    if (sqlite3_exec(raw_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return lastError("cannot use");
    }
    return {};
}

base::Result<Statement> Database::prepare(std::string_view sql) {
    Statement statement;
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(raw_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    statement.raw_.reset(raw);
    statement.database_ = this;
    if (code != SQLITE_OK) {
        return lastError("cannot use");
    }
    return statement;
}

base::Result<std::int64_t> Database::integer(std::string_view sql) {
    auto statement = prepare(sql);
    if (!statement) {
        return statement.error();
    }
    const auto row = statement->next();
    if (!row) {
        return row.error();
    }
    MILLRACE_CHECK(row.value());
    return statement->integerAt(0);
}

base::Error Database::lastError(std::string_view what) const {
    const int code = raw_ ? sqlite3_errcode(raw_.get()) : SQLITE_NOMEM;
    const char* words = raw_ ? sqlite3_errmsg(raw_.get()) : "out of memory";
    return {codeOf(code), std::string(what) + " the catalog " + path_ + ": " + words};
}

// After some errors SQLite has rolled back by itself; then this fails, which is as good.
void Database::rollBack() {
    sqlite3_exec(raw_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

} // namespace millrace::catalog
