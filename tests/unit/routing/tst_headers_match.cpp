// SPDX-License-Identifier: Apache-2.0
// Bindings of headers exchanges take what RabbitMQ's take.
#include "engine/headers_match.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::engine;

namespace {

struct Table {
    std::string raw;

    Table& text(const char* name, const char* value) {
        base::FieldTableWriter(raw).text(name, value);
        return *this;
    }
    Table& number(const char* name, std::int32_t value) {
        base::FieldTableWriter(raw).int32(name, value);
        return *this;
    }
    Table& wide(const char* name, std::int64_t value) {
        base::FieldTableWriter(raw).long64(name, value);
        return *this;
    }
    Table& nothing(const char* name) {
        base::FieldTableWriter(raw).raw(name, {});
        return *this;
    }
    base::FieldTable table() const { return base::FieldTable(base::bytesOf(raw)); }
};

bool takes(const Table& binding, const Table& message) {
    SortedHeaders headers;
    headers.assign(message.table());
    return HeadersPattern(binding.table()).matches(headers.fields());
}

Table with(const char* mode) {
    return Table().text("x-match", mode);
}

} // namespace

class HeadersMatchTest : public QObject {
    Q_OBJECT

  private slots:
    void allNeedsEveryArgument() {
        QVERIFY(takes(with("all").number("a", 1), Table().number("b", 2).number("a", 1)));
        QVERIFY(!takes(with("all").number("a", 1).number("b", 2), Table().number("a", 1)));
        QVERIFY(!takes(with("all").number("a", 1), Table().number("a", 2)));
    }
    void allIsTheDefault() {
        QVERIFY(!takes(Table().number("a", 1).number("b", 2), Table().number("a", 1)));
        QVERIFY(
            takes(Table().number("b", 2).number("a", 1), Table().number("a", 1).number("b", 2)));
    }
    void anyNeedsOne() {
        QVERIFY(takes(with("any").number("b", 2).number("a", 1), Table().number("a", 1)));
        QVERIFY(!takes(with("any").number("a", 1).number("b", 2), Table().number("c", 1)));
    }
    void allOfNothingIsEverythingAndAnyOfNothingIsNothing() {
        QVERIFY(takes(Table(), Table()));
        QVERIFY(takes(with("all"), Table().number("q", 1)));
        QVERIFY(!takes(with("any"), Table()));
        QVERIFY(!takes(with("any"), Table().number("q", 1)));
    }
    void argumentsThatBeginWithXCountOnlyWhereAskedFor() {
        QVERIFY(takes(with("all").number("x-a", 1).number("b", 1), Table().number("b", 1)));
        QVERIFY(!takes(with("all-with-x").number("x-a", 1).number("b", 1), Table().number("b", 1)));
        QVERIFY(!takes(with("any").number("x-a", 1), Table().number("x-a", 1)));
        QVERIFY(takes(with("any-with-x").number("x-a", 1), Table().number("x-a", 1)));
    }
    void aVoidValueAsksForPresence() {
        QVERIFY(takes(Table().nothing("a"), Table().number("a", 5)));
        QVERIFY(takes(Table().nothing("a"), Table().text("a", "x")));
        QVERIFY(!takes(Table().nothing("a"), Table().number("b", 5)));
    }
    void typesMatchByClass() {
        QVERIFY(takes(Table().number("a", 1), Table().wide("a", 1)));
        QVERIFY(!takes(Table().number("a", 1), Table().text("a", "1")));
    }
    void ofEqualNamesTheFirstCounts() {
        QVERIFY(takes(Table().number("a", 1), Table().number("a", 1).number("a", 2)));
        QVERIFY(!takes(Table().number("a", 2), Table().number("a", 1).number("a", 2)));
    }
};

QTEST_APPLESS_MAIN(HeadersMatchTest)
#include "tst_headers_match.moc"
