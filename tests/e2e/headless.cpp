// A process whose first thread has ended while another works on: `headless FILE` writes its number
// into the file and never ends. A copy with the set-user-id bit becomes that user altogether, as
// sudo does.
#include <pthread.h>
#include <unistd.h>

#include <fstream>
#include <thread>

int main(int argc, char** argv) {
  if (argc != 2 || ::setresuid(::geteuid(), ::geteuid(), ::geteuid()) != 0) return 2;
  std::thread([file = argv[1], first = ::pthread_self()] {
    ::pthread_join(first, nullptr);
    std::ofstream(file) << ::getpid() << std::endl;
    while (true) ::pause();
  }).detach();
  ::pthread_exit(nullptr);
}
