// A store handle takes the contexts of its TLS connections from here, while the files of its URL
// are replaced.
#pragma once

#include <array>
#include <herdlock/backend.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "stores/common/tls_context.hpp"

namespace herdlock::stores {

/// The content of a file has changed when this has; nothing: the file is not there.
struct file_stamp {
  std::uint64_t device, number, size;
  std::int64_t changed_ns;  ///< the later of its two times
  bool operator==(file_stamp const&) const = default;
};

/// Why a server's certificate is not trusted. Another cafile can help, but not to its name.
enum class distrust { authority, name };

/// The meaning of OpenSSL's verdict on a certificate, X509_V_OK excepted.
distrust kind_of(long verdict) noexcept;
/// The verdict in words; `host` is the name that the certificate should be for.
std::string words_for(long verdict, std::string const& host);

/// For one connection.
struct tls_choice {
  tls_context context;
  /// Why it is not made of the files that are there now; empty when it is.
  std::string file_error;
};

/// Certificates are renewed while the store is in use, and two files cannot be replaced in one
/// step. So each new connection looks at the files: what is there is used if it can be used, else
/// the last that could be. Only the first look, when the store is opened, refuses what cannot be
/// used.
///
/// The same holds for the servers' own certificates: once a connection of this handle has trusted
/// one of them, an authority that is not trusted is an error that passes, at every server. Which of
/// them was met before says nothing: all get their new certificates at about the same time.
///
/// From any thread.
class tls_source {
 public:
  /// Made of the files that are there. errc::invalid_url names the file that cannot be used.
  static result<std::shared_ptr<tls_source>> open(tls_settings how,
                                                  std::string const& display_name);

  /// The files are read anew when one of them has changed.
  tls_choice choose(clock::time_point now = clock::now());

  static constexpr char const* way_out_of_distrust =
      "; it is tried again with the files that are there then: put its authority into cafile";
  /// TLS with the server at this address has worked.
  void worked_with(std::string const& address);
  /// It may work again: some server has, or, where the certificate is for another name, this one.
  bool has_worked_with(std::string const& address, distrust why = distrust::authority) const;

  /// Each error of the files is told there, once.
  void tell(std::shared_ptr<store_warnings> warnings);
  void warn(std::string const& text) const;

 private:
  using stamps = std::array<std::optional<file_stamp>, 3>;

  tls_source(tls_settings how, std::string display_name)
      : how_(std::move(how)), display_name_(std::move(display_name)) {}
  failure read(clock::time_point now);
  stamps look() const;

  tls_settings const how_;
  std::string const display_name_;
  mutable std::mutex mutex_;
  tls_context last_;             ///< of the last files that could be used
  std::optional<stamps> of_;     ///< these files; nothing when they could not be used
  clock::time_point seen_;       ///< when these stamps were seen first
  clock::time_point read_;       ///< when these files were read last
  std::set<std::string> known_;  ///< servers that it has worked with
  std::shared_ptr<store_warnings> warnings_;
};

}  // namespace herdlock::stores
