// SPDX-License-Identifier: Apache-2.0
#include "catalog/store.h"

#include "catalog/database.h"
#include "catalog/schema.h"

#include <array>
#include <string_view>
#include <utility>

namespace millrace::catalog {
namespace {

enum Verb : std::size_t {
    putVhost,
    dropVhost,
    putUser,
    dropUser,
    putExchange,
    dropExchange,
    putQueue,
    dropQueue,
    putBinding,
    dropBinding,
    setStamp,
    verbCount,
};

constexpr std::array<const char*, verbCount> kSql{
    "INSERT OR IGNORE INTO vhosts VALUES (?)",
    "DELETE FROM vhosts WHERE name = ?",
    "INSERT OR REPLACE INTO users VALUES (?, ?, ?)",
    "DELETE FROM users WHERE name = ?",
    "INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?)",
    "DELETE FROM exchanges WHERE vhost = ? AND name = ?",
    // Not OR REPLACE: a second queue of the same name is a fault, and must not silently take the
    // first one's place.
    "INSERT INTO queues VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET "
    "vhost = ?2, name = ?3, type = ?4, durable = ?5, exclusive = ?6, auto_delete = ?7, "
    "arguments = ?8",
    "DELETE FROM queues WHERE id = ?",
    "INSERT OR IGNORE INTO bindings VALUES (?, ?, ?, ?, ?, ?)",
    "DELETE FROM bindings WHERE vhost = ? AND source = ? AND destination = ? AND to_exchange = ? "
    "AND routing_key = ? AND arguments = ?",
    "UPDATE state SET stamp = ?, next_queue_id = max(next_queue_id, ?)",
};

constexpr std::array<std::string_view, 3> kTypeNames{"classic", "quorum", "stream"};

std::string_view nameOf(QueueType type) {
    return kTypeNames[static_cast<std::size_t>(type)];
}

base::Result<QueueType> typeNamed(const std::string& name, const std::string& path) {
    for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
        if (kTypeNames[i] == name) {
            return static_cast<QueueType>(i);
        }
    }
    return base::Error{base::ErrorCode::unsupported,
                       "the catalog " + path + " has a queue of type '" + name +
                           "', which this Millrace does not know: start a newer one"};
}

// RabbitMQ's form: tags never hold a comma.
std::string joined(const std::vector<std::string>& tags) {
    std::string out;
    for (const std::string& tag : tags) {
        out += (out.empty() ? "" : ",") + tag;
    }
    return out;
}

std::vector<std::string> split(std::string_view tags) {
    std::vector<std::string> out;
    while (!tags.empty()) {
        const std::size_t comma = std::min(tags.find(','), tags.size());
        out.emplace_back(tags.substr(0, comma));
        tags.remove_prefix(std::min(comma + 1, tags.size()));
    }
    return out;
}

} // namespace

class Store::Content {
  public:
    explicit Content(std::unique_ptr<Database> database) : database_(std::move(database)) {}

    base::Status prepare();
    base::Result<Snapshot> load();
    base::Status apply(std::span<const Change> changes, base::LogIndex upTo);

  private:
    base::Status apply(const Change& change);
    base::Status apply(bool put, const VhostSpec& spec);
    base::Status apply(bool put, const UserSpec& spec);
    base::Status apply(bool put, const ExchangeSpec& spec);
    base::Status apply(bool put, const QueueSpec& spec);
    base::Status apply(bool put, const BindingSpec& spec);
    base::Status load(Snapshot& out);
    // Calls take(row) for each row.
    template <typename Take> base::Status eachRow(std::string_view sql, const Take& take);

    Statement& statement(Verb verb) { return statements_[verb]; }

    std::unique_ptr<Database> database_; // outlives its statements
    std::array<Statement, verbCount> statements_;
    base::LogIndex stamp_ = 0;
    base::QueueId nextQueueId_ = 1;
};

base::Status Store::Content::prepare() {
    for (std::size_t verb = 0; verb < verbCount; ++verb) {
        auto prepared = database_->prepare(kSql[verb]);
        if (!prepared) {
            return prepared.error();
        }
        statements_[verb] = std::move(prepared).value();
    }
    const auto stamp = database_->integer("SELECT stamp FROM state");
    if (!stamp) {
        return stamp.error();
    }
    const auto next = database_->integer("SELECT next_queue_id FROM state");
    if (!next) {
        return next.error();
    }
    stamp_ = static_cast<base::LogIndex>(stamp.value());
    nextQueueId_ = static_cast<base::QueueId>(next.value());
    return {};
}

template <typename Take>
base::Status Store::Content::eachRow(std::string_view sql, const Take& take) {
    auto rows = database_->prepare(sql);
    if (!rows) {
        return rows.error();
    }
    for (;;) {
        const auto row = rows->next();
        if (!row) {
            return row.error();
        }
        if (!row.value()) {
            return {};
        }
        if (base::Status taken = take(*rows); !taken) {
            return taken;
        }
    }
}

