// PublishedFile: a head as others publish it: a file of tensors (safetensors or torch's) and the
// config.json beside it. Like a model file it is mapped: replace it by renaming. Immutable; thread
// safe.
#ifndef HUNCH_CONVERT_PUBLISHED_FILE_H_
#define HUNCH_CONVERT_PUBLISHED_FILE_H_

#include <string>

#include "base/result.h"
#include "convert/named_tensor.h"
#include "session/json_text.h"
#include "weights/mapped_file.h"

namespace hunch {

class PublishedFile {
 public:
  // `path`: the file of tensors, or the folder that it lies in under one of its usual names.
  static Result<PublishedFile> Open(const std::string& path);

  const std::string& name() const { return name_; }  // the file's
  const NamedTensors& tensors() const { return tensors_; }
  const Json& config() const { return config_; }  // an object; empty: there is no config.json

 private:
  PublishedFile(std::string name, MappedFile file)
      : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  MappedFile file_;
  NamedTensors tensors_;  // point into file_
  Json config_ = Json::object();
};

}  // namespace hunch

#endif  // HUNCH_CONVERT_PUBLISHED_FILE_H_
