// SPDX-License-Identifier: Apache-2.0
// SQLite in the words of this folder: a connection, prepared statements, errors as values. Not
// synchronised: one thread at a time.
#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace millrace::catalog {

class Database;

// A prepared statement that is used again and again. Parameters and columns count from 0. Ends
// before its Database.
class Statement {
  public:
    // Texts and blobs must live until the statement has run.
    Statement& text(int parameter, std::string_view value);
    Statement& blob(int parameter, std::string_view value);
    Statement& integer(int parameter, std::int64_t value);

    // Executes, and is ready to be bound anew. For statements without rows.
    base::Status run();
    // The next row: true, or false at the end, where the statement is ready to be bound anew.
    base::Result<bool> next();

    std::string textAt(int column) const; // also blobs
    std::int64_t integerAt(int column) const;

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* raw) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> raw_;
    const Database* database_ = nullptr;
};

class Database {
  public:
    // WAL mode, synchronous=FULL: what is committed is safe against a power cut.
    static base::Result<std::unique_ptr<Database>> open(const std::string& path);

    // One or several statements without rows and parameters.
    base::Status execute(const std::string& sql);
    base::Result<Statement> prepare(std::string_view sql);
    // Runs `work` (a callable that gives a Status) in a transaction: all of it or, if it or the
    // commit fails, nothing.
    template <typename Work> base::Status transaction(const Work& work) {
        base::Status status = execute("BEGIN IMMEDIATE");
        if (!status) {
            return status;
        }
        status = work();
        if (status) {
            status = execute("COMMIT");
        }
        if (!status) {
            rollBack();
        }
        return status;
    }
    // The first column of the only row.
    base::Result<std::int64_t> integer(std::string_view sql);

    const std::string& path() const { return path_; }
    // What went wrong last, with the file's name and the words of SQLite.
    base::Error lastError(std::string_view what) const;

  private:
    explicit Database(std::string path) : path_(std::move(path)) {}
    void rollBack();

    struct Close {
        void operator()(sqlite3* raw) const;
    };
    std::string path_;
    std::unique_ptr<sqlite3, Close> raw_;
};

} // namespace millrace::catalog
