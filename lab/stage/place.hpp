// Where a scene is played: the store, and its server.
#pragma once

#include <herdlock/open.hpp>
#include <memory>
#include <string>

namespace herdlock::lab {

/// With the stores that this program was built with: each program says so for itself.
result<store> try_open_here(std::string const& url, open_options how);
/// The same. Throws command_error.
store open_here(std::string const& url, open_options how = {});

/// The URL without its password. Throws command_error (usage) for one that cannot be read.
std::string redacted(std::string const& url);

/// Throws command_error (usage) for a URL that is none, or a store that several processes cannot
/// share. An empty one stands for a default.
void require_shareable(std::string const& url, std::int64_t processes);

/// A name that no other run uses: `herdlock-lab:` and 32 digits.
std::string fresh_name();

/// The store's server, if the scene has started one; it ends with this.
class place {
 public:
  enum class without_url {
    server,  ///< a redis-server of its own where one is installed, else a SQLite file
    file,    ///< a SQLite file
  };

  /// The URL that the user has named; or, if that is empty, what `otherwise` says. Throws
  /// command_error: usage for what cannot be a store; unavailable, in one line, when the store
  /// cannot be reached or used.
  explicit place(std::string url, without_url otherwise);

  std::string const& url() const { return url_; }
  /// For people: without the password; "a Redis server of its own".
  std::string const& shown() const { return shown_; }
  /// Empty, or a line that says why figures are worse than they would be on a server.
  std::string const& remark() const { return remark_; }
  bool is_own() const { return own_ != nullptr; }

 private:
  void start_own(without_url otherwise);

  std::string url_, shown_, remark_;
  std::shared_ptr<void> own_;  // a server, or a folder
};

}  // namespace herdlock::lab
