// One HTTP/1.1 connection to one member, with or without TLS.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>
#include "stores/common/tls_context.hpp"
#include "stores/etcd/settings.hpp"

namespace herdlock::etcd {

using boost::system::error_code;

/// A coroutine's wait that gives its error code instead of throwing it.
inline constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);

struct http_answer {
  error_code ec;  ///< of the connection; the rest means something only without one
  int status = 0;
  std::string body;
  bool lasts = false;  ///< the connection can be used again
  int sendings = 0;    ///< how often it may have reached the member
  /// Why the connection was not made with the files that are there now; empty when it was.
  std::string file_error;
  long verdict = 0;      ///< OpenSSL's, on the member's certificate
  bool by_etcd = false;  ///< the member has named its cluster before
};

/// What is sent: a path with a message; the token is empty without authentication.
struct http_request {
  char const* path;
  std::string const& body;
  std::string const& token;
};

/// Used by one exchange or one stream at a time; all members on its executor. A connection that
/// failed is of no use any more.
class connection {
 public:
  virtual ~connection() = default;

  virtual asio::awaitable<error_code> connect(clock::time_point deadline) = 0;
  /// OpenSSL's verdict on the member's certificate, after connect(); X509_V_OK without TLS.
  virtual long verdict() = 0;
  /// A message and its answer.
  virtual asio::awaitable<http_answer> exchange(http_request const& request,
                                                clock::time_point deadline) = 0;

  /// Begins a stream in both directions: messages can be sent while answers come. Completes when
  /// the head is sent; the first read_line() reads the head of the answer.
  virtual asio::awaitable<error_code> open_stream(http_request const& request,
                                                  clock::time_point deadline) = 0;
  /// One at a time; may run beside read_line().
  virtual asio::awaitable<error_code> send(std::string const& message) = 0;
  /// A line of the answer; nothing at the end of the stream.
  virtual asio::awaitable<std::optional<std::string>> read_line() = 0;

  /// Ends what is under way with an error.
  virtual void close() = 0;
};

/// `tls` is null where the settings mean none.
std::unique_ptr<connection> make_connection(asio::any_io_executor const& executor,
                                            settings const& how, stores::server_address const& to,
                                            stores::tls_context const& tls);

}  // namespace herdlock::etcd
