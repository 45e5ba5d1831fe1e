#include "stores/redis/client/unix_bridge.hpp"

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <vector>

#include "stores/common/close_on_exec.hpp"

namespace herdlock::redis {
namespace {

using asio::ip::tcp;
using unix_protocol = asio::local::stream_protocol;
using boost::system::error_code;

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t max_path_bytes = 107;  // sun_path less its NUL

class bridge final : public unix_bridge, public std::enable_shared_from_this<bridge> {
 public:
  bridge(asio::any_io_executor const& executor, std::function<bool(endpoint const&)> is_ours,
         std::function<void(error_code, std::uint16_t)> ready)
      : acceptor_(executor),
        near_(executor),
        far_(executor),
        is_ours_(std::move(is_ours)),
        ready_(std::move(ready)) {}

  void start(std::string const& path) {
    if (path.size() > max_path_bytes) {
      asio::post(far_.get_executor(),
                 [self = shared_from_this()] { self->report(asio::error::name_too_long, 0); });
      return;
    }
    if (error_code const failed = stores::open_close_on_exec(far_, unix_protocol())) {
      asio::post(far_.get_executor(),
                 [self = shared_from_this(), failed] { self->report(failed, 0); });
      return;
    }
    far_.async_connect(unix_protocol::endpoint(path),
                       [self = shared_from_this()](error_code ec) { self->on_far(ec); });
  }

  void close() override {
    is_ours_ = nullptr;
    ready_ = nullptr;
    shut();
  }

 private:
  void shut() {
    error_code ignored;
    acceptor_.close(ignored);
    near_.close(ignored);
    far_.close(ignored);
  }

  void report(error_code ec, std::uint16_t port) {
    if (auto const ready = std::exchange(ready_, nullptr)) ready(ec, port);
  }

  void on_far(error_code ec) {
    if (ec || !ready_) return report(ec, 0);
    error_code failed = listen();
    if (failed) {
      shut();
      return report(failed, 0);
    }
    std::uint16_t const port = acceptor_.local_endpoint(failed).port();
    accept();
    report(failed, port);
  }

  error_code listen() {
    error_code ec = stores::open_close_on_exec(acceptor_, tcp::v4());
    if (!ec) acceptor_.bind({asio::ip::address_v4::loopback(), 0}, ec);
    if (!ec) acceptor_.listen(1, ec);
    return ec;
  }

  void accept() {
    acceptor_.async_accept(near_, peer_,
                           [self = shared_from_this()](error_code ec) { self->on_peer(ec); });
  }

  void on_peer(error_code ec) {
    stores::set_close_on_exec(near_);
    if (!acceptor_.is_open() || !is_ours_) return;
    if (ec || !is_ours_(peer_)) {
      error_code ignored;
      near_.close(ignored);
      return accept();
    }
    error_code ignored;
    acceptor_.close(ignored);
    near_.set_option(tcp::no_delay(true), ignored);
    pump(near_, far_, up_);
    pump(far_, near_, down_);
  }

  template <class From, class To>
  void pump(From& from, To& to, std::vector<char>& space) {
    space.resize(chunk_bytes);
    from.async_read_some(
        asio::buffer(space), [&, self = shared_from_this()](error_code ec, std::size_t n) {
          if (ec) return self->shut();
          asio::async_write(to, asio::buffer(space, n), [&, self](error_code failed, std::size_t) {
            if (failed) return self->shut();
            self->pump(from, to, space);
          });
        });
  }

  asio::basic_socket_acceptor<tcp> acceptor_;
  asio::basic_stream_socket<tcp> near_;
  asio::basic_stream_socket<unix_protocol> far_;
  endpoint peer_;
  std::function<bool(endpoint const&)> is_ours_;
  std::function<void(error_code, std::uint16_t)> ready_;
  std::vector<char> up_;
  std::vector<char> down_;
};

}  // namespace

std::shared_ptr<unix_bridge> unix_bridge::open(
    asio::any_io_executor const& executor, std::string const& path,
    std::function<bool(endpoint const&)> is_ours,
    std::function<void(boost::system::error_code, std::uint16_t)> ready) {
  auto one = std::make_shared<bridge>(executor, std::move(is_ours), std::move(ready));
  one->start(path);
  return one;
}

}  // namespace herdlock::redis
