#include "stores/common/tls_source.hpp"

#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

namespace herdlock::stores {
namespace {

// More servers than a cluster has. Of a further one the name has to be right at once.
constexpr std::size_t max_known = 4096;

// A file system counts time in steps: a file that has just been changed may be changed once more
// and look the same. What was read so long after that is what is there.
constexpr std::chrono::seconds settled_after{2};

std::int64_t in_ns(timespec const& at) {
  return std::int64_t{at.tv_sec} * 1'000'000'000 + std::int64_t{at.tv_nsec};
}

std::optional<file_stamp> stamp_of(std::string const& file) {
  struct stat found {};
  if (file.empty() || ::stat(file.c_str(), &found) != 0) return std::nullopt;
  return file_stamp{found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
                    std::max(in_ns(found.st_mtim), in_ns(found.st_ctim))};
}

// The file of the system's authorities. OpenSSL reads their folder anew at each verification.
std::string system_authorities() {
  char const* const named = std::getenv(X509_get_default_cert_file_env());
  return named ? named : X509_get_default_cert_file();
}

}  // namespace

// Unspecified: it was refused by our own look at the name, which says no more than that.
distrust kind_of(long verdict) noexcept {
  bool const name = verdict == X509_V_ERR_HOSTNAME_MISMATCH ||
                    verdict == X509_V_ERR_IP_ADDRESS_MISMATCH || verdict == X509_V_ERR_UNSPECIFIED;
  return name ? distrust::name : distrust::authority;
}

// OpenSSL's own text for a name is of no help: the check of it leaves no code behind.
std::string words_for(long verdict, std::string const& host) {
  if (kind_of(verdict) == distrust::name) return "it is for another name than " + in_quotes(host);
  return X509_verify_cert_error_string(verdict);
}

result<std::shared_ptr<tls_source>> tls_source::open(tls_settings how,
                                                     std::string const& display_name) {
  how.source = nullptr;  // that is us
  std::shared_ptr<tls_source> made(new tls_source(std::move(how), display_name));
  failure const why = made->read(clock::now());
  if (!why.code) return made;
  return failure{why.code, "store URL " + display_name + ": " + why.message};
}

tls_source::stamps tls_source::look() const {
  auto const& authority = how_.authority_file;
  return {stamp_of(authority.empty() ? system_authorities() : authority),
          stamp_of(how_.certificate_file), stamp_of(how_.key_file)};
}

// The stamps are taken first: who changes a file while it is read gives it another one.
failure tls_source::read(clock::time_point now) {
  auto const found = look();
  bool const same = of_ && *of_ == found;
  if (same && read_ - seen_ > settled_after) return {};
  of_.reset();
  auto made = make_tls(how_);
  if (!made) return made.error();
  last_ = std::move(*made);
  of_ = found;
  read_ = now;
  if (!same) seen_ = now;
  return {};
}

tls_choice tls_source::choose(clock::time_point now) {
  std::unique_lock alone(mutex_);
  failure const why = read(now);
  tls_choice chosen{last_, {}};
  alone.unlock();
  if (!why.code) return chosen;
  chosen.file_error = why.message +
                      "; the last files that could be used stay in use, and each new connection "
                      "looks at these again: put the one right that is named";
  warn(chosen.file_error);
  return chosen;
}

void tls_source::worked_with(std::string const& address) {
  std::lock_guard const alone(mutex_);
  if (known_.size() < max_known) known_.insert(address);
}

bool tls_source::has_worked_with(std::string const& address, distrust why) const {
  std::lock_guard const alone(mutex_);
  return why == distrust::name ? known_.contains(address) : !known_.empty();
}

void tls_source::tell(std::shared_ptr<store_warnings> warnings) {
  std::lock_guard const alone(mutex_);
  warnings_ = std::move(warnings);
}

void tls_source::warn(std::string const& text) const {
  std::unique_lock alone(mutex_);
  auto const to = warnings_;
  alone.unlock();
  if (to) to->add(display_name_ + ": " + text);
}

}  // namespace herdlock::stores
