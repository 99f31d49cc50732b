// SPDX-License-Identifier: Apache-2.0
// Older catalog files are brought up step by step, newer and foreign ones are refused by name.
#include "catalog/schema.h"

#include <QTemporaryDir>
#include <QtTest>

#include <array>

using namespace millrace;
using namespace millrace::catalog;

namespace {

constexpr Migration kFirst = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (7);";
constexpr Migration kSecond = "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 5;";
constexpr Migration kBroken = "INSERT INTO a VALUES (1, 1); CREATE TABLE a (again INTEGER);";

std::int64_t number(Database& database, const char* sql) {
    const auto result = database.integer(sql);
    return result ? result.value() : -1;
}

} // namespace

class SchemaTest : public QObject {
    Q_OBJECT

  private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        auto opened = Database::open(folder_->filePath("catalog.db").toStdString());
        QVERIFY(opened.ok());
        database_ = std::move(opened).value();
    }

    void anEmptyFileGetsTheNewestSchema() {
        QVERIFY(migrate(*database_, migrations()).ok());
        QCOMPARE(number(*database_, "PRAGMA user_version"), std::int64_t(migrations().size()));
        QCOMPARE(number(*database_, "SELECT stamp FROM state"), 0);
        QVERIFY(migrate(*database_, migrations()).ok());
    }

    void onlyTheMissingStepsRun() {
        QVERIFY(migrate(*database_, std::array{kFirst}).ok());
        QVERIFY(migrate(*database_, std::array{kFirst, kSecond}).ok());
        QCOMPARE(number(*database_, "SELECT x + y FROM a"), 12);
        QCOMPARE(number(*database_, "PRAGMA user_version"), 2);
    }

    void aStepThatFailsLeavesTheSchemaBefore() {
        QVERIFY(migrate(*database_, std::array{kFirst, kSecond}).ok());
        const auto status = migrate(*database_, std::array{kFirst, kSecond, kBroken});
        QVERIFY(!status.ok());
        QCOMPARE(number(*database_, "PRAGMA user_version"), 2);
        QCOMPARE(number(*database_, "SELECT count(*) FROM a"), 1);
    }

    void aNewerSchemaIsRefusedByName() {
        QVERIFY(migrate(*database_, std::array{kFirst, kSecond}).ok());
        const auto status = migrate(*database_, std::array{kFirst});
        QCOMPARE(status.error().code, base::ErrorCode::unsupported);
        const QString text = QString::fromStdString(status.error().text);
        QVERIFY2(text.contains("schema 2") && text.contains("up to 1") &&
                     text.contains("catalog.db"),
                 qPrintable(text));
    }

    void aDatabaseOfSomethingElseIsLeftAlone() {
        QVERIFY(database_->execute("CREATE TABLE songs (title TEXT)").ok());
        const auto status = migrate(*database_, migrations());
        QCOMPARE(status.error().code, base::ErrorCode::damaged);
        QVERIFY(status.error().text.find("not a catalog") != std::string::npos);
        QCOMPARE(number(*database_, "SELECT count(*) FROM sqlite_schema"), 1);
    }

    void commitsAreSyncedInWalMode() {
        QCOMPARE(number(*database_, "PRAGMA synchronous"), 2); // FULL
        auto mode = database_->prepare("PRAGMA journal_mode");
        QVERIFY(mode.ok() && mode->next().value());
        QCOMPARE(mode->textAt(0), std::string("wal"));
    }

  private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::unique_ptr<Database> database_;
};

QTEST_APPLESS_MAIN(SchemaTest)
#include "tst_schema.moc"
