#include <boost/asio/detached.hpp>
#include <chrono>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <thread>
using namespace herdlock; using namespace std::chrono_literals;
int main(int, char** argv) {
  auto const opened = open_store(argv[1]);
  lock const where(opened, "x");
  for (int i = 0; i < 8; ++i)
    where.async_acquire({.ttl = 30s, .wait = 600s}, [](failure const& why, acquired got) {
      std::printf("granted %d %s\n", int(bool(got)), why.message.c_str()); std::fflush(stdout);
      static std::vector<acquired> kept; kept.push_back(std::move(got));
    });
  std::puts("asked"); std::fflush(stdout);
  std::this_thread::sleep_for(600s);
}
