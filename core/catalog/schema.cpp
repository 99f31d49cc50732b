// SPDX-License-Identifier: Apache-2.0
#include "catalog/schema.h"

#include <array>

namespace millrace::catalog {
namespace {

constexpr std::int64_t kApplicationId = 0x4D494C4C; // "MILL", in the file's header

// queues.id is the queue's name in log entries. Arguments are AMQP field tables, raw.
constexpr const char* kFirst = R"sql(
CREATE TABLE state (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    stamp INTEGER NOT NULL,
    next_queue_id INTEGER NOT NULL
);
INSERT INTO state VALUES (1, 0, 1);
CREATE TABLE vhosts (
    name TEXT NOT NULL PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE users (
    name TEXT NOT NULL PRIMARY KEY,
    password_hash TEXT NOT NULL,
    tags TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE exchanges (
    vhost TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    durable INTEGER NOT NULL,
    auto_delete INTEGER NOT NULL,
    internal INTEGER NOT NULL,
    arguments BLOB NOT NULL,
    PRIMARY KEY (vhost, name)
) WITHOUT ROWID;
CREATE TABLE queues (
    id INTEGER PRIMARY KEY,
    vhost TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    durable INTEGER NOT NULL,
    exclusive INTEGER NOT NULL,
    auto_delete INTEGER NOT NULL,
    arguments BLOB NOT NULL,
    UNIQUE (vhost, name)
);
CREATE TABLE bindings (
    vhost TEXT NOT NULL,
    source TEXT NOT NULL,
    destination TEXT NOT NULL,
    to_exchange INTEGER NOT NULL,
    routing_key TEXT NOT NULL,
    arguments BLOB NOT NULL,
    PRIMARY KEY (vhost, source, destination, to_exchange, routing_key, arguments)
) WITHOUT ROWID;
)sql";

constexpr std::array<Migration, 1> kMigrations{kFirst};

base::Status refuseForeign(Database& database) {
    const auto application = database.integer("PRAGMA application_id");
    if (!application) {
        return application.error();
    }
    const auto tables = database.integer("SELECT count(*) FROM sqlite_schema");
    if (!tables) {
        return tables.error();
    }
    if (application.value() == kApplicationId || tables.value() == 0) {
        return {};
    }
    return base::Error{base::ErrorCode::damaged,
                       database.path() + " is a database, but not a catalog of Millrace: "
                                         "choose another data directory"};
}

} // namespace

std::span<const Migration> migrations() {
    return kMigrations;
}

base::Status migrate(Database& database, std::span<const Migration> steps) {
    if (auto status = refuseForeign(database); !status) {
        return status;
    }
    const auto version = database.integer("PRAGMA user_version");
    if (!version) {
        return version.error();
    }
    const auto newest = static_cast<std::int64_t>(steps.size());
    if (version.value() > newest) {
        return base::Error{base::ErrorCode::unsupported,
                           "the catalog " + database.path() + " has schema " +
                               std::to_string(version.value()) +
                               ", written by a newer Millrace; this one knows schemas up to " +
                               std::to_string(newest) + ": start the newer one"};
    }
    for (std::int64_t done = version.value(); done < newest; ++done) {
        const std::string sql = std::string(steps[static_cast<std::size_t>(done)]) +
                                "PRAGMA application_id=" + std::to_string(kApplicationId) +
                                ";PRAGMA user_version=" + std::to_string(done + 1) + ";";
        const auto status = database.transaction([&] { return database.execute(sql); });
        if (!status) {
            return status;
        }
    }
    return {};
}

} // namespace millrace::catalog
