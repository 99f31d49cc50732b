// SPDX-License-Identifier: Apache-2.0
// Passwords are hashed and checked as RabbitMQ does.
#include "catalog/access.h"

#include <QtTest>

#include <set>

using namespace millrace::catalog;

class AccessTest : public QObject {
    Q_OBJECT

  private slots:
    // The worked example of RabbitMQ's documentation: password test12, salt 908DC60A.
    void theKnownAnswerOfTheDocumentation() {
        const char* known = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";
        QCOMPARE(hashPassword("test12", "\x90\x8D\xC6\x0A"), std::string(known));
        QVERIFY(passwordMatches("test12", known));
    }

    void anotherPasswordDoesNotMatch() {
        const auto hash = hashPassword("secret");
        QVERIFY(hash.ok());
        QVERIFY(passwordMatches("secret", hash.value()));
        QVERIFY(!passwordMatches("secreT", hash.value()));
        QVERIFY(!passwordMatches("", hash.value()));
        QVERIFY(passwordMatches("", hashPassword("", "abcd")));
        const std::string withZero("a\0b", 3);
        QVERIFY(!passwordMatches("a", hashPassword(withZero, "abcd")));
    }

    void eachHashHasASaltOfItsOwn() {
        std::set<std::string> seen;
        for (int i = 0; i < 32; ++i) {
            seen.insert(hashPassword("same").value());
        }
        QCOMPARE(seen.size(), std::size_t{32});
    }

    void whatIsNoHashMatchesNothing() {
        const char* known = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";
        QVERIFY(!passwordMatches("", ""));
        QVERIFY(!passwordMatches("test12", std::string(known) + "A"));
        QVERIFY(!passwordMatches("test12", std::string(known).substr(1)));
        QVERIFY(!passwordMatches("test12", std::string(48, '*')));
        QVERIFY(!passwordMatches("test12", std::string(48, '=')));
        QVERIFY(!passwordMatches("test12", std::string(47, 'A') + '='));
    }
};

QTEST_APPLESS_MAIN(AccessTest)
#include "tst_access.moc"