base::Status Store::Content::load(Snapshot& out) {
    out.stamp = stamp_;
    out.nextQueueId = nextQueueId_;
    base::Status status = eachRow("SELECT name FROM vhosts", [&](const Statement& row) {
        out.vhosts.push_back({row.textAt(0)});
        return base::Status();
    });
    if (status) {
        status = eachRow("SELECT name, password_hash, tags FROM users", [&](const Statement& row) {
            out.users.push_back({row.textAt(0), row.textAt(1), split(row.textAt(2))});
            return base::Status();
        });
    }
    if (status) {
        status = eachRow("SELECT vhost, name, type, durable, auto_delete, internal, arguments "
                         "FROM exchanges",
                         [&](const Statement& row) {
                             out.exchanges.push_back({row.textAt(0), row.textAt(1), row.textAt(2),
                                                      row.integerAt(3) != 0, row.integerAt(4) != 0,
                                                      row.integerAt(5) != 0, row.textAt(6)});
                             return base::Status();
                         });
    }
    if (status) {
        status = eachRow("SELECT id, vhost, name, type, durable, exclusive, auto_delete, arguments "
                         "FROM queues",
                         [&](const Statement& row) -> base::Status {
                             const auto type = typeNamed(row.textAt(3), database_->path());
                             if (!type) {
                                 return type.error();
                             }
                             out.queues.push_back({static_cast<base::QueueId>(row.integerAt(0)),
                                                   row.textAt(1), row.textAt(2), type.value(),
                                                   row.integerAt(4) != 0, row.integerAt(5) != 0,
                                                   row.integerAt(6) != 0, row.textAt(7)});
                             return {};
                         });
    }
    if (status) {
        status = eachRow("SELECT vhost, source, destination, routing_key, to_exchange, arguments "
                         "FROM bindings",
                         [&](const Statement& row) {
                             out.bindings.push_back({row.textAt(0), row.textAt(1), row.textAt(2),
                                                     row.textAt(3), row.integerAt(4) != 0,
                                                     row.textAt(5)});
                             return base::Status();
                         });
    }
    return status;
}

base::Result<Snapshot> Store::Content::load() {
    Snapshot out;
    const base::Status status = database_->transaction([&] { return load(out); });
    if (!status) {
        return status.error();
    }
    return out;
}

base::Status Store::Content::apply(bool put, const VhostSpec& spec) {
    return statement(put ? putVhost : dropVhost).text(0, spec.name).run();
}

base::Status Store::Content::apply(bool put, const UserSpec& spec) {
    if (!put) {
        return statement(dropUser).text(0, spec.name).run();
    }
    const std::string tags = joined(spec.tags);
    return statement(putUser).text(0, spec.name).text(1, spec.passwordHash).text(2, tags).run();
}

base::Status Store::Content::apply(bool put, const ExchangeSpec& spec) {
    if (!put) {
        return statement(dropExchange).text(0, spec.vhost).text(1, spec.name).run();
    }
    return statement(putExchange)
        .text(0, spec.vhost)
        .text(1, spec.name)
        .text(2, spec.type)
        .integer(3, spec.durable)
        .integer(4, spec.autoDelete)
        .integer(5, spec.internal)
        .blob(6, spec.arguments)
        .run();
}

base::Status Store::Content::apply(bool put, const QueueSpec& spec) {
    if (!put) {
        return statement(dropQueue).integer(0, static_cast<std::int64_t>(spec.id)).run();
    }
    nextQueueId_ = std::max(nextQueueId_, spec.id + 1);
    return statement(putQueue)
        .integer(0, static_cast<std::int64_t>(spec.id))
        .text(1, spec.vhost)
        .text(2, spec.name)
        .text(3, nameOf(spec.type))
        .integer(4, spec.durable)
        .integer(5, spec.exclusive)
        .integer(6, spec.autoDelete)
        .blob(7, spec.arguments)
        .run();
}

base::Status Store::Content::apply(bool put, const BindingSpec& spec) {
    Statement& change = statement(put ? putBinding : dropBinding);
    return change.text(0, spec.vhost)
        .text(1, spec.source)
        .text(2, spec.destination)
        .integer(3, spec.toExchange)
        .text(4, spec.routingKey)
        .blob(5, spec.arguments)
        .run();
}

base::Status Store::Content::apply(const Change& change) {
    return std::visit([&](const auto& spec) { return apply(change.put, spec); }, change.object);
}

base::Status Store::Content::apply(std::span<const Change> changes, base::LogIndex upTo) {
    if (upTo < stamp_) {
        return base::Error{base::ErrorCode::invalid,
                           "the catalog " + database_->path() + " reflects the log up to " +
                               std::to_string(stamp_) + ", so changes up to " +
                               std::to_string(upTo) + " come too late"};
    }
    const base::QueueId nextBefore = nextQueueId_;
    const base::Status status = database_->transaction([&]() -> base::Status {
        for (const Change& change : changes) {
            if (base::Status applied = apply(change); !applied) {
                return applied;
            }
        }
        return statement(setStamp)
            .integer(0, static_cast<std::int64_t>(upTo))
            .integer(1, static_cast<std::int64_t>(nextQueueId_))
            .run();
    });
    if (status) {
        stamp_ = upTo;
    } else {
        nextQueueId_ = nextBefore;
    }
    return status;
}

Store::Store(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

base::Result<Store> Store::open(const std::string& path) {
    auto database = Database::open(path);
    if (!database) {
        return database.error();
    }
    if (base::Status migrated = migrate(**database, migrations()); !migrated) {
        return migrated.error();
    }
    auto content = std::make_unique<Content>(std::move(database).value());
    if (base::Status prepared = content->prepare(); !prepared) {
        return prepared.error();
    }
    return Store(std::move(content));
}

base::Result<Snapshot> Store::load() {
    return content_->load();
}

base::Status Store::apply(std::span<const Change> changes, base::LogIndex upTo) {
    return content_->apply(changes, upTo);
}

} // namespace millrace::catalog
