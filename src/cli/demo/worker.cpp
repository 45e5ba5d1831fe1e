#include "demo/worker.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/exit_code.hpp"
#include "demo/frame.hpp"
#include "demo/modes.hpp"

namespace herdlock::cli {
namespace {

// Loads that a worker reports for the plot, in one expiry.
constexpr std::size_t max_reported_loads = 1'000;

std::string text_of(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (std::exception const& e) {
    return e.what();
  }
}

// The requests of one expiry. Lives until its last request is answered.
class herd {
 public:
  herd(requester& asked, product expected, requester::steady::time_point started)
      : asked_(asked), expected_(std::move(expected)), started_(started) {
    made_.started_ns = started.time_since_epoch().count();
  }

  // On the store's executor, where everything else of this class happens too.
  report answer(asio::any_io_executor executor, int requests) {
    open_ = requests;
    made_.answered_us.reserve(static_cast<std::size_t>(requests));
    asio::post(executor, [this, executor, requests] {
      for (int i = 0; i < requests; ++i) {
        asio::co_spawn(executor, asked_.ask(),
                       [this](std::exception_ptr e, product p) { take(e, p); });
      }
    });
    all_.get_future().get();
    made_.loads = asked_.take_loads(max_reported_loads);
    return std::move(made_);
  }

 private:
  void take(std::exception_ptr const& failed, product const& answer) {
    if (!failed && answer == expected_) {
      auto const after = requester::steady::now() - started_;
      made_.answered_us.push_back(static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(after).count()));
    } else {
      if (++made_.errors == 1) made_.first_error = why(failed, answer);
    }
    if (--open_ == 0) all_.set_value();
  }

  std::string why(std::exception_ptr const& failed, product const& answer) const {
    if (failed) return text_of(failed);
    return fmt::format("wrong answer: revision {} instead of {}", answer.revision,
                       expected_.revision);
  }

  requester& asked_;
  product const expected_;
  requester::steady::time_point const started_;
  report made_;
  int open_ = 0;
  std::promise<void> all_;
};

class worker {
 public:
  explicit worker(worker_orders const& orders)
      : orders_(orders),
        store_(value_or_raise(try_open_store(orders.store_url))),
        requester_(store_, orders_, [this] {
          say({frame_kind::loading, {}});
        }) {
    require_shared_store();
    wait(requester_.look());
  }

  void serve() {
    say({frame_kind::ready, {}});
    while (auto const order = read_frame(worker_socket)) {
      switch (order->kind) {
        case frame_kind::expire:
          expire(nlohmann::json::parse(order->body));
          break;
        case frame_kind::go:
          go(nlohmann::json::parse(order->body));
          break;
        case frame_kind::clean_up:
          wait(requester_.remove());
          say({frame_kind::cleaned, {}});
          break;
        default:
          return;
      }
    }
  }

 private:
  void require_shared_store() const {
    if (orders_.processes == 1 || store_.traits().across_processes) return;
    throw command_error(exit_code::usage,
                        fmt::format("{}: lives in one process; use --processes 1, or a store that "
                                    "processes share (sqlite:PATH, redis://…)",
                                    store_.display_name()));
  }

  void wait(asio::awaitable<void> work) {
    asio::co_spawn(store_.get_executor(), std::move(work), asio::use_future).get();
  }

  void expire(nlohmann::json const& order) {
    wait(requester_.put_and_let_expire(product_at(order.at("revision"))));
    say({frame_kind::expired, {}});
  }

  void go(nlohmann::json const& order) {
    auto const started = requester::steady::now();
    requester_.begin(order.at("expiry"), started);
    herd all(requester_, product_at(order.at("revision")), started);
    report const made = all.answer(store_.get_executor(), orders_.requests);
    say({frame_kind::report, made.pack()});
  }

  void say(frame const& f) {
    std::lock_guard const held(writing_);
    write_frame(worker_socket, f);
  }

  worker_orders const orders_;
  std::mutex writing_;
  store store_;
  requester requester_;
};

void serve_until_closed() {
  std::optional<frame> const orders = read_frame(worker_socket);
  if (!orders || orders->kind != frame_kind::orders) return;
  worker(worker_orders::from_json(orders->body)).serve();
}

int give_up(exit_code code, std::string const& line) {
  nlohmann::json const body{{"code", static_cast<int>(code)}, {"line", line}};
  // What a server said need not be UTF-8.
  auto const text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  write_frame(worker_socket, {frame_kind::failed, text});
  return static_cast<int>(code);
}

}  // namespace

int run_worker() {
  // Ctrl-C reaches the whole foreground group; the demo decides, and ends its workers.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  try {
    serve_until_closed();
    return 0;
  } catch (command_error const& e) {
    return give_up(e.code(), e.what());
  } catch (error const& e) {
    return give_up(exit_code_of(e.code()), e.what());
  } catch (std::exception const& e) {
    return give_up(exit_code::internal, e.what());
  }
}

}  // namespace herdlock::cli
