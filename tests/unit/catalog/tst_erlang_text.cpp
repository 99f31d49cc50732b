// SPDX-License-Identifier: Apache-2.0
// Values are printed as Erlang prints them.
#include "catalog/erlang_text.h"

#include "argument_text.h"

#include <QtTest>

using namespace millrace;
using namespace millrace::catalog;
using millrace::tests::argumentsFrom;

class ErlangTextTest : public QObject {
    Q_OBJECT

  private slots:
    void binariesAreTextsWhereTheyArePrintable() {
        QCOMPARE(erlangBinary(""), std::string("<<>>"));
        QCOMPARE(erlangBinary("zz"), std::string("<<\"zz\">>"));
        QCOMPARE(erlangBinary("a\"\\"), std::string("<<\"a\\\"\\\\\">>"));
        QCOMPARE(erlangBinary("\xC3\xA9"), std::string("<<\"\xC3\xA9\"/utf8>>"));
        QCOMPARE(erlangBinary("a\"\x01\xC3\xA9"), std::string("<<97,34,1,195,169>>"));
        QCOMPARE(erlangBinary("\xFF"), std::string("<<255>>"));
        QCOMPARE(erlangBinary("a\xE2\x82"), std::string("<<97,226,130>>"));
    }

    void numbersTellWhatTheyAre() {
        const std::string raw = argumentsFrom("i=l:-7;f=d:1;g=d:1.5;t=t:0;v=V");
        const base::FieldTable table{base::bytesOf(raw)};
        QCOMPARE(erlangTerm(*table.find("i")), std::string("-7"));
        QCOMPARE(erlangTerm(*table.find("f")), std::string("1.0"));
        QCOMPARE(erlangTerm(*table.find("g")), std::string("1.5"));
        QCOMPARE(erlangTerm(*table.find("t")), std::string("false"));
        QCOMPARE(erlangTerm(*table.find("v")), std::string("undefined"));
    }

    void tablesAndArraysShowTheirTypes() {
        const std::string inner = argumentsFrom("a=I:1;b=S:x");
        const base::FieldValue table{'F', base::bytesOf(inner)};
        QCOMPARE(erlangTerm(table),
                 std::string("[{<<\"a\">>,signedint,1},{<<\"b\">>,longstr,<<\"x\">>}]"));
        const std::string items("I\0\0\0\1S\0\0\0\1a", 11);
        const base::FieldValue array{'A', base::bytesOf(items)};
        QCOMPARE(erlangTerm(array), std::string("[{signedint,1},{longstr,<<\"a\">>}]"));
    }
};

QTEST_APPLESS_MAIN(ErlangTextTest)
#include "tst_erlang_text.moc"
