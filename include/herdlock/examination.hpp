// The faults of a store for locks: looked for at the server, with the consequence and the fix.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/error.hpp>

namespace herdlock {
inline namespace v0 {

enum class severity {
  warning,  ///< a promise is weaker than it could be, or will be when something else happens
  error,    ///< locks fail, or do not exclude
};

struct finding {
  std::string check;  ///< its name, as in `redis.eviction`
  severity weight = severity::warning;
  std::string found;        ///< what is, and where
  std::string consequence;  ///< what follows for locks
  std::string fix;
};

/// A check is in one of the three lists for each server it was made at.
struct examination {
  std::vector<std::string> passed;
  std::vector<finding> findings;
  /// Checks that could not be made, each as `check: why`.
  std::vector<std::string> skipped;
  /// These say where the leases live, as far as the URL does not say so.
  std::vector<std::string> notes{};

  // The rest is for those who write a store: url_scheme::examine() fills one.
  void pass(std::string check) { passed.push_back(std::move(check)); }
  void find(finding what) { findings.push_back(std::move(what)); }
  void skip(std::string const& check, std::string const& why) {
    skipped.push_back(check + ": " + why);
  }
  void note(std::string text) { notes.push_back(std::move(text)); }
  /// Passed unless it is so.
  void expect(bool holds, finding otherwise) {
    if (holds) {
      pass(std::move(otherwise.check));
    } else {
      find(std::move(otherwise));
    }
  }
};

/// Looks at the store behind the URL over connections of its own; changes nothing there that stays.
/// Blocks, for a few of the store's command timeouts at most. A server that does not answer is a
/// finding; a failure is a URL that means nothing (errc::invalid_url, unknown_scheme, not_built).
result<examination> examine_store(std::string_view url);

}  // namespace v0
}  // namespace herdlock
