// SPDX-License-Identifier: Apache-2.0
#include "catalog/access.h"

#include "base/bytes.h"
#include "base/check.h"

#include <array>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

namespace millrace::catalog {
namespace {

constexpr std::size_t kSaltSize = 4;
constexpr std::size_t kDigestSize = 32;
constexpr std::size_t kEncodedSize = (kSaltSize + kDigestSize) / 3 * 4; // no padding: 36 is 12 x 3

using Salted = std::array<unsigned char, kSaltSize + kDigestSize>;

Salted saltAndDigest(std::string_view password, std::string_view salt) {
    MILLRACE_CHECK(salt.size() == kSaltSize);
    std::string salted(salt);
    salted += password;
    Salted out;
    std::copy(salt.begin(), salt.end(), out.begin());
    unsigned int size = 0;
    const int done = EVP_Digest(salted.data(), salted.size(), out.data() + kSaltSize, &size,
                                EVP_sha256(), nullptr);
    MILLRACE_CHECK(done == 1 && size == kDigestSize);
    OPENSSL_cleanse(salted.data(), salted.size());
    return out;
}

const unsigned char* unsignedData(std::string_view text) {
    return base::bytesOf(text).data();
}

} // namespace

base::Result<std::string> hashPassword(std::string_view password) {
    std::array<unsigned char, kSaltSize> salt;
    if (RAND_bytes(salt.data(), static_cast<int>(salt.size())) != 1) {
        return base::Error{base::ErrorCode::io,
                           "the system gives no random numbers for a password's salt"};
    }
    return hashPassword(password, base::textOf(base::Bytes(salt)));
}

std::string hashPassword(std::string_view password, std::string_view salt) {
    const Salted raw = saltAndDigest(password, salt);
    std::array<unsigned char, kEncodedSize + 1> encoded; // EVP_EncodeBlock ends it with a zero
    const int size = EVP_EncodeBlock(encoded.data(), raw.data(), static_cast<int>(raw.size()));
    MILLRACE_CHECK(size == static_cast<int>(kEncodedSize));
    return std::string(base::textOf({encoded.data(), kEncodedSize}));
}

bool passwordMatches(std::string_view password, std::string_view hash) {
    Salted known;
    if (hash.size() != kEncodedSize ||
        EVP_DecodeBlock(known.data(), unsignedData(hash), static_cast<int>(hash.size())) !=
            static_cast<int>(known.size())) {
        return false;
    }
    const base::Bytes salt(known.data(), kSaltSize);
    const Salted given = saltAndDigest(password, base::textOf(salt));
    return CRYPTO_memcmp(known.data(), given.data(), known.size()) == 0;
}

} // namespace millrace::catalog
