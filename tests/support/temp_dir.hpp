// A folder of one's own, gone with the object.
#pragma once

#include <filesystem>

namespace herdlock_test {

/// Made with mkdtemp under $TMPDIR (else /tmp); removed with everything in it by the destructor.
class temp_dir {
 public:
  temp_dir();
  ~temp_dir();
  temp_dir(temp_dir const&) = delete;
  temp_dir& operator=(temp_dir const&) = delete;

  std::filesystem::path const& path() const { return path_; }
  std::filesystem::path operator/(std::string_view file) const { return path_ / file; }

 private:
  std::filesystem::path path_;
};

}  // namespace herdlock_test
