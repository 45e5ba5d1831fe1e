#include "scenes/worker.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>

#include "terminal/exit_code.hpp"
#include "stage/frame.hpp"
#include "scenes/recorded_origin.hpp"
#include "scenes/scheme.hpp"

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

// What the requests of an expiry may be answered.
struct right_products {
  product fresh;
  std::optional<product> old;

  bool is_old(product const& answer) const { return old && answer == *old; }
};

right_products products_at(std::int64_t revision, guard_mode mode) {
  right_products right{product_at(revision), std::nullopt};
  if (facts_of(mode).serves_old) right.old = product_at(revision - 1);
  return right;
}

std::string wrong(product const& answer, product const& expected) {
  return fmt::format("wrong answer: revision {} instead of {}", answer.revision, expected.revision);
}

// The requests of one expiry. Lives until its last request is answered.
class herd {
 public:
  herd(scheme& asked, right_products right, recorded_origin::steady::time_point started)
      : asked_(asked), right_(std::move(right)), started_(started) {
    made_.started_ns = started.time_since_epoch().count();
  }

  // On the store's executor, where everything else of this class happens too.
  report answer(asio::any_io_executor executor, int requests) {
    open_ = requests;
    made_.answers.reserve(static_cast<std::size_t>(requests));
    asio::post(executor, [this, executor, requests] {
      for (int i = 0; i < requests; ++i) {
        asio::co_spawn(executor, asked_.ask(),
                       [this](std::exception_ptr e, product p) { take(e, p); });
      }
    });
    all_.get_future().get();
    return std::move(made_);
  }

 private:
  void take(std::exception_ptr const& failed, product const& answer) {
    bool const is_old = !failed && right_.is_old(answer);
    if (failed) {
      made_.note_error(text_of(failed));
    } else if (is_old || answer == right_.fresh) {
      made_.answers.push_back({in_micros(recorded_origin::steady::now() - started_), is_old});
    } else {
      made_.note_error(wrong(answer, right_.fresh));
    }
    if (--open_ == 0) all_.set_value();
  }

  scheme& asked_;
  right_products const right_;
  recorded_origin::steady::time_point const started_;
  report made_;
  int open_ = 0;
  std::promise<void> all_;
};

// Where old answers are right, one who goes on asking gets the new one nevertheless. Then the load
// behind them has ended.
asio::awaitable<void> ask_until_fresh(scheme& asked, right_products right, milliseconds limit) {
  auto const end = recorded_origin::steady::now() + limit;
  product answer = co_await asked.ask();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (right.is_old(answer) && recorded_origin::steady::now() < end) {
    timer.expires_after(milliseconds(5));
    co_await timer.async_wait(asio::use_awaitable);
    answer = co_await asked.ask();
  }
  if (answer != right.fresh) throw std::runtime_error(wrong(answer, right.fresh));
}

// The value that this process has loaded may be on its way into the store.
asio::awaitable<void> ask_until_kept(scheme& asked) {
  auto const end = recorded_origin::steady::now() + std::chrono::seconds(1);
  auto const before = asked.near_hits();
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (asked.near_hits() == before && recorded_origin::steady::now() < end) {
    co_await asked.ask();
    timer.expires_after(milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

class worker {
 public:
  explicit worker(worker_orders const& orders)
      : orders_(orders),
        stores_(open_stores(orders)),
        origin_(orders,
                [this] {
                  say({frame_kind::loading, {}});
                }),
        scheme_(make_scheme(stores_, orders_, [this] { return origin_.load(); })) {
    require_shared(stores_.values);
    if (stores_.locks) require_shared(*stores_.locks);
    wait(scheme_->look());
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
          wait(scheme_->remove());
          say({frame_kind::cleaned, {}});
          break;
        default:
          return;
      }
    }
  }

 private:
  void require_shared(store const& opened) const {
    if (orders_.processes == 1 || opened.traits().across_processes) return;
    throw command_error(exit_code::usage,
                        fmt::format("{}: lives in one process; use --processes 1, or a store that "
                                    "processes share (sqlite:PATH, redis://…)",
                                    opened.display_name()));
  }

  void wait(asio::awaitable<void> work) {
    asio::co_spawn(stores_.values.get_executor(), std::move(work), asio::use_future).get();
  }

  // What goes wrong counts as a request without a right answer.
  void wait(asio::awaitable<void> work, report& made) {
    try {
      wait(std::move(work));
    } catch (std::exception const& e) {
      made.note_error(e.what());
    }
  }

  void expire(nlohmann::json const& order) {
    wait(scheme_->play_expiry(product_at(order.at("revision"))));
    say({frame_kind::expired, {}});
  }

  void go(nlohmann::json const& order) {
    wait(scheme_->get_ready());
    auto const started = recorded_origin::steady::now();
    auto const right = products_at(order.at("revision"), orders_.mode);
    origin_.begin(order.at("expiry"), started);
    auto const waited_before = scheme_->waited();
    herd all(*scheme_, right, started);
    report made = all.answer(stores_.values.get_executor(), orders_.requests);
    if (right.old) wait(ask_until_fresh(*scheme_, right, load_limit(orders_)), made);
    made.waited = scheme_->waited() - waited_before;
    if (facts_of(orders_.mode).keeps_near) come_once_more(right, made);
    made.loads = origin_.take_loads(max_reported_loads);
    made.warnings = stores_.values.warnings();
    say({frame_kind::report, made.pack()});
  }

  // A value is kept from the next read on that finds it.
  void come_once_more(right_products const& right, report& made) {
    wait(ask_until_kept(*scheme_), made);
    auto const before = scheme_->near_hits();
    herd again(*scheme_, right, recorded_origin::steady::now());
    report const more = again.answer(stores_.values.get_executor(), orders_.requests);
    made.near_hits = scheme_->near_hits() - before;
    if (more.errors == 0) return;
    made.note_error(more.first_error);
    made.errors += more.errors - 1;
  }

  void say(frame const& f) {
    std::lock_guard const held(writing_);
    write_frame(worker_socket, f);
  }

  worker_orders const orders_;
  std::mutex writing_;
  scheme_stores stores_;
  recorded_origin origin_;
  std::unique_ptr<scheme> scheme_;
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
